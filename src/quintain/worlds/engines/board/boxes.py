"""Dots and boxes: who draws the fourth side of a box owns it and moves again."""

from __future__ import annotations

import re
from collections.abc import Iterable

from quintain.types import Ints
from quintain.worlds.art import tiles
from quintain.worlds.engines.board.men import Board
from quintain.worlds.kernel import GenerationError
from quintain.worlds.scene import Box, Disc, Run

FREE, DOT, OPEN, FLAT, TALL, OWN = 0, 1, 2, 3, 4, 5  # codes: a gap, a dot, an open box, drawn lines; boxes of X and O
SIGNS = ".+:-|XO"
PASS = "pass"
_NOTE = re.compile(r"X=(\d+) O=(\d+)( pass)?")
_GROUND = Box(x=0, y=0, width=1, height=1, fill="paper")

tiles(
    {
        "dots-gap": (_GROUND, Disc(x=0.5, y=0.5, radius=0.09, fill="seam")),
        "dots-dot": (_GROUND, Disc(x=0.5, y=0.5, radius=0.24, fill="ink")),
        "dots-open": (Box(x=0, y=0, width=1, height=1, fill="floor"),),
        "dots-flat": (_GROUND, Box(x=-0.2, y=0.39, width=1.4, height=0.22, fill="slate", radius=0.08)),
        "dots-tall": (_GROUND, Box(x=0.39, y=-0.2, width=0.22, height=1.4, fill="slate", radius=0.08)),
        "dots-X": (
            Box(x=0.06, y=0.06, width=0.88, height=0.88, fill="blue", radius=0.08),
            Run(text="X", x=0.5, y=0.52, size=0.6, color="white"),
        ),
        "dots-O": (
            Box(x=0.06, y=0.06, width=0.88, height=0.88, fill="gold", line="rust", thick=0.05, radius=0.08),
            Run(text="O", x=0.5, y=0.52, size=0.6, color="rust"),
        ),
    }
)
ART: dict[str, str] = dict(
    zip(SIGNS, [f"dots-{name}" for name in ("gap", "dot", "open", "flat", "tall", "X", "O")], strict=True)
)


class Boxes:
    """Lines between dots. After a move that closes a box the other side can only say `pass`; the own number tells so.

    Args:
        columns, rows: odd numbers: of dots, and of boxes between them.
    """

    def __init__(self, columns: int, rows: int) -> None:
        if not columns % 2 or not rows % 2:
            raise GenerationError(f"{columns} x {rows} cells of dots and lines; both numbers must be odd")
        self.columns, self.cells = columns, columns * rows
        place = [(i % columns % 2, i // columns % 2) for i in range(self.cells)]
        self.lines: Ints = tuple(i for i, (x, y) in enumerate(place) if x != y)
        self.boxes: Ints = tuple(i for i, odd in enumerate(place) if odd == (1, 1))
        self.empty: Ints = tuple(OPEN if x and y else FREE if x or y else DOT for x, y in place)
        self.sides: dict[int, Ints] = {b: (b - columns, b - 1, b + 1, b + columns) for b in self.boxes}
        self.of: dict[int, Ints] = {i: tuple(b for b in self.boxes if i in self.sides[b]) for i in self.lines}
        count = range(len(self.boxes) + 1)
        self.board = Board(
            columns=columns,
            rows=rows,
            signs=SIGNS,
            specials=(PASS,),
            breadth=8,
            deep=2,
            nodes=150,
            lasts=len(self.lines) + len(self.boxes),  # each line, and a pass for each box
            note=self._note,
            noted=_noted,
            vocabulary=tuple(f"{side}={n}" for side in "XO" for n in count),
        )

    def _note(self, position: Ints) -> str:
        x, o = (position[: self.cells].count(OWN + side) for side in (0, 1))
        must = position[self.cells] and self.ended(position) is None
        return f"X={x} O={o}{' pass' if must else ''}"

    def begin(self) -> Ints:
        return (*self.empty, 0)

    def paths(self, position: Ints) -> Iterable[Ints]:
        if position[self.cells]:
            yield (self.cells,)
            return
        free = [i for i in self.lines if not position[i]]
        # lines that give a box away come first
        yield from sorted([(i,) for i in free], key=lambda path: -self._third(position, path[0]))

    def _third(self, position: Ints, line: int) -> int:
        """Whether a line would be the third side of a box."""
        return max([self._drawn(position, b) == 2 for b in self.of[line]])

    def _drawn(self, cells: Ints | list[int], box: int) -> int:
        up, left, right, down = self.sides[box]
        return (cells[up] > 0) + (cells[left] > 0) + (cells[right] > 0) + (cells[down] > 0)

    def moved(self, position: Ints, path: Ints) -> Ints:
        line = path[0]
        if line == self.cells:
            return (*position[: self.cells], 0)
        cells, closed = list(position[: self.cells]), 0
        cells[line] = TALL if self.of[line][0] in (line - 1, line + 1) else FLAT
        for box in self.of[line]:
            if self._drawn(cells, box) == 4:
                cells[box], closed = OWN + position[-1], 1
        return (*cells, closed)

    def ended(self, position: Ints) -> int | None:
        x, o = (position[: self.cells].count(OWN + side) for side in (0, 1))
        half = len(self.boxes) / 2
        if x > half or o > half:
            return 1 if (x > o) == (position[-1] == 0) else -1
        return 0 if x + o == len(self.boxes) else None

    def value(self, position: Ints) -> float:
        """Boxes owned, those that the next line can close one after another, and who must then open the next."""
        mover = position[-1] ^ position[self.cells]
        cells = list(position[: self.cells])
        mine, yours = cells.count(OWN + mover), cells.count(OWN + 1 - mover)
        drawn = {b: self._drawn(cells, b) for b in self.boxes}
        waiting = [b for b, n in drawn.items() if n == 3]
        while waiting:
            box = waiting.pop()
            if drawn[box] != 3:
                continue
            line = next(i for i in self.sides[box] if not cells[i])
            cells[line] = FLAT
            for b in self.of[line]:
                drawn[b] += 1
                if drawn[b] == 4:
                    mine += 1
                elif drawn[b] == 3:
                    waiting.append(b)
        safe = sum([not cells[i] and max([drawn[b] for b in self.of[i]]) < 2 for i in self.lines])
        if safe:
            lead = mine - yours + (1.5 if safe % 2 else -1.5)
        else:  # every line opens a chain: each opens the shortest in turn, the other takes it
            lead = mine - yours + sum([n if k % 2 else -n for k, n in enumerate(sorted(self._chains(cells, drawn)))])
        return (lead if mover == position[-1] else -lead) / len(self.boxes)

    def _chains(self, cells: list[int], drawn: dict[int, int]) -> Iterable[int]:
        """How many open boxes hang together, for each such set."""
        left = {b for b, n in drawn.items() if n < 4}
        while left:
            waiting, size = [left.pop()], 0
            while waiting:
                box = waiting.pop()
                size += 1
                for line in self.sides[box]:
                    for b in self.of[line]:
                        if not cells[line] and b in left:
                            left.remove(b)
                            waiting.append(b)
            yield size


def _noted(note: str) -> Ints | None:
    said = _NOTE.fullmatch(note)
    return (int(bool(said[3])),) if said else None
