"""Rewards by comparison inside a group: shares of wins, and strengths fitted to them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from quintain.parts import Reward
from quintain.registry import register, unknown, user_object
from quintain.rewards.env import RewardError, rewarded
from quintain.rewards.said import answer_of
from quintain.types import Group

Matrix = Sequence[Sequence[float]]


def win_shares(wins: Matrix) -> list[float]:
    """The mean chance of each to beat the others, from `wins[i][j]`, the chance that i beats j; 1/2 when alone.

    Example:
        >>> win_shares([[0.5, 1.0], [0.0, 0.5]]), win_shares([[0.5]])
        ([1.0, 0.0], [0.5])
    """
    n = len(wins)
    return [sum(row[j] for j in range(n) if j != i) / (n - 1) if n > 1 else 0.5 for i, row in enumerate(wins)]


def strengths(wins: Matrix, prior: float = 0.1, rounds: int = 200) -> list[float]:
    """Bradley-Terry strengths with mean 0: `P(i beats j) = 1 / (1 + exp(s_j - s_i))` fitted to `wins` [G, G].

    When to use: duels that are noisy or unequal in number: entries may be counts.

    Args:
        wins: how often i beat j; the diagonal does not count.
        prior: drawn duels that each pair is given beforehand, > 0, so that one who always won stays finite.
        rounds: steps of minorisation-maximisation.

    Raises:
        RewardError: a prior that is not positive.

    Example:
        >>> [round(s, 6) for s in strengths([[0, 3], [1, 0]], prior=1e-12)]
        [0.549306, -0.549306]
    """
    if not prior > 0:
        raise RewardError(f"strengths: prior is {prior}; it must be > 0, or one who always won would be infinite")
    n = len(wins)
    power = [1.0] * n
    won = [sum(wins[i][j] + prior / 2 for j in range(n) if j != i) for i in range(n)]
    for _ in range(rounds if n > 1 else 0):
        met = [[(wins[i][j] + wins[j][i] + prior) / (power[i] + power[j]) for j in range(n)] for i in range(n)]
        power = [won[i] / sum(met[i][j] for j in range(n) if j != i) for i in range(n)]
        centre = math.exp(sum(map(math.log, power)) / n)
        power = [p / centre for p in power]
    return [math.log(p) for p in power]


SCALES: dict[str, Callable[[Matrix], list[float]]] = {"share": win_shares, "strength": strengths}


@register(
    "reward",
    "pairwise",
    methods={
        "SPO": {
            "wants": "a judge of two answers: reward.options.path=FILE.py:function",
            "cases": ("spo_selfplay",),
            "shown": "tests/unit/rewards/test_roles.py::test_every_pair_is_judged_and_the_order_may_be_changed",
        },
        "Bradley-Terry": {
            "wants": "a judge of two answers: reward.options.path=FILE.py:function",
            "paper": "",
            "shown": "tests/unit/rewards/test_roles.py::test_strengths_find_the_order_that_made_the_duels",
        },
    },
    paper="2401.04056",
    status="paper",
    confidence="paper",
    example={"path": "quintain.rewards.duels:shorter"},
)
def pairwise(path: str | Callable[..., Any], scale: str = "share", both: bool = False, label: str = "wins") -> Reward:
    """Let the members of a group be compared two by two; each earns its share of wins (SPO), or its fitted strength.

    When to use: a judge that can say which of two is better, but not how good one is; also where preferences run in
    circles.

    Maths: `r_i = mean_(j != i) P(i beats j)`; or the Bradley-Terry strength `s_i`, `P = 1 / (1 + exp(s_j - s_i))`.

    Args:
        path: `FILE.py:name`, `package.module:name`, or the function itself, sync or async: given the answers `first` and
            `second` and the `task`, it returns the chance that the first is better, in [0, 1].
        scale: `share`, or `strength`.
        both: ask in both orders and take the mean, against judges that favour a place.
        label: name of the reward.

    Raises:
        UnknownName: no such function or scale.
        RewardError: (when scoring) the function returned something outside [0, 1].

    Special cases: a group of one earns 1/2, or the strength 0. A step asks G (G - 1) / 2 times per group.

    Example:
        >>> pairwise(shorter) is not None
        True

    Reference: Swamy et al., 2024, arXiv 2401.04056. Differs from the paper: the members of a group, not a queue.
    """
    if scale not in SCALES:
        raise RewardError(unknown("scale of pairwise", scale, SCALES))
    judge: Any = user_object(path) if isinstance(path, str) else path

    async def ask(group: Group, i: int, j: int) -> float:
        said = judge(answer_of(group.trajectories[i]), answer_of(group.trajectories[j]), group.task)
        value = float(await said if inspect.isawaitable(said) else said)
        if not 0 <= value <= 1:
            raise RewardError(f"pairwise: the judge returned {value} for task {group.task.key}; it must lie in [0, 1]")
        return value

    async def score(group: Group) -> Group:
        n = len(group.trajectories)
        wins = [[0.5] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1, n):
                value = await ask(group, i, j)
                value = (value + 1 - await ask(group, j, i)) / 2 if both else value
                wins[i][j], wins[j][i] = value, 1 - value
        each = zip(group.trajectories, SCALES[scale](wins), strict=True)
        return replace(group, trajectories=tuple(rewarded(group, t, {label: v}) for t, v in each))

    return score


def shorter(first: str, second: str, task: Any = None) -> float:
    """A judge that prefers the shorter answer: 1, 0, or 1/2 where both are as long.

    Example:
        >>> shorter("a", "bb"), shorter("a", "b")
        (1.0, 0.5)
    """
    return 0.5 + 0.5 * ((len(first) < len(second)) - (len(first) > len(second)))
