"""Poison tasks: those whose env failed every time are set aside, told of, and not drawn again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from quintain.runtime.failures import failed, told
from quintain.types import Group, QuintainError, Task

DRAWS = 10_000  # poison tasks in a row after which the sampler is taken to have no others


class OnlyPoison(QuintainError):
    """The sampler draws nothing but tasks in quarantine; the message names one and its cause."""


def key_of(task: Task) -> str:
    """What makes two tasks the same one."""
    return f"{task.env}:{task.key}"


class Quarantine:
    """Counts the tries of each task that its env spoiled, retries included, as long as no try got through.

    Args:
        limit: spoiled tries after which a task is set aside, >= 1; 0 never sets one aside.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.tries: dict[str, int] = {}
        self.poison: dict[str, str] = {}  # with the cause

    def holds(self, task: Task) -> bool:
        """Whether the task is not to be played."""
        return bool(self.poison) and key_of(task) in self.poison

    def refuses(self, group: Group) -> bool:
        """Whether the group is to be left out: its env spoiled all of it, and the limit is reached."""
        key, spoiled = key_of(group.task), _spoiled(group)
        return spoiled > 0 and self.limit > 0 and (key in self.poison or self.tries.get(key, 0) + spoiled >= self.limit)

    def see(self, group: Group) -> dict[str, Any] | None:
        """Count a finished group; what to write down when its task is set aside now."""
        key, spoiled = key_of(group.task), _spoiled(group)
        if not spoiled or not self.limit:
            self.tries.pop(key, None)
            return None
        self.tries[key] = self.tries.get(key, 0) + spoiled
        if key in self.poison or self.tries[key] < self.limit:
            return None
        first = group.trajectories[0]
        self.poison[key] = told(first.events, first.stop)
        return {"task": group.task.key, "env": group.task.env, "tries": self.tries.pop(key), "cause": self.poison[key]}

    def exhausted(self, task: Task) -> OnlyPoison:
        """The error for a sampler that draws nothing else."""
        return OnlyPoison(
            f"{DRAWS:,} tasks were drawn in a row and all are in quarantine, such as {task.key} ({self.poison[key_of(task)]}); mend "
            "the env or the task, or raise model.context where it leaves no room; rollout.quarantine=0 has them played nevertheless"
        )

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"tries": dict(self.tries), "poison": dict(self.poison)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to what `state` gave."""
        self.tries, self.poison = dict(state["tries"]), dict(state["poison"])


def _spoiled(group: Group) -> int:
    """Tries of the group, if its env spoiled every one of them; else 0."""
    if not group.trajectories or not all(failed(t) for t in group.trajectories):
        return 0
    return sum(1 + sum(e.startswith("retry ") for e in t.events) for t in group.trajectories)


def without_failed(group: Group) -> Group:
    """The group without the trajectories that its env ended by a fault; unchanged where none or all of them are."""
    good = tuple(t for t in group.trajectories if not failed(t))
    return replace(group, trajectories=good) if 0 < len(good) < len(group.trajectories) else group
