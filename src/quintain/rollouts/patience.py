"""Deadlines that an env sets itself: a factor times the 99th percentile of its own answers."""

from __future__ import annotations

import math
from collections import Counter

GROWTH = 1.02  # width of a bucket: quantiles are exact to 2 %
LEAST_S = 1e-5  # answers below it count as one
ENOUGH = 100  # answers before a deadline is learned
KEPT = 8192  # answers in the histogram before old ones count half
FRESH = 32  # answers between two looks at the histogram


class Tail:
    """A streaming quantile: a histogram in logarithmic buckets, in which old answers count less and less."""

    __slots__ = ("buckets", "total")

    def __init__(self) -> None:
        self.buckets: Counter[int] = Counter()
        self.total = 0

    def add(self, seconds: float) -> None:
        """Count one answer."""
        self.buckets[math.ceil(math.log(max(seconds, LEAST_S) / LEAST_S, GROWTH))] += 1
        self.total += 1
        if self.total >= KEPT:
            self.buckets = Counter({b: n // 2 for b, n in self.buckets.items() if n > 1})
            self.total = sum(self.buckets.values())

    def quantile(self, share: float) -> float:
        """The seconds that `share` of the answers do not exceed, to 2 % above; 0 without answers."""
        left = share * self.total
        for bucket in sorted(self.buckets):
            left -= self.buckets[bucket]
            if left <= 0:
                return LEAST_S * GROWTH**bucket
        return 0.0


class Patience:
    """How long the answers of each env may take: learned for resets and steps apart.

    Late answers are not counted, as nobody knows how long they would have taken; with a factor well above 1 that cuts the tail
    where hardly anything is left of it.

    Args:
        factor: deadline over p99, > 1.
        floor_s: least deadline, in seconds.
        ceiling_s: greatest one, and the one in use before 100 answers are in; 0 for no limit.
    """

    def __init__(self, factor: float, floor_s: float, ceiling_s: float) -> None:
        self.factor, self.floor_s, self.ceiling_s = factor, floor_s, ceiling_s
        self._tails: dict[tuple[str, str], Tail] = {}
        self._learned: dict[tuple[str, str], float] = {}

    def seconds(self, env: str, verb: str) -> float:
        """The deadline of the next answer of `env` to `verb` (reset or step), in seconds; 0 for none."""
        return self._learned.get((env, verb), self.ceiling_s)

    def answered(self, env: str, verb: str, seconds: float) -> None:
        """Learn from an answer that came in time."""
        key = (env, verb)
        tail = self._tails.get(key)
        if tail is None:
            tail = self._tails[key] = Tail()
        tail.add(seconds)
        if tail.total >= ENOUGH and (tail.total - ENOUGH) % FRESH == 0:
            learned = max(self.floor_s, self.factor * tail.quantile(0.99))
            self._learned[key] = min(learned, self.ceiling_s) if self.ceiling_s else learned
