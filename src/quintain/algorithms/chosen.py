"""Aliases that choose what of a step is trained, or put back what an earlier step had."""

from __future__ import annotations

from quintain.advantages import normalise
from quintain.algorithms.record import Algorithm, clipped
from quintain.gates import keep_extremes, keep_uncertain, recompose, replay_success
from quintain.parts import chain
from quintain.registry import register
from quintain.rewards.verified import credit_tests


@register(
    "algorithm",
    "d3s",
    paper="2509.22115",
    methods={"D3S": {"cases": ("d3s_",)}},
    status="paper",
    confidence="note",
    example={"steps": 30},
)
def d3s(samples: float = 0.25, tokens: float = 0.1, steps: int = 1000, mean: str = "token_mean") -> Algorithm:
    """D3S: the samples of the most spread advantages, and their tokens where credit meets doubt; from few to all.

    When to use: when a step of the learner costs more than its rollouts.

    Maths: GRPO on what `keep_extremes` leaves of the step.

    Args:
        samples: share of the trajectories at the first step, all after `steps`.
        tokens: share of their tokens, likewise.
        steps: how many steps the way takes.
        mean: a part of kind objective that makes the loss.

    Returns:
        The algorithm.

    Special cases: after `steps` it is `grpo`.

    Example:
        >>> [link["name"] for link in d3s().expand()["advantage"]]
        ['normalise', 'keep_extremes']

    Reference: D3S, arXiv 2509.22115. Differs from the paper: on GRPO, with the sampler's entropies.
    """
    chosen = keep_extremes((samples, 1.0), (tokens, 1.0), steps)
    return Algorithm(advantage=chain(normalise(), chosen), objective=clipped(mean=mean))


@register(
    "algorithm",
    "rorecomp",
    methods={"RoRecomp": {"cases": ("rorecomp",)}},
    paper="2509.25958",
    status="paper",
    confidence="note",
)
def rorecomp(share: float = 0.5, every: int = 4, mean: str = "token_mean") -> Algorithm:
    """RoRecomp: short right and long wrong answers, the others every few steps.

    When to use: answers that grow without getting better.

    Maths: GRPO on what `recompose` leaves of the step.

    Args:
        share: of the right and of the wrong answers.
        every: how often the others have their turn, in steps.
        mean: a part of kind objective that makes the loss.

    Returns:
        The algorithm.

    Special cases: see `recompose`.

    Example:
        >>> [link["name"] for link in rorecomp().expand()["advantage"]]
        ['normalise', 'recompose']

    Reference: RoRecomp, 2025, arXiv 2509.25958. Differs from the paper: the others are those of the same step.
    """
    return Algorithm(advantage=chain(normalise(), recompose(share, every)), objective=clipped(mean=mean))


@register(
    "algorithm",
    "arpo_gui",
    methods={"ARPO (GUI)": {"cases": ("arpo_gui",)}},
    paper="2505.16282",
    replays=True,
    status="paper",
    confidence="code",
)
def arpo_gui(low: float = 0.2, high: float = 0.3, keep: int = 8) -> Algorithm:
    """ARPO for GUIs: GRPO without KL, where groups of failures get an earlier success of their task.

    When to use: long tasks with rare successes.

    Maths: GRPO after `replay_success`; the ratio of what is replayed is to the policy that played it.

    Args:
        low: lower clip bound.
        high: upper clip bound.
        keep: stored successes per task.

    Returns:
        The algorithm.

    Special cases: a task that never succeeded has no advantage.

    Example:
        >>> arpo_gui().expand()["gate"][0]["name"]
        'replay_success'

    Reference: Lu et al., 2025, arXiv 2505.16282. Differs from the paper: the newest success, not any.
    """
    return Algorithm(
        advantage=normalise(), gate=replay_success(keep=keep), objective=clipped(low=low, high=high, mean="token_mean")
    )


@register(
    "algorithm",
    "dart_gui",
    methods={"DART-GUI": {"cases": ("dart_success",)}},
    paper="2509.23866",
    replays=True,
    status="paper",
    confidence="note",
)
def dart_gui(share: float = 0.8, low: float = 0.1, high: float = 0.28, kl: float = 0.1, keep: int = 8) -> Algorithm:
    """DART-GUI: successes of earlier steps for groups of failures, and the turns at which the policy was least sure.

    When to use: long episodes with rare successes and many routine turns.

    Maths: GRPO after `replay_success(swap="oldest", drop=True)` on what `keep_uncertain` leaves.

    Args:
        share: of the turns that is trained.
        low: lower clip bound.
        high: upper clip bound.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        keep: stored successes per task.

    Returns:
        The algorithm.

    Special cases: groups that all failed without a stored success, or all succeeded, are dropped.

    Example:
        >>> sorted(dart_gui().needs)
        ['ref']

    Reference: DART-GUI, 2025, arXiv 2509.23866. Differs from the paper: its truncated weight is a part of its own
    (`truncate_mismatch`); the share was not read.
    """
    return Algorithm(
        advantage=chain(normalise(), keep_uncertain(share)),
        gate=replay_success("oldest", keep, drop=True),
        objective=clipped(low=low, high=high, kl=kl, mean="token_mean"),
    )


@register(
    "algorithm",
    "verpo",
    paper="2601.03525",
    methods={"VeRPO": {"wants": "turns tagged with the tests that they pass", "cases": ("verpo",)}},
    status="paper",
    confidence="note",
)
def verpo(alpha: float = 1.0, sigma: float = 0.1, beta: float = 0.5, gamma: float = 0.95) -> Algorithm:
    """VeRPO: turns are credited for the tests that they pass, and for solving the task soon.

    When to use: code that is mended over several turns against the same tests.

    Maths: the advantage of `credit_tests`, GRPO's objective.

    Args:
        alpha: how much more hard tests count.
        sigma: width within which tests count as alike.
        beta: strength of the turn's term.
        gamma: discount of the outcome per turn.

    Returns:
        The algorithm.

    Special cases: without tests it is `dr_grpo` on a discounted outcome.

    Example:
        >>> verpo().needs
        frozenset()

    Reference: VeRPO, arXiv 2601.03525. Differs from the paper: its constants were not read.
    """
    return Algorithm(advantage=credit_tests(alpha, sigma, beta, gamma), objective=clipped(mean="token_mean"))
