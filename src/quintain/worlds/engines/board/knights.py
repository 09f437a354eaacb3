"""Knights that burn what they leave: who cannot move loses."""

from __future__ import annotations

from collections.abc import Iterable

from quintain.types import Ints
from quintain.worlds.art import tiles
from quintain.worlds.engines.board.men import Board
from quintain.worlds.scene import Box, Disc, Polygon, Shape

LEAPS = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))
FREE, BURNT = 0, 3


def _knight(fill: str, line: str, ring: bool) -> tuple[Shape, ...]:
    head = ((0.3, 0.82), (0.36, 0.56), (0.22, 0.56), (0.16, 0.44), (0.42, 0.22), (0.46, 0.1), (0.56, 0.2))
    head += ((0.74, 0.36), (0.78, 0.82))
    eye = Disc(x=0.45, y=0.36, radius=0.05, fill="white" if not ring else line)
    base = Box(x=0.2, y=0.8, width=0.64, height=0.12, fill=fill, line=line, thick=0.05, radius=0.04)
    marks = (Disc(x=0.6, y=0.6, radius=0.1, line=line, thick=0.06),) if ring else ()
    return (Polygon(points=head, fill=fill, line=line, thick=0.05), base, eye, *marks)


tiles(
    {
        "knight-X": _knight("blue", "navy", ring=False),
        "knight-O": _knight("gold", "rust", ring=True),
        "burnt": (
            Box(x=0.03, y=0.03, width=0.94, height=0.94, fill="slate", radius=0.06),
            Polygon(points=((0.28, 0.28), (0.72, 0.72)), line="cloud", thick=0.07, closed=False),
            Polygon(points=((0.72, 0.28), (0.28, 0.72)), line="cloud", thick=0.07, closed=False),
        ),
    }
)


class Knights:
    """A move is a knight's, to a free cell or onto an enemy, which is taken; the cell left is burnt for good.

    Args:
        size: cells on a side; each side has half as many knights, rounded down.
    """

    def __init__(self, size: int) -> None:
        self.size, self.men, self.cells = size, size // 2, size * size
        deep, nodes = (10, 1500) if size < 5 else (4, 200)
        self.board = Board(columns=size, rows=size, signs=".XO#", deep=deep, nodes=nodes, lasts=self.cells)
        self.leaps: tuple[Ints, ...] = tuple(
            tuple(
                (r + down) * size + c + right for right, down in LEAPS if 0 <= c + right < size and 0 <= r + down < size
            )
            for r in range(size)
            for c in range(size)
        )

    def begin(self) -> Ints:
        row = [int(i < self.men) for i in range(self.size)]
        top = tuple(2 * man for man in row)
        return (*top, *(FREE,) * (self.cells - 2 * self.size), *row[::-1])

    def paths(self, position: Ints) -> Iterable[Ints]:
        mine, yours = position[-1] + 1, 2 - position[-1]
        for cell in range(self.cells):
            if position[cell] == mine:
                for to in self.leaps[cell]:
                    if position[to] == FREE or position[to] == yours:
                        yield cell, to

    def moved(self, position: Ints, path: Ints) -> Ints:
        cells = list(position[:-2])
        cells[path[1]], cells[path[0]] = cells[path[0]], BURNT
        return tuple(cells)

    def ended(self, position: Ints) -> int | None:
        return None if next(iter(self.paths(position)), None) else -1

    def value(self, position: Ints) -> float:
        """Knights and the cells that each can go to; a knight that the side to move can take is no good."""
        total, side = 0.0, position[-1]
        for cell in range(self.cells):
            code = position[cell]
            if code == 1 or code == 2:
                ways, hit = 0, 0.0
                for to in self.leaps[cell]:
                    other = position[to]
                    if other == FREE:
                        ways += 1
                    elif other == 3 - code:
                        hit = 1.0
                mine = code - 1 == side
                total += (1 + min(ways, 3) + hit) if mine else -(1 + min(ways, 3) - hit)
        return total / (6 * self.men)
