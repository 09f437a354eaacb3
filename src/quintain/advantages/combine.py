"""Advantages out of advantages: weighted sums, means over equal steps, and what is left out of the loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quintain.advantages.rows import Key, key_rows
from quintain.advantages.units import credited
from quintain.parts import Advantage, Groups, PartError, State, Transform, stateless
from quintain.registry import register, resolve, unknown
from quintain.types import Group, Trajectory

TWO = {"parts": ["normalise", {"name": "normalise", "key": "batch"}], "weights": [1.0, 0.5]}


@register("advantage", "combine", status="paper", confidence="paper", example=TWO)
def combine(*parts: Any, weights: Sequence[float] = ()) -> Advantage:
    """The weighted sum of several advantages, each computed from the same groups.

    When to use: an episode term beside a step term (GiGPO), a blend of two keys (Stratified GRPO), one rule per reward column (GDPO).

    Maths: `A_t = sum_k w_k A_kt` on every token t.

    Args:
        *parts: advantages, by name, mapping or value.
        weights: one weight per part; empty weighs each by 1.

    Returns: An advantage that writes the stream `advantage`; it needs what its parts need.
    Special cases: one part of weight 1 is that part. Other streams are those of the first part.
    Example: `combine("normalise", "gae", weights=[1, 0.1])`
    """
    made: list[Advantage] = [resolve("advantage", part) for part in parts]
    scale = list(weights) or [1.0] * len(made)
    if not made or len(scale) != len(made):
        raise PartError(f"combine: {len(made)} parts with {len(scale)} weights; give one weight for each of the parts")

    def apply(groups: Groups, state: State) -> tuple[Groups, State]:
        done = [part.apply(groups, own) for part, own in zip(made, state, strict=True)]
        out = tuple(_sum(same, scale) for same in zip(*(d[0] for d in done), strict=True))
        return out, [d[1] for d in done]

    needs = frozenset().union(*(p.needs for p in made))
    return Transform(lambda: [p.init() for p in made], apply, needs, apart=all(p.apart for p in made))


def _sum(same: Sequence[Group], weights: Sequence[float]) -> Group:
    """One group, credited by several parts, with the weighted sum of what they wrote."""
    out = []
    for versions in zip(*(g.trajectories for g in same), strict=True):
        nodes = zip(*(t.streams["advantage"] for t in versions), strict=True)
        rows = tuple(tuple(_dot(weights, token) for token in zip(*node, strict=True)) for node in nodes)
        out.append(versions[0].with_stream("advantage", rows))
    return replace(same[0], trajectories=tuple(out))


def _dot(weights: Sequence[float], values: Sequence[float]) -> float:
    return sum(w * v for w, v in zip(weights, values, strict=True))


LABELS: dict[str, Callable[[Group, Trajectory], str]] = {
    "agent": lambda group, t: t.agent,
    "role": lambda group, t: t.role,
    "env": lambda group, t: group.task.env,
    "level": lambda group, t: str(group.task.level),
}


@register("advantage", "split_by", status="paper", confidence="paper", example={"parts": {"agent": "normalise"}})
def split_by(parts: Mapping[str, Any], of: str = "agent", rest: Any = "normalise") -> Advantage:
    """Give each agent, role, env or level an advantage of its own.

    When to use: seats that are paid unlike one another, or a mixture of worlds of which some have a critic or rewards along the way.

    Maths: `A_i = A^(l(i))_i`, l the label of trajectory i and `A^(l)` what the part of that label gives to those that have it.

    Args:
        parts: the advantage of each name, by name, mapping or value.
        of: what is named: `agent` (the seat), `role` (the engine that played it), `env` or `level`.
        rest: the advantage of everybody else.

    Returns: An advantage that writes what its parts write; it needs what they need.
    Special cases: a part sees the trajectories of its name alone, so that statistics of the whole step are over those; it does not see
    groups that have none.
    Example: `split_by({"attacker": "normalise"}, rest={"name": "normalise", "baseline": "none"})`
    """
    if not parts or "" in parts:
        raise PartError(
            f"split_by: parts are {list(parts)}; give at least one name, of a letter or more, its advantage"
        )
    if of not in LABELS:
        raise PartError(unknown("label of split_by", of, LABELS))
    label = LABELS[of]
    made: dict[str, Advantage] = {name: resolve("advantage", part) for name, part in {**parts, "": rest}.items()}

    def owner(group: Group, t: Trajectory) -> str:
        name = label(group, t)
        return name if name in made else ""

    def apply(groups: Groups, state: State) -> tuple[Groups, State]:
        # by place, as groups of a library's user may share a ticket
        done: list[dict[str, Trajectory]] = [{} for _ in groups]
        after = {}
        for name, part in made.items():
            own = [replace(g, trajectories=tuple(t for t in g.trajectories if owner(g, t) == name)) for g in groups]
            places = [i for i, g in enumerate(own) if g.trajectories]
            out, after[name] = part.apply(tuple(own[i] for i in places), state[name])
            for i, g in zip(places, out, strict=True):
                done[i] |= {t.id: t for t in g.trajectories}
        whole = [
            replace(g, trajectories=tuple(d[t.id] for t in g.trajectories)) for g, d in zip(groups, done, strict=True)
        ]
        return tuple(whole), after

    needs = frozenset().union(*(part.needs for part in made.values()))
    return Transform(lambda: {name: part.init() for name, part in made.items()}, apply, needs)


@register("advantage", "pool", paper="2510.20022", status="paper", confidence="note", after="normalise")
def pool(unit: Any = None, key: Any = ("prompt", "transition")) -> Advantage:
    """Give every row the mean of its peers: what equal steps share, they answer for together.

    When to use: after an advantage of trajectories, where their steps overlap; the default merges the trajectories of a group into a graph
    of transitions (SALT).

    Maths: `A_i = 1/n sum_j value_j` over the n rows of the cell.

    Args:
        unit: a part of kind `unit`; None takes the advantage that each turn has.
        key: a part of kind `key`, or a list of them that must all agree.

    Returns: An advantage that rewrites the stream `advantage`.
    Special cases: a lone row keeps its value; a step that is taken twice in one trajectory counts twice.
    Example: `pool()`
    Reference: SALT, 2025, arXiv 2510.20022. Differs from the paper: read as restated by a later one.
    """
    units = credited("turn") if unit is None else resolve("unit", unit)
    keys: list[Key] = [resolve("key", k) for k in ([key] if isinstance(key, str | Mapping | Key) else key)]

    def apply(groups: Groups) -> Groups:
        rows = key_rows(units.read(groups), keys)
        return units.write(rows, rows.mean)

    return stateless(apply, needs=sorted(frozenset().union(*(k.needs for k in keys))))


@register("advantage", "drop_pivot", paper="2601.22582", status="paper", confidence="code", after={"name": "normalise"})
def drop_pivot(rescale: bool = True) -> Advantage:
    """Leave the trajectory that served as the baseline out of the loss: it has nothing to say about itself.

    When to use: after `normalise(baseline="median", scale="mad")` on groups of odd size (MC-GRPO).

    Maths: one trajectory of each group with `A = 0` gets the loss weight 0; the others `A_i <- A_i n / n'`, `n'` the number of trajectories
    of the group with `A != 0`.

    Args:
        rescale: make up for the trajectories that say nothing, as the release does.

    Returns: An advantage that rewrites the stream `advantage` and writes `weight.rl`.
    Special cases: of several tied medians the first is dropped, and only that; a group in which all advantages differ from 0 loses nobody;
    where all are 0 nothing is rescaled.

    Example:
        >>> drop_pivot().apply((), None)
        ((), None)

    Reference: MC-GRPO, 2026, arXiv 2601.22582. Differs from the paper: nothing.
    """

    def one(group: Group) -> Group:
        level = [_peak(t) for t in group.trajectories]
        said = sum(peak > 0 for peak in level)
        factor = len(level) / said if rescale and said else 1.0
        pivot = level.index(0.0) if 0.0 in level else -1
        out = []
        for i, t in enumerate(group.trajectories):
            rows = tuple(tuple(factor * v for v in row) for row in t.streams["advantage"])
            out.append(t.with_stream("advantage", rows).with_value("weight.rl", float(i != pivot)))
        return replace(group, trajectories=tuple(out))

    return stateless(lambda groups: tuple(map(one, groups)), apart=True)


def _peak(trajectory: Trajectory) -> float:
    """The largest advantage of a trajectory, without its sign."""
    if "advantage" not in trajectory.streams:
        raise PartError(f"drop_pivot: trajectory {trajectory.id!r} has no advantage; put `normalise` before it")
    return max((abs(v) for row in trajectory.streams["advantage"] for v in row), default=0.0)
