"""REINFORCE, leave one out."""

from __future__ import annotations

from typing import Any

from quintain.advantages import charge_kl, normalise
from quintain.algorithms.record import Algorithm, regularisers
from quintain.objectives import policy_gradient
from quintain.parts import chain
from quintain.registry import register, resolve


@register(
    "algorithm",
    "rloo",
    methods={"RLOO": {"cases": ("rloo", "adv_grpo")}},
    paper="2402.14740",
    status="paper",
    confidence="code",
    presets={"as_paper": {"kl": 0.03}},
)
def rloo(kl: float = 0.0, entropy: float = 0.0, mean: Any = "sequence_sum") -> Algorithm:
    """RLOO: REINFORCE whose baseline is the mean reward of the other trajectories of the group.

    When to use: on-policy data; an unbiased gradient without a critic and without division by a deviation.

    Maths: `A_i = R_i - 1/(G - 1) sum_(j != i) R_j`; `loss = -1/S sum_i A_i sum_t logp_t`; with `kl`,
    `R_i -= kl sum_t (old_t - ref_t)`.

    Args:
        kl: strength of the k1 penalty to the reference policy, in the reward; 0 leaves it out.
        entropy: strength of the entropy bonus; 0 leaves it out.
        mean: the mean part.

    Returns:
        The algorithm.

    Special cases: a group of one has advantage 0.

    Example:
        >>> rloo(kl=0.03).expand()["advantage"][0]["name"]
        'charge_kl'

    Reference: Ahmadian et al., 2024, arXiv 2402.14740. Differs from the paper: no KL unless asked for.
    """
    advantage = normalise(baseline="leave_one_out", scale="none")
    return Algorithm(
        advantage=chain(charge_kl(kl), advantage) if kl else advantage,
        objective=chain(policy_gradient(), *regularisers(0.0, entropy), resolve("objective", mean)),
    )
