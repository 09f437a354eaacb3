"""The run directory as a whole: events, groups, blobs, pictures, ranks, supersession, and its refusals."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path

import numpy as np
import pytest

from quintain.ledger import (
    CorruptLedger,
    DiskFull,
    MissingBlob,
    NotARun,
    PackedGroup,
    ReadOnlyRun,
    RunDir,
    RunLocked,
    audit,
)
from quintain.ledger.lock import Lock
from quintain.ledger.stream import lock_path
from quintain.ports import Store
from quintain.types import Image, InvariantError, Message, QuintainError, Task, Text, Ticket


def fill(run, event, make_group, steps=2, size=2, start=0):
    for step in range(start, start + steps):
        groups = [make_group(step * size + i) for i in range(size)]
        for group in groups:
            run.append(event("issued", step, ticket=Ticket(index=group.ticket, task=group.task)))
            run.append(event("played", step, group=group))
        run.append(event("trained", step, tickets=[g.ticket for g in groups], digest=f"d{step}"))
        run.append(event("metrics", step, reward=float(step)))
        run.commit()


def test_events_groups_and_metrics_come_back(home, event, make_group):
    with RunDir.create(home, "seed = 3\n") as run:
        assert isinstance(run, Store)
        fill(run, event, make_group, steps=3)
        assert run.offset == 18
    run = RunDir.open(home)
    assert run.config == "seed = 3\n" and run.offset == 18
    kinds = [e.kind for e in run.events()]
    assert kinds == ["issued", "played", "issued", "played", "trained", "metrics"] * 3
    assert list(run.metrics()) == [(0, {"reward": 0.0}), (1, {"reward": 1.0}), (2, {"reward": 2.0})]
    assert [line.offset for line in run.lines(["trained"])] == [4, 10, 16]
    assert [e.kind for e in run.events(since=16)] == ["trained", "metrics"]
    assert list(run.groups(step=1)) == [make_group(2), make_group(3)]
    assert list(run.groups(tickets=[4, 0])) == [make_group(0), make_group(4)]
    assert [t.id for t in run.trajectories(ids=["5.1", "1.0"])] == ["1.0", "5.1"]
    assert len(list(run.trajectories())) == 12
    issued = next(run.events(["issued"]))
    assert issued.payload["ticket"]["task"]["env"] == "KeyDoor"


def test_groups_of_a_step_come_in_the_order_of_training(home, event, make_group):
    with RunDir.create(home, "") as run:
        for ticket in (0, 1, 2):
            run.append(event("played", 0, group=make_group(ticket)))
        run.append(event("trained", 5, tickets=[2, 0]))
        run.commit()
        assert [g.ticket for g in run.packed(step=5)] == [2, 0]


def test_nothing_shows_before_its_commit_and_a_reader_follows_the_writer(home, event):
    with RunDir.create(home, "") as run:
        reader = RunDir.open(home)
        run.append(event("warning", text="first"))
        assert list(reader.events()) == [] and reader.offset == 0 and run.offset == 1
        run.commit()
        assert [e.payload["text"] for e in reader.events()] == ["first"]
        run.append(event("warning", text="second"))
        run.commit()
        assert reader.offset == 2
    assert [e.payload["text"] for e in reader.events()] == ["first", "second"]


def test_a_run_is_deleted_but_not_while_a_process_writes_to_it(home, event):
    with RunDir.create(home, "") as run, RunDir.open(home, "a", rank=1) as other:
        run.append(event("warning", text="kept"))
        run.commit()
        with pytest.raises(RunLocked, match="writes to this run"):
            RunDir.delete(home)
        run.close()
        with pytest.raises(RunLocked, match="writes to this run"):
            RunDir.delete(home)
        other.close()
    assert RunDir.open(home).offset == 1, "nothing was deleted"
    RunDir.delete(home)
    assert not home.exists()
    with pytest.raises(NotARun, match="nothing was done to it"):
        RunDir.delete(home.parent)


def test_closing_commits_also_after_an_error(home, event):
    with pytest.raises(RuntimeError, match="boom"), RunDir.create(home, "") as run:
        run.append(event("warning", text="kept"))
        raise RuntimeError("boom")
    assert RunDir.open(home).offset == 1


def test_superseded_events_are_passed_over_and_can_still_be_seen(home, event, make_group):
    with RunDir.create(home, "") as run:
        fill(run, event, make_group, steps=1)
        first = run.checkpoint(1, lambda folder: Path(folder, "state").touch())
        fill(run, event, make_group, steps=1, start=1)
        run.rewind(first)
        fill(run, event, make_group, steps=1, start=1)
        assert [e.step for e in run.events(["trained"])] == [0, 1]
        everything = list(run.lines(dead=True))
        assert [line.offset for line in everything if line.dead] == list(range(7, 13))
        assert everything[13].event.kind == "superseded" and not everything[13].dead
        assert [line.rank for line in everything] == [0] * len(everything)
        assert list(run.groups(step=1)) == [make_group(2), make_group(3)]
        run.rewind(None)  # an earlier point takes the later branches with it
        assert [e.kind for e in run.events()] == ["superseded"]


def test_every_rank_writes_its_own_segments_and_readers_merge_by_step(home, event):
    with RunDir.create(home, "") as main, RunDir.open(home, "a", rank=1) as other:
        for step in range(3):
            other.append(event("played", step, text=f"1.{step}"))
            main.append(event("trained", step, tickets=[], text=f"0.{step}"))
        main.commit()
        other.commit()
        key = other.blob(b"from rank one")
        other.commit()
        assert main.read_blob(key) == b"from rank one"
        assert [e.payload["text"] for e in RunDir.open(home).events()] == ["0.0", "1.0", "0.1", "1.1", "0.2", "1.2"]
        assert main.offset == 3 and other.offset == 3


def test_rewinding_supersedes_every_rank_after_the_checkpoint(home, event):
    with RunDir.create(home, "") as main, RunDir.open(home, "a", rank=1) as other:
        for step in range(4):
            for run in (main, other):
                run.append(event("metrics", step, x=1.0))
                run.commit()
            if step == 1:
                saved = main.checkpoint(2, lambda folder: None)
    assert dict(saved.offsets) == {0: 2, 1: 2}
    with RunDir.open(home, "a") as main:
        main.rewind(main.latest_checkpoint())
        live = [(line.rank, line.event.step) for line in main.lines(["metrics"])]
        assert live == [(0, 0), (1, 0), (0, 1), (1, 1)]
        with RunDir.open(home, "a", rank=1) as other:
            other.append(event("metrics", 2, x=1.0))
        assert [e.step for e in main.events(["metrics"])] == [0, 0, 1, 1, 2]
        assert [e.kind for e in main.events(["checkpoint"])] == ["checkpoint"]  # its own event still stands
        before = main.offset
        main.rewind(main.latest_checkpoint())
        assert main.offset == before + 1
        assert [(line.rank, line.event.step) for line in main.lines(["metrics"])] == live


@pytest.mark.parametrize(("record", "kept"), [("all", 3), ("sample:2", 2), ("none", 0)])
def test_what_is_recorded_of_each_step(home, event, make_group, record, kept):
    with RunDir.create(home, "", record=record) as run:
        fill(run, event, make_group, steps=2, size=3)
        for step in (0, 1):
            packed = list(run.packed(step=step))
            assert sum(g.whole for g in packed) == kept and len(packed) == 3
            assert all(row.rewards for g in packed for row in g.rows) and len({g.digest for g in packed}) == 3
            assert [g.ticket for g in run.groups(step=step)] == [g.ticket for g in packed if g.whole]


def test_a_sample_is_drawn_whatever_ends_first(home, event, make_group):
    """The same tickets of a step are kept in any order of their events, and no place is kept more often than others."""
    kept: list[set[int]] = []
    for name, turn in (("up", 1), ("down", -1)):
        with RunDir.create(home / name, "", record="sample:2") as run:
            for step in range(20):
                order = range(32 * step, 32 * step + 32)[::turn]
                run.append(*(event("played", step, group=make_group(ticket=ticket)) for ticket in order))
                run.commit()
            kept.append(kept_of(run))
    assert kept[0] == kept[1] and len(kept[0]) == 40
    assert all(len({t for t in kept[0] if t // 32 == block}) == 2 for block in range(20))
    assert len({t % 32 for t in kept[0]}) > 15


def kept_of(run):
    return {g.ticket for event in run.events(["played"]) for g in [event.payload["group"]] if g.whole}


@pytest.mark.parametrize(
    ("trained", "dropped", "kept"),
    [
        ({3, 5, 6}, {0, 1, 2, 4, 7}, 2),  # of the trained ones alone
        ({3}, {0, 1, 2, 4, 6, 7}, {3, 5}),  # 5 may yet be trained
        (set(), set(range(8)), 2),
    ],
)
def test_a_sample_is_one_of_what_is_trained_and_others_fill_it(home, event, make_group, trained, dropped, kept):
    with RunDir.create(home, "", record="sample:2") as run:
        run.append(*(event("played", 0, group=make_group(ticket=ticket)) for ticket in range(8)))
        assert run.offset == 8, "those that wait for their commit are counted"
        run.append(*(event("dropped", 0, ticket=ticket, reason="gate") for ticket in dropped))
        run.append(event("trained", 0, tickets=sorted(trained)))
        run.commit()
        found = kept_of(run)
        assert found == kept if isinstance(kept, set) else len(found) == kept and found <= (trained or dropped)
        assert [e.kind for e in run.events()] == [*["played"] * 8, *["dropped"] * len(dropped), "trained"]
        run.append(event("played", 0, group=make_group(ticket=8)))  # later in the same step
        run.commit()
        assert kept_of(run) == found


@pytest.mark.parametrize("record", ["some", "sample:", "sample:0", "sample:2/3", "sample:x", "sample:²", "none:1"])
def test_an_unknown_recording_is_refused(home, record):
    with pytest.raises(QuintainError, match="sample:K"):
        RunDir.create(home, "", record=record)


def test_blobs_are_kept_once_and_proved(home):
    with RunDir.create(home, "") as run:
        big, small, noise = b"wall" * 50_000, b"x", np.random.default_rng(0).bytes(5000)
        keys = [run.blob(data) for data in (big, small, noise)]
        assert run.read_blob(keys[0]) == big  # before the commit too
        run.commit()
        size = sum(f.stat().st_size for f in (home / "blobs").rglob("*.seg"))
        assert size < 9000
        assert run.blob(big) == keys[0]
        run.commit()
        assert sum(f.stat().st_size for f in (home / "blobs").rglob("*.seg")) == size
    run = RunDir.open(home)
    assert [run.read_blob(k) for k in keys] == [big, small, noise]
    with pytest.raises(MissingBlob, match="no blob 00"):
        run.read_blob("00" * 16)


def test_pictures_in_tasks_become_references_written_once(home, event, rng):
    pixels = rng.integers(0, 4, (64, 48, 3), dtype=np.uint8)
    message = Message.of("user", "look", Image(pixels=pixels))
    task = Task(key="k", env="data", messages=(message, message))
    with RunDir.create(home, "") as run:
        for index in range(3):
            run.append(event("issued", 0, ticket=Ticket(index=index, task=task)))
        run.commit()
        part = run.picture(Image(pixels=pixels))
        assert part.hash and part.pixels is None
    assert sum(f.stat().st_size for f in (home / "blobs").rglob("*.seg")) < pixels.size
    run = RunDir.open(home)
    for issued in run.events(["issued"]):
        hashes = [p["hash"] for m in issued.payload["ticket"]["task"]["messages"] for p in m["parts"] if "hash" in p]
        assert hashes == [part.hash] * 2
    assert (run.read_picture(part).pixels == pixels).all()
    assert isinstance(message.parts[0], Text)


def test_a_picture_that_is_not_one_is_refused(home):
    with RunDir.create(home, "") as run:
        with pytest.raises(InvariantError, match=r"\[H, W, C\]"):
            run.picture(Image(pixels=np.zeros((4, 4), np.uint8)))
        with pytest.raises(InvariantError, match="not a picture"):
            run.read_picture(Image(hash=run.blob(b"no pixels here")))


def test_a_second_writer_is_refused_and_says_who_writes(home):
    with RunDir.create(home, ""):
        with pytest.raises(RunLocked, match=f"process {os.getpid()} on .* writes to this run"):
            RunDir.open(home, "a")
        RunDir.open(home)  # reading is always allowed
    RunDir.open(home, "a").close()


def test_folders_that_are_not_runs_are_refused(home, tmp_path, monkeypatch):
    with pytest.raises(NotARun, match="there is no such folder"):
        RunDir.open(home)
    (tmp_path / "mine").mkdir()
    with pytest.raises(NotARun, match="it has no run.json"):
        RunDir.open(tmp_path / "mine")
    RunDir.create(tmp_path / "nim-3", "").close()
    for wrong in ("nim3", "NIM-3", "nim-3/config.toml"):
        with pytest.raises(NotARun, match=f"no such folder; did you mean {tmp_path / 'nim-3'}[?]"):
            RunDir.open(tmp_path / wrong)
    monkeypatch.chdir(tmp_path)
    RunDir.create(tmp_path / "runs" / "duel", "").close()
    with pytest.raises(NotARun, match="did you mean runs/duel[?]"):
        RunDir.open("duel")
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    with pytest.raises(NotARun, match=r"thesis\.tex"):
        RunDir.create(tmp_path / "mine", "")
    RunDir.create(home, "").close()
    with pytest.raises(NotARun, match="--resume"):
        RunDir.create(home, "")
    for text, said in [
        ('{"format": 99}', "written in format 99; this quintain reads format 1: open it with the version"),
        ("[]", "written in format None; .*: restore run.json from a copy"),
        ('{"form', "run/run.json cannot be read .*; restore it from a copy, or, .* write {.*} into"),
    ]:
        (home / "run.json").write_text(text)
        with pytest.raises(NotARun, match=said) as found:
            RunDir.open(home)
    (home / "run.json").unlink()
    with pytest.raises(
        NotARun, match="run/run.json is gone; restore it from a copy, or, .* write {.*} into it: .*words"
    ) as found:
        RunDir.open(home)
    (home / "run.json").write_text(re.search('{"format.*}', str(found.value))[0])
    RunDir.open(home).close()


def test_a_run_that_died_while_being_made_is_made_again(home):
    home.mkdir()
    (home / "config.toml").write_text("half")
    with RunDir.create(home, "whole") as run:
        assert run.config == "whole"


def test_a_reader_and_a_closed_run_do_not_write(home, event):
    run = RunDir.create(home, "")
    run.close()
    for one in (run, RunDir.open(home)):
        with pytest.raises(ReadOnlyRun, match="mode 'a'"):
            one.append(event())


def test_a_forked_child_does_not_write_into_its_parents_run(home, event):
    with RunDir.create(home, "") as run:
        child = os.fork()
        if child == 0:
            try:
                run.append(event())
            except ReadOnlyRun:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_full_disk_stops_the_commit_and_loses_nothing(home, event, make_group, full_disk):
    with RunDir.create(home, "", disk=full_disk) as run:
        fill(run, event, make_group)
        full_disk.room = 700
        before = run.offset
        with pytest.raises(DiskFull, match="make space"):
            fill(run, event, make_group, steps=1, start=2)
        assert RunDir.open(home).offset == before
        full_disk.room = float("inf")
        run.blob(b"written late")
        run.commit()
        assert RunDir.open(home).offset == before + 6 and audit(run).ok
    assert list(RunDir.open(home).groups(step=2)) == [make_group(4), make_group(5)]


def test_a_file_size_limit_is_a_full_disk_for_segments_and_index(home, event, make_group):
    """The kernel's own refusal, with the index failing too: the child reports what it saw as its exit code."""
    RunDir.create(home, "").close()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            import resource

            run = RunDir.open(home, "a")
            resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
            step = 0
            try:
                while step < 200:
                    fill(run, event, make_group, steps=1, start=step)
                    step += 1
            except DiskFull:
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                run.commit()  # the step that did not fit
                fill(run, event, make_group, steps=1, start=step + 1)
                run.close()
                code = step
        finally:
            os._exit(code)
    step = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert 2 < step < 200
    run = RunDir.open(home)
    assert audit(run).ok and audit(run).steps == step + 2 and run.offset == 6 * (step + 2)


def test_appending_from_many_threads_keeps_every_event(home, event):
    with RunDir.create(home, "") as run:

        def work(name):
            for i in range(50):
                run.append(event("warning", i, text=f"{name}.{i}"))
                if i % 10 == 0:
                    run.commit()

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        run.commit()
        texts = [e.payload["text"] for e in run.events()]
    assert len(texts) == len(set(texts)) == 200


def test_damage_in_the_middle_is_an_error_for_writers_and_readers(home, event, make_group):
    with RunDir.create(home, "") as run:
        fill(run, event, make_group, steps=3)
    path = next((home / "segments").rglob("*.seg"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    with pytest.raises(CorruptLedger, match="doctor --repair"):
        RunDir.open(home, "a")
    with pytest.raises(CorruptLedger, match="doctor --repair"):
        list(RunDir.open(home).events())
    Lock(lock_path(home, 0)).release()  # the refusal left no lock behind


def test_a_packed_group_is_what_events_hold(home, event, make_group):
    with RunDir.create(home, "") as run:
        run.append(event("played", 0, group=make_group(1)))
        run.commit()
        packed = next(run.events()).payload["group"]
    assert isinstance(packed, PackedGroup) and packed.open() == make_group(1) and packed.version == 0
