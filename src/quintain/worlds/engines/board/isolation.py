"""Isolation: kings that step and take squares away; who cannot step has lost."""

from __future__ import annotations

from collections.abc import Iterable

from quintain.types import Ints
from quintain.worlds.art import tiles
from quintain.worlds.engines.board.men import EIGHT, Board, rays
from quintain.worlds.scene import Box

tiles({"men-hole": (Box(x=0.02, y=0.02, width=0.96, height=0.96, fill="slate", radius=0.05),)})
GONE = 3
_TAKEN = bytes([0, 1, 1, 1]) + bytes(252)


class Isolation:
    """Each side steps with its king and then takes a free square away; who cannot step has lost.

    Sets of cells are integers with a byte a cell, as `int.from_bytes` makes them of the codes.

    Args:
        size: cells on a side.
    """

    def __init__(self, size: int) -> None:
        self.size, self.cells = size, size * size
        self.board = Board(columns=size, rows=size, signs=".XO#", nodes=30)
        self.near: tuple[Ints, ...] = tuple(tuple([ray[0] for ray in ways if ray]) for ways in rays(size, size, EIGHT))
        self.masks = tuple(sum(1 << 8 * c for c in near) for near in self.near)
        self.full = sum(1 << 8 * c for c in range(self.cells))
        middle = (size - 1) / 2
        off = [abs(c % size - middle) + abs(c // size - middle) for c in range(self.cells)]
        # steps to the edge and squares near to the own king first: whoever takes the first move walls itself in
        self.steps = tuple(tuple(sorted(near, key=lambda c: -off[c])) for near in self.near)
        self.close = tuple(tuple(sorted(range(self.cells), key=lambda c: self._far(c, at))) for at in range(self.cells))
        self.central = tuple(0.02 * (size - o) for o in off)

    def _far(self, one: int, two: int) -> int:
        return max(abs(one % self.size - two % self.size), abs(one // self.size - two // self.size))

    def begin(self) -> Ints:
        middle = self.size // 2
        codes = [0] * self.cells
        codes[(self.size - 1) * self.size + middle], codes[self.size - 1 - middle] = 1, 2
        return tuple(codes)

    def paths(self, position: Ints) -> Iterable[Ints]:
        at = position.index(position[-1] + 1)
        for to in self.steps[at]:
            if not position[to]:
                for gone in self.close[to]:
                    if gone != to and (gone == at or not position[gone]):
                        yield to, gone

    def moved(self, position: Ints, path: Ints) -> Ints:
        cells = list(position[:-2])
        mine = position[-1] + 1
        cells[cells.index(mine)] = 0
        cells[path[0]], cells[path[1]] = mine, GONE
        return tuple(cells)

    def _free(self, position: Ints) -> int:
        return self.full & ~int.from_bytes(bytes(position[: self.cells]).translate(_TAKEN), "little")

    def ended(self, position: Ints) -> int | None:
        return None if any(not position[c] for c in self.near[position.index(position[-1] + 1)]) else -1

    def value(self, position: Ints) -> float:
        free, mine = self._free(position), position[-1] + 1
        return (self._room(position.index(mine), free) - self._room(position.index(3 - mine), free)) / 30

    def _room(self, at: int, free: int) -> float:
        """How free a king is: squares that it reaches in one step, and in two."""
        steps = self.masks[at] & free
        wide, room = steps, 2.0 * steps.bit_count() if steps else -20.0
        for cell in self.near[at]:
            if steps >> 8 * cell & 1:
                wide |= self.masks[cell] & free
        return room + wide.bit_count() + self.central[at]
