"""Reads every byte of a run and says what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from quintain.ledger.audit import audit
from quintain.ledger.checkpoints import Checkpoints
from quintain.ledger.disk import Disk
from quintain.ledger.errors import CorruptCheckpoint, CorruptLedger
from quintain.ledger.frames import SPLICE
from quintain.ledger.index import Index
from quintain.ledger.lock import alive, read_holder
from quintain.ledger.log import Reader
from quintain.ledger.rundir import RunDir
from quintain.ledger.stream import Stream, hash_of, index_path, key_of, lock_path, open_blob, ranks
from quintain.types import QuintainError


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
        wrote = Checkpoints(home / "checkpoints", Disk()).wrote()
        found = [f for rank in sorted({*ranks(home), *wrote}) for f in _verify_rank(home, rank, wrote.get(rank, 0))]
    found.extend(_verify_checkpoints(home))
    if any(f.level == "error" and f.where != "checkpoints" for f in found):
        return found
    with RunDir.open(home) as run:
        try:
            run.newest()
        except CorruptCheckpoint as error:
            found.append(Finding(level="error", where="checkpoints", what=str(error)))
        books, gaps = audit(run), any(run.events(["lost"]))
    fix = "what is lost was in records that a repair could not keep; the run can go on all the same" if gaps else ""
    level = "note" if books.ok else "error"
    return [*found, Finding(level=level, where=str(home), what=str(books), fix=fix if books.lost else "")]


def _verify_rank(home: Path, rank: int, wrote: int) -> Iterator[Finding]:
    holder = read_holder(lock_path(home, rank))
    if holder and not alive(holder) and not _ended(home):
        what = f"its writer, process {holder.get('pid')}, was killed"
        yield _note(lock_path(home, rank), what, "nothing to do: the next writer takes the lock over")
    stream = Stream(home, rank, Index(None))
    try:
        broken = [f for log, folder in stream.folders.items() for f in _verify_log(log, folder)]
        yield from broken
        if not any(f.level == "error" for f in broken):
            beside = list(_verify_index(home, rank, stream))
            yield from beside
            if not any(f.level == "error" for f in beside):
                stream.check_end(wrote)
    except CorruptLedger as error:
        yield Finding(level="error", where=str(stream.folders["events"]), what=str(error))
    finally:
        stream.close()


def _ended(home: Path) -> bool:
    """Whether the run came to its end: `stopped` is the last word of the first rank, which ends the others."""
    try:
        first = Stream.reader(home, 0)
    except CorruptLedger:
        return False
    try:
        told = first.index.places(["stopped"], 0)
        return bool(told) and told[-1].seq == first.offset - 1
    finally:
        first.close()


def _verify_log(log: str, folder: Path) -> Iterator[Finding]:
    reader = Reader(folder)
    try:
        for record in reader.poll():
            if log == "blobs" and not record.frame.flags & SPLICE:
                key = key_of(record.payload).hex()
                if hash_of(open_blob(record.payload)) != key:
                    yield Finding(
                        level="error", where=str(folder), what=f"blob {key} holds other data than its name says"
                    )
    except CorruptLedger as error:
        yield Finding(level="error", where=str(folder), what=str(error))
        return
    if reader.torn:
        yield _note(folder, f"{reader.torn} bytes of an unfinished commit at the end", "the next writer cuts them off")


def _note(where: Path, what: str, fix: str) -> Finding:
    return Finding(level="note", where=str(where), what=what, fix=fix)


def _verify_index(home: Path, rank: int, stream: Stream) -> Iterator[Finding]:
    path = index_path(home, rank)
    stream.refresh()
    lost = stream.index.places(["lost"], 0)
    if lost:
        yield Finding(level="warning", where=str(home), what=f"a repair gave up records in {len(lost)} places")
    if not path.exists():
        yield _note(path, "there is no index", "the next writer rebuilds it")
        return
    try:
        kept = Stream.reader(home, rank)
    except CorruptLedger as error:
        yield Finding(level="error", where=str(path), what=str(error))
        return
    if kept.index.dump() != stream.index.dump():
        what, fix = "the index differs from the segments", "delete it: the next writer rebuilds it"
        yield Finding(level="warning", where=str(path), what=what, fix=fix)
    kept.close()


def _verify_checkpoints(home: Path) -> Iterator[Finding]:
    checkpoints = Checkpoints(home / "checkpoints", Disk())
    for step in checkpoints.steps():
        try:
            checkpoints.verify(step)
        except QuintainError as error:
            yield Finding(level="error", where="checkpoints", what=str(error))
