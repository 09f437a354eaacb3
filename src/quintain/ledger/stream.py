"""What one rank wrote: its events, its blobs, and the index over both, for reading and for writing."""

from __future__ import annotations

import hashlib
import os
import shlex
import zlib
from collections.abc import Callable
from pathlib import Path

from quintain.ledger.errors import CorruptLedger, MissingBlob
from quintain.ledger.frames import FRAME_SIZE, SPLICE, Frame, read_frame
from quintain.ledger.index import Index, Place
from quintain.ledger.log import Mark, Reader, Record, segment_path

_BATCH = 2000
_RAW, _ZLIB = 0, 1
_HASH = 16


def hash_of(data: bytes) -> str:
    """The name of a blob: 128 bits of BLAKE2, in hex."""
    return hashlib.blake2b(data, digest_size=_HASH).hexdigest()


class Files:
    """Reads single frames from the segments of a folder; keeps the last segment open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._segment, self._fd = -1, -1

    def read(self, segment: int, start: int) -> tuple[Frame, bytes]:
        """The frame at byte `start` of a segment, its checksum proved, and its payload.

        Raises:
            CorruptLedger: it is damaged or gone.
        """
        path = segment_path(self.folder, segment)
        try:
            if segment != self._segment:
                self.close()
                self._fd, self._segment = os.open(path, os.O_RDONLY | os.O_CLOEXEC), segment
            head = os.pread(self._fd, FRAME_SIZE, start)
            size = int.from_bytes(head[8:12], "little")
            data = head + os.pread(self._fd, min(size, 1 << 30), start + FRAME_SIZE)
        except FileNotFoundError:
            data = b""
        frame = read_frame(data, 0, start)
        if frame is None:
            raise CorruptLedger(
                f"{path}: a damaged record at byte {start}; "
                f"`quintain doctor --repair {shlex.quote(str(path.parents[2]))}` keeps every whole record and marks what is lost"
            )
        return frame, data[frame.body - start :]

    def close(self) -> None:
        """Give the file back."""
        if self._fd >= 0:
            os.close(self._fd)
        self._segment, self._fd = -1, -1


class Stream:
    """The events and blobs of one rank, as far as they are durable. `refresh` takes in what was committed since."""

    def __init__(self, run: Path, rank: int, index: Index) -> None:
        self.rank, self.index = rank, index
        self.folders = {"events": run / "segments" / f"rank-{rank}", "blobs": run / "blobs" / f"rank-{rank}"}
        self.files = {log: Files(folder) for log, folder in self.folders.items()}
        self.torn = 0

    @classmethod
    def reader(cls, run: Path, rank: int) -> Stream:
        """A stream to read from, whoever writes it meanwhile."""
        stream = cls(run, rank, Index.copy(index_path(run, rank)))
        stream.check_index()
        stream.refresh()
        return stream

    def check_index(self) -> None:
        """Forget the index if it belongs to other segments; refuse segments that lack what the index saw durable.

        Raises:
            CorruptLedger: records that were durable are gone.
        """
        for log, folder in self.folders.items():
            known = self.index.mark(log)
            if self._anchored(log, known):
                continue
            reader = Reader(folder)
            for _ in reader.poll():
                pass
            if reader.mark.seq < known.seq:
                raise self._short(log, reader.mark, known.seq)
            self.index.clear()
            return

    def check_end(self, count: int) -> None:
        """Refuse an event log that ends before `count` events, which were durable when a checkpoint was made.

        Raises:
            CorruptLedger: records that were durable are gone.
        """
        if self.offset < count:
            raise self._short("events", self.index.mark("events"), count)

    def _short(self, log: str, mark: Mark, count: int) -> CorruptLedger:
        folder = self.folders[log]
        return CorruptLedger(
            f"{segment_path(folder, mark.segment)}: {mark.seq} whole records up to byte {mark.pos}; {count} were durable: "
            f"`quintain doctor --repair {shlex.quote(str(folder.parents[1]))}` keeps every whole record and marks what is lost"
        )

    def _anchored(self, log: str, known: Mark) -> bool:
        if not known.pos:
            return True
        path = segment_path(self.folders[log], known.segment)
        if not path.exists() or path.stat().st_size < known.pos:
            return False
        last = self.index.last(log)
        if last is None:
            return known.seq == 0
        try:
            frame, _ = self.files[log].read(*last)
        except CorruptLedger:
            return False
        chain = None if frame.flags & SPLICE else frame.chain
        return chain == known.chain and (last[0] != known.segment or frame.stop == known.pos)

    def refresh(self) -> None:
        """Index what became durable since the last call.

        Raises:
            CorruptLedger: bytes that were durable once do not fit.
        """
        self._catch_up("blobs", lambda rows, mark: self.index.add_blobs(((key_of(r.payload), r) for r in rows), mark))
        self._catch_up("events", self.index.read_events)

    def _catch_up(self, log: str, add: Callable[[list[Record], Mark], None]) -> None:
        reader = Reader(self.folders[log], self.index.mark(log))
        batch: list[Record] = []
        done = reader.mark
        for record in reader.poll():
            if len(batch) >= _BATCH and record.frame.commit != batch[-1].frame.commit:
                add(batch, done)
                batch = []
            batch.append(record)
            done = reader.mark  # the end of the commit that this record belongs to
        if reader.mark != self.index.mark(log):
            add(batch, reader.mark)
        if log == "events":
            self.torn = reader.torn

    @property
    def offset(self) -> int:
        """How many events are durable and indexed."""
        return self.index.mark("events").seq

    def event_bytes(self, place: Place) -> bytes:
        """The payload of the event at `place`."""
        return self.files["events"].read(place.segment, place.start)[1]

    def read_blob(self, key: str) -> bytes | None:
        """The blob with this hash, proved by it; None if this rank has none."""
        place = self.index.blob(bytes.fromhex(key))
        if place is None:
            return None
        data = open_blob(self.files["blobs"].read(*place)[1])
        if hash_of(data) != key:
            raise MissingBlob(
                f"blob {key} in {self.folders['blobs']} holds other data than its name says; restore it from a copy"
            )
        return data

    def close(self) -> None:
        """Give files and index back."""
        for files in self.files.values():
            files.close()
        self.index.close()


def index_path(run: Path, rank: int) -> Path:
    """The index file of a rank."""
    return run / "index" / f"rank-{rank}.sqlite"


def lock_path(run: Path, rank: int) -> Path:
    """The lock file of a rank."""
    return run / "segments" / f"rank-{rank}" / "lock"


def ranks(run: Path) -> list[int]:
    """The ranks that have written to a run, also where some of what they wrote is gone."""
    names = {
        p.stem.removeprefix("rank-") for kind in ("segments", "blobs", "index") for p in (run / kind).glob("rank-*")
    }
    return sorted(int(n) for n in names if n.isdigit())


def key_of(record: bytes) -> bytes:
    """The hash that a blob record begins with."""
    return record[:_HASH]


def pack_blob(data: bytes) -> bytes:
    """The record of a blob: its hash, how it is compressed, and its data."""
    small = zlib.compress(data, 1) if len(data) > 64 else data
    if len(small) < len(data) * 0.9:
        return bytes.fromhex(hash_of(data)) + bytes([_ZLIB]) + len(data).to_bytes(8, "little") + small
    return bytes.fromhex(hash_of(data)) + bytes([_RAW]) + data


def open_blob(record: bytes) -> bytes:
    """The data of a blob record."""
    how, rest = record[_HASH], record[_HASH + 1 :]
    if how == _RAW:
        return rest
    return zlib.decompressobj().decompress(rest[8:], int.from_bytes(rest[:8], "little"))
