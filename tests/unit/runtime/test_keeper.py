"""Resuming with several ranks: each one finds its own state before anything of the ledger changes."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from quintain.ledger import RunDir
from quintain.ledger.repair import repair
from quintain.runtime.keeper import Keeper, LostBoundary


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
