"""Breakthrough: pawns race to the other side."""

from __future__ import annotations

from collections.abc import Iterable

from quintain.types import Ints
from quintain.worlds.engines.board.men import Board


class Breakthrough:
    """Pawns step one row on, straight or diagonally, and capture diagonally; who reaches the last row wins.

    Side 0 (X) begins at the bottom and goes up.

    Args:
        size: cells on a side.
    """

    def __init__(self, size: int) -> None:
        self.size, self.cells = size, size * size
        self.board = Board(columns=size, rows=size)
        # for each side and cell: the cell ahead and the diagonal ones
        self.steps: tuple[tuple[tuple[int, Ints], ...], ...] = tuple(
            tuple(self._ahead_of(cell, way) for cell in range(size * size)) for way in (-1, 1)
        )
        rise = [(size - 1 - row) ** 2 / size for row in range(size) for _ in range(size)]
        self.worths = tuple((0.0, 4 + up, -4 - down) for up, down in zip(rise, reversed(rise), strict=True))
        self.order = (range(self.cells - 1, -1, -1), range(self.cells))  # from a side's own back row: no good player's

    def _ahead_of(self, cell: int, way: int) -> tuple[int, Ints]:
        row, column = divmod(cell, self.size)
        if not 0 <= row + way < self.size:
            return -1, ()
        ahead = cell + way * self.size
        return ahead, tuple([ahead + d for d in (-1, 1) if 0 <= column + d < self.size])

    def begin(self) -> Ints:
        two = 2 * self.size
        return (2,) * two + (0,) * (self.cells - 2 * two) + (1,) * two

    def paths(self, position: Ints) -> Iterable[Ints]:
        mine = position[-1] + 1
        steps = self.steps[position[-1]]
        for cell in self.order[position[-1]]:
            if position[cell] == mine:
                ahead, diagonal = steps[cell]
                if ahead >= 0 and not position[ahead]:
                    yield cell, ahead
                for to in diagonal:
                    if position[to] != mine:
                        yield cell, to

    def moved(self, position: Ints, path: Ints) -> Ints:
        cells = list(position[:-2])
        cells[path[1]], cells[path[0]] = cells[path[0]], 0
        return tuple(cells)

    def ended(self, position: Ints) -> int | None:
        yours = 2 - position[-1]
        last = position[: self.size] if yours == 1 else position[self.cells - self.size : self.cells]
        if yours in last or position[-1] + 1 not in position[: self.cells]:
            return -1
        return None

    def value(self, position: Ints) -> float:
        total = sum([worths[code] for worths, code in zip(self.worths, position, strict=False)])
        return (total if not position[-1] else -total) / (8 * self.size)
