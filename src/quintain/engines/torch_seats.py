"""Who sits in which slot: sessions, the tokens whose keys and values each holds, eviction, compaction."""

from __future__ import annotations

import heapq
import itertools
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from quintain.types import Ints


class Prefix:
    """What a slot holds: two slots with the same prefix hold equal keys and values, by tokens and by policy versions."""

    __slots__ = ("__weakref__", "number")

    def __init__(self, number: int) -> None:
        self.number = number


class Prefixes:
    """The prefixes that slots hold now; what no slot holds any more is forgotten."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._known: WeakValueDictionary[tuple[int, int, Ints], Prefix] = WeakValueDictionary()
        self.empty = Prefix(0)

    def new(self) -> Prefix:
        """A prefix that equals no other."""
        return Prefix(next(self._numbers))

    def after(self, prefix: Prefix, version: int, tokens: Ints) -> Prefix:
        """`prefix` and then `tokens`, computed by policy `version`."""
        key = (prefix.number, version, tokens)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self.new()
        return found


@dataclass(slots=True, eq=False)
class Seat:
    """A session in a slot; `held` are the tokens whose keys and values lie there, `job` is what it works on.

    `version` is the oldest policy version that computed any of them; while a job runs, `prefix` stands for what it has fed.
    """

    session: str
    slot: int
    prefix: Prefix
    held: Ints = ()
    version: int = 0
    job: Any = None


def shared_prefix(held: Ints, prompt: Ints) -> int:
    """How many first tokens of `prompt` are held; at least one is left, or there would be nothing to sample from.

    Example:
        >>> shared_prefix((1, 2, 3), (1, 2, 3, 4)), shared_prefix((1, 2, 3), (1, 2, 9)), shared_prefix((1, 2), (1, 2))
        (3, 2, 1)
    """
    n = len(held)
    if n < len(prompt) and prompt[:n] == held:
        return n
    most = min(n, len(prompt) - 1)
    return next((i for i in range(most) if held[i] != prompt[i]), most)


class Seats:
    """Slots handed to sessions, lowest free slot first; the session that was idle longest gives way.

    The lowest slot first makes the engine's arithmetic a function of what is running, not of what ran before.
    """

    def __init__(self, slots: int) -> None:
        self.sessions: dict[str, Seat] = {}
        self.prefixes = Prefixes()
        self.evicted = 0
        self._idle: OrderedDict[str, Seat] = OrderedDict()
        self._owners: list[Seat | None] = [None] * slots
        self._free = list(range(slots))  # a heap; entries that are taken again are skipped when popped

    def claim(self, session: str, keep: Seat | None = None) -> Seat | None:
        """A seat for a session that has none: a free slot, else the slot of the longest idle seat but `keep`."""
        slot = self._pop()
        if slot is None:
            victim = next((s for s in self._idle.values() if s is not keep), None)
            if victim is None:
                return None
            self.release(victim)
            self.evicted += 1
            slot = self._pop()
            assert slot is not None
        seat = Seat(session, slot, self.prefixes.empty)
        self._owners[slot] = seat
        self.sessions[session] = seat
        self._idle[session] = seat
        return seat

    def _pop(self) -> int | None:
        while self._free:
            slot = heapq.heappop(self._free)
            if self._owners[slot] is None:
                return slot
        return None

    def start(self, seat: Seat, job: Any) -> None:
        """The seat works on `job` from now on and cannot be evicted."""
        del self._idle[seat.session]
        seat.job = job

    def finish(self, seat: Seat, held: Ints) -> None:
        """The seat is idle again and holds `held`."""
        seat.job = None
        seat.held = held
        self._idle[seat.session] = seat

    def release(self, seat: Seat) -> None:
        """Forget a session and free its slot."""
        self.sessions.pop(seat.session, None)
        self._idle.pop(seat.session, None)
        self._owners[seat.slot] = None
        heapq.heappush(self._free, seat.slot)

    def length(self, slot: int) -> int:
        """How many tokens of the sequence in a slot that is taken have keys and values."""
        seat = self._owners[slot]
        assert seat is not None
        return len(seat.held) if seat.job is None else seat.job.fed

    def compact(self, running: Sequence[Seat]) -> tuple[list[int], list[int]]:
        """Bring running seats together in the lowest slots; returns which slots to copy where, all at once.

        Special cases: running seats whose slots follow one another already stay.
        """
        slots = sorted(seat.slot for seat in running)
        count = len(slots)
        if slots[-1] - slots[0] == count - 1:
            return [], []
        taken = set(slots)
        holes = [slot for slot in range(count) if slot not in taken]
        sources: list[int] = []
        targets: list[int] = []
        for high, low in zip((s for s in slots if s >= count), holes, strict=True):
            seat, idle = self._owners[high], self._owners[low]
            assert seat is not None
            sources.append(high)
            targets.append(low)
            self._owners[low], seat.slot = seat, low
            self._owners[high] = idle
            if idle is None:
                heapq.heappush(self._free, high)
            else:
                idle.slot = high
                sources.append(low)
                targets.append(high)
        return sources, targets
