"""Decoupled clip and dynamic sampling."""

from __future__ import annotations

from quintain.advantages import normalise, shape_overlong
from quintain.algorithms.record import Algorithm, regularisers
from quintain.gates import zero_variance
from quintain.objectives import clip, token_mean, token_ratio
from quintain.parts import chain
from quintain.registry import register


@register(
    "algorithm",
    "dapo",
    methods={
        "DAPO": {
            "cases": (
                "ppo_clip_old_0.2_0.28_None",
                "ppo_clip_rollout_0.2_0.28_None",
                "dapo_overlong",
                "dapo_dynamic",
                "aggregators",
            )
        }
    },
    paper="2503.14476",
    status="paper",
    confidence="code",
)
def dapo(
    anchor: str = "rollout",
    low: float = 0.2,
    high: float = 0.28,
    entropy: float = 0.0,
    limit: float = 20480,
    buffer: float = 4096,
    empty: str = "refill",
) -> Algorithm:
    """DAPO: GRPO with a higher upper bound, a mean over tokens, other tasks in place of groups without signal, no KL.

    When to use: long answers; groups that often all succeed or all fail.

    Maths: `R_i += overlong_i`; `A_i = (R_i - mean_g R) / (std_g R + 1e-6)`; groups of equal rewards are replaced;
    `loss = 1/T sum_t -min(r_t A_i, clip(r_t, 1 - low, 1 + high) A_i)` over the T tokens of the step.

    Args:
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).
        low: lower clip bound, in [0, 1].
        high: upper clip bound, >= 0.
        entropy: strength of the entropy bonus; 0 leaves it out.
        limit: the length limit of overlong shaping, in sampled tokens of a trajectory; 0 leaves the shaping out.
        buffer: how many tokens before the limit the charge begins.
        empty: what happens to groups of equal rewards: `refill` or `drop`.

    Returns:
        The algorithm.

    Special cases: the gate sees rewards before the overlong charge, as the paper judges by accuracy.

    Example:
        >>> [link["name"] for link in dapo().expand()["advantage"]]
        ['shape_overlong', 'normalise']

    Reference: Yu et al., 2025, arXiv 2503.14476. Differs from the paper: the ratio is anchored at the rollout policy;
    lengths count all turns.
    """
    return Algorithm(
        advantage=chain(*([shape_overlong(limit, buffer)] if limit else []), normalise()),
        gate=zero_variance(empty),
        objective=chain(token_ratio(anchor), clip(low, high), *regularisers(0.0, entropy), token_mean()),
    )
