"""The baseline under which the estimate of the policy gradient varies least."""

from __future__ import annotations

import numpy as np

from quintain.advantages.rows import Rows, centred
from quintain.parts import PartError, Transform
from quintain.registry import register
from quintain.types import Trajectory


def least_variance(values: np.ndarray, noise: np.ndarray) -> float:
    """`sum noise value / sum noise` of one cell [n], `noise` = squared weight times squared norm of the score; 0 noise gives the mean.

    Only ratios of noise count, so that any scale does; infinite noise counts equally, and alone.

    Example:
        >>> least_variance(np.array([1.0, 0.0]), np.array([3.0, 1.0]))
        0.75
    """
    if not len(values):
        return 0.0
    most, lowest = noise.max(), values.min()
    share = noise / most if 0 < most < np.inf else (noise == most).astype(np.float64)
    return float(lowest + ((values - lowest) * (share / share.sum())).sum())


def log_noise(trajectory: Trajectory) -> float:
    """log of `w^2 g^2`: `w = prod old / rollout`, `g^2 = sum (1 - p_t)^2`, what the sampled tokens' logits alone add."""
    if "old" not in trajectory.streams:
        raise PartError("least_variance reads the stream 'old', which trajectories lack; supply what `needs` names")
    gap, size = 0.0, 0.0
    for row, node in zip(trajectory.streams["old"], trajectory.nodes, strict=True):
        drawn = np.asarray(node.mask, bool)
        if drawn.any():
            old = np.asarray(row, np.float64)[drawn]
            gap += float((old - np.asarray(node.logprobs, np.float64)[drawn]).sum())
            size += float((np.expm1(np.minimum(old, 0.0)) ** 2).sum())
    return 2 * gap + float(np.log(size)) if size > 0 else -np.inf


@register("baseline", "least_variance", status="experimental", confidence="guess", invariant="shift")
def least_baseline() -> Transform[Rows]:
    """The mean of the cell, weighed by how much each row's gradient can vary: VCPO's baseline with a cheap norm.

    Maths: `centre = sum n_i value_i / sum n_i` over the cell, `n_i = w_i^2 g_i^2`, `w_i = prod old / rollout`, `g_i^2 = sum_t (1 - p_t)^2`
    over the trajectory's tokens. [R]

    Special cases: a cell whose tokens were all certain takes its mean; rows of equal value get the centre exactly at it.
    Example: `least_baseline()`
    """

    def centre(rows: Rows) -> np.ndarray:
        logs = np.array([log_noise(t) for t in rows.trajectories], np.float64)
        top = rows.each(lambda cell: float(cell.max()), logs)
        noise = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
        total = rows.sum(noise)
        share = np.where(total > 0, noise / np.where(total > 0, total, 1.0), 1 / np.maximum(rows.size, 1))
        return rows.lowest + rows.sum((rows.value - rows.lowest) * share)

    return centred(centre)._replace(needs=frozenset({"old"}))
