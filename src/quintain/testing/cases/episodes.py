"""The episodes of a case as groups, and what an advantage writes on them as nested lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quintain.parts import Advantage, Reward
from quintain.testing.cases.columns import Columns
from quintain.types import Completion, Group, Node, Span, Stop, Task, Trajectory


def episode(name: str, turns: Sequence[int], rewards: Mapping[str, float] | float = 0.0, **rest: Any) -> Trajectory:
    """A prompt and turns of so many sampled tokens each, with an observation between two of them."""
    nodes = [Node.given(None, (1, 2))]
    for turn, count in enumerate(turns):
        spans = (Span(start=0, stop=count, version=0),) if count else ()
        said = Completion(tokens=(5,) * count, logprobs=(-0.5,) * count, finish="stop", spans=spans)
        nodes += [Node.sampled(len(nodes) - 1, said, turn=turn), Node.given(len(nodes), (3,))]
    given = rewards if isinstance(rewards, Mapping) else {"score": float(rewards)}
    return Trajectory(
        id=name, nodes=tuple(nodes[: max(1, len(nodes) - 1)]), stop=Stop.done, rewards=dict(given), **rest
    )


def group_of(*trajectories: Trajectory, key: str = "task", ticket: int = 0) -> Group:
    """A group of a task."""
    return Group(task=Task(key=key, env="case"), trajectories=trajectories, ticket=ticket)


def scored(rewards: Sequence[float], ticket: int = 0, **columns: Sequence[Any]) -> Group:
    """A group of one-token episodes with these rewards; further columns are fields of the trajectories, one value each."""
    each = [{name: values[i] for name, values in columns.items()} for i in range(len(rewards))]
    made = (episode(str(i), [1], float(r), **each[i]) for i, r in enumerate(rewards))
    return group_of(*made, key=str(ticket), ticket=ticket)


def credited(part: Advantage, *groups: Group) -> list[list[float]]:
    """Per trajectory, the advantage of every token that it sampled."""
    out, _ = part.apply(groups, part.init())
    return [drawn(t, "advantage") for g in out for t in g.trajectories]


def rewarded(part: Reward, group: Group) -> Group:
    """The group as a reward part scores it that waits for nothing, also where an event loop runs already."""
    try:
        next(iter(part(group).__await__()))
    except StopIteration as ended:
        return ended.value
    raise RuntimeError("this reward part waits for something; a case can only run one that computes")


def firsts(part: Advantage, *groups: Group) -> list[float]:
    """Per trajectory, the advantage of its first sampled token."""
    return [row[0] for row in credited(part, *groups)]


def by_reward(part: Advantage, columns: Columns) -> list[float]:
    """The advantage [B] that the rewards of a batch alone give, of sequences without tokens too."""
    groups = (scored(columns.rewards[columns.group == g].tolist(), int(g)) for g in np.unique(columns.group))
    return np.array(firsts(part, *groups))[np.argsort(by_group(columns))].tolist()


def drawn(trajectory: Trajectory, name: str) -> list[float]:
    """A stream on the sampled tokens of a trajectory."""
    rows = zip(trajectory.streams[name], trajectory.nodes, strict=True)
    return [v for row, node in rows for v, m in zip(row, node.mask, strict=True) if m]


def groups_of(columns: Columns) -> tuple[Group, ...]:
    """The sequences of a batch as trajectories with the streams `old` and `ref`; masked tokens between are observations."""
    made = []
    for i, mask in enumerate(columns.mask):
        runs = [
            r for r in np.split(np.flatnonzero(mask), np.flatnonzero(np.diff(np.flatnonzero(mask)) > 1) + 1) if len(r)
        ]
        one = episode(str(i), [len(r) for r in runs], float(columns.rewards[i]))
        for name in ("old", "ref"):
            if name in columns.logps:
                rows: list[tuple[float, ...]] = [(9.0, 9.0)]
                for r in runs:
                    rows += [tuple(columns.logps[name][i][r].tolist()), (9.0,)]
                one = one.with_stream(name, tuple(rows[: len(one.nodes)]))
        made.append(one)
    return tuple(
        group_of(*(made[i] for i in np.flatnonzero(columns.group == g)), key=str(g), ticket=int(g))
        for g in np.unique(columns.group)
    )


def on_mask(columns: Columns, rows: Sequence[Sequence[float]], order: Sequence[int] | None = None) -> list[list[float]]:
    """Values of sampled tokens, per sequence, as [B][T] with 0 outside the mask."""
    out = np.zeros(columns.mask.shape)
    places = range(len(rows)) if order is None else order
    for i, row in zip(places, rows, strict=True):
        out[i][columns.mask[i]] = row
    return out.tolist()


def by_group(columns: Columns) -> list[int]:
    """The sequences in the order in which `groups_of` holds them."""
    return [int(i) for g in np.unique(columns.group) for i in np.flatnonzero(columns.group == g)]
