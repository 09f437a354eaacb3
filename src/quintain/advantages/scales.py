"""Scales: what a centred value is divided by. Each sets `scale` [R]; a scale of exactly 0 divides by 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from quintain.advantages.baselines import lower_median
from quintain.advantages.rows import Rows, key_rows, scaled
from quintain.parts import PartError, Transform
from quintain.registry import build, register


def _over(key: str, statistic: Callable[[Rows], np.ndarray]) -> Transform[Rows]:
    """A scale whose statistic runs over the cells of the normaliser, or over those of a key of its own."""
    keys = [build("key", key)] if key else []
    apart = all(key.apart for key in keys)
    return scaled(lambda rows: statistic(key_rows(rows, keys) if keys else rows), apart=apart)


def _positive(name: str, eps: float) -> None:
    if not eps >= 0:
        raise PartError(f"scale {name}: eps is {eps}; it must be >= 0")


@register("scale", "std", paper="2402.03300", status="paper", confidence="code", invariant="scale")
def std(ddof: int = 1, eps: float = 1e-6, key: str = "") -> Transform[Rows]:
    """The standard deviation of the cell: the scale of GRPO.

    Maths: `scale = sqrt(1/(n - ddof) sum_j (value_j - mean)^2) + eps` over the n rows of the cell. [R]

    Args:
        ddof: 1 for the sample deviation, 0 for the population's. Releases differ.
        eps: added to the deviation, in units of reward, >= 0. Releases use 1e-6 and 1e-4.
        key: take the deviation over the cells of this key (`batch`: Lite PPO) instead of the normaliser's.

    Special cases: a cell with at most ddof rows has deviation 1.
    Example: `std(ddof=0)`
    """
    _positive("std", eps)

    def scale(rows: Rows) -> np.ndarray:
        free = rows.size - ddof
        deviation = np.sqrt(rows.sum((rows.value - rows.mean) ** 2) / np.maximum(free, 1))
        return np.where(free > 0, deviation, 1.0) + eps

    return _over(key, scale)


@register("scale", "mad", paper="2601.22582", status="paper", confidence="code", invariant="scale")
def mad(eps: float = 1e-3) -> Transform[Rows]:
    """The median absolute deviation of the cell (MC-GRPO).

    Maths: `scale = median_j |value_j - median| + eps`. [R]

    Args:
        eps: added to the deviation, in units of reward, >= 0.

    Special cases: binary rewards with a clear majority have deviation 0, so the scale is eps and advantages are huge: clip them, or prefer
    `std`.
    Example: `mad()`
    """
    _positive("mad", eps)

    def scale(rows: Rows) -> np.ndarray:
        return rows.each(lower_median, np.abs(rows.value - rows.each(lower_median))) + eps

    return _over("", scale)


@register("scale", "spread", status="experimental", confidence="guess", invariant="scale")
def spread(eps: float = 1e-6, key: str = "") -> Transform[Rows]:
    """The distance between the largest and the smallest value of the cell.

    When to use: advantages that must stay within [-1, 1] whatever the rewards.

    Maths: `scale = max_j value_j - min_j value_j + eps`. [R]

    Args:
        eps: added to the distance, in units of reward, >= 0.
        key: take the distance over the cells of this key instead of the normaliser's.

    Special cases: equal values have advantage 0.
    Example: `spread()`
    Differs from the paper: there is none; our own choice.
    """
    _positive("spread", eps)
    return _over(key, lambda rows: rows.each(np.max) - rows.lowest + eps)


@register("scale", "none")
def none() -> Transform[Rows]:
    """No scale: divide by 1."""
    return scaled(lambda rows: np.ones(len(rows)), apart=True)
