"""Othello: discs that turn over when they are enclosed."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

from quintain.types import Ints
from quintain.worlds.engines.board.men import EIGHT, Board, rays


class Othello:
    """A disc is put where it encloses enemy discs in a straight line, and those turn over; who has more in the end wins.

    Args:
        size: cells on a side, even.
    """

    def __init__(self, size: int) -> None:
        self.size, self.cells = size, size * size
        self.board = Board(columns=size, rows=size, specials=("pass",), deep=5, nodes=400, late=5, spent=self._count)
        self.rays = tuple(tuple(ray for ray in ways if len(ray) > 1) for ways in rays(size, size, EIGHT))
        self.weights = tuple(self._weight(cell) for cell in range(self.cells))
        # what gives the corners away comes first: no good player takes the first move
        self.order = sorted(range(self.cells), key=self.weights.__getitem__)
        self.turned = functools.lru_cache(maxsize=1 << 14)(self._turned)

    def _weight(self, cell: int) -> int:
        """What a disc there is worth: corners much, what gives them away less than nothing."""
        row, column = (min(i, self.size - 1 - i) for i in divmod(cell, self.size))
        near, far = sorted((row, column))
        return {(0, 0): 100, (0, 1): -20, (1, 1): -40, (0, 2): 10}.get(
            (near, far), 5 if not near else -2 if near == 1 else 0
        )

    def _turned(self, codes: Ints, mine: int) -> Mapping[int, Ints]:
        """The discs that each legal move turns over."""
        out: dict[int, Ints] = {}
        for cell in self.order:
            if codes[cell]:
                continue
            got: list[int] = []
            for ray in self.rays[cell]:
                if codes[ray[0]] != 3 - mine:
                    continue
                for i, c in enumerate(ray):
                    if codes[c] != 3 - mine:
                        got += ray[:i] if codes[c] else ()
                        break
            if got:
                out[cell] = tuple(got)
        return out

    def begin(self) -> Ints:
        at = (self.size // 2 - 1) * (self.size + 1)
        codes = [0] * self.cells
        codes[at], codes[at + 1], codes[at + self.size], codes[at + self.size + 1] = 2, 1, 1, 2
        return tuple(codes)

    def paths(self, position: Ints) -> Iterable[Ints]:
        moves = self.turned(position[: self.cells], position[-1] + 1)
        return [(cell,) for cell in moves] or [(self.cells,)]

    def moved(self, position: Ints, path: Ints) -> Ints:
        codes = position[: self.cells]
        if path[0] == self.cells:
            return codes
        mine, cells = position[-1] + 1, list(codes)
        for cell in (path[0], *self.turned(codes, mine)[path[0]]):
            cells[cell] = mine
        return tuple(cells)

    def ended(self, position: Ints) -> int | None:
        codes, mine = position[: self.cells], position[-1] + 1
        return None if self.turned(codes, mine) or self.turned(codes, 3 - mine) else self._count(position)

    def _count(self, position: Ints) -> int:
        codes, mine = position[: self.cells], position[-1] + 1
        gap = codes.count(mine) - codes.count(3 - mine)
        return (gap > 0) - (gap < 0)

    def value(self, position: Ints) -> float:
        codes, mine = position[: self.cells], position[-1] + 1
        total = 0.0
        for code, weight in zip(codes, self.weights, strict=True):
            if code:
                total += weight if code == mine else -weight
        discs = (codes.count(mine) - codes.count(3 - mine)) * max(0, 12 - position[-2])
        total += 4 * len(self.turned(codes, mine)) + discs
        return total / (abs(total) + 100)
