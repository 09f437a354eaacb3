"""Aliases that credit steps: by the state they were taken in, by their history, by the transition they made."""

from __future__ import annotations

from typing import Any

from quintain.advantages import combine, compare_histories, normalise, pool, turn
from quintain.advantages.keys import transition
from quintain.algorithms.record import Algorithm, clipped
from quintain.parts import chain
from quintain.registry import register, resolve


@register(
    "algorithm",
    "gigpo",
    methods={"GiGPO": {"cases": ("gigpo_",)}},
    paper="2505.10978",
    status="paper",
    confidence="code",
    uneven=True,
    presets={"as_paper": {"scale": "std"}, "as_released": {"rows": True, "kl": 0.01}},
)
def gigpo(
    weight: float = 1.0,
    gamma: float = 0.95,
    scale: Any = "none",
    rows: bool = False,
    kl: float = 0.0,
    anchor: str = "rollout",
) -> Algorithm:
    """GiGPO: the episode against its group, plus each step against the steps taken from the same state.

    When to use: long episodes whose states come back in several trajectories; the env must give digests of states.

    Maths: `A = A_E + weight A_S`: A_E compares the episode's reward in the group, A_S the discounted reward from the
    step on among equal states of the prompt; GRPO's objective.

    Args:
        weight: of the step's term.
        gamma: discount per turn, in [0, 1].
        scale: a part of kind `scale` for both terms; `std` is the paper's other mode.
        rows: take the episode's statistics over turns, so that long episodes count more, as released.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: a state seen once adds nothing. Digests with clocks or counters in them never agree.

    Example:
        >>> sorted(gigpo().needs)
        ['digests']

    Reference: GiGPO, 2025, arXiv 2505.10978. Differs from the paper: statistics over trajectories; states are equal or
    not.
    """
    episode = normalise(unit=turn(outcome=True) if rows else "trajectory", scale=scale)
    step = normalise(unit=turn(gamma), key=["prompt", "state"], scale=scale)
    return Algorithm(advantage=combine(episode, step, weights=[1.0, weight]), objective=clipped(anchor, kl=kl))


@register(
    "algorithm",
    "hgpo",
    methods={"HGPO": {"cases": ("hgpo_",)}},
    paper="2602.22817",
    status="paper",
    confidence="code",
    uneven=True,
    learns="path",
)
def hgpo(
    length: int = 2,
    alpha: float = 1.0,
    gamma: float = 0.95,
    scale: Any = None,
    episode: float = 0.0,
    kl: float = 0.0,
    anchor: str = "rollout",
) -> Algorithm:
    """HGPO: each step is compared with those that share ever more of its history, the longer the better.

    When to use: long episodes whose states come back by different ways.

    Maths: see `compare_histories`: `A_t = sum_k w_k a_k`, k states of history agree, `w_k` grows as (k + 1)^alpha;
    GRPO's objective.

    Args:
        length: states beyond the present one that are compared.
        alpha: how much more a longer history counts.
        gamma: discount per turn, in [0, 1].
        scale: a part of kind `scale`; None is the population's deviation.
        episode: weight of GRPO's term for the whole episode; 0 leaves it out, as released.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: steps that nobody shares have no advantage, so give `episode` a weight where states seldom come back.

    Example:
        >>> sorted(hgpo().needs)
        ['digests']

    Reference: HGPO, 2026, arXiv 2602.22817. Differs from the paper: nothing beside the anchor, the rollout policy.
    """
    steps = compare_histories(length, alpha, gamma, scale)
    part = combine(steps, "normalise", weights=[1.0, episode]) if episode else steps
    return Algorithm(advantage=part, objective=clipped(anchor, kl=kl))


@register(
    "algorithm",
    "salt",
    methods={"SALT": {"cases": ("salt_",)}},
    paper="2510.20022",
    status="paper",
    confidence="note",
    uneven=True,
    learns="path",
)
def salt(base: Any = "normalise", history: int = 0, kl: float = 0.0, anchor: str = "rollout") -> Algorithm:
    """SALT: trajectories of a group are merged where they made the same transition; shared steps share their credit.

    When to use: groups whose trajectories overlap, with outcome rewards.

    Maths: GRPO's advantage of the trajectory, then every equal transition (state, action, next state) of the group
    takes the mean of the advantages that run through it; GRPO's objective.

    Args:
        base: the advantage of trajectories; `{"name": "normalise", "baseline": "leave_one_out", "scale": "none"}` is
            RLOO's.
        history: earlier transitions that must agree too: our option, the paper states none.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: a transition that was made once keeps the trajectory's advantage.

    Example:
        >>> [link["name"] for link in salt().expand()["advantage"]]
        ['normalise', 'pool']

    Reference: SALT, 2025, arXiv 2510.20022. Differs from the paper: the rule is taken as a later paper restates it.
    """
    merged = pool(key=["prompt", transition(history)])
    return Algorithm(advantage=chain(resolve("advantage", base), merged), objective=clipped(anchor, kl=kl))
