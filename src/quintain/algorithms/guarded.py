"""Aliases that hold the policy by curvature, by a controller, by contrast, or beside other temperatures: CAPO, SAFE, DRPO, AEPO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quintain.advantages import gae, imitate_hot, normalise, whiten
from quintain.algorithms.record import Algorithm
from quintain.objectives import (
    ce,
    clip,
    contrast_answers,
    fit_values,
    guard_kl,
    hinge_kl,
    mask_curved,
    token_mean,
    token_ratio,
)
from quintain.parts import chain
from quintain.registry import register, resolve


@register(
    "algorithm",
    "capo",
    paper="2510.00819",
    methods={"CAPO": {"cases": ("capo",)}},
    status="paper",
    confidence="code",
    example={"k": 5},
    presets={"dr_grpo": {"objective": 5e-4, "policy": 1e-3, "advantage": {"name": "normalise", "scale": "none"}}},
)
def capo(
    rate: float = 1.5e-5,
    objective: float = 0.01,
    policy: float = 1e-4,
    k: int = 64,
    anchor: str = "old",
    advantage: Any = "normalise",
) -> Algorithm:
    """CAPO: GRPO without the tokens whose own update would shift the objective or the policy too far.

    When to use: learning rates at which GRPO falls apart.

    Maths: GRPO's clip on what `mask_curved` keeps, averaged over the tokens kept.

    Args:
        rate: the learning rate; give the optimizer's.
        objective: bound of the objective's shift.
        policy: bound of the policy's shift.
        k: likeliest ids that stand for the vocabulary.
        anchor: denominator of the ratio: `old` or `rollout`.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: with wide bounds it is GRPO with a token mean.

    Example:
        >>> sorted(capo(k=20).needs)
        ['hidden', 'old', 'topk:20']

    Reference: CAPO, arXiv 2510.00819 (curvature-aware), read in the authors' code. Differs from the paper: see
    `mask_curved`.
    """
    mask = mask_curved(rate, objective, policy, k=k)
    parts = (token_ratio(anchor), clip(), mask, token_mean())
    return Algorithm(advantage=resolve("advantage", advantage), objective=chain(*parts))


@register(
    "algorithm",
    "drpo",
    paper="2510.04474",
    methods={"DRPO": {"cases": ("drpo",), "recipe": ("algorithm=drpo", "algorithm.options.limit=32")}},
    status="paper",
    confidence="code",
    uneven=True,
    example={"limit": 16},
)
def drpo(
    limit: float, tau: float = 10.0, lam: float = 0.1, coef: float = 1e3, bound: float = 1e-4, anchor: str = "old"
) -> Algorithm:
    """DRPO (decoupled reward): right answers against wrong ones, length weighed among right ones only.

    When to use: shorter answers without teaching that long right ones are wrong.

    Maths: `contrast_answers`, `hinge_kl`, the mean over groups.

    Args:
        limit: length to measure by, in tokens.
        tau: temperature of the wrong answers.
        lam: temperature of the lengths.
        coef: strength of the KL beyond its bound.
        bound: nats that are free.
        anchor: what the KL is to: `old` or `rollout`.

    Returns:
        The algorithm.

    Special cases: groups of one side teach nothing; of rewards with more than two values, those above their group's mean
    are right.

    Example:
        >>> [link["name"] for link in drpo(limit=256).expand()["objective"]]
        ['contrast_answers', 'hinge_kl', 'token_mean']

    Reference: DRPO, arXiv 2510.04474 (decoupled reward), read in the authors' code. Differs from the paper: nothing
    known.
    """
    parts = (contrast_answers(limit, tau, lam), hinge_kl(coef, bound, anchor), token_mean())
    return Algorithm(advantage=normalise(scale="none"), objective=chain(*parts))


@register(
    "algorithm",
    "safe",
    paper="2602.04651",
    methods={"SAFE": {"cases": ("safe",)}},
    status="paper",
    confidence="code",
    uneven=True,
    presets={"as_released": {}, "acting_guess": {"form": "coefficient"}},
)
def safe(
    strength: float = 0.1,
    base: float = 0.3,
    gains: Sequence[float] = (0.3, 0.01, 0.05),
    phase: float = 1.0,
    form: str = "released",
    value: float = 0.5,
    anchor: str = "old",
) -> Algorithm:
    """SAFE: PPO with two critics whose soft minimum counts, and a KL threshold under a controller.

    When to use: rewards that a policy learns to cheat, as those of preference models.

    Maths: PPO's advantages and clip; `fit_values(huber=0.5, twin=True)`; `guard_kl`.

    Args:
        strength: of the KL penalty.
        base: nats of its threshold.
        gains: of the controller.
        phase: factor of the threshold.
        form: `released`, in which the penalty has no gradient, or `coefficient`, ours.
        value: strength of the value's loss.
        anchor: denominator of the ratio: `old` or `rollout`.

    Returns:
        The algorithm.

    Special cases: as released it is PPO with pessimistic values, and the penalty is a figure to look at.

    Example:
        >>> [link["name"] for link in safe().expand()["objective"]]
        ['token_ratio', 'clip', 'fit_values', 'guard_kl', 'token_mean']

    Reference: SAFE, arXiv 2602.04651, read in the authors' code. Differs from the paper: phases are not detected;
    the critics' gradient is not clipped apart.
    """
    extra = (fit_values(value, huber=0.5, twin=True), guard_kl(strength, base, gains, phase, form=form))
    objective = chain(token_ratio(anchor), clip(), *extra, token_mean())
    return Algorithm(advantage=chain(gae(1.0, 0.95), whiten()), objective=objective)


@register(
    "algorithm",
    "aepo_guess",
    paper="2510.08141",
    methods={"AEPO": {"cases": ("aepo",), "recipe": ("algorithm=aepo_guess", "rollout.name=hot")}},
    status="experimental",
    confidence="guess",
    learns="heats",
)
def aepo_guess(
    coef: float = 1.0, target: float = 0.5, high: float = 1.2, low: float = 0.8, anchor: str = "old"
) -> Algorithm:
    """AEPO: GRPO beside imitation of right answers that were sampled hotter while entropy is low, cooler while it is high.

    When to use: with the rollout `hot`, to hold entropy near a target.

    Maths: GRPO on what was sampled at temperature 1; `imitate_hot` and `ce` on the rest.

    Args:
        coef: strength of the imitation.
        target: nats of entropy that are aimed at.
        high: temperature while entropy is at or below the target.
        low: temperature above it.
        anchor: denominator of the ratio: `old` or `rollout`.

    Returns:
        The algorithm.

    Special cases: without such groups it is GRPO with a token mean.

    Example:
        >>> [link["name"] for link in aepo_guess().expand()["objective"]]
        ['token_ratio', 'clip', 'ce', 'token_mean']

    Reference: AEPO, arXiv 2510.08141 (README and code). Differs from the paper: see `imitate_hot`.
    """
    objective = chain(token_ratio(anchor), clip(), ce(), token_mean())
    return Algorithm(advantage=chain(normalise(), imitate_hot(coef, target, high, low)), objective=objective)
