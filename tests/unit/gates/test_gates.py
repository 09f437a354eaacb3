"""Verdicts of gates: keep, drop, refill."""

from __future__ import annotations

import math

import pytest

from quintain.gates import drop_stale, zero_variance
from quintain.parts import BadReward, PartError
from quintain.types import Completion, Group, Node, Span, Stop, Task, Trajectory


def group(*rewards: float, ticket: int = 0, versions: tuple[int, ...] = (), admitted: int = 0) -> Group:
    nodes: tuple[Node, ...] = ()
    if versions:
        spans = tuple(Span(start=i, stop=i + 1, version=v) for i, v in enumerate(versions))
        n = len(versions)
        done = Completion(tokens=(1,) * n, logprobs=(0.0,) * n, finish="stop", spans=spans)
        nodes = (Node.sampled(None, done),)
    runs = tuple(
        Trajectory(id=str(i), nodes=nodes, stop=Stop.done, rewards={"win": r, "style": 0.25 * i})
        for i, r in enumerate(rewards)
    )
    return Group(task=Task(key="t", env="e"), trajectories=runs, ticket=ticket, version=admitted, tags={"mine": 1})


def test_equal_rewards_are_dropped_or_asked_for_again() -> None:
    same, mixed = group(1.0, 1.0, ticket=1), group(1.0, 0.0, ticket=2)
    judge = {"column": "win"}
    assert zero_variance(**judge).apply((same, mixed), None)[0] == (mixed,)
    refill, kept = zero_variance("refill", **judge).apply((same, mixed), None)[0]
    assert refill.tags == {"mine": 1, "refill": True} and refill.ticket == 1
    assert kept is mixed


def test_the_named_reward_is_judged_and_not_the_sum() -> None:
    same = group(1.0, 1.0)
    assert zero_variance().apply((same,), None)[0] == (same,)  # style differs
    assert zero_variance(column="win").apply((same,), None)[0] == ()
    assert zero_variance(column="absent").apply((same,), None)[0] == ()


def test_a_spread_up_to_the_least_is_none() -> None:
    near = group(0.5, 0.4)
    assert zero_variance(column="win", least=0.2).apply((near,), None)[0] == ()
    assert zero_variance(column="win", least=0.05).apply((near,), None)[0] == (near,)


def test_age_is_counted_from_the_newest_version_ever_seen() -> None:
    gate = drop_stale(limit=2)
    old, new = group(1.0, ticket=1, versions=(1, 2)), group(1.0, ticket=2, versions=(3,))
    kept, state = gate.apply((old, new), gate.init())
    assert kept == (old, new) and state == 3
    kept, state = gate.apply((group(1.0, versions=(4,)),), state)
    assert state == 4
    kept, state = gate.apply((old,), state)
    assert kept == () and state == 4
    kept, state = gate.apply((group(1.0, versions=(4,), admitted=7),), state)
    assert kept == () and state == 7


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("mode", ["drop", "refill"])
def test_a_reward_that_is_no_number_is_refused(mode: str, bad: float) -> None:
    with pytest.raises(BadReward, match="task 't'"):
        zero_variance(mode).apply((group(1.0, bad),), None)


def test_bad_options_are_refused_with_a_sentence() -> None:
    with pytest.raises(PartError, match="did you mean 'refill'"):
        zero_variance("refil")
    with pytest.raises(PartError, match="least is -1"):
        zero_variance(least=-1)
    with pytest.raises(PartError, match="limit is -1 versions"):
        drop_stale(limit=-1)
