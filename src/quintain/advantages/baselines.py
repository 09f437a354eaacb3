"""Baselines: what is subtracted from a row's value. Each sets `centre` [R] from the rows of its cell."""

from __future__ import annotations

import numpy as np

from quintain.advantages.rows import Rows, centred
from quintain.parts import PartError, Transform
from quintain.registry import register, unknown


@register("baseline", "mean", paper="2402.03300", status="paper", confidence="code", invariant="shift")
def mean(lone: str = "zero") -> Transform[Rows]:
    """The mean of the cell: the baseline of GRPO.

    Maths: `centre_i = 1/n sum_j value_j` over the n rows of the cell. [R]

    Args:
        lone: the one-member rule: `zero` gives a lone row the advantage 0; `raw` leaves its value uncentred, as one
            family of releases does, so that the raw reward leaks through.

    Raises:
        PartError: another rule.

    Special cases: rows of equal value get the centre exactly at it.

    Example:
        >>> mean().needs
        frozenset()
    """
    if lone not in ("zero", "raw"):
        raise PartError(unknown("one-member rule of mean", lone, ["zero", "raw"]))
    return centred(lambda rows: np.where(rows.size == 1, 0.0, rows.mean) if lone == "raw" else rows.mean)


@register("baseline", "leave_one_out", paper="2402.14740", status="paper", confidence="code", invariant="shift")
def leave_one_out() -> Transform[Rows]:
    """The mean of the other rows of the cell: an unbiased baseline.

    Maths: `centre_i = 1/(n - 1) sum_(j != i) value_j`, so `value - centre = n/(n - 1) (value - mean)`. [R]

    Special cases: a lone row is centred on itself, so its advantage is 0.

    Example:
        >>> leave_one_out().needs
        frozenset()
    """

    def centre(rows: Rows) -> np.ndarray:
        return rows.value - (rows.value - rows.mean) * rows.size / np.maximum(rows.size - 1, 1)

    return centred(centre)


@register("baseline", "median", paper="2601.22582", status="paper", confidence="code", invariant="shift")
def median() -> Transform[Rows]:
    """The median of the cell: one outlier moves nobody else.

    Maths: `centre_i = median_j value_j`; the lower of the two middle values when n is even. [R]

    Special cases: a lone row is centred on itself.

    Example:
        >>> median().needs
        frozenset()
    """
    return centred(lambda rows: rows.each(lower_median))


@register("baseline", "none")
def none() -> Transform[Rows]:
    """No baseline: `centre = 0`."""
    return centred(lambda rows: np.zeros(len(rows)))


def lower_median(values: np.ndarray) -> float:
    """The middle value, or the lower of the two middle ones.

    Example:
        >>> float(lower_median(np.array([3.0, 1.0, 2.0, 9.0])))
        2.0
    """
    return np.sort(values)[(len(values) - 1) // 2]
