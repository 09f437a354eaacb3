"""Fronts against brute force, the archive, and rewards of several objectives."""

from __future__ import annotations

import math

import numpy as np
import pytest

from quintain.parts import BadReward
from quintain.rewards.env import RewardError
from quintain.rewards.fronts import Archive, barrier, best, crowding, front, hypervolume, scalarise, sparsity
from quintain.types import Group, Stop, Task, Trajectory


@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
def test_the_volume_is_what_random_points_find_under_the_front(objectives: int) -> None:
    rng = np.random.default_rng(objectives)
    points = rng.integers(0, 5, (6, objectives)).astype(float)
    cells = np.stack(np.meshgrid(*[np.arange(5) + 0.5] * objectives), -1).reshape(-1, objectives)
    under = (cells[:, None] < points[None]).all(-1).any(-1).sum()
    assert hypervolume(points.tolist(), [0.0] * objectives) == pytest.approx(float(under))
    kept = [points[i].tolist() for i in front(points.tolist())]
    assert hypervolume(kept, [0.0] * objectives) == pytest.approx(float(under))


def test_degenerate_fronts_have_plain_measures() -> None:
    assert front([]) == [] and front([[1.0], [1.0]]) == [0, 1]
    assert crowding([[1.0, 1.0]]) == [math.inf] and crowding([]) == []
    assert crowding([[0.0, 1.0], [0.5, 1.0], [1.0, 1.0]])[2] == math.inf
    assert sparsity([[1.0, 2.0]]) == 0.0 and sparsity([]) == 0.0
    assert hypervolume([], [0.0]) == 0.0 and hypervolume([[-1.0, 5.0]], [0.0, 0.0]) == 0.0
    assert barrier([1.0, 0.5], [1.0, 1.0], 0) == -math.inf
    with pytest.raises(RewardError, match="no point"):
        best([], [1.0])


def test_an_archive_forgets_what_is_dominated_and_refuses_what_does_not_fit() -> None:
    archive = Archive().add([1.0, 3.0], "a").add([3.0, 1.0], "b").add([2.0, 2.0], "c").add([2.5, 2.5], "d")
    assert archive.items == ("a", "b", "d") and archive.loneliest(2) == ["a", "b"]
    with pytest.raises(RewardError, match="finite"):
        archive.add([1.0])


def group(*rewards: dict[str, float], **params: object) -> Group:
    runs = tuple(
        Trajectory(id=str(i), nodes=(), stop=Stop.done, rewards=r, turn_rewards=(1.0,)) for i, r in enumerate(rewards)
    )
    return Group(task=Task(key="k", env="e", params=params), trajectories=runs)


async def test_objectives_become_one_reward_and_stay_in_a_tag() -> None:
    part = scalarise({"win": 0.75, "cheap": 0.25})
    out = await part(group({"win": 1.0, "cheap": -1.0, "form": 0.5}))
    one = out.trajectories[0]
    assert dict(one.rewards) == {"form": 0.5, "objective": 0.5} and one.turn_rewards == ()
    assert one.tags["objectives"] == {"win": 1.0, "cheap": -1.0}
    worst = scalarise({"win": 0.75, "cheap": 0.25}, "tchebycheff", ideal={"cheap": 0.0})
    with pytest.warns(UserWarning, match="scalarise: no episode so far has a reward 'win', .*: cheap$"):
        assert (await worst(group({"cheap": -1.0}))).rewards == (-0.75,)
    assert (await worst(group({"cheap": -1.0}))).rewards == (-0.75,)  # it is said once
    with pytest.raises(BadReward, match="'win'"):
        await part(group({"win": math.nan}))


async def test_weights_may_stand_in_the_task() -> None:
    assert (await scalarise()(group({"win": 1.0}, weights={"win": 0.25}))).rewards == (0.25,)
    with pytest.raises(RewardError, match="'weights'"):
        await scalarise()(group({"win": 1.0}))
