"""Builders: each turn one climbs and builds; who steps on the third floor wins (Santorini)."""

from __future__ import annotations

from collections.abc import Sequence

from quintain.types import Ints
from quintain.worlds.art import tiles
from quintain.worlds.engines.board.men import EIGHT, Board, rays
from quintain.worlds.scene import Box, Disc, Run, Shape

DOME, BLUE, GOLD = 4, 5, 9  # codes: floors 0-3 and a dome, X on floors 0-3, O on floors 0-3
SIGNS = ".123#abcdwxyz"
_FLOORS = (("sand", "wood"), ("frost", "cloud"), ("white", "stone"))


def _tower(floors: int) -> tuple[Shape, ...]:
    return tuple(
        Box(x=m, y=m, width=1 - 2 * m, height=1 - 2 * m, fill=fill, line=line, thick=0.03, radius=0.05)
        for m, (fill, line) in zip((0.05, 0.11, 0.17), _FLOORS[:floors], strict=False)
    )


def _number(floors: int, color: str) -> tuple[Run, ...]:
    return (Run(text=str(floors), x=0.5, y=0.52, size=0.44, color=color),) if floors else ()


def _builder(floors: int, fill: str, line: str, ring: bool) -> tuple[Shape, ...]:
    marks = (Disc(x=0.5, y=0.5, radius=0.34, line=line, thick=0.05),) if ring else ()
    disc = Disc(x=0.5, y=0.5, radius=0.28, fill=fill, line=line, thick=0.05)
    return (*_tower(floors), disc, *marks, *_number(floors, "ink" if ring else "white"))


tiles(
    {
        **{f"tower-{n}": (*_tower(n), *_number(n, "ink")) for n in (1, 2, 3)},
        "tower-4": (
            *_tower(3),
            Disc(x=0.5, y=0.5, radius=0.3, fill="slate"),
            Run(text="#", x=0.5, y=0.52, size=0.4, color="white"),
        ),
        **{f"builder-{n}": _builder(n, "blue", "navy", ring=False) for n in range(4)},
        **{f"builder-{n + 4}": _builder(n, "gold", "rust", ring=True) for n in range(4)},
    }
)
ART = {
    **dict(zip(SIGNS[1:5], ("tower-1", "tower-2", "tower-3", "tower-4"), strict=True)),
    **{sign: f"builder-{n}" for n, sign in enumerate(SIGNS[5:])},
}


class Builders:
    """A builder steps to a neighbour, up at most one floor, then builds a floor beside it.

    Args:
        columns, rows: the cells; on 20 or more each side has two builders, else one.
    """

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.cells = columns, columns * rows
        self.board = Board(columns=columns, rows=rows, signs=SIGNS, deep=2, nodes=200)
        self.near: tuple[Ints, ...] = tuple(tuple(ray[0] for ray in way if ray) for way in rays(columns, rows, EIGHT))

    def begin(self) -> Ints:
        cells = [0] * self.cells
        for i in range(2 if self.cells >= 20 else 1):
            cells[1 + i * (self.columns - 3)] = GOLD
            cells[self.cells - 2 - i * (self.columns - 3)] = BLUE
        return tuple(cells)

    def paths(self, position: Ints) -> Sequence[Ints]:
        mine, found = GOLD if position[-1] else BLUE, []
        for cell in range(self.cells):
            floor = position[cell] - mine
            if not 0 <= floor < 4:
                continue
            for to in self.near[cell]:
                up = position[to]
                if up == 3 and floor > 1:
                    found.append((cell, to))
                elif up < DOME and up <= floor + 1:
                    found += [(cell, to, site) for site in self.near[to] if position[site] < DOME or site == cell]
        return sorted(found, key=lambda path: position[path[1]])  # low steps first

    def moved(self, position: Ints, path: Ints) -> Ints:
        mine, cells = GOLD if position[-1] else BLUE, list(position[:-2])
        cells[path[0]] -= mine
        cells[path[1]] += mine
        if len(path) > 2:
            cells[path[2]] += 1
        return tuple(cells)

    def ended(self, position: Ints) -> int | None:
        if (BLUE + 3 if position[-1] else GOLD + 3) in position[: self.cells]:
            return -1
        return None if self._moves(position) else -1

    def _moves(self, position: Ints) -> bool:
        """Whether the side to move can step; then it can build where it came from."""
        mine = GOLD if position[-1] else BLUE
        for cell in range(self.cells):
            floor = position[cell] - mine
            if 0 <= floor < 4:
                for to in self.near[cell]:
                    if position[to] < DOME and position[to] <= floor + 1:
                        return True
        return False

    def value(self, position: Ints) -> float:
        """Floors that builders stand on and can climb to; 1 where the side to move can win at once."""
        total, side = 0.0, position[-1]
        for cell in range(self.cells):
            code = position[cell]
            if code < BLUE:
                continue
            mine = (code >= GOLD) == side
            floor = (code - BLUE) & 3
            reach = 0.0
            for to in self.near[cell]:
                up = position[to]
                if up <= floor + 1 and up < DOME:
                    if up == 3 and mine:
                        return 1.0
                    reach += 0.25 + up * up
            total += (4 * floor + reach) * (1 if mine else -1)
        return total / 40
