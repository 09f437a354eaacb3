"""Objectives whose ratio belongs to a sequence or to its prefix: GSPO, GMPO, MinPRO, FiberPO."""

from __future__ import annotations

from typing import Any

from quintain.algorithms.record import Algorithm
from quintain.objectives import (
    clip,
    fiber_ratio_guess,
    prefix_ratio,
    score,
    sequence_mean,
    sequence_ratio,
    share_budget_guess,
    token_mean,
    token_ratio,
    unclipped,
)
from quintain.parts import Objective, chain
from quintain.registry import register, resolve


def _grouped(advantage: Any, *parts: Objective) -> Algorithm:
    return Algorithm(advantage=resolve("advantage", advantage), objective=chain(*parts))


@register(
    "algorithm",
    "gspo",
    methods={"GSPO": {"cases": ("gspo_",)}, "GSPO-token": {"preset": "token", "cases": ("gspo_",)}},
    paper="2507.18071",
    status="paper",
    confidence="code",
    example={"low": 0.9, "high": 9.0},
    presets={"token": {"gradient": "token"}},
)
def gspo(
    anchor: str = "old",
    low: float = 3e-4,
    high: float = 4e-4,
    gradient: str = "sequence",
    advantage: Any = "normalise",
) -> Algorithm:
    """GSPO: one ratio for a whole answer, as its reward is for the whole answer; clipped as PPO's.

    When to use: long answers and mixtures of experts, where token ratios are noise.

    Maths: `A_i` as in `grpo`; `s_i = exp(1/|y_i| sum_t (new_t - anchor_t))`,
    `loss = 1/S sum_i -min(s_i A_i, clip(s_i, 1 - low, 1 + high) A_i)`.

    Args:
        anchor: denominator of the ratio: `old` (one more forward pass) or `rollout` (free).
        low: lower clip bound; a thousand times smaller than PPO's, as s is length-normalised.
        high: upper clip bound.
        gradient: `sequence`, or `token` (GSPO-token), the same for an advantage that is equal over an answer.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: where engine and learner differ, s against `rollout` can leave bounds this narrow on its own; widen
    them with that anchor.

    Example:
        >>> [link["name"] for link in gspo().expand()["objective"]]
        ['sequence_ratio', 'clip', 'sequence_mean']

    Reference: Zheng et al., 2025, arXiv 2507.18071. Differs from the paper: nothing known.
    """
    return _grouped(advantage, sequence_ratio(anchor, gradient), clip(low, high), sequence_mean())


@register("algorithm", "gmpo", methods={"GMPO": {}}, paper="2507.20673", status="paper", confidence="code")
def gmpo(anchor: str = "old", bound: float = 0.4, advantage: Any = "normalise") -> Algorithm:
    """GMPO: the geometric mean of token ratios, each of them limited before the mean.

    When to use: in place of `grpo` where single ratios make updates jump.

    Maths: `A_i` as in `grpo`; `g_t = new_t - anchor_t`, at most `bound` nats in the direction of `A_i`;
    `loss = -1/S sum_i exp(1/|y_i| sum_t g_t) A_i`.

    Args:
        anchor: denominator of the ratio: `old` or `rollout`.
        bound: in nats, > 0; token ratios of e^-0.4 to e^0.4 stay.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: a ratio against the direction of the advantage is not limited.

    Example:
        >>> [link["name"] for link in gmpo().expand()["objective"]]
        ['sequence_ratio', 'unclipped', 'sequence_mean']

    Reference: Zhao et al., 2025, arXiv 2507.20673 (read in verl). Differs from the paper: nothing known.
    """
    return _grouped(advantage, sequence_ratio(anchor, bound=bound), unclipped(), sequence_mean())


