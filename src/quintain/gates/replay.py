"""A gate that gives groups of failures a success of an earlier step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, pstdev
from typing import Any

from quintain.codec import decode, encode
from quintain.parts import BadReward, Gate, Groups, PartError, State, Transform
from quintain.registry import register, unknown
from quintain.types import REPLAYED, Group, Trajectory


def in_place_of_first(runs: Sequence[Trajectory], stored: Sequence[Trajectory]) -> tuple[Trajectory, ...]:
    """The stored successes where the first members stood."""
    return (*stored, *runs[len(stored) :])


def for_the_oldest(runs: Sequence[Trajectory], stored: Sequence[Trajectory]) -> tuple[Trajectory, ...]:
    """The members without those of the oldest policies (the first of them), and the stored successes at the end."""
    oldest = set(sorted(range(len(runs)), key=lambda i: runs[i].versions[0])[: len(stored)])
    return (*(t for i, t in enumerate(runs) if i not in oldest), *stored)


SWAPS = {"first": in_place_of_first, "oldest": for_the_oldest}


@register("gate", "replay_success", paper="2505.16282", status="paper", confidence="code")
def replay_success(
    swap: str = "first",
    keep: int = 8,
    least: float = 0.1,
    mean_max: float = 0.2,
    std_max: float = 0.05,
    drop: bool = False,
    count: int = 1,
) -> Gate:
    """Put an earlier success of the same task into a group that failed as a whole, so that it has something to say.

    When to use: long tasks with rare successes (ARPO for GUIs; DART with `swap="oldest", drop=True`), with an objective
    that bears old tokens: the success keeps its recorded logprobs and versions.

    Maths: a group with `mean R < mean_max` and `std R < std_max` (population) swaps `count` members for the newest
    stored successes; trajectories with `R > least` enter the store of their task, its `keep` newest stay.

    Args:
        swap: `first` puts it in the place of the first member; `oldest` removes the member of the oldest policy and
            appends it.
        keep: successes per task, >= 1.
        least: reward above which a trajectory is a success.
        mean_max: mean below which a group counts as failed.
        std_max: deviation below which its members count as equal, > 0.
        count: members that are swapped, >= 1; no more than are stored.
        drop: leave out failed groups for which nothing is stored, and groups that are all equally right.

    Returns:
        A gate whose state is the store.

    Raises:
        PartError: an unknown swap, or a value outside its range.
        BadReward: (when applied) a reward is NaN or infinite.

    Special cases: groups that are applied together do not see each other's successes; a run applies one at a time, as they
    come, and each of its processes has a store of its own. What was swapped in has the tag `replayed` and is not stored
    again; an empty group passes, or is left out with `drop`.

    Example:
        >>> replay_success().apply((), {})
        ((), {})

    Reference: Lu et al., 2025, arXiv 2505.16282; DART-GUI, 2025, arXiv 2509.23866. Differs from the paper: ARPO's
    release draws any of the stored ones.
    """
    if swap not in SWAPS:
        raise PartError(unknown("swap of replay_success", swap, SWAPS))
    if min(keep, count) < 1 or not std_max > 0:
        told = f"keep is {keep}, count {count}, std_max {std_max}"
        raise PartError(f"replay_success: {told}; keep and count >= 1 and std_max > 0 needed")

    def one(group: Group, stored: Sequence[Any]) -> Groups:
        equal = not group.rewards or pstdev(group.rewards) < std_max
        failed = not group.rewards or fmean(group.rewards) < mean_max
        if equal and failed and stored and group.trajectories:
            newest = [decode(Trajectory, t) for t in stored[-min(count, len(group.trajectories)) :]]
            free = max(t.episode for t in group.trajectories) + 1  # an episode of its own, not one that was played here
            told = [replace(t, tags={**t.tags, REPLAYED: True}, episode=free + i) for i, t in enumerate(newest)]
            return (replace(group, trajectories=SWAPS[swap](group.trajectories, told)),)
        return () if drop and equal else (group,)

    def apply(groups: Groups, state: State) -> tuple[Groups, State]:
        for group in groups:
            if not all(map(math.isfinite, group.rewards)):
                raise BadReward(f"task {group.task.key!r}: rewards {group.rewards} are not all finite; mend the reward")
        out = tuple(kept for g in groups for kept in one(g, state.get(g.task.key, ())))
        after = dict(state)
        for group in groups:
            new = [stored_form(t) for t in group.trajectories if t.reward > least and not t.tags.get(REPLAYED)]
            if new:
                after[group.task.key] = [*after.get(group.task.key, ()), *new][-keep:]
        return out, after

    return Transform(dict, apply)


def stored_form(trajectory: Trajectory) -> Any:
    """A trajectory as JSON for the store: without the private states and the streams of its own step."""
    return encode(replace(trajectory, states=(), streams={}))
