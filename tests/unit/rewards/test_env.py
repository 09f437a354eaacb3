import math

import pytest

from quintain.parts import BadReward
from quintain.registry import build, provenance
from quintain.rewards.env import PATIENCE, RewardError, all_of, env
from quintain.rewards.length import overlong, overlong_cost
from quintain.types import Completion, Group, Kind, Node, Role, Span, Stop, Task, Trajectory


def group_of(*rewards, lengths=()):
    lengths = lengths or (1,) * len(rewards)
    made = []
    for i, (named, n) in enumerate(zip(rewards, lengths, strict=True)):
        said = Completion(
            tokens=(1,) * n, logprobs=(0.0,) * n, finish="stop", spans=(Span(start=0, stop=n, version=0),)
        )
        heard = Node.given(None, (1, 2), role=Role.user, kind=Kind.prompt)
        made.append(Trajectory(id=f"0.{i}", nodes=(heard, Node.sampled(0, said)), stop=Stop.done, rewards=named))
    return Group(task=Task(key="k", env="e"), trajectories=tuple(made))


async def test_the_envs_rewards_pass_as_they_are_or_weighted():
    group = group_of({"a": 1.0, "b": 2.0}, {"a": 3.0})
    assert await env()(group) is group and group.rewards == (3.0, 3.0)
    weighted = await env({"b": 0.0, "a": -2.0})(group)
    assert weighted.rewards == (-2.0, -6.0) and dict(weighted.trajectories[0].rewards) == {"a": -2.0, "b": 0.0}


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
async def test_rewards_that_are_not_finite_are_refused_by_name(bad):
    with pytest.raises(BadReward, match=r"reward 'b' of trajectory 0\.1 \(task k\) is"):
        await env()(group_of({"a": 1.0}, {"b": bad}))


async def test_parts_are_applied_in_order_and_weighed_by_name():
    part = all_of("env", {"name": "overlong", "limit": 4, "margin": 2}, weights={"overlong": 10.0})
    scored = await part(group_of({"a": 1.0}, {"a": 1.0}, lengths=(1, 3)))
    assert scored.rewards == (1.0, -4.0)
    for patience, part in (
        (PATIENCE, all_of(overlong(4, 2), weights={"overlng": 1.0})),
        (1, env(weights={"overlng": 1.0})),
    ):
        for _ in range(patience):
            assert (await part(group_of({}))).rewards == (0.0,), "many worlds name no reward until it is earned"
        with pytest.warns(
            UserWarning, match="no episode so far has a reward 'overlng', so that it counts 0; there are: a"
        ):
            await part(group_of({"a": 1.0}))
    assert (await all_of(weights={"a": 2.0})(group_of())).trajectories == ()


def test_parts_round_trip_through_data():
    spec = {
        "name": "all",
        "parts": [{"kind": "reward", "name": "overlong", "limit": 8, "margin": 2}],
        "weights": {"a": 2},
    }
    assert provenance(build("reward", spec)) == {"kind": "reward", **spec}


async def test_overlong_punishment_is_the_published_curve():
    # DAPO: L_max 20480, cache 4096
    for length, cost in ((100, 0.0), (16384, 0.0), (16385, -1 / 4096), (18432, -0.5), (20480, -1.0), (30000, -1.0)):
        assert overlong_cost(length, 20480, 4096) == pytest.approx(cost)
    scored = await overlong(10, 4, scale=2.0, label="long")(group_of({"a": 1.0}, {}, lengths=(8, 11)))
    assert [dict(t.rewards) for t in scored.trajectories] == [{"a": 1.0, "long": -1.0}, {"long": -2.0}]
    for bad in ({"limit": 4, "margin": 5}, {"limit": 4, "margin": 0}, {"limit": 4, "margin": 1, "scale": -1}):
        with pytest.raises(RewardError):
            overlong(**bad)