@register(
    "algorithm",
    "minpro",
    methods={"MinPRO": {"cases": ("minpro",)}},
    paper="2601.22718",
    status="paper",
    confidence="note",
)
def minpro(
    anchor: str = "old", low: float = 0.2, high: float = 0.28, prefix: str = "min", advantage: Any = "normalise"
) -> Algorithm:
    """MinPRO: a token's weight is its ratio times the smallest ratio before it, bounded; no token loses its gradient.

    When to use: stale data, where tokens must be weighed by how likely the whole prefix still is.

    Maths: `A_i` as in `grpo`; `w_t = clip(r_t min_(s < t) r_s, 1 - low, 1 + high)`, a constant;
    `loss = -1/T sum_t w_t A_i new_t`.

    Args:
        anchor: denominator of the ratio: `old` or `rollout`.
        low: how far the weight may fall below 1, in [0, 1].
        high: how far it may rise above 1, >= 0.
        prefix: `min`, or `product`, the exact prefix ratio, which did not help.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: the prefix holds the sampled tokens of all turns.

    Example:
        >>> [link["name"] for link in minpro().expand()["objective"]]
        ['prefix_ratio', 'score', 'token_mean']

    Reference: Lei et al., 2026, arXiv 2601.22718. Differs from the paper: bounds were not read; these are DAPO's.
    """
    return _grouped(advantage, prefix_ratio(anchor, prefix), score(max(0.0, 1 - low), 1 + high), token_mean())


@register(
    "algorithm",
    "fiberpo_guess",
    methods={"FiberPO": {"cases": ("fiberpo_fbg",)}},
    paper="2603.08239",
    status="experimental",
    confidence="guess",
    presets={"gated": {"residual": "gated"}},
)
def fiberpo_guess(
    anchor: str = "old",
    base: float = 0.05,
    fiber: float = 0.2,
    residual: str = "ungated",
    advantage: Any = "normalise",
) -> Algorithm:
    """FiberPO as we read it: bounds on an answer's mean log-ratio and on each token's residual.

    When to use: to compare trust regions with two levels; the paper's exact form was not read.

    Maths: `A_i` as in `grpo`; `loss = -1/T sum_t exp(clip(b, +-base) + clip(g_t - b', +-fiber)) A_i` with the log-ratios
    g, their mean b over the answer, and `b' = b` or the clipped b.

    Args:
        anchor: denominator of the ratio: `old` or `rollout`.
        base: bound of the answer's mean, in nats.
        fiber: bound of a token's residual, in nats.
        residual: `ungated` or `gated`.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: on-policy it is the policy gradient.

    Example:
        >>> [link["name"] for link in fiberpo_guess().expand()["objective"]]
        ['fiber_ratio_guess', 'unclipped', 'token_mean']

    Reference: Li et al., 2026, arXiv 2603.08239. Differs from the paper: its residual and defaults were not read.
    """
    return _grouped(advantage, fiber_ratio_guess(anchor, base, fiber, residual), unclipped(), token_mean())


@register(
    "algorithm",
    "fiberpo_apc_guess",
    methods={"APC-Obj": {"cases": ("fiberpo_apc",)}},
    paper="2603.08239",
    status="experimental",
    confidence="guess",
)
def fiberpo_apc_guess(
    anchor: str = "old", budget: float = 0.2, through: bool = False, advantage: Any = "normalise"
) -> Algorithm:
    """APC-Obj as we read it: all tokens of an answer share one budget of ratio change.

    When to use: to compare trust regions over whole answers; the paper's exact form was not read.

    Maths: `A_i` as in `grpo`; `loss = -1/T sum_t (1 + clip(r_t - 1, +-max(b_t, 0))) A_i`, with
    `b_t = |y| budget - sum_(s != t) |r_s - 1|`.

    Args:
        anchor: denominator of the ratio: `old` or `rollout`.
        budget: the mean |r - 1| that an answer may have.
        through: let gradients flow through the budget.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: on-policy it is the policy gradient.

    Example:
        >>> [link["name"] for link in fiberpo_apc_guess().expand()["objective"]]
        ['token_ratio', 'share_budget_guess', 'token_mean']

    Reference: Li et al., 2026, arXiv 2603.08239. Differs from the paper: read in unofficial code alone.
    """
    return _grouped(advantage, token_ratio(anchor), share_budget_guess(budget, through), token_mean())
