"""A box of mirrors: a ray goes straight, turns at mirrors, ends at walls, and leaves by a numbered gate."""

from __future__ import annotations

import functools
from typing import NamedTuple

SLASH, BACK, WALL, FREE = "/", "\\", "#", "."
STEP = ((-1, 0), (0, 1), (1, 0), (0, -1))  # up, right, down, left
Place = tuple[int, int, int]  # row, column, direction of travel


class Trace(NamedTuple):
    """The way of a ray: the cells it enters in order, how often it is turned, and its gate out, 0 if a wall stops it."""

    cells: tuple[int, ...]
    turns: int
    gate: int


def turned(sign: str, way: int) -> int:
    """The direction of a ray after a cell.

    Example:
        >>> turned("/", 1), turned("\\\\", 1), turned(".", 1)
        (0, 2, 1)
    """
    return way ^ 1 if sign == SLASH else 3 - way if sign == BACK else way


def entry(gate: int, size: int) -> Place:
    """Where a ray comes in by a gate; gates run clockwise from the upper left, 1 to 4 x size.

    Example:
        >>> entry(1, 4), entry(5, 4), entry(16, 4)
        ((0, 0, 2), (0, 3, 3), (0, 0, 1))
    """
    side, i = divmod(gate - 1, size)
    back = size - 1 - i
    return ((0, i, 2), (i, size - 1, 3), (size - 1, back, 0), (back, 0, 1))[side]


@functools.lru_cache(maxsize=64)
def gates(size: int) -> dict[Place, int]:
    """The gate by which a ray leaves that would come in there if it went the other way."""
    out = {}
    for gate in range(1, 4 * size + 1):
        row, column, way = entry(gate, size)
        out[row, column, (way + 2) % 4] = gate
    return out


def trace(cells: str, size: int, gate: int) -> Trace:
    """The way of the ray that comes in by a gate. It always ends, as ways can be gone backwards."""
    row, column, way = entry(gate, size)
    path, turns = [], 0
    while True:
        at = row * size + column
        sign = cells[at]
        if sign == WALL:
            return Trace(tuple(path), turns, 0)
        path.append(at)
        after = turned(sign, way)
        turns += after != way
        out = gates(size).get((row, column, after))
        if out:
            return Trace(tuple(path), turns, out)
        way = after
        row, column = row + STEP[way][0], column + STEP[way][1]
