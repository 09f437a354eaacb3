"""Rewrites damaged segments: whole records keep their numbers, each gap becomes one `lost` event."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from quintain.ledger.checkpoints import Checkpoints
from quintain.ledger.disk import Disk, explained
from quintain.ledger.errors import CorruptLedger, NotARun
from quintain.ledger.frames import (
    END,
    HEADER_SIZE,
    ORIGIN,
    SPLICE,
    Frame,
    Head,
    find_frames,
    link,
    read_head,
    splice,
    write_head,
)
from quintain.ledger.index import Index
from quintain.ledger.lock import Lock
from quintain.ledger.log import Mark, Reader, segment_path, segments
from quintain.ledger.payload import pack_event
from quintain.ledger.rundir import RunDir
from quintain.ledger.stream import index_path, lock_path, pack_blob, ranks
from quintain.types import Event


class Repair(NamedTuple):
    """A file that was written anew: how many records of it were given up, and where the damaged one is now.

    Example:
        >>> print(Repair(Path("a.seg"), 3, Path("damaged/0-a.seg")))
        a.seg: 3 records are lost; what was there is in damaged/0-a.seg
    """

    path: Path
    lost: int
    aside: Path | None

    def __str__(self) -> str:
        what = f"{self.lost} record{'s are' if self.lost != 1 else ' is'} lost"
        return f"{self.path}: {what}; {f'what was there is in {self.aside}' if self.aside else 'the file was gone or empty'}"


def repair(path: str | Path, disk: Disk | None = None) -> list[Repair]:
    """Make a run with damaged segments open again, at the cost of the damaged records only.

    Every record keeps its number, so checkpoints stay valid; what was lost shows as `lost` events and in the audit. The
    damaged files go to `RUN/damaged`, the next writer rebuilds the index. A `config.toml` that is gone is written as the run last began
    with it. A whole run is not touched.

    Raises:
        RunLocked: a process writes to the run.
        NotARun: the folder is not a run.
        DiskFull: no space for a new segment; nothing was changed.
    """
    home, disk = Path(path).absolute(), disk or Disk()
    if not (home / "run.json").exists():
        raise NotARun(f"{home} is not a run folder: it has no run.json")
    done: list[Repair] = []
    wrote = Checkpoints(home / "checkpoints", disk).wrote()
    for rank in sorted({*ranks(home), *wrote}):
        with explained(home, "repairing"):
            disk.make_folder(lock_path(home, rank).parent)
            lock = Lock(lock_path(home, rank))
            try:
                done.extend(_repair_rank(home, rank, wrote.get(rank, 0), disk))
            finally:
                lock.release()
    return [*done, *_repair_config(home, disk)]


def _repair_config(home: Path, disk: Disk) -> Iterator[Repair]:
    if (home / "config.toml").exists():
        return
    with RunDir.open(home) as run:
        if run.agreed:
            with explained(home, "repairing"):
                disk.put(home / "config.toml", run.agreed.encode())
            yield Repair(home / "config.toml", 0, None)


def _repair_rank(home: Path, rank: int, wrote: int, disk: Disk) -> list[Repair]:
    index = Index.copy(index_path(home, rank))
    goals = {"segments": max(index.mark("events").seq, wrote), "blobs": index.mark("blobs").seq}
    index.close()
    done = []
    for log, goal in goals.items():
        folder = home / log / f"rank-{rank}"
        if not _whole(folder, goal):
            done.extend(_repair_log(home, folder, goal, disk))
    if done:
        for left in sorted((home / "index").glob(f"rank-{rank}.sqlite*")):
            disk.remove(left)
    return done


def _whole(folder: Path, goal: int) -> bool:
    reader = Reader(folder)
    try:
        for _ in reader.poll():
            pass
    except CorruptLedger:
        return False
    return reader.mark.seq >= goal


def _repair_log(home: Path, folder: Path, goal: int, disk: Disk) -> Iterator[Repair]:
    starts = segments(folder)
    if not starts or starts[0]:
        starts.insert(0, 0)
    disk.make_folder(folder)
    mark = Mark()
    for start, stop in zip(starts, [*starts[1:], None], strict=True):
        path = segment_path(folder, start)
        old = path.read_bytes() if path.exists() else b""
        new, lost, mark = _rewrite(old, mark, stop if stop is not None else goal, folder.parent.name, stop is None)
        if new != old:
            aside = _set_aside(home, path, old, disk) if old else None
            disk.put(path, new)
            yield Repair(path, lost, aside)


def _set_aside(home: Path, path: Path, data: bytes, disk: Disk) -> Path:
    folder = home / "damaged"
    disk.make_folder(folder)
    aside = folder / f"{len(list(folder.iterdir()))}-{path.parents[1].name}-{path.parent.name}-{path.name}"
    disk.put(aside, data)
    return aside


def _rewrite(old: bytes, mark: Mark, stop: int, log: str, is_last: bool) -> tuple[bytes, int, Mark]:
    """The segment with its whole frames, and splices in the gaps up to record `stop`; where it leaves the log."""
    head = read_head(old)
    seq, commit, chain, lost = mark.seq, mark.commit, mark.chain, 0
    if head is not None and head.seq == seq and (chain is None or head.chain == chain):
        commit, out = head.commit, [old[:HEADER_SIZE]]
        chain = None if mark.chain is None else head.chain
    else:
        out = [write_head(Head(seq, commit, chain or ORIGIN))]

    def give_up(until: int) -> None:
        nonlocal seq, chain, lost
        out.append(splice(commit, seq, until - seq, _tell(seq, until, log)))
        seq, chain, lost = until, None, lost + until - seq

    for frame in _sound(old, is_last, stop):
        if frame.seq < seq or frame.commit < commit:
            continue
        payload = old[frame.body : frame.stop]
        after_gap = frame.seq > seq
        if after_gap:
            give_up(frame.seq)
        spliced = bool(frame.flags & SPLICE)
        if chain is not None and not spliced and frame.chain != link(chain, frame.commit, frame.flags, seq, payload):
            continue  # a forged or misplaced record: given up with the next whole one
        out.append(old[frame.start : frame.stop])
        seq, commit, chain = seq + frame.count, frame.commit, None if spliced else frame.chain
    if seq < stop:
        give_up(stop)
    return b"".join(out), lost, Mark(0, 0, seq, commit, chain)


def _sound(old: bytes, is_last: bool, stop: int) -> list[Frame]:
    """The whole frames; at the end of the log without those of a commit that was never durable."""
    frames = list(find_frames(old, HEADER_SIZE if read_head(old) else 0))
    if not is_last:
        return [f for f in frames if f.seq + f.count <= stop]
    while frames and not frames[-1].flags & END and frames[-1].seq >= stop:
        frames.pop()
    return frames


def _tell(since: int, until: int, log: str) -> bytes:
    if log == "blobs":
        return pack_blob(b"")
    payload = {"since": since, "count": until - since}
    event = Event(time=time.time(), step=0, actor="doctor", kind="lost", payload=payload)
    return pack_event(event, lambda image: image)
