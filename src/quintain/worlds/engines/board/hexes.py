"""Hex: two sides join opposite edges of a rhombus of hexagons."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence

from quintain.types import Ints
from quintain.worlds.cells import LETTERS
from quintain.worlds.engines.board.game import Match
from quintain.worlds.engines.board.men import Board
from quintain.worlds.engines.board.men_look import MenLook
from quintain.worlds.scene import Disc, Point, Polygon, Run, Scene, Shape, Sprite

HIGH = math.sqrt(3) / 2  # rows are that far apart, in cells
LEFT, TOP = 1.3, 1.6  # the middle of cell a1 in a picture
NEAR = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1))  # neighbours: right, down


class Hex:
    """Each move puts a stone on a free cell; X joins the left edge with the right one, O the upper with the lower.

    Args:
        size: cells on a side.
    """

    def __init__(self, size: int) -> None:
        self.size, self.cells = size, size * size
        self.board = Board(columns=size, rows=size, deep=2, nodes=150, lasts=self.cells)
        # first come cells along an edge of one's own, which lead nowhere
        along = tuple((i % size) * size + i // size for i in range(self.cells))
        self.order: tuple[Ints, Ints] = (along, tuple(range(self.cells)))
        self.bits = tuple(1 << i for i in range(self.cells))
        self._seen: tuple[Ints, Sequence[int]] = ((), ())
        self.first = sum(1 << r * size for r in range(size))  # the cells of column a
        self.last = self.first << size - 1
        top = (1 << size) - 1
        self.edges = ((self.first, self.last), (top, top << size * (size - 1)))

    def begin(self) -> Ints:
        return (0,) * self.cells

    def paths(self, position: Ints) -> Iterable[Ints]:
        return [(i,) for i in self.order[position[-1]] if not position[i]]

    def moved(self, position: Ints, path: Ints) -> Ints:
        return (*position[: path[0]], position[-1] + 1, *position[path[0] + 1 : -2])

    def ended(self, position: Ints) -> int | None:
        other = 1 - position[-1]
        mine = self.masks(position)[other + 1]
        begin, end = self.edges[other]
        return -1 if mine & begin and mine & end and self._flood(mine & begin, mine) & end else None

    def value(self, position: Ints) -> float:
        """How many stones each still lacks, and in how many places the next one helps."""
        free, *masks = self.masks(position)
        (x, x_ways), (o, o_ways) = (self.gap(masks[side], free, side) for side in (0, 1))
        lead = o - x + 0.04 * (x_ways - o_ways)
        return ((-lead if position[-1] else lead) + 0.5) / self.size

    def masks(self, position: Ints) -> Sequence[int]:
        """The free cells, those of X and those of O, as bits."""
        seen = self._seen  # asked twice of each position
        if position != seen[0]:
            masks = [0, 0, 0]
            for bit, code in zip(self.bits, position, strict=False):
                masks[code] |= bit
            self._seen = seen = (position, masks)
        return seen[1]

    def gap(self, mine: int, free: int, side: int) -> tuple[int, int]:
        """The fewest free cells that would join a side's edges, and how many cells the last step could begin in.

        The number is more than all cells where nothing would.
        """
        begin, end = self.edges[side]
        reached, lacking = self._flood(begin & mine, mine), 0
        while not reached & end:
            step = (self._around(reached) | begin) & free & ~reached
            if not step:
                return self.cells + 1, 0
            reached, lacking = self._flood(reached | step, mine), lacking + 1
        return lacking, (reached & end).bit_count()

    def _around(self, mask: int) -> int:
        size, right, left = self.size, mask & ~self.last, mask & ~self.first
        return right << 1 | left >> 1 | mask << size | mask >> size | right >> size - 1 | left << size - 1

    def _flood(self, mask: int, mine: int) -> int:
        """A set of cells and all stones that hang together with it."""
        while more := self._around(mask) & mine & ~mask:
            mask |= more
        return mask


def _corner(x: float, y: float, k: int) -> Point:
    """Corner k of a hexagon, clockwise from the upper one."""
    turn = math.pi / 3 * k
    return round(x + math.sin(turn) / (2 * HIGH), 3), round(y - math.cos(turn) / (2 * HIGH), 3)


def _middle(size: int, cell: int) -> Point:
    row, column = divmod(cell, size)
    return round(LEFT + column + row / 2, 3), round(TOP + row * HIGH, 3)


@functools.lru_cache(maxsize=16)
def _ground(size: int) -> tuple[Shape, ...]:
    """The empty board: hexagons, coloured edges, names of columns and rows."""
    shapes: list[Shape] = []
    middle = [_middle(size, i) for i in range(size * size)]
    for x, y in middle:
        ring = tuple(_corner(x, y, k) for k in range(6))
        shapes.append(Polygon(points=ring, fill="floor", line="cloud", thick=0.04))
    for color, cells, corners in (
        ("blue", range(0, size * size, size), (5, 4, 3)),
        ("blue", range(size - 1, size * size, size), (0, 1, 2)),
        ("amber", range(size), (5, 0, 1)),
        ("amber", range(size * (size - 1), size * size), (4, 3, 2)),
    ):
        line = tuple(_corner(*middle[i], k) for i in cells for k in corners)
        shapes.append(Polygon(points=line, line=color, thick=0.14, closed=False))
    for i in range(size):
        x, y = middle[i]
        shapes.append(Run(text=LETTERS[i], x=x - 0.3, y=y - 0.95, size=0.5, color="stone"))
        x, y = middle[i * size]
        shapes.append(Run(text=str(i + 1), x=x - 0.92, y=y + 0.1, size=0.5, color="stone"))
    return tuple(shapes)


class HexLook:
    """Hex as `board.game.Look`: the look of other games of men, but for the picture, which is a rhombus."""

    def __init__(self) -> None:
        inner = MenLook(Hex, ("size",), {})
        self.game, self.options, self.opening, self.suits = inner.game, inner.options, inner.opening, inner.suits
        self.varied, self.layout, self.longest, self.rebuild = inner.varied, inner.layout, inner.longest, inner.rebuild
        self.caption, self.static, self.moving, self.words = inner.caption, inner.static, inner.moving, inner.words
        self.read, self.move, self.index = inner.read, inner.move, inner.index

    def scene(self, match: Match, me: int) -> Scene:
        """The rhombus, and in the corner who looks and how many moves are left."""
        (size,) = match.setup.options
        shapes = list(_ground(size))
        for i in range(size * size):
            x, y = _middle(size, i)
            if match.position[i] == 1:
                shapes.append(Disc(x=x, y=y, radius=0.34, fill="blue", line="navy", thick=0.07))
            elif match.position[i]:
                shapes.append(Disc(x=x, y=y, radius=0.34, fill="gold", line="rust", thick=0.07))
                shapes.append(Disc(x=x, y=y, radius=0.13, line="rust", thick=0.06))
        badge = Sprite(
            tile=f"men-{'XO'[me]}-{match.position[-2]}", x=0.05, y=size * HIGH + 0.6, size=min(1.35, 0.33 * size)
        )
        width = LEFT + 1.5 * size - 0.6
        return Scene(width=width, height=max(size * HIGH + 2.0, 0.9 * width), shapes=(*shapes, badge))
