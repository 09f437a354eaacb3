"""Aliases that steer by what the policy has become: VCPO, ACE, EPO."""

from __future__ import annotations

from typing import Any

from quintain.algorithms.record import Algorithm
from quintain.objectives import (
    clip,
    policy_gradient,
    scale_step,
    sequence_mean,
    smooth_entropy,
    token_mean,
    token_ratio,
    truncate_mismatch,
    weigh_confident_errors,
)
from quintain.parts import chain
from quintain.registry import register, resolve

LEAST = {"kind": "advantage", "name": "normalise", "baseline": "least_variance", "scale": "none"}


@register(
    "algorithm",
    "vcpo",
    paper="2602.17616",
    methods={"VCPO": {"cases": ("vcpo",)}},
    status="paper",
    confidence="code",
    uneven=True,
    presets={"least_variance": {"advantage": LEAST}},
)
def vcpo(cap: float = 8.0, base: float = 1.0, rule: str = "sqrt", advantage: Any = "normalise") -> Algorithm:
    """VCPO: the step shrinks with the effective sample size of its sequences, whose weights are truncated.

    When to use: runs many versions off-policy.

    Maths: `loss = -mean_i min(w_i, cap) A_i mean_t new_t`, `w_i = prod new / rollout` a constant; the learning rate times
    `sqrt(min(1, e / base))`, `e` of the weights uncapped.

    Args:
        cap: the largest weight of a sequence, > 0.
        base: the effective share at which the step is whole, > 0.
        rule: `sqrt`, or `linear` for SGD.
        advantage: the advantage part; the preset takes the baseline of least variance with our norm of the score.

    Returns:
        The algorithm.

    Special cases: on-policy it is GRPO without a clip.

    Example:
        >>> [link["name"] for link in vcpo().expand()["objective"]]
        ['policy_gradient', 'truncate_mismatch', 'scale_step', 'sequence_mean']

    Reference: VCPO, arXiv 2602.17616, read in the authors' code. Differs from the paper: the norm of the score is a
    cheap stand-in.
    """
    weights = (truncate_mismatch(cap, "sum", "new"), scale_step(base, rule))
    objective = chain(policy_gradient(), *weights, sequence_mean())
    return Algorithm(advantage=resolve("advantage", advantage), objective=objective)


@register(
    "algorithm",
    "ace_guess",
    paper="2602.21420",
    methods={"ACE": {"cases": ("ace",)}},
    status="experimental",
    confidence="guess",
)
def ace_guess(
    anchor: str = "old", low: float = 0.2, high: float = 0.28, alpha: float = 1.0, advantage: Any = "normalise"
) -> Algorithm:
    """ACE over DAPO's clip: wrong answers that the policy has become sure of count more.

    When to use: pass@k falls while accuracy rises.

    Maths: `A_i` as in `grpo`, times `1 + alpha softplus(c_i)` where it is negative, `c_i = sum_t (new_t - ref_t)`.

    Args:
        anchor: denominator of the ratio: `old` or `rollout`.
        low: lower clip bound, in [0, 1].
        high: upper clip bound, >= 0.
        alpha: strength, >= 0.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: `alpha = 0` is the clip alone.

    Example:
        >>> sorted(ace_guess().needs)
        ['old', 'ref']

    Reference: ACE, arXiv 2602.21420 (abstract). Differs from the paper: the factor's exact form and `alpha` are
    guesses.
    """
    parts = (token_ratio(anchor), clip(low, high), weigh_confident_errors(alpha), token_mean())
    return Algorithm(advantage=resolve("advantage", advantage), objective=chain(*parts))


HINGE = {"form": "hinge"}


@register(
    "algorithm",
    "epo",
    paper="2509.22576",
    methods={"EPO": {"cases": ("epo",)}},
    status="paper",
    confidence="code",
    presets={"as_released": {}, "hinge_guess": HINGE},
)
def epo(
    coef: float = 1e-3,
    bounds: tuple[float, float] = (0.0, 2.0),
    penalty: float = 0.05,
    epochs: int = 150,
    form: str = "released",
    anchor: str = "old",
    advantage: Any = "normalise",
) -> Algorithm:
    """EPO: GRPO with an entropy bonus whose band is kept around the entropy of earlier steps.

    When to use: long episodes with rare rewards, whose entropy swings.

    Maths: GRPO's clip and `smooth_entropy`.

    Args:
        coef: strength per nat.
        bounds: of the band, as multiples of the history.
        penalty: of tokens outside.
        epochs: optimizer steps of the whole training.
        form: `released`, in which the band has no gradient, or `hinge`, ours, in which it has one.
        anchor: denominator of the ratio: `old` or `rollout`.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: as released it is an entropy bonus, and the band is a figure to look at.

    Example:
        >>> [link["name"] for link in epo().expand()["objective"]]
        ['token_ratio', 'clip', 'smooth_entropy', 'sequence_mean']

    Reference: EPO, arXiv 2509.22576, read in the authors' code. Differs from the paper: `hinge` is ours.
    """
    extra = smooth_entropy(coef, bounds, penalty, epochs=epochs, form=form)
    objective = chain(token_ratio(anchor), clip(), extra, sequence_mean())
    return Algorithm(advantage=resolve("advantage", advantage), objective=objective)
