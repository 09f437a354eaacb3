"""The writing end of one rank: a lock, the event log, the blob log, and the index beside them."""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable
from pathlib import Path

from quintain.ledger.checkpoints import Checkpoints
from quintain.ledger.disk import Disk
from quintain.ledger.index import Index, Keys
from quintain.ledger.lock import Lock
from quintain.ledger.log import SEGMENT_BYTES, Log, Reader, segment_path, segments
from quintain.ledger.stream import Stream, hash_of, index_path, key_of, lock_path, pack_blob

_FULL_CHECK = 256 << 20  # the whole chain of a log up to this size is proved at open, beyond it what the index lacks


class Writer:
    """Appends to the stream of one rank.

    Raises:
        RunLocked: another process writes to it.
        CorruptLedger: what was durable is damaged.
    """

    def __init__(self, run: Path, rank: int, disk: Disk, segment_bytes: int = SEGMENT_BYTES) -> None:
        for folder in (run / "index", run / "blobs" / f"rank-{rank}", run / "segments" / f"rank-{rank}"):
            disk.make_folder(folder)
        self.lock = Lock(lock_path(run, rank))
        try:
            self.stream = Stream(run, rank, Index.writable(index_path(run, rank)))
            self.stream.check_index()
            for folder in self.stream.folders.values():
                if sum(segment_path(folder, s).stat().st_size for s in segments(folder)) <= _FULL_CHECK:
                    for _ in Reader(folder).poll():
                        pass
            self.stream.refresh()
            self.stream.check_end(Checkpoints(run / "checkpoints", disk).wrote().get(rank, 0))
            marks = {log: self.stream.index.mark(log) for log in self.stream.folders}
            self.events, self.blobs = (
                Log(folder, marks[log], disk, segment_bytes) for log, folder in self.stream.folders.items()
            )
        except BaseException:
            self.lock.release()
            raise
        self.rank = rank
        self._behind = False  # the index lacks durable events
        self._keys: list[Keys] = []
        self._fresh: dict[str, bytes] = {}  # blobs that are not durable yet
        self._queued = 0  # how many of those the log has
        self._late: deque[tuple[bytes | Callable[[], bytes], Keys]] = deque()  # events that are not in the log yet

    @property
    def offset(self) -> int:
        """The number of the next event."""
        return self.events.seq + len(self._late)

    def append(self, payload: bytes | Callable[[], bytes], keys: Keys) -> int:
        """Add an event and return its number; its bytes may be made when it is committed, and then what follows waits as well."""
        if self._late or callable(payload):
            self._late.append((payload, keys))
            return self.offset - 1
        return self._add(payload, keys)

    def _add(self, payload: bytes, keys: Keys) -> int:
        number = self.events.append(payload)
        self._keys.append(keys)
        return number

    def blob(self, data: bytes) -> str:
        """Add a blob, once, and return its hash; `commit` compresses and writes it."""
        key = hash_of(data)
        if key not in self._fresh and self.stream.index.blob(bytes.fromhex(key)) is None:
            self._fresh[key] = data
        return key

    def fresh_blob(self, key: str) -> bytes | None:
        """A blob that is not durable yet."""
        return self._fresh.get(key)

    def commit(self) -> None:
        """Make blobs, then events, durable: one sync for each of the two logs that has something new."""
        while self._late:
            payload, keys = self._late.popleft()
            self._add(payload() if callable(payload) else payload, keys)
        for data in list(self._fresh.values())[self._queued :]:
            self.blobs.append(pack_blob(data))
            self._queued += 1
        written = self.blobs.commit()
        self._fresh.clear()
        self._queued = 0
        if written:
            rows = [(key_of(r.payload), r) for r in written]
            self._index(lambda: self.stream.index.add_blobs(rows, self.blobs.mark))
        records = self.events.commit()
        keys, self._keys = self._keys, []
        if records:
            self._index(lambda: self.stream.index.add_events(records, keys, self.events.mark))

    def _index(self, add: Callable[[], None]) -> None:
        """Update the index; if that fails (a full disk), the next commit, read or open takes it from the segments."""
        try:
            if self._behind:
                self.stream.refresh()
            else:
                add()
            self._behind = False
        except sqlite3.Error:
            self._behind = True

    def refresh(self) -> None:
        """Bring an index that fell behind up to date."""
        if self._behind:
            self.stream.refresh()
            self._behind = False

    def close(self) -> None:
        """Free everything; what was not committed is dropped."""
        self.events.close()
        self.blobs.close()
        self.stream.close()
        self.lock.release()
