"""Marks that stand in two cells at once until a loop of them settles where each one is (quantum tic-tac-toe)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from quintain.types import Ints
from quintain.worlds.engines.board.men import Board

LINE = 3  # settled marks in a row that win


class Quantum:
    """Mark number m belongs to X if m is odd, else to O.

    A position has for each cell the mark that is settled there, or 0; for each mark the two cells it stands in, as one number, or 0
    if it is settled or not made yet; and whether the latest mark has closed a loop.

    Args:
        columns, rows: the cells.
    """

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows, self.cells = columns, rows, columns * rows
        self.board = Board(columns=columns, rows=rows, breadth=5, deep=1, lasts=self.cells + 1)
        ways = ((1, 0), (0, 1), (1, 1), (1, -1))
        self.lines: tuple[Ints, ...] = tuple(
            tuple((r + k * down) * columns + c + k * right for k in range(LINE))
            for r, c in itertools.product(range(rows), range(columns))
            for right, down in ways
            if c + (LINE - 1) * right < columns and 0 <= r + (LINE - 1) * down < rows
        )

    def begin(self) -> Ints:
        return (0,) * (2 * self.cells + 1)

    def open(self, position: Sequence[int]) -> dict[int, Ints]:
        """Mark -> its two cells, for all that are not settled."""
        pairs = enumerate(position[self.cells : 2 * self.cells], 1)
        return {mark: divmod(pair - 1, self.cells) for mark, pair in pairs if pair}

    def waiting(self, position: Sequence[int]) -> Ints:
        """The latest mark and its two cells if it has closed a loop that the side to move must settle, else nothing."""
        if not position[2 * self.cells]:
            return ()
        mark, cells = max(self.open(position).items())
        return (mark, *cells)

    def paths(self, position: Ints) -> Iterable[Ints]:
        found: list[Ints] = []
        for choice in self.waiting(position)[1:] or (-1,):
            cells = position if choice < 0 else self.settled(position, choice)
            free = [i for i in range(self.cells) if not cells[i]]
            chosen = () if choice < 0 else (choice,)
            if choice >= 0 and self._over(cells) is not None:
                found.append(chosen)
            elif len(free) == 1:
                found.append(tuple(sorted((*chosen, *free))))
            else:
                found += [(*chosen, *pair) for pair in itertools.combinations(free, 2)]
        # cells far apart come first: such marks seldom make a row
        return sorted(found, key=lambda path: path[-2] - path[-1] if len(path) > 1 else 0)

    def settled(self, position: Sequence[int], choice: int) -> list[int]:
        """The position in which the latest mark is in the chosen cell, and every mark that it drives out is in its other one."""
        new, marks = list(position), self.open(position)
        moving = [(max(marks), choice)]
        while moving:
            mark, cell = moving.pop()
            new[cell], new[self.cells + mark - 1] = mark, 0
            del marks[mark]
            moving += [(m, a if b == cell else b) for m, (a, b) in marks.items() if cell in (a, b)]
        new[2 * self.cells] = 0
        return new

    def moved(self, position: Ints, path: Ints) -> Ints:
        ends, rest, new = self.waiting(position)[1:], path, list(position)
        if ends:
            choice = path[0] if path[0] in ends else path[1]
            new, rest = self.settled(position, choice), tuple([i for i in path if i != choice])
        mark = 2 * self.cells + 1 - new[: 2 * self.cells].count(0)
        if len(rest) == 1:
            new[rest[0]] = mark
        elif rest:
            new[2 * self.cells] = int(self._joined(new, *rest))
            new[self.cells + mark - 1] = rest[0] * self.cells + rest[1] + 1
        return tuple(new[:-2])

    def _joined(self, position: Sequence[int], one: int, two: int) -> bool:
        """Whether open marks link two cells, directly or over others."""
        reached, marks = {one}, list(self.open(position).values())
        while two not in reached:
            more = {i for pair in marks if reached.intersection(pair) for i in pair} - reached
            if not more:
                return False
            reached |= more
        return True

    def _over(self, cells: Sequence[int]) -> int | None:
        """1 if X has won, -1 if O has, 0 for a full board without a row, else None."""
        best, winner = 2 * self.cells, 0
        for line in self.lines:
            a, b, c = cells[line[0]], cells[line[1]], cells[line[2]]
            if a and b and c and (a & 1) == (b & 1) == (c & 1) and max(a, b, c) < best:
                best, winner = max(a, b, c), 1 if a & 1 else -1
        return winner or (None if 0 in cells[: self.cells] else 0)

    def ended(self, position: Ints) -> int | None:
        over = None if position[2 * self.cells] else self._over(position)
        return -over if over and position[-1] else over

    def value(self, position: Ints) -> float:
        """Settled and open marks in rows that are not blocked; of a loop, the better choice of the side to move."""
        sign = -1 if position[-1] else 1
        choices = [self.settled(position, c) for c in self.waiting(position)[1:]] or [position]
        return max(sign * self._lead(cells) for cells in choices)

    def _lead(self, position: Sequence[int]) -> float:
        over = self._over(position)
        if over is not None:
            return float(over)
        weight: list[list[float]] = [[0.0] * self.cells, [0.0] * self.cells]  # of O, of X
        for i in range(self.cells):
            if position[i]:
                weight[position[i] & 1][i] = 1.0
                weight[1 - (position[i] & 1)][i] = -9.0
        for mark, pair in self.open(position).items():
            for i in pair:
                weight[mark & 1][i] = min(weight[mark & 1][i] + 0.4, 0.7)
        total = 0.0
        for a, b, c in self.lines:
            x, o = (w[a] + w[b] + w[c] for w in (weight[1], weight[0]))
            total += (x * x if x > 0 else 0.0) - (o * o if o > 0 else 0.0)
        return max(-0.95, min(0.95, total / 25))
