"""Builders that the tests of the learner share: tiny models, random groups with several turns, demonstrations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from quintain.types import Completion, Group, Kind, Node, Sampling, Span, Stop, Task, Trajectory

VOCAB = 32


def sampled(parent: int | None, tokens: tuple[int, ...], turn: int = 0, heat: float = 1.0) -> Node:
    span = (Span(start=0, stop=len(tokens), version=0),)
    drawn = Completion(tokens=tokens, logprobs=(-3.4,) * len(tokens), finish="stop", spans=span)
    return Node.sampled(parent, drawn, turn=turn, sampling=Sampling(temperature=heat))


def episode(rng: np.random.Generator, name: str, turns: int, heat: float = 1.0) -> Trajectory:
    def ids(count: int) -> tuple[int, ...]:
        return tuple(rng.integers(0, VOCAB, count).tolist())

    nodes = [Node.given(None, ids(4), kind=Kind.prompt)]
    for turn in range(turns):
        nodes.append(sampled(len(nodes) - 1, ids(int(rng.integers(1, 3))), turn, heat))
        nodes.append(Node.given(len(nodes) - 1, ids(2)))
    return Trajectory(id=name, nodes=tuple(nodes), stop=Stop.done, rewards={"win": float(rng.integers(0, 2))})


@pytest.fixture
def make_groups() -> Callable[..., tuple[Group, ...]]:
    """make_groups(count, members, seed): groups with unequal episodes and advantages of either sign."""

    def make(count: int = 4, members: int = 3, seed: int = 0, heat: float = 1.0) -> tuple[Group, ...]:
        rng = np.random.default_rng(seed)
        groups = []
        for g in range(count):
            drawn = [episode(rng, f"{g}.{m}", int(rng.integers(1, 5)), heat) for m in range(members)]
            credited = tuple(t.with_value("advantage", float(rng.normal())) for t in drawn)
            groups.append(Group(task=Task(key=f"task {g}", env="none"), trajectories=credited, ticket=10 + g))
        return tuple(groups)

    return make


@pytest.fixture
def make_model() -> Callable[..., Any]:
    """make_model(seed=0, **sizes): a two-layer decoder of 9,000 weights."""
    from quintain.models import build_model

    def make(seed: int = 0, **sizes: Any) -> Any:
        small = {"vocab": VOCAB, "hidden": 16, "layers": 2, "heads": 2, "ffn": 32, "context": 64}
        return build_model("qwen3", seed=seed, **{**small, **sizes})

    return make
