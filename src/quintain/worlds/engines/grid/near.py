"""Cells beside each other, and the regions that equal ones make."""

from __future__ import annotations

import functools
from collections.abc import Sequence


@functools.lru_cache(maxsize=256)
def beside(width: int, height: int) -> tuple[tuple[int, ...], ...]:
    """For each cell of a board, row by row, the cells above, below, left and right of it.

    Example:
        >>> beside(2, 2)
        ((2, 1), (3, 0), (0, 3), (1, 2))
    """
    out = []
    for c in range(width * height):
        y, x = divmod(c, width)
        steps = ((y > 0, -width), (y < height - 1, width), (x > 0, -1), (x < width - 1, 1))
        out.append(tuple([c + d for inside, d in steps if inside]))
    return tuple(out)


def region(cells: Sequence[str], start: int, near: Sequence[Sequence[int]]) -> list[int]:
    """The cells that equal cells join to `start`."""
    found, seen, sign = [start], {start}, cells[start]
    for cell in found:
        for to in near[cell]:
            if cells[to] == sign and to not in seen:
                seen.add(to)
                found.append(to)
    return found
