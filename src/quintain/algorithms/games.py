"""Aliases for several agents: baselines by role, helpers that are called, opponents that can be moved."""

from __future__ import annotations

from typing import Any

from quintain.advantages import align_calls, align_opponents, normalise, pay_calls, running, turn, whiten
from quintain.algorithms.record import Algorithm, clipped
from quintain.objectives import policy_gradient, sequence_sum
from quintain.parts import chain
from quintain.registry import register


@register(
    "algorithm",
    "dr_mas",
    methods={"Dr. MAS": {"cases": ("dr_mas",)}},
    paper="2602.08847",
    status="paper",
    confidence="code",
    uneven=True,
    learns="seats",
)
def dr_mas(unit: Any = "trajectory", kl: float = 0.0, anchor: str = "rollout") -> Algorithm:
    """Dr. MAS: trajectories are compared with those of the same agent only.

    When to use: agents with rewards of unlike size, so that one baseline would inflate the gradients of some of them.

    Maths: `A = (value - mean) / (std + 1e-6)` in (prompt, agent); GRPO's objective.

    Args:
        unit: what is compared: `trajectory`, or `turn` for every call by itself.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: an agent that was called once in a group has advantage 0 there.

    Example:
        >>> dr_mas().expand()["advantage"][0]["key"]
        ['prompt', 'agent']

    Reference: Dr. MAS, 2026, arXiv 2602.08847. Differs from the paper: one optimizer; the ratio is anchored at the
    rollout policy.
    """
    return Algorithm(advantage=normalise(unit=unit, key=["prompt", "agent"]), objective=clipped(anchor, kl=kl))


@register(
    "algorithm",
    "m_grpo",
    methods={"M-GRPO": {"cases": ("m_grpo_",)}},
    paper="2511.13288",
    status="paper",
    confidence="note",
    uneven=True,
    learns="seats",
)
def m_grpo(count: int = 0, low: float = 0.1, kl: float = 0.0, anchor: str = "rollout") -> Algorithm:
    """M-GRPO: a main agent and the helpers that it calls, each compared with its like; helpers share the outcome.

    When to use: agents that call agents, any number of times per episode.

    Maths: helpers are paid by `pay_calls`; `A` in (prompt, agent); every main trajectory's calls weigh as `count` (see
    `align_calls`, our reading); GRPO's objective.

    Args:
        count: calls per main trajectory; 0 leaves every call its own weight.
        low: what a helper earns when the whole failed.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: without `call_parent` this is `dr_mas`.

    Example:
        >>> [link["name"] for link in m_grpo(count=4).expand()["advantage"]]
        ['pay_calls', 'normalise', 'align_calls']

    Reference: M-GRPO, 2025, arXiv 2511.13288. Differs from the paper: the alignment is a guess, and off; one policy.
    """
    links = [pay_calls(low=low), normalise(key=["prompt", "agent"]), *([align_calls(count)] if count else [])]
    return Algorithm(advantage=chain(*links), objective=clipped(anchor, kl=kl))


@register(
    "algorithm",
    "spiral",
    methods={"SPIRAL": {"cases": ("rae", "spiral_role")}},
    paper="2506.24119",
    status="paper",
    confidence="code",
    uneven=True,
    learns="seats",
    presets={"as_released": {"key": "agent"}},
)
def spiral(
    decay: float = 0.95, key: Any = ("env", "agent"), gamma: float = 1.0, kl: float = 0.0, anchor: str = "rollout"
) -> Algorithm:
    """SPIRAL: self-play with one running baseline per role; plain policy gradient.

    When to use: zero-sum games between seats of one policy, one game per task.

    Maths: `A = R - b_role`, b read before `b <- decay b + (1 - decay) R`; `loss = -1/S sum_i A_i sum_t logp_t`.

    Args:
        decay: memory of the baseline, in [0, 1].
        key: what shares a baseline: the game and the seat; `agent` (the seat) alone as released.
        gamma: discount per turn, in [0, 1].
        kl: not 0: GRPO's clipped objective with that penalty, for several steps per batch.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: the first games have a baseline of 0. The averages are part of the run's checkpoint.

    Example:
        >>> spiral().expand()["advantage"][0]["baseline"]["name"]
        'running'

    Reference: SPIRAL, 2025, arXiv 2506.24119. Differs from the paper: rows with A = 0 stay, and weigh nothing.
    """
    unit = "trajectory" if gamma == 1.0 else turn(gamma)
    advantage = normalise(unit=unit, baseline=running(decay, key=key), scale="none")
    plain = chain(policy_gradient(), sequence_sum())
    return Algorithm(advantage=advantage, objective=clipped(anchor, kl=kl) if kl else plain)


