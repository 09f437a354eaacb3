"""Areas as sets of quarter cells: the two diagonals cut each cell of the lattice in four; a set is the bits of an integer.

Every polygon whose corners lie on the lattice and whose sides run along it or at 45 degrees is such a set, so overlaps and
covers are exact.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from quintain.worlds.engines.geometry.figure import Spot

PITCH = 24  # cells in a row of the plane, so that shifting bits shifts the set
_CENTRES = ((3, 1), (5, 3), (3, 5), (1, 3))  # middles of the quarters of a cell, in sixths


def shifted(bits: int, x: int, y: int) -> int:
    """A set moved by whole cells."""
    return bits << 4 * (y * PITCH + x)


@functools.lru_cache(maxsize=4096)
def quarters(ring: tuple[Spot, ...]) -> int:
    """The quarter cells within a ring of lattice points.

    Example:
        >>> quarters(((0, 0), (2, 0), (1, 1))).bit_count()
        4
    """
    xs, ys = [x for x, _ in ring], [y for _, y in ring]
    bits = 0
    for y in range(min(ys), max(ys)):
        for x in range(min(xs), max(xs)):
            for k, (i, j) in enumerate(_CENTRES):
                if _within(6 * x + i, 6 * y + j, ring):
                    bits |= 1 << 4 * (y * PITCH + x) + k
    return bits


def placed(ring: Sequence[Spot]) -> int:
    """The same of a ring anywhere in the plane; what equal shapes share is worked out once."""
    x, y = min(p[0] for p in ring), min(p[1] for p in ring)
    return shifted(quarters(tuple((a - x, b - y) for a, b in ring)), x, y)


def _within(px: int, py: int, ring: Sequence[Spot]) -> bool:
    """Whether a place, in sixths of a cell, lies within a ring on no edge of which it lies."""
    inside = False
    for i, (ax, ay) in enumerate(ring):
        bx, by = ring[i - 1]
        ax, ay, bx, by = 6 * ax, 6 * ay, 6 * bx, 6 * by
        if (ay > py) != (by > py):
            side = (bx - ax) * (py - ay) - (px - ax) * (by - ay)
            inside ^= (side > 0) == (by > ay)
    return inside
