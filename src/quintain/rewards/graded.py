"""Rewards in order of rank, and what an episode did well against what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quintain.parts import Reward
from quintain.registry import register
from quintain.rewards.env import RewardError, Wanted, checked, per_trajectory
from quintain.types import Group, Trajectory


def open_levels(levels: Sequence[float], threshold: float = 0.0, strict: bool = True) -> list[bool]:
    """Which levels count: those before which every level passes.

    Example:
        >>> open_levels([1.0, 0.0, 0.3])
        [True, True, False]
    """
    out, open_ = [], True
    for level in levels:
        out.append(open_)
        open_ = open_ and (level > threshold if strict else level >= threshold)
    return out


@register(
    "reward",
    "gated",
    paper="2508.10548",
    methods={
        "G-RA": {
            "wants": "a world with rewards of several levels, named in reward.levels",
            "cases": ("g_ra",),
            "shown": "tests/unit/rewards/test_roles.py::test_a_shut_gate_takes_the_lesser_rewards_and_the_turns_they_came_in",
        }
    },
    status="paper",
    confidence="note",
    example={"levels": [["score"], ["style"]]},
)
def gated(levels: Sequence[Sequence[str]], threshold: float = 0.0, strict: bool = True) -> Reward:
    """Count lesser rewards only where the greater ones were earned (G-RA): a tidy failure is still a failure.

    When to use: step or style rewards that a policy would otherwise collect without solving the task.

    Maths: level l sums its named rewards; it counts iff every level above exceeds `threshold`; else its rewards are 0.

    Args:
        levels: names of rewards, the most important level first; names that stand nowhere always count.
        threshold: what a level must exceed, in units of reward.
        strict: > rather than >=.

    Raises:
        RewardError: fewer than two levels, or a name in two of them.
        BadReward: (when scoring) a reward is not finite.

    Special cases: where a gate is shut the turn rewards are dropped as well: what is left counts for the whole episode. A name that no
    episode has had, while they had others, is warned of.

    Example:
        >>> import asyncio
        >>> from quintain.types import Stop, Task
        >>> one = Trajectory(id="a", nodes=(), stop=Stop.done, rewards={"tests": 0.0, "style": 0.5})
        >>> asyncio.run(gated([["tests"], ["style"]])(Group(task=Task(key="t", env="e"), trajectories=(one,)))).rewards
        (0.0,)

    Reference: G-RA, arXiv 2508.10548, gated reward accumulation. Differs from the paper: strictness and threshold
    were not read there.
    """
    flat = [name for level in levels for name in level]
    if len(levels) < 2 or len(set(flat)) < len(flat):
        raise RewardError(f"gated: levels are {levels}; two or more are needed, and no name may stand in two of them")

    def one(group: Group, t: Trajectory) -> Trajectory:
        for name, value in t.rewards.items():
            checked(value, name, group, t)
        sums = [sum(t.rewards.get(n, 0.0) for n in level) for level in levels]
        open_ = open_levels(sums, threshold, strict)
        shut = {n for level, yes in zip(levels, open_, strict=True) if not yes for n in level if n in t.rewards}
        return replace(t, rewards={**t.rewards, **dict.fromkeys(shut, 0.0)}, turn_rewards=()) if shut else t

    wanted = Wanted("gated")

    async def score(group: Group) -> Group:
        wanted.see(group, flat)
        return replace(group, trajectories=tuple(one(group, t) for t in group.trajectories))

    return score


def balance(solved: float, needed: float, calls: float) -> dict[str, float]:
    """Recall `solved / needed`, precision `solved / calls` and their harmonic mean `f1`; 0 where nothing was solved.

    Example:
        >>> balance(3, 4, 6)
        {'recall': 0.75, 'precision': 0.5, 'f1': 0.6}
    """
    recall = solved / needed if needed > 0 else 0.0
    precision = solved / calls if calls > 0 else 0.0
    both = recall + precision
    return {"recall": recall, "precision": precision, "f1": 2 * recall * precision / both if both > 0 else 0.0}


@register(
    "reward",
    "f1",
    methods={
        "ASTRA": {
            "wants": "tasks with counted sub-tasks",
            "cases": ("astra_f1",),
            "shown": "tests/unit/rewards/test_roles.py::test_calls_are_the_turns_unless_counted",
        }
    },
    paper="2601.21558",
    status="paper",
    confidence="note",
    example={"solved": "solved"},
)
def f1(solved: str = "solved", needed: str = "subtasks", calls: str = "", label: str = "f1") -> Reward:
    """Solve all sub-tasks with few calls: the F1 of solved/needed and solved/calls (ASTRA).

    When to use: tool use with counted sub-tasks; recall alone makes calls explode, precision alone makes them vanish.

    Maths: `2 s / (n + c)`, s of n sub-tasks solved with c calls.

    Args:
        solved: the trajectory's tag with the number of sub-tasks solved.
        needed: the task's column with the number there are.
        calls: the trajectory's tag with the number of tool calls; empty counts its turns.
        label: name of the reward.

    Raises:
        RewardError: (when scoring) the task has no such column.

    Special cases: nothing solved, or no call, earns 0.

    Example:
        >>> balance(0, 4, 6)["f1"], balance(3, 4, 0)["f1"]
        (0.0, 0.0)

    Reference: ASTRA, 2026, arXiv 2601.21558. Differs from the paper: nothing that was read.
    """

    def value(group: Group, t: Trajectory) -> dict[str, float]:
        if needed not in group.task.params:
            raise RewardError(f"f1: task {group.task.key} has no column {needed!r}; it has {sorted(group.task.params)}")
        spent = float(t.tags.get(calls, 0)) if calls else t.turns
        return {label: balance(float(t.tags.get(solved, 0)), float(group.task.params[needed]), spent)["f1"]}

    return per_trajectory(value)
