"""What the ranks of a run agree on (when to drain, when no rank has tasks left, which evaluations are owed), and how a run goes on."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from quintain import loop
from quintain.ledger import RunDir, audit
from quintain.loop import Drained, Window
from quintain.parts import Cast, PartError, Transform, made_of, reminded
from quintain.registry import build
from quintain.runtime.keeper import Keeper
from quintain.runtime.opponents import against
from quintain.runtime.run import LocalRun, Parts, Plan
from quintain.samplers.blends import curriculum
from quintain.samplers.worlds import worlds
from quintain.types import Completion, Group, Node, Span, Stop, Task, Trajectory, Weights


class Other:
    """Two ranks, of which the other one says the same to every question."""

    rank, size = 0, 2

    def __init__(self, says: bool) -> None:
        self.says = says

    def largest(self, values):
        return {name: max(value, float(self.says)) for name, value in values.items()}

    def gathered(self, mine):
        return [mine]


class Ledger:
    """Keeps what is written, at once."""

    path = Path("run")

    def __init__(self) -> None:
        self.kept = []

    def append(self, event):
        self.kept.append(event)

    def commit(self):
        pass

    def lines(self, kinds, step):
        return [SimpleNamespace(event=e, dead=False) for e in self.kept if e.kind in kinds and e.step == step]


def run_beside(other_says: bool, evaluate=None) -> LocalRun:
    nothing = Transform(lambda: None, lambda groups, state: (groups, state), frozenset())
    part = SimpleNamespace(init=lambda: None)
    given = dict.fromkeys(("rollout", "reward", "learner", "cast", "pack", "beside")) | {"evaluate": evaluate}
    parts = SimpleNamespace(**given, sampler=part, advantage=nothing, objective=nothing, proof=None)
    keeper = Keeper(Ledger(), Other(other_says))
    return LocalRun(parts, Window(2, steps=5), Plan(steps=5), keeper)


def test_what_other_parts_left_is_not_taken_over():
    run, said = run_beside(False), []
    run.say = said.append
    run.parts.sampler = run._stateful["sampler"] = worlds("A")
    left = {"step": 2, "index": 4, "sampler": {"drawn": 4}, "advantage": None, "gate": None, "pending": []}
    run.keeper.restore = lambda load, step, alike: left
    assert run.restore() and run.sampler_state == {"drawn": 4} and not said, "of before it was written who left it"
    left["made"] = {"sampler": made_of(curriculum())}
    assert run.restore() and run.sampler_state == {"drawn": 0} and "the sampler begins anew" in said[0]
    assert run._state["made"].keys() == {"sampler", "advantage", "gate"}


def test_a_rank_ends_at_a_step_boundary_when_another_one_was_asked_to():
    run = run_beside(True)
    assert list(run.steps()) == [] and run.draining
    assert list(run_beside(False).steps()) == [0, 1, 2, 3, 4]


def test_a_rank_that_was_asked_to_ends_where_the_others_learn_of_it():
    run = run_beside(False)
    run.drain()
    with pytest.raises(Drained, match="asked to"):
        run.credit(())


@pytest.mark.parametrize("over", [True, False])
def test_a_rank_without_tasks_goes_on_until_no_rank_has_any(over):
    run = run_beside(False)
    run.window.over = over
    if not over:
        assert run.credit(()) == ()
        return
    with pytest.raises(Drained, match="no more tasks"):
        run.credit(())


def test_a_rank_without_tasks_takes_part_while_another_has_some():
    run = run_beside(False)
    run.window.over = True
    answers = iter([False, True])  # nobody drains, the other one has tasks
    run.keeper.any_rank = lambda flag: next(answers)
    assert run.credit(()) == () and run.window.shared


def test_a_drain_reaches_other_ranks_actors_and_the_window_from_any_thread():
    run, told = run_beside(False), []
    run.others, run.leave = lambda: told.append("others"), lambda: told.append("actors")

    async def main():
        run.begin()
        threading.Timer(0.05, run.drain).start()
        return await asyncio.wait_for(run.window.take(), 5)

    assert asyncio.run(main()) == () and run.window.over and told == ["others", "actors"]


def test_a_drain_before_the_run_begins_counts():
    run, told = run_beside(False), []
    run.leave = lambda: told.append("actors")
    run.drain()

    async def main():
        run.begin()
        return await asyncio.wait_for(run.window.take(), 5)

    assert told == [] and asyncio.run(main()) == () and told == ["actors"]


def test_what_a_step_leaves_out_is_written_when_the_step_is_done():
    run = run_beside(False)
    run.parts.advantage = Transform(lambda: None, lambda groups, state: ((), state), frozenset())
    written = run.keeper.store.kept
    assert run.credit([Group(task=Task(key="t", env="none"), trajectories=(), ticket=3)]) == ()
    assert not written, "the step may still be given up, and its tickets are played again then"
    run._write_dropped()
    assert [(e.kind, e.payload) for e in written] == [("dropped", {"ticket": 3, "reason": "advantage"})]
    run._write_dropped()
    assert len(written) == 1


def evaluating(other_says: bool, drain_after: float | None = None, seconds: float = 0.0):
    """A run that has evaluated, or was kept from it, and the scores."""

    async def played():
        await asyncio.sleep(seconds)
        return {"eval/success": 0.5}

    async def evaluate(step, guard):
        return await guard(played())

    run = run_beside(other_says, evaluate)

    async def main():
        run.begin()
        if drain_after is not None:
            threading.Timer(drain_after, run.drain).start()
        return await asyncio.wait_for(run.evaluate(0), 5)

    return run, asyncio.run(main())


def test_an_evaluation_is_written_and_not_owed_any_more():
    run, scores = evaluating(False)
    assert scores == {"eval/success": 0.5} and not run.unplayed and not run.draining
    assert [e.kind for e in run.keeper.store.kept] == ["eval"] and not run.owes()


@pytest.mark.parametrize(("other_says", "drain_after", "seconds"), [(False, 0.05, 60.0), (True, None, 0.0)])
def test_an_evaluation_is_given_up_where_any_rank_drains(other_says, drain_after, seconds):
    run, scores = evaluating(other_says, drain_after, seconds)
    assert scores == {} and run.unplayed and run.draining and not run.keeper.store.kept
    run.keeper.ranks.says = False
    assert run.owes(), "it is played again by a resume"


def test_an_error_of_an_evaluation_is_raised():
    async def broken():
        raise ValueError("no reward")

    with pytest.raises(ValueError, match="no reward"):
        asyncio.run(run_beside(True).unless_asked(broken()))


@pytest.mark.parametrize(
    ("step", "every", "owed"), [(0, 0, True), (5, 0, True), (2, 0, False), (2, 2, True), (3, 2, False)]
)
def test_evaluations_are_owed_at_both_ends_and_every_so_many_steps(step, every, owed):
    run = run_beside(False, evaluate=lambda step, guard: None)
    run.step, run.plan.eval_every = step, every
    assert run.owes() == owed
    assert not run_beside(False).owes(), "a run without evaluation owes none"


class Stops(Exception):
    """The machine goes down."""


class Counting:
    """Learns nothing; goes down at one step."""

    def __init__(self, down: int) -> None:
        self.version, self.down, self.trained = 0, down, []

    async def score(self, groups, needs):
        return tuple(groups)

    async def update(self, batch, objective):
        if self.version == self.down:
            raise Stops
        for _ in range(40):  # turns of the loop, in which all that may be played ahead is
            await asyncio.sleep(0)
        self.version += 1
        self.trained.append([g.ticket for g in batch])
        return {}

    async def publish(self):
        return Weights(version=self.version, kind="pointer", source=self)

    def save(self, folder):
        Path(folder, "version").write_text(str(self.version))

    def load(self, folder):
        self.version = int(Path(folder, "version").read_text())


def life(home: Path, learner: Counting, first: bool, wrap=lambda rollout: rollout) -> tuple[LocalRun, list[int]]:
    """Six steps of two groups, at most two versions late, every fifth dropped by the gate; what was dropped in this life."""

    async def rollout(task, cast, ticket):
        spans = (Span(start=0, stop=1, version=learner.version),)
        said = Completion(tokens=(1,), logprobs=(-0.5,), finish="stop", spans=spans)
        whole = Trajectory(id=f"{ticket}.0", nodes=(Node.sampled(None, said),), stop=Stop.done, rewards={"r": 1.0})
        return Group(task=task, trajectories=(whole,), ticket=ticket)

    async def scored(group):
        return group

    sampler = SimpleNamespace(
        init=lambda: {"drawn": 0, "heard": []},
        draw=lambda s: (Task(key=str(s["drawn"]), env="toy"), {**s, "drawn": s["drawn"] + 1}),
        observe=lambda s, group: {**s, "heard": [*s["heard"], group.ticket]},
    )
    nothing = Transform(lambda: None, lambda groups, state: (groups, state), frozenset())
    drops = Transform(
        lambda: None, lambda groups, state: ([g for g in groups if g.ticket % 5 != 4], state), frozenset()
    )
    parts = Parts(
        rollout=wrap(rollout),
        reward=scored,
        sampler=sampler,
        advantage=nothing,
        objective=nothing,
        learner=learner,
        cast=Cast(env=None, engines={}, renderers={}),
        pack=list,
    )
    store = RunDir.create(home, "toy = true") if first else RunDir.open(home, "a")
    with store:
        window = Window(2, max_lag=2, gate=drops, steps=6)
        run = LocalRun(parts, window, Plan(steps=6, checkpoint_every=1), Keeper(store, SimpleNamespace(rank=0, size=1)))
        assert run.restore() != first
        held = [t.index for t in window.void]
        with contextlib.suppress(Stops):
            asyncio.run(loop.train(run))
    return run, held


@pytest.mark.parametrize("down", [1, 2, 3, 4])
def test_a_run_that_goes_on_has_observed_every_ticket_once_and_plays_no_drop_again(tmp_path, down):
    """Groups that were finished ahead are played again after a checkpoint; a dropped one keeps its slot, so no step is larger."""
    straight, _ = life(tmp_path / "calm", calm := Counting(-1), True)
    assert sorted(straight.sampler_state["heard"]) == list(range(12)) and straight.sampler_state["drawn"] == 12
    assert calm.trained == [[0, 1], [2, 3], [5], [6, 7], [8], [10, 11]]
    life(tmp_path / "run", first := Counting(down), True)
    again, held = life(tmp_path / "run", second := Counting(-1), False)
    assert held == [t for t in (4, 9) if 2 * down <= t < 2 * (down + 2)], "finished ahead of their steps"
    assert sorted(again.sampler_state["heard"]) == list(range(12)) and again.sampler_state["drawn"] == 12
    assert first.trained + second.trained == calm.trained
    with RunDir.open(tmp_path / "run") as store:
        assert audit(store).ok


class Remembering:
    """A rollout that counts what it played."""

    def __init__(self, play) -> None:
        self.play, self.seen = play, {}

    async def __call__(self, task, cast, ticket):
        self.seen[task.key] = self.seen.get(task.key, 0) + 1
        return await self.play(task, cast, ticket)

    def state(self):
        return self.seen

    def restore(self, state):
        self.seen = state


@pytest.mark.parametrize("rivals", [False, True])
def test_what_a_rollout_remembers_is_kept_in_checkpoints(tmp_path, rivals):
    def wrap(play):
        made.append(Remembering(play))
        return against(None, made[-1], [(1.0, "", "random")]) if rivals else made[-1]

    made, said = [], []
    life(tmp_path / "run", Counting(3), True, wrap)
    kept = dict(made[0].seen)
    again, _ = life(tmp_path / "run", Counting(-1), False, wrap)
    played = {str(n): made[1].seen[str(n)] for n in range(12)}
    assert set(played) == set(made[1].seen) and kept.keys() > {"0", "5"}
    assert all(played[str(n)] == 1 for n in range(6)), "what came before the checkpoint is not played again"
    assert again._state["rollout"] == {"made": None, "state": made[1].seen}
    assert again._state["rollout"]["state"] is not made[1].seen, "later groups do not reach into a boundary"
    reminded(build("rollout", "episodes"), again._state["rollout"], said.append)
    assert "the rollout begins anew" in said[0]
    made[1].seen = {"1": object()}
    with pytest.raises(
        PartError, match="a part without a name: its state.. is kept in checkpoints, and holds .* builtins.object"
    ):
        again.capture()
    made[1].seen, again.window.gate_state = {}, {"seen": object()}
    with pytest.raises(
        PartError, match="its state is kept in checkpoints, and holds what cannot be: .* builtins.object"
    ):
        again.capture()
