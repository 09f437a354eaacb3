"""Baselines: what is subtracted from a row's value. Each sets `centre` [R] from the rows of its cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from quintain.advantages.rows import Key, Rows, centred
from quintain.parts import PartError, Transform
from quintain.registry import register, resolve, unknown


@register("baseline", "mean", paper="2402.03300", status="paper", confidence="code", invariant="shift")
def mean(lone: str = "zero") -> Transform[Rows]:
    """The mean of the cell: the baseline of GRPO.

    Maths: `centre_i = 1/n sum_j value_j` over the n rows of the cell. [R]

    Args:
        lone: the one-member rule: `zero` gives a lone row the advantage 0; `raw` leaves its value uncentred, as one family of releases
            does, so that the raw reward leaks through.

    Special cases: rows of equal value get the centre exactly at it.
    Example: `mean()`
    """
    if lone not in ("zero", "raw"):
        raise PartError(unknown("one-member rule of mean", lone, ["zero", "raw"]))
    return centred(lambda rows: np.where(rows.size == 1, 0.0, rows.mean) if lone == "raw" else rows.mean, apart=True)


@register("baseline", "leave_one_out", paper="2402.14740", status="paper", confidence="code", invariant="shift")
def leave_one_out() -> Transform[Rows]:
    """The mean of the other rows of the cell: an unbiased baseline.

    Maths: `centre_i = 1/(n - 1) sum_(j != i) value_j`, so `value - centre = n/(n - 1) (value - mean)`. [R]

    Special cases: a lone row is centred on itself, so its advantage is 0.
    Example: `leave_one_out()`
    """

    def centre(rows: Rows) -> np.ndarray:
        return rows.value - (rows.value - rows.mean) * rows.size / np.maximum(rows.size - 1, 1)

    return centred(centre, apart=True)


@register("baseline", "median", paper="2601.22582", status="paper", confidence="code", invariant="shift")
def median() -> Transform[Rows]:
    """The median of the cell: one outlier moves nobody else.

    Maths: `centre_i = median_j value_j`; the lower of the two middle values when n is even. [R]

    Special cases: a lone row is centred on itself.
    Example: `median()`
    """
    return centred(lambda rows: rows.each(lower_median), apart=True)


@register("baseline", "distinct_mean", paper="2510.15414", status="paper", confidence="code", invariant="shift")
def distinct_mean(tolerance: float = 1e-9) -> Transform[Rows]:
    """The mean of the distinct values of the cell: a value that comes back often counts once (MARS as released).

    Maths: `centre = mean of {value_j}` as a set. [R]

    Args:
        tolerance: values closer than this are one, in units of reward, >= 0.

    Special cases: a lone row, and equal values, have advantage 0.
    Example: `distinct_mean()`
    """
    if not tolerance >= 0:
        raise PartError(f"distinct_mean: tolerance is {tolerance}; it must be >= 0")

    def mean_of_set(values: np.ndarray) -> float:
        ordered = np.sort(values)
        kept = ordered[np.append(True, np.diff(ordered) > tolerance)]
        return float(kept[0] + (kept - kept[0]).mean())

    return centred(lambda rows: rows.each(mean_of_set))


@register("baseline", "running", paper="2506.24119", status="paper", confidence="code")
def running(decay: float = 0.95, start: float = 0.0, key: Any = ("env", "agent")) -> Transform[Rows]:
    """What rows of the same key earned so far, as a moving average over the stream of rows (SPIRAL's role baseline).

    When to use: games between seats with unequal chances, where the rewards of a group sum to zero.

    Maths: row after row `centre_i = b_key`, then `b_key <- decay b_key + (1 - decay) value_i`; `b = start` at first. The order is that of
    tickets, then episodes, trajectory ids and turns.

    Args:
        decay: memory of the average, in [0, 1].
        start: its first value.
        key: keys that share an average. The paper keys by game and role, which is our seat (`agent`), the release by role alone.

    Special cases: the state is the averages by the joined labels of the key, so labels must read differently.

    Example:
        >>> running(key="agent").init()
        {}

    Reference: SPIRAL, 2025, arXiv 2506.24119. Differs from the paper: the order is defined, not that of arrival.
    """
    if not 0 <= decay <= 1:
        raise PartError(f"running: decay is {decay}; it must lie in [0, 1]")
    keys: list[Key] = [resolve("key", k) for k in ([key] if isinstance(key, str | Mapping | Key) else key)]

    def apply(rows: Rows, state: dict[str, float]) -> tuple[Rows, dict[str, float]]:
        labels = ["|".join(map(str, label)) for label in zip(*(k.labels(rows) for k in keys), strict=True)]
        places = zip(rows.group.tolist(), rows.trajectories, rows.node.tolist(), range(len(rows)), strict=True)
        order = sorted((rows.groups[g].ticket, t.episode, t.id, node, i) for g, t, node, i in places)
        centre, after = np.zeros(len(rows)), dict(state)
        for *_, i in order:
            centre[i] = after.get(labels[i], start)
            after[labels[i]] = decay * float(centre[i]) + (1 - decay) * float(rows.value[i])
        return replace(rows, centre=centre), after

    return Transform(dict, apply, frozenset().union(*(k.needs for k in keys)))


@register("baseline", "none")
def none() -> Transform[Rows]:
    """No baseline: `centre = 0`."""
    return centred(lambda rows: np.zeros(len(rows)), apart=True)


def lower_median(values: np.ndarray) -> float:
    """The middle value, or the lower of the two middle ones.

    Example:
        >>> float(lower_median(np.array([3.0, 1.0, 2.0, 9.0])))
        2.0
    """
    return np.sort(values)[(len(values) - 1) // 2]
