"""Some groups of a run at other temperatures (AEPO)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from quintain.parts import Cast, Rollout
from quintain.registry import register
from quintain.rollouts.episodes import PlanError, episodes
from quintain.types import Group, Task


@register("rollout", "hot")
def hot(every: int = 4, high: float = 1.2, low: float = 0.8, **kwargs: Any) -> Rollout:
    """Play one group in `every` at another temperature, in turns at `high` and at `low`; the others as `episodes` does.

    Use it with the advantage `imitate_hot`, which trains what came of the one and passes over the other.

    Args:
        every: groups among which one is played so, >= 1.
        high: the one temperature, > 0 and not 1.
        low: the other, likewise.
        **kwargs: options of `episodes`.

    Returns:
        A rollout. Which group is played how depends on its ticket alone.

    Raises:
        PlanError: a number is out of range.

    Special cases: groups of one, as evaluations play them, are never changed.
    """
    if every < 1 or min(high, low) <= 0 or 1.0 in (high, low):
        raise PlanError(f"hot: every is {every}, high {high}, low {low}; every >= 1, temperatures > 0 and not 1")
    inner = episodes(**kwargs)

    async def play(task: Task, cast: Cast, index: int) -> Group:
        if index % every == every - 1 and kwargs.get("group_size", 8) > 1:
            heat = high if index // every % 2 == 0 else low
            cast = replace(cast, sampling=replace(cast.sampling, temperature=heat))
        return await inner(task, cast, index)

    return play
