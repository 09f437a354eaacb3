"""Sowing: seeds are sown around two rows of pits, and twos and threes are captured (the rules of Oware)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from quintain.types import Ints
from quintain.worlds.art import tiles
from quintain.worlds.engines.board.game import Match
from quintain.worlds.engines.board.men import Board
from quintain.worlds.kernel import Move
from quintain.worlds.scene import Disc, Run, Shape

SIGNS = ".123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PIT = re.compile(r"(?:(?:(?:i )?(?:sow|empty|play|choose) )?(?:(?:my|the) )?(?:pit|column) )?([a-g])")
_NOTE = re.compile(r"X=(\d+) O=(\d+)")


def _pit(seeds: int) -> tuple[Shape, ...]:
    ring = [
        Disc(
            x=round(0.5 + 0.33 * math.sin(i * math.pi / 6), 3),
            y=round(0.5 - 0.33 * math.cos(i * math.pi / 6), 3),
            radius=0.075,
            fill="sand",
            line="bark",
            thick=0.025,
        )
        for i in range(min(seeds, 12))
    ]
    number = (Run(text=str(seeds), x=0.5, y=0.52, size=0.36, color="white"),) if seeds else ()
    bowl = Disc(x=0.5, y=0.5, radius=0.46, fill="bark", line="wood", thick=0.05)
    return (bowl, *ring, *number)


tiles({f"pit-{n}": _pit(n) for n in range(len(SIGNS))})
ART = {sign: f"pit-{n}" for n, sign in enumerate(SIGNS)}


def _note(position: Ints) -> str:
    return f"X={position[-4]} O={position[-3]}"


def _noted(note: str) -> Ints | None:
    said = _NOTE.fullmatch(note)
    return (int(said[1]), int(said[2])) if said else None


def pit_alone(text: str) -> Move | None:
    """The pit of a column that is named without its row."""
    found = _PIT.fullmatch(text)
    return Move(found[1], named=True) if found else None


def pit_of(match: Match, move: Move) -> Move:
    """The pit that the side to move has in a column; any other move as it is."""
    return Move(f"{move.key}{2 - match.mover}") if len(move.key) == 1 else move


class Sowing:
    """Side 0 (X) has the lower row, side 1 (O) the upper one; the own numbers are what each has captured.

    Args:
        columns: pits of a side; each begins with 4 seeds, or 3 where there are fewer than five pits.
    """

    def __init__(self, columns: int) -> None:
        self.columns, self.cells = columns, 2 * columns
        self.each = 4 if columns > 4 else 3
        self.half = self.each * columns
        ring = (*range(columns, 2 * columns), *range(columns - 1, -1, -1))  # counterclockwise from the lower left
        self.next: Ints = tuple(ring[(ring.index(i) + 1) % self.cells] for i in range(self.cells))
        self.back: Ints = tuple(ring[ring.index(i) - 1] for i in range(self.cells))
        self.rows = (range(columns, 2 * columns), range(columns))
        self.board = Board(
            columns=columns,
            rows=2,
            signs=SIGNS[: 2 * self.half + 1],
            deep=2,
            nodes=150,
            note=_note,
            noted=_noted,
            vocabulary=tuple(f"{side}={n}" for side in "XO" for n in range(2 * self.half + 1)),
            spent=self._reckon,
        )

    def begin(self) -> Ints:
        return (*(self.each,) * self.cells, 0, 0)

    def paths(self, position: Ints) -> Iterable[Ints]:
        mine, yours = self.rows[position[-1]], self.rows[1 - position[-1]]
        fed = any(position[i] for i in yours)
        for pit in sorted(mine, key=lambda i: -position[i]):
            seeds = position[pit]
            # seeds that reach the other row: the last pit of a row is as far from it as there are pits before it
            if seeds and (fed or seeds > (mine[-1] - pit if not position[-1] else pit - mine[0])):
                yield (pit,)

    def moved(self, position: Ints, path: Ints) -> Ints:
        cells, side = list(position[:-2]), position[-1]
        at = pit = path[0]
        seeds, cells[pit] = cells[pit], 0
        while seeds:
            at = self.next[at]
            if at != pit:
                cells[at] += 1
                seeds -= 1
        yours, taken = self.rows[1 - side], []
        while at in yours and 2 <= cells[at] <= 3:
            taken.append(at)
            at = self.back[at]
        won = sum([cells[i] for i in taken])
        if won and won < sum([cells[i] for i in yours]):
            cells[self.cells + side] += won
            for i in taken:
                cells[i] = 0
        return tuple(cells)

    def _reckon(self, position: Ints) -> int:
        """Who has more, counting the seeds on the own side, for the side to move."""
        x, o = (position[self.cells + side] + sum([position[i] for i in self.rows[side]]) for side in (0, 1))
        worth = (x > o) - (x < o)
        return -worth if position[-1] else worth

    def ended(self, position: Ints) -> int | None:
        x, o = position[self.cells : self.cells + 2]
        if x > self.half or o > self.half:
            return 1 if (x > o) == (position[-1] == 0) else -1
        return None if next(iter(self.paths(position)), None) else self._reckon(position)

    def value(self, position: Ints) -> float:
        """Seeds captured, and a little for pits that cannot be captured soon."""
        lead = float(position[self.cells] - position[self.cells + 1])
        for side, sign in ((0, 0.25), (1, -0.25)):
            for i in self.rows[side]:
                seeds = position[i]
                lead += sign * (1 if seeds > 2 else -1 if seeds else -0.5)
        return (-lead if position[-1] else lead) / self.half
