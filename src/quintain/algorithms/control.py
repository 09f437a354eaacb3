"""Aliases whose trust region moves with what the step measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quintain.algorithms.record import Algorithm
from quintain.objectives import (
    adaptive_clip,
    clip,
    dual_clip,
    mask_covariant,
    penalise_covariant,
    penalise_ratio,
    token_mean,
    token_ratio,
    unclipped,
)
from quintain.parts import chain
from quintain.registry import register, resolve


@register(
    "algorithm",
    "r2vpo",
    paper="2601.03320",
    methods={"R2VPO": {"cases": ("r2vpo",)}},
    status="paper",
    confidence="note",
    learns="stale",
)
def r2vpo(
    anchor: str = "rollout",
    strength: float = 0.04,
    delta: float = 0.02,
    rate: float = 0.1,
    mean: Any = "token_mean",
    advantage: Any = "normalise",
) -> Algorithm:
    """R2VPO: the variance of the ratio is bounded by a dual variable, and no ratio is clipped.

    When to use: replayed or stale data, of which a clip would throw rare and useful tokens away.

    Maths: `A_i` as in `grpo`; maximise `E[q A] - lam (E[(q - 1)^2] - delta)`, `lam` by dual ascent once per optimizer step.

    Args:
        anchor: denominator of the ratio: `rollout`, or `old`.
        strength: `lam` before the first step, >= 0.
        delta: the variance that is aimed at, >= 0.
        rate: step of the dual ascent, >= 0.
        mean: the mean part.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: on-policy it is the policy gradient, and `lam` falls.

    Example:
        >>> [link["name"] for link in r2vpo().expand()["objective"]]
        ['token_ratio', 'unclipped', 'penalise_ratio', 'token_mean']

    Reference: R2VPO, arXiv 2601.03320 (abstract; an open implementation was read). Differs from the paper: `delta`
    and `rate` were not read, nor was its replay.
    """
    penalty = penalise_ratio(anchor, strength, delta, rate)
    objective = chain(token_ratio(anchor), unclipped(), penalty, resolve("objective", mean))
    return Algorithm(advantage=resolve("advantage", advantage), objective=objective)


@register(
    "algorithm",
    "bapo",
    paper="2510.18927",
    methods={"BAPO": {"cases": ("bapo_",)}},
    status="paper",
    confidence="code",
    presets={"as_paper": {}, "as_released": {"low": [0.8, 0.95], "high": [1.2, 2.0], "cap": 3.0}},
)
def bapo(
    anchor: str = "old",
    low: Sequence[float] = (0.6, 0.9),
    high: Sequence[float] = (1.2, 3.0),
    target: float = 1.0,
    statistic: str = "surrogate",
    cap: float | None = None,
    advantage: Any = "normalise",
) -> Algorithm:
    """BAPO: PPO's clip with bounds that every step searches for, until what is reinforced weighs enough.

    When to use: off-policy data on which negative advantages dominate and entropy falls.

    Maths: `A_i` as in `grpo`; the loss of `adaptive_clip`.

    Args:
        anchor: denominator of the ratio: `old` or `rollout`.
        low: first and last lower bound of the ratio.
        high: first and last upper bound.
        target: positive over negative contributions; 1 is a positive share of one half.
        statistic: `surrogate`, as released, or `gradient`, ours.
        cap: of a dual clip after it, > 1; None leaves it out.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: with `surrogate`, raising the lower bound never helps (a bounded token counts at its bound).

    Example:
        >>> [link["name"] for link in bapo(cap=3.0).expand()["objective"]]
        ['adaptive_clip', 'dual_clip', 'token_mean']

    Reference: BAPO, arXiv 2510.18927, read in the authors' code. Differs from the paper: its weighting of
    contributions was not checked; `as_released` has the bounds of the example script.
    """
    bound = (dual_clip(cap),) if cap else ()
    parts = (adaptive_clip(anchor, low, high, target=target, statistic=statistic), *bound)
    return Algorithm(advantage=resolve("advantage", advantage), objective=chain(*parts, token_mean()))


@register(
    "algorithm",
    "clip_cov",
    paper="2505.22617",
    methods={"Clip-Cov": {"cases": ("clip_cov",)}},
    status="paper",
    confidence="code",
)
def clip_cov(
    anchor: str = "old",
    low: float = 0.2,
    high: float = 0.2,
    ratio: float = 2e-4,
    least: float = 1.0,
    most: float = 5.0,
    advantage: Any = "normalise",
) -> Algorithm:
    """Clip-Cov: GRPO without a few of the tokens whose advantage and logprob rise together.

    When to use: long runs whose entropy collapses early.

    Maths: PPO's clip; of the tokens with `least < cov_t < most`, a share `ratio` of all tokens is drawn and left out.

    Args:
        anchor: denominator of the ratio: `old` or `rollout`.
        low: lower clip bound, in [0, 1].
        high: upper clip bound, >= 0.
        ratio: share of the step's tokens to leave out; one at least.
        least: the covariance of a candidate is above.
        most: and below.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: without candidates it is PPO's clip over tokens.

    Example:
        >>> [link["name"] for link in clip_cov().expand()["objective"]]
        ['token_ratio', 'clip', 'mask_covariant', 'token_mean']

    Reference: The Entropy Mechanism of RL, arXiv 2505.22617, read in verl. Differs from the paper: how the draw is
    made.
    """
    mask = mask_covariant(anchor, ratio, least, most, (low, high))
    objective = chain(token_ratio(anchor), clip(low, high), mask, token_mean())
    return Algorithm(advantage=resolve("advantage", advantage), objective=objective)


@register(
    "algorithm",
    "kl_cov",
    paper="2505.22617",
    methods={"KL-Cov": {"cases": ("kl_cov",)}},
    status="paper",
    confidence="code",
    presets={"as_paper": {}, "small": {"ratio": 2e-3}},
)
def kl_cov(
    anchor: str = "old", ratio: float = 2e-4, coef: float = 1.0, mean: Any = "token_mean", advantage: Any = "normalise"
) -> Algorithm:
    """KL-Cov: the plain ratio surrogate, and a penalty on the few tokens whose advantage and logprob rise together most.

    When to use: as `clip_cov`, where no token should be left out.

    Maths: `-r A`, and `coef |new - anchor|` on the share `ratio` of the step's tokens with the largest covariance.

    Args:
        anchor: denominator of the ratio: `old` or `rollout`.
        ratio: share of the step's tokens; one at least.
        coef: strength of the penalty.
        mean: the mean part.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: in the first update after `old` was scored the penalty's coefficient is 0.

    Example:
        >>> [link["name"] for link in kl_cov().expand()["objective"]]
        ['token_ratio', 'unclipped', 'penalise_covariant', 'token_mean']

    Reference: The Entropy Mechanism of RL, arXiv 2505.22617, read in verl. Differs from the paper: nothing; the
    ratio of `small` is recalled.
    """
    penalty = penalise_covariant(anchor, ratio, coef)
    objective = chain(token_ratio(anchor), unclipped(), penalty, resolve("objective", mean))
    return Algorithm(advantage=resolve("advantage", advantage), objective=objective)
