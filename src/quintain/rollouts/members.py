"""Groups that are played member by member, so that what came of some decides about the next."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from quintain.parts import Cast, Rollout
from quintain.rollouts.episodes import PlanError, episodes
from quintain.types import Group, Task


def draw(*of: int | str) -> int:
    """48 bits that depend on `of` alone.

    Example:
        >>> draw("fork", 0, 1) == draw("fork", 0, 1), draw("fork", 0, 1) == draw("fork", 1, 0)
        (True, False)
    """
    return int.from_bytes(hashlib.blake2b(repr(of).encode(), digest_size=6).digest(), "big")


def lone(name: str, options: dict[str, Any]) -> Rollout:
    """The rollout of one member.

    Raises:
        PlanError: an option of groups that are begun at once: redundant members, or hints for a share of the members.
    """
    for key, off in (("redundancy", "rollout.redundancy=0"), ("hint", "no rollout.options.hint")):
        if options.get(key):
            raise PlanError(f"{name}: {key} is {options[key]!r}, and its groups are not begun at once; set {off}")
    return episodes(group_size=1, **options)


async def member(one: Rollout, task: Task, cast: Cast, place: tuple[int, int]) -> Group:
    """Member `place[1]` of the group of ticket `place[0]`, under noise of its own, as a group.

    Its noise depends on the seed of the cast, the ticket and its number, whatever the others did.
    """
    ticket, number = place
    played = await one(task, replace(cast, seed=draw("member", cast.seed, number)), ticket)
    own = f"{ticket}.0"
    named = (replace(t, id=f"{ticket}.{number}{t.id.removeprefix(own)}", episode=number) for t in played.trajectories)
    return replace(played, trajectories=tuple(named))


def joined(task: Task, ticket: int, members: Sequence[Group]) -> Group:
    """The members as one group, with what was counted of them."""
    tags: dict[str, Any] = {}
    for tag, count in (("busy_s", sum), ("deadline_s", max)):
        if found := [m.tags[tag] for m in members if tag in m.tags]:
            tags[tag] = count(found)
    return Group(task=task, trajectories=tuple(t for m in members for t in m.trajectories), ticket=ticket, tags=tags)
