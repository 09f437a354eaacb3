"""The policy gradient itself."""

from __future__ import annotations

from typing import Any

from quintain.advantages import normalise, turn
from quintain.algorithms.record import Algorithm, regularisers
from quintain.objectives import policy_gradient
from quintain.parts import chain
from quintain.registry import register, resolve


@register(
    "algorithm",
    "reinforce",
    methods={"REINFORCE": {}},
    status="paper",
    confidence="paper",
    presets={"as_paper": {"baseline": "none"}},
)
def reinforce(
    gamma: float = 1.0, baseline: Any = "mean", kl: float = 0.0, entropy: float = 0.0, mean: Any = "sequence_sum"
) -> Algorithm:
    """REINFORCE: raise the logprob of what was done by the reward that followed, minus a baseline.

    When to use: the yardstick that others are measured against; on-policy data, one optimizer step per batch.

    Maths: `A_t = sum_(k >= t) gamma^(k - t) r_k - b` for turn t, `b` the mean over all turns of the step;
    `loss = -1/S sum_i sum_t A_t logp_t`.

    Args:
        gamma: discount per turn, in [0, 1].
        baseline: the baseline part, over all turns of the step.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        entropy: strength of the entropy bonus; 0 leaves it out.
        mean: the mean part.

    Returns:
        The algorithm.

    Special cases: groups of one trajectory are fine.

    Example:
        >>> [link["name"] for link in reinforce().expand()["objective"]]
        ['policy_gradient', 'sequence_sum']

    Reference: Williams, 1992. Differs from the paper: the batch mean as baseline (`preset("reinforce", "as_paper")` has
    none).
    """
    return Algorithm(
        advantage=normalise(unit=turn(gamma=gamma), key="batch", baseline=baseline, scale="none"),
        objective=chain(policy_gradient(), *regularisers(kl, entropy), resolve("objective", mean)),
    )
