"""An append-only log in a folder of segments: atomic group commits, a hash chain, recovery of a torn tail."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from quintain import faults
from quintain.ledger.disk import Disk, explained
from quintain.ledger.errors import CorruptLedger, ReadOnlyRun
from quintain.ledger.frames import (
    END,
    HEADER_SIZE,
    MAX_PAYLOAD,
    ORIGIN,
    SPLICE,
    Frame,
    Head,
    find_frames,
    link,
    read_frame,
    read_head,
    write_frame,
    write_head,
)
from quintain.types import InvariantError

SEGMENT_BYTES = 64 << 20


class Mark(NamedTuple):
    """A place between two commits: byte `pos` of the segment that starts at record `segment`.

    `seq` records and `commit` commits come before it; `chain` is the hash of all of them, None where a repair cut it.
    """

    segment: int = 0
    pos: int = 0
    seq: int = 0
    commit: int = 0
    chain: bytes | None = ORIGIN


class Record(NamedTuple):
    """A durable record: its number, where it lies, and its payload."""

    seq: int
    segment: int
    frame: Frame
    payload: bytes


class Cut(NamedTuple):
    """What recovery took off the end: bytes of a commit that had not become durable when the writer died."""

    path: Path
    pos: int
    size: int


def segment_path(folder: Path, start: int) -> Path:
    """The file of the segment whose first record is number `start`."""
    return folder / f"{start:012d}.seg"


def segments(folder: Path) -> list[int]:
    """First record numbers of the segments in `folder`, in order."""
    return sorted(int(p.stem) for p in folder.glob("*.seg") if p.stem.isdigit())


def corrupt(path: Path, pos: int, what: str) -> CorruptLedger:
    """The error for damage at byte `pos` of a segment."""
    run = shlex.quote(str(path.parents[2]))
    return CorruptLedger(
        f"{path}: {what} at byte {pos}; these bytes were durable once, so the disk or a program changed them. "
        f"`quintain doctor --repair {run}` keeps every whole record, marks what is lost, and sets the file aside"
    )


def _check_tail(path: Path, data: bytes, at: int, base: int, commit: int) -> None:
    """Accept a broken frame of `commit` at `data[at]` as a torn tail, unless a later commit proves that it was durable.

    Frames of commit c + 1 are written only after the sync of commit c returned.
    """
    if any(f.commit > commit for f in find_frames(data, at, base)):
        raise corrupt(path, base + at, "a damaged record")


def _first(path: Path, data: bytes, mark: Mark, is_last: bool) -> Mark | None:
    """The mark after the header of a fresh segment, checked against the log before it; None for a torn header."""
    head = read_head(data)
    if head is None:
        if not is_last or next(find_frames(data, 0), None):
            raise corrupt(path, 0, "a damaged header")
        return None
    if head.seq != mark.seq:
        raise corrupt(path, 0, f"a segment that starts at record {head.seq} where {mark.seq} is next")
    if mark.chain is not None and head.chain != mark.chain:
        raise corrupt(path, 0, "a hash chain that does not go on from the segment before")
    return Mark(mark.seq, HEADER_SIZE, head.seq, head.commit, head.chain if mark.chain is not None else None)


class Reader:
    """Follows a log from a mark: `poll` yields the records of complete commits and moves `mark` behind them."""

    def __init__(self, folder: Path, mark: Mark | None = None) -> None:
        self.folder = folder
        self.mark = mark or Mark()
        self.torn = 0  # bytes after the last complete commit

    def poll(self) -> Iterator[Record]:
        """Records that became readable since the last call.

        Raises:
            CorruptLedger: bytes that were durable once do not fit.
        """
        starts = [s for s in segments(self.folder) if s >= self.mark.segment]
        if starts and starts[0] != self.mark.segment:
            path = segment_path(self.folder, self.mark.segment)
            raise corrupt(path, self.mark.pos, "a missing segment, so a gap")
        for start in starts:
            yield from self._segment(start, start == starts[-1])

    def _segment(self, start: int, is_last: bool) -> Iterator[Record]:
        path = segment_path(self.folder, start)
        base = self.mark.pos if start == self.mark.segment else 0
        with path.open("rb") as file:
            file.seek(base)
            data = file.read()
        at = 0
        if base == 0:
            mark = _first(path, data, self.mark._replace(segment=start), is_last)
            if mark is None:
                self.torn = len(data)
                return
            self.mark, at = mark, HEADER_SIZE
        pending: list[Record] = []
        seq, commit, chain = self.mark.seq, self.mark.commit, self.mark.chain
        while frame := read_frame(data, at, base):
            payload = data[frame.body - base : frame.stop - base]
            spliced = bool(frame.flags & SPLICE)  # it stands for records of any commit
            if frame.seq != seq or (frame.commit < commit and not spliced):
                raise corrupt(path, base + at, f"record {frame.seq} where {seq} is next")
            if (
                chain is not None
                and not spliced
                and frame.chain != link(chain, frame.commit, frame.flags, seq, payload)
            ):
                raise corrupt(path, base + at, "a record whose hash does not go on from the one before")
            pending.append(Record(seq, start, frame, payload))
            seq, chain, at = seq + frame.count, None if spliced else frame.chain, frame.stop - base
            if not spliced:
                commit = frame.commit + bool(frame.flags & END)
            if frame.flags & END:
                self.mark = Mark(start, frame.stop, seq, commit, chain)
                yield from pending
                pending.clear()
        self.torn = len(data) - (self.mark.pos - base)
        if self.torn and not is_last:
            raise corrupt(path, base + at, "a damaged record")
        if self.torn:
            _check_tail(path, data, at, base, commit)


class Log:
    """The writing end of a log. `append` numbers a record, `commit` makes all appended ones durable at once, or none.

    Args:
        folder: where the segments are; made if missing.
        mark: where the valid log ends (from a `Reader` that polled to the end).
        disk: what touches the disk.
        segment_bytes: size at which a new segment is begun.
    """

    def __init__(self, folder: Path, mark: Mark, disk: Disk, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.folder, self.disk, self.segment_bytes = folder, disk, segment_bytes
        self.mark = mark
        self.cut: Cut | None = None
        self._pending: list[bytes] = []
        self._dirty = False
        self._fd = -1
        with explained(folder, "opening the ledger"):
            disk.make_folder(folder)
            self._recover()

    @property
    def seq(self) -> int:
        """The number of the next record to append."""
        return self.mark.seq + len(self._pending)

    def _recover(self) -> None:
        starts = segments(self.folder)
        if starts and (starts[-1] > self.mark.segment or self.mark.pos == 0):
            path = segment_path(self.folder, starts[-1])  # its header never became durable
            self.cut = Cut(path, 0, path.stat().st_size)
            self.disk.remove(path)
            self.disk.sync_folder(self.folder)
        if self.mark.pos:
            path = segment_path(self.folder, self.mark.segment)
            self._fd = self.disk.open(path)
            if (extra := path.stat().st_size - self.mark.pos) > 0:
                self.cut = Cut(path, self.mark.pos, extra)
                self.disk.truncate(self._fd, self.mark.pos)
                self.disk.sync(self._fd)

    def append(self, payload: bytes) -> int:
        """Add a record and return its number; it is durable after the next `commit`.

        Raises:
            InvariantError: the payload is 1 GiB or more.
        """
        if self._fd == -2:
            raise ReadOnlyRun(f"{self.folder}: the ledger is closed; open the run again to append")
        if len(payload) >= MAX_PAYLOAD:
            raise InvariantError(
                f"one event holds {len(payload)} bytes; the limit is {MAX_PAYLOAD}: keep large data as blobs"
            )
        self._pending.append(payload)
        return self.mark.seq + len(self._pending) - 1

    def commit(self) -> list[Record]:
        """Write and sync what was appended, all or nothing, and return the records.

        Raises:
            DiskFull: no space; what was appended stays in memory and a later `commit` writes it.
        """
        if not self._pending:
            return []
        path = segment_path(self.folder, self.mark.segment)
        with explained(path, "writing events"):
            if self._dirty:
                self._rewind()
            if self._fd < 0 or self.mark.pos >= self.segment_bytes:
                self._next_segment()
            records, chunks, mark = self._frames()
            self._dirty = True
            try:
                faults.point("ledger.before_write")
                self.disk.write(self._fd, b"".join(chunks), self.mark.pos)
                faults.point("ledger.before_sync")
                self.disk.sync(self._fd)
            except OSError:
                with contextlib.suppress(OSError):
                    self._rewind()
                raise
            self._dirty = False
        faults.point("ledger.after_sync")
        self.mark = mark
        self._pending.clear()
        return records

    def _rewind(self) -> None:
        self.disk.truncate(self._fd, self.mark.pos)
        self._dirty = False

    def _frames(self) -> tuple[list[Record], list[bytes], Mark]:
        mark, records, chunks = self.mark, [], []
        seq, pos, chain = mark.seq, mark.pos, mark.chain or ORIGIN
        for i, payload in enumerate(self._pending):
            flags = END if i == len(self._pending) - 1 else 0
            chain = link(chain, mark.commit, flags, seq, payload)
            data = write_frame(mark.commit, flags, seq, chain, payload)
            frame = Frame(seq, mark.commit, flags, chain, pos, pos + len(data) - len(payload), pos + len(data), 1)
            records.append(Record(seq, mark.segment, frame, payload))
            chunks.append(data)
            seq, pos = seq + 1, pos + len(data)
        return records, chunks, Mark(mark.segment, pos, seq, mark.commit + 1, chain)

    def _next_segment(self) -> None:
        start = self.mark.seq
        path = segment_path(self.folder, start)
        spare = path.with_suffix(".new")
        spare.unlink(missing_ok=True)
        fd = self.disk.open(spare, new=True)
        try:
            self.disk.write(fd, write_head(Head(start, self.mark.commit, self.mark.chain or ORIGIN)), 0)
            self.disk.sync(fd)
            faults.point("ledger.before_rename")
            self.disk.rename(spare, path)
            faults.point("ledger.after_rename")
            self.disk.sync_folder(self.folder)
        except OSError:
            self.disk.close(fd)
            for left in (spare, path):
                left.unlink(missing_ok=True)
            raise
        if self._fd >= 0:
            self.disk.close(self._fd)
        self._fd = fd
        self.mark = Mark(start, HEADER_SIZE, start, self.mark.commit, self.mark.chain)

    def close(self) -> None:
        """Give the file back. What was not committed is dropped."""
        self._pending.clear()
        if self._fd >= 0:
            self.disk.close(self._fd)
        self._fd = -2
