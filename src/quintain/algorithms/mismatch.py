"""Corrections for an engine that differs from the learner, or for stale data: decoupled PPO, TIS, IcePop, rejection."""

from __future__ import annotations

from typing import Any

from quintain.algorithms.record import Algorithm
from quintain.objectives import clip, mask_mismatch, reject_mismatch, token_mean, token_ratio, truncate_mismatch
from quintain.parts import Objective, chain
from quintain.registry import register, resolve


def _corrected(advantage: Any, mean: Any, low: float, high: float, *weights: Objective) -> Algorithm:
    parts = (token_ratio("old"), clip(low, high), *weights, resolve("objective", mean))
    return Algorithm(advantage=resolve("advantage", advantage), objective=chain(*parts))


SEQUENCE = {"kind": "objective", "name": "truncate_mismatch", "cap": 5.0, "over": "sum"}
TOKEN = {"kind": "objective", "name": "truncate_mismatch", "cap": 5.0}


@register(
    "algorithm",
    "decoupled_ppo",
    methods={"Decoupled PPO": {"cases": ("decoupled_ppo_",)}},
    paper="2505.24298",
    status="paper",
    confidence="code",
    presets={"as_released": {}, "token_tis": {"weight": TOKEN}, "sequence_tis": {"weight": SEQUENCE}},
    learns="stale",
)
def decoupled_ppo(
    low: float = 0.2, high: float = 0.2, cap: float = 5.0, weight: Any = None, advantage: Any = "normalise"
) -> Algorithm:
    """Decoupled PPO (AReaL): the clip stands around the learner's policy before the step, a weight corrects for the engine's.

    When to use: asynchronous runs, whose data are a few versions old.

    Maths: `A_i` as in `grpo`; `loss = 1/T sum_t w_t max(-r_t A_i, -clip(r_t, 1 - low, 1 + high) A_i)`,
    `r_t = exp(new_t - old_t)`, `w_t = exp(old_t - rollout_t)` where that is at most `cap`, else 0, a constant. T counts
    every token, those left out too.

    Args:
        low: lower clip bound, in [0, 1].
        high: upper clip bound, >= 0.
        cap: the largest weight; tokens above it are left out.
        weight: another weight part, in place of the mask under `cap`.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: without staleness or mismatch it is PPO's clip.

    Example:
        >>> [link["name"] for link in decoupled_ppo().expand()["objective"]]
        ['token_ratio', 'clip', 'mask_mismatch', 'token_mean']

    Reference: Fu et al., 2025, arXiv 2505.24298. Differs from the paper: group-relative advantages, no critic.
    """
    factor = mask_mismatch(0.0, cap) if weight is None else resolve("objective", weight)
    return _corrected(advantage, token_mean(), low, high, factor)


@register(
    "algorithm",
    "tis",
    methods={
        "TIS": {"cases": ("tis_mis",)},
        "Sequence TIS": {"preset": "sequence", "cases": ("tis_mis",)},
    },
    status="paper",
    confidence="code",
    presets={"sequence": {"over": "sum"}},
    learns="stale",
)
def tis(
    cap: float = 2.0,
    over: str = "token",
    normalised: bool = False,
    low: float = 0.2,
    high: float = 0.28,
    mean: Any = "token_mean",
    advantage: Any = "normalise",
) -> Algorithm:
    """Truncated importance sampling: GRPO around the learner's own policy, each token weighed by learner over engine.

    When to use: a quantised or differently computed engine on fresh data.

    Maths: `grpo` with `r_t = exp(new_t - old_t)`, each row times `min(exp(old_t - rollout_t), cap)`, or the capped product
    of those over the answer.

    Args:
        cap: the largest weight, > 0.
        over: `token`, `sum` (the answer's product) or `mean` (its geometric mean).
        normalised: divide by the step's mean weight.
        low: lower clip bound, in [0, 1].
        high: upper clip bound, >= 0.
        mean: the mean part.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: where engine and learner agree it is `grpo`.

    Example:
        >>> [link["name"] for link in tis().expand()["objective"]]
        ['token_ratio', 'clip', 'truncate_mismatch', 'token_mean']

    Reference: rollout correction of verl and TRL (read in code). Differs from the releases: nothing known.
    """
    return _corrected(advantage, mean, low, high, truncate_mismatch(cap, over, normalised=normalised))


