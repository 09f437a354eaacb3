"""Lines: discs that drop, and marks of which either side may choose; who completes a line wins."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from quintain.types import Ints
from quintain.worlds.cells import LETTERS
from quintain.worlds.engines.board.game import Match
from quintain.worlds.engines.board.men import Board, MenGame, keep, rays
from quintain.worlds.kernel import Move

Spans = list[tuple[range, int]]
WAYS = ((1, 0), (0, 1), (1, 1), (-1, 1))
PROVED = 12  # moves that leave nothing to complete, up to which a game of free marks is searched to the end
WIDEST = 9  # columns that a disc may be dropped in
_MARKS = (bytes.maketrans(b"\0\1\2", b"010"), bytes.maketrans(b"\0\1\2", b"001"))
_COLUMN = re.compile(
    r"(?:(?:drop|play|put|place)s? )?(?:(?:(?:a|my|one) )?disc )?(?:in |into |to )?(?:column )?([a-i])"
)


class Track(dict[Ints, int]):
    """What the codes along one straight line of cells are worth to side 0.

    Stretches of `line` cells that hold k men of one side only are worth 5^(k-1) to it.
    """

    def __init__(self, line: int) -> None:
        self.line = line

    def __missing__(self, codes: Ints) -> int:
        total = 0
        for i in range(len(codes) - self.line + 1):
            part = codes[i : i + self.line]
            a, b = part.count(1), part.count(2)
            if not (a and b) and (a or b):
                total += 5 ** (a - 1) if a else -(5 ** (b - 1))
        self[codes] = total
        return total


@functools.lru_cache(maxsize=64)
def tracks(columns: int, rows: int, line: int) -> tuple[Callable[[Ints], Ints], ...]:
    """For each straight line of at least `line` cells, from edge to edge, what takes its codes from a position."""
    found = []
    for cell, ways in enumerate(rays(columns, rows, WAYS)):
        column, row = cell % columns, cell // columns
        for (right, down), ray in zip(WAYS, ways, strict=True):
            begins = not (0 <= column - right < columns and 0 <= row - down < rows)
            if begins and len(ray) + 1 >= line:
                found.append(itemgetter(cell, *ray))
    return tuple(found)


@functools.lru_cache(maxsize=64)
def spans(columns: int, rows: int, line: int) -> Spans:
    """For each way a line may lie: how far its cells are from the first, and where lines may begin, the first cell lowest.

    A board that has the first cell highest is this one turned by half a turn, and has the same lines.
    """
    found = [(cell, *ray[: line - 1]) for cell, lines in enumerate(rays(columns, rows, WAYS)) for ray in lines]
    begun = [(span[1] - span[0], 1 << span[0]) for span in found if len(span) == line]
    return [
        (range(0, line * step, step), sum(bit for other, bit in begun if other == step))
        for step in {s for s, _ in begun}
    ]


def lined(marks: int, spans: Spans) -> bool:
    """Whether the marks hold a whole line."""
    for shifts, begun in spans:
        for shift in shifts:
            begun &= marks >> shift
        if begun:
            return True
    return False


def in_a_row(line: int) -> str:
    """The note of a game of lines."""
    return f"{line} in a row wins."


def told_line(note: str) -> int:
    """The line that such a note tells, 0 if it is none."""
    head, _, rest = note.partition(" ")
    return int(head) if head.isdecimal() and len(head) == 1 and f" {rest}" == in_a_row(0)[1:] else 0


class ConnectK:
    """Discs drop to the lowest free cell of a column; who has a line of own discs wins.

    Args:
        columns, rows: the board.
        line: discs in a row that win.
    """

    def __init__(self, columns: int, rows: int, line: int) -> None:
        self.columns, self.cells = columns, columns * rows
        note = in_a_row(line)
        self.board = Board(
            columns=columns,
            rows=rows,
            specials=tuple(LETTERS[:columns]),
            deep=5,
            note=lambda position: note,
            noted=lambda said: () if said == note else None,
            vocabulary=tuple(note.split()),
        )
        self.scale = 5 ** (line - 1)
        self.falls = tuple(tuple(range(self.cells - columns + c, -1, -columns)) for c in range(columns))
        self.track, self.lines = Track(line), tracks(columns, rows, line)
        self.spans = spans(columns, rows, line)

    def begin(self) -> Ints:
        return (0,) * self.cells

    def paths(self, position: Ints) -> Iterable[Ints]:
        # from the second column of those beyond the last two, so that whoever always takes the first builds no line
        shift = 2 * (self.cells - position[: self.cells].count(0))
        for i in range(self.columns):
            column = (i + shift) % self.columns
            if not position[column]:
                yield (self.cells + column,)

    def moved(self, position: Ints, path: Ints) -> Ints:
        cell = next(c for c in self.falls[path[0] - self.cells] if not position[c])
        return (*position[:cell], position[-1] + 1, *position[cell + 1 : -2])

    def ended(self, position: Ints) -> int | None:
        yours = int(bytes(position[: self.cells]).translate(_MARKS[1 - position[-1]]), 2)
        if lined(yours, self.spans):
            return -1
        return None if 0 in position[: self.columns] else 0

    def value(self, position: Ints) -> float:
        track = self.track
        total = sum([track[line(position)] for line in self.lines])
        total = -total if position[-1] else total
        return total / (abs(total) + self.scale)


class WildLines:
    """Either side puts X or O on a free cell; who completes a line of equal marks wins.

    Args:
        size: cells on a side.
        line: equal marks in a row that win.
    """

    def __init__(self, size: int, line: int) -> None:
        self.size, self.line, self.cells = size, line, size * size
        self.full = (1 << size * size) - 1
        note = in_a_row(line)
        self.board = Board(
            columns=size,
            rows=size,
            sides="12",
            specials=("x", "o"),
            deep=1,  # `value` proves more, and sooner
            note=lambda position: note,
            noted=lambda said: () if said == note else None,
            vocabulary=tuple(note.split()),
        )
        self.spans = spans(size, size, line)
        # a board of these marks has no three in a row: whoever takes the first move of the list builds no line
        dull = [(column + 2 * row) // 2 % 2 for row in range(size) for column in range(size)]
        self.order = tuple((cell, dull[cell] ^ other) for other in (0, 1) for cell in range(self.cells))
        self._worth: dict[tuple[int, int], int] = {}

    def begin(self) -> Ints:
        return (0,) * self.cells

    def paths(self, position: Ints) -> Iterable[Ints]:
        return [(cell, self.cells + mark) for cell, mark in self.order if not position[cell]]

    def moved(self, position: Ints, path: Ints) -> Ints:
        return (*position[: path[0]], path[1] - self.cells + 1, *position[path[0] + 1 : -2])

    def ended(self, position: Ints) -> int | None:
        if any(lined(marks, self.spans) for marks in self.masks(position)):
            return -1
        return None if 0 in position[: self.cells] else 0

    def value(self, position: Ints) -> float:
        return self.worth(*self.masks(position)) or 0.1

    def masks(self, position: Ints) -> tuple[int, int]:
        """Crosses and rings, a bit for each cell, the first one highest."""
        raw = bytes(position[: self.cells])
        return int(raw.translate(_MARKS[0]), 2), int(raw.translate(_MARKS[1]), 2)

    def calm(self, crosses: int, rings: int) -> tuple[int, int] | None:
        """The cells for a cross and for a ring that leave nothing to complete; None if a line can be completed now."""
        free, out = self.full & ~(crosses | rings), []
        for marks in (crosses, rings):
            bad = 0
            for shifts, begun in self.spans:
                none, one, two = begun, 0, 0  # lines that lack so many marks, and the cells for them are free
                for shift in shifts:
                    held, open_ = marks >> shift, free >> shift
                    two = two & held | one & open_
                    one = one & held | none & open_
                    none &= held
                if one:
                    return None
                if two:
                    for shift in shifts:
                        bad |= two << shift
            out.append(free & ~bad)
        return out[0], out[1]

    def worth(self, crosses: int, rings: int) -> int:
        """1 if the side to move wins, -1 if it loses, 0 if it is a draw or not known: nobody puts up what can be completed."""
        key = (crosses, rings)
        known = self._worth.get(key)
        if known is None:
            known = self._search(crosses, rings)
            keep(self._worth, key, known)
        return known

    def _search(self, crosses: int, rings: int) -> int:
        calm = self.calm(crosses, rings)
        if calm is None:
            return 1
        if calm[0].bit_count() + calm[1].bit_count() > PROVED:
            return 0
        worst = 0 if crosses | rings == self.full else -1
        for mark, cells in enumerate(calm):
            while cells:
                bit = cells & -cells
                cells ^= bit
                reply = self.worth(crosses, rings | bit) if mark else self.worth(crosses | bit, rings)
                if reply == -1:
                    return 1
                worst = max(worst, -reply)
        return worst


def quiet(game: MenGame, position: Ints, knobs: Mapping[str, Any]) -> bool:
    """Whether nobody can complete a line of `WildLines` at once, and the side to move is as well off as a `lead` says."""
    wild = game.rules
    calm = isinstance(wild, WildLines) and wild.calm(*wild.masks(position)) is not None
    return calm and knobs.get("lead", -1) <= game.peak(position)


def shape(columns: int, rows: int, note: str) -> Ints | None:
    """The numbers of `ConnectK` that a caption shows, or None."""
    line = told_line(note)
    return (columns, rows, line) if 1 < line <= max(columns, rows) and max(columns, rows) <= WIDEST else None


def square(columns: int, rows: int, note: str) -> Ints | None:
    """The numbers of `WildLines` that a caption shows, or None."""
    found = shape(columns, rows, note)
    return (columns, found[2]) if found and columns == rows else None


def column_alone(text: str) -> str:
    """An answer that names a column, without the words around it."""
    named = _COLUMN.fullmatch(text.strip())
    return named[1] if named else text


def column_of(match: Match, move: Move) -> Move:
    """The column of a cell that is named for it, where a disc would come to lie there; any other move as it is."""
    (columns, rows), at = match.setup.options[:2], LETTERS.index(move.key[0])
    free = [row for row in range(rows) if at < columns and not match.position[row * columns + at]]
    return Move(move.key[0]) if free and move.key[1:] == str(free[-1] + 1) else move


def mark_last(text: str, marks: Sequence[str] = ("x", "o")) -> str:
    """An answer with its mark behind the cell."""
    words = re.split(r"[\s:,]+", text.strip())
    found = [word for word in words if word in marks]
    return " ".join([*(word for word in words if word not in marks), *found]) if len(found) == 1 else text
