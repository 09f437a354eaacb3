"""A fan of rays over a grid: which cells a seat sees, for all columns of the picture at once.

The eye stands `BACK` behind the middle of its cell and sees a quarter of the plane. Relative cells are (ahead, right). Each ray
passes the same relative cells whatever the board, so they are one table, and a sight is a few look-ups in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

DEPTH = 8  # rows of cells that can be seen ahead
BACK = 0.35  # of a cell
RAYS = 160
CORE = 0.2  # a thing is seen if rays pass this near to the middle of its cell
ENOUGH = 2  # as many of them
CELLS = tuple((d, o) for d in range(DEPTH + 1) for o in range(-d - 1, d + 2))
AT = {cell: i for i, cell in enumerate(CELLS)}


class Fan(NamedTuple):
    """`steps` [step, ray]: the relative cells that a ray passes; `core` (step, ray, cell): where it passes the middle of one."""

    steps: np.ndarray
    core: tuple[np.ndarray, np.ndarray, np.ndarray]


def _fan() -> Fan:
    steps = np.zeros((2 * (DEPTH + 1), RAYS), np.intp)
    core = []
    for ray in range(RAYS):
        slope = (2 * ray + 1 - RAYS) / RAYS
        for d in range(DEPTH + 1):
            near, middle, far = (max(d + part + BACK, 0.0) * slope for part in (-0.5, 0.0, 0.5))
            for step, across in enumerate((near, far)):
                steps[2 * d + step, ray] = AT[d, round(across)]
            cell = round(middle)
            if abs(middle - cell) <= CORE:
                core.append((2 * d + (cell == round(far) and cell != round(near)), ray, AT[d, cell]))
    at, rays, cells = zip(*core, strict=True)
    return Fan(steps, (np.array(at), np.array(rays), np.array(cells)))


FAN = _fan()


def cast(solid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which relative cells are seen at all, and of which the middle.

    Args:
        solid: bool [cell], in the order of `CELLS`: walls, which stop rays.

    Example:
        >>> seen, middles = cast(np.array([d == 2 for d, o in CELLS]))
        >>> bool(seen[AT[2, 0]]), bool(seen[AT[3, 0]]), bool(middles[AT[1, 0]])
        (True, False, True)
    """
    stopped = np.logical_or.accumulate(solid[FAN.steps], axis=0)
    reached = np.ones_like(stopped)
    reached[1:] = ~stopped[:-1]
    seen = np.zeros(len(CELLS), bool)
    seen[FAN.steps[reached]] = True
    at, rays, cells = FAN.core
    passed = np.bincount(cells, reached[at, rays], len(CELLS))
    return seen, passed >= ENOUGH
