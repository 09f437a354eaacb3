"""Checkers and Alquerque: men that step to the next free point and take by leaping."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from quintain.types import Ints
from quintain.worlds.art import tiles
from quintain.worlds.engines.board.men import DIAGONAL, EIGHT, ORTHOGONAL, Board, MenGame, rays
from quintain.worlds.engines.board.men_look import man
from quintain.worlds.scene import Box, Polygon, Shape

DUE = {
    "illegal": "The rules do not allow that (where a capture can be made one must be, to its end); the turn is spent."
}
KING = 2  # what crowning adds to a code


def point(ways: Iterable[tuple[int, int]]) -> tuple[Shape, ...]:
    """A cell with a point in its middle and lines that leave it."""
    lines = [
        Polygon(points=tuple(sorted(((0.5, 0.5), (0.5 + x / 2, 0.5 + y / 2)))), line="wood", thick=0.05, closed=False)
        for x, y in ways
    ]
    return (Box(x=0, y=0, width=1, height=1, fill="floor"), *lines)


def _ways(column: int, row: int, columns: int, rows: int) -> tuple[tuple[int, int], ...]:
    """The lines that leave a point of an Alquerque board: diagonal ones from every other point."""
    ways = EIGHT if (column + row) % 2 == 0 else ORTHOGONAL
    return tuple([(x, y) for x, y in ways if 0 <= column + x < columns and 0 <= row + y < rows])


def _point_name(ways: Iterable[tuple[int, int]]) -> str:
    return "men-point-" + "".join([str((y + 1) * 3 + x + 1) for x, y in ways])


_kinds = {
    _ways(column, row, width, height)
    for width in (4, 5)
    for height in (4, 5)
    for row in range(height)
    for column in range(width)
}
tiles({_point_name(ways): point(ways) for ways in _kinds})
tiles({"men-X-king": man("blue", "navy", "K"), "men-O-king": man("gold", "rust", "K", "ink")})


class Jumps:
    """Men step along lines to the next free cell; they take by leaping over an enemy man, and must, as long as they can.

    Args:
        board: as the search and the look need it.
        ways: for each code and cell, the directions in which a man may go.
        far: for each code, the row where it becomes a king, or -1.
        first: the codes of all cells before the first move.
    """

    def __init__(
        self, board: Board, ways: Sequence[Sequence[Sequence[tuple[int, int]]]], far: Ints, first: Ints
    ) -> None:
        self.board, self.far, self.first, self.cells = board, far, first, board.columns * board.rows
        lines = rays(board.columns, board.rows, EIGHT)
        self.steps: list[list[Ints]] = [[] for _ in ways]
        self.leaps: list[list[tuple[Ints, ...]]] = [[] for _ in ways]  # over what, and where to
        self.over: dict[Ints, int] = {}
        for code, of_cells in enumerate(ways):
            for cell, allowed in enumerate(of_cells):
                found = [lines[cell][EIGHT.index(way)] for way in allowed]
                self.steps[code].append(tuple([ray[0] for ray in found if ray]))
                self.leaps[code].append(tuple([ray[:2] for ray in found if len(ray) > 1]))
                self.over |= {(cell, ray[1]): ray[0] for ray in found if len(ray) > 1}
        self.around = [[ray[0] for ray in of if ray] for of in lines]
        middle, height = (board.columns - 1) / 2, board.rows - 1
        worth = (0.0, 1.0, 1.0, 1.7, 1.7)
        self.worth = [
            tuple(worth[code] + 0.01 * self._place(code, cell, middle, height) for cell in range(self.cells))
            for code in range(len(ways))
        ]

    def _place(self, code: int, cell: int, middle: float, height: int) -> float:
        """How well a man stands: ahead where it is to be crowned, else near the middle."""
        row, column = divmod(cell, self.board.columns)
        if self.far[code] >= 0:
            return 2 * (height - abs(row - self.far[code])) + 0.1 * column
        return -abs(column - middle) - 1.1 * abs(row - height / 2) + 0.01 * cell

    def begin(self) -> Ints:
        return self.first

    def paths(self, position: Ints) -> Iterable[Ints]:
        mine, codes = position[-1], position[: self.cells]
        own = [cell for cell, code in enumerate(codes) if code and (code - 1) & 1 == mine]
        if not mine:
            own.reverse()  # from a side's own back row: whoever takes the first move brings out its last line
        taken = [path for cell in own for path in self._chains(codes, cell, codes[cell])]
        steps = [(cell, to) for cell in own for to in self.steps[codes[cell]][cell] if not codes[to]]
        # nearest to the enemy first: whoever takes the first move is taken
        return taken or sorted(steps, key=lambda step: -sum([codes[c] == 2 - mine for c in self.around[step[1]]]))

    def _chains(self, codes: Ints, cell: int, code: int) -> Iterator[Ints]:
        """All the ways to leap on from a cell as long as one can; none if it cannot."""
        for over, to in self.leaps[code][cell]:
            if codes[over] and (codes[over] - code) & 1 and not codes[to]:
                after = list(codes)
                after[cell] = after[over] = 0
                after[to] = code
                rest = [] if self._crowned(code, to) != code else list(self._chains(tuple(after), to, code))
                yield from [(cell, *path) for path in rest or [(to,)]]

    def _crowned(self, code: int, cell: int) -> int:
        return code + KING if cell // self.board.columns == self.far[code] else code

    def moved(self, position: Ints, path: Ints) -> Ints:
        cells = list(position[:-2])
        code, cells[path[0]] = cells[path[0]], 0
        for step in itertools.pairwise(path):
            if step in self.over:
                cells[self.over[step]] = 0
        cells[path[-1]] = self._crowned(code, path[-1])
        return tuple(cells)

    def ended(self, position: Ints) -> int | None:
        mine, codes = position[-1], position[: self.cells]
        for cell, code in enumerate(codes):
            if code and (code - 1) & 1 == mine:
                if any(not codes[to] for to in self.steps[code][cell]):
                    return None
                if any(codes[o] and (codes[o] - code) & 1 and not codes[to] for o, to in self.leaps[code][cell]):
                    return None
        return -1

    def value(self, position: Ints) -> float:
        total = whole = 0.0
        for cell, code in enumerate(position[: self.cells]):
            if code:
                worth = self.worth[code][cell]
                whole += worth
                total += worth if (code - 1) & 1 == position[-1] else -worth
        return total / whole


def _most(cells: int, position: Ints) -> int:
    """Who has more men when no moves are left."""
    mine = sum([1 if (code - 1) & 1 == position[-1] else -1 for code in position[:cells] if code])
    return (mine > 0) - (mine < 0)


def checkers(size: int) -> Jumps:
    """Draughts on the dark cells: men go ahead diagonally and become kings, which go both ways, in the last row."""
    board = Board(columns=size, rows=size, signs=".xoXO", deep=5, nodes=150, spent=lambda p: _most(size * size, p))
    up, down = [way for way in DIAGONAL if way[1] < 0], [way for way in DIAGONAL if way[1] > 0]
    ways = [[kind] * (size * size) for kind in ((), up, down, DIAGONAL, DIAGONAL)]
    deep = size // 2 - 1
    dark = [(row, (row + column) % 2) for row in range(size) for column in range(size)]
    first = tuple([(2 if row < deep else int(row >= size - deep)) * is_dark for row, is_dark in dark])
    return Jumps(board, ways, (-1, 0, size - 1, -1, -1), first)


def alquerque(columns: int, rows: int) -> Jumps:
    """Men on the points of a net of lines, with odd numbers of columns and rows; all but the middle one are taken at the start."""
    board = Board(columns=columns, rows=rows, deep=5, nodes=150, spent=lambda p: _most(columns * rows, p))
    ways = [_ways(column, row, columns, rows) for row in range(rows) for column in range(columns)]
    half = columns * rows // 2
    return Jumps(board, [ways, ways, ways], (-1, -1, -1), (2,) * half + (0,) + (1,) * half)


def points(game: MenGame, position: Ints) -> Sequence[str]:
    """The tiles of a net."""
    width, height = game.board.columns, game.board.rows
    return [_point_name(_ways(cell % width, cell // width, width, height)) for cell in range(game.cells)]
