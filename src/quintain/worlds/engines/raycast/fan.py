"""A fan of rays over a grid: which cells a seat sees, for all columns of the picture at once.

The eye stands `BACK` behind the middle of its cell and sees a quarter of the plane. Relative cells are (ahead, right). Each ray
passes the same relative cells whatever the board, so rays are bits, and a sight is a few operations for each cell that it reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

DEPTH = 8  # rows of cells that can be seen ahead
BACK = 0.35  # of a cell
RAYS = 160
CORE = 0.2  # a thing is seen if rays pass this near to the middle of its cell
ENOUGH = 2  # as many of them
CELLS = tuple((d, o) for d in range(DEPTH + 1) for o in range(-d - 1, d + 2))
AT = {cell: i for i, cell in enumerate(CELLS)}


class Passed(NamedTuple):
    """A relative cell, by its place in `CELLS`: the rays that pass it, and those that pass near its middle, as bits."""

    cell: int
    rays: int
    core: int


def _fan() -> tuple[Passed, ...]:
    """All cells, so that each ray passes its own in this order."""
    rays, core = [0] * len(CELLS), [0] * len(CELLS)
    for ray in range(RAYS):
        slope = (2 * ray + 1 - RAYS) / RAYS
        for d in range(DEPTH + 1):
            near, middle, far = (max(d + part + BACK, 0.0) * slope for part in (-0.5, 0.0, 0.5))
            for across in (near, far):
                rays[AT[d, round(across)]] |= 1 << ray
            if abs(middle - round(middle)) <= CORE:
                core[AT[d, round(middle)]] |= 1 << ray
    outward = sorted(range(len(CELLS)), key=lambda i: (CELLS[i][0], abs(CELLS[i][1])))
    return tuple(Passed(i, rays[i], core[i]) for i in outward)


FAN = _fan()


def cast(solid: Sequence[object]) -> tuple[list[int], set[int]]:
    """Which relative cells are seen at all, and of which the middle, by their places in `CELLS`, the first one first.

    Args:
        solid: for each cell, in the order of `CELLS`: whether it is a wall, which stops rays.

    Example:
        >>> seen, middles = cast([d == 2 for d, o in CELLS])
        >>> AT[2, 0] in seen, AT[3, 0] in seen, AT[1, 0] in middles
        (True, False, True)
    """
    alive, seen, middles = (1 << RAYS) - 1, [], set()
    for cell, rays, core in FAN:
        if rays & alive:
            seen.append(cell)
            if (core & alive).bit_count() >= ENOUGH:
                middles.add(cell)
            if solid[cell]:
                alive &= ~rays
                if not alive:
                    break
    seen.sort()
    return seen, middles
