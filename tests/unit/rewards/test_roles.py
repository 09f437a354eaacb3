"""Rewards by rank, by role and by comparison, on groups."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from quintain.parts import BadReward
from quintain.rewards.duels import debate, pairwise, strengths
from quintain.rewards.env import RewardError
from quintain.rewards.graded import f1, gated
from quintain.rewards.progress import shape_potential
from quintain.rewards.roles import pay_role, red_team, signed
from quintain.types import Completion, Group, Node, Span, Stop, Task, Trajectory


def run(name: str, rewards: dict[str, float] | None = None, text: str = "", **rest: Any) -> Trajectory:
    said = Completion(tokens=(1,), logprobs=(0.0,), finish="stop", spans=(Span(start=0, stop=1, version=0),))
    nodes = (Node.given(None, (1, 2)), Node.sampled(0, said, text=text))
    return Trajectory(id=name, nodes=nodes, stop=Stop.done, rewards=rewards or {}, **rest)


def group(*runs: Trajectory, **params: Any) -> Group:
    return Group(task=Task(key="k", env="e", params=params), trajectories=runs)


async def test_a_shut_gate_takes_the_lesser_rewards_and_the_turns_they_came_in() -> None:
    won = run("a", {"tests": 1.0, "style": 0.25, "cost": -0.5}, turn_rewards=(0.25, 0.5))
    lost = run("b", {"tests": 0.0, "style": 0.25, "cost": -0.5}, turn_rewards=(0.25, -0.5))
    out = await gated([["tests"], ["style"]])(group(won, lost))
    assert out.trajectories[0] is won
    assert dict(out.trajectories[1].rewards) == {"tests": 0.0, "style": 0.0, "cost": -0.5}
    assert out.trajectories[1].turn_rewards == ()
    third = await gated([["tests"], ["style"], ["cost"]], threshold=0.3)(group(won))
    assert dict(third.trajectories[0].rewards) == {"tests": 1.0, "style": 0.25, "cost": 0.0}
    assert (await gated([["tests"], ["style"]], strict=False)(group(lost))).trajectories[0] is lost
    with pytest.raises(BadReward, match="'tests' of trajectory a"):
        await gated([["tests"], ["style"]])(group(run("a", {"tests": float("nan"), "style": 0.0})))


async def test_a_level_that_no_episode_has_is_told_of_once_others_are_earned() -> None:
    part, lost, won = gated([["tests"], ["success"]]), run("a"), run("b", {"success": 1.0})
    await part(group(lost))
    with pytest.warns(UserWarning, match="gated: no episode so far has a reward 'tests', .*: success$"):
        await part(group(lost, won))
    await part(group(lost, won))
    rare = gated([["success"], ["style"]])
    await rare(group(run("c", {"success": 1.0, "style": 0.5})))
    await rare(group(lost, won))


@pytest.mark.parametrize("levels", [[["a"]], [["a"], ["a"]]])
def test_levels_that_cannot_be_ranked_are_refused(levels: list[list[str]]) -> None:
    with pytest.raises(RewardError, match="two or more"):
        gated(levels)


async def test_a_proposer_is_paid_by_those_who_worked_on_what_it_made() -> None:
    one, two = run("p", role="proposer"), run("q", role="proposer", tags={"invalid": True})
    tries = [run(f"s{i}", {"win": r}, role="solver", call_parent="p") for i, r in enumerate((1.0, 0.0, 0.0, 0.0))]
    other = run("t", {"win": 1.0}, role="solver", call_parent="q")
    out = await pay_role(to="proposer", bad=-1.0)(group(one, two, *tries, other))
    assert out.rewards == (0.75, -1.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    loose = [run(f"s{i}", {"win": r}, role="solver") for i, r in enumerate((1.0, 0.0))]
    assert (await pay_role(to="proposer", rule="injector")(group(one, *loose))).rewards[0] == pytest.approx(0.1)
    assert (await pay_role(to="proposer", bad=-1.0)(group(one))).rewards == (-1.0,)


async def test_an_attacker_and_a_defender_are_judged_by_the_labels_of_their_episode() -> None:
    tags = {"prompt_harm": 1, "response_harm": 0, "refusal": 1}
    seats = [run("a", role="attacker"), run("d", role="defender", tags=tags, events=("malformed",))]
    bare = run("x", role="attacker", episode=1)
    out = await red_team(format_cost=1.0)(group(*seats, bare, harmful=True))
    assert out.rewards == (0.0, 1.0, 0.0)
    with pytest.raises(RewardError, match="no column 'harmful'"):
        await red_team()(group(*seats))


async def test_flaws_cost_the_right_ones_only() -> None:
    runs = [run("a", {"correct": 1.0}, tags={"flawed": True}), run("b", {"correct": 0.0}, tags={"flawed": True})]
    assert (await signed(flaw=0.75)(group(*runs))).rewards == (0.25, -1.0)


async def test_calls_are_the_turns_unless_counted() -> None:
    one = run("a", tags={"solved": 1, "calls": 3})
    assert (await f1()(group(one, subtasks=1))).rewards == (1.0,)
    assert (await f1(calls="calls")(group(one, subtasks=1))).rewards == (0.5,)
    with pytest.raises(RewardError, match="'subtasks'"):
        await f1()(group(one))


async def test_every_pair_is_judged_and_the_order_may_be_changed() -> None:
    asked = []

    async def first_is_best(first: str, second: str, task: Task) -> float:
        asked.append((first, second))
        return 1.0

    runs = [run(n, text=n) for n in "abc"]
    assert (await pairwise(first_is_best)(group(*runs))).rewards == (1.0, 0.5, 0.0)
    assert asked == [("a", "b"), ("a", "c"), ("b", "c")]
    assert (await pairwise(first_is_best, both=True)(group(*runs))).rewards == (0.5, 0.5, 0.5)
    assert (await pairwise(first_is_best)(group(runs[0]))).rewards == (0.5,)
    with pytest.raises(RewardError, match=r"returned 2\.0"):
        await pairwise(lambda first, second, task: 2.0)(group(*runs))


@pytest.mark.parametrize(
    ("make", "wrong", "said"),
    [
        (pairwise, lambda first, second: 1.0, r"pairwise: <lambda>\(.*\) is called with first, second, task: too many"),
        (
            debate,
            lambda first, second, task, more: 1.0,
            "debate: .*: missing a required argument: 'more'; have it take these 3",
        ),
        (partial(shape_potential, 1.0), lambda: 0.0, "shape_potential: .* is called with state"),
        (pairwise, "os:sep", "pairwise: 'os:sep' is a str, and a function of first, second, task"),
    ],
)
def test_a_judge_of_other_parameters_is_refused_when_it_is_named(make: Any, wrong: Any, said: str) -> None:
    with pytest.raises(RewardError, match=said):
        make(wrong)
    assert make(lambda *all: 0.0) and make(max)  # whose signature cannot be read


def test_strengths_find_the_order_that_made_the_duels() -> None:
    true = [1.0, 0.0, -1.0]
    odds = [[2.718281828459045**a / (2.718281828459045**a + 2.718281828459045**b) for b in true] for a in true]
    assert strengths([[1e6 * p for p in row] for row in odds]) == pytest.approx(true, abs=1e-4)
    always = strengths([[0, 9, 9], [0, 0, 9], [0, 0, 0]])
    assert always == sorted(always, reverse=True) and abs(sum(always)) < 1e-9
    assert strengths([[0.5]]) == [0.0] and strengths([]) == []


async def test_a_debate_pays_one_side_what_it_costs_the_other() -> None:
    seats = [
        run("d", {"env": 0.8}, role="doctor", turn_rewards=(0.8,)),
        run("a", text="fever", role="first", tags={"verdict": -0.5}),
        run("b", text="pressure", role="second"),
    ]
    out = await debate(decider="doctor", share=0.25)(group(*seats))
    assert out.rewards == pytest.approx((0.75 * 0.8 - 0.25 * 0.5, -0.5, 0.5))
    assert out.trajectories[0].turn_rewards == pytest.approx((0.6,))
    assert (await debate()(group(*seats))).trajectories[0] is seats[0]  # nobody decides: only the sides are paid

    async def judge(first: str, second: str, task: Task) -> float:
        return 1.0 if (first, second) == ("fever", "pressure") else -1.0

    assert (await debate(judge)(group(*seats))).rewards == pytest.approx((0.8, 1.0, -1.0))
    other = [run("c", text="pressure", role="first", episode=1), run("e", text="fever", role="second", episode=1)]
    assert (await debate(judge)(group(*seats, *other))).rewards == pytest.approx((0.8, 1.0, -1.0, -1.0, 1.0))
    named = [replace(t, role="policy", agent=t.role) for t in seats]  # one policy plays all seats
    assert (await debate(judge, decider="doctor")(group(*named))).rewards[1:] == pytest.approx((1.0, -1.0))
    alone = group(run("a", {"env": 1.0}, role="first"))
    assert (await debate(judge)(alone)).trajectories[0] is alone.trajectories[0]


async def test_a_debate_without_a_verdict_or_with_a_wrong_one_is_told() -> None:
    sides = [run("a", role="first"), run("b", role="second")]
    with pytest.raises(RewardError, match="tag 'verdict'"):
        await debate()(group(*sides))
    with pytest.raises(RewardError, match=r"is 2\.0; it must lie in \[-1, 1\]"):
        await debate(lambda first, second, task: 2.0)(group(*sides))
    for wrong in ({"share": 1.5}, {"sides": ["first", "first"]}, {"decider": "first"}):
        with pytest.raises(RewardError, match="share in"):
            debate(**wrong)
