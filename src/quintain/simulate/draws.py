"""Random quantities of a scenario: how long, how many, how often. A draw is a function of its generator alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from quintain.types import QuintainError

Draw = Callable[[Random], float]
Z99 = 2.3263478740408408  # the 99 % point of the standard normal distribution
MOST = 1e9  # of any number of a scenario: more seconds than thirty years, more tokens than any episode has


class DrawError(QuintainError):
    """A distribution was written in a way that means nothing."""


def make(spec: float | Mapping[str, Any]) -> Draw:
    """The draw that a number or a table describes.

    Args:
        spec: a number (always that), `{p50, p99}` (lognormal), `{low, high}` (uniform), `{mean}` (exponential) or `{values}` (one
            of a recorded list, each as likely); `min` and `max` clip any of them.

    Raises:
        DrawError: the table is none of these, its numbers contradict each other, or one is not finite, below 0 or above `MOST`.

    Special cases: `{p50 = x, p99 = x}` is always x.

    Example:
        >>> make(3)(Random(0)), 2.0 <= make({"low": 2, "high": 4})(Random(0)) <= 4.0
        (3.0, True)
    """
    if isinstance(spec, (int, float)):
        value = _number(spec, "")
        return lambda rng: value
    table = dict(spec)
    low, high = (
        _number(table.pop(k), k) if k in table else free for k, free in (("min", -math.inf), ("max", math.inf))
    )
    draw = _shape(table)
    if low > high:
        raise DrawError(f"{dict(spec)}: min {low:g} lies above max {high:g}")
    if math.isinf(low) and math.isinf(high):
        return draw
    return lambda rng: min(high, max(low, draw(rng)))


def _number(value: Any, what: str) -> float:
    """A number that a length, a count or a time may have."""
    if isinstance(value, (str, bool)) or not 0 <= float(value) <= MOST:  # NaN is in no range
        raise DrawError(f"{f'{what} is {value!r}; ' if what else ''}it must be a finite number from 0 to {MOST:g}")
    return float(value)


def _shape(table: dict[str, Any]) -> Draw:
    keys = set(table)
    if keys == {"p50", "p99"}:
        p50, p99 = _number(table["p50"], "p50"), _number(table["p99"], "p99")
        if not 0 < p50 <= p99:
            raise DrawError(f"{table}: a lognormal needs 0 < p50 <= p99")
        mu, sigma = math.log(p50), math.log(p99 / p50) / Z99
        return lambda rng: math.exp(mu + sigma * rng.gauss(0.0, 1.0))
    if keys == {"low", "high"}:
        low, high = _number(table["low"], "low"), _number(table["high"], "high")
        if low > high:
            raise DrawError(f"{table}: low lies above high")
        return lambda rng: low + (high - low) * rng.random()
    if keys == {"mean"}:
        mean = _number(table["mean"], "mean")
        return lambda rng: -mean * math.log(1.0 - rng.random())
    if keys == {"values"} and table["values"]:
        values = [_number(v, "one of values") for v in table["values"]]
        return lambda rng: values[int(rng.random() * len(values))]
    raise DrawError(
        f"{table}: a distribution is a number, {{p50, p99}}, {{low, high}}, {{mean}} or {{values}}, with min and max"
    )


def mean(spec: float | Mapping[str, Any], samples: int = 2000) -> float:
    """The mean of a draw, by sampling with a fixed seed: what a router may know of a class of tasks.

    Example:
        >>> mean(5)
        5.0
    """
    if isinstance(spec, (int, float)):
        return float(spec)
    rng, draw = Random(1), make(spec)
    return sum(draw(rng) for _ in range(samples)) / samples


def generator(*key: int) -> Random:
    """A generator that depends on the key alone: the same ticket draws the same lengths under every schedule.

    Example:
        >>> generator(1, 2, 3).random() == generator(1, 2, 3).random()
        True
    """
    mixed = 0x9E3779B97F4A7C15
    for part in key:
        mixed = ((mixed ^ (part + 0x7F4A7C15)) * 0xBF58476D1CE4E5B9 + 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        mixed ^= mixed >> 31
    return Random(mixed)
