"""Group relative policy optimisation."""

from __future__ import annotations

from typing import Any

from quintain.algorithms.record import Algorithm, regularisers
from quintain.objectives import clip, token_ratio
from quintain.parts import chain
from quintain.registry import register, resolve

RAW = {"kind": "advantage", "name": "normalise", "baseline": {"kind": "baseline", "name": "mean", "lone": "raw"}}


@register(
    "algorithm",
    "grpo",
    methods={
        "GRPO": {
            "cases": (
                "grpo_sample",
                "grpo_population",
                "grpo_zero",
                "grpo_singleton",
                "adv_grpo",
                "ppo_clip_seq",
                "aggregators",
                "kl_kinds",
            )
        }
    },
    paper="2402.03300",
    status="paper",
    confidence="code",
    presets={
        "as_paper": {"kl": 0.04},
        "as_released": {"kl": 0.001, "mean": "token_mean", "anchor": "old", "advantage": RAW},
    },
)
def grpo(
    anchor: str = "rollout",
    low: float = 0.2,
    high: float = 0.2,
    kl: float = 0.0,
    entropy: float = 0.0,
    mean: Any = "sequence_mean",
    advantage: Any = "normalise",
) -> Algorithm:
    """GRPO: a trajectory's advantage is its reward against its group's in standard deviations; PPO's clip; no critic.

    When to use: the default. Verifiable rewards, several trajectories per task.

    Maths: `A_i = (R_i - mean_g R) / (std_g R + 1e-6)` on every sampled token of trajectory i; with `r_t` the token
    ratio, `loss = 1/S sum_i 1/|y_i| sum_t -min(r_t A_i, clip(r_t, 1 - low, 1 + high) A_i) + kl k3_t - entropy H_t`.

    Args:
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).
        low: lower clip bound, in [0, 1].
        high: upper clip bound, >= 0.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out, and needs no reference.
        entropy: strength of the entropy bonus; 0 leaves it out.
        mean: the mean part.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: groups of equal rewards have advantage 0; the gate `zero_variance` leaves them out, and the means
    then divide by what is left.

    Example:
        >>> [link["name"] for link in grpo(kl=0.04).expand()["objective"]]
        ['token_ratio', 'clip', 'penalise_kl', 'sequence_mean']

    Reference: Shao et al., 2024, arXiv 2402.03300. Differs from the paper: no KL unless asked for
    (`preset("grpo", "as_paper")` has it); the ratio is anchored at the rollout policy. `as_released` is a common
    library's form: token mean, small KL, recomputed anchor, and the raw reward for a group of one.
    """
    return Algorithm(
        advantage=resolve("advantage", advantage),
        objective=chain(token_ratio(anchor), clip(low, high), *regularisers(kl, entropy), resolve("objective", mean)),
    )
