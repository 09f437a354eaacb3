"""Rollouts whose groups differ by their tickets: other temperatures, longer episodes."""

from __future__ import annotations

import pytest
from tests.unit.rollouts.test_episodes import TASK, Engine, cast_of

from quintain.registry import build
from quintain.rollouts.episodes import PlanError
from quintain.types import Stop, Task


async def temperatures(size: int) -> list[set[float]]:
    engine, seen = Engine(reply=["up"] * 400), []
    cast, _ = cast_of(engine)
    rollout = build("rollout", {"name": "hot", "every": 2, "high": 1.5, "low": 0.5, "group_size": size})
    for ticket in range(4):
        engine.requests.clear()
        group = await rollout(TASK, cast, ticket)
        seen.append({r.sampling.temperature for r in engine.requests})
        assert {n.sampling.temperature for t in group.trajectories for n in t.nodes if n.sampling} == seen[-1]
    return seen


async def test_every_second_group_is_hot_and_cool_in_turns() -> None:
    assert await temperatures(2) == [{1.0}, {1.5}, {1.0}, {0.5}]
    assert await temperatures(1) == [{1.0}] * 4, "groups of one are evaluations"


async def test_episodes_grow_longer_stage_by_stage() -> None:
    async def turns(size: int, **more: int) -> list[int]:
        cast, _ = cast_of(Engine(reply=["down"] * 400))
        options = {"name": "scaling_inter", "turns": [2, 4], "every": 3, "groups": 2, "group_size": size, **more}
        rollout = build("rollout", options)
        groups = [await rollout(Task(key="t", env="Count"), cast, ticket) for ticket in (0, 5, 6, 99)]
        assert all(t.stop is Stop.truncated_turns for g in groups for t in g.trajectories)
        return [t.turns for g in groups for t in g.trajectories]

    assert await turns(2) == [2] * 4 + [4] * 4
    assert await turns(1, max_turns=7) == [7] * 4


BAD = [{"name": "hot", "high": 1.0}, {"name": "hot", "every": 0}, {"name": "scaling_inter", "turns": []}]


@pytest.mark.parametrize("options", BAD)
def test_numbers_out_of_range_are_refused(options: dict) -> None:
    with pytest.raises(PlanError, match=options["name"]):
        build("rollout", options)
