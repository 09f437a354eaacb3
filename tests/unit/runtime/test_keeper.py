"""Resuming with several ranks: each one finds its own state before anything of the ledger changes."""

from __future__ import annotations

import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from quintain.advantages import normalise
from quintain.ledger import RunDir
from quintain.ledger.repair import repair
from quintain.parts import chain
from quintain.registry import build
from quintain.runtime import measure
from quintain.runtime.keeper import Keeper, LostBoundary
from quintain.samplers.blends import curriculum, mixture
from quintain.samplers.recycle import recycle
from quintain.samplers.worlds import worlds
from quintain.types import Completion, Group, Node, Span, Stop, Task, Trajectory


class Table:
    """Where two ranks, each in a thread, meet."""

    def __init__(self) -> None:
        self.meet, self.given = threading.Barrier(2, timeout=20), {}

    def largest(self, rank, values):
        self.given[rank] = values
        self.meet.wait()
        out = {name: max(self.given[0][name], self.given[1][name]) for name in values}
        self.meet.wait()
        return out


class Rank:
    size = 2

    def __init__(self, rank: int, table: Table) -> None:
        self.rank, self.table = rank, table

    def largest(self, values):
        return self.table.largest(self.rank, values)

    def sums(self, values):
        self.table.given[self.rank] = values
        self.table.meet.wait()
        out = {name: self.table.given[0][name] + self.table.given[1][name] for name in values}
        self.table.meet.wait()
        return out

    def gathered(self, mine):
        self.table.given[self.rank] = mine
        self.table.meet.wait()
        return [self.table.given[rank] for rank in range(self.size)]

    def barrier(self, deadline_s=None):
        self.table.meet.wait()


def together(folder: Path, act):
    """What `act(keeper)` gives on both ranks, or the error it raises."""
    table = Table()

    def one(rank: int):
        try:
            with RunDir.open(folder, "a", rank=rank, keep=9) as store:
                return act(Keeper(store, Rank(rank, table)))
        except LostBoundary as error:
            return error

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, (0, 1)))


def write(steps):
    def act(keeper):
        for step in steps:
            keeper.write(step, "warning", {"what": "x" * 200})
            keeper.boundary({"step": step, "of": keeper.ranks.rank})
            keeper.checkpoint(step, lambda folder: (Path(folder) / "w.txt").write_text("w"))

    return act


def events(folder: Path) -> list[tuple[float, str]]:
    with RunDir.open(folder) as store:
        return [(line.event.time, line.event.kind) for line in store.lines(dead=True)]


@pytest.fixture
def run(tmp_path) -> Path:
    RunDir.create(tmp_path / "run", "").close()
    together(tmp_path / "run", write((0, 2, 4)))
    return tmp_path / "run"


def groups(count: int = 5) -> tuple[Group, ...]:
    rng = np.random.default_rng(7)

    def one(name: str, length: int) -> Trajectory:
        ids, span = tuple(rng.integers(0, 24, length).tolist()), (Span(start=0, stop=length, version=0),)
        said = Completion(tokens=ids, logprobs=tuple((-rng.random(length)).tolist()), finish="stop", spans=span)
        nodes = (Node.given(None, (1, 2, 3)), Node.sampled(0, said))
        return Trajectory(id=name, nodes=nodes, stop=Stop.done, rewards={"it": float(rng.normal())})

    def made(index: int) -> Group:
        pair = tuple(one(f"{index}.{m}", 2 + index + m) for m in range(2))
        return Group(task=Task(key=str(index), env="none"), trajectories=pair, ticket=index)

    return tuple(map(made, range(count)))


def restored(step=None):
    return lambda keeper: keeper.restore(lambda folder: None, step)


def cut(run: Path, keep: float) -> None:
    segment = sorted((run / "segments" / "rank-1").glob("*.seg"))[-1]
    segment.write_bytes(segment.read_bytes()[: int(segment.stat().st_size * keep)])
    assert repair(run)


def test_every_rank_goes_on_from_its_own_state(run):
    assert together(run, restored()) == [{"step": 4, "of": 0}, {"step": 4, "of": 1}]
    assert together(run, restored(2)) == [{"step": 2, "of": 0}, {"step": 2, "of": 1}]
    together(run, write((4,)))
    assert together(run, restored()) == [{"step": 4, "of": 0}, {"step": 4, "of": 1}]


@pytest.mark.parametrize("name", ["whiten", "scale_rewards"])
def test_credit_is_that_of_the_whole_step_on_every_rank(name, run):
    """Statistics are taken over the groups of all ranks, which all keep the same state."""
    parts = [normalise(scale="none"), build("advantage", name)]
    advantage, every = chain(*(parts if name == "whiten" else reversed(parts))), groups()
    apart = together(run, lambda keeper: keeper.credited(advantage, every[keeper.ranks.rank :: 2], advantage.init()))
    whole, state = advantage.apply(every, advantage.init())
    assert [after for _, after in apart] == [state, state]
    for rank, (mine, _) in enumerate(apart):
        assert mine == whole[rank::2]
    assert advantage.apply(every[::2], advantage.init())[0] != whole[::2], "a share alone has other statistics"


