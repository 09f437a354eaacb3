"""A fight in Go: whether one side takes all stones of the other within so many of its own.

Sets of points are integers with a bit for each point, row by row, and an unused bit after each row, so that shifts never wrap round.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from quintain.types import Ints
from quintain.worlds.engines.board.men import keep


class Fight:
    """What can be proved on one board with walls; use `fight_on`, which shares what was found.

    Args:
        size: points on a side.
        area: the points that are no walls.
    """

    def __init__(self, size: int, area: int) -> None:
        self.size, self.area = size, area
        self._takes: dict[Ints, bool] = {}
        self._saves: dict[Ints, bool] = {}

    def beside(self, points: int) -> int:
        """The neighbours of points."""
        down = self.size + 1
        return (points << 1 | points >> 1 | points << down | points >> down) & self.area

    def dead(self, stones: int, free: int) -> int:
        """The stones that are joined to none of the free points."""
        alive, more = 0, stones & self.beside(free)
        while more:
            alive |= more
            more = stones & ~alive & self.beside(more)
        return stones ^ alive

    def puts(self, mine: int, yours: int, ko: int) -> Iterator[Ints]:
        """The points where a side may put a stone, in order, what is then of both sides, and the point that a ko forbids."""
        free = self.area & ~(mine | yours)
        rest = free & ~ko
        while rest:
            bit = rest & -rest
            rest ^= bit
            near = self.beside(bit)
            taken = self.dead(yours, free ^ bit) if near & yours else 0
            if taken or near & free or (near & mine and not self.dead(mine | bit, free ^ bit)):
                alone = taken and not taken & (taken - 1) and not near & (mine | free)
                yield bit, mine | bit, yours ^ taken, taken if alone else 0

    def takes(self, mine: int, yours: int, ko: int, n: int) -> bool:
        """Whether the side to move can take all stones of the other with `n` stones at most."""
        need = self.beside(yours) & ~(mine | yours)
        if need.bit_count() > n:  # against passes each of these points has to be filled
            return False
        if not need & (need - 1) and need != ko:
            return True
        known = self._takes.get(key := (mine, yours, ko, n))
        if known is None:
            known = n > 1 and self._tries(mine, yours, ko, n - 1)
            keep(self._takes, key, known)
        return known

    def _tries(self, mine: int, yours: int, ko: int, n: int) -> bool:
        """Whether a stone of the side to move is not saved from by the other, if it is followed by `n` more."""
        if any(not self.saves(left, then, forbidden, n) for _, then, left, forbidden in self.puts(mine, yours, ko)):
            return True
        # passes help only against a ko: without one the other side may pass as well
        return ko > 0 and not self.saves(yours, mine, 0, n)

    def saves(self, mine: int, yours: int, ko: int, n: int) -> bool:
        """Whether the side to move keeps a stone if the other puts `n` stones at most."""
        if (self.beside(mine) & ~(mine | yours)).bit_count() > n:
            return True
        known = self._saves.get(key := (mine, yours, ko, n))
        if known is None:
            known = not self.takes(yours, mine, 0, n) or any(
                not self.takes(left, then, forbidden, n) for _, then, left, forbidden in self.puts(mine, yours, ko)
            )
            keep(self._saves, key, known)
        return known

    def number(self, bit: int) -> int:
        """The number of a point, one more than the last of them for none: a pass."""
        row, column = divmod(bit.bit_length() - 1, self.size + 1)
        return row * self.size + column if bit else self.size * self.size


def sets_of(cells: Sequence[int], size: int) -> list[int]:
    """The points with each of the codes 0 to 3, as sets."""
    found = [0, 0, 0, 0]
    for cell, code in enumerate(cells):
        found[code] |= 1 << cell + cell // size
    return found


@functools.lru_cache(maxsize=16)
def fight_on(size: int, area: int) -> Fight:
    """The one fight on that board."""
    return Fight(size, area)
