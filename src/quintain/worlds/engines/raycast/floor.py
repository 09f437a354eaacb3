"""The state of a first-person world, and what is seen from each place of its floor."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from quintain.worlds.engines.grid.board import WALL, open_steps
from quintain.worlds.engines.raycast.fan import CELLS, DEPTH, cast
from quintain.worlds.engines.raycast.walls import Part, faces, parts_of
from quintain.worlds.scene import Shape

_TURNS = (0, 3, 1, 2)  # north, east, south, west among up, down, left, right
EDGE = ","  # floor in sight of which the middle is hidden, and so whatever lies there
GONE, HELD = -1, -2  # where things are that lie nowhere
RIM = DEPTH + 1  # cells beyond the edges that can be in view


Cell = tuple[int, int]  # ahead, right


@dataclass(frozen=True, eq=False)
class Sight:
    """What is seen from a place.

    `open` is the floor in sight, `walls` the walls, both relative; `middles` says of a board cell whose middle is in sight where
    it is; `learnt` are the bits of the board cells that are known from here.
    """

    open: tuple[Cell, ...]
    walls: tuple[Cell, ...]
    middles: dict[int, Cell]
    learnt: int

    @cached_property
    def drawn(self) -> list[tuple[Cell, tuple[Shape, ...]]]:
        """The walls as shapes, far to near."""
        return [((part[0], part[1]), faces(*part)) for part in self.parts]

    @cached_property
    def parts(self) -> list[Part]:
        """The walls that are seen, far to near."""
        return parts_of(self.open, self.walls)

    @cached_property
    def text(self) -> tuple[list[str], int]:
        """The map of what is seen, far to near, one character per cell, and the width of its rows."""
        wide = max(abs(o) for _, o in (*self.open, *self.walls))
        deep = max(d for d, _ in (*self.open, *self.walls))
        width = 2 * wide + 1
        signs = ["?"] * (width * (deep + 1))
        for sign, cells in ((".", self.open), (WALL, self.walls)):
            for d, o in cells:
                signs[(deep - d) * width + o + wide] = sign
        signs[deep * width + wide] = "^"
        return signs, width

    @cached_property
    def told(self) -> tuple[list[str], int]:
        """The map for places in which things may lie: floor of which the middle is hidden has a sign of its own."""
        signs, width = self.text
        whole, deep = set(self.middles.values()), len(signs) // width - 1
        signs = signs.copy()
        for d, o in self.open:
            if (d, o) not in whole and (d, o) != (0, 0):
                signs[(deep - d) * width + o + width // 2] = EDGE
        return signs, width

    @cached_property
    def words(self) -> tuple[str, ...]:
        """One word per floor cell in sight."""
        return tuple([placed(".", cell) for cell in self.open])

    @cached_property
    def _bare_words(self) -> tuple[str, ...]:
        return self._words(set(self.middles.values()))

    def told_words(self, hidden: frozenset[Cell]) -> tuple[str, ...]:
        """The same as `told` has them, where things hide some cells."""
        return self._words(set(self.middles.values()) - hidden) if hidden else self._bare_words

    def _words(self, whole: set[Cell]) -> tuple[str, ...]:
        return tuple([placed("." if cell in whole else EDGE, cell) for cell in self.open])


def placed(sign: str, cell: Cell) -> str:
    """The word for what is at a relative cell.

    Example:
        >>> placed("blue-box", (3, -1))
        'blue-box@3,-1'
    """
    return f"{sign}@{cell[0]},{cell[1]}"


@dataclass(frozen=True)
class Floor:
    """Walls `#` and floor `.`, row by row; beyond the edges there is wall."""

    width: int
    height: int
    cells: str

    @cached_property
    def over(self) -> tuple[tuple[int, ...], ...]:
        """[heading][cell]: the cell ahead, wall or not; -1 at edges."""
        steps = open_steps(self.width, self.height)
        return tuple(steps[i] for i in _TURNS)

    @cached_property
    def ahead(self) -> tuple[tuple[int, ...], ...]:
        """[heading][cell]: the floor ahead, or -1."""
        return tuple(tuple([to if to >= 0 and self.cells[to] != WALL else -1 for to in row]) for row in self.over)

    @cached_property
    def _solid(self) -> bytes:
        """Whether there is a wall, of the board with its rim."""
        return bytes([number == len(self.cells) or self.cells[number] == WALL for number in self._numbers])

    @cached_property
    def _numbers(self) -> tuple[int, ...]:
        return _rimmed(self.width, self.height)

    @cached_property
    def _sights(self) -> dict[tuple[int, int], Sight]:
        return {}

    def learnt(self, at: int, heading: int, hidden: frozenset[Cell]) -> int:
        """The bits of the cells that are known from a place, where things hide some."""
        sight = self.sight(at, heading)
        if not hidden:
            return sight.learnt
        return sight.learnt & ~sum(1 << cell for cell, seen in sight.middles.items() if seen in hidden)

    def sight(self, at: int, heading: int) -> Sight:
        """What is seen from the cell `at` by a seat that looks to `heading`."""
        found = self._sights.get((at, heading))
        if found is None:
            found = self._sights[at, heading] = self._cast(at, heading)
        return found

    def _cast(self, at: int, heading: int) -> Sight:
        wide, numbers = self.width + 2 * RIM, self._numbers
        begin = (at // self.width + RIM) * wide + at % self.width + RIM
        steps, first, taken = _window(wide, heading)
        solid = taken(self._solid[begin + first :])
        seen, middles = cast(solid)
        learnt = 1 << at
        floor, walls, cores = [], [], {}
        for i in seen:
            cell = numbers[begin + steps[i]]
            if solid[i]:
                walls.append(CELLS[i])
                learnt |= 1 << cell  # the bit past the last cell stands for all that is outside
            else:
                floor.append(CELLS[i])
                if i in middles:
                    cores[cell] = CELLS[i]
                    learnt |= 1 << cell
        return Sight(tuple(floor), tuple(walls), cores, learnt)


@functools.lru_cache(maxsize=64)
def _rimmed(width: int, height: int) -> tuple[int, ...]:
    """The numbers of the cells of a board, and of `RIM` cells on each side of it, which all have the number past the last."""
    rows = [range(y * width, (y + 1) * width) if 0 <= y < height else () for y in range(-RIM, height + RIM)]
    side, edge = (width * height,) * RIM, (width * height,) * width
    return tuple(number for row in rows for number in (*side, *(row or edge), *side))


@functools.lru_cache(maxsize=256)
def _window(wide: int, heading: int) -> tuple[tuple[int, ...], int, Callable[[bytes], tuple[int, ...]]]:
    """How far the relative cells are from the own one on a board whose rows are so wide; the least; what takes them from there on."""
    down, right = ((-1, 0), (0, 1), (1, 0), (0, -1))[heading]
    steps = tuple((down * d + right * o) * wide + right * d - down * o for d, o in CELLS)
    return steps, min(steps), itemgetter(*[step - min(steps) for step in steps])


@dataclass(frozen=True)
class Place:
    """What never changes: the task, the floor, the kind of each thing, what is wanted, and the turn budget.

    `wanted` is a kind; the seat is told it where `shown`, else a sign tells it. `other` is the kind to put it
    beside, `gain` what a heart gives.
    """

    task: str
    floor: Floor
    kinds: tuple[int, ...]
    wanted: int = -1
    shown: bool = True
    other: int = -1
    gain: int = 0
    budget: int = 0


@dataclass(frozen=True, slots=True)
class Stand:
    """The state of a first-person world: what is so, and what its seat has seen.

    Attributes:
        place: what never changes.
        at: the cell.
        heading: 0 north, then clockwise.
        where: the cell of each thing, or `GONE` or `HELD`.
        seen: the board cells known so far, as bits, lowest first; the oracle remembers no others.
        told: 1 once a sign has been read.
        health: turns until it ends, where health counts.
        clock: turns to go, where they count.
    """

    place: Place
    at: int
    heading: int
    where: tuple[int, ...]
    seen: bytes = b""
    told: int = 0
    health: int = 0
    clock: int = 0
