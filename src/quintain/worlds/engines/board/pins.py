"""Heaps of pins in rows: a move takes one or two neighbours, which may split a heap; who takes the last pin wins (Kayles)."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from quintain.types import Ints
from quintain.worlds.art import tiles
from quintain.worlds.engines.board.men import Board
from quintain.worlds.scene import Box, Disc

tiles(
    {
        "pin": (
            Disc(x=0.5, y=0.86, radius=0.14, fill="seam"),
            Box(x=0.34, y=0.3, width=0.32, height=0.6, fill="white", line="stone", thick=0.05, radius=0.14),
            Disc(x=0.5, y=0.26, radius=0.17, fill="white", line="stone", thick=0.05),
            Box(x=0.36, y=0.46, width=0.28, height=0.08, fill="brick"),
        )
    }
)


@functools.lru_cache(maxsize=1024)
def nimber(heap: int) -> int:
    """The nim-value of so many pins side by side (Guy and Smith, 1956)."""
    reached = {
        nimber(left) ^ nimber(heap - taken - left)
        for taken in range(1, min(2, heap) + 1)
        for left in range(heap - taken + 1)
    }
    return next(n for n in range(len(reached) + 1) if n not in reached)


class Pins:
    """Rows of pins; a heap is what stands side by side in a row.

    Args:
        columns, rows: cells, each with a pin before the first move.
    """

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.cells = columns, columns * rows
        self.board = Board(columns=columns, rows=rows, signs=".I", deep=1, lasts=self.cells)

    def begin(self) -> Ints:
        return (1,) * self.cells

    def paths(self, position: Ints) -> Iterable[Ints]:
        for cell in range(self.cells):
            if position[cell]:
                yield (cell,)
                if (cell + 1) % self.columns and position[cell + 1]:
                    yield cell, cell + 1

    def moved(self, position: Ints, path: Ints) -> Ints:
        return (*position[: path[0]], *(0,) * len(path), *position[path[-1] + 1 : -2])

    def ended(self, position: Ints) -> int | None:
        return None if 1 in position[: self.cells] else -1

    def value(self, position: Ints) -> float:
        """1 where the side to move can force a win, else -1: the nim-values of the heaps tell."""
        return 1.0 if self.total(position) else -1.0

    def total(self, position: Ints) -> int:
        """The exclusive or of the nim-values of all heaps."""
        total = heap = 0
        for cell in range(self.cells):
            if not cell % self.columns:
                total, heap = total ^ nimber(heap), 0
            if position[cell]:
                heap += 1
            elif heap:
                total, heap = total ^ nimber(heap), 0
        return total ^ nimber(heap)
