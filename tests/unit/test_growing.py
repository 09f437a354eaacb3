"""Groups that are not begun at once: they grow while rewards contradict what was expected, or fork where the policy is unsure."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

import pytest
from tests.unit.rollouts.test_episodes import TASK, Count, Engine, cast_of

from quintain.advantages import normalise, share_prefixes
from quintain.parts import chain
from quintain.ports import SOLO
from quintain.registry import build
from quintain.rollouts.episodes import PlanError
from quintain.runtime.measure import played, seen
from quintain.types import Group

UP = 0.7  # what three steps up earn


async def grown(column: float | None, **more: Any) -> Group:
    task = TASK if column is None else replace(TASK, params={"prior": column})
    engine = Engine(reply=["up"])
    group = await build("rollout", {"name": "sequential", "group_size": 2, "most": 5, **more})(
        task, cast_of(engine)[0], 7
    )
    keys = [r.key for r in engine.requests]
    assert len(set(keys)) == len(keys) == 3 * len(group.trajectories), "every member has noise of its own"
    return group


@pytest.mark.parametrize(
    ("prior", "more", "size"),
    [
        (UP, {}, 2),
        (3.0, {}, 5),
        (3.0, {"cost": 10.0}, 2),
        (3.0, {"most": 3}, 3),
        (None, {}, 2),
        (None, {"prior": 3.0}, 5),
        (UP, {"prior": 3.0}, 2),
        (UP, {"noise": 0.0, "reward": {"name": "env", "weights": {"cost": 0.0}}}, 2),
        (0.0, {"noise": 0.0, "reward": {"name": "env", "weights": {"cost": 0.0}}}, 5),
    ],
)
async def test_a_group_grows_while_its_rewards_contradict_the_prior(prior: float | None, more: dict, size: int) -> None:
    group = await grown(prior, **more)
    assert [t.id for t in group.trajectories] == [f"7.{k}" for k in range(size)]
    assert [t.episode for t in group.trajectories] == list(range(size)) and group.tags.get("added", 0) == size - 2
    assert group.rewards == pytest.approx([UP] * size), "it is the run that scores"


async def test_a_group_of_one_is_an_evaluation() -> None:
    assert len((await grown(9.0, group_size=1)).trajectories) == 1


class Pair(Count):
    """The same for two seats at once."""

    def seen(self, **rest: Any) -> Any:
        (said,) = super().seen(**rest).values()
        return {"one": said, "two": said}

    async def reset(self, task: Any) -> Any:
        return self.seen()

    async def step(self, moves: Any) -> Any:
        return await super().step({SOLO: moves["one"]})


@pytest.mark.parametrize("options", [{"name": "sequential", "prior": 9.0}, {"name": "branching", "base": 1.0}])
async def test_games_of_several_seats_neither_grow_nor_fork(options: dict) -> None:
    engine = Unsure({2}, reply=["up"]) if options["name"] == "branching" else Engine(reply=["up"])
    group = await build("rollout", {"group_size": 4, **options})(TASK, cast_of(engine, Pair)[0], 7)
    assert [t.id for t in group.trajectories] == [f"7.{k}.{seat}" for k in range(4) for seat in ("one", "two")]
    assert {t.fork for t in group.trajectories} == {None}


async def test_the_metrics_count_who_was_added_or_forked() -> None:
    groups = [seen(await grown(3.0)), seen(await branched(Unsure({2}, reply=wander)))]
    counted = played(groups, groups, [], 0)
    assert (counted["members_added"], counted["members_forked"]) == (3.0, 2.0)
    assert not {"members_added", "members_forked"} & set(played([seen(await grown(UP))], [], [], 0))


class Unsure(Engine):
    """Returns two alternatives of equal chance in the turns that are named, and a certain one in others."""

    def __init__(self, turns: set[int], **rest: Any) -> None:
        super().__init__(**rest)
        self.turns = turns

    async def generate(self, request: Any) -> Any:
        said = await super().generate(request)
        row = (log(0.5), log(0.5)) if request.key[3] in self.turns else (0.0,)
        assert request.sampling.top_logprobs == 10
        return replace(said, top_ids=((3,) * len(row),) * len(said.tokens), top_logprobs=(row,) * len(said.tokens))


def said_in(group: Group, member: int) -> list[str]:
    return [n.text for n in group.trajectories[member].nodes if n.sampling]


def wander(request: Any) -> str:
    return "down" if request.key[3] < 3 and request.key[0] % 2 else "up"


async def branched(engine: Engine, make: Any = Count, **more: Any) -> Group:
    options = {"name": "branching", "group_size": 4, "first": 2, "base": 0.0, "weight": 100.0, "max_turns": 6, **more}
    return await build("rollout", options)(TASK, cast_of(engine, make)[0], 7)


async def test_members_fork_where_the_policy_became_unsure() -> None:
    engine = Unsure({2}, reply=wander)
    group = await branched(engine)
    assert [t.fork for t in group.trajectories] == [None, None, ("7.0", 2, 0), ("7.1", 2, 0)]
    assert group.tags["forks"] == 2 and [t.id for t in group.trajectories] == [f"7.{k}" for k in range(4)]
    seeds = {r.key[0] for r in engine.requests}
    asked = sorted(min(r.key[3] for r in engine.requests if r.key[0] == seed) for seed in seeds)
    assert asked == [0, 0, 2, 2], "what was said already is not sampled again"
    for branch, parent in ((2, 0), (3, 1)):
        assert said_in(group, branch)[:2] == said_in(group, parent)[:2]
        logprobs = [n.spans for n in group.trajectories[branch].nodes if n.sampling]
        assert all(logprobs), "a repeated turn keeps the version it was sampled by"


async def test_a_turn_forks_once_and_the_rest_are_whole_episodes() -> None:
    group = await branched(Unsure({2}, reply=wander), group_size=7)
    assert [t.fork and t.fork[0] for t in group.trajectories] == [None, None, "7.0", "7.1", None, None, None]
    branches = await branched(Unsure({1, 2}, reply=["down", "down", "down", "up"]), group_size=4, first=1)
    assert [t.fork for t in branches.trajectories] == [None, ("7.0", 1, 0), ("7.0", 2, 0), ("7.1", 2, 0)]


async def test_an_unsure_first_turn_is_what_later_ones_are_compared_with() -> None:
    engine = Unsure({0, 1, 2, 3, 4, 5}, reply=wander)
    assert {t.fork for t in (await branched(engine)).trajectories} == {None}
    assert {t.fork for t in (await branched(Engine(reply=wander))).trajectories} == {None}, "no alternatives, no forks"


async def test_a_fork_stands_where_the_env_first_answered_otherwise() -> None:
    class Forgetful(Count):
        made = 0

        def __init__(self) -> None:
            super().__init__()
            Forgetful.made += 1
            self.number = Forgetful.made

        async def step(self, moves: Any) -> Any:
            self.at += 2 * (self.number > 2 and not self.steps)
            return await super().step(moves)

    group = await branched(Unsure({2}, reply=["down", "up"]), Forgetful)
    assert [t.fork for t in group.trajectories] == [None, None, ("7.0", 1, 0), ("7.1", 1, 0)]


async def test_shared_turns_earn_the_mean_of_their_branches() -> None:
    group = await branched(Unsure({2}, reply=wander), first=1, group_size=2)
    parent, branch = group.trajectories
    paid = tuple(replace(t, rewards={"r": r}) for t, r in ((parent, 1.0), (branch, 0.0)))
    part = chain(normalise(scale="none"), share_prefixes())
    (out,), _ = part.apply((replace(group, trajectories=paid),), part.init())
    rows = [
        [row[0] for n, row in zip(t.nodes, t.streams["advantage"], strict=True) if n.sampling] for t in out.trajectories
    ]
    assert [row[:2] for row in rows] == [[0.0, 0.0]] * 2 and (rows[0][2], rows[1][2]) == (0.5, -0.5)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"name": "sequential", "most": 0}, "most 0"),
        ({"name": "sequential", "redundancy": 2}, "rollout.redundancy=0"),
        ({"name": "branching", "hint": {"text": "x"}}, "hint"),
        ({"name": "branching", "group_size": 4, "first": 5}, "first 5"),
        ({"name": "branching", "base": 1.5}, "base 1.5"),
    ],
)
def test_what_cannot_work_is_refused(options: dict, told: str) -> None:
    with pytest.raises(PlanError, match=told):
        build("rollout", options)
