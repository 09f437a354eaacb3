"""Roads: flat stones, walls and stacks of two; who joins two opposite edges with flat tops wins (a small kind of Tak)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from quintain.types import Ints
from quintain.worlds.art import tiles
from quintain.worlds.engines.board.lines import mark_last
from quintain.worlds.engines.board.men import ORTHOGONAL, Board, rays
from quintain.worlds.scene import Box, Disc, Shape

WALL = "wall"
SIGNS = ".XOABCDVW"
OWNER = (2, 0, 1, 0, 0, 1, 1, 3, 3)  # code -> whose flat stone is on top; 2 for none, 3 for a wall
UNDER = (0, 0, 0, 1, 2, 2, 1, 0, 0)  # code -> what is left when the top moves away
ONTO = ((1, 3, 4), (2, 6, 5))  # side, code of a cell 0 to 2 -> the code when that side's stone comes there
WALLS = (7, 8)
_SIGNED = re.compile(r"w[\s:,]*([a-z]\d)|([a-z]\d)[\s:,]*w", re.ASCII)
_COLORS = (("blue", "navy"), ("gold", "rust"))


def _flat(side: int, y: float) -> tuple[Shape, ...]:
    fill, line = _COLORS[side]
    stone = Box(x=0.16, y=y - 0.22, width=0.68, height=0.44, fill=fill, line=line, thick=0.05, radius=0.08)
    return (stone, Disc(x=0.5, y=y, radius=0.11, line=line, thick=0.05)) if side else (stone,)


def _wall(side: int) -> tuple[Shape, ...]:
    fill, line = _COLORS[side]
    return (
        Box(x=0.12, y=0.82, width=0.76, height=0.08, fill="seam"),
        Box(x=0.38, y=0.1, width=0.24, height=0.78, fill=fill, line=line, thick=0.05, radius=0.05),
        *((Disc(x=0.5, y=0.5, radius=0.07, line=line, thick=0.04),) if side else ()),
    )


tiles(
    {
        "road-X": _flat(0, 0.5),
        "road-O": _flat(1, 0.5),
        "road-A": (*_flat(0, 0.66), *_flat(0, 0.36)),
        "road-B": (*_flat(1, 0.66), *_flat(0, 0.36)),
        "road-C": (*_flat(1, 0.66), *_flat(1, 0.36)),
        "road-D": (*_flat(0, 0.66), *_flat(1, 0.36)),
        "road-V": _wall(0),
        "road-W": _wall(1),
    }
)
ART = {sign: f"road-{sign}" for sign in SIGNS[1:]}


def plain(text: str) -> str:
    """An answer with its wall behind the cell; nothing if a stone would slide to where it is.

    Example:
        >>> plain("w b2"), plain("wall b2"), plain("b2 b2")
        ('b2 wall', 'b2 wall', '')
    """
    if signed := _SIGNED.fullmatch(text.strip()):
        return f"{signed[1] or signed[2]} {WALL}"
    cells = re.findall(r"[a-z]\d", text)
    return "" if len(cells) == 2 and cells[0] == cells[1] else mark_last(text, (WALL,))


class Roads:
    """A move puts down a flat stone or a wall, or slides a flat top to a neighbour, onto at most one flat stone.

    Args:
        size: cells on a side.
    """

    def __init__(self, size: int) -> None:
        self.size, self.cells = size, size * size
        self.board = Board(
            columns=size, rows=size, signs=SIGNS, specials=(WALL,), breadth=5, deep=2, nodes=100, spent=self._count
        )
        self.near: tuple[Ints, ...] = tuple(tuple(ray[0] for ray in way if ray) for way in rays(size, size, ORTHOGONAL))
        self.bits = tuple(1 << i for i in range(self.cells))
        self._seen: tuple[Ints, Sequence[int]] = ((), ())
        self.left = sum(1 << r * size for r in range(size))
        self.right = self.left << size - 1
        top = (1 << size) - 1
        self.edges = ((self.left, self.right), (top, top << size * (size - 1)))

    def begin(self) -> Ints:
        return (0,) * self.cells

    def paths(self, position: Ints) -> Iterable[Ints]:
        free = [i for i in range(self.cells) if not position[i]]
        side = position[-1]
        yield from [(i, self.cells) for i in free]
        for i in range(self.cells):
            if OWNER[position[i]] == side:
                yield from [(i, to) for to in self.near[i] if position[to] <= 2]
        yield from [(i,) for i in free]

    def moved(self, position: Ints, path: Ints) -> Ints:
        cells, side = list(position[:-2]), position[-1]
        at, to = path[0], path[-1]
        if to == self.cells:
            cells[at] = WALLS[side]
        elif len(path) == 1:
            cells[at] = side + 1
        else:
            cells[at], cells[to] = UNDER[cells[at]], ONTO[side][cells[to]]
        return tuple(cells)

    def _tops(self, position: Ints) -> Sequence[int]:
        """The cells with a flat top of either side, the free ones, and those with walls, as bits."""
        seen = self._seen  # asked twice of each position
        if position != seen[0]:
            masks = [0, 0, 0, 0]
            for bit, code in zip(self.bits, position, strict=False):
                masks[OWNER[code]] |= bit
            self._seen = seen = (position, masks)
        return seen[1]

    def ended(self, position: Ints) -> int | None:
        *tops, free, _ = self._tops(position)
        for side in (1 - position[-1], position[-1]):  # a move that makes roads of both sides wins for the mover
            mine = tops[side]
            for begin, end in self.edges:
                if mine & begin and mine & end and self._flood(mine & begin, mine) & end:
                    return 1 if side == position[-1] else -1
        return None if free else self._count(position)

    def _count(self, position: Ints) -> int:
        """Who has more flat stones on top, for the side to move."""
        tops = self._tops(position)
        lead = tops[position[-1]].bit_count() - tops[1 - position[-1]].bit_count()
        return (lead > 0) - (lead < 0)

    def value(self, position: Ints) -> float:
        """Stones that each road still lacks, and flat tops; 1 where the next stone makes a road."""
        *tops, free, _ = self._tops(position)
        mine, yours = tops[position[-1]], tops[1 - position[-1]]
        lacking = self.gap(mine, free)
        if lacking == 1:
            return 1.0
        lead = min(self.gap(yours, free), self.size + 1) - min(lacking, self.size + 1) + 0.5
        return (lead + 0.15 * (mine.bit_count() - yours.bit_count())) / (self.size + 2)

    def gap(self, mine: int, free: int) -> int:
        """The fewest free cells that would make a road; more than all cells where none can be made."""
        return min(self._gap(mine, free, begin, end) for begin, end in self.edges)

    def _gap(self, mine: int, free: int, begin: int, end: int) -> int:
        reached, lacking = self._flood(begin & mine, mine), 0
        while not reached & end:
            step = (self._around(reached) | begin) & free & ~reached
            if not step:
                return self.cells + 1
            reached, lacking = self._flood(reached | step, mine), lacking + 1
        return lacking

    def _around(self, mask: int) -> int:
        return (mask & ~self.right) << 1 | (mask & ~self.left) >> 1 | mask << self.size | mask >> self.size

    def _flood(self, mask: int, mine: int) -> int:
        while more := self._around(mask) & mine & ~mask:
            mask |= more
        return mask
