"""Groups that grow while one more episode is worth what it costs: the budget of V_0.5."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

from quintain.parts import Cast, Reward, Rollout
from quintain.priors import draw_more, prior_of
from quintain.registry import register, resolve
from quintain.rollouts.episode import together
from quintain.rollouts.episodes import PlanError
from quintain.rollouts.members import joined, lone, member
from quintain.types import Group, Task


@register("rollout", "sequential", paper="2603.10848", status="paper", confidence="note")
def sequential(
    group_size: int = 4,
    most: int = 16,
    cost: float = 0.0039,
    noise: float = 1.0,
    prior: float | None = None,
    reward: Any = "env",
    **kwargs: Any,
) -> Rollout:
    """Play `group_size` episodes, then one at a time while the rewards contradict what was expected of the prompt (V_0.5).

    Use it with the algorithm `v0_5` and small groups: prompts that do as expected stay cheap. What is expected of a prompt is the
    column `prior` of its task, the mean reward that a value model or an earlier evaluation gave it.

    Another episode is played while it lowers the squared error of the baseline `prior_fused` by more than `cost` (`draw_more`).

    Args:
        group_size: episodes that every prompt gets, >= 1.
        most: episodes at which a group ends, >= 1.
        cost: price of an episode, in squared units of reward, >= 0.
        noise: variance of one reward: 1 for {-1, +1}; 0 estimates that of rewards in {0, 1}.
        prior: expected where a task has no `prior`; None plays no further episode there.
        reward: part that scores the episodes so far: give the run's own where it is not `env`.
        **kwargs: options of `episodes` but `redundancy` and `hint`.

    Returns:
        A rollout. Its groups differ in size; the tag `added` counts the episodes beyond `group_size`.

    Raises:
        PlanError: a number is out of range, redundant members, or hints.

    Special cases: groups of one, as evaluations play them, never grow, nor do games of several seats, whose rewards are not of
    one policy. Episodes that are added wait for one another.

    Reference: V_0.5, 2026, arXiv 2603.10848. Differs from the paper: the stop rule is our derivation.
    """
    if min(group_size, most) < 1 or not all(0 <= x < inf for x in (cost, noise)) or not -inf < (prior or 0.0) < inf:
        told = f"group_size {group_size}, most {most}, cost {cost}, noise {noise}, prior {prior}"
        raise PlanError(f"sequential: {told}; it needs sizes >= 1, cost and noise >= 0, and a prior that is finite")
    one = lone("sequential", kwargs)
    score: Reward = resolve("reward", reward)

    async def play(task: Task, cast: Cast, ticket: int) -> Group:
        if group_size == 1:
            return await one(task, cast, ticket)
        members = await together([member(one, task, cast, (ticket, k)) for k in range(group_size)])
        group = joined(task, ticket, members)
        told = prior_of(group)
        expected = prior if told is None else told
        if expected is None or any(len(m.trajectories) != 1 for m in members):
            return group
        while draw_more((await score(group)).rewards, expected, cost, most, noise or None):
            members.append(await member(one, task, cast, (ticket, len(members))))
            group = joined(task, ticket, members)
        return replace(group, tags={**group.tags, "added": len(members) - group_size})

    return play