@register(
    "algorithm",
    "mars",
    methods={"MARS": {"cases": ("mars_",)}},
    paper="2510.15414",
    status="paper",
    confidence="code",
    uneven=True,
    learns="seats",
    presets={"as_released": {"baseline": "distinct_mean"}},
)
def mars(
    baseline: Any = "mean", white: bool = True, scale: Any = "none", kl: float = 0.0, anchor: str = "rollout"
) -> Algorithm:
    """MARS: rewards to go of turns, centred per player, whitened over the step.

    When to use: cooperative and competitive games with rewards along the way.

    Maths: `G_t = sum_(k >= t) r_k` per turn, minus the mean of the player's (`baseline`), whitened over all tokens;
    GRPO's objective, averaged over tokens.

    Args:
        baseline: `mean` over turns, or `distinct_mean` over distinct values, as released.
        white: whiten over the step, as the release's config does.
        scale: `std` divides by the player's deviation: our derivation, not the paper's.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: a player all of whose turns earned the same has advantage 0 before whitening.

    Example:
        >>> [link["name"] for link in mars().expand()["advantage"]]
        ['normalise', 'whiten']

    Reference: MARS, 2025, arXiv 2510.15414. Differs from the paper: read in the release, which also centres rewards per
    env earlier.
    """
    centred = normalise(unit="turn", key="agent", baseline=baseline, scale=scale)
    part = chain(centred, whiten()) if white else centred
    return Algorithm(advantage=part, objective=clipped(anchor, kl=kl, mean="token_mean"))


@register(
    "algorithm",
    "advantage_alignment",
    methods={"Advantage Alignment": {"cases": ("adalign_",)}},
    paper="2511.19405",
    status="paper",
    confidence="code",
    uneven=True,
    learns="seats",
)
def advantage_alignment(
    beta: float = 1.0,
    gamma: float = 0.9,
    inclusive: bool = False,
    limit: float = 0.0,
    kl: float = 0.0,
    anchor: str = "rollout",
) -> Algorithm:
    """Advantage Alignment: a seat is also paid for the other's gains, by what it has gained itself so far.

    When to use: social dilemmas between learning agents, where plain self-play ends in mutual defection.

    Maths: `A1_t` leave-one-out over the group's games at each round, then `A*_t = A1_t + beta (sum_(k < t) gamma^(t -
    k) A1_k) A2_t`; GRPO's objective.

    Args:
        beta: strength of the alignment.
        gamma: discount per round, in [0, 1].
        inclusive: count the present round, for simultaneous moves.
        limit: bound of what is added; 0 is none.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: with one seat this is a leave-one-out baseline at each turn.

    Example:
        >>> [link["name"] for link in advantage_alignment().expand()["advantage"]]
        ['normalise', 'align_opponents']

    Reference: Advantage Alignment, arXiv 2406.14662; for language models arXiv 2511.19405. Differs from the paper:
    rounds are turns.
    """
    key = ["prompt", "agent", "turn"]
    gains = normalise(unit="turn", key=key, baseline="leave_one_out", scale="none")
    shaped = align_opponents(beta, gamma, inclusive, limit=limit)
    return Algorithm(advantage=chain(gains, shaped), objective=clipped(anchor, kl=kl))
