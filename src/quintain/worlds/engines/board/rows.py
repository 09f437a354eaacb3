"""Rows: two sides put stones on the cells of a square, and the first with a line of its own stones wins.

A set of cells is an integer with one bit per cell and one unused bit after each row, so that shifts never wrap round. A
position is (stones of the side to move, stones of the other side).
"""

from __future__ import annotations

import functools
import itertools
import struct
from collections.abc import Mapping, Sequence

from quintain.types import Ints
from quintain.worlds.engines.board.game import Verdict

BRIEF = 9  # free cells up to which an expected result is worked out to the end
EXACT_FREE = 12  # free cells up to which a position is solved to the end
LARGE = 7  # cells on a side from which only wins made of threats are looked for
DEEP, FORCING = 3, 6  # own moves within which any win is found, and within which one made of threats alone is
WIDTH = 6  # moves that get a deeper look
KEPT = 1 << 16  # positions that are remembered


class Track(dict[tuple[int, int], tuple[int, int, int]]):
    """All that lies in one straight line of cells, for whatever stones are there: see `RowGame.scan`.

    What each free cell would add stands in 16 bits per cell of one integer, so that one sum adds up a whole board. A line
    that holds k stones of one side only is worth 5^(k-1) to it.
    """

    def __init__(self, lines: Ints, bits: Ints, line: int) -> None:
        self.mask = functools.reduce(int.__or__, lines)
        self.lines, self.bits, self.line = lines, bits, line

    def __missing__(self, stones: tuple[int, int]) -> tuple[int, int, int]:
        mine, yours = stones
        sure = gains = won = 0
        for mask in self.lines:
            a, b = (mask & mine).bit_count(), (mask & yours).bit_count()
            if a and b:
                continue
            held = 5 ** (a + b - 1) if a + b else 0
            sure += held if a else -held
            gain = held if b else 5**a - held  # taken from the other side, or one stone more
            for c, bit in enumerate(self.bits):
                if mask & bit & ~(mine | yours):
                    gains += gain << 16 * c
                    won |= bit if a == self.line - 1 else 0
        value = self[stones] = (sure, gains, won)
        return value


def _tracks(game: RowGame) -> list[Track]:
    """The straight lines of cells of a board, from edge to edge, each with the lines that win in it."""
    together: dict[tuple[int, int], list[int]] = {}
    for mask in game.lines:
        low = mask & -mask
        rest = mask ^ low
        way = (rest & -rest).bit_length() - low.bit_length()
        start = low
        while start >> way in game.cell:
            start >>= way
        together.setdefault((start, way), []).append(mask)
    return [Track(tuple(lines), game.bits, game.line) for lines in together.values()]


