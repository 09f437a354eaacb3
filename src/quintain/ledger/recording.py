"""Which trajectories a run keeps: all, some groups of every step, or none; rows and digests are kept of all."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable

from quintain.ledger.payload import Keep, pack_event
from quintain.types import Event, Group, QuintainError

_STEPS = 8  # whose counts are remembered: groups of one step are committed with it, or soon


class Recording:
    """Reads `all`, `sample:K` or `none` and decides group by group.

    A sample is drawn when its step is committed. By then all groups that ended in the step have ended, so that short ones have no
    better chances, and it is known what was trained and what was dropped: what was trained comes first, what may yet be trained
    next, and what was dropped only fills the rest, as it is all that there is to see of a step that trained nothing.

    Args:
        text: `all`; `sample:K`, K groups of every step, 1 <= K; `none`.

    Raises:
        QuintainError: any other text.

    Example:
        >>> Recording("sample:2").limit
        2
    """

    def __init__(self, text: str) -> None:
        self.limit = None if text == "all" else _sampled(text)
        if not self.limit and text not in ("all", "none"):
            raise QuintainError(
                f"record is {text!r}; it must be `all`, `sample:K` with K >= 1 groups a step, or `none`"
            )
        self._held: dict[int, int] = {}  # ticket -> step, of groups that are to be committed
        self._trained: set[int] = set()
        self._dropped: set[int] = set()
        self._chosen: set[int] = set()  # of those that are committed now
        self._count: Counter[int] = Counter()  # groups kept, by step

    @staticmethod
    def of_rank(text: str, rank: int, size: int) -> str:
        """The share of one of `size` ranks, which all play as many groups.

        Example:
            >>> [Recording.of_rank("sample:3", rank, 2) for rank in (0, 1)], Recording.of_rank("sample:1", 1, 2)
            (['sample:2', 'sample:1'], 'none')
        """
        if not (count := _sampled(text)):
            return text
        share = count // size + (rank < count % size)
        return f"sample:{share}" if share else "none"

    def packed(self, event: Event, keep: Keep) -> bytes | Callable[[], bytes]:
        """The bytes of an event, or what makes them when it is committed; `keep` as for `pack_event`."""
        if not self.limit:
            return pack_event(event, keep, whole=self.limit is None)
        if event.kind == "trained":
            self._trained.update(event.payload["tickets"])
        elif event.kind == "dropped":
            self._dropped.add(event.payload["ticket"])
        tickets = [v.ticket for v in event.payload.values() if isinstance(v, Group)]
        if not tickets:
            return pack_event(event, keep)
        self._held.update(dict.fromkeys(tickets, event.step))
        return lambda: pack_event(event, keep, whole=self._keeps(tickets))

    def _keeps(self, tickets: list[int]) -> bool:
        if self._held:
            self._draw()
        return self._chosen.issuperset(tickets)

    def _draw(self) -> None:
        held, self._held, self._chosen = self._held, {}, set()
        for ticket in sorted(held, key=lambda t: (t in self._dropped, t not in self._trained, _noise(t))):
            if self._count[held[ticket]] < (self.limit or 0):
                self._chosen.add(ticket)
                self._count[held[ticket]] += 1
        self._trained.clear()
        self._dropped.clear()
        for step in sorted(self._count)[:-_STEPS]:
            del self._count[step]


def _sampled(text: str) -> int:
    """K of `sample:K`, 0 of any other text."""
    word, _, count = text.partition(":")
    return int(count) if word == "sample" and count.isdecimal() else 0


def _noise(ticket: int) -> bytes:
    return hashlib.blake2b(b"%d" % ticket, digest_size=8).digest()
