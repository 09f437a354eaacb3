"""What is expected of a prompt before it is played, as a guess of its mean reward and as a reason to draw no more (V_0.5).

Baselines and rollouts are made of it, which know nothing of each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from quintain.parts import PartError
from quintain.types import Group

PRIOR = "prior"  # tag of a group, or parameter of its task: the reward that is expected of it


class Fused(NamedTuple):
    """A baseline between prior and mean: squared bias of the prior, weight of the mean, baseline, its squared error."""

    bias: float
    weight: float
    baseline: float
    error: float


def fuse(mean: float, prior: float, noise: float) -> Fused:
    """Shrink the mean of rewards towards a prior: the prior is kept until their gap passes the noise of the mean.

    Maths: `bias = max(0, (mean - prior)^2 - noise)`, `weight = bias / (bias + noise)`, `baseline = weight mean + (1 - weight) prior`, whose
    mean squared error is `bias noise / (bias + noise)`.

    Args:
        mean: the mean of k rewards.
        prior: what was expected.
        noise: variance of the mean, > 0.

    Example:
        >>> fuse(mean=0.5, prior=0.6, noise=0.25).baseline
        0.6
    """
    bias = max(0.0, (mean - prior) ** 2 - noise)
    weight = bias / (bias + noise)
    return Fused(bias, weight, weight * mean + (1 - weight) * prior, weight * noise)


def gain_of_one(bias: float, noise: float, count: int) -> float:
    """How much the squared error of `fuse` falls with one more rollout, the bias as it is; inf is a useless prior.

    Args:
        bias: squared bias of the prior.
        noise: variance of one reward.
        count: rollouts so far.

    Example:
        >>> gain_of_one(0.0, 1.0, 4)
        0.0
    """

    def error(k: int) -> float:
        return noise / k if np.isinf(bias) else bias * noise / (k * bias + noise)

    return error(count) - error(count + 1)


def smoothed_variance(rewards: Sequence[float] | np.ndarray) -> float:
    """The variance `p (1 - p)` of one reward in {0, 1}, with one success and one failure added to those seen.

    Example:
        >>> smoothed_variance([])
        0.25
    """
    p = (float(np.sum(rewards)) + 1) / (len(rewards) + 2)
    return float(np.clip(p * (1 - p), 1e-12, None))


def draw_more(rewards: Sequence[float], prior: float, cost: float, most: int, noise: float | None = None) -> bool:
    """Whether one more rollout lowers the squared error of the fused baseline by more than it costs.

    Args:
        rewards: those so far, at least one.
        prior: what was expected.
        cost: price of a rollout, in squared units of reward.
        most: rollouts at which it ends.
        noise: variance of one reward; None estimates that of rewards in {0, 1} (`smoothed_variance`).

    Example:
        >>> draw_more([-1, -1, -1, -1], prior=0.6, cost=0.0039, most=16, noise=1.0)
        True
    """
    each = smoothed_variance(rewards) if noise is None else noise
    bias = fuse(float(np.mean(rewards)), prior, each / len(rewards)).bias
    return len(rewards) < most and gain_of_one(bias, each, len(rewards)) > cost


def prior_of(group: Group) -> float | None:
    """The reward that is expected of a group: its tag `prior`, or its task's parameter, or None.

    Raises:
        PartError: it is not a finite number.
    """
    found = group.tags.get(PRIOR, group.task.params.get(PRIOR))
    if found is not None and not (isinstance(found, int | float | np.number) and np.isfinite(found)):
        raise PartError(f"the prior of task {group.task.key!r} is {found!r}; it must be a finite number")
    return None if found is None else float(found)