class RowGame:
    """The rules of rows and what can be proved about a position; use `row_game`, which shares what was found.

    Args:
        size: cells on a side.
        line: stones in a row that win.
    """

    def __init__(self, size: int, line: int) -> None:
        self.size, self.line, self.cells = size, line, size * size
        stride = size + 1
        self.bits: Ints = tuple(1 << c // size * stride + c % size for c in range(size * size))
        # moves are listed in steps of nearly two rows: whoever always takes the first builds no line
        self.spread: Ints = tuple(i * (2 * size - 1) % self.cells for i in range(self.cells))
        self.cell: dict[int, int] = {bit: c for c, bit in enumerate(self.bits)}
        self.full: int = sum(self.bits)
        self.ways: Ints = (1, stride, stride + 1, stride - 1)
        self.pairs = [
            (one * way, two * way, [i * way for i in range(line) if i not in (one, two)])
            for way in self.ways
            for one, two in itertools.combinations(range(line), 2)
        ]
        self.deep = DEEP if size < LARGE else 0
        spans = [[1 << start + i * way for i in range(line)] for way in self.ways for start in range(stride * size)]
        self.lines: Ints = tuple(sum(s) for s in spans if all(bit in self.cell for bit in s))
        through = [sum(bool(mask & bit) for mask in self.lines) for bit in self.bits]
        middle_first = sorted(range(size * size), key=lambda c: -through[c])
        self.order: Ints = tuple(self.bits[c] for c in middle_first)
        self.tracks: tuple[tuple[int, Track], ...] = tuple((t.mask, t) for t in _tracks(self))
        self._fields = struct.Struct(f"<{self.cells}H").unpack
        self._lacking: dict[int, int] = {}
        self._forced: dict[tuple[int, int, int, bool], bool] = {}
        self._worth: dict[Ints, int] = {}

    def legal(self, position: Ints) -> Sequence[int]:
        taken = position[0] | position[1]
        return [c for c in self.spread if not taken & self.bits[c]]

    def tempting(self, position: Ints) -> Sequence[int]:
        mine, yours = position
        free = self.full & ~(mine | yours)
        must = self.wins(mine, free) or self.wins(yours, free)
        if must:
            return [self.cell[must & -must]]
        ahead = self.ahead(position)
        return sorted(ahead, key=ahead.__getitem__, reverse=True)[:WIDTH]

    def play(self, position: Ints, move: int) -> Ints:
        return (position[1], position[0] | self.bits[move])

    def worth(self, position: Ints) -> int | None:
        mine, yours = position
        if self.has_line(yours):
            return -1
        return 0 if mine | yours == self.full else None

    def has_line(self, stones: int) -> bool:
        """Whether the stones hold a whole line."""
        return stones & self.lacking(stones) > 0

    def wins(self, stones: int, free: int) -> int:
        """The free cells that would complete a line of the stones."""
        return free & self.lacking(stones)

    def lacking(self, stones: int) -> int:
        """Cells such that the stones hold all others of some line through them; some of the cells may lie beside the board."""
        known = self._lacking.get(stones)
        if known is None:
            known = 0
            for way in self.ways if stones.bit_count() >= self.line - 1 else ():
                runs = [-1, stones]  # where so many stones begin that lie one behind the other
                for _ in range(2, self.line):
                    runs.append(runs[-1] >> way & stones)
                for before, run in enumerate(runs):
                    known |= run << before * way & runs[-1 - before] >> way
            if len(self._lacking) >= KEPT >> 2:
                self._lacking.clear()
            self._lacking[stones] = known
        return known

    def fours(self, stones: int, free: int) -> int:
        """The free cells where one stone more threatens to complete a line: two free cells in a line of own stones."""
        out = 0
        for one, two, held in self.pairs:
            found = free >> one & free >> two
            for shift in held:
                found &= stones >> shift
            out |= found << one | found << two
        return out

    def scan(self, mine: int, yours: int) -> tuple[int, Ints, int]:
        """How much better off `mine` is, what each cell would add to that, and the cells that complete a line of `mine`."""
        sure = gains = won = 0
        for mask, track in self.tracks:
            one, two, three = track[mine & mask, yours & mask]
            sure += one
            gains += two
            won |= three
        return sure, self._fields(gains.to_bytes(2 * self.cells, "little")), won

    def ahead(self, position: Ints) -> Mapping[int, float]:
        mine, yours = position
        sure, gains, won = self.scan(mine, yours)
        free, scale = self.full & ~(mine | yours), 5**self.line
        if not free & (free - 1):
            return {self.cell[free]: 1.0 if won else 0.0}
        out: dict[int, float] = {}
        for c in self.spread:
            bit = self.bits[c]
            if free & bit:
                guess = sure + gains[c]
                out[c] = 1.0 if won & bit else 0.9 * guess / (abs(guess) + scale)
        return out

    def peak(self, position: Ints) -> float:
        mine, yours = position
        sure, gains, won = self.scan(mine, yours)
        free = self.full & ~(mine | yours)
        if won or not free & (free - 1):
            return 1.0 if won else 0.0
        guess = sure + max(gains)
        return 0.9 * guess / (abs(guess) + 5**self.line)

    def guess(self, position: Ints) -> float:
        return (1 + self.peak(position)) / 2

    def brief(self, position: Ints) -> bool:
        return len(self.legal(position)) <= BRIEF

    def judge(self, position: Ints) -> Verdict | None:
        mine, yours = position
        n = self.distance(mine, yours)
        if n:
            good = [c for c in self.legal(position) if self.lost(yours, mine | self.bits[c], n - 1, n <= self.deep)]
            return Verdict(1, tuple(good))
        legal = self.legal(position)
        if len(legal) > EXACT_FREE:
            return None
        worths = {c: -self.exact(*self.play(position, c)) for c in legal}
        best = max(worths.values())
        return Verdict(best, tuple(c for c, worth in worths.items() if worth == best))

    def distance(self, mine: int, yours: int) -> int:
        """Within how many own moves the side to move wins against any defence, 0 if no such win is found.

        Wins within `deep` moves are all found; longer ones, up to `FORCING`, where each move makes a threat.
        """
        return next((n for n in range(1, FORCING + 1) if self.forced(mine, yours, n, n <= self.deep)), 0)

    def forced(self, mine: int, yours: int, n: int, quiet: bool) -> bool:
        """Whether the side to move wins within `n` own moves; without `quiet`, by moves that each threaten to win."""
        key = (mine, yours, n, quiet)
        known = self._forced.get(key)
        if known is None:
            known = self._search(mine, yours, n, quiet)
            if len(self._forced) >= KEPT:
                self._forced.clear()
            self._forced[key] = known
        return known

    def _search(self, mine: int, yours: int, n: int, quiet: bool) -> bool:
        free = self.full & ~(mine | yours)
        if self.wins(mine, free):
            return n >= 1
        if n <= 1:
            return False
        must = self.wins(yours, free)
        if must & (must - 1):
            return False
        moves = must or free
        if not quiet:
            moves &= self.fours(mine, free)
        while moves:
            bit = moves & -moves
            moves ^= bit
            if self.lost(yours, mine | bit, n - 1, quiet):
                return True
        return False

    def lost(self, mine: int, yours: int, n: int, quiet: bool) -> bool:
        """Whether the other side, which has just moved, wins within `n` more own moves, whatever the side to move does."""
        if self.has_line(yours):
            return True
        free = self.full & ~(mine | yours)
        if n < 1 or self.wins(mine, free):
            return False
        threats = self.wins(yours, free)
        if threats & (threats - 1):
            return True
        if threats:
            return n > 1 and self.forced(yours, mine | threats, n, quiet)
        if not quiet or n < 2 or not self.forced(yours, mine, n, quiet):  # a stone more never hurts the defence
            return False
        while free:
            bit = free & -free
            free ^= bit
            if not self.forced(yours, mine | bit, n, quiet):
                return False
        return True

    def promise(self, stones: int, other: int) -> int:
        """The sum of 2^(stones on it) over the lines that the other side has not touched.

        A side whose sum is below 2^line when the other is to move (half of that when it is to move itself) cannot win: the
        other can always take the free cell with the largest share of the sum (Erdős and Selfridge, 1973).
        """
        return sum([1 << (mask & stones).bit_count() for mask in self.lines if not mask & other])

    def exact(self, mine: int, yours: int) -> int:
        """The worth of any position under best play, by searching to the end: for small boards."""
        key = (mine, yours)
        known = self._worth.get(key)
        if known is None:
            known = self._to_the_end(mine, yours)
            if len(self._worth) >= KEPT:
                self._worth.clear()
            self._worth[key] = known
        return known

    def _to_the_end(self, mine: int, yours: int) -> int:
        if self.has_line(yours):
            return -1
        free = self.full & ~(mine | yours)
        if self.wins(mine, free):
            return 1
        best = (
            1 if 2 * self.promise(mine, yours) >= 1 << self.line else 0
        )  # what could be reached at most, and at least
        worst = -1 if self.promise(yours, mine) >= 1 << self.line else 0
        if best == worst or not free:
            return 0
        value = worst
        must = self.wins(yours, free)
        for bit in (must & -must,) if must else [b for b in self.order if b & free]:
            value = max(value, -self.exact(yours, mine | bit))
            if value == best:
                break
        return value


@functools.lru_cache(maxsize=32)
def row_game(size: int, line: int) -> RowGame:
    """The one game of that size and line."""
    return RowGame(size, line)
