"""The Beta density of the success rates of a step, as a scale (BNPO)."""

from __future__ import annotations

from math import lgamma
from typing import NamedTuple

import numpy as np

from quintain.advantages.rows import Rows, scaled
from quintain.parts import PartError, Transform
from quintain.registry import register

FLAT = 1e-12  # success rates that spread less than this are equal


class Beta(NamedTuple):
    """Moments of success rates, the Beta distribution (a, b) that has them, and the one (alpha, beta) that scales."""

    mean: float
    variance: float
    a: float
    b: float
    alpha: float
    beta: float

    def density(self, p: np.ndarray) -> np.ndarray:
        """The density of Beta(alpha, beta) at p [K] in [0, 1]."""
        spread = lgamma(self.alpha) + lgamma(self.beta) - lgamma(self.alpha + self.beta)
        with np.errstate(divide="ignore"):
            left = (self.alpha - 1) * np.log(p) if self.alpha > 1 else np.zeros_like(p)
            right = (self.beta - 1) * np.log1p(-p) if self.beta > 1 else np.zeros_like(p)
        return np.exp(left + right - spread)


def fit_beta(p: np.ndarray) -> Beta:
    """The Beta distribution of success rates p [K], one per prompt, by their moments (sample variance).

    Special cases: equal rates, or a single one, fit no distribution: alpha = beta = 1, whose density is 1.

    Example:
        >>> fit_beta(np.array([0.5, 0.5])).alpha
        1.0
    """
    mean = float(p.mean()) if len(p) else 0.5
    if len(p) < 2 or np.ptp(p) <= FLAT:
        return Beta(mean, 0.0, 0.0, 0.0, 1.0, 1.0)
    variance = float(p.var(ddof=1))
    strength = mean * (1 - mean) / variance - 1
    a, b = strength * mean, strength * (1 - mean)
    return Beta(mean, variance, a, b, max(1.0, 1 + a / 3), max(1.0, 1 + b / 3))


def success_rates(rows: Rows, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """The mean value of each row's cell, mapped from [low, high] to [0, 1] and held there. [R]"""
    return np.clip((rows.mean - low) / (high - low), 0.0, 1.0)


@register("scale", "beta", paper="2506.02864", status="paper", confidence="code")
def beta(low: float = 0.0, high: float = 1.0, cap: float = 1e6) -> Transform[Rows]:
    """The density of the cell's success rate among those of the step: adapts from no scale to GRPO's (BNPO).

    When to use: rewards that are 0 or 1, while the policy's success rate changes a lot over a run.

    Maths: p = the mean of a cell; over the cells of the step m, v (sample variance) of p, `k = m (1 - m) / v - 1`, `alpha = max(1, 1 + k m
    / 3)`, `beta = max(1, 1 + k (1 - m) / 3)`; `scale = max(Beta(p; alpha, beta), 1 / cap)`.

    Args:
        low: the reward of a failure.
        high: the reward of a success, > low; rewards between are mapped linearly.
        cap: bound of 1 / scale, > 0.

    Special cases: alpha = beta = 1 (equal rates, one prompt) is no scale, 3/2 is GRPO's but for a constant; at p = 0 and 1 the cap acts, on
    advantages that are 0 there.
    Example: `beta()`
    """
    if not (high > low and cap > 0):
        raise PartError(f"scale beta: low {low}, high {high}, cap {cap}; high must be > low and cap > 0")

    def scale(rows: Rows) -> np.ndarray:
        if not len(rows):
            return rows.value
        p = success_rates(rows, low, high)
        fit = fit_beta(p[np.unique(rows.cell, return_index=True)[1]])
        return np.maximum(fit.density(p), 1 / cap)

    return scaled(scale)
