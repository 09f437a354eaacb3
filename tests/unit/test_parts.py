"""Combinators: order, state, needs, measures."""

from __future__ import annotations

import json

import pytest

from quintain.advantages import normalise, scale_rewards
from quintain.gates import replay_success, zero_variance
from quintain.objectives import smooth_entropy, token_mean
from quintain.parts import PartError, Transform, applied, carried, chain, made_of, mix, named, stateless, sums_of, when
from quintain.registry import import_file, stamp
from quintain.samplers.blends import curriculum, mixture
from quintain.samplers.worlds import worlds
from quintain.types import Group, Kind, Node, Stop, Task, Trajectory


def add(n: int, **rest) -> Transform:
    return stateless(lambda x: x + n, **rest)


def counter(key: str = "") -> Transform:
    return Transform(lambda: 0, lambda x, s: ([*x, s], s + 1), frozenset({key} if key else ()))


def test_chain_applies_in_order_and_keeps_states_apart():
    part = chain(counter(), counter(), stateless(lambda x: [v * 10 for v in x]))
    state = part.init()
    _, state = part.apply([], state)
    out, state = part.apply([], state)
    assert out == [10, 10] and state == [2, 2, None]
    assert json.loads(json.dumps(state)) == state


def test_chain_joins_needs_and_measures():
    one = stateless(lambda x: x, needs=["ref"], measure=lambda x: {"a": x})
    two = stateless(lambda x: x, needs=["old"], measure=lambda x: {"b": 2 * x})
    joined = chain(one, chain(two))
    assert joined.needs == {"ref", "old"} and joined.measure(3) == {"a": 3, "b": 6}
    assert chain(add(1)).measure is None


@pytest.mark.parametrize("sums", [3.0, {"a": "many"}, None])
def test_a_measure_that_gives_no_sums_is_named(sums):
    part = stateless(lambda x: x, measure=lambda x: sums)
    stamp(part, {"kind": "objective", "name": "mine"})
    for one in (part, chain(part)):
        with pytest.raises(PartError, match="the objective 'mine': measure gave .*; it should give sums by name"):
            sums_of(one, 1)


def test_chain_refuses_a_wrong_order_with_a_sentence():
    with pytest.raises(PartError, match="a weight part stands after a regulariser part"):
        chain(add(1, place="ratio"), add(1, place="regulariser"), add(1, place="weight"))
    chain(add(1, place="ratio"), add(1, place="surrogate"), add(1, place="weight"), add(1, place="regulariser"))


def test_a_part_that_gives_something_else_is_named():
    silent = stateless(lambda x: None)
    stamp(silent, {"kind": "advantage", "name": "my_credit"})
    for part in (silent, chain(silent), chain(chain(silent))):
        with pytest.raises(PartError, match=r"the advantage 'my_credit' gave None, a NoneType; .* a tuple of groups"):
            applied(part, (), part.init())
    with pytest.raises(
        PartError, match="a part without a name gave 3, a int; it should give what it made of the input"
    ):
        applied(Transform(lambda: None, lambda x, state: 3), (), None)


