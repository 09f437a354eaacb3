"""Heaps: two sides take counters from one heap at a time, and who takes the last one wins, or loses.

A position is the sizes of the heaps; a move is heap * `STEP` + how many are taken.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from quintain.types import Ints
from quintain.worlds.engines.board.game import Verdict

BRIEF = 9  # moves up to which an expected result is worked out to the end
STEP = 64  # more than the largest heap


class HeapGame:
    """The rules of heaps; use `heap_game`.

    Args:
        most: counters that a move may take at most, 0 for no limit.
        last_loses: who takes the last counter loses.
    """

    def __init__(self, most: int, last_loses: bool) -> None:
        self.most, self.last_loses = most, last_loses

    def legal(self, position: Ints) -> Sequence[int]:
        most = self.most or STEP
        return [h * STEP + n for h, size in enumerate(position) for n in range(1, min(size, most) + 1)]

    def tempting(self, position: Ints) -> Sequence[int]:
        return self.legal(position)

    def play(self, position: Ints, move: int) -> Ints:
        heap, count = divmod(move, STEP)
        return (*position[:heap], position[heap] - count, *position[heap + 1 :])

    def worth(self, position: Ints) -> int | None:
        return None if any(position) else 1 if self.last_loses else -1

    def ahead(self, position: Ints) -> Mapping[int, float]:
        left = sum(position)
        end = -1.0 if self.last_loses else 1.0
        return {move: end if move % STEP == left else 0.0 for move in self.legal(position)}

    def peak(self, position: Ints) -> float:
        return max(self.ahead(position).values())

    def guess(self, position: Ints) -> float:
        return 1.0 if self.wins(position) else 0.0

    def wins(self, position: Ints) -> bool:
        """Whether the side to move can force a win.

        A heap of size s counts as s mod (most + 1), or as s without a limit. With the last counter winning, that is when the
        exclusive or of all counts (the nim-sum) is not 0. With the last counter losing it is the same as long as a count
        exceeds 1, and the opposite otherwise (Bouton, 1901).
        """
        counts = [size % (self.most + 1) for size in position] if self.most else position
        total = 0
        for count in counts:
            total ^= count
        return (total == 0) if self.last_loses and max(counts) <= 1 else total != 0

    def brief(self, position: Ints) -> bool:
        return len(self.legal(position)) <= BRIEF

    def judge(self, position: Ints) -> Verdict | None:
        legal = self.legal(position)
        good = tuple([m for m in legal if not self.wins(self.play(position, m))])
        return Verdict(1, good) if good else Verdict(-1, tuple(legal))


@functools.lru_cache(maxsize=64)
def heap_game(most: int, last_loses: int) -> HeapGame:
    """The one game with that limit and end."""
    return HeapGame(most, bool(last_loses))
