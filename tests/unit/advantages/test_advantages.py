"""Credit on hand-made episodes: where rewards sit, trees, holes inside a node, charges, and the order of a chain."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quintain.advantages import (
    charge_kl,
    gae,
    mad,
    mean,
    normalise,
    returns,
    shape_overlong,
    split_by,
    spread,
    std,
    turn,
    whiten,
)
from quintain.advantages.least import least_variance
from quintain.advantages.rows import Rows, centred
from quintain.advantages.units import node_rewards
from quintain.parts import PartError, Transform, chain, mix
from quintain.registry import UnknownName
from quintain.types import Completion, Group, Kind, Node, QuintainError, Role, Span, Stop, Task, Trajectory


def said(parent: int, n: int, turn_: int = 0) -> Node:
    spans = (Span(start=0, stop=n, version=0),)
    done = Completion(tokens=(7,) * n, logprobs=(-0.25,) * n, finish="stop", spans=spans)
    return Node.sampled(parent, done, turn=turn_)


def episode(name: str = "a", reward: float = 1.0, sizes: tuple[int, ...] = (2, 1), **rest: Any) -> Trajectory:
    nodes = [Node.given(None, (1,))]
    for t, n in enumerate(sizes):
        nodes += [said(len(nodes) - 1, n, t), Node.given(len(nodes), (3,))]
    return Trajectory(id=name, nodes=tuple(nodes), stop=Stop.done, rewards={"win": reward}, **rest)


def tree(reward: float = 1.0, **rest: Any) -> Trajectory:
    """A prompt, one turn, then two branches of one turn each."""
    nodes = (Node.given(None, (1,)), said(0, 1, 0), Node.given(1, (3,)), said(2, 1, 1), said(2, 2, 1))
    return Trajectory(id="tree", nodes=nodes, stop=Stop.done, rewards={"win": reward}, **rest)


def group(*trajectories: Trajectory) -> Group:
    return Group(task=Task(key="t", env="e"), trajectories=trajectories)


def credit(part: Transform[Any], *trajectories: Trajectory) -> list[list[list[float]]]:
    """Per trajectory and node: the advantage of every token."""
    (out,), _ = part.apply((group(*trajectories),), part.init())
    return [[list(row) for row in t.streams["advantage"]] for t in out.trajectories]


def test_what_turn_rewards_leave_sits_on_the_last_turn() -> None:
    one = episode(reward=1.0, sizes=(1, 1, 1), turn_rewards=(0.25, 0.0, 0.5))
    assert node_rewards(one, [1, 3, 5]) == [0.25, 0.0, 0.75]
    shaped = replace(one, rewards={"win": 1.0, "cost": -2.0})
    assert node_rewards(shaped, [1, 3, 5]) == [0.25, 0.0, -1.25]
    assert sum(node_rewards(replace(one, turn_rewards=()), [1, 3, 5])) == 1.0


def test_two_nodes_of_one_turn_share_its_reward_on_the_last() -> None:
    one = episode(sizes=(1, 1), turn_rewards=(1.0,))
    nodes = tuple(replace(n, turn=0) for n in one.nodes)
    assert node_rewards(replace(one, nodes=nodes), [1, 3]) == [0.0, 1.0]


def test_discount_counts_turns_or_tokens_and_no_observation() -> None:
    one = episode(reward=1.0, sizes=(2, 1))
    raw = {"baseline": "none", "scale": "none"}
    assert credit(normalise(unit=turn(gamma=0.5), **raw), one) == [[[0], [0.5, 0.5], [0], [1.0], [0]]]
    assert credit(returns(gamma=0.5), one) == [[[0], [0.25, 0.5], [0], [1.0], [0]]]
    assert credit(returns(gamma=0.5, level="turn"), one) == [[[0], [0.5, 0.5], [0], [1.0], [0]]]


def test_tokens_that_were_not_sampled_inside_a_node_get_nothing() -> None:
    one = episode(sizes=(3, 1))
    forced = replace(one.nodes[1], mask=(True, False, True))
    one = replace(one, nodes=(one.nodes[0], forced, *one.nodes[2:]))
    assert credit(returns(gamma=0.5), one)[0][1] == [0.25, 0.0, 0.5]
    assert credit(normalise(baseline="none", scale="none"), one)[0][1] == [1.0, 0.0, 1.0]
    valued = one.with_stream("value", tuple((9.0,) * len(n.tokens) for n in one.nodes))
    assert credit(gae(gamma=0.5, lam=0.0), valued)[0][1] == [0.5 * 9 - 9, 0.0, 0.5 * 9 - 9]


def test_each_branch_of_a_tree_is_credited_on_the_path_that_trains_it() -> None:
    values = ((0.0,), (0.5,), (0.0,), (0.25,), (0.75, 0.75))
    one = tree(reward=1.0, streams={"value": values})
    got = credit(gae(gamma=1.0, lam=1.0), one)[0]
    assert got == [[0], [0.5], [0], [0.75], [0.25, 0.25]]
    assert credit(gae(gamma=1.0, lam=0.0), one)[0][1] == [0.25 - 0.5]  # by the first branch, which trains it
    turned = credit(normalise(unit=turn(gamma=0.5), baseline="none", scale="none"), one)[0]
    assert turned == [[0], [0.5], [0], [1.0], [1.0, 1.0]]


def test_turn_statistics_count_a_shared_node_once() -> None:
    part = normalise(unit="turn", scale="none")
    rows: list[Rows] = []
    spy = centred(lambda r: (rows.append(r), np.zeros(len(r)))[1])
    normalise(unit="turn", baseline=spy, scale="none").apply((group(tree()),), [None, None])
    assert len(rows[0]) == 3 and sorted(rows[0].node.tolist()) == [1, 3, 4]
    assert credit(part, tree())[0] == [[0], [0], [0], [0], [0, 0]]


def test_the_end_of_a_cut_episode_can_be_valued() -> None:
    values = tuple((0.5,) * n for n in (1, 2, 1, 1, 1))
    one = replace(episode(reward=0.0, streams={"value": values}), stop=Stop.truncated_turns)
    assert credit(gae(lam=1.0), one)[0][3] == [-0.5]
    assert credit(gae(lam=1.0, bootstrap=True), one)[0][3] == [0.0]
    done = replace(one, stop=Stop.done)
    assert credit(gae(lam=1.0, bootstrap=True), done)[0][3] == [-0.5]
    seen = replace(
        one, nodes=(*one.nodes, Node.given(len(one.nodes) - 1, (3, 4))), streams={"value": (*values, (9.0, 2.0))}
    )
    assert credit(gae(0.5, 1.0, bootstrap=True), seen)[0][3] == [0.5], (
        "half of what the state is worth that it ended in, less 0.5"
    )


def test_a_charge_for_leaving_the_reference_reaches_every_kind_of_credit() -> None:
    streams = {
        "old": ((9.0,), (-1.0, -1.0), (9.0,), (-1.0,), (9.0,)),
        "ref": ((0.0,), (-2.0, -1.0), (0.0,), (-1.5,), (0.0,)),
    }
    one = episode(reward=1.0, streams=streams)
    part = charge_kl(coef=0.1)
    (out,), _ = part.apply((group(one),), None)
    charges = out.trajectories[0].streams["token_reward"]
    assert charges == ((0.0,), (-0.1, 0.0), (0.0,), (-0.05,), (0.0,))
    raw = {"baseline": "none", "scale": "none"}
    assert credit(chain(part, normalise(**raw)), one)[0][1] == pytest.approx([0.85, 0.85])
    assert credit(chain(part, normalise(unit="turn", **raw)), one)[0][3] == pytest.approx([0.95])
    assert credit(chain(part, returns()), one)[0][1] == pytest.approx([0.85, 0.95])
    assert credit(chain(charge_kl(coef=0.1, anchor="rollout"), returns()), one)[0][3] == pytest.approx([1 - 0.125])
    paid = one.with_stream("token_reward", ((0.0,), (0.25, 0.0), (0.0,), (0.5,), (0.0,)))
    (out,), _ = part.apply((group(paid),), None)
    assert out.trajectories[0].streams["token_reward"] == ((0.0,), (0.15, 0.0), (0.0,), (0.45,), (0.0,)), (
        "beside what others paid"
    )


def test_the_overlong_charge_comes_before_the_comparison() -> None:
    long, short = episode("long", 1.0, (8,)), episode("short", 1.0, (1,))
    part = chain(shape_overlong(limit=8, buffer=4), normalise(scale="none"))
    got = credit(part, long, short)
    assert got[0][1] == [-0.5] * 8 and got[1][1] == [0.5]
    twice = credit(chain(shape_overlong(limit=8, buffer=4), part), long, short)
    assert twice == got


def test_whitening_gives_mean_zero_and_deviation_one_over_tokens() -> None:
    part = chain(returns(), whiten(eps=0.0))
    rows = credit(part, episode("a", 1.0, (3, 1)), episode("b", 0.0, (2,)), episode("c", 0.5, (1,)))
    values = np.array([v for t in rows for i in range(1, len(t), 2) for v in t[i]])
    assert values.mean() == pytest.approx(0) and values.std(ddof=1) == pytest.approx(1)
    assert credit(chain(returns(), whiten()), episode("a"), episode("b"))[0][1] == [0, 0]
    scaled = credit(chain(returns(), whiten(centre=False)), episode("a", 3.0), episode("b", 1.0))
    assert scaled[0][1][0] / scaled[1][1][0] == pytest.approx(3)


def test_scales_and_baselines_by_hand() -> None:
    runs = [episode(str(i), r, (1,)) for i, r in enumerate((1.0, 2.0, 3.0, 8.0))]

    def first(**parts: Any) -> list[float]:
        return [t[1][0] for t in credit(normalise(**parts), *runs)]

    assert first(scale=spread(eps=0.0)) == pytest.approx([-2.5 / 7, -1.5 / 7, -0.5 / 7, 4.5 / 7])
    assert first(baseline="median", scale=mad(eps=0.0)) == pytest.approx([-1, 0, 1, 6])
    assert first(baseline="leave_one_out", scale="none") == pytest.approx([-10 / 3, -2, -2 / 3, 6])
    assert first(baseline="none", scale=std(ddof=0, eps=0.0))[3] == pytest.approx(8 / np.std([1, 2, 3, 8]))


def test_the_lone_rule_decides_what_a_group_of_one_learns() -> None:
    assert credit(normalise(), episode(reward=0.7))[0][1] == [0, 0]
    assert credit(normalise(baseline=mean(lone="raw"), scale="none"), episode(reward=0.7))[0][1] == [0.7, 0.7]


def test_a_single_column_of_reward_can_be_judged() -> None:
    runs = [replace(episode(str(i), 1.0, (1,)), rewards={"win": float(i), "style": 5.0 * i}) for i in range(2)]
    column = {"kind": "unit", "name": "trajectory", "column": "win"}
    assert [t[1] for t in credit(normalise(unit=column, scale="none"), *runs)] == [[-0.5], [0.5]]


def test_advantages_combine() -> None:
    a, b = episode("a", 1.0, (1,), agent="x"), episode("b", 0.0, (1,), agent="y")
    plain, raw = normalise(scale="none"), normalise(baseline="none", scale="none")
    assert credit(mix(plain, raw, 0.5), a, b)[0][1] == [0.75]


def test_each_agent_env_or_level_has_an_advantage_of_its_own() -> None:
    a, b, c = (episode(name, r, (1,), agent=name) for name, r in (("a", 1.0), ("b", 0.0), ("c", 0.5)))
    plain, raw = normalise(scale="none"), normalise(baseline="none", scale="none")
    assert [t[1] for t in credit(split_by({"a": raw}, rest=plain), a, b, c)] == [[1.0], [-0.25], [0.25]]
    easy, hard = (Group(task=Task(key=f"{n}", env="e", level=n), trajectories=(a, b), ticket=n) for n in (0, 1))
    counted = Transform(lambda: 0, lambda groups, seen: (raw.apply(groups, raw.init())[0], seen + len(groups)))
    part = split_by({"1": counted}, of="level", rest=plain)
    out, state = part.apply((easy, hard, replace(hard, ticket=2)), part.init())
    firsts = [[t.streams["advantage"][1][0] for t in g.trajectories] for g in out]
    assert [g.ticket for g in out] == [0, 1, 2] and firsts == [[0.5, -0.5], [1.0, 0.0], [1.0, 0.0]]
    assert state["1"] == 2, "a part sees its own groups alone, and keeps its own state"
    twins = [
        Group(task=Task(key=k, env="e"), trajectories=(t,))
        for k, t in (("k", a), ("l", replace(a, rewards={"r": 3.0})))
    ]
    apart, _ = split_by({"a": raw}).apply(tuple(twins), split_by({"a": raw}).init())
    assert [g.trajectories[0].reward for g in apart] == [1.0, 3.0], "also where groups share a ticket and names"
    for wrong, told in (
        ({"parts": {}, "of": "env"}, "at least one"),
        ({"parts": {"x": raw}, "of": "ticket"}, "ticket"),
    ):
        with pytest.raises(QuintainError, match=told):
            split_by(**wrong)


def test_a_baseline_may_carry_state() -> None:
    """The running mean of a role: what a stateful method hangs into the normaliser."""

    def apply(rows: Rows, before: float) -> tuple[Rows, float]:
        return replace(rows, centre=np.full(len(rows), before)), 0.5 * before + 0.5 * float(rows.value.mean())

    part = normalise(baseline=Transform(lambda: 0.0, apply), scale="none")
    groups, state = (group(episode(reward=1.0)),), part.init()
    seen = []
    for _ in range(3):
        out, state = part.apply(groups, state)
        seen.append(out[0].trajectories[0].streams["advantage"][1][0])
    assert seen == [1.0, 0.5, 0.25]


def test_observations_of_the_policy_itself_are_not_credited() -> None:
    forced = Node.given(0, (5, 6), kind=Kind.forced, role=Role.assistant)
    one = Trajectory(id="f", nodes=(Node.given(None, (1,)), forced), stop=Stop.done, rewards={"win": 1.0})
    assert credit(normalise(baseline="none", scale="none"), one) == [[[0.0], [0.0, 0.0]]]
    assert credit(returns(), one) == [[[0.0], [0.0, 0.0]]]


BAD = [
    (lambda: turn(gamma=1.5), "gamma is 1.5"),
    (lambda: returns(gamma=-0.1), "returns: gamma is -0.1"),
    (lambda: returns(level="word"), "unknown level of returns 'word'"),
    (lambda: gae(lam=2.0), "lam is 2.0"),
    (lambda: gae(level="turns"), "did you mean 'turn'"),
    (lambda: whiten(eps=-1.0), "eps is -1.0"),
    (lambda: std(eps=-1.0), "scale std: eps is -1.0"),
    (lambda: mad(eps=-1.0), "scale mad: eps is -1.0"),
    (lambda: mean(lone="keep"), "unknown one-member rule"),
    (lambda: shape_overlong(limit=8, buffer=9), "buffer 9"),
    (lambda: charge_kl(coef=-1.0), "coef is -1.0"),
    (lambda: charge_kl(anchor="ref"), "unknown anchor of charge_kl"),
]


@pytest.mark.parametrize(("make", "sentence"), BAD, ids=[s for _, s in BAD])
def test_bad_options_are_refused_with_a_sentence(make: Any, sentence: str) -> None:
    with pytest.raises(PartError, match=sentence):
        make()


def test_an_unknown_name_in_the_normaliser_is_answered_with_the_nearest() -> None:
    for option, name, near in (
        ("unit", "trajectry", "trajectory"),
        ("key", "promt", "prompt"),
        ("scale", "sdt", "std"),
    ):
        with pytest.raises(UnknownName, match=f"did you mean '{near}'"):
            normalise(**{option: name})


@pytest.mark.parametrize("noise", [[3e300, 1e300], [3e-300, 1e-300], [math.inf, 1.0], [1e308, 1e308], [0.0, 0.0]])
def test_the_baseline_of_least_variance_is_finite_at_any_scale_of_noise(noise):
    first = 0.75 if noise[0] == 3 * noise[1] and noise[0] else 1.0 if noise[0] == math.inf else 0.5
    assert least_variance(np.array([1.0, 0.0]), np.array(noise)) == pytest.approx(first)
