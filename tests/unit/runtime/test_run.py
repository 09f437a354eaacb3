"""What the ranks of a run agree on: when to drain, when no rank has tasks left, and which evaluations are owed."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest

from quintain.loop import Drained, Window
from quintain.parts import Transform, made_of
from quintain.runtime.keeper import Keeper
from quintain.runtime.run import LocalRun, Plan
from quintain.samplers.blends import curriculum
from quintain.samplers.worlds import worlds
from quintain.types import Group, Task


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
    run.keeper.restore = lambda load, step: left
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
