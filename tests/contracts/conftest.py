"""Inputs on which every part is tried: terms with garbage behind the mask, and groups of unequal episodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from quintain.types import Completion, Group, Node, Span, Stop, Task, Terms, Trajectory

GARBAGE = (np.nan, np.inf, -np.inf, 1e30, -1e30)


@pytest.fixture
def make_terms() -> Callable[..., Terms]:
    """Terms of 8 interleaved sequences of 3 groups; masked rows, amid the others, hold NaN, inf and huge numbers."""

    def make(
        rows: int = 120, *, garbage: bool = True, gap: float = 0.3, dtype: torch.dtype = torch.float64, seed: int = 0
    ) -> Terms:
        rng = np.random.default_rng(seed)
        mask = rng.random(rows) < 0.7
        sequence = rng.integers(0, 8, rows)
        new = -rng.exponential(1.0, rows)
        columns = {
            "rollout": new + gap * rng.standard_normal(rows),
            "old": new + gap * rng.standard_normal(rows),
            "ref": new + gap * rng.standard_normal(rows),
            "advantage": rng.standard_normal(rows) * (rng.random(rows) < 0.9),
            "old_value": rng.standard_normal(rows),
            "returns": rng.standard_normal(rows),
            "reward": rng.standard_normal(8)[sequence],
        }
        leaves = {"new": new, "entropy": rng.exponential(1.0, rows), "value": rng.standard_normal(rows)}
        tops = {
            "new": np.log(rng.dirichlet(np.ones(8), rows))[:, :5],
            "rollout": np.log(rng.dirichlet(np.ones(8), rows))[:, :5],
        }

        def tensor(column: np.ndarray, leaf: bool) -> torch.Tensor:
            column = column.copy()
            column[~mask] = np.resize(GARBAGE, column[~mask].shape) if garbage else 0.0
            return torch.tensor(column, dtype=dtype).requires_grad_(leaf)

        return Terms(
            **{name: tensor(c, False) for name, c in columns.items()},
            **{name: tensor(c, True) for name, c in leaves.items()},
            mask=torch.tensor(mask),
            sequence=torch.tensor(sequence),
            hidden=tensor(rng.standard_normal((rows, 6)), False),
            turn=torch.tensor(sequence * 3 + np.arange(rows) % 3),
            group=torch.tensor(sequence % 3),
            topk={name: tensor(c, False) for name, c in tops.items()},
        )

    return make


def play(rng: np.random.Generator, name: str, reward: float, *, turns: int, **rest: Any) -> Trajectory:
    """A prompt, turns of one to three sampled tokens, observations between, and every stream that a part may need."""
    nodes = [Node.given(None, (1, 2))]
    for turn in range(turns):
        n = int(rng.integers(1, 4))
        said = Completion(
            tokens=tuple(range(n)),
            logprobs=tuple((-rng.random(n)).tolist()),
            finish="stop",
            spans=(Span(start=0, stop=n, version=int(rng.integers(0, 3))),),
        )
        nodes.append(Node.sampled(len(nodes) - 1, said, turn=turn))
        nodes.append(Node.given(len(nodes) - 1, (3, 4), turn=turn))
    streams = {
        name_: tuple(tuple(rng.standard_normal(len(n.tokens)).tolist()) for n in nodes)
        for name_ in ("value", "old", "ref")
    }
    share = rng.dirichlet(np.ones(turns)) if turns else ()
    seen = tuple(f"s{int(k)}" for k in rng.integers(0, 3, turns))
    return Trajectory(
        id=name,
        nodes=tuple(nodes),
        stop=Stop.done,
        rewards={"score": reward},
        turn_rewards=tuple(float(reward * s) for s in share),
        digests=seen,
        next_digests=(*seen[1:], "end") if seen else (),
        actions=tuple(f"go {s}" for s in seen),
        streams=streams,
        **rest,
    )


def branched(t: Trajectory) -> Trajectory:
    """The same with a second branch after the prompt: its first turn again, and a reward for each leaf."""
    again = replace(t.nodes[1], parent=0)
    streams = {name: (*rows, rows[1]) for name, rows in t.streams.items()}
    return replace(t, nodes=(*t.nodes, again), streams=streams, tags={**t.tags, "leaf_rewards": (1.0, 0.0)})


@pytest.fixture
def make_groups() -> Callable[..., tuple[Group, ...]]:
    """Groups of unequal size with episodes of unequal length; one has a single member, one equal rewards."""

    def make(seed: int = 0) -> tuple[Group, ...]:
        rng = np.random.default_rng(seed)
        groups = []
        for g, size in enumerate((4, 1, 3, 6)):
            runs = []
            for m in range(size):
                reward = float(rng.integers(0, 5)) / 4 if g != 2 else 0.5
                seat = "white" if m % 2 else "black"
                tags = {"stratum": m % 3}
                turns = int(rng.integers(1, 5))
                run = play(rng, f"{g}.{m}", reward, turns=turns, agent=seat, role=seat, tags=tags)
                runs.append(branched(run) if (g, m) == (3, 5) else run)
            groups.append(Group(task=Task(key=f"t{g}", env="e"), trajectories=tuple(runs), ticket=g, version=2))
        return tuple(groups)

    return make


@pytest.fixture
def hard_groups() -> dict[str, tuple[Group, ...]]:
    """Degenerate steps by name."""
    rng = np.random.default_rng(1)

    def of(*runs: Trajectory, key: str = "t") -> Group:
        return Group(task=Task(key=key, env="e"), trajectories=runs)

    blank = {"value": ((0.5, 0.5),), "old": ((0.0, 0.0),), "ref": ((0.0, 0.0),)}
    crashed = [
        Trajectory(id=str(i), nodes=(Node.given(None, (1, 2)),), stop=Stop.crashed, streams=blank) for i in range(3)
    ]
    bare = Trajectory(id="bare", nodes=(), stop=Stop.crashed, streams={"value": (), "old": (), "ref": ()})
    equal = [play(rng, f"e{i}", 0.1, turns=2) for i in range(3)]
    return {
        "no group": (),
        "no trajectory": (of(),),
        "one member": (of(play(rng, "a", 0.7, turns=3)),),
        "all equal": (of(*equal),),
        "all crashed": (of(*crashed),),
        "no node": (of(bare, play(rng, "b", 1.0, turns=1)),),
        "huge": (of(play(rng, "c", 1e12, turns=1), play(rng, "d", -1e12, turns=1)),),
    }
