"""Randomness of worlds: a generator for making instances, and a counter-based one that lives in the state.

Both are functions of their keys on every machine and Python version.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
import threading
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from quintain.types import QuintainError

Item = TypeVar("Item")
_MASK = (1 << 64) - 1
_limit = threading.local()


class OutOfDraws(QuintainError):
    """Something that was allowed so much randomness wanted more."""


class TooFew(QuintainError, ValueError):
    """More different things were to be drawn than there are."""


def seed_of(*key: Any) -> int:
    """A 64-bit seed from any key of strings and integers.

    Example:
        >>> seed_of("KeyDoor", 3) == seed_of("KeyDoor", 3) != seed_of("KeyDoor", 4)
        True
    """
    return int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=8).digest(), "little")


class Rng:
    """A generator for building instances. It is never part of a state.

    Only the uniform floats of the Mersenne twister are used, which Python guarantees not to change.

    Example:
        >>> Rng("demo", 1).below(10) == Rng("demo", 1).below(10)
        True
    """

    __slots__ = ("uniform",)

    def __init__(self, *key: Any) -> None:
        uniform = random.Random(seed_of(*key)).random
        self.uniform = uniform if getattr(_limit, "left", None) is None else _counted(uniform)

    def below(self, n: int) -> int:
        """An integer in [0, n)."""
        return int(self.uniform() * n)

    def pick(self, items: Sequence[Item]) -> Item:
        """One of `items`, which must not be empty."""
        return items[int(self.uniform() * len(items))]

    def shuffle(self, items: MutableSequence[Any]) -> None:
        """Put `items` in random order, in place."""
        for i in range(len(items) - 1, 0, -1):
            j = int(self.uniform() * (i + 1))
            items[i], items[j] = items[j], items[i]

    def sample(self, items: Sequence[Item], k: int) -> list[Item]:
        """`k` different ones of `items`, in random order.

        Raises:
            TooFew: there are fewer than `k`.
        """
        if k > len(items):
            raise TooFew(f"{k} were to be drawn of {len(items)}")
        pool = list(items)
        for i in range(k):
            j = i + int(self.uniform() * (len(pool) - i))
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:k]


@contextlib.contextmanager
def at_most(draws: int) -> Iterator[Callable[[], int]]:
    """Generators that this thread makes inside give so many numbers in all, the next one raises `OutOfDraws`. Gives what tells how many are
    left.

    A loop that draws until something fits thus ends in the same way on every machine.
    """
    before, _limit.left = getattr(_limit, "left", None), draws
    try:
        yield lambda: _limit.left
    finally:
        _limit.left = before


def spend(draws: int) -> None:
    """Count work that is not drawing as so many draws.

    Raises:
        OutOfDraws: `at_most` allows no more.
    """
    left = getattr(_limit, "left", None)
    if left is None:
        return
    _limit.left = left - draws
    if left < draws:
        raise OutOfDraws("nothing was found in good time")


def _counted(uniform: Callable[[], float]) -> Callable[[], float]:
    def counted() -> float:
        spend(1)
        return uniform()

    return counted


def _mix(x: int) -> int:
    """The output function of SplitMix64."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


@dataclass(frozen=True, slots=True)
class Noise:
    """Counter-based randomness inside an episode: numbers are a function of (seed, step), which the state holds.

    Use it in a world with chance: draw with `uniform(i)` for i = 0, 1..., and put `after()` into the next state.

    Example:
        >>> noise = Noise(seed=7)
        >>> noise.uniform() == Noise(seed=7, step=0).uniform() != noise.after().uniform()
        True
    """

    seed: int
    step: int = 0

    def uniform(self, index: int = 0) -> float:
        """A float in [0, 1): number `index` of this step."""
        key = _mix((self.seed + 0x9E3779B97F4A7C15 * (self.step + 1)) & _MASK)
        return (_mix((key + 0xD1B54A32D192ED03 * (index + 1)) & _MASK) >> 11) / (1 << 53)

    def below(self, n: int, index: int = 0) -> int:
        """An integer in [0, n): number `index` of this step."""
        return int(self.uniform(index) * n)

    def after(self) -> Noise:
        """The noise of the next step."""
        return Noise(self.seed, self.step + 1)
