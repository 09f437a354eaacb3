"""A line of tickets of which only the oldest may be consumed, with counts that never need a look at all of them."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass

from quintain.types import Group, Ticket


@dataclass(slots=True, eq=False)
class Place:
    """A ticket in the window: its group once it is finished, and whether the early gate has judged it."""

    ticket: Ticket
    group: Group | None = None
    judged: bool = False


class Line:
    """Places in ticket order, of which the first `reach` may be consumed; counts by the version of their tickets."""

    def __init__(self, reach: int) -> None:
        self.reach = reach
        self.head: dict[int, Place] = {}
        self.tail: deque[Place] = deque()  # those that were removed are skipped when their turn comes
        self.gone: set[int] = set()  # removed from the tail
        self.count: Counter[int] = Counter()  # all of them
        self.ripe: Counter[int] = Counter()  # those of the head that are judged
        self.ready = 0  # the sum of `ripe`
        self.last = -1  # the latest ticket

    def add(self, place: Place) -> None:
        """Put a place at its end, or where its ticket belongs if later ones are there."""
        if place.ticket.index < self.last:
            return self.insert(place)
        self.last = place.ticket.index
        self.count[place.ticket.version] += 1
        self.tail.append(place)
        self._fill()

    def insert(self, place: Place) -> None:
        """Put a place where its ticket belongs."""
        tail = [p for p in self.tail if p.ticket.index not in self.gone]
        places = sorted([*self.head.values(), *tail, place], key=lambda p: p.ticket.index)
        self.head, self.tail, self.gone = {}, deque(places), set()
        self.count, self.ripe, self.ready = Counter(p.ticket.version for p in places), Counter(), 0
        self._fill()

    def _fill(self) -> None:
        while len(self.head) < self.reach and self.tail:
            place = self.tail.popleft()
            if place.ticket.index in self.gone:
                self.gone.discard(place.ticket.index)
                continue
            self.head[place.ticket.index] = place
            if place.judged:
                self._ripen(place, 1)

    def _ripen(self, place: Place, by: int) -> None:
        version = place.ticket.version
        self.ripe[version] += by
        self.ready += by
        if not self.ripe[version]:
            del self.ripe[version]

    def judged(self, place: Place) -> None:
        """The place is judged from now on."""
        place.judged = True
        if place.ticket.index in self.head:
            self._ripen(place, 1)

    def remove(self, place: Place) -> None:
        """Forget a place."""
        version = place.ticket.version
        self.count[version] -= 1
        if not self.count[version]:
            del self.count[version]
        if place.ticket.index not in self.head:
            self.gone.add(place.ticket.index)
            return
        del self.head[place.ticket.index]
        if place.judged:
            self._ripen(place, -1)
        self._fill()

    def first(self, count: int) -> list[Place]:
        """The oldest `count` places of the head that are judged, or as many as there are."""
        out: list[Place] = []
        for place in self.head.values():
            if len(out) == count:
                break
            if place.judged:
                out.append(place)
        return out
