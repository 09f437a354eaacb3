"""Men on a board: what the many games share whose position is a sign in each cell of a rectangle.

A position is a tuple of integers: a code for each cell, row by row; the game's own numbers, if it has some; how many moves of
both sides are left; the side to move, 0 or 1. A move is a path: the cells it names in order, then perhaps a word of the
game's own (`pass`, the piece of a promotion), packed in one integer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from quintain.types import Ints
from quintain.worlds.cells import LETTERS
from quintain.worlds.engines.board.game import Verdict

KEPT = 1 << 15  # positions that are remembered
BRIEF = 2  # moves left up to which an expected result is worked out to the end
SURE = 0.9  # no guess at a position that is not over exceeds this


class TooLong(Exception):
    """A proof would take more nodes than it may."""


@dataclass(frozen=True, kw_only=True)
class Board:
    """What the world around a game of men must know of it.

    Attributes:
        columns, rows: the cells.
        signs: the sign of each code; code 0 is an empty cell, `.`.
        sides: what the two sides are called, a letter each: `XO` or `WB`.
        specials: words that a path may hold beside cells.
        upward: rows are counted from the bottom.
        breadth: moves that get a deeper look.
        deep: moves of both sides within which results are proved, and `nodes`, positions that a proof may visit.
        late: moves left above which no proof is tried: for games that cannot be over early.
        note: what a player must know beside the board, as one short line for the caption and below the picture.
        noted: the own numbers that a note tells, or None if it is no such line.
        vocabulary: all words that notes may hold.
        spent: the worth for the side to move when no moves are left; a draw unless the game says otherwise.
        lasts: moves of both sides after which every match from the beginning is over, however it is played; 0 where it may go on and
            moves that run out are part of the rules.
    """

    columns: int
    rows: int
    signs: str = ".XO"
    sides: str = "XO"
    specials: tuple[str, ...] = ()
    upward: bool = False
    breadth: int = 6
    deep: int = 3
    nodes: int = 600
    late: int = 1 << 30
    note: Callable[[Ints], str] = lambda position: ""
    noted: Callable[[str], Ints | None] = lambda note: None if note else ()
    vocabulary: tuple[str, ...] = ()
    spent: Callable[[Ints], int] = lambda position: 0
    lasts: int = 0


class Rules(Protocol):
    """The rules of one game of men."""

    @property
    def board(self) -> Board:
        """Cells, signs, limits of the search."""
        ...

    def begin(self) -> Ints:
        """Codes of all cells and the game's own numbers, before the first move."""
        ...

    def paths(self, position: Ints) -> Iterable[Ints]:
        """The legal moves of the side to move, as paths; in an order in which the first is not a good player's."""
        ...

    def moved(self, position: Ints, path: Ints) -> Ints:
        """Codes and own numbers after a legal move, without the moves left and the side."""
        ...

    def ended(self, position: Ints) -> int | None:
        """1, 0 or -1 for the side to move if the game is over, for another reason than that no moves are left, else None."""
        ...

    def value(self, position: Ints) -> float:
        """A quick guess at who is ahead, from -1 (the other side) to 1 (the side to move)."""
        ...


