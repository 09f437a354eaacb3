"""Aliases for agents that act over many turns: what a step, a chunk or a segment is credited with."""

from __future__ import annotations

from quintain.advantages import (
    combine,
    gae,
    grade_steps,
    keep_steps,
    keep_surprising,
    normalise,
    recall_prior,
    returns,
    scale_dense,
    segment,
    turn,
    whiten,
)
from quintain.algorithms.record import Algorithm, clipped
from quintain.gates import zero_variance
from quintain.objectives import (
    chunk_ratio,
    clip,
    fit_values,
    mask_chunks,
    penalise_kl,
    policy_gradient,
    taper,
    token_mean,
    token_ratio,
)
from quintain.parts import chain
from quintain.registry import register


@register(
    "algorithm",
    "flow_grpo",
    methods={"Flow-GRPO": {"cases": ("flow_grpo",)}},
    paper="2510.05592",
    status="paper",
    confidence="code",
    learns="path",
    presets={"as_released": {"rows": True, "kl": 0.001}},
)
def flow_grpo(rows: bool = False, high: float = 0.3, kl: float = 0.0, anchor: str = "rollout") -> Algorithm:
    """AgentFlow's Flow-GRPO: every turn is a sample of its own, and all get the episode's outcome.

    When to use: agents with memory of their own, whose turns see different contexts.

    Maths: `A = (R - mean) / std` in the prompt, on all turns of the episode; GRPO's objective.

    Args:
        rows: take statistics over turns, as released, so that long episodes count more.
        high: upper clip bound.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: with one context for all turns this is `grpo`.

    Example:
        >>> preset_of = flow_grpo(rows=True).expand()["advantage"][0]
        >>> preset_of['unit']['outcome']
        True

    Reference: AgentFlow, 2025, arXiv 2510.05592. Differs from the paper: statistics over trajectories unless `rows`.
    """
    unit = turn(outcome=True) if rows else "trajectory"
    return Algorithm(advantage=normalise(unit=unit), objective=clipped(anchor, 0.2, high, kl))


@register(
    "algorithm",
    "dcpo",
    methods={"DCPO": {"cases": ("dcpo",)}},
    paper="2510.12635",
    status="paper",
    confidence="note",
    learns="path",
)
def dcpo(kl: float = 0.0, anchor: str = "rollout") -> Algorithm:
    """DCPO (Memory-as-Action): a trajectory is cut where it edits its memory; all segments get its advantage.

    When to use: agents that rewrite their own context, so that it is no longer a prefix of what follows: each segment
    is a path.

    Maths: `A = (R - mean) / (std + 1e-6)` over the trajectories of the prompt, on every token of every segment; GRPO's
    objective, whose sequence mean counts a trajectory once, however many segments it has.

    Args:
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: one segment: `grpo`.

    Example:
        >>> dcpo().expand()["advantage"][0]["name"]
        'normalise'

    Reference: Memory-as-Action, 2025, arXiv 2510.12635. Differs from the paper: derived from its abstract; no code was
    found.
    """
    return Algorithm(advantage=normalise(), objective=clipped(anchor, kl=kl))


@register(
    "algorithm",
    "ui_s1",
    methods={"UI-S1": {"cases": ("uis1_",)}},
    paper="2509.11543",
    status="paper",
    confidence="paper",
    uneven=True,
    learns="path",
    example={"least": 0.0},
    presets={"as_released": {"released": True}},
)
def ui_s1(
    omega: float = 1.0,
    gamma: float = 0.5,
    released: bool = False,
    least: float = 0.3,
    kl: float = 0.0,
    anchor: str = "rollout",
) -> Algorithm:
    """UI-S1: the episode against its group, plus each step against those at the same turn, up to where the path was left.

    When to use: rollouts on recorded expert episodes, graded step by step (tag `grades`).

    Maths: `A = A_E + omega A_S`; A_S normalises `R_t = sum_(k = t)^e gamma^(k - t) r_k` in (prompt, turn), e the first
    turn off the path; GRPO's objective.

    Args:
        omega: weight of the step's term.
        gamma: discount per turn, in [0, 1].
        released: the release's form: no division by deviations, statistics of the episode over rows, the broken step
            left out.
        least: spread of rewards below which a group is left out; the paper resamples by the deviation of advantages.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: without grades the environment's rewards count, and no path is left.

    Example:
        >>> [link["name"] for link in ui_s1().expand()["advantage"]]
        ['grade_steps', 'combine']

    Reference: UI-S1, 2025, arXiv 2509.11543. Differs from the paper: groups are dropped by the spread of the
    environment's rewards.
    """
    scale = "none" if released else "std"
    whole = normalise(unit=turn(outcome=True) if released else "trajectory", scale=scale)
    step = normalise(unit=segment(gamma, not released), key=["prompt", "turn"], scale=scale)
    return Algorithm(
        advantage=chain(grade_steps(), combine(whole, step, weights=[1.0, omega])),
        gate=zero_variance(least=least) if least else None,
        objective=clipped(anchor, kl=kl),
    )


