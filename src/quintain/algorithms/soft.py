"""Objectives that change how far tokens are bounded: CISPO, SAPO, RIFT."""

from __future__ import annotations

from typing import Any

from quintain.algorithms.record import Algorithm
from quintain.objectives import clip, dual_clip, score, sequence_mean, soft_gate, token_mean, token_ratio
from quintain.parts import chain
from quintain.registry import register, resolve


@register(
    "algorithm",
    "cispo",
    methods={"CISPO": {"cases": ("cispo_",)}},
    paper="2506.13585",
    status="paper",
    confidence="code",
)
def cispo(anchor: str = "old", low: float = 1.0, high: float = 0.2, advantage: Any = "normalise") -> Algorithm:
    """CISPO: the clipped ratio is a constant weight of the score term, so that no token loses its gradient.

    When to use: when rare, decisive tokens are those that PPO's clip drops. It has no trust region.

    Maths: `A_i` as in `grpo`; `loss = -1/T sum_t clip(r_t, 1 - low, 1 + high) A_i new_t`, the weight a constant.

    Args:
        anchor: denominator of the ratio: `old` or `rollout`.
        low: how far the weight may fall below 1; 1 or more is no bound, which is usual.
        high: how far it may rise above 1, >= 0.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: on-policy it is the policy gradient.

    Example:
        >>> [link["name"] for link in cispo().expand()["objective"]]
        ['token_ratio', 'score', 'token_mean']

    Reference: MiniMax, 2025, arXiv 2506.13585. Differs from the paper: nothing known (bounds of a common library).
    """
    return Algorithm(
        advantage=resolve("advantage", advantage),
        objective=chain(token_ratio(anchor), score(max(0.0, 1 - low), 1 + high), token_mean()),
    )


@register("algorithm", "sapo", methods={"SAPO": {}}, paper="2511.20347", status="paper", confidence="code")
def sapo(anchor: str = "old", positive: float = 1.0, negative: float = 1.05, advantage: Any = "normalise") -> Algorithm:
    """SAPO: a smooth gate on each token's ratio, steeper for negative advantages, in place of a clip.

    When to use: as `gspo`, when single far tokens should fade and the rest of the answer stay.

    Maths: `A_i` as in `grpo`; `loss = -1/S sum_i 1/|y_i| sum_t 4 / tau sigmoid(tau (r_t - 1)) A_i`, `tau` being
    `positive` or `negative` by the sign of `A_i`.

    Args:
        anchor: denominator of the ratio: `old` or `rollout`.
        positive: how fast tokens with positive advantage fade, > 0.
        negative: the same for negative advantage.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: on-policy it is the policy gradient.

    Example:
        >>> [link["name"] for link in sapo().expand()["objective"]]
        ['token_ratio', 'soft_gate', 'sequence_mean']

    Reference: Gao et al., 2025, arXiv 2511.20347. Differs from the paper: nothing known.
    """
    return Algorithm(
        advantage=resolve("advantage", advantage),
        objective=chain(token_ratio(anchor), soft_gate(positive, negative), sequence_mean()),
    )


@register(
    "algorithm",
    "rift",
    paper="2505.03344",
    methods={"RIFT": {"cases": ("ppo_clip_rollout_0.2_0.28_1.1",)}},
    status="paper",
    confidence="paper",
)
def rift(
    anchor: str = "old", low: float = 0.2, high: float = 0.2, cap: float = 3.0, advantage: Any = "normalise"
) -> Algorithm:
    """RIFT: GRPO with a dual clip in place of the KL penalty.

    When to use: closed-loop fine-tuning where ratios of bad actions run away and a reference model is a burden.

    Maths: `grpo`'s, and where `A_i < 0` the token's loss is at most `-cap A_i`.

    Args:
        anchor: denominator of the ratio: `old` or `rollout`.
        low: lower clip bound, in [0, 1].
        high: upper clip bound, >= 0.
        cap: the largest ratio of a token with negative advantage, > 1.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: with a large cap it is `grpo`.

    Example:
        >>> [link["name"] for link in rift().expand()["objective"]]
        ['token_ratio', 'clip', 'dual_clip', 'sequence_mean']

    Reference: RIFT, arXiv 2505.03344, closed-loop fine-tuning of traffic agents (abstract read). Differs from the
    paper: its constants were not read; these are PPO's.
    """
    return Algorithm(
        advantage=resolve("advantage", advantage),
        objective=chain(token_ratio(anchor), clip(low, high), dual_clip(cap), sequence_mean()),
    )
