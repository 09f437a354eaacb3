"""Checkpoints: whole or not there; a crash while saving is ignored, later damage is loud and names the way on."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from quintain.ledger import CorruptCheckpoint, DiskFull, RunDir, RunMoved
from quintain.ledger.disk import Disk
from quintain.ledger.doctor import verify
from quintain.types import QuintainError


def writer(text="weights"):
    def save(folder):
        Path(folder, "weights.safetensors").write_bytes(text.encode() * 100)
        Path(folder, "state").mkdir()
        Path(folder, "state", "counters.json").write_text(json.dumps({"text": text}))

    return save


@pytest.fixture
def run(home):
    with RunDir.create(home, "", keep=2) as run:
        yield run


def steps(run):
    return run.checkpoints.steps()


def test_a_checkpoint_knows_its_place_in_the_ledger(run, event):
    assert run.latest_checkpoint() is None
    run.append(event(), event())
    done = run.checkpoint(7, writer("a"), score=0.5, notes={"epoch": 2})
    assert done == run.latest_checkpoint() == run.latest_checkpoint(7)
    assert (done.path.name, done.step, done.offset, done.score) == ("step-000007", 7, 2, 0.5)
    assert done.notes == {"epoch": 2}
    assert json.loads((done.path / "state" / "counters.json").read_text()) == {"text": "a"}
    told = next(run.events(["checkpoint"]))
    assert told.payload == {"step": 7, "folder": "step-000007", "offset": 2}


def test_the_newest_and_the_best_stay(run):
    for step, score in [(1, 0.1), (2, 0.9), (3, 0.3), (4, None), (5, 0.9), (6, 0.2)]:
        run.checkpoint(step, writer(), score=score)
    assert steps(run) == [5, 6]  # of two equals the later is the best
    run.checkpoint(7, writer(), score=0.1)
    run.checkpoint(8, writer(), score=0.1)
    assert steps(run) == [5, 7, 8]
    assert [p.name for p in run.checkpoints.folder.iterdir() if p.name.startswith(".")] == []


@pytest.mark.parametrize("damage", ["flip", "cut", "gone", "manifest", "no manifest", "manifest flip"])
def test_a_damaged_checkpoint_is_loud_and_names_file_and_way_on(run, damage):
    run.checkpoint(1, writer("a"))
    path = run.checkpoint(2, writer("b")).path
    weights, manifest = path / "weights.safetensors", path / "manifest.json"
    if damage == "flip":
        data = bytearray(weights.read_bytes())
        data[50] ^= 1
        weights.write_bytes(data)
    elif damage == "cut":
        weights.write_bytes(weights.read_bytes()[:-1])
    elif damage == "gone":
        (path / "state" / "counters.json").unlink()
    elif damage == "manifest":
        manifest.write_text("{")
    elif damage == "no manifest":
        manifest.unlink()
    else:
        manifest.write_text(manifest.read_text().replace('"size": 100', '"size": 101'))
    named = {"gone": "counters.json: the file is missing", "flip": "weights.safetensors: the file differs"}
    named = {**named, "cut": "weights.safetensors: the file has 99 bytes where 100"}.get(damage, "manifest.json")
    with pytest.raises(CorruptCheckpoint, match=rf"{named}.*--resume .* --from 1"):
        run.latest_checkpoint()
    assert steps(run) == [1, 2]  # nothing was deleted
    good = run.latest_checkpoint(1)
    assert good.step == 1
    run.rewind(good)
    assert run.latest_checkpoint() == good  # the damaged one is on a branch that was left
    run.checkpoint(2, writer("again"))
    assert run.latest_checkpoint().step == 2


def test_the_only_checkpoint_damaged_or_deleted_is_never_a_restart_from_zero(run):
    path = run.checkpoint(3, writer()).path
    (path / "weights.safetensors").unlink()
    with pytest.raises(CorruptCheckpoint, match="there is no other checkpoint"):
        run.latest_checkpoint()
    shutil.rmtree(path)
    with pytest.raises(CorruptCheckpoint, match="tells of a checkpoint of step 3, but it is gone"):
        run.latest_checkpoint()
    with pytest.raises(CorruptCheckpoint, match="no checkpoint of step 4; there are: none"):
        run.latest_checkpoint(4)


def test_a_checkpoint_of_a_left_branch_is_not_the_latest(run, event):
    for step in (1, 2):
        run.append(event(step=step))
        run.checkpoint(step, writer(f"first {step}"))
    run.rewind(run.latest_checkpoint(1))
    assert run.latest_checkpoint().step == 1
    run.append(event(step=1))
    run.checkpoint(2, writer("second"))
    found = run.latest_checkpoint()
    assert found.step == 2 and json.loads((found.path / "state" / "counters.json").read_text()) == {"text": "second"}


def test_the_newest_that_counts_is_missed_when_it_is_gone_and_the_run_can_go_on_without_it(run, event):
    for step in (4, 8, 12):
        run.append(event(step=step))
        run.checkpoint(step, writer())
    shutil.copytree(run.checkpoints.path(12), run.path / "copy")
    shutil.rmtree(run.checkpoints.path(12))
    for ask in (run.latest_checkpoint, run.newest, RunDir.open(run.path).latest_checkpoint):
        with pytest.raises(
            CorruptCheckpoint, match="a checkpoint of step 12, but it is gone; .* copy, or .* --from 8`"
        ):
            ask()
    assert [f.where for f in verify(run.path) if f.level == "error" and "--from 8" in f.what] == ["checkpoints"]
    shutil.move(run.path / "copy", run.checkpoints.folder / ".old-step-000012")
    assert run.newest() == 8, "it was being replaced"
    shutil.rmtree(run.checkpoints.folder / ".old-step-000012")
    run.rewind(run.latest_checkpoint(8))
    assert run.newest() == 8 and not [f for f in verify(run.path) if f.level == "error"]
    run.checkpoints.save(12, writer(), {0: run.offset})
    assert run.newest() == 12, "its writer died before it told of it"


def test_a_run_whose_folder_is_moved_or_replaced_saves_nothing_where_it_was(run, event, tmp_path):
    run.checkpoint(1, writer())
    moved = run.path.rename(tmp_path / "moved")
    run.append(event(step=2))
    with pytest.raises(RunMoved, match="was moved, deleted or replaced while the run went on"):
        run.checkpoint(2, writer())
    assert not run.path.exists() and RunDir.open(moved).offset == run.offset
    with RunDir.create(run.path, ""), pytest.raises(RunMoved):
        run.checkpoint(2, writer())
    assert not (run.path / "checkpoints").exists()
    shutil.rmtree(run.path)
    moved.rename(run.path)
    run.checkpoint(2, writer())
    assert steps(run) == [1, 2]


class _Dying(Disk):
    """Raises at its `at`-th operation, and at every one after it, like a machine that goes down."""

    def __init__(self, at):
        self.left = at

    def _tick(self):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt

    def rename(self, old, new):
        self._tick()
        super().rename(old, new)

    def sync_file(self, path):
        self._tick()
        super().sync_file(path)

    def sync_folder(self, path):
        self._tick()
        super().sync_folder(path)

    def remove(self, path):
        self._tick()
        super().remove(path)

    def put(self, path, data):
        self._tick()
        super().put(path, data)


@pytest.mark.parametrize("at", range(14))
@pytest.mark.parametrize("again", [False, True])
def test_dying_at_any_point_of_a_save_keeps_a_good_checkpoint(run, at, again):
    """`again`: the step that is saved has a checkpoint already, which the new one replaces."""
    run.checkpoint(1, writer("old"))
    if again:
        run.checkpoint(2, writer("old"))
    disk = run.checkpoints.disk
    run.checkpoints.disk = _Dying(at)
    finished = False
    try:
        run.checkpoints.save(2, writer("new"), {0: run.offset})
        finished = True
    except KeyboardInterrupt:
        pass
    run.checkpoints.disk = disk
    run.checkpoints.mend()
    found = run.latest_checkpoint()
    text = json.loads((found.path / "state" / "counters.json").read_text())["text"]
    if finished:
        assert (found.step, text) == (2, "new")
    else:
        assert found.step == 2 if again else found.step in (1, 2)
        assert text == ("new" if text == "new" else "old")
    assert {p.name for p in run.checkpoints.folder.iterdir()} == {f"step-{s:06d}" for s in steps(run)}


def test_no_space_for_a_checkpoint_is_a_typed_error_and_leaves_nothing(run):
    run.checkpoint(1, writer())

    def save(folder):
        Path(folder, "weights.safetensors").write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(DiskFull, match="saving a checkpoint"):
        run.checkpoint(2, save)
    assert os.listdir(run.checkpoints.folder) == ["step-000001"]
    run.checkpoint(2, writer())
    assert run.latest_checkpoint().step == 2


def test_links_in_a_checkpoint_are_refused(run, tmp_path):
    def save(folder):
        Path(folder, "weights").symlink_to(tmp_path)

    with pytest.raises(QuintainError, match="plain files only"):
        run.checkpoint(1, save)
    assert steps(run) == []


def test_a_manifest_cannot_point_outside(run):
    path = run.checkpoint(1, writer()).path / "manifest.json"
    from quintain.ledger.checkpoints import _digest

    body = json.loads(path.read_text())
    body.pop("digest")
    body["files"]["../../run.json"] = {"size": 1, "blake2b": "00"}
    path.write_text(json.dumps(body | {"digest": _digest(body)}))
    with pytest.raises(CorruptCheckpoint, match="outside"):
        run.latest_checkpoint()


def test_an_unreadable_checkpoint_never_costs_a_good_one(run):
    for step in (1, 2):
        run.checkpoint(step, writer())
    (run.checkpoints.path(2) / "manifest.json").write_text("")
    run.checkpoint(3, writer())
    assert steps(run) == [1, 2, 3]
