"""Numbers that are a function of (seed, counter): draws without a random state."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

_MASK = (1 << 64) - 1


def mixed(*numbers: int) -> int:
    """A 64-bit hash of integers (splitmix64 over each in turn): equal inputs, equal outputs, on every machine.

    Example:
        >>> mixed(0, 1) != mixed(1, 0), 0 <= mixed(5) < 2**64
        (True, True)
    """
    h = 0x9E3779B97F4A7C15
    for number in numbers:
        h = (h ^ (number & _MASK)) * 0xBF58476D1CE4E5B9 & _MASK
        h = ((h ^ (h >> 30)) + 0x9E3779B97F4A7C15) & _MASK
        h = (h ^ (h >> 27)) * 0x94D049BB133111EB & _MASK
        h ^= h >> 31
    return h


def uniform(*numbers: int) -> float:
    """A number in [0, 1) that is a function of the integers."""
    return (mixed(*numbers) >> 11) / (1 << 53)


def choice(weights: Sequence[float], *numbers: int) -> int:
    """An index drawn with the given weights, as a function of the integers.

    Example:
        >>> choice([0.0, 1.0, 0.0], 7)
        1
    """
    at, total = uniform(*numbers) * sum(weights), 0.0
    for i, weight in enumerate(weights):
        total += weight
        if at < total:
            return i
    return max(i for i, w in enumerate(weights) if w > 0)


@functools.lru_cache(maxsize=8)  # samplers ask for the order of the same epoch at every draw
def permutation(count: int, seed: int, epoch: int) -> np.ndarray:
    """The order of `count` rows in an epoch, sorted by raw counter-based bits: the same on every machine."""
    bits = np.random.Philox(key=mixed(seed, epoch)).random_raw(count)
    order = np.argsort(bits, kind="stable")
    order.flags.writeable = False
    return order
