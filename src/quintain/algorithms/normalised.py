"""Aliases that change what a reward is compared with: medians, priors, strata, columns, densities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quintain.advantages import (
    beta,
    charge_kl,
    combine,
    credited,
    drop_pivot,
    normalise,
    prior_fused,
    prior_shrunk,
    recall_prior,
    returns,
    std,
    trajectory,
    whiten,
)
from quintain.algorithms.record import Algorithm, clipped
from quintain.parts import chain
from quintain.registry import register


@register(
    "algorithm",
    "mc_grpo",
    methods={"MC-GRPO": {"cases": ("mc_grpo_",)}},
    paper="2601.22582",
    status="paper",
    confidence="code",
    uneven=True,
)
def mc_grpo(eps: float = 1e-3, scale: Any = None, kl: float = 0.0, anchor: str = "rollout") -> Algorithm:
    """MC-GRPO: the median trajectory is the baseline, and is itself left out.

    When to use: few rollouts per task (two to eight, plus one): the mean of so few is moved by each of them.

    Maths: `A_i = (R_i - median) / (mad + eps)` over the G + 1 trajectories of a group; the pivot leaves the loss and
    the others are scaled by (G + 1) / #(A != 0); GRPO's objective.

    Args:
        eps: added to the median absolute deviation, in units of reward.
        scale: a part of kind `scale` in place of the deviation.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: draw an odd number of rollouts. Binary rewards with a clear majority have deviation 0, so advantages
    are 1 / eps: give `scale="std"` there.

    Example:
        >>> [link["name"] for link in mc_grpo().expand()["advantage"]]
        ['normalise', 'drop_pivot']

    Reference: MC-GRPO, 2026, arXiv 2601.22582. Differs from the paper: the ratio is anchored at the rollout policy.
    """
    divide = {"name": "mad", "eps": eps} if scale is None else scale
    return Algorithm(
        advantage=chain(normalise(baseline="median", scale=divide), drop_pivot()), objective=clipped(anchor, kl=kl)
    )


@register(
    "algorithm",
    "gdpo",
    methods={"GDPO": {"cases": ("gdpo",)}},
    paper="2601.05242",
    status="paper",
    confidence="code",
    uneven=True,
)
def gdpo(
    columns: Sequence[str] = (), weights: Sequence[float] = (), kl: float = 0.0, anchor: str = "rollout"
) -> Algorithm:
    """GDPO: every reward column is normalised by itself before they are added.

    When to use: several rewards of unlike spread, where the sum hides which of them a trajectory earned.

    Maths: `a_ik = (r_ik - mean_k) / (std_k + 1e-4)` in the group, `s_i = sum_k w_k a_ik`, `A_i = (s_i - mean s) / (std
    s + 1e-4)` over the step; GRPO's objective.

    Args:
        columns: names of the rewards; none takes their sum as the only column.
        weights: one weight per column; empty weighs each by 1.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: a column that is constant in a group says nothing there, one that is nearly constant is amplified.
    Weights act after scaling, so a condition belongs into the reward. A trajectory without a column counts 0 in it; NaN
    is refused, where the release reads 0.

    Example:
        >>> [link["name"] for link in gdpo(["win", "short"], [1, 0.5]).expand()["advantage"]]
        ['combine', 'normalise']

    Reference: GDPO, 2026, arXiv 2601.05242. Differs from the paper: the batch statistic runs over trajectories, not
    tokens.
    """
    each = [normalise(unit=trajectory(name), scale=std(1, 1e-4)) for name in columns or [""]]
    return Algorithm(
        advantage=chain(
            combine(*each, weights=list(weights)), normalise(unit=credited(), key="batch", scale=std(1, 1e-4))
        ),
        objective=clipped(anchor, kl=kl),
    )


@register(
    "algorithm", "bnpo", methods={"BNPO": {"cases": ("bnpo",)}}, paper="2506.02864", status="paper", confidence="code"
)
def bnpo(low: float = 0.0, high: float = 1.0, kl: float = 0.0, anchor: str = "rollout") -> Algorithm:
    """BNPO: advantages are divided by a Beta density that is fitted to the step's success rates.

    When to use: rewards of 0 or 1 while success rates drift over a run: between no scale and GRPO's.

    Maths: `A_i = (R_i - p_g) / Beta(p_g; alpha, beta)`, p_g the success rate of the group, alpha and beta by the
    moments of p over the step; the clip with bounds 0.2 and 0.28, summed per sequence.

    Args:
        low: the reward of a failure.
        high: the reward of a success.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: one group, or groups of equal rate, are only centred.

    Example:
        >>> bnpo().expand()["advantage"][0]["scale"]["name"]
        'beta'

    Reference: BNPO, 2025, arXiv 2506.02864. Differs from the paper: one reward; the ratio is anchored at the rollout
    policy.
    """
    return Algorithm(
        advantage=normalise(scale=beta(low, high)), objective=clipped(anchor, 0.2, 0.28, kl, "sequence_sum")
    )


@register(
    "algorithm",
    "stratified_grpo",
    methods={"Stratified GRPO": {"cases": ("stratified_",)}},
    paper="2510.06214",
    status="paper",
    confidence="note",
    uneven=True,
)
def stratified_grpo(
    stratum: Any = "turn_count", share: float = 0.8, kl: float = 0.0, anchor: str = "rollout"
) -> Algorithm:
    """Stratified GRPO: trajectories are compared with those of like structure, blended with the whole group.

    When to use: agents whose trajectories differ in kind, such as by how often they search.

    Maths: `A = share SAN + (1 - share) GN`: SAN normalises in (prompt, stratum), GN in the prompt; GRPO's objective.

    Args:
        stratum: the key that tells strata apart; `{"name": "tag", "of": ...}` reads a tag.
        share: weight of the strata, in [0, 1]; our choice, the paper's was not read.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: a trajectory alone in its stratum has only the group's part; `share=0` is GRPO.

    Example:
        >>> stratified_grpo(share=0.5).expand()["advantage"][0]["weights"]
        [0.5, 0.5]

    Reference: Stratified GRPO, 2025, arXiv 2510.06214. Differs from the paper: the default stratum is the number of
    turns.
    """
    strata = normalise(key=["prompt", stratum])
    return Algorithm(
        advantage=combine(strata, "normalise", weights=[share, 1 - share]), objective=clipped(anchor, kl=kl)
    )


@register(
    "algorithm", "v0_5", methods={"V_0.5": {"cases": ("v05_",)}}, paper="2603.10848", status="paper", confidence="note"
)
def v0_5(
    noise: float = 1.0, history: str = "task", estimated: bool = False, kl: float = 0.0, anchor: str = "rollout"
) -> Algorithm:
    """V_0.5: the baseline is what was expected of the prompt, until the rewards contradict it.

    When to use: groups of four and fewer, whose own mean is mostly noise.

    Maths: `A_i = R_i - b`, `b = w v + (1 - w) V` with the group's mean v and its prior V (see `prior_fused`); GRPO's
    objective.

    Args:
        noise: variance of one reward: 1 for rewards in {-1, +1}, 1/4 bounds that of {0, 1}.
        history: whose earlier rewards make the prior, where none is given: `task`, `level` or `env`.
        estimated: estimate the variance of rewards in {0, 1} instead; our derivation.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: a group without a prior (the first step) is centred on its mean. A value service sets the tag `prior`
    itself.

    Example:
        >>> [link["name"] for link in v0_5().expand()["advantage"]]
        ['recall_prior', 'normalise']

    Reference: V_0.5, 2026, arXiv 2603.10848. Differs from the paper: the prior is a history of rewards, not the frozen
    model V_0 (arXiv 2602.03584); the rollout is chosen apart (`sequential` has the paper's budget).
    """
    baseline = prior_shrunk() if estimated else prior_fused(noise)
    return Algorithm(
        advantage=chain(recall_prior(history), normalise(baseline=baseline, scale="none")),
        objective=clipped(anchor, kl=kl),
    )


@register(
    "algorithm",
    "lite_ppo",
    methods={"Lite PPO": {"cases": ("adv_grpo",)}},
    paper="2508.08221",
    status="paper",
    confidence="code",
)
def lite_ppo(bound: float = 0.2, kl: float = 0.0, anchor: str = "rollout") -> Algorithm:
    """Lite PPO: the group's mean, the step's deviation, and the mean over tokens; nothing else.

    When to use: a plain start without a critic, the two tricks that its paper found to be enough.

    Maths: `A_i = (R_i - mean_g R) / (std_step R + 1e-6)`; the clip with one bound, averaged over tokens.

    Args:
        bound: clip bound, in [0, 1].
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: groups of equal rewards have advantage 0, and no step divides by the deviation of a single group.

    Example:
        >>> lite_ppo().expand()["objective"][-1]["name"]
        'token_mean'

    Reference: Tricks or Traps, 2025, arXiv 2508.08221. Differs from the paper: the ratio is anchored at the rollout
    policy.
    """
    return Algorithm(
        advantage=normalise(scale=std(key="batch")), objective=clipped(anchor, bound, bound, kl, "token_mean")
    )


@register(
    "algorithm",
    "reinforce_pp",
    methods={
        "REINFORCE++": {"cases": ("adv_reinforce_pp",)},
        "REINFORCE++-baseline": {"preset": "baseline", "cases": ("adv_reinforce_pp",)},
    },
    paper="2501.03262",
    status="paper",
    confidence="code",
    presets={"baseline": {"group": True, "kl": 0.001}},
)
def reinforce_pp(
    kl: float = 0.0, group: bool = False, gamma: float = 1.0, bound: float = 0.2, anchor: str = "rollout"
) -> Algorithm:
    """REINFORCE++: rewards to go with a KL charge, whitened over all tokens of the step; clipped, no critic.

    When to use: one rollout per task, or groups too small for a statistic of their own; `group=True` where there are
    groups.

    Maths: `r_t -= kl (anchor_t - ref_t)`, `A_t = whiten(sum_(l >= t) r_l)` over the step; with `group`, `A_t =
    whiten(R_i - mean_g R)` and the k3 penalty in the loss; the clip, averaged over tokens.

    Args:
        kl: strength of the penalty: k1 in the reward, or k3 in the loss with `group`; 0 leaves it out.
        group: subtract the group's mean first: the form REINFORCE++-baseline.
        gamma: discount per token, in [0, 1]; without `group`.
        bound: clip bound, in [0, 1].
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: a step of equal rewards has advantage 0.

    Example:
        >>> [link["name"] for link in reinforce_pp(kl=0.01).expand()["advantage"]]
        ['charge_kl', 'returns', 'whiten']

    Reference: Hu et al., 2025, arXiv 2501.03262. Differs from the paper: no KL unless asked for; the ratio is anchored
    at the rollout policy.
    """
    charged = [charge_kl(kl, anchor)] if kl and not group else []
    links = [normalise(scale="none")] if group else [*charged, returns(gamma)]
    return Algorithm(
        advantage=chain(*links, whiten()),
        objective=clipped(anchor, bound, bound, kl if group else 0.0, "token_mean"),
    )
