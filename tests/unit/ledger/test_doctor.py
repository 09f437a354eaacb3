"""Verify sees every kind of damage; repair gives up the damaged records and nothing else."""

from __future__ import annotations

import json
import random
import shutil
import socket
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintain.ledger import CorruptLedger, MissingBlob, NotARun, RunDir, RunLocked, audit
from quintain.ledger.disk import Disk
from quintain.ledger.doctor import verify
from quintain.ledger.frames import END, FRAME_SIZE, Head, link, write_frame, write_head
from quintain.ledger.log import Log, Mark, Reader, segment_path, segments
from quintain.ledger.payload import pack_event
from quintain.ledger.repair import repair
from quintain.ledger.stream import hash_of, index_path, lock_path
from quintain.types import Event


def build(home, event, make_group):
    with RunDir.create(home, "") as run:
        for step in range(8):
            run.append(event("issued", step, ticket=step), event("played", step, group=make_group(step)))
            run.append(event("trained", step, tickets=[step], digest=str(step)), event("metrics", step, x=1.0))
            run.blob(b"blob %d" % step)
            run.commit()
        run.checkpoint(8, lambda folder: None)


def levels(home):
    return sorted({f.level for f in verify(home)})


def frames(path):
    """(start, stop, record number) of every frame of the one segment of a log."""
    return [(r.frame.start, r.frame.stop, r.seq) for r in Reader(path.parent).poll()]


def events_file(home):
    return next((home / "segments").rglob("*.seg"))


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 16
    path.write_bytes(data)


def test_a_whole_run_has_one_note_its_accounts(home, event, make_group):
    build(home, event, make_group)
    found = verify(home)
    assert [f.level for f in found] == ["note"] and "8 trained in 8 steps" in str(found[0])
    assert repair(home) == []
    with pytest.raises(NotARun):
        verify(home / "nothing")
    with pytest.raises(NotARun):
        repair(home / "nothing")


def test_verify_names_each_kind_of_damage(home, tmp_path, event, make_group):
    build(home, event, make_group)
    whole = tmp_path / "whole"
    shutil.copytree(home, whole)

    def fresh():
        shutil.rmtree(home)
        shutil.copytree(whole, home)

    flip(events_file(home), 700)
    assert any(f.level == "error" and "damaged record" in f.what and "repair" in f.what for f in verify(home))
    fresh()
    flip(next((home / "blobs").rglob("*.seg")), 100)
    assert any(f.level == "error" and "blobs" in f.where for f in verify(home))
    fresh()
    (home / "checkpoints" / "step-000008" / "manifest.json").write_text("{}")
    assert any(f.level == "error" and f.where == "checkpoints" for f in verify(home))
    fresh()
    path = events_file(home)
    path.write_bytes(path.read_bytes()[:-10])
    assert any(f.level == "error" and "durable" in f.what for f in verify(home))
    index_path(home, 0).unlink()  # without the index's word the end counts as torn
    assert levels(home) == ["note"]
    assert any("unfinished commit" in f.what for f in verify(home)) and any("no index" in f.what for f in verify(home))
    fresh()
    db = sqlite3.connect(index_path(home, 0))
    db.execute("delete from event where seq = 3")
    db.commit()
    db.close()
    assert any(f.level == "warning" and "differs" in f.what for f in verify(home))
    fresh()
    with RunDir.open(home, "a") as run:
        run.append(event("trained", 9, tickets=[0], digest="again"))
    assert any(f.level == "error" and "duplicated 1" in f.what for f in verify(home))


def test_verify_of_a_running_run_is_quiet(home, event, make_group):
    build(home, event, make_group)
    with RunDir.open(home, "a"):
        assert levels(home) == ["note"]
        with pytest.raises(RunLocked):
            repair(home)


