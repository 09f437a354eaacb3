"""Groups as columns: nothing is lost, rows and digest do not depend on the trajectories, small and fast enough."""

from __future__ import annotations

import zlib
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintain.ledger import plain
from quintain.ledger.columns import pack_floats, pack_ints, unpack
from quintain.ledger.groups import PackedGroup, _deflated, pack_group
from quintain.types import Group, InvariantError, Kind, Node, Role, Sampling, Span, Stop, Task, Trajectory

WORDS = st.sampled_from(["", "go", "left", "a door", "0123456789abcdef" * 2, "0123456789ABCDEF" * 2, "ä" * 32])
FLOATS = st.one_of(st.sampled_from([0.0, -1.5, float("inf"), 1e-300, 1e39]), st.floats(width=32, allow_nan=False))
NUMBERS = st.one_of(st.integers(0, 300), st.integers(-(2**63), 2**63 - 1))


@st.composite
def spans(draw, n):
    cuts = sorted(draw(st.sets(st.integers(1, n - 1), max_size=2))) if n > 1 else []
    edges = [0, *cuts, n]
    return tuple(Span(start=a, stop=b, version=draw(st.integers(0, 5))) for a, b in pairwise(edges))


@st.composite
def nodes(draw, count):
    out = []
    for i in range(count):
        kind = draw(st.sampled_from(Kind))
        n = draw(st.integers(0, 4))
        drawn = kind is Kind.sampled
        mask = tuple(draw(st.booleans()) for _ in range(n)) if drawn else (False,) * n
        top = n if draw(st.integers(0, 3)) == 0 else 0
        out.append(
            Node(
                parent=draw(st.one_of(st.none(), st.integers(0, i - 1))) if i else None,
                role=draw(st.sampled_from(Role)),
                kind=kind,
                tokens=tuple(draw(NUMBERS) for _ in range(n)),
                mask=mask,
                logprobs=tuple(draw(FLOATS) for _ in range(n)) if drawn or draw(st.booleans()) else (0.0,) * n,
                spans=draw(spans(n)) if n and (drawn or draw(st.booleans())) else (),
                agent=draw(WORDS),
                turn=draw(st.integers(0, 9)),
                text=draw(WORDS),
                sampling=draw(st.sampled_from([None, Sampling(), Sampling(temperature=0.5), Sampling(stop=(1, 2))])),
                blobs=draw(st.sampled_from([(), ("ab", "cd")])),
                top_ids=((1, 2),) * top,
                top_logprobs=((-0.25, -1.0),) * top,
                seconds=draw(st.sampled_from([{}, {"generate": 0.5}, {"parse": 0.25, "generate": 1.5}])),
            )
        )
    return tuple(out)


@st.composite
def trajectories(draw, number):
    own = draw(nodes(draw(st.integers(0, 4))))
    rows = tuple(tuple(draw(FLOATS) for _ in n.tokens) for n in own)
    words = st.lists(WORDS, max_size=3).map(tuple)
    return Trajectory(
        id=f"t{number}",
        nodes=own,
        stop=draw(st.sampled_from(Stop)),
        rewards=draw(st.dictionaries(WORDS, FLOATS, max_size=2)),
        turn_rewards=tuple(draw(st.lists(FLOATS, max_size=2))),
        streams={"advantage": rows} if draw(st.booleans()) else {},
        digests=draw(words),
        next_digests=draw(words),
        actions=draw(words),
        events=draw(words),
        episode=draw(st.integers(0, 3)),
        agent=draw(WORDS),
        role=draw(WORDS),
        fork=draw(st.sampled_from([None, ("t0", 1, 2)])),
        call_parent=draw(WORDS),
        tags=draw(st.sampled_from([{}, {"guided": True, "stratum": 3}])),
        states=draw(st.sampled_from([(), ({"agent": [1, 2]}, None)])),
    )


@st.composite
def groups(draw):
    count = draw(st.integers(0, 3))
    task = Task(key="k", env="KeyDoor", seed=draw(st.integers(0, 2**64)), params={"answer": draw(WORDS)})
    ts = tuple(draw(trajectories(i)) for i in range(count))
    return Group(task=task, trajectories=ts, ticket=draw(st.integers(0, 9)), version=1, tags={"a": [1]})


