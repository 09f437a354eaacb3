"""Proximal policy optimisation with a value head: PPO and PPO-max."""

from __future__ import annotations

from quintain.advantages import charge_kl, gae, judge, scale_rewards, take_turns, whiten
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


@register(
    "algorithm",
    "ppo_max",
    methods={
        "PPO-max": {"cases": ("ppo_clip_old_0.2_0.2", "gae_value")},
    },
    paper="2307.04964",
    status="paper",
    confidence="code",
    presets={
        "as_paper": {"kl": 0.05, "limit": 0.3, "centre": True},
        "as_released": {"warm_up": 0},
    },
    learns="tight",
    example={"warm_up": 0},  # contracts and exercises look at the policy
)
def ppo_max(
    anchor: str = "old",
    bound: float = 0.2,
    kl: float = 0.01,
    lam: float = 0.95,
    limit: float = 0.0,
    centre: bool = False,
    warm_up: int = 10,
) -> Algorithm:
    """PPO-max: PPO held tighter: rewards scaled by their history, a KL charge on every token, a critic that learns first.

    When to use: rewards of a model, long training, a policy that must not drift from where it began.

    Maths: `charge_kl`, `scale_rewards`, generalised advantage estimation with a discount of 1, then `ppo`'s clip on ratio and values; for
    the first `warm_up` steps advantages are 0, so that only the critic learns.

    Args:
        anchor: denominator of the ratio: `old` or `rollout`.
        bound: clip bound of the ratio and of the value's move.
        kl: charge per nat from the reference policy, >= 0.
        lam: trace decay per token, in [0, 1].
        limit: of scaled rewards, >= 0; 0 holds nothing back.
        centre: take the running mean off the rewards too.
        warm_up: steps in which the critic learns alone, >= 0.

    Returns:
        The algorithm.

    Special cases: the trunk is shared with the critic, so that the policy still moves a little while the critic learns.

    Example:
        >>> sorted(ppo_max().needs)
        ['old', 'ref', 'values']

    Reference: Secrets of RLHF I, 2023, arXiv 2307.04964. Differs from the paper: the critic learns in the first steps (how many is a guess)
    instead of starting from a reward model; advantages are whitened; the mix with pretraining data is left out; the paper shows limits and
    charges of several sizes, `as_paper` has one of each.
    """
    credit = take_turns(chain(gae(1.0, lam), judge(0.0, 0.0)), chain(gae(1.0, lam), whiten()), warm_up)
    return Algorithm(
        advantage=chain(*([charge_kl(kl, anchor)] if kl else []), scale_rewards(limit, centre), credit),
        objective=chain(token_ratio(anchor), clip(bound, bound), fit_values(1.0, bound), token_mean()),
    )
