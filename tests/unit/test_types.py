"""Records hold their invariants and survive JSON."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintain import codec
from quintain.types import (
    Batch,
    Completion,
    Event,
    Feedback,
    Group,
    Image,
    InvariantError,
    Kind,
    Message,
    Node,
    Role,
    Sampling,
    Span,
    Stop,
    Task,
    Text,
    Ticket,
    ToolCall,
    ToolResult,
    Trajectory,
)


def span(n: int, version: int = 0) -> tuple[Span, ...]:
    return (Span(start=0, stop=n, version=version),) if n else ()


def said(parent: int | None, tokens: tuple[int, ...], version: int = 0) -> Node:
    done = Completion(tokens=tokens, logprobs=(-0.5,) * len(tokens), finish="stop", spans=span(len(tokens), version))
    return Node.sampled(parent, done)


def tree() -> Trajectory:
    """Prompt -> two branches, the second of two turns."""
    nodes = (
        Node.given(None, (1, 2), kind=Kind.prompt),
        said(0, (3,)),
        said(0, (4, 5), 2),
        Node.given(2, (6,)),
        said(3, (7,), 3),
    )
    return Trajectory(id="t", nodes=nodes, stop=Stop.done, rewards={"success": 1.0, "cost": -0.25})


words = st.text(max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)
tasks = st.builds(
    Task, key=words, env=words, seed=st.integers(0, 2**60), params=st.dictionaries(words, numbers | words)
)


@given(tasks, st.lists(numbers, max_size=4), st.integers(0, 9))
def test_json_round_trip_is_exact(task, rewards, ticket):
    trajectories = tuple(
        Trajectory(id=str(i), nodes=tree().nodes, stop=Stop.crashed, rewards={"r": r}, fork=("a", 1, 2))
        for i, r in enumerate(rewards)
    )
    group = Group(task=task, trajectories=trajectories, ticket=ticket)
    assert codec.decode(Group, json.loads(codec.dumps(group))) == group


@pytest.mark.parametrize(
    "record",
    [
        Message(
            Role.user, (Text(text="a"), ToolCall(name="add", arguments={"a": 1}), ToolResult(text="2", error=True))
        ),
        Feedback(messages=(Message.of("user", "x"),), reward={"success": 1.0}, stop=Stop.done, acts=False),
        Ticket(index=3, task=Task(key="k", env="e", messages=(Message.of("system", "be brief"),)), version=2),
        Event(time=1.5, step=2, actor="learner", kind="trained", payload={"tickets": [1, 2]}),
        Completion(tokens=(1, 2), logprobs=(-1.0, -2.0), finish="abort", spans=span(2), top_ids=((1, 3), (2, 4))),
        Sampling(temperature=0.0, stop=(3,)),
        tree(),
    ],
    ids=lambda r: type(r).__name__,
)
def test_every_record_round_trips(record):
    assert codec.decode(type(record), json.loads(codec.dumps(record))) == record


def test_arrays_and_bytes_round_trip():
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    back = codec.decode(Image, json.loads(codec.dumps(Image(pixels=pixels))))
    assert np.array_equal(back.pixels, pixels) and back.pixels.dtype == np.uint8
    assert codec.decode(bytes, codec.encode(b"\x00\xff")) == b"\x00\xff"


def test_unknown_and_missing_fields_are_named():
    with pytest.raises(InvariantError, match="no field 'nam'"):
        codec.decode(Span, {"start": 0, "stop": 1, "version": 0, "nam": 1})
    with pytest.raises(InvariantError, match="version"):
        codec.decode(Span, {"start": 0, "stop": 1})
    with pytest.raises(TypeError, match="cannot write"):
        codec.encode(object())


def test_digest_ignores_key_order_and_sees_every_change():
    assert codec.digest_of({"a": (1, 2), "b": 3}) == codec.digest_of({"b": 3, "a": [1, 2]})
    assert codec.digest_of({"a": (1, 2)}) != codec.digest_of({"a": (2, 1)})
    with pytest.raises(ValueError):
        codec.digest_of({"a": float("nan")})


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Completion(tokens=(1,), logprobs=(), finish="stop", spans=()), "1 tokens with 0 logprobs"),
        (lambda: Completion(tokens=(1, 2), logprobs=(0.0, 0.0), finish="stop", spans=span(1)), "cover 1 of 2"),
        (lambda: Node.given(None, (1,), kind=Kind.sampled), "version spans"),
        (
            lambda: Node(parent=None, role=Role.user, kind=Kind.obs, tokens=(1,), mask=(True,), logprobs=(0.0,)),
            "cannot hold sampled",
        ),
        (lambda: Node(parent=None, role=Role.user, kind=Kind.obs, tokens=(1,), mask=(), logprobs=(0.0,)), "0 mask"),
        (lambda: Trajectory(id="t", nodes=(said(0, (1,)),), stop=Stop.done), "parents come first"),
        (lambda: tree().with_stream("advantage", ((0.0,),)), "1 rows for 5 nodes"),
        (lambda: tree().with_stream("advantage", ((0.0,),) * 5), "1 values for 2 tokens"),
        (lambda: Sampling(temperature=-1), "temperature is -1"),
        (lambda: Sampling(top_p=0), "top_p is 0"),
        (lambda: Sampling(max_tokens=0), "max_tokens is 0"),
    ],
)
def test_broken_invariants_name_the_value(make, told):
    with pytest.raises(InvariantError, match=told):
        make()


def test_a_sampled_node_is_trained_in_exactly_one_path():
    t = tree()
    paths = list(t.paths())
    assert [p for p, _ in paths] == [(0, 1), (0, 2, 3, 4)]
    fresh = [i for _, f in paths for i in f]
    assert sorted(fresh) == list(range(5)), "each node exactly once"


def test_derived_views():
    t = tree()
    assert t.reward == 0.75 and t.turns == 3 and t.length == 4 and t.versions == (0, 3)
    assert Group(task=Task(key="k", env="e"), trajectories=(t,), version=5).oldest == 0
    assert Group(task=Task(key="k", env="e"), trajectories=(), version=5).oldest == 5
    assert t.with_value("advantage", 2.0).streams["advantage"] == ((0.0, 0.0), (2.0,), (2.0, 2.0), (0.0,), (2.0,))


def test_a_batch_checks_its_columns():
    n = np.zeros(3)
    with pytest.raises(InvariantError, match="column ce has 2 rows for 3"):
        Batch(tokens=n, mask=n, logprobs=n, sequence=n, position=n, group=n, weights={"ce": np.zeros(2)})


def test_late_pictures_are_painted_once_when_looked_at_and_travel_as_pixels() -> None:
    painted = []

    def paint() -> np.ndarray:
        painted.append(1)
        return np.full((2, 3, 3), 7, np.uint8)

    image = Image.late(paint)
    assert not painted and image.hash == ""
    assert image.pixels is image.pixels and image.pixels.shape == (2, 3, 3) and len(painted) == 1
    for copy in (pickle.loads(pickle.dumps(Image.late(paint))), replace(Image.late(paint), hash="a")):
        assert "paint" not in vars(copy) and (copy.pixels == 7).all()
    back = codec.decode(Image, json.loads(codec.dumps(Image.late(paint))))
    assert (back.pixels == 7).all()
    with pytest.raises(AttributeError, match="no 'width'"):
        image.width
