"""Which trajectories a run keeps: all, some groups of every step, or none; rows and digests are kept of all."""

from __future__ import annotations

import functools
import hashlib

from quintain.types import Event, Group, QuintainError


class Recording:
    """Reads `all`, `sample:K/N` or `none` and decides event by event.

    A sample is drawn by ticket, before it is known how a group ends: those that end first are short and easy.

    Args:
        text: `all`; `sample:K/N`, K groups of every N tickets in a row, 1 <= K, 1 <= N; `none`.

    Raises:
        QuintainError: any other text.

    Example:
        >>> Recording("sample:2/32").limit
        2
    """

    def __init__(self, text: str) -> None:
        word, _, sizes = text.partition(":")
        count, _, block = sizes.partition("/")
        self.limit, self.block = None if text == "all" else 0, 1
        if word == "sample" and count.isdigit() and block.isdigit() and int(count) and int(block):
            self.limit, self.block = int(count), int(block)
        elif text not in ("all", "none"):
            raise QuintainError(
                f"record is {text.partition('/')[0]!r}; it must be `all`, `sample:K` with K >= 1 groups a step, or `none`"
            )

    @staticmethod
    def a_step(text: str, groups: int) -> str:
        """The text of a config, with how many groups a step has.

        Example:
            >>> Recording.a_step("sample:2", 32), Recording.a_step("all", 32)
            ('sample:2/32', 'all')
        """
        return f"{text}/{groups}" if text.startswith("sample:") and "/" not in text else text

    def whole(self, event: Event) -> bool:
        """Whether the trajectories in this event are kept."""
        if self.limit is None:
            return True
        tickets = [v.ticket for v in event.payload.values() if isinstance(v, Group)]
        return all(ticket % self.block in picked(ticket // self.block, self.block, self.limit) for ticket in tickets)


@functools.lru_cache(maxsize=64)
def picked(number: int, size: int, count: int) -> frozenset[int]:
    """The places within a block of tickets that are kept, `count` of `size`.

    Example:
        >>> len(picked(0, 32, 2)), picked(0, 32, 2) == picked(1, 32, 2)
        (2, False)
    """
    order = sorted(range(size), key=lambda place: hashlib.blake2b(b"%d/%d" % (number, place), digest_size=8).digest())
    return frozenset(order[:count])