def test_a_part_of_a_users_file_that_fails_is_named_with_the_line(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def credit(groups):\n    return 1 / len(groups)\n")
    part = stateless(import_file(file).credit)
    with pytest.raises(PartError, match=r"a part without a name fails: ZeroDivisionError: .* \(.*mine.py:2\)"):
        applied(part, (), None)
    file = tmp_path / "short.py"
    file.write_text("def credit(groups):\n    return groups[0].trajectories[0].with_stream('advantage', ())\n")
    nodes = (Node.given(None, (1, 2)),)
    groups = (Group(task=Task(key="t", env="e"), trajectories=(Trajectory(id="0", nodes=nodes, stop=Stop.done),)),)
    with pytest.raises(PartError, match=r"InvariantError: stream advantage has 0 rows for 1 nodes \(.*short.py:2\)"):
        applied(stateless(import_file(file).credit), groups, None)
    with pytest.raises(ZeroDivisionError):  # one of ours keeps its traceback
        applied(stateless(lambda groups: 1 / len(groups)), (), None)


def test_a_part_of_no_known_place_is_refused():
    with pytest.raises(
        PartError, match="unknown place of a part without a name: 'surogate'; did you mean 'surrogate'?"
    ):
        chain(add(1, place="surogate"))


def test_named_keeps_states_under_names():
    part = named(first=counter(), second=counter())
    out, state = part.apply([], part.init())
    assert out == [0, 0] and state == {"first": 1, "second": 1}
    out, state = part.apply([], state)
    assert out == [1, 1] and state == {"first": 2, "second": 2}


MIXED = mixture("worlds", "curriculum")
THREE = {"drawn": 3}


@pytest.mark.parametrize(
    ("was", "saved", "now", "kept"),
    [
        (worlds("A"), THREE, worlds("B", levels=[4]), True),
        (curriculum(levels=[0, 1]), {"drawn": 3, "at": 1, "recent": []}, curriculum(levels=[0]), True),
        (worlds("A"), THREE, MIXED, False),
        (worlds("A"), THREE, curriculum(), False),
        (mixture("worlds"), {**THREE, "over": [False], "parts": [THREE]}, MIXED, False),
        (zero_variance(), None, replay_success(), False),
        (replay_success(), {"a": [1]}, replay_success(keep=2), True),
        (normalise(), None, chain(scale_rewards(), normalise()), False),
        (chain(smooth_entropy(), token_mean()), [{"sum": [0.0], "count": [0.0], "step": 1}, None], token_mean(), False),
    ],
)
@pytest.mark.parametrize("old", [False, True])
def test_a_state_is_carried_on_to_the_same_parts_and_others_begin_anew(was, saved, now, kept, old):
    made, said = None if old else made_of(was), []
    assert carried("it", was, saved, json.loads(json.dumps(made_of(was))), said.append) is saved
    assert carried("it", None, saved, made, said.append) is None and not said
    got = carried("it", now, saved, made, said.append)
    if old and now.init() is None:  # nothing tells, and a part without a state minds none
        return
    assert got == (saved if kept else now.init())
    assert len(said) == (not kept and saved is not None)


def test_when_counts_its_own_steps_and_the_state_waits():
    part = when(lambda step: step % 2 == 1, counter())
    state, seen = part.init(), []
    for _ in range(4):
        out, state = part.apply([], state)
        seen.append(out)
    assert seen == [[], [0], [], [1]]


def group(ticket: int, env: str = "a", agents: tuple[str, ...] = ("x", "y")) -> Group:
    node = Node.given(None, (1,), kind=Kind.prompt)
    return Group(
        task=Task(key=str(ticket), env=env),
        ticket=ticket,
        trajectories=tuple(Trajectory(id=f"{ticket}{a}", nodes=(node,), stop=Stop.done, agent=a) for a in agents),
    )


def constant(value: float) -> Transform:
    def apply(groups, state):
        done = (
            Group(
                task=g.task,
                ticket=g.ticket,
                trajectories=tuple(t.with_stream("advantage", ((value,),)) for t in g.trajectories),
            )
            for g in groups
        )
        return tuple(done), state + len(groups)

    return Transform(lambda: 0, apply)


def advantages(groups) -> list[list[float | None]]:
    return [[t.streams["advantage"][0][0] if t.streams else None for t in g.trajectories] for g in groups]


def test_mix_blends_and_refuses_shares_outside_the_unit_interval():
    part = mix(constant(1.0), constant(3.0), 0.25)
    out, state = part.apply((group(0),), part.init())
    assert advantages(out) == [[1.5, 1.5]] and state == [1, 1]
    with pytest.raises(PartError, match="share is 2"):
        mix(constant(1.0), constant(2.0), 2)
