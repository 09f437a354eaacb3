"""Words are kept, and what stands before them is another thing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quintain.algorithms import fcp, variational
from quintain.gates import rewrite_context
from quintain.learn.pack import pack
from quintain.parts import PartError
from quintain.types import Completion, Group, Kind, Node, Span, Stop, Task, Trajectory


def group(version: int = 0) -> tuple[Group, ...]:
    said = Completion(tokens=(5, 6), logprobs=(-0.1, -0.2), finish="stop", spans=(Span(start=0, stop=2, version=0),))
    nodes = (
        Node.given(None, (1, 2, 3), kind=Kind.prompt),
        Node.given(0, (8, 9), kind=Kind.hint),
        Node.sampled(1, said),
    )
    one = Trajectory(id="a", nodes=nodes, stop=Stop.done, tags={"critique": (7,), "hint": (4, 4)}).with_value(
        "advantage", 1.0
    )
    return (Group(task=Task(key="t", env="e"), trajectories=(one,), version=version),)


def tokens(groups: tuple[Group, ...]) -> list[int]:
    batch = pack(groups)
    assert batch.tokens[batch.mask].tolist() == [5, 6] and batch.logprobs[batch.mask].tolist() == pytest.approx(
        [-0.1, -0.2]
    )
    return batch.tokens.tolist()


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ({}, [1, 8, 9, 5, 6]),
        ({"kinds": ["hint"]}, [1, 2, 3, 5, 6]),
        ({"kinds": ["hint"], "put": "critique"}, [1, 2, 3, 7, 5, 6]),
        ({"kinds": ["prompt", "hint"], "keep": 2}, [1, 2, 5, 6]),
        ({"kinds": ["prompt"], "put": "critique"}, [1, 7, 8, 9, 5, 6]),
    ],
)
def test_the_context_is_rewritten_and_what_was_said_is_not(options: dict, want: list[int]) -> None:
    gate = rewrite_context(**options)
    assert tokens(gate.apply(group(), None)[0]) == want


def test_later_policies_are_left_alone() -> None:
    gate = rewrite_context(until=5)
    assert tokens(gate.apply(group(4), None)[0]) == [1, 8, 9, 5, 6]
    assert gate.apply(group(5), None)[0] == group(5)


def test_feedback_conditioned_training_reads_the_critique() -> None:
    gate = fcp().gate
    assert gate is not None and tokens(gate.apply(group(), None)[0]) == [1, 2, 3, 7, 5, 6]


def test_a_policy_is_trained_without_the_hint_that_it_was_shown() -> None:
    gate = variational().gate
    assert gate is not None and tokens(gate.apply(group(), None)[0]) == [1, 2, 3, 5, 6]


def test_a_posterior_is_trained_behind_the_hint_that_it_was_not_shown() -> None:
    part = variational(put="hint")
    assert part.gate is not None and tokens(part.gate.apply(group(), None)[0]) == [1, 2, 3, 4, 4, 5, 6]
    one = group()[0].trajectories[0]
    right, wrong = (replace(one, id=str(r), rewards={"correct": r}) for r in (1.0, 0.0))
    both, _ = part.advantage.apply((replace(group()[0], trajectories=(right, wrong)),), part.advantage.init())
    assert [t.streams["advantage"][2] for t in both[0].trajectories] == [(1.0, 1.0), (0.0, 0.0)]


@pytest.mark.parametrize("options", [{"kinds": ["sampled"]}, {"keep": 0}])
def test_what_cannot_be_rewritten_is_refused(options: dict) -> None:
    with pytest.raises(PartError, match="rewrite_context"):
        rewrite_context(**options)
