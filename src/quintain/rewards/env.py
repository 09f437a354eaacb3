"""The rewards that the env gave, as they are or weighted, and what combines reward parts."""

from __future__ import annotations

import contextlib
import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from quintain.parts import BadReward, Reward
from quintain.registry import register, resolve, user_object
from quintain.types import Group, QuintainError, Trajectory


class RewardError(QuintainError):
    """A reward could not be computed; the message names task, trajectory and cause."""


def checked(value: float, name: str, group: Group, trajectory: Trajectory) -> float:
    """`value` as a float.

    Raises:
        BadReward: it is NaN or infinite.
    """
    value = float(value)
    if not math.isfinite(value):
        raise BadReward(
            f"reward {name!r} of trajectory {trajectory.id} (task {group.task.key}) is {value}; rewards must be finite"
        )
    return value


def rewarded(group: Group, trajectory: Trajectory, more: Mapping[str, float]) -> Trajectory:
    """`trajectory` with the named rewards `more` added to those it has."""
    checked_ = {name: checked(value, name, group, trajectory) for name, value in more.items()}
    return replace(trajectory, rewards={**trajectory.rewards, **checked_})


PATIENCE = 32  # groups


class Wanted:
    """Warns of rewards that a part reads and no episode so far has, once each.

    Not before any was earned, as many worlds name none until then.

    Args:
        part: who reads them.
        after: so many groups, where other parts give rewards to episodes that earned none.
    """

    def __init__(self, part: str, after: int = 0) -> None:
        self.part, self.left, self.seen, self.told = part, after, set[str](), set[str]()

    def see(self, group: Group, names: Iterable[str]) -> None:
        """Look at a group of which the part reads these."""
        self.seen |= {name for t in group.trajectories for name in t.rewards}
        self.left -= 1
        for name in sorted({*names} - self.seen - self.told) if self.seen and self.left < 0 else ():
            self.told.add(name)
            warnings.warn(
                f"{self.part}: no episode so far has a reward {name!r}, so that it counts 0; there are: {', '.join(sorted(self.seen))}",
                stacklevel=2,
            )


def function_of(path: str | Callable[..., Any], part: str, *given: str) -> Any:
    """The function of the user's that a part calls with `given`, in that order.

    Raises:
        UnknownName: no such file or function.
        RewardError: it is none, or its signature, where it can be read, says that it takes others.
    """
    found: Any = user_object(path) if isinstance(path, str) else path
    if not callable(found):
        raise RewardError(
            f"{part}: {path!r} is a {type(found).__name__}, and a function of {', '.join(given)} is wanted"
        )
    with contextlib.suppress(ValueError):  # of some that are written in C: scoring will tell
        signature = inspect.signature(found)
        try:
            signature.bind(*given)
        except TypeError as error:
            name = getattr(found, "__name__", type(found).__name__)
            raise RewardError(
                f"{part}: {name}{signature} is called with {', '.join(given)}: {error}; have it take these {len(given)}, by place"
            ) from error
    return found


@register("reward", "env")
def env(weights: Mapping[str, float] | None = None) -> Reward:
    """The env's named rewards; the scalar is their sum.

    Args:
        weights: factor of each named reward; names that are not given keep the factor 1, and 0 takes one out of the
            sum.

    Raises:
        BadReward: (when scoring) a reward is not finite.

    Special cases: without weights the group is returned as it is. A weight of a reward that no episode so far has, where they have
    others, is warned of once.
    """
    factors, wanted = dict(weights or {}), Wanted("env")

    async def score(group: Group) -> Group:
        for trajectory in group.trajectories:
            for name, value in trajectory.rewards.items():
                checked(value, name, group, trajectory)
        if not factors:
            return group
        wanted.see(group, factors)
        scaled = tuple(_scaled(group, t, factors) for t in group.trajectories)
        return replace(group, trajectories=scaled)

    return score


def _scaled(group: Group, trajectory: Trajectory, factors: Mapping[str, float]) -> Trajectory:
    rewards = {n: v * factors.get(n, 1.0) for n, v in trajectory.rewards.items()}
    return replace(trajectory, rewards=rewards)


@register("reward", "all")
def all_of(*parts: Reward | Mapping[str, Any] | str, weights: Mapping[str, float] | None = None) -> Reward:
    """Score with one part after the other, then weigh the named rewards.

    Use it to combine, say, an answer check and a length cost.

    Args:
        parts: reward parts, or their names and options; each adds its named rewards.
        weights: factor of each named reward in the end, 1 where none is given.

    Special cases: a weight of a reward that no episode of the first groups has, where they have others, is warned of once.
    """
    factors, wanted = dict(weights or {}), Wanted("all", after=PATIENCE)
    made: list[Reward] = [resolve("reward", part) for part in parts]

    async def score(group: Group) -> Group:
        for part in made:
            group = await part(group)
        wanted.see(group, factors)
        return replace(group, trajectories=tuple(_scaled(group, t, factors) for t in group.trajectories))

    return score


@register("reward", "recycled", paper="2509.22624", status="paper", confidence="code", example={"solve": "number"})
def recycled(
    solve: Reward | Mapping[str, Any] | str = "exact", judge: Reward | Mapping[str, Any] | str = "exact"
) -> Reward:
    """Score verdicts on answers by one reward part, and the answers themselves by another.

    Use it with the sampler `recycle`, whose verdicts are words, while the answers may be numbers or mathematics.

    Args:
        solve: for tasks of the data and wrong answers to mend: a reward part, or its name and options.
        judge: for the tasks of the kinds `single` and `pair`.

    Raises:
        UnknownName: no such reward part.

    Reference: SPARK, 2025, arXiv 2509.22624. Differs from the paper: nothing known.
    """
    parts: dict[bool, Reward] = {False: resolve("reward", solve), True: resolve("reward", judge)}

    async def score(group: Group) -> Group:
        return await parts[group.task.params.get("recycled") in ("single", "pair")](group)

    return score


def per_trajectory(value: Callable[[Group, Trajectory], Mapping[str, float]]) -> Reward:
    """A reward part that adds to each trajectory the named rewards `value(group, trajectory)`.

    Example:
        >>> import asyncio
        >>> from quintain.types import Stop, Task
        >>> group = Group(task=Task(key="t", env="e"), trajectories=(Trajectory(id="a", nodes=(), stop=Stop.done),))
        >>> asyncio.run(per_trajectory(lambda group, one: {"turns": one.turns})(group)).rewards
        (0.0,)
    """

    async def score(group: Group) -> Group:
        return replace(group, trajectories=tuple(rewarded(group, t, value(group, t)) for t in group.trajectories))

    return score