@given(groups())
@settings(max_examples=60)
def test_a_group_comes_back_equal(group):
    packed = PackedGroup(pack_group(group))
    assert packed.open() == group
    assert packed.whole and packed.task == group.task and packed.ids == [t.id for t in group.trajectories]


@given(groups())
@settings(max_examples=40)
def test_rows_and_digest_do_not_depend_on_keeping_the_trajectories(group):
    whole, rows = PackedGroup(pack_group(group)), PackedGroup(pack_group(group, whole=False))
    assert rows.rows == whole.rows and rows.digest == whole.digest and not rows.whole
    for row, t in zip(rows.rows, group.trajectories, strict=True):
        assert (row.id, row.stop, dict(row.rewards)) == (t.id, t.stop, dict(t.rewards))
        assert (row.turns, row.tokens, (row.oldest, row.newest)) == (t.turns, t.length, t.versions)
        assert row.reward == t.reward
    with pytest.raises(InvariantError, match="run.record=all"):
        rows.open()


def test_integers_of_any_size_come_back(make_group):
    group = make_group(1)
    big = replace(group, task=replace(group.task, seed=2**100, params={"n": -(2**70)}), tags={"n": 2**64})
    assert PackedGroup(pack_group(big)).open() == big


def test_the_digest_follows_every_token_logprob_version_and_reward(make_group):
    group = make_group(3)
    first = group.trajectories[0]

    def digest(trajectory):
        changed = replace(group, trajectories=(trajectory, *group.trajectories[1:]))
        return PackedGroup(pack_group(changed, whole=False)).digest

    def with_node(**change):
        return replace(first, nodes=(first.nodes[0], replace(first.nodes[1], **change), *first.nodes[2:]))

    node = first.nodes[1]
    others = [
        with_node(tokens=(node.tokens[0] + 1, node.tokens[1])),
        with_node(logprobs=(node.logprobs[0] - 2**-20, node.logprobs[1])),
        with_node(spans=(Span(start=0, stop=2, version=99),)),
        replace(first, rewards={"goal": 0.25}),
        replace(first, stop=Stop.timeout),
        replace(first, id="other"),
    ]
    assert digest(first) == digest(replace(first, tags={"seen": True}))
    assert len({digest(first), *map(digest, others)}) == len(others) + 1


@given(st.lists(NUMBERS, max_size=20), st.lists(FLOATS, max_size=20))
def test_columns_are_as_narrow_as_they_may_be(numbers, floats):
    assert unpack(pack_ints(numbers)) == numbers and unpack(pack_floats(floats)) == floats
    assert pack_ints([0, 255])[0] == "u1" and pack_ints([256])[0] == "<u2" and pack_ints([-1])[0] == "<i8"
    assert pack_floats([float(np.float32(0.1))])[0] == "<f4" and pack_floats([0.1])[0] == "<f8"


def test_a_column_of_objects_is_refused():
    with pytest.raises(InvariantError, match="type '|O8'"):
        unpack(["|O8", b"12345678"])


def test_a_long_run_stays_small(make_group):
    packed = [pack_group(make_group(i, members=8, turns=13)) for i in range(16)]  # 128 trajectories of 26 nodes
    run = sum(map(len, packed)) / 16 * 32 * 200
    assert run < 60e6, f"200 steps x 32 groups would take {run / 1e6:.0f} MB"


@pytest.mark.parametrize("noise", [True, False])
@pytest.mark.parametrize("size", [0, 100, 50_000])
def test_noise_is_stored_as_it_is_and_everything_else_is_compressed(noise, size):
    core = np.random.default_rng(0).bytes(size) if noise else b"ab" * (size // 2)
    rest = {"words": ["the door"] * 1000, "nodes": {}}
    packed = _deflated(plain.pack({"core": core}), plain.pack(rest))
    assert plain.unpack(zlib.decompress(packed)) == {"core": core, **rest}
    assert len(packed) < (size if noise else size / 50) + 300
