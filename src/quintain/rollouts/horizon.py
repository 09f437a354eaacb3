"""Longer episodes as the training goes on: ScalingInter-RL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quintain.parts import Cast, Rollout
from quintain.registry import register
from quintain.rollouts.episodes import PlanError, episodes
from quintain.types import Group, Task


def horizon(step: int, turns: Sequence[int], every: int) -> int:
    """The turns of an episode at a step, from 0: the next number after every `every` steps, the last one from then on.

    Example:
        >>> [horizon(step, [10, 20, 30], 100) for step in (0, 99, 100, 950)]
        [10, 10, 20, 30]
    """
    return turns[min(step // every, len(turns) - 1)]


@register(
    "rollout",
    "scaling_inter",
    methods={
        "ScalingInter-RL": {
            "cases": ("scaling_inter",),
            "shown": "tests/unit/rollouts/test_stages.py::test_episodes_grow_longer_stage_by_stage",
            "recipe": ("rollout.name=scaling_inter", "rollout.options.turns=[6,13,20]"),
        }
    },
    paper="2509.08755",
    confidence="code",
    example={"turns": [2, 4], "every": 10},
)
def scaling_inter(turns: Sequence[int], every: int = 100, groups: int = 1, **kwargs: Any) -> Rollout:
    """Play as `episodes` does, with a limit of turns that grows in stages.

    Use it where long episodes fail at first: the policy learns short ones, then goes on from there.

    Args:
        turns: the limits, one stage after the other, each >= 1.
        every: steps of a stage, >= 1.
        groups: groups of a step: give the run's, as a stage is known by its tickets.
        **kwargs: options of `episodes` but `max_turns`, which is the limit of evaluations (groups of one) if it is given.

    Returns:
        A rollout. An episode that reaches its limit ends with `truncated_turns`.

    Raises:
        PlanError: a number is out of range.

    Special cases: groups that were refilled have tickets too, so that stages come a little early then. A run that goes on with
    another number of groups a step counts its earlier tickets by the new one.

    Reference: AgentGym-RL (ScalingInter-RL), arXiv 2509.08755.
    """
    if not turns or min(turns) < 1 or min(every, groups) < 1:
        raise PlanError(f"scaling_inter: turns {list(turns)}, every {every}, groups {groups}; give numbers >= 1")
    last = kwargs.pop("max_turns", 0)
    one = kwargs.get("group_size", 8) == 1
    stages = {n: episodes(max_turns=n, **kwargs) for n in ([last] if one else turns)}

    async def play(task: Task, cast: Cast, index: int) -> Group:
        return await stages[last if one else horizon(index // groups, turns, every)](task, cast, index)

    return play
