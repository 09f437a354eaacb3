"""Rewards by comparison: shares of wins inside a group, strengths fitted to them, and debates."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from quintain.parts import Reward
from quintain.registry import register, unknown
from quintain.rewards.env import RewardError, function_of, rewarded
from quintain.rewards.roles import side_of
from quintain.rewards.said import answer_of
from quintain.types import Group, Trajectory

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
            "wants": "a judge of two answers: reward.path=FILE.py:function",
            "cases": ("spo_selfplay",),
            "shown": "tests/unit/rewards/test_roles.py::test_every_pair_is_judged_and_the_order_may_be_changed",
        },
        "Bradley-Terry": {
            "wants": "a judge of two answers: reward.path=FILE.py:function",
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
        RewardError: the function does not take these three; or (when scoring) the function returned something outside [0, 1].

    Special cases: a group of one earns 1/2, or the strength 0. A step asks G (G - 1) / 2 times per group.

    Example:
        >>> pairwise(shorter) is not None
        True

    Reference: Swamy et al., 2024, arXiv 2401.04056. Differs from the paper: the members of a group, not a queue.
    """
    if scale not in SCALES:
        raise RewardError(unknown("scale of pairwise", scale, SCALES))
    judge = function_of(path, "pairwise", "first", "second", "task")

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


@register(
    "reward",
    "debate",
    methods={
        "Debate reward": {
            "wants": "a world with two debaters and a judge's verdict, or a judge: reward.path=FILE.py:function",
            "shown": "tests/unit/rewards/test_roles.py::test_a_debate_pays_one_side_what_it_costs_the_other",
        }
    },
    paper="2402.15826",
    status="paper",
    confidence="paper",
    example={"share": 0.5},
)
def debate(
    path: str | Callable[..., Any] = "",
    sides: Sequence[str] = ("first", "second"),
    decider: str = "",
    share: float = 0.5,
    tag: str = "verdict",
    label: str = "debate",
) -> Reward:
    """A zero-sum debate: two sides give evidence for two decisions, a judge says whose is better; who decided shares in it.

    When to use: decisions that must be justified: debaters learn to find evidence that withstands, and the decider to
    prefer what can be defended.

    Maths: with v in [-1, 1] the verdict for the first side, the sides earn `v` and `-v`; the decider, whose decision the
    first side defends, `(1 - share) r + share v`, r its other rewards.

    Args:
        path: `FILE.py:name`, `package.module:name`, or the judge itself, sync or async: given what the `first` and the
            `second` side said last and the `task`, it returns v. Empty reads the tag.
        sides: the roles of both sides, the one for the decision first.
        decider: the role whose decision is debated; empty where there is none.
        share: of the debate in the decider's reward, in [0, 1]; 0, 0.25, 0.5, 0.75 and 1 in the paper.
        tag: of any seat of the episode, with the verdict v.
        label: name of the reward.

    Raises:
        RewardError: a share outside [0, 1], not two sides, a judge that does not take these three; (when scoring) a verdict
            outside [-1, 1], or a debate that has no judge and no verdict.

    Special cases: an episode without both sides is no debate: nobody earns or loses anything. Where one engine plays
            all seats, the seats' names are the roles.

    Example:
        >>> debate(share=0.25) is not None
        True

    Reference: Sukovic and Radanovic, 2024, arXiv 2402.15826. Differs from the paper: the judge is the user's, there
    a model fitted to preferences; the other decision is whatever the world lets the second side defend.
    """
    if not 0 <= share <= 1 or len(set(sides)) != 2 or decider in sides:
        told = f"share is {share}, sides {list(sides)}, decider {decider!r}"
        raise RewardError(f"debate: {told}; share in [0, 1], two sides and another role that decides needed")
    judge = function_of(path, "debate", "first", "second", "task") if path else None
    named = tuple(filter(None, (*sides, decider)))

    def shrunk(t: Trajectory, by: float) -> Trajectory:
        turns = tuple(by * r for r in t.turn_rewards)
        return replace(t, rewards={k: by * r for k, r in t.rewards.items()}, turn_rewards=turns)

    async def verdict(group: Group, seats: Sequence[Trajectory], speakers: Sequence[Trajectory]) -> float:
        if judge:
            said = judge(*map(answer_of, speakers), group.task)
            value = float(await said if inspect.isawaitable(said) else said)
        else:
            found = [t.tags[tag] for t in seats if tag in t.tags]
            if not found:
                raise RewardError(
                    f"debate: no seat of episode {seats[0].episode} of task {group.task.key} has the tag {tag!r}; have the "
                    "world tag it, or give a judge as `path`"
                )
            value = float(found[0])
        if not -1 <= value <= 1:
            raise RewardError(f"debate: the verdict on task {group.task.key} is {value}; it must lie in [-1, 1]")
        return value

    async def score(group: Group) -> Group:
        out = {t.id: t for t in group.trajectories}
        for number in {t.episode for t in group.trajectories}:
            seats = [t for t in group.trajectories if t.episode == number]
            played = {t.id: side_of(t, named) for t in seats}
            speakers = [next((t for t in seats if played[t.id] == side), None) for side in sides]
            if not all(speakers):
                continue
            value = await verdict(group, seats, [t for t in speakers if t is not None])
            paid = {sides[0]: value, sides[1]: -value} | ({decider: share * value} if decider else {})
            for t in seats:
                if (side := played[t.id]) in paid:
                    out[t.id] = rewarded(group, shrunk(t, 1 - share) if side == decider else t, {label: paid[side]})
        return replace(group, trajectories=tuple(out[t.id] for t in group.trajectories))

    return score
