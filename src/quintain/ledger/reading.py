"""Reading a run while or after it is written: events in order, played groups, blobs, over all ranks."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from quintain.ledger.errors import MissingBlob
from quintain.ledger.groups import PackedGroup
from quintain.ledger.index import Place
from quintain.ledger.payload import unpack_event
from quintain.ledger.stream import Stream, ranks
from quintain.ledger.writer import Writer
from quintain.types import Event


class Line(NamedTuple):
    """An event with its number in the ledger of its rank, and whether a resume has superseded it."""

    offset: int
    rank: int
    event: Event
    dead: bool


class Reading:
    """What can be read of a run, over all ranks; what was committed since is seen by the next call.

    Args:
        path: the run folder.
        own: the rank that this process writes, if any.
        lock: held while files or index are read.
    """

    def __init__(self, path: Path, own: Writer | None, lock: threading.RLock) -> None:
        self.path = path
        self._own, self._lock = own, lock
        self._streams: dict[int, Stream] = {}

    def close(self) -> None:
        """Give every file back."""
        for stream in self._streams.values():
            stream.close()
        self._streams = {}

    def _stream(self, rank: int) -> Stream:
        if self._own is not None and rank == self._own.rank:
            self._own.refresh()
            return self._own.stream
        if rank in self._streams:
            self._streams[rank].refresh()
        else:
            self._streams[rank] = Stream.reader(self.path, rank)
        return self._streams[rank]

    def streams(self) -> list[Stream]:
        """The streams of all ranks, up to date."""
        return [self._stream(r) for r in ranks(self.path)]

    def offset(self, rank: int) -> int:
        """How many events of a rank are durable."""
        with self._lock:
            return self._stream(rank).offset

    def dead(self, rank: int) -> list[tuple[int, int]]:
        """Ranges [since, until) of superseded events of a rank, in order."""
        with self._lock:
            return self._stream(0).index.dead(rank)

    def lines(
        self, kinds: Sequence[str] | None = None, since: int = 0, *, dead: bool = False, step: int | None = None
    ) -> Iterator[Line]:
        """Durable events with their numbers: those of a rank in order, ranks merged by step.

        Args:
            kinds: only these kinds.
            since: from this number on, in every rank.
            dead: give the superseded ones too.
            step: only events of this step.
        """
        with self._lock:
            sources = [(s, s.index.places(kinds, since, step), self.dead(s.rank)) for s in self.streams()]
        streams = [self._lines(*source, dead) for source in sources]
        yield from (
            streams[0] if len(streams) == 1 else heapq.merge(*streams, key=lambda line: (line.event.step, line.rank))
        )

    def _lines(
        self, stream: Stream, places: Sequence[Place], gone: Sequence[tuple[int, int]], dead: bool
    ) -> Iterator[Line]:
        for place in places:
            is_dead = any(since <= place.seq < until for since, until in gone)
            if dead or not is_dead:
                with self._lock:
                    event = unpack_event(stream.event_bytes(place))
                yield Line(place.seq, stream.rank, event, is_dead)

    def packed(
        self, *, step: int | None = None, tickets: Sequence[int] | None = None, ids: Sequence[str] | None = None
    ) -> Iterator[PackedGroup]:
        """Played groups: all, those that a step trained on (in its order), or those of some tickets or trajectories."""
        if step is not None:
            trained = [t for e in self.lines(["trained"], step=step) for t in e.event.payload["tickets"]]
            found = {g.ticket: g for g in self.packed(tickets=trained)}
            yield from (found[t] for t in trained if t in found)
            return
        with self._lock:
            sources = []
            for stream in self.streams():
                if tickets is not None:
                    places = stream.index.of_tickets(tickets, "played")
                elif ids is not None:
                    places = stream.index.of_trajectories(ids)
                else:
                    places = stream.index.places(["played"], 0)
                sources.append((stream, places, self.dead(stream.rank)))
        for source in sources:
            for line in self._lines(*source, False):
                yield line.event.payload["group"]

    def blob(self, key: str) -> bytes:
        """The data of a blob, proved by its hash.

        Raises:
            MissingBlob: no rank kept it.
        """
        with self._lock:
            for stream in self.streams():
                if (data := stream.read_blob(key)) is not None:
                    return data
        raise MissingBlob(f"{self.path} has no blob {key}; if its blobs folder was deleted to save space, restore it")
