"""The SQLite index of a rank: where each event lies and what it is about. It can be rebuilt from the segments."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from quintain.ledger.log import Mark, Record
from quintain.ledger.payload import unpack_event
from quintain.types import Event

_SCHEMA = """
create table if not exists mark (log text primary key, segment int, pos int, seq int, commits int, chain blob);
create table if not exists event
  (seq integer primary key, segment int, start int, kind text, step int, time real, ticket int);
create index if not exists event_kind on event (kind, seq);
create index if not exists event_ticket on event (ticket, kind);
create table if not exists trajectory (id text, seq int);
create index if not exists trajectory_id on trajectory (id);
create table if not exists dead (rank int, since int, until int);
create table if not exists blob (hash blob primary key, segment int, start int) without rowid;
"""
_FORMAT = 1


class Keys(NamedTuple):
    """What the index holds of an event."""

    kind: str
    step: int
    time: float
    ticket: int | None
    ids: Sequence[str]
    dead: Sequence[tuple[int, int, int | None]]  # rank, since, until (None: this event) of a `superseded` marker


class Place(NamedTuple):
    """Where the event `seq` lies, and its kind."""

    seq: int
    segment: int
    start: int
    kind: str


def keys_of(event: Event) -> Keys:
    """The index entry of an event. Its `ticket` may be a number or a ticket, its `group` a group, packed or not."""
    payload = event.payload
    ticket = payload.get("ticket")
    group = payload.get("group")
    ids: Sequence[str] = ()
    if group is not None and hasattr(group, "ticket"):
        ticket = group.ticket
        ids = group.ids if hasattr(group, "ids") else [t.id for t in group.trajectories]
    elif ticket is not None and not isinstance(ticket, int):
        ticket = ticket["index"] if isinstance(ticket, dict) else ticket.index
    dead: list[tuple[int, int, int | None]] = []
    if event.kind == "superseded":
        dead.append((0, payload["since"], None))
        dead.extend((int(rank), since, until) for rank, (since, until) in payload.get("ranks", {}).items())
    return Keys(event.kind, event.step, event.time, ticket, ids, dead)


class Index:
    """Rows about the events and blobs of one rank, in a file or in memory."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.db = sqlite3.connect(str(path) if path else ":memory:", check_same_thread=False, isolation_level=None)
        self.db.execute("pragma journal_mode=wal")
        self.db.execute("pragma synchronous=normal")
        if self.db.execute("pragma user_version").fetchone()[0] not in (0, _FORMAT):
            raise sqlite3.DatabaseError("an index of another format")
        self.db.executescript(_SCHEMA)
        self.db.execute(f"pragma user_version={_FORMAT}")

    @classmethod
    def writable(cls, path: Path) -> Index:
        """The index in the file `path`, made anew if it cannot be read."""
        with contextlib.suppress(sqlite3.Error):
            return cls(path)
        for name in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
            name.unlink(missing_ok=True)
        return cls(path)

    @classmethod
    def copy(cls, path: Path) -> Index:
        """An index in memory that begins with what the file `path` holds; empty if that cannot be read."""
        index = cls(None)
        if not path.exists():
            return index
        with (
            contextlib.suppress(sqlite3.Error),
            contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file,
        ):
            if file.execute("pragma user_version").fetchone()[0] == _FORMAT:
                file.backup(index.db)
                return index
        return cls(None)

    def close(self) -> None:
        """Free the database."""
        self.db.close()

    def mark(self, log: str) -> Mark:
        """How far the log (`events` or `blobs`) is indexed."""
        row = self.db.execute("select segment, pos, seq, commits, chain from mark where log = ?", (log,)).fetchone()
        return Mark(*row) if row else Mark()

    def clear(self) -> None:
        """Forget everything."""
        with self._transaction():
            for table in ("mark", "event", "trajectory", "dead", "blob"):
                self.db.execute(f"delete from {table}")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self.db.execute("begin immediate")
        try:
            yield
        except BaseException:
            self.db.execute("rollback")
            raise
        self.db.execute("commit")

    def add_events(self, records: Iterable[Record], keys: Iterable[Keys], mark: Mark) -> None:
        """Index events, and note that the log is indexed up to `mark`."""
        events, ids, dead = [], [], []
        for r, k in zip(records, keys, strict=True):
            events.append((r.seq, r.segment, r.frame.start, k.kind, k.step, k.time, k.ticket))
            ids.extend((i, r.seq) for i in k.ids)
            dead.extend((rank, since, r.seq if until is None else until) for rank, since, until in k.dead)
        with self._transaction():
            self.db.executemany("insert or replace into event values (?, ?, ?, ?, ?, ?, ?)", events)
            self.db.executemany("insert into trajectory values (?, ?)", ids)
            self.db.executemany("insert into dead values (?, ?, ?)", dead)
            self._set_mark("events", mark)

    def read_events(self, records: Sequence[Record], mark: Mark) -> None:
        """Index events from their bytes."""
        self.add_events(records, (keys_of(unpack_event(r.payload)) for r in records), mark)

    def add_blobs(self, rows: Iterable[tuple[bytes, Record]], mark: Mark) -> None:
        """Index blobs by hash."""
        with self._transaction():
            places = [(h, r.segment, r.frame.start) for h, r in rows]
            self.db.executemany("insert or ignore into blob values (?, ?, ?)", places)
            self._set_mark("blobs", mark)

    def _set_mark(self, log: str, mark: Mark) -> None:
        self.db.execute("insert or replace into mark values (?, ?, ?, ?, ?, ?)", (log, *mark))

    def dead(self, rank: int) -> list[tuple[int, int]]:
        """Ranges [since, until) of superseded events of a rank, apart from each other and in order."""
        out: list[tuple[int, int]] = []
        for since, until in self.db.execute("select since, until from dead where rank = ? order by since", (rank,)):
            if out and since <= out[-1][1]:
                out[-1] = (out[-1][0], max(until, out[-1][1]))
            elif since < until:
                out.append((since, until))
        return out

    def blob(self, key: bytes) -> tuple[int, int] | None:
        """Segment and byte offset of a blob."""
        return self.db.execute("select segment, start from blob where hash = ?", (key,)).fetchone()

    def blobs(self) -> list[bytes]:
        """The hashes of all blobs."""
        return [row[0] for row in self.db.execute("select hash from blob")]

    def places(self, kinds: Sequence[str] | None, since: int, step: int | None = None) -> list[Place]:
        """Where the events from number `since` on lie, in order."""
        query, values = "select seq, segment, start, kind from event where seq >= ?", [since]
        if kinds is not None:
            query += f" and kind in ({', '.join('?' * len(kinds))})"
        if step is not None:
            query += f" and step = {int(step)}"
        return [Place(*row) for row in self.db.execute(query + " order by seq", [*values, *(kinds or ())])]

    def last(self, log: str) -> tuple[int, int] | None:
        """Segment and byte offset of the last record of a log."""
        table = "event" if log == "events" else "blob"
        return self.db.execute(
            f"select segment, start from {table} order by segment desc, start desc limit 1"
        ).fetchone()

    def of_tickets(self, tickets: Sequence[int], kind: str) -> list[Place]:
        """Where the events of a kind about these tickets lie."""
        return self._each("event.ticket", tickets, "and kind = ?", (kind,))

    def of_trajectories(self, ids: Sequence[str]) -> list[Place]:
        """Where the groups that hold these trajectories lie."""
        return self._each("trajectory.id", ids, "", (), "join trajectory using (seq)")

    def _each(
        self, column: str, values: Sequence[Any], more: str, rest: tuple[Any, ...], join: str = ""
    ) -> list[Place]:
        found: dict[int, Place] = {}
        for at in range(0, len(values), 500):
            some = values[at : at + 500]
            marks = ", ".join("?" * len(some))
            query = f"select seq, segment, start, kind from event {join} where {column} in ({marks}) {more}"
            found.update((row[0], Place(*row)) for row in self.db.execute(query, [*some, *rest]))
        return [found[seq] for seq in sorted(found)]

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of every table, to compare two indexes."""
        tables = ("mark", "event", "trajectory", "dead", "blob")
        return {t: sorted(self.db.execute(f"select * from {t}").fetchall(), key=repr) for t in tables}