def test_groups_are_not_sent_where_each_is_looked_at_by_itself():
    advantage, every = normalise(), groups()
    keeper = Keeper(None, SimpleNamespace(size=2, rank=0))  # which can send nothing
    assert keeper.credited(advantage, every, advantage.init()) == advantage.apply(every, advantage.init())
    assert not normalise(unit=build("unit", "turn")._replace(apart=False)).apart, "a unit of one's own need not say so"
    with pytest.raises(AttributeError, match="gathered"):
        keeper.credited(chain(advantage, build("advantage", "whiten")), every, [[None, None], None])


@pytest.mark.parametrize("share", [4, 5])
def test_the_means_of_a_step_are_over_the_episodes_of_all_ranks(share, run):
    """However they are divided: the other rank has one group, or none at all."""
    every = [replace(g, tags={"deadline_s": 30.0 + i}) for i, g in enumerate(groups())]
    shown = [measure.seen(g) for g in every]

    def row(keeper):
        part = slice(share) if keeper.ranks.rank == 0 else slice(share, None)
        return measure.told_apart(keeper.reduce(measure.played(shown[part], shown[part], every[part], 3)))

    whole = measure.told_apart(measure.played(shown, shown, every, 3))
    for found in together(run, row):
        assert found == pytest.approx(whole)
    assert whole["stop/done"] == 1.0 and whole["lag_mean"] == 3.0 and whole["deadline_s"] == 34.0


def test_gaps_of_a_step_are_the_largest_of_all_ranks(run):
    """A rank may have none of its own."""
    own = ({"audit_gap_max": 0.1, "proof_seconds": 2.0}, {"audit_gap_max": 0.3, "canary_gap_max": 0.0})
    for found in together(run, lambda keeper: keeper.reduce({"episodes": 1.0, **own[keeper.ranks.rank]})):
        assert found == {"episodes": 2.0, "audit_gap_max": 0.3, "canary_gap_max": 0.0, "proof_seconds": 2.0}


def test_a_curriculum_climbs_by_the_groups_of_all_ranks(run):
    """Inside of other samplers too; one that learns nothing from others is not given theirs."""
    every = [replace(g, task=Task(key=str(g.ticket), env="W", level=2)) for g in groups()]
    climbs = curriculum("W", levels=[2, 4], control={"low": 0.0, "high": 0.05, "window": 5})
    both = mixture(climbs, worlds("W"))

    def after(sampler):
        observed = lambda keeper: keeper.observed(sampler, every[keeper.ranks.rank :: 2], sampler.init())  # noqa: E731
        return together(run, observed)

    whole = functools.reduce(climbs.observe, every, climbs.init())
    assert after(climbs) == [whole, whole] and whole["at"] == 1
    assert [state["parts"][0] for state in after(both)] == [whole, whole]
    assert functools.reduce(climbs.observe, every[::2], climbs.init())["at"] == 0, "a share alone is too small"
    apart = SimpleNamespace(init=list, observe=lambda state, group: [*state, group.ticket], everyones=False)
    assert after(apart) == [[0, 2, 4], [1, 3]] and not worlds("W").everyones
    inner = {"name": "curriculum", "env": "W", "levels": [2, 4]}
    assert [len(state["inner"]["recent"]) for state in after(recycle(inner))] == [5, 5]
    every = [replace(g, tags={"even": True} if g.ticket % 2 else {}) for g in every]
    assert [len(state["recent"]) for state in after(climbs)] == [3, 3], "those of a game against oneself say nothing"


def test_a_rank_that_lost_its_state_stops_all_before_anything_changes(run):
    cut(run, 0.75)
    before = events(run)
    for error in together(run, restored()):
        assert isinstance(error, LostBoundary)
        assert "rank 1 has lost its state at step 4" in str(error) and f"--resume {run} --from 2`" in str(error)
    assert events(run) == before
    assert together(run, restored(2)) == [{"step": 2, "of": 0}, {"step": 2, "of": 1}]


def test_a_checkpoint_whose_files_are_damaged_is_not_named(run):
    cut(run, 0.75)
    (run / "checkpoints" / "step-000002" / "w.txt").write_text("other")
    assert all("--from 0`" in str(error) for error in together(run, restored()))


def test_where_no_checkpoint_fits_a_new_run_is_the_way_on(run):
    cut(run, 0.2)
    assert all("begin a new run" in str(error) for error in together(run, restored()))
