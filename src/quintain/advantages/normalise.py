"""The keyed normaliser: centre and scale a scalar among the rows that share a key. Most advantages are one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quintain.advantages.rows import Key, key_rows
from quintain.parts import Advantage, Groups, State, Transform
from quintain.registry import register, resolve


@register("advantage", "normalise", paper="2402.03300", status="paper", confidence="code")
def normalise(unit: Any = "trajectory", key: Any = "prompt", baseline: Any = "mean", scale: Any = "std") -> Advantage:
    """The advantage of a unit over its peers: its value minus a baseline, over a scale, on all of its sampled tokens.

    When to use: any critic-free advantage. GRPO is the default; RLOO is `baseline="leave_one_out", scale="none"`; GiGPO's step term is
    `unit="turn", key=("prompt", "state")`.

    Maths: rows of `unit` with equal `key` share a cell; `A_i = (value_i - centre_i) / scale_i` [R], with `centre` by the baseline and
    `scale` by the scale, both from the values of the cell. The stream `advantage` is A_i on the sampled tokens of unit i, else 0.

    Args:
        unit: `trajectory`, `turn`, or a part of kind `unit`.
        key: `prompt`, `batch`, `agent`, `role`, `turn`, `state`, a part of kind `key`, or a list of them that must all agree.
        baseline: `mean`, `leave_one_out`, `median`, `none`, or a part of kind `baseline`.
        scale: `std`, `mad`, `spread`, `none`, or a part of kind `scale`. Each may be given as {"name": ..., option: ...} too.

    Returns: An advantage that writes the stream `advantage` of every trajectory.
    Special cases: equal values in a cell, and a cell of one row, give exactly 0.

    Example:
        >>> from quintain.types import Completion, Group, Node, Span, Stop, Task, Trajectory
        >>> def run(name, reward):
        ...     spans = (Span(start=0, stop=2, version=0),)
        ...     said = Completion(tokens=(7, 8), logprobs=(-0.1, -0.2), finish="stop", spans=spans)
        ...     nodes = (Node.given(None, (1, 2)), Node.sampled(0, said))
        ...     return Trajectory(id=name, nodes=nodes, stop=Stop.done, rewards={"win": reward})
        >>> group = Group(task=Task(key="t", env="e"), trajectories=(run("a", 1.0), run("b", 0.0)))
        >>> part = normalise(scale="none")
        >>> (out,), _ = part.apply((group,), part.init())
        >>> [t.streams["advantage"] for t in out.trajectories]
        [((0.0, 0.0), (0.5, 0.5)), ((0.0, 0.0), (-0.5, -0.5))]

    Reference: Shao et al., 2024, arXiv 2402.03300 for the default. Differs from the paper: `std` is the sample deviation plus 1e-6, which
    the paper leaves open.
    """
    units = resolve("unit", unit)
    keys = [resolve("key", k) for k in ([key] if isinstance(key, str | Mapping | Key) else key)]
    parts: list[Transform[Any]] = [resolve("baseline", baseline), resolve("scale", scale)]

    def apply(groups: Groups, state: State) -> tuple[Groups, State]:
        rows = key_rows(units.read(groups), keys)
        after = []
        for part, own in zip(parts, state, strict=True):
            rows, own = part.apply(rows, own)
            after.append(own)
        gap = rows.value - rows.centre
        return units.write(rows, gap / np.where(rows.scale == 0, 1.0, rows.scale)), after

    needs = frozenset().union(*(part.needs for part in [*keys, *parts]))
    apart = units.apart and any(k.apart for k in keys) and all(p.apart for p in parts)
    return Transform(lambda: [p.init() for p in parts], apply, needs, apart=apart)
