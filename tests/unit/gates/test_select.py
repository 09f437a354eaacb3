"""What is chosen inside a step, and what is put into groups of failures."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from quintain.advantages import normalise
from quintain.gates import band, keep_extremes, keep_uncertain, recompose, replay_success, sharpen_novel
from quintain.gates.select import surprise_of, widest
from quintain.parts import BadReward, PartError, chain
from quintain.runtime.recorded import of_groups
from quintain.types import Completion, Group, Node, Span, Stop, Task, Trajectory


def run(name: str, reward: float, *turns: int, logp: float = -0.5, version: int = 0, **rest: Any) -> Trajectory:
    nodes = [Node.given(None, (1, 2))]
    for turn, n in enumerate(turns or (2,)):
        spans = (Span(start=0, stop=n, version=version),)
        said = Completion(tokens=(5,) * n, logprobs=(logp * (turn + 1),) * n, finish="stop", spans=spans)
        nodes += [Node.sampled(len(nodes) - 1, said, turn=turn), Node.given(len(nodes), (3,))]
    return Trajectory(id=name, nodes=tuple(nodes[:-1]), stop=Stop.done, rewards={"win": reward}, **rest)


def group(*runs: Trajectory, key: str = "k", ticket: int = 0) -> Group:
    return Group(task=Task(key=key, env="e"), trajectories=runs, ticket=ticket)


def weights(out: tuple[Group, ...]) -> list[list[float]]:
    flat = [t for g in out for t in g.trajectories]
    return [
        [w for n, row in zip(t.nodes, t.streams["weight.rl"], strict=True) for w in row if any(n.mask)] for t in flat
    ]


@pytest.mark.parametrize("seed", range(6))
def test_no_other_set_is_wider(seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=9).round(1)
    for count in range(1, 10):
        found = widest(values.tolist(), count)
        best = max(np.var(values[list(s)]) for s in combinations(range(9), count))
        assert len(set(found)) == count and np.var(values[found]) == pytest.approx(best, abs=1e-12)
    assert widest([], 3) == [] and widest([1.0, 1.0], 5) == [0, 1]


def test_extremes_keep_the_spread_and_then_the_doubtful_tokens() -> None:
    runs = [run(str(i), r, 1, 1) for i, r in enumerate((1.0, 0.0, 0.6, 0.5))]
    part = chain(normalise(scale="none"), keep_extremes((0.5, 1.0), (0.5, 1.0), steps=1))
    out, state = part.apply((group(*runs),), part.init())
    assert weights(out) == [[0.0, 1.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]  # the second turns are less likely
    out, _ = part.apply((group(*runs),), state)
    assert weights(out) == [[1.0, 1.0]] * 4
    with pytest.raises(PartError, match="no advantage"):
        keep_extremes().apply((group(*runs),), 0)


def test_a_selection_keeps_what_an_earlier_one_left_out() -> None:
    first = run("a", 1.0).with_value("weight.rl", 0.0)
    out, _ = keep_uncertain(1.0).apply((group(first, run("b", 0.0)),), None)
    assert weights(out) == [[0.0, 0.0], [1.0, 1.0]]


def test_the_least_sure_turns_are_kept() -> None:
    out, _ = keep_uncertain(0.5).apply((group(run("a", 1.0, 2, 1), run("b", 1.0, 1, 1)),), None)
    assert weights(out) == [[0.0, 0.0, 1.0], [0.0, 1.0]]


def test_doubt_is_read_from_the_recorded_alternatives() -> None:
    said = Completion(
        tokens=(1,),
        logprobs=(-0.1,),
        finish="stop",
        spans=(Span(start=0, stop=1, version=0),),
        top_ids=((1, 2),),
        top_logprobs=((float(np.log(0.5)), float(np.log(0.25))),),
    )
    assert surprise_of(Node.sampled(None, said)) == pytest.approx([1.5 * np.log(2)])


def test_the_others_have_their_turn() -> None:
    runs = [run("a", 1.0, 5), run("b", 1.0, 2), run("c", 0.0, 5), run("d", 0.0, 2)]
    part = recompose(0.5, every=2)
    out, state = part.apply((group(*runs),), part.init())
    assert [max(w) for w in weights(out)] == [0.0, 1.0, 1.0, 0.0]
    out, _ = part.apply((group(*runs),), state)
    assert [max(w) for w in weights(out)] == [1.0, 0.0, 0.0, 1.0]
    with pytest.raises(BadReward):
        part.apply((group(run("a", float("nan"))),), 0)


def test_only_right_and_unlikely_answers_gain() -> None:
    runs = [run("a", 1.0, logp=-0.1), run("b", 1.0, logp=-2.0), run("c", 0.0, logp=-2.0)]
    part = chain(normalise(scale="none"), sharpen_novel())
    (out,), _ = part.apply((group(*runs),), part.init())
    got = [t.streams["advantage"][1][0] for t in out.trajectories]
    assert got == pytest.approx([1 / 3, 0.5, -2 / 3])


def test_a_success_comes_back_when_its_task_fails_and_survives_a_checkpoint() -> None:
    gate = replay_success(keep=1)
    won, lost = run("w", 1.0, version=3), [run(str(i), 0.0) for i in range(3)]
    mixed = group(won, lost[0])
    out, state = gate.apply((mixed, group(*lost, key="other")), gate.init())
    assert out[0] is mixed and [t.id for t in out[1].trajectories] == ["0", "1", "2"]
    (again,), after = gate.apply((group(*lost),), json.loads(json.dumps(state)))
    first = again.trajectories[0]
    assert [t.id for t in again.trajectories] == ["w", "1", "2"] and first.tags["replayed"]
    assert first.nodes == won.nodes and first.versions == (3, 3)
    assert after == state
    _, after = gate.apply((again,), after)
    assert len(after["k"]) == 1 and after["k"] == state["k"]
    assert gate.apply((group(run("p", 0.4), run("q", 0.0)),), state)[0][0].trajectories[0].id == "p"


def test_what_comes_back_is_old_on_purpose_and_an_episode_of_its_own() -> None:
    """No limit of lag holds it back, and it is not taken for a row that stands there twice."""
    gate = replay_success()
    _, state = gate.apply((group(run("w", 1.0, version=3)),), gate.init())
    (out,), _ = gate.apply((group(run("a", 0.0, version=7), run("b", 0.0, version=8, episode=1)),), state)
    assert [t.id for t in out.trajectories] == ["w", "b"] and out.oldest == 8
    (both,), _ = replay_success("oldest").apply((group(run("a", 0.0, version=7), run("b", 0.0, version=8)),), state)
    assert of_groups((both,), 9) == "" and len({t.episode for t in both.trajectories}) == 2


@pytest.mark.parametrize(
    ("swap", "count", "want"),
    [("first", 2, "wxc"), ("first", 5, "vwx"), ("oldest", 2, "awx"), ("oldest", 3, "vwx"), ("first", 1, "xbc")],
)
def test_several_successes_may_come_back_the_newest(swap: str, count: int, want: str) -> None:
    _, state = replay_success().apply((group(*(run(name, 1.0) for name in "vwx")),), {})
    lost = [run("a", 0.0, version=5), run("b", 0.0, version=2), run("c", 0.0, version=2)]
    (out,), _ = replay_success(swap, count=count).apply((group(*lost),), state)
    assert "".join(t.id for t in out.trajectories) == want
    with pytest.raises(PartError, match="count 0"):
        replay_success(count=0)


def test_hopeless_and_finished_tasks_may_be_dropped() -> None:
    gate = replay_success("oldest", drop=True)
    old = [run("a", 0.0, version=5), run("b", 0.0, version=2), run("c", 0.0, version=2)]
    assert gate.apply((group(*old), group(run("d", 1.0), run("e", 1.0))), {})[0] == ()
    _, state = gate.apply((group(run("w", 1.0), run("x", 0.0)),), {})
    assert [t.id for t in gate.apply((group(*old),), state)[0][0].trajectories] == ["a", "c", "w"]


def test_a_band_keeps_what_lies_in_it() -> None:
    easy, fair = group(run("a", 1.0), run("b", 1.0)), group(run("c", 1.0, 4), run("d", 0.0, 6))
    assert band("quality", 0.1, 0.9).apply((easy, fair, group()), None)[0] == (fair,)
    assert band("length", most=2).apply((easy, fair), None)[0] == (easy,)
    assert band("novelty", least=0.6).apply((easy, fair), None)[0] == (fair,)
    acted = group(run("a", 1.0, actions=("x",)), run("b", 1.0, actions=("y",)))
    assert band("novelty", least=0.6).apply((acted,), None)[0] == (acted,)
    with pytest.raises(BadReward):
        band().apply((group(run("a", float("inf"))),), None)
    with pytest.raises(PartError, match="least <= most"):
        band(least=1.0, most=0.0)