def test_one_damaged_record_costs_that_record(home, event, make_group):
    build(home, event, make_group)
    path = events_file(home)
    start, stop, number = frames(path)[9]
    before = path.read_bytes()
    flip(path, (start + stop) // 2)
    (done,) = repair(home)
    assert done.lost == 1 and done.path == path and done.aside.read_bytes() != before
    assert "warning" in levels(home) and "error" in levels(home)  # ticket 2's group is gone, and the audit says so
    with RunDir.open(home, "a") as run:
        lines = list(run.lines())
        assert [line.offset for line in lines] == list(range(33))
        assert lines[number].event.kind == "lost" and lines[number].event.payload["count"] == 1
        assert audit(run).lost == (2,)
        assert run.latest_checkpoint().offset == 32  # numbers did not move
        run.append(event("metrics", 9, x=1.0))
        run.commit()
        assert RunDir.open(home).offset == 34
    assert repair(home) == []


@given(st.integers(0, 2**32))
@settings(max_examples=30)
def test_any_damage_is_repaired_with_every_whole_record_kept(fresh_folder, built, seed):
    rng = random.Random(seed)
    home = fresh_folder() / "run"
    shutil.copytree(built, home)
    path = events_file(home)
    spans = frames(path)
    data = bytearray(path.read_bytes())
    touched = set()
    for _ in range(rng.randrange(1, 4)):
        at, size = rng.randrange(len(data)), rng.choice([1, 5, 300])
        for i in range(at, min(at + size, len(data))):
            data[i] ^= rng.randrange(1, 256)
        touched |= {n for start, stop, n in spans if start < at + size and at < stop}
    cut = rng.choice([0, 0, 100, 2000])
    if cut:
        data = data[:-cut]
        touched |= {n for _, stop, n in spans if stop > len(data)}
    path.write_bytes(data)
    repair(home)
    with RunDir.open(home, "a") as run:
        kept = {line.offset: line.event for line in run.lines()}
        lost = {n for k, e in kept.items() if e.kind == "lost" for n in range(k, k + e.payload["count"])}
        with RunDir.open(built) as original:
            for line in original.lines():
                if line.offset not in touched:
                    assert repr(kept[line.offset]).split(" object")[0] == repr(line.event).split(" object")[0]
        assert lost == touched
        run.append(Event(time=0.0, step=9, actor="test", kind="metrics"))
        run.commit()
    assert RunDir.open(home).offset == 34


@pytest.fixture(scope="module")
def built(fresh_folder, builders):
    home = fresh_folder() / "run"
    build(home, *builders)
    return home


def many_segments(folder, payloads):
    log = Log(folder, Mark(), Disk(), 1)
    for payload in payloads:
        log.append(payload)
        log.commit()
    log.close()


@pytest.mark.parametrize("harm", ["first gone", "middle gone", "last gone", "header", "swapped", "tampered"])
def test_segments_that_are_gone_or_wrong_are_bridged(home, event, harm):
    RunDir.create(home, "").close()
    folder = lock_path(home, 0).parent
    many_segments(folder, [pack_event(event("metrics", i, x=i), lambda image: image) for i in range(6)])
    RunDir.open(home, "a").close()  # the index takes note
    starts = segments(folder)
    assert len(starts) == 6
    victim = {"first gone": 0, "last gone": 5}.get(harm, 2)
    path = segment_path(folder, starts[victim])
    lost = {victim}
    if harm.endswith("gone"):
        path.unlink()
    elif harm == "header":
        flip(path, 20)
        lost = set()
    elif harm == "swapped":
        shutil.copy(segment_path(folder, starts[3]), path)
    else:
        forged = pack_event(event("metrics", 2, x=99), lambda image: image)
        chain = link(bytes(16), 2, END, 2, forged)
        path.write_bytes(write_head(Head(2, 2, bytes(16))) + write_frame(2, END, 2, chain, forged))
    with pytest.raises(CorruptLedger):
        RunDir.open(home, "a")
    done = repair(home)
    assert sum(d.lost for d in done) == len(lost)
    with RunDir.open(home, "a") as run:
        kinds = {line.offset: line.event for line in run.lines()}
        assert {k for k, e in kinds.items() if e.kind == "lost"} == lost
        assert [e.payload["x"] for e in kinds.values() if e.kind == "metrics"] == [i for i in range(6) if i not in lost]
        run.append(event("metrics", 6, x=6))
    assert RunDir.open(home).offset == 7


@pytest.mark.parametrize("gone", [["segments"], ["segments", "index"], ["segments", "index", "blobs"]])
def test_a_ledger_that_is_gone_is_missed_and_the_checkpoint_goes_on_without_it(home, event, make_group, gone):
    build(home, event, make_group)
    count = RunDir.open(home).latest_checkpoint().offsets[0]
    for name in gone:
        shutil.rmtree(home / name / "rank-0" if name == "segments" else home / name)
    (found,) = (f for f in verify(home) if f.level == "error")
    assert "0 whole records up to byte 0; " in found.what and "doctor --repair" in found.what
    assert f"{count} were durable" in found.what or "index" not in gone  # the index has seen what came after it too
    with pytest.raises(CorruptLedger, match="0 whole records"):
        RunDir.open(home, "a")
    assert sum(done.lost for done in repair(home) if "segments" in str(done.path)) >= count
    assert not any(f.level == "error" for f in verify(home))
    with RunDir.open(home, "a") as run:
        assert run.offset >= count
        run.append(event("issued", 8, ticket=8), event("played", 8, group=make_group(8)))
        run.append(event("trained", 8, tickets=[8], digest="8"), event("metrics", 8, x=1.0))
    books = [f for f in verify(home) if "lost 8" in f.what]
    assert [f.level for f in books] == ["error"] and "the run can go on all the same" in books[0].fix
    shutil.rmtree(home / "segments")
    RunDir.delete(home)
    assert not home.exists()


@pytest.mark.parametrize("ranks", [1, 2])
def test_tickets_that_a_checkpoint_proves_are_missed_where_the_whole_ledger_is_lost(home, event, ranks):
    RunDir.create(home, "").close()
    for rank in reversed(range(ranks)):
        with RunDir.open(home, "a", rank=rank) as run:
            run.append(*(event("issued", 0, ticket=ranks * index + rank) for index in range(4)))
            run.commit()
            if rank == 0:
                run.checkpoint(0, lambda folder: None, notes={"boundary": {"index": 0}})
                run.checkpoint(1, lambda folder: None, notes={"boundary": {"index": 3}})
    assert levels(home) == ["note"] and f"{4 * ranks} issued" in str(verify(home)[-1])
    for rank in range(ranks):
        next(lock_path(home, rank).parent.glob("*.seg")).write_bytes(b"")
    assert all(str(done).endswith("records are lost; the file was gone or empty") for done in repair(home))
    assert "lost 0" not in str(verify(home)[-1]) and verify(home)[-1].level == "error"
    with RunDir.open(home) as run:
        assert audit(run).lost == ((0, 1, 2) if ranks == 1 else (0, 1, 2, 4))


def test_a_damaged_blob_costs_that_blob(home, event, make_group):
    build(home, event, make_group)
    path = next((home / "blobs").rglob("*.seg"))
    start, _, _ = frames(path)[3]
    flip(path, start + FRAME_SIZE + 20)
    (done,) = repair(home)
    assert done.lost == 1
    with RunDir.open(home, "a") as run:
        for i in range(8):
            if i == 3:
                with pytest.raises(MissingBlob):
                    run.read_blob(hash_of(b"blob 3"))
                run.blob(b"blob 3")  # can be put back
                run.commit()
            assert run.read_blob(hash_of(b"blob %d" % i)) == b"blob %d" % i
    assert audit(RunDir.open(home)).ok


def test_ranks_that_end_with_the_first_one_were_not_killed_and_share_their_steps(home, event, make_group):
    RunDir.create(home, "").close()
    dead = json.dumps({"pid": 4194303, "host": socket.gethostname(), "started": "1"})
    for rank in (1, 0):
        with RunDir.open(home, "a", rank=rank) as run:
            for step in range(3):
                ticket = 2 * step + rank
                run.append(event("issued", step, ticket=ticket), event("played", step, group=make_group(ticket)))
                run.append(event("trained", step, tickets=[ticket]))
    lock_path(home, 1).write_text(dead)
    found = verify(home)
    assert "4194303, was killed" in str(found[0]) and "6 trained in 3 steps" in str(found[-1])
    with RunDir.open(home, "a") as run:
        run.append(event("stopped", 3, reason="done"))
    assert [f.where for f in verify(home)] == [str(home)]
