"""Proximal policy optimisation with a value head."""

from __future__ import annotations

from quintain.advantages import charge_kl, gae, whiten
from quintain.algorithms.record import Algorithm, regularisers
from quintain.objectives import clip, fit_values, token_mean, token_ratio
from quintain.parts import chain
from quintain.registry import register


@register(
    "algorithm",
    "ppo",
    methods={"PPO": {"cases": ("ppo_clip_old_0.2_0.2", "ppo_clip_rollout_0.2_0.2", "gae_value")}},
    paper="1707.06347",
    status="paper",
    confidence="code",
    presets={"as_paper": {"anchor": "old"}},
)
def ppo(
    anchor: str = "rollout",
    bound: float = 0.2,
    gamma: float = 1.0,
    lam: float = 0.95,
    kl: float = 0.0,
    entropy: float = 0.0,
    value: float = 1.0,
) -> Algorithm:
    """PPO: a value head judges every token, advantages are traced back from the reward, the ratio is clipped.

    When to use: long episodes with few trajectories per task; dense rewards. It needs a model with a value head.

    Maths: `A, R` by generalised advantage estimation over the sampled tokens, A whitened over the step;
    `loss = 1/T sum_t -min(r_t
    A_t, clip(r_t, 1 - bound, 1 + bound) A_t) + value/2 max((v_t - R_t)^2, (clip(v_t, v_old_t +- bound) - R_t)^2)`.

    Args:
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).
        bound: clip bound of the ratio and of the value's move.
        gamma: discount per token, in [0, 1].
        lam: trace decay per token, in [0, 1].
        kl: strength of the k1 penalty to the reference policy, in the reward; 0 leaves it out.
        entropy: strength of the entropy bonus; 0 leaves it out.
        value: strength of the value loss.

    Returns:
        The algorithm.

    Special cases: tokens that the policy did not sample neither discount nor decay.

    Example:
        >>> ppo().needs
        frozenset({'values'})

    Reference: Schulman et al., 2017, arXiv 1707.06347. Differs from the paper: advantages are whitened; the ratio is
    anchored at the rollout policy unless `as_paper`.
    """
    return Algorithm(
        advantage=chain(*([charge_kl(kl, anchor)] if kl else []), gae(gamma, lam), whiten()),
        objective=chain(
            token_ratio(anchor), clip(bound, bound), *regularisers(0.0, entropy), fit_values(value, bound), token_mean()
        ),
    )