class MenGame:
    """A game of men as `board.game.Game`.

    Args:
        rules: its rules.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules, self.board = rules, rules.board
        columns, rows = self.board.columns, self.board.rows
        self.cells = columns * rows
        number = range(rows, 0, -1) if self.board.upward else range(1, rows + 1)
        self.names: tuple[str, ...] = tuple(f"{LETTERS[c]}{r}" for r in number for c in range(columns))
        self.lexicon: tuple[str, ...] = self.names + self.board.specials
        self._number = {name: i for i, name in enumerate(self.lexicon, 1)}
        self._base = len(self.lexicon) + 1
        # a path as one integer, and the path of such an integer
        self.pack: Callable[[Ints], int] = functools.lru_cache(maxsize=KEPT >> 3)(self._pack)
        self.unpack: Callable[[int], Ints] = functools.lru_cache(maxsize=KEPT >> 3)(self._unpack)
        self._legal: dict[Ints, Ints] = {}
        self._ahead: dict[Ints, Mapping[int, float]] = {}
        self._proved: dict[Ints, Verdict | None] = {}
        self._memo: dict[tuple[Ints, int], int | None] = {}
        self._visits = 0

    def _pack(self, path: Ints) -> int:
        move = 0
        for step in path:
            move = move * self._base + step + 1
        return move

    def _unpack(self, move: int) -> Ints:
        out: list[int] = []
        while move:
            move, step = divmod(move, self._base)
            out.append(step - 1)
        return tuple(reversed(out))

    def spell(self, move: int) -> str:
        """A move in words."""
        return " ".join([self.lexicon[step] for step in self.unpack(move)])

    def spelled(self, text: str) -> int:
        """The move with these words, -1 if the game has no such words."""
        numbers = [self._number.get(word, 0) for word in text.split()]
        return -1 if 0 in numbers or not numbers else self.pack(tuple([n - 1 for n in numbers]))

    def legal(self, position: Ints) -> Sequence[int]:
        known = self._legal.get(position)
        if known is None:
            known = tuple([self.pack(path) for path in self.rules.paths(position)])
            keep(self._legal, position, known)
        return known

    def play(self, position: Ints, move: int) -> Ints:
        return (*self.rules.moved(position, self.unpack(move)), position[-2] - 1, 1 - position[-1])

    def worth(self, position: Ints) -> int | None:
        over = self.rules.ended(position)
        return self.board.spent(position) if over is None and position[-2] <= 0 else over

    def ahead(self, position: Ints) -> Mapping[int, float]:
        known = self._ahead.get(position)
        if known is None:
            known = {}
            for move in self.legal(position):
                after = self.play(position, move)
                worth = self.worth(after)
                known[move] = -SURE * max(-1.0, min(1.0, self.rules.value(after))) if worth is None else float(-worth)
            keep(self._ahead, position, known)
        return known

    def tempting(self, position: Ints) -> Sequence[int]:
        ahead = self.ahead(position)
        return sorted(ahead, key=ahead.__getitem__, reverse=True)[: self.board.breadth]

    def peak(self, position: Ints) -> float:
        return max(self.ahead(position).values(), default=-1.0)  # a side that could not move, were it its turn

    def guess(self, position: Ints) -> float:
        return (1 + self.peak(position)) / 2

    def brief(self, position: Ints) -> bool:
        return position[-2] <= BRIEF

    def judge(self, position: Ints) -> Verdict | None:
        """The truth, where it is found within `deep` moves and `nodes` positions."""
        if position not in self._proved:
            self._visits = 0
            try:
                depths = range(1, self.board.deep + 1 if position[-2] <= self.board.late else 1)
                found = next((v for depth in depths if (v := self._verdict(position, depth))), None)
            except TooLong:
                found = None
            keep(self._proved, position, found)
        return self._proved[position]

    def _verdict(self, position: Ints, depth: int) -> Verdict | None:
        worths = {move: self._exact(self.play(position, move), depth - 1) for move in self.legal(position)}
        won = tuple([move for move, worth in worths.items() if worth == -1])
        if won:
            return Verdict(1, won)
        if None in worths.values():
            return None
        best = min(worth for worth in worths.values() if worth is not None)
        return Verdict(-best, tuple([move for move, worth in worths.items() if worth == best]))

    def _exact(self, position: Ints, depth: int) -> int | None:
        """The worth under best play if it shows within `depth` moves, else None."""
        worth = self.worth(position)
        if worth is not None or not depth:
            return worth
        key = (position, depth)
        if key in self._memo:
            return self._memo[key]
        self._visits += 1
        if self._visits > self.board.nodes:
            raise TooLong
        best: int | None = -1
        for move in sorted(ahead := self.ahead(position), key=ahead.__getitem__, reverse=True):
            reply = self._exact(self.play(position, move), depth - 1)
            if reply == -1:
                best = 1
                break
            best = None if best is None or reply is None else max(best, -reply)
        keep(self._memo, key, best)
        return best


def keep(table: dict, key: object, value: object) -> None:
    """Put a value into a table that is emptied when it has grown large."""
    if len(table) >= KEPT:
        table.clear()
    table[key] = value


@functools.lru_cache(maxsize=64)
def rays(columns: int, rows: int, ways: tuple[tuple[int, int], ...]) -> tuple[tuple[Ints, ...], ...]:
    """For each cell and each way (right, down), the cells that lie that way, nearest first.

    Example:
        >>> rays(3, 2, ((1, 0), (0, 1)))[0]
        ((1, 2), (3,))
    """
    out = []
    for row in range(rows):
        for column in range(columns):
            lines = []
            for right, down in ways:
                c, r, line = column + right, row + down, []
                while 0 <= c < columns and 0 <= r < rows:
                    line.append(r * columns + c)
                    c, r = c + right, r + down
                lines.append(tuple(line))
            out.append(tuple(lines))
    return tuple(out)


ORTHOGONAL = ((1, 0), (0, 1), (-1, 0), (0, -1))
DIAGONAL = ((1, 1), (-1, 1), (-1, -1), (1, -1))
EIGHT = ORTHOGONAL + DIAGONAL
