"""GRPO done right."""

from __future__ import annotations

from quintain.advantages import normalise
from quintain.algorithms.record import Algorithm, regularisers
from quintain.objectives import clip, constant_length, token_ratio
from quintain.parts import chain
from quintain.registry import register


@register(
    "algorithm",
    "dr_grpo",
    methods={"Dr. GRPO": {"cases": ("grpo_no_std", "ppo_clip_const", "adv_grpo", "aggregators")}},
    paper="2503.20783",
    status="paper",
    confidence="code",
)
def dr_grpo(
    length: float = 256,
    anchor: str = "rollout",
    low: float = 0.2,
    high: float = 0.2,
    kl: float = 0.0,
    entropy: float = 0.0,
) -> Algorithm:
    """Dr. GRPO: GRPO without its two biases, the division by the deviation and the one by each answer's own length.

    When to use: answers of very different lengths, or tasks of very different difficulty.

    Maths: `A_i = R_i - mean_g R`; `loss = 1/(S length) sum_i sum_t -min(r_t A_i, clip(r_t, 1 - low, 1 + high) A_i)`.

    Args:
        length: the constant that replaces each answer's length, in tokens; the paper takes the largest that may be
            sampled.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).
        low: lower clip bound, in [0, 1].
        high: upper clip bound, >= 0.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        entropy: strength of the entropy bonus; 0 leaves it out.

    Returns:
        The algorithm.

    Special cases: `length` only scales the loss; Adam and Muon undo that, gradient clipping does not.

    Example:
        >>> [link["name"] for link in dr_grpo().expand()["objective"]]
        ['token_ratio', 'clip', 'constant_length']

    Reference: Liu et al., 2025, arXiv 2503.20783. Differs from the paper: the ratio is anchored at the rollout policy.
    """
    return Algorithm(
        advantage=normalise(baseline="mean", scale="none"),
        objective=chain(token_ratio(anchor), clip(low, high), *regularisers(kl, entropy), constant_length(length)),
    )
