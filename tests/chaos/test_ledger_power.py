"""Power cuts: after every prefix of the changes, its unsynced blocks lost or torn, all that was acknowledged is there."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from quintain.ledger import NotARun, RunDir, audit
from quintain.ledger.disk import Disk
from quintain.ledger.stream import hash_of

pytestmark = pytest.mark.chaos
BLOCK = 512


class RecordingDisk(Disk):
    """A disk that writes down every change, in order."""

    def __init__(self):
        self.trace = []
        self.names = {}

    def open(self, path, *, new=False):
        fd = super().open(path, new=new)
        self.names[fd] = path
        if new:
            self.trace.append(("create", path))
        return fd

    def write(self, fd, data, at):
        super().write(fd, data, at)
        self.trace.append(("write", self.names[fd], at, bytes(data)))

    def sync(self, fd):
        self.trace.append(("sync", self.names[fd]))

    def truncate(self, fd, size):
        super().truncate(fd, size)
        self.trace.append(("truncate", self.names[fd], size))

    def make_folder(self, path):
        for folder in reversed([p for p in (path, *path.parents) if not p.exists()]):
            folder.mkdir()
            self.trace.append(("folder", folder))
            self.sync_folder(folder.parent)

    def sync_folder(self, path):
        self.trace.append(("sync folder", path))

    def sync_file(self, path):
        self.trace += [("create", path), ("write", path, 0, path.read_bytes()), ("sync", path)]

    def rename(self, old, new):
        super().rename(old, new)
        self.trace.append(("rename", old, new))
        self.names = {fd: new if p == old else p for fd, p in self.names.items()}

    def remove(self, path):
        super().remove(path)
        self.trace.append(("remove", path))


class Inode:
    """A file: what is on the platter, and the changes since the last sync."""

    def __init__(self):
        self.safe, self.loose = b"", []

    def after(self, rng):
        """Contents after a power cut: each loose block may have reached the platter, in any order."""
        data = bytearray(self.safe)
        mood = rng.choice(["none", "all", "prefix", "any"])
        blocks = []
        for kind, at, chunk in self.loose:
            if kind == "truncate":
                blocks.append((kind, at, b""))
            else:
                blocks += [(kind, at + i, chunk[i : i + BLOCK]) for i in range(0, len(chunk), BLOCK)]
        keep = rng.randrange(len(blocks) + 1)
        for i, (kind, at, chunk) in enumerate(blocks):
            if mood == "all" or (mood == "prefix" and i < keep) or (mood == "any" and rng.random() < 0.5):
                if kind == "truncate":
                    del data[at:]
                else:
                    torn = chunk if rng.random() < 0.9 else chunk[: rng.randrange(len(chunk))]
                    data.extend(b"\0" * (at - len(data)))
                    data[at : at + len(torn)] = torn
        return bytes(data)

    def sync(self):
        data = bytearray(self.safe)
        for kind, at, chunk in self.loose:
            if kind == "truncate":
                del data[at:]
            else:
                data.extend(b"\0" * (at - len(data)))
                data[at : at + len(chunk)] = chunk
        self.safe, self.loose = bytes(data), []


class Platter:
    """A file system that keeps what was synced, and of the rest what chance decides; names are synced by folder."""

    def __init__(self):
        self.now = {}  # path -> inode, or None for a folder
        self.safe = {}
        self.loose = []  # name changes since the folder's sync: (folder, [(path, inode or None to remove)])

    def change(self, folder, *entries):
        for path, inode in entries:
            if inode is REMOVED:
                self.now.pop(path, None)
            else:
                self.now[path] = inode
        self.loose.append((folder, entries))

    def play(self, op):
        kind, path, *rest = op
        if kind == "create":
            self.change(path.parent, (path, Inode()))
        elif kind == "folder":
            self.change(path.parent, (path, None))
        elif kind in ("write", "truncate"):
            self.now[path].loose.append((kind, rest[0], rest[1] if kind == "write" else b""))
        elif kind == "sync":
            self.now[path].sync()
        elif kind == "rename":
            (new,) = rest
            gone = [p for p in self.now if p == path or path in p.parents]
            replaced = [p for p in self.now if new in p.parents]
            moved = [(new / p.relative_to(path) if p != path else new, self.now[p]) for p in gone]
            self.change(path.parent, *((p, REMOVED) for p in gone + replaced), *moved)
        elif kind == "remove":
            self.change(path.parent, *((p, REMOVED) for p in list(self.now) if p == path or path in p.parents))
        else:
            self.flush(path)

    def flush(self, folder, rng=None, keep=None):
        mine = [entries for f, entries in self.loose if f == folder]
        for entries in mine if keep is None else mine[:keep]:
            for path, inode in entries:
                if inode is REMOVED:
                    self.safe.pop(path, None)
                else:
                    self.safe[path] = inode
        self.loose = [(f, e) for f, e in self.loose if f != folder]

    def cut(self, rng, home, target):
        """Write what survives a power cut into `target`."""
        safe, loose = dict(self.safe), list(self.loose)
        for folder in sorted({f for f, _ in loose}):
            self.flush(folder, keep=rng.randrange(len([1 for f, _ in loose if f == folder]) + 1))
        for path, inode in sorted(self.safe.items()):
            place = target / path.relative_to(home.parent)
            if all(p in self.safe for p in path.parents if home in (p, *p.parents)):
                if inode is None:
                    place.mkdir(exist_ok=True)
                else:
                    place.write_bytes(inode.after(rng))
        self.safe, self.loose = safe, loose


REMOVED = object()


@pytest.fixture(scope="module")
def recorded(memory_folder, toy):
    """The trace of a run that was stopped and resumed, its acknowledgements between the changes, and all its events."""
    home = memory_folder / "recorded" / "run"
    home.parent.mkdir()
    disk = RecordingDisk()
    for steps in (5, 9):  # the second call resumes
        toy(home, steps, disk, lambda line: disk.trace.append(("ack", *line.split())))
    with RunDir.open(home) as run:
        events = [repr(line.event).split(" object at")[0] for line in run.lines(dead=True)]
    return home, disk.trace, events


def check(target, acked, saved, events, disk):
    try:
        run = RunDir.open(target / "run", "a", disk=disk)
    except NotARun:
        assert acked == 0
        return 0
    with run:
        there = [repr(line.event).split(" object at")[0] for line in run.lines(dead=True)]
        assert len(there) >= acked and there == events[: len(there)]
        found = run.latest_checkpoint()
        assert (found.step if found else 0) >= saved
        assert audit(run).ok or not there
        for step in range(audit(run).steps):
            run.read_blob(hash_of(f"picture of step {step}".encode()))
    return len(there)


def test_every_prefix_survives_a_power_cut(place, cache_disk, recorded):
    home, trace, events = recorded
    rng = random.Random(0)
    platter, acked, saved, tried = Platter(), 0, 0, 0
    platter.safe[home.parent] = platter.now[home.parent] = None
    lengths = set()
    for op in trace:
        if op[0] == "ack":
            acked, saved = (int(op[2]), saved) if op[1] == "offset" else (acked, int(op[2]))
            continue
        platter.play(op)
        for _ in range(34):
            target = place / "cut"
            target.mkdir()
            platter.cut(rng, home, target)
            lengths.add(check(target, acked, saved, events, cache_disk()))
            shutil.rmtree(target)
            tried += 1
    print(f"{tried} power cuts, 0 violations")
    assert tried > 5000 and max(lengths) == len(events)


def test_the_check_sees_a_ledger_that_acknowledges_before_it_syncs(place, cache_disk, recorded):
    """A disk whose syncs of files do nothing must be caught, else this file proves nothing."""
    home, trace, events = recorded
    rng = random.Random(0)
    platter, acked, caught = Platter(), 0, 0
    platter.safe[home.parent] = platter.now[home.parent] = None
    for op in trace:
        if op[0] == "ack":
            acked = int(op[2]) if op[1] == "offset" else acked
        elif op[0] != "sync":
            platter.play(op)
            target = place / "cut"
            target.mkdir()
            platter.cut(rng, home, target)
            try:
                check(target, acked, 0, events, cache_disk())
            except Exception:
                caught += 1
            shutil.rmtree(target)
    assert caught > 50


def test_the_trace_holds_every_kind_of_change(recorded):
    kinds = {op[0] for op in recorded[1]}
    assert kinds >= {"create", "write", "sync", "folder", "rename", "sync folder", "remove", "ack"}
    assert all(isinstance(op[1], Path) for op in recorded[1] if op[0] != "ack")
