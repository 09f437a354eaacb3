"""Gates on what a group is like: how it did, how long it is, how much its members differ."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean

from quintain.parts import BadReward, Gate, Groups, PartError, stateless
from quintain.registry import register, unknown
from quintain.types import Group, Trajectory


def quality(group: Group, column: str = "") -> float:
    """The mean reward of the group, or of its named reward `column`.

    Example:
        >>> from quintain.types import Stop, Task
        >>> runs = tuple(Trajectory(id=i, nodes=(), stop=Stop.done, rewards={"win": float(i)}) for i in "01")
        >>> quality(Group(task=Task(key="t", env="e"), trajectories=runs))
        0.5
    """
    return fmean(t.rewards.get(column, 0.0) if column else t.reward for t in group.trajectories)


def length(group: Group, column: str = "") -> float:
    """The mean number of sampled tokens of its trajectories."""
    return fmean(t.length for t in group.trajectories)


def novelty(group: Group, column: str = "") -> float:
    """The share of its trajectories that differ: by their actions, or by their tokens where no actions were recorded."""
    return len({t.actions or _drawn(t) for t in group.trajectories}) / len(group.trajectories)


def _drawn(t: Trajectory) -> tuple[int, ...]:
    return tuple(token for n in t.nodes for token, drawn in zip(n.tokens, n.mask, strict=True) if drawn)


MEASURES: dict[str, Callable[[Group, str], float]] = {"quality": quality, "length": length, "novelty": novelty}


@register("gate", "band", status="paper", confidence="paper", example={"of": "quality", "least": 0.1, "most": 0.9})
def band(of: str = "quality", least: float = -math.inf, most: float = math.inf, column: str = "") -> Gate:
    """Keep the groups whose quality, length or novelty lies in a band.

    When to use: `quality` leaves out tasks that are far too easy or too hard; `length` those that ran away; `novelty`
    those whose members are all alike.

    Maths: keep iff `least <= m_g <= most`; m_g is the mean reward, the mean number of sampled tokens, or the share of
    distinct action sequences.

    Args:
        of: `quality`, `length` or `novelty`.
        least: lower end, inclusive.
        most: upper end, inclusive.
        column: the named reward that `quality` reads instead of the sum; a missing one counts 0.

    Returns:
        A gate that needs rewards and tokens only, so it may run early.

    Raises:
        PartError: an unknown measure, or `least` above `most`.
        BadReward: (when applied) a reward is NaN or infinite.

    Special cases: a group without trajectories is left out.

    Example:
        >>> band(of="length", most=4096).apply((), None)
        ((), None)
    """
    if of not in MEASURES:
        raise PartError(unknown("measure of band", of, MEASURES))
    if not least <= most:
        raise PartError(f"band: least is {least}, most {most}; least <= most needed")

    def judge(group: Group) -> bool:
        if not group.trajectories:
            return False
        value = MEASURES[of](group, column)
        if not math.isfinite(value):
            raise BadReward(
                f"task {group.task.key!r}: rewards {group.rewards} are not all finite; mend the reward part"
            )
        return least <= value <= most

    def apply(groups: Groups) -> Groups:
        return tuple(g for g in groups if judge(g))

    return stateless(apply)