@register(
    "algorithm",
    "icepop",
    methods={
        "IcePop": {"cases": ("tis_mis",)},
        "Sequence MIS": {"preset": "sequence", "paper": "", "cases": ("tis_mis",)},
    },
    paper="2510.18855",
    status="paper",
    confidence="code",
    presets={"sequence": {"below": 0.0, "above": 2.0, "over": "sum"}},
    learns="stale",
)
def icepop(
    below: float = 0.5,
    above: float = 5.0,
    over: str = "token",
    low: float = 0.2,
    high: float = 0.28,
    mean: Any = "token_mean",
    advantage: Any = "normalise",
) -> Algorithm:
    """IcePop: as `tis`, and tokens whose weight lies outside of bounds are left out instead of capped.

    When to use: mixtures of experts, where a large mismatch is a broken token; the preset `sequence` is masked
    importance sampling of whole answers (MIS).

    Maths: `grpo` with `r_t = exp(new_t - old_t)`, each row times `w_t [below <= w_t <= above]`,
    `w_t = exp(old_t - rollout_t)` or its product over the answer.

    Args:
        below: the smallest weight that stays, in [0, 1].
        above: the largest, >= 1; 2 to 5 in use.
        over: `token`, `sum` or `mean`.
        low: lower clip bound, in [0, 1].
        high: upper clip bound, >= 0.
        mean: the mean part.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: where engine and learner agree it is `grpo`.

    Example:
        >>> [link["name"] for link in icepop().expand()["objective"]]
        ['token_ratio', 'clip', 'mask_mismatch', 'token_mean']

    Reference: Ling Team, 2025, arXiv 2510.18855. Differs from the paper: clip bounds are DAPO's.
    """
    return _corrected(advantage, mean, low, high, mask_mismatch(below, above, over))


@register(
    "algorithm",
    "geo_rejection",
    methods={
        "Geometric rejection": {"cases": ("tis_mis",)},
        "K2 rejection": {"preset": "k2", "cases": ("tis_mis",)},
        "K3 rejection": {"preset": "k3", "cases": ("tis_mis",)},
    },
    status="paper",
    confidence="code",
    example={"below": 0.0, "above": 9.0},
    presets={"k3": {"by": "k3", "below": 0.0, "above": 0.002}, "k2": {"by": "k2", "below": 0.0, "above": 0.002}},
)
def geo_rejection(
    by: str = "ratio",
    below: float = 0.999,
    above: float = 1.001,
    over: str = "mean",
    cap: float = 2.0,
    mean: Any = "token_mean",
    advantage: Any = "normalise",
) -> Algorithm:
    """Geometric rejection: whole answers on which engine and learner differ are left out, the others are weighed as in `tis`.

    When to use: long answers, whose product of ratios means nothing any more.

    Maths: `grpo` with `r_t = exp(new_t - old_t)`, each row times `min(exp(old_t - rollout_t), cap)` and, for its whole
    answer, `[below <= s <= above]`, `s` the geometric mean of `exp(old_t - rollout_t)`, or the mean K2 or K3.

    Args:
        by: `ratio`, `k2` or `k3`.
        below: the smallest s that stays (of `ratio`).
        above: the largest.
        over: `token`, `sum`, `mean`, or `max` of K2 and K3.
        cap: the largest weight.
        mean: the mean part.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: where engine and learner agree it is `grpo`.

    Example:
        >>> [link["name"] for link in geo_rejection().expand()["objective"]]
        ['token_ratio', 'clip', 'truncate_mismatch', 'reject_mismatch', 'token_mean']

    Reference: rollout correction of verl (read in code). Differs from the release: see `reject_mismatch`.
    """
    weights = (truncate_mismatch(cap), reject_mismatch(by, below, above, over))
    return _corrected(advantage, mean, 0.2, 0.28, *weights)
