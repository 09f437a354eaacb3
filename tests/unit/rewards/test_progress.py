"""Shaping of episodes: potentials, progress, foresight, agreement."""

from __future__ import annotations

import json
from typing import Any

import pytest

from quintain.parts import BadReward
from quintain.rewards.agreement import consistent_information
from quintain.rewards.env import RewardError
from quintain.rewards.progress import pay_progress, reflect, shape_potential
from quintain.types import Completion, Group, Node, Span, Stop, Task, Trajectory


def run(
    name: str, reward: float, *, turns: int = 1, logp: float = -0.5, stop: Stop = Stop.done, **rest: Any
) -> Trajectory:
    nodes = [Node.given(None, (1, 2))]
    for turn in range(turns):
        said = Completion(tokens=(5,), logprobs=(logp,), finish="stop", spans=(Span(start=0, stop=1, version=0),))
        nodes.append(Node.sampled(len(nodes) - 1, said, turn=turn))
    return Trajectory(id=name, nodes=tuple(nodes), stop=stop, rewards={"win": reward}, **rest)


def group(*runs: Trajectory, key: str = "k") -> Group:
    return Group(task=Task(key=key, env="e"), trajectories=runs)


async def test_potentials_telescope_and_end_at_zero() -> None:
    tags = {"potential": [0.25, 0.5, 1.0]}
    done = run("a", 1.0, turns=2, tags=tags, turn_rewards=(0.0, 1.0))
    cut = run("b", 0.0, turns=2, tags=tags, stop=Stop.truncated_turns)
    out = await shape_potential()(group(done, cut))
    assert [t.turn_rewards for t in out.trajectories] == [(0.25, 0.5), (0.25, 0.5)]
    assert [t.rewards["potential"] for t in out.trajectories] == [-0.25, 0.75]
    assert out.rewards == (0.75, 0.75)
    assert (await shape_potential(end_at_zero=False)(group(done))).rewards == (1.75,)


async def test_potentials_of_the_private_states_are_read_and_their_number_is_checked() -> None:
    one = run("a", 0.0, turns=1, states=({"x": 1.0}, {"x": 3.0}))
    part = shape_potential(path=lambda state: state["x"], gamma=0.5, end_at_zero=False)
    assert (await part(group(one))).rewards == (0.5,)
    lost = run("b", 0.0, turns=2, states=({"x": 1.0}, {"x": 3.0}), stop=Stop.crashed)
    assert (await shape_potential(path=lambda s: s["x"])(group(lost))).trajectories[0].turn_rewards == (2.0, -3.0)
    with pytest.raises(RewardError, match="0 potentials for 1 turns"):
        await shape_potential()(group(run("c", 0.0)))
    with pytest.raises(BadReward):
        await shape_potential()(group(run("d", 0.0, tags={"potential": [float("inf"), 0.0]})))


def test_progress_is_paid_beyond_the_best_of_earlier_steps_and_fades() -> None:
    part = pay_progress(steps=2)
    first = group(run("a", 1.0), run("b", 0.0, tags={"progress": 0.75}))
    (out,), state = part.apply((first,), part.init())
    assert [t.rewards["progress"] for t in out.trajectories] == [1.0, 0.75]
    (out,), state = part.apply((first,), json.loads(json.dumps(state)))
    assert [t.rewards["progress"] for t in out.trajectories] == pytest.approx(
        [0.5 * 2.71828**-2.5, 0.25 * 2.71828**-2.5], rel=1e-4
    )
    assert state == {"step": 2, "best": {"k": 0.5}}
    (other,), _ = part.apply((group(run("c", 0.0, tags={"progress": 7.0}), key="new"),), part.init())
    assert other.trajectories[0].rewards["progress"] == 1.0
    with pytest.raises(BadReward, match="'progress'"):
        part.apply((group(run("d", 0.0, tags={"progress": float("nan")})),), part.init())


async def test_foresight_is_paid_by_what_was_reflected_on() -> None:
    won, lost = run("a", 2.0), run("b", 0.0, episode=1)
    seers = [
        run("x", 0.0, role="reflector", call_parent="a", tags={"predicted": True}),
        run("y", 0.0, role="reflector", episode=1, tags={"predicted": False}),
        run("z", 0.0, role="reflector", episode=1),
    ]
    assert (await reflect()(group(won, lost, *seers))).rewards == (2.0, 0.0, 2.0, 0.0, 0.0)
    assert (await reflect(scale=10.0)(group(won, lost, *seers))).rewards == (2.0, 0.0, 10.0, 10.0, 0.0)
    with pytest.raises(RewardError, match="not in its group"):
        await reflect()(group(seers[0]))


async def test_a_seat_that_reflects_is_paid_where_one_policy_plays_all() -> None:
    player = run("a", 1.0, role="policy", agent="player")
    seer = run("b", 0.0, role="policy", agent="reflector", tags={"predicted": True})
    assert (await reflect()(group(player, seer))).rewards == (1.0, 1.0)


async def test_paraphrases_that_say_as_much_are_stable() -> None:
    a, b, c = (run(n, 0.0, logp=p, tags={"paraphrase": k}) for n, p, k in (("a", -1, 0), ("b", -2, 0), ("c", -2.5, 1)))
    part = consistent_information(stable=1.0, rich=1.0, most=2.5)
    assert (await part(group(a, b, c))).rewards == pytest.approx((0.5 + 0.4, 0.5 + 0.8, 0.5 + 1.0))
    assert (await part(group(a, b))).rewards == pytest.approx((1.4, 1.8))
