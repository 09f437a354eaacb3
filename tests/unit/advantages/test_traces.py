"""Traces drawn with a hint, and rewards held to the scale of their history."""

from __future__ import annotations

import itertools
import json
import math
import statistics
from dataclasses import replace

import numpy as np
import pytest

from quintain.advantages import credit_traces, scale_rewards
from quintain.advantages.traces import weigh_traces
from quintain.advantages.units import node_rewards, sampled_nodes, total_reward
from quintain.algorithms import preset
from quintain.parts import BadReward, PartError
from quintain.testing.cases.episodes import drawn, episode, group_of, scored
from quintain.types import Group


def traces(rule: str, *facts: tuple[float, float, float]) -> list[float]:
    """Advantages of trajectories of two sampled tokens: (sum without the hint, sum with it, reward)."""
    each = []
    for i, (policy, posterior, reward) in enumerate(facts):
        t = episode(str(i), [2], reward)
        nodes = tuple(replace(n, logprobs=tuple(posterior / 2 * m for m in n.mask)) for n in t.nodes)
        rows = tuple(tuple(policy / 2 * m for m in n.mask) for n in t.nodes)
        each.append(replace(t, nodes=nodes).with_stream("old", rows))
    out, _ = credit_traces(rule).apply((group_of(*each),), None)
    return [drawn(t, "advantage")[0] for t in out[0].trajectories]


def test_shares_are_importance_weights_of_the_right_ones() -> None:
    assert traces("share", (-3.0, -1.0, 1.0), (-1.0, -1.0, 1.0), (-1.0, -1.0, 0.0)) == pytest.approx(
        [3 * math.exp(-2) / (1 + math.exp(-2)), 3 / (1 + math.exp(-2)), 0.0]
    )
    assert traces("accuracy", (-3.0, -1.0, 0.5), (-1.0, -1.0, 1.0), (-9.0, 0.0, -4.0)) == pytest.approx(
        [0.5 * math.exp(-1), 1.0, 0.0]
    )
    assert traces("best", (-3.0, -1.0, 1.0), (-1.0, -1.0, 0.9), (-1.0, -1.0, 0.0)) == [0.0, 1.0, 0.0]
    for rule in ("share", "accuracy", "best"):
        assert traces(rule, (-1.0, -2.0, 0.0), (-1.0, -2.0, -1.0)) == [0.0, 0.0]


def test_more_traces_bring_the_bound_nearer_to_the_likelihood_of_the_answer() -> None:
    """A model of four traces that can be summed: the bound of K traces rises with K, towards log p(answer)."""
    prior, guess, right = [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.9, 0.2, 0.5, 0.05]
    whole = math.log(sum(p * r for p, r in zip(prior, right, strict=True)))

    def bound(count: int) -> float:
        mean = 0.0
        for picks in itertools.product(range(4), repeat=count):
            columns = ([math.log(row[k]) for k in picks] for row in (prior, guess, right))
            one = [1.0] * count
            mean += math.prod(guess[k] for k in picks) * weigh_traces(*columns, one, one, one).bound
        return mean

    bounds = [bound(k) for k in (1, 2, 3, 5)]
    assert bounds == sorted(bounds) and bounds[-1] < whole and whole - bounds[-1] < 0.3 * (whole - bounds[0])


def test_shares_climb_the_bound() -> None:
    """The policy gradient weighted by shares is the gradient of the bound, by differences."""
    logits, guess, right = np.array([0.3, -0.2, 0.5]), [0.2, 0.5, 0.3], [0.9, 0.1, 0.4]

    def logs(x: np.ndarray) -> np.ndarray:
        return x - np.log(np.exp(x).sum())

    def found(x: np.ndarray) -> object:
        return weigh_traces(logs(x).tolist(), np.log(guess).tolist(), np.log(right).tolist(), [1] * 3, [1] * 3, right)

    share = np.array(found(logits).share)
    slope = share - np.exp(logs(logits)) * share.sum()
    steps = np.eye(3) * 1e-6
    assert slope == pytest.approx([(found(logits + s).bound - found(logits - s).bound) / 2e-6 for s in steps], abs=1e-7)


def step(*rewards: float) -> tuple[Group, ...]:
    """A group of episodes of two turns, of which the first earns a quarter, as is said, and the rest comes at the end."""
    return (group_of(*(episode(f"t{i}", [2, 1], r, turn_rewards=(r / 4,)) for i, r in enumerate(rewards))),)


def paid(groups: tuple[Group, ...]) -> list[float]:
    return [total_reward(t) for g in groups for t in g.trajectories]


def test_rewards_are_divided_by_their_deviation_over_all_steps() -> None:
    part = scale_rewards()
    first, state = part.apply(step(1.0, 2.0, 4.0), part.init())
    assert paid(first) == pytest.approx([r / statistics.stdev([1, 2, 4]) for r in (1, 2, 4)])
    then, state = part.apply(step(10.0, 0.0), json.loads(json.dumps(state)))
    std = statistics.stdev([1, 2, 4, 10, 0])
    assert paid(then) == pytest.approx((10 / std, 0.0))
    one = then[0].trajectories[0]
    assert node_rewards(one, sampled_nodes(one, range(len(one.nodes)))) == pytest.approx([2.5 / std, 7.5 / std])
    assert (state["count"], state["mean"]) == (5, pytest.approx(3.4))


def test_rewards_are_centred_and_held_within_a_limit() -> None:
    part = scale_rewards(limit=0.5, centre=True)
    out, _ = part.apply(step(0.0, 2.0, 1.0), part.init())
    assert paid(out) == pytest.approx((-0.5, 0.5, 0.0))
    same, _ = part.apply(step(3.0, 3.0), part.init())
    assert paid(same) == pytest.approx([0.0, 0.0])
    lone, _ = scale_rewards().apply(step(3.0), scale_rewards().init())
    assert paid(lone) == [3.0]


def test_what_cannot_be_scaled_is_refused() -> None:
    with pytest.raises(BadReward, match="t1"):
        scale_rewards().apply(step(1.0, math.nan), scale_rewards().init())
    with pytest.raises(PartError, match="limit is -1"):
        scale_rewards(limit=-1)
    with pytest.raises(PartError, match="no stream 'old'"):
        credit_traces().apply((scored([1.0]),), None)


def test_the_critic_of_ppo_max_learns_alone_at_first() -> None:
    part = preset("ppo_max", "as_paper", warm_up=2).advantage
    group = scored([1.0, 0.0])
    zero = tuple(t.with_value("old", 0.0).with_value("ref", 0.0).with_value("value", 0.0) for t in group.trajectories)
    state, seen = part.init(), []
    for _ in range(3):
        out, state = part.apply((replace(group, trajectories=zero),), state)
        seen.append([drawn(t, "advantage")[0] for t in out[0].trajectories])
        assert drawn(out[0].trajectories[0], "return")[0] > 0.1  # what the critic fits is there from the start
    assert seen[0] == seen[1] == [0.0, 0.0] and seen[2][0] > 0.5 > -0.5 > seen[2][1]
