"""Corridors, junctions and mazes of first-person worlds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quintain.worlds.engines.grid.board import FLOOR, GOAL, WALL
from quintain.worlds.engines.grid.layouts import maze as carved
from quintain.worlds.engines.raycast.floor import Floor, Place, Stand
from quintain.worlds.engines.raycast.rules import CHOOSE, REACH
from quintain.worlds.engines.raycast.things import SIGN
from quintain.worlds.noise import Rng

Knobs = Mapping[str, Any]
Cell = tuple[int, int]
_STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))  # north, east, south, west


class Blocked(Exception):
    """A corridor came beside another one."""


def _run(dug: set[Cell], at: Cell, heading: int, length: int) -> Cell:
    """Dig straight on from `at`; the last cell.

    Raises:
        Blocked: a cell would lie beside one that is dug.
    """
    for _ in range(length):
        to = (at[0] + _STEPS[heading][0], at[1] + _STEPS[heading][1])
        beside = [(to[0] + y, to[1] + x) for y, x in _STEPS]
        if to in dug or any(cell in dug for cell in beside if cell != at):
            raise Blocked
        dug.add(to)
        at = to
    return at


def _winding(rng: Rng, dug: set[Cell], knobs: Knobs) -> tuple[Cell, int]:
    """Dig a corridor with so many `bends` and pieces of 2 up to `long` cells; its end and heading there."""
    at, heading = (0, 0), rng.below(4)
    dug.add(at)
    for i in range(knobs["bends"] + 1):
        heading = (heading + (rng.pick((1, 3)) if i else 0)) % 4
        at = _run(dug, at, heading, 2 + rng.below(knobs["long"] - 1))
    return at, heading


def _floor(dug: set[Cell], cells: Sequence[Cell]) -> tuple[Floor, list[int]]:
    """The floor that is dug, cut to size, and where some cells are on it."""
    top, left = min(y for y, _ in dug), min(x for _, x in dug)
    height, width = max(y for y, _ in dug) - top + 1, max(x for _, x in dug) - left + 1
    signs = [FLOOR if (y + top, x + left) in dug else WALL for y in range(height) for x in range(width)]
    return Floor(width, height, "".join(signs)), [(y - top) * width + x - left for y, x in cells]


def corridor(rng: Rng, knobs: Knobs) -> Stand | None:
    """A winding corridor with blind alleys; the wanted thing is at its end, the seat near its beginning."""
    dug: set[Cell] = set()
    try:
        end, _ = _winding(rng, dug, knobs)
        for _ in range(knobs["alleys"]):
            _run(dug, rng.pick(sorted(dug)), rng.below(4), 1 + rng.below(2))
    except Blocked:
        return None
    floor, (begin, last) = _floor(dug, [(0, 0), end])
    wanted = rng.below(knobs["kinds"])
    return Stand(Place(REACH, floor, (wanted,), wanted), begin, rng.below(4), (last,))


def junction(rng: Rng, knobs: Knobs) -> Stand | None:
    """A sign at the blind end of a corridor, and `arms` arms at its other end, with a thing at the end of each."""
    dug: set[Cell] = set()
    try:
        fork, heading = _winding(rng, dug, knobs)
        ends = []
        for turn in rng.sample((1, 3), 2) if knobs["arms"] == 2 else rng.sample((0, 1, 3), 3):
            way = (heading + turn) % 4
            end = _run(dug, fork, way, 2 + rng.below(knobs["arm"]))
            if rng.below(2):
                end = _run(dug, end, (way + rng.pick((1, 3))) % 4, 1 + rng.below(2))
            ends.append(end)
    except Blocked:
        return None
    floor, (sign, *where) = _floor(dug, [(0, 0), *ends])
    kinds = rng.sample(range(knobs["kinds"]), knobs["arms"])
    near = [to for row in floor.ahead if (to := row[sign]) >= 0]
    place = Place(CHOOSE, floor, (*kinds, SIGN + 1 + kinds[0]), kinds[0], shown=False)
    return Stand(place, near[0], rng.below(4), (*where, sign))


def maze(rng: Rng, knobs: Knobs) -> Stand | None:
    """A maze; the wanted thing is at the goal of the same maze seen from above."""
    walk = carved(rng, knobs)
    if walk is None:
        return None
    board = walk.board
    wanted, goal = rng.below(knobs["kinds"]), board.cells.index(GOAL)
    floor = Floor(board.width, board.height, board.cells.replace(GOAL, FLOOR))
    return Stand(Place(REACH, floor, (wanted,), wanted), walk.at, rng.below(4), (goal,))
