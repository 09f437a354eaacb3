"""Lines of Action: men that go as far as men stand on their line, and want to be together."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from quintain.types import Ints
from quintain.worlds.engines.board.men import DIAGONAL, EIGHT, ORTHOGONAL, Board, rays


class LinesOfAction:
    """A man goes along a line exactly as many cells as men of both sides stand on it; whose men all hang together wins.

    Args:
        size: cells on a side.
    """

    def __init__(self, size: int) -> None:
        self.size, self.cells = size, size * size
        self.board = Board(columns=size, rows=size, specials=("pass",), deep=3, nodes=80)
        ways = rays(size, size, EIGHT)
        self.near = tuple(sum(1 << ray[0] for ray in of if ray) for of in ways)
        # for each cell and axis: the number of the line, and the rays both ways
        seen: dict[frozenset[int], int] = {}
        self.axes = []
        for cell, of in enumerate(ways):
            axes = []
            for way in (*ORTHOGONAL[:2], *DIAGONAL[:2]):
                one, two = of[EIGHT.index(way)], of[EIGHT.index((-way[0], -way[1]))]
                whole = frozenset((cell, *one, *two))
                if len(whole) > 1:
                    axes.append((seen.setdefault(whole, len(seen)), one, two))
            self.axes.append(tuple(axes))
        self.lines = [itemgetter(*sorted(line)) for line in seen]

    def begin(self) -> Ints:
        codes = [0] * self.cells
        for i in range(1, self.size - 1):
            codes[i] = codes[self.cells - 1 - i] = 1
            codes[i * self.size] = codes[i * self.size + self.size - 1] = 2
        return tuple(codes)

    def paths(self, position: Ints) -> Iterable[Ints]:
        mine = position[-1] + 1
        held = [len(codes) - codes.count(0) for codes in [line(position) for line in self.lines]]
        out = []
        for cell in range(self.cells):
            if position[cell] != mine:
                continue
            for line, *both in self.axes[cell]:
                far = held[line]
                for ray in both:
                    if far > len(ray) or position[ray[far - 1]] == mine:
                        continue
                    if not any(position[c] == 3 - mine for c in ray[: far - 1]):
                        out.append((cell, ray[far - 1]))
        return out or [(self.cells,)]

    def moved(self, position: Ints, path: Ints) -> Ints:
        cells = list(position[:-2])
        if path[0] < self.cells:
            cells[path[1]], cells[path[0]] = cells[path[0]], 0
        return tuple(cells)

    def groups(self, position: Ints, code: int) -> int:
        """Into how many groups the men of a side fall."""
        rest, found = 0, 0
        for cell in range(self.cells):
            if position[cell] == code:
                rest |= 1 << cell
        while rest:
            found += 1
            wave = rest & -rest
            while wave:
                rest &= ~wave
                reach = 0
                while wave:
                    low = wave & -wave
                    reach |= self.near[low.bit_length() - 1]
                    wave ^= low
                wave = reach & rest
        return found

    def ended(self, position: Ints) -> int | None:
        mine = position[-1] + 1
        if self.groups(position, 3 - mine) == 1:  # whoever has just moved comes first
            return -1
        return 1 if self.groups(position, mine) == 1 else None

    def value(self, position: Ints) -> float:
        mine = position[-1] + 1
        return (self._apart(position, 3 - mine) - self._apart(position, mine)) / 8

    def _apart(self, position: Ints, code: int) -> float:
        """How far the men of a side are from hanging together."""
        men = [divmod(cell, self.size) for cell in range(self.cells) if position[cell] == code]
        n = len(men)
        row, column = sum([r for r, _ in men]) / n, sum([c for _, c in men]) / n
        spread = sum([max(abs(r - row), abs(c - column)) for r, c in men])
        off = max(abs(row - (self.size - 1) / 2), abs(column - (self.size - 1) / 2))
        return 0.6 * self.groups(position, code) + spread / n**0.5 + 0.3 * off
