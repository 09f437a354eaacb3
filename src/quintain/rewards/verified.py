"""Credit for the tests that each turn passes: rare ones count more (VeRPO)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from quintain.parts import Advantage, BadReward, PartError, stateless
from quintain.registry import register
from quintain.types import Group, Trajectory

Passed = Sequence[Sequence[float]]  # [turns][tests]


def pass_rates(runs: Sequence[Passed]) -> list[float]:
    """The share of all turns of all trajectories that pass each test.

    Example:
        >>> pass_rates([[[1, 0]], [[1, 1], [1, 0]]])[0]
        1.0
    """
    rows = [row for run in runs for row in run]
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def densities(rates: Sequence[float], sigma: float) -> list[float]:
    """How many tests are about as hard as each: a Gaussian kernel of width `sigma` over the pass rates.

    Example:
        >>> densities([0.5, 0.5], 0.1)
        [2.0, 2.0]
    """
    return [sum(math.exp(-((a - b) ** 2) / (2 * sigma**2)) for b in rates) for a in rates]


def rarity_weights(rates: Sequence[float], alpha: float, sigma: float, delta: float = 1e-6) -> list[float]:
    """`exp(-alpha rho_j) / (density_j + delta)`: hard tests count more, many alike count less.

    Example:
        >>> rarity_weights([0.0], 2.0, 0.1, 0.0)
        [1.0]
    """
    return [math.exp(-alpha * r) / (d + delta) for r, d in zip(rates, densities(rates, sigma), strict=True)]


def turn_scores(run: Passed, weights: Sequence[float]) -> list[float]:
    """The weight of the tests that each turn passes.

    Example:
        >>> turn_scores([[1, 0], [1, 1]], [0.5, 0.25])
        [0.5, 0.75]
    """
    return [sum(w * p for w, p in zip(weights, row, strict=True)) for row in run]


def two_levels(outcome: Sequence[float], turns: Sequence[Sequence[float]], beta: float) -> list[list[float]]:
    """`(R_i - mean R) + beta (r_it - mean over all turns)` for every turn.

    Example:
        >>> two_levels([1.0, 0.0], [[1.0], [0.0]], 1.0)
        [[1.0], [-1.0]]
    """
    centre = sum(outcome) / len(outcome) if outcome else 0.0
    flat = [r for row in turns for r in row]
    middle = sum(flat) / len(flat) if flat else 0.0
    return [[(big - centre) + beta * (r - middle) for r in row] for big, row in zip(outcome, turns, strict=True)]


@register("advantage", "credit_tests", paper="2601.03525", status="paper", confidence="note")
def credit_tests(
    alpha: float = 1.0,
    sigma: float = 0.1,
    beta: float = 0.5,
    gamma: float = 0.95,
    column: str = "",
    tag: str = "tests",
) -> Advantage:
    """Credit each turn for the tests that it passes, and all turns for solving the task soon (VeRPO).

    When to use: code that is mended over several turns, where every turn is run against the same tests.

    Maths: `rho_j` the share of the group's turns that pass test j, `w_j = exp(-alpha rho_j) / (sum_k exp(-(rho_j -
    rho_k)^2 / 2 sigma^2) + 1e-6)`; `r_it = sum_j w_j pass_itj`, `R_i = r_i gamma^turns`; `A_it = (R_i - mean R) + beta
    (r_it - mean r)`, the last mean over all turns of the group.

    Args:
        alpha: how much more hard tests count, >= 0.
        sigma: width within which tests count as alike, > 0.
        beta: strength of the turn's term, >= 0.
        gamma: discount of the outcome per turn, in [0, 1].
        column: the named reward that is the outcome; empty takes the sum.
        tag: the trajectory's tag with the tests of each turn, [turns][tests] of 0 and 1.

    Returns:
        An advantage that writes the stream `advantage`.

    Raises:
        PartError: a value outside its range, or (when applied) trajectories of a group with other tests.
        BadReward: (when applied) a reward is NaN or infinite.

    Special cases: turns without tests earn 0 in the second term and count in its mean; there is no scale, which hurt in
    the paper; a group of one trajectory has only the spread of its own turns.

    Example:
        >>> credit_tests().apply((), None)
        ((), None)

    Reference: VeRPO, arXiv 2601.03525. Differs from the paper: its constants were not read.
    """
    if not (alpha >= 0 and sigma > 0 and beta >= 0 and 0 <= gamma <= 1):
        raise PartError(
            f"credit_tests: alpha {alpha}, sigma {sigma}, beta {beta}, gamma {gamma}; alpha, beta >= 0, sigma > 0 and "
            "gamma in [0, 1] needed"
        )

    def passed(t: Trajectory) -> list[list[float]]:
        return [[float(p) for p in row] for row in t.tags.get(tag, ())]

    def one(group: Group) -> Group:
        for t in group.trajectories:
            if not math.isfinite(t.reward):
                raise BadReward(
                    f"trajectory {t.id} of task {group.task.key} has the reward {t.reward}; mend the reward"
                )
        tests = [passed(t) for t in group.trajectories]
        if len({len(row) for run in tests for row in run}) > 1:
            raise PartError(f"credit_tests: turns of task {group.task.key!r} were run against other numbers of tests")
        weights = rarity_weights(pass_rates(tests), alpha, sigma)
        scores = [_filled(turn_scores(run, weights), t) for run, t in zip(tests, group.trajectories, strict=True)]
        earned = (t.rewards.get(column, 0.0) if column else t.reward for t in group.trajectories)
        outcome = [r * gamma**t.turns for r, t in zip(earned, group.trajectories, strict=True)]
        each = zip(group.trajectories, two_levels(outcome, scores, beta), strict=True)
        return replace(group, trajectories=tuple(_write(t, row) for t, row in each))

    return stateless(lambda groups: tuple(map(one, groups)))


def _filled(scores: Sequence[float], t: Trajectory) -> list[float]:
    """One score per turn that was sampled."""
    turns = 1 + max((n.turn for n in t.nodes if any(n.mask)), default=-1)
    return [*scores[:turns], *[0.0] * (turns - len(scores))]


def _write(t: Trajectory, turns: Sequence[float]) -> Trajectory:
    rows = (tuple(turns[n.turn] if m else 0.0 for m in n.mask) for n in t.nodes)
    return t.with_stream("advantage", tuple(rows))
