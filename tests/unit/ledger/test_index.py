"""The index: what it says equals what the segments say, and losing it, in any way, loses nothing."""

from __future__ import annotations

import random
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintain.ledger import CorruptLedger, RunDir
from quintain.ledger.index import Index
from quintain.ledger.stream import Stream, index_path


def fill(run, event, make_group, seed=0, commits=12):
    rng = random.Random(seed)
    ticket = 0
    for step in range(commits):
        for _ in range(rng.randrange(1, 4)):
            run.append(event("issued", step, ticket=ticket), event("played", step, group=make_group(ticket, 1, 1)))
            ticket += 1
        run.append(event("metrics", step, x=rng.random()))
        if rng.random() < 0.2:
            run.append(event("superseded", 0, since=rng.randrange(run.offset), ranks={"1": [0, 3]}))
        if rng.random() < 0.5:
            run.blob(rng.randbytes(rng.randrange(200)))
        run.commit()


def rebuilt(home):
    stream = Stream(home, 0, Index(None))
    stream.refresh()
    return stream.index.dump()


def kept(home):
    index = Index.copy(index_path(home, 0))
    return index.dump()


@given(st.integers(0, 2**32))
@settings(max_examples=15)
def test_an_index_rebuilt_from_the_segments_equals_the_one_written_beside_them(fresh_folder, builders, seed):
    home = fresh_folder() / "run"
    with RunDir.create(home, "") as run:
        fill(run, *builders, seed=seed)
        assert kept(home) == rebuilt(home)
    assert kept(home) == rebuilt(home) and kept(home)["event"]


@pytest.fixture
def full(home, event, make_group):
    with RunDir.create(home, "") as run:
        fill(run, event, make_group)
        expected = list(map(repr, run.lines(dead=True))), [g.digest for g in run.packed()]
    return home, expected


def seen(run):
    def plain(line):
        return repr(line)

    return [plain(line).split("PackedGroup")[0] for line in run.lines(dead=True)], [g.digest for g in run.packed()]


@pytest.mark.parametrize("harm", ["delete", "garbage", "truncate", "empty", "older", "other run", "other format"])
@pytest.mark.parametrize("mode", ["r", "a"])
def test_a_lost_or_wrong_index_changes_nothing(full, tmp_path, event, make_group, harm, mode):
    home, _ = full
    with RunDir.open(home) as run:
        expected = seen(run)
    path = index_path(home, 0)
    data = path.read_bytes()
    if harm == "delete":
        path.unlink()
    elif harm == "garbage":
        path.write_bytes(random.Random(0).randbytes(5000))
    elif harm == "truncate":
        path.write_bytes(data[: len(data) // 2])
    elif harm == "empty":
        path.write_bytes(b"")
    elif harm == "older":
        with RunDir.open(home, "a") as run:
            fill(run, event, make_group, seed=1, commits=3)
        with RunDir.open(home) as run:
            expected = seen(run)
        path.write_bytes(data)
    elif harm == "other run":
        with RunDir.create(tmp_path / "other", "") as run:
            fill(run, event, make_group, seed=5, commits=4)
        path.write_bytes(index_path(tmp_path / "other", 0).read_bytes())
    else:
        db = sqlite3.connect(path)
        db.execute("pragma user_version=77")
        db.close()
    with RunDir.open(home, mode) as run:
        assert seen(run) == expected
        if mode == "a":
            run.append(event("warning", text="goes on"))
            run.commit()
            assert run.offset == len(expected[0]) + 1
    if mode == "a":
        assert kept(home) == rebuilt(home)


def test_an_index_that_saw_more_than_there_is_proves_a_loss(full):
    home, _ = full
    path = next((home / "segments").rglob("*.seg"))
    path.write_bytes(path.read_bytes()[:-60])
    for mode in ("r", "a"):
        with pytest.raises(CorruptLedger, match="were durable"):
            list(RunDir.open(home, mode).events())


def test_an_index_that_cannot_be_written_falls_behind_and_catches_up(home, event, make_group, monkeypatch):
    with RunDir.create(home, "") as run:
        broken = True
        add = Index.add_events

        def failing(self, *args):
            if broken:
                raise sqlite3.OperationalError("database or disk is full")
            add(self, *args)

        monkeypatch.setattr(Index, "add_events", failing)
        fill(run, event, make_group, commits=3)
        assert len(kept(home)["event"]) < run.offset
        broken = False
        assert len(list(run.lines(dead=True))) == run.offset  # a read catches up
        broken = True
        run.append(event("warning", text="unseen by the index"))
        run.commit()
        broken = False
        fill(run, event, make_group, seed=3, commits=2)
        assert kept(home) == rebuilt(home) and len(kept(home)["event"]) == run.offset


def test_many_tickets_are_looked_up_at_once(home, event, make_group):
    with RunDir.create(home, "") as run:
        run.append(*(event("played", 0, group=make_group(i, 1, 1)) for i in range(1200)))
        run.commit()
        assert [g.ticket for g in run.packed(tickets=list(range(1199, -1, -1)))] == list(range(1200))
