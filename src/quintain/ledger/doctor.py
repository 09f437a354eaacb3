"""Checks every byte of a run, and repairs damaged segments by giving up the damaged records only."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from quintain.ledger.audit import audit
from quintain.ledger.checkpoints import Checkpoints
from quintain.ledger.disk import Disk
from quintain.ledger.errors import CorruptLedger, NotARun, RunLocked
from quintain.ledger.frames import (
    HEADER_SIZE,
    ORIGIN,
    SPLICE,
    Frame,
    Head,
    find_frames,
    read_frame,
    splice,
    write_head,
)
from quintain.ledger.index import Index
from quintain.ledger.lock import Lock, alive, read_holder
from quintain.ledger.log import Reader, segment_path, segments
from quintain.ledger.payload import pack_event
from quintain.ledger.rundir import RunDir
from quintain.ledger.stream import Stream, hash_of, index_path, key_of, lock_path, open_blob, ranks
from quintain.types import Event, Image, QuintainError


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that `verify` saw: `level` is `error`, `warning` or `note`; `fix` is what to do about it."""

    level: str
    where: str
    what: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.level}: {self.where}: {self.what}{f'; {self.fix}' if self.fix else ''}"


def verify(path: str | Path) -> list[Finding]:
    """Read every byte of a run and say what is wrong with it; changes nothing, and a run may go on meanwhile.

    Special cases: an unfinished commit at the end of a log is a note, since the next writer cuts it off.

    Raises:
        NotARun: the folder is not a run.
    """
    home = Path(path).absolute()
    with RunDir.open(home):
        found = [f for rank in ranks(home) for f in _verify_rank(home, rank)]
    found.extend(_verify_checkpoints(home))
    if not any(f.level == "error" for f in found):
        with RunDir.open(home) as run:
            try:
                books = audit(run)
            except QuintainError as error:
                return [*found, Finding(level="error", where=str(home), what=str(error))]
            found.append(Finding(level="note" if books.ok else "error", where=str(home), what=str(books)))
    return found


def _verify_rank(home: Path, rank: int) -> Iterator[Finding]:
    holder = read_holder(lock_path(home, rank))
    if holder and not alive(holder):
        yield Finding(
            level="note",
            where=str(lock_path(home, rank)),
            what=f"its writer, process {holder.get('pid')}, was killed",
            fix="nothing to do: the next writer takes the lock over",
        )
    stream = Stream(home, rank, Index(None))
    try:
        whole = True
        for log, folder in stream.folders.items():
            reader = Reader(folder)
            try:
                for record in reader.poll():
                    if log == "blobs" and hash_of(open_blob(record.payload)) != key_of(record.payload).hex():
                        yield Finding(
                            level="error", where=str(folder), what=f"blob {key_of(record.payload).hex()} has other data"
                        )
            except CorruptLedger as error:
                whole = False
                yield Finding(level="error", where=str(folder), what=str(error))
                continue
            if reader.torn:
                yield Finding(
                    level="note", where=str(folder), what=f"{reader.torn} bytes of an unfinished commit at the end"
                )
        if whole:
            yield from _verify_index(home, rank, stream)
    finally:
        stream.close()


def _verify_index(home: Path, rank: int, stream: Stream) -> Iterator[Finding]:
    path = index_path(home, rank)
    stream.refresh()
    lost = stream.index.places(["lost"], 0)
    if lost:
        yield Finding(level="warning", where=str(home), what=f"a repair gave up records in {len(lost)} places")
    if not path.exists():
        yield Finding(level="note", where=str(path), what="there is no index", fix="the next writer rebuilds it")
        return
    kept = Index.copy(path)
    try:
        mark, truth = kept.mark("events"), stream.index.mark("events")
        if mark.seq > truth.seq:
            yield Finding(
                level="error",
                where=str(path),
                what=f"{mark.seq} events were durable, but only {truth.seq} are in the segments",
                fix=f"`quintain doctor --repair {home}`",
            )
        elif mark == truth and kept.dump() != stream.index.dump():
            yield Finding(
                level="warning",
                where=str(path),
                what="the index differs from the segments",
                fix="delete it: the next writer rebuilds it",
            )
    finally:
        kept.close()


def _verify_checkpoints(home: Path) -> Iterator[Finding]:
    checkpoints = Checkpoints(home / "checkpoints", Disk())
    for step in checkpoints.steps():
        try:
            checkpoints.verify(step)
        except QuintainError as error:
            yield Finding(level="error", where=str(checkpoints.path(step)), what=str(error))


class Repair(NamedTuple):
    """A segment that was rewritten: how many records were given up, and where the damaged file was put."""

    path: Path
    lost: int
    aside: Path | None


def repair(path: str | Path, disk: Disk | None = None) -> list[Repair]:
    """Rewrite damaged segments so that the run opens again: whole records stay, each gap becomes one `lost` event.

    Damaged files move to `RUN/damaged`. Unfinished commits at the end are left to the next writer. The index is rebuilt.

    Raises:
        RunLocked: a process writes to the run.
        NotARun: the folder is not a run.
    """
    home, disk = Path(path).absolute(), disk or Disk()
    if not (home / "run.json").exists():
        raise NotARun(f"{home} is not a run folder: it has no run.json")
    done: list[Repair] = []
    for rank in ranks(home):
        lock = Lock(lock_path(home, rank))
        try:
            durable = _durable(home, rank)
            for log, goal in durable.items():
                done.extend(_repair_log(home, home / log / f"rank-{rank}", goal, disk))
            if done:
                for left in index_path(home, rank).parent.glob(f"rank-{rank}.sqlite*"):
                    disk.remove(left)
        finally:
            lock.release()
    return done


def _durable(home: Path, rank: int) -> dict[str, int]:
    """How many records of each log were durable according to the index."""
    index = Index.copy(index_path(home, rank))
    try:
        return {"segments": index.mark("events").seq, "blobs": index.mark("blobs").seq}
    finally:
        index.close()
