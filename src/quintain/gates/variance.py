"""Gates on the spread of a group's rewards."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from quintain.parts import BadReward, Gate, Groups, PartError, stateless
from quintain.registry import register, unknown
from quintain.types import Group


def _drop(_: Group) -> Groups:
    return ()


def _refill(group: Group) -> Groups:
    return (replace(group, tags={**group.tags, "refill": True}),)


VERDICTS: dict[str, Callable[[Group], Groups]] = {"drop": _drop, "refill": _refill}


@register(
    "gate",
    "zero_variance",
    methods={
        "Dynamic sampling": {
            "recipe": ('\'algorithm.gate=[{name="zero_variance",mode="refill"}]\'',),
            "cases": ("dapo_dynamic",),
            "shown": "tests/unit/gates/test_gates.py::test_equal_rewards_are_dropped_or_asked_for_again",
        }
    },
    paper="2503.14476",
    status="paper",
    confidence="code",
)
def zero_variance(mode: str = "drop", column: str = "", least: float = 0.0) -> Gate:
    """Leave out groups whose trajectories all earned the same: relative to each other they teach nothing.

    When to use: `drop` saves the learner's time; `refill` is DAPO's dynamic sampling: the step is filled up with other
    tasks.

    Maths: keep iff `max_i value_i - min_i value_i > least`, `value` [G] the rewards of the group.

    Args:
        mode: `drop`, or `refill`, which keeps the group in place with the tag `refill` for the loop to replace.
        column: judge by this named reward (accuracy, before any shaping) instead of the sum; a missing one counts 0.
        least: the spread up to which a group is left out, in units of reward, >= 0.

    Returns:
        A gate that needs rewards only, so it may run early.

    Raises:
        PartError: an unknown mode, or a negative spread.
        BadReward: (when applied) a reward is NaN or infinite.

    Special cases: a group of one or none has no spread.

    Example:
        >>> from quintain.types import Group, Stop, Task, Trajectory
        >>> runs = tuple(Trajectory(id=i, nodes=(), stop=Stop.done, rewards={"win": 1.0}) for i in "ab")
        >>> gate = zero_variance()
        >>> gate.apply((Group(task=Task(key="t", env="e"), trajectories=runs),), gate.init())
        ((), None)

    Reference: Yu et al., 2025, arXiv 2503.14476. Differs from the paper: keeps `0 < correct < G` for binary rewards,
    and any spread for graded ones; the number of refills is bounded by the loop.
    """
    if mode not in VERDICTS:
        raise PartError(unknown("mode of zero_variance", mode, VERDICTS))
    if not least >= 0:
        raise PartError(f"zero_variance: least is {least}; it must be >= 0")

    def judge(group: Group) -> Groups:
        values = [t.rewards.get(column, 0.0) if column else t.reward for t in group.trajectories]
        if not all(map(math.isfinite, values)):
            raise BadReward(f"task {group.task.key!r}: rewards {values} are not all finite; mend the reward part")
        return (group,) if values and max(values) - min(values) > least else VERDICTS[mode](group)

    return stateless(lambda groups: tuple(kept for g in groups for kept in judge(g)), apart=True)
