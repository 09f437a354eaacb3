"""Credit for sets of trajectories: together they should succeed, and differ (polychromic objective)."""

from __future__ import annotations

import random
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from quintain.advantages.rows import bad_reward, write_nodes
from quintain.advantages.units import total_reward
from quintain.parts import Advantage, PartError, stateless
from quintain.registry import register
from quintain.types import Group, Trajectory

MOST = 20_000  # sets that may be enumerated


class Sets(NamedTuple):
    """Sets of members, their score, its distance from the mean of all sets, and the mean of that over a member's sets."""

    sets: list[tuple[int, ...]]
    score: np.ndarray
    advantage: np.ndarray
    member: np.ndarray


def score_sets(rewards: Sequence[float], labels: Sequence[Hashable], sets: Sequence[tuple[int, ...]]) -> Sets:
    """`f(set) = mean reward x share of distinct labels`, and what it says of each member [G].

    Example:
        >>> score_sets([1.0, 1.0], ["a", "b"], [(0, 1)]).score.tolist()
        [1.0]
    """
    score = np.array([np.mean([rewards[i] for i in s]) * len({labels[i] for i in s}) / len(s) for s in sets])
    gap = score - score.mean() if len(sets) and np.ptp(score) > 0 else np.zeros(len(sets))
    total, count = np.zeros(len(rewards)), np.zeros(len(rewards))
    for s, value in zip(sets, gap.tolist(), strict=True):
        for i in s:
            total[i] += value
            count[i] += 1
    return Sets(list(sets), score, gap, total / np.maximum(count, 1))


@register("advantage", "credit_sets", paper="2509.25424", status="paper", confidence="note")
def credit_sets(size: int = 4, draws: int = 0, of: str = "actions", window: int = 0) -> Advantage:
    """Credit a trajectory by how its sets do: by their mean reward times the share of distinct strategies among them.

    When to use: a policy that must keep several ways of solving a task (better pass@k), instead of the first that won.

    Maths: over sets of `size` of the trajectories that fork from the same place (all of the group, if none forked), `f(set) = mean R x
    distinct / size`; `A_i` = the mean of `f - mean f` over the sets that hold i, on its first `window` turns after the fork.

    Args:
        size: members of a set, >= 1; smaller groups make one set.
        draws: sets that are drawn, from the ids alone; 0 takes all.
        of: what tells strategies apart: `actions`, `tokens`, or the name of a tag.
        window: turns that get the credit; 0 gives it to all. Other turns keep the advantage that they have (`gae`).

    Returns: An advantage that writes the stream `advantage`.
    Special cases: a group of one has advantage 0; identical members have the diversity 1 / size, not 0. A tag that no trajectory
        of a step has is warned of once.

    Example:
        >>> credit_sets(size=2).apply((), None)
        ((), None)

    Reference: Polychromic objectives, 2025, arXiv 2509.25424. Differs from the paper: all sets unless `draws`; read in a re-implementation.
    """
    if size < 1 or draws < 0 or window < 0:
        raise PartError(f"credit_sets: size {size}, draws {draws}, window {window}; size must be >= 1, the others >= 0")

    def one(group: Group) -> Group:
        places: dict[Hashable, list[int]] = {}
        for i, t in enumerate(group.trajectories):
            if not np.isfinite(total_reward(t)):
                raise bad_reward(group, t)
            places.setdefault(t.fork, []).append(i)
        credit = dict[int, float]()
        for members in places.values():
            members.sort(key=lambda i: group.trajectories[i].id)
            runs = [group.trajectories[i] for i in members]
            found = score_sets(
                [total_reward(t) for t in runs], [_strategy(t, of) for t in runs], _choose(runs, size, draws)
            )
            credit |= dict(zip(members, found.member.tolist(), strict=True))
        each = (_within(t, credit[i], window) for i, t in enumerate(group.trajectories))
        return replace(group, trajectories=tuple(each))

    told: list[str] = []

    def every(groups: tuple[Group, ...]) -> tuple[Group, ...]:
        if not told and (lack := _lack(groups, of)):
            told.append(lack)
            warnings.warn(lack, stacklevel=2)
        return tuple(map(one, groups))

    return stateless(every)


def _lack(groups: Sequence[Group], of: str) -> str:
    """What to say where no trajectory of a step has the tag that tells strategies apart."""
    tags = {tag for g in groups for t in g.trajectories for tag in t.tags}
    if of in ("actions", "tokens") or of in tags or not any(g.trajectories for g in groups):
        return ""
    there = ", ".join(sorted(map(str, tags))) or "none"
    return (
        f"credit_sets: no trajectory of the step has a tag {of!r}, so that all count as one strategy; there are: {there}; set of=actions, "
        "of=tokens, or the name of a tag that the rollout gives"
    )


def _strategy(t: Trajectory, of: str) -> Hashable:
    if of == "actions":
        return t.actions
    if of == "tokens":
        return tuple(token for n in t.nodes for token, drawn in zip(n.tokens, n.mask, strict=True) if drawn)
    return t.tags.get(of)


def _choose(runs: Sequence[Trajectory], size: int, draws: int) -> list[tuple[int, ...]]:
    size = min(size, len(runs))
    if draws:
        dice = random.Random("|".join(t.id for t in runs))
        return [tuple(sorted(dice.sample(range(len(runs)), size))) for _ in range(draws)]
    if comb(len(runs), size) > MOST:
        raise PartError(f"credit_sets: {comb(len(runs), size)} sets of {size} of {len(runs)} trajectories; set `draws`")
    return list(combinations(range(len(runs)), size))


def _within(t: Trajectory, value: float, window: int) -> Trajectory:
    """The credit on the first turns after the fork; the advantage that there was elsewhere."""
    start = t.fork[1] if t.fork else 0
    inside = {i: value for i, n in enumerate(t.nodes) if n.turn >= start and (not window or n.turn < start + window)}
    out, before = write_nodes(t, inside), t.streams.get("advantage")
    if before is None:
        return out
    rows = (row if i in inside else before[i] for i, row in enumerate(out.streams["advantage"]))
    return out.with_stream("advantage", tuple(rows))