@register(
    "algorithm",
    "ipa",
    methods={"IPA": {"cases": ("ipa_",)}},
    paper="2512.24873",
    status="paper",
    confidence="note",
    uneven=True,
    learns="path",
)
def ipa(gamma: float = 0.95, cap: float = 1.0, most: float = 2.0, white: bool = True) -> Algorithm:
    """IPA (ROME): chunks between two answers of the environment share a return, a ratio and a mask.

    When to use: long tool use on stale or expert data.

    Maths: `G_k = gamma^(K - k) R` per chunk, whitened; positives are imitated, negatives weighed by the chunk's
    geometric ratio up to `cap`; chunks beyond `most` leave the loss.

    Args:
        gamma: discount per chunk, in [0, 1].
        cap: largest weight of a negative.
        most: largest geometric mean of a chunk against the engine's.
        white: whiten the returns; without it rewards must be signed.

    Returns:
        The algorithm.

    Special cases: one turn: REINFORCE with tapered negatives.

    Example:
        >>> sorted(ipa().needs)
        ['turn']

    Reference: IPA (ROME), 2025, arXiv 2512.24873. Differs from the paper: read in notes; whitening is ours.
    """
    go = returns(gamma, "turn")
    return Algorithm(
        advantage=chain(go, whiten()) if white else go,
        objective=chain(chunk_ratio("rollout"), taper(cap), mask_chunks(most), token_mean()),
    )


@register(
    "algorithm",
    "vl_dac",
    methods={"VL-DAC": {"cases": ("vl_dac", "turn_gae")}},
    paper="2508.04280",
    status="paper",
    confidence="paper",
    uneven=True,
    learns="path",
    presets={"as_paper": {"kl": 0.05}},
)
def vl_dac(
    gamma: float = 0.99, lam: float = 0.95, value: float = 0.5, kl: float = 0.0, anchor: str = "rollout"
) -> Algorithm:
    """VL-DAC: PPO on action tokens with values and advantages of environment steps.

    When to use: vision-language agents; the model needs a value head.

    Maths: generalised advantages over turns, V at a turn's first token, on all of the turn's tokens; the clip, the
    value's loss, a KL penalty.

    Args:
        gamma: discount per turn, in [0, 1].
        lam: trace decay per turn, in [0, 1].
        value: strength of the value's loss.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: one turn: PPO with one value per answer.

    Example:
        >>> vl_dac().expand()["advantage"][0]["level"]
        'turn'

    Reference: VL-DAC, 2025, arXiv 2508.04280. Differs from the paper: the value is fitted on all tokens of a turn; no
    warm-up.
    """
    penalty = [penalise_kl(coef=kl)] if kl else []
    return Algorithm(
        advantage=chain(gae(gamma, lam, "turn"), whiten()),
        objective=chain(token_ratio(anchor), clip(), *penalty, fit_values(value), token_mean()),
    )


@register(
    "algorithm",
    "dense_turns",
    methods={"Practitioner's guide": {"cases": ("dense_turn",)}},
    paper="2510.01132",
    status="paper",
    confidence="code",
    uneven=True,
    learns="path",
)
def dense_turns(
    maximum: float = 1.0, win: str = "", gamma: float = 1.0, kl: float = 0.0, anchor: str = "rollout"
) -> Algorithm:
    """A practitioner's guide: dense turn rewards, scaled by the outcome, with turn-wise credit and no critic.

    When to use: environments with rewards along the way, in episodes of unlike length.

    Maths: turn rewards over their number in a won episode, over `maximum` in a lost one; `A` leave-one-out over the
    prompt's turns of the same index; the clip, averaged over tokens.

    Args:
        maximum: the most that can be earned along the way.
        win: the named reward that is positive in a won episode; empty takes the sum.
        gamma: discount per turn, in [0, 1].
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: without turn rewards this is `rloo` with a clip.

    Example:
        >>> [link["name"] for link in dense_turns().expand()["advantage"]]
        ['scale_dense', 'normalise']

    Reference: Practitioner's guide, 2025, arXiv 2510.01132. Differs from the paper: RLOO of the three rules that it
    compares.
    """
    credit = normalise(unit=turn(gamma), key=["prompt", "turn"], baseline="leave_one_out", scale="none")
    return Algorithm(
        advantage=chain(scale_dense(maximum, win), credit), objective=clipped(anchor, kl=kl, mean="token_mean")
    )


@register(
    "algorithm",
    "digirl",
    methods={"DigiRL": {"cases": ("digirl_",)}},
    paper="2406.11896",
    status="paper",
    confidence="code",
    uneven=True,
    learns="path",
    presets={"as_released": {"share": 0.1}},
)
def digirl(form: str = "released", gamma: float = 0.5, share: float = 1.0, value: float = 0.5) -> Algorithm:
    """DigiRL: steps that raised the chance of success are imitated, from the episodes that surprised most.

    When to use: device control with sparse rewards; the model needs a value head.

    Maths: advantages of 0 and 1 (see `keep_steps`); with `share < 1` only the episodes that most exceed what was
    expected of their prompt; `loss = -A logp`, plus the value's.

    Args:
        form: `released`, or `mixed`, the paper's as recalled.
        gamma: discount per turn, or the mixture's base.
        share: of the episodes that are trained on; the release keeps 0.1.
        value: strength of the value's loss.

    Returns:
        The algorithm.

    Special cases: a step of failures trains the critic, and only what raised its value by 0.05.

    Example:
        >>> sorted(digirl().needs)
        ['values']

    Reference: DigiRL, 2024, arXiv 2406.11896. Differs from the paper: one value head, regression instead of
    classification.
    """
    filtered = (
        [recall_prior(), keep_steps(form, gamma), keep_surprising(share)] if share < 1 else [keep_steps(form, gamma)]
    )
    return Algorithm(advantage=chain(*filtered), objective=chain(policy_gradient(), fit_values(value), token_mean()))
