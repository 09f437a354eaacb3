"""Credit in trees of rollouts: nodes by what came of them, and prefixes that several branches share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from quintain.advantages.rows import bad_reward, write_nodes
from quintain.advantages.units import sampled_nodes
from quintain.parts import Advantage, PartError, stateless
from quintain.registry import register, unknown
from quintain.types import Group, Trajectory

LEAVES = "leaf_rewards"  # tag of a trajectory: one reward per leaf, in the order of `Trajectory.leaves`


class TreeValues(NamedTuple):
    """Per node [K]: the mean outcome of the leaves below it, how many there are, and its value over root and parent."""

    value: np.ndarray
    leaves: np.ndarray
    over_root: np.ndarray
    over_parent: np.ndarray


def tree_values(parents: Sequence[int], outcomes: dict[int, float]) -> TreeValues:
    """What the nodes of a tree are worth, by the outcomes of its leaves.

    Args:
        parents: the parent of each node [K], -1 for a root; parents come first.
        outcomes: leaf -> reward.

    Example:
        >>> tree_values([-1, 0, 0], {1: 1.0, 2: 0.0}).over_parent.tolist()
        [0.0, 0.5, -0.5]
    """
    total, count, root = np.zeros(len(parents)), np.zeros(len(parents)), list(range(len(parents)))
    for leaf, reward in outcomes.items():
        total[leaf], count[leaf] = reward, 1
    for i in range(len(parents) - 1, -1, -1):
        if parents[i] >= 0:
            total[parents[i]] += total[i]
            count[parents[i]] += count[i]
    for i, parent in enumerate(parents):
        root[i] = root[parent] if parent >= 0 else i
    value = total / np.maximum(count, 1)
    above = np.array([p if p >= 0 else i for i, p in enumerate(parents)], np.int64)
    return TreeValues(value, count, value - value[root], value - value[above])


def _over_parent(tree: TreeValues) -> np.ndarray:
    return tree.over_parent


def _over_root(tree: TreeValues) -> np.ndarray:
    return tree.over_root


def _both(tree: TreeValues) -> np.ndarray:
    return (tree.over_root + tree.over_parent) / np.sqrt(np.maximum(tree.leaves, 1))


RULES: dict[str, Callable[[TreeValues], np.ndarray]] = {"local": _over_parent, "global": _over_root, "both": _both}


@register("advantage", "credit_tree", paper="2506.11902", status="paper", confidence="note")
def credit_tree(rule: str = "both") -> Advantage:
    """Credit each step of a tree by what came of the leaves below it.

    When to use: rollouts that branch, with outcome rewards (TreeRL, TreePS-RAG).

    Maths: `V(n)` = mean reward of the leaves below node n. `local`: `A_n = V(n) - V(parent)`; `global`: `V(n) - V(root)`; `both`: their sum
    over `sqrt(leaves below n)`.

    Args:
        rule: `both` (TreeRL), `local` or `global`.

    Returns: An advantage that writes the stream `advantage` on the sampled nodes. The tag `leaf_rewards` of a trajectory holds a reward per
    leaf; without it all leaves have the trajectory's.
    Special cases: a tree of one path has advantage 0. A parent is the next node above, sampled or not. Each node is trained once.

    Example:
        >>> credit_tree("local").apply((), None)
        ((), None)

    Reference: TreeRL, 2025, arXiv 2506.11902. Differs from the paper: `local` and `global` alone are the readings of TreePS-RAG (arXiv
    2601.06922), whose difference was not read.
    """
    if rule not in RULES:
        raise PartError(unknown("rule of credit_tree", rule, RULES))

    def one(group: Group, t: Trajectory) -> Trajectory:
        given = tuple(t.tags.get(LEAVES, ())) or (t.reward,) * len(t.leaves)
        if len(given) != len(t.leaves):
            raise PartError(
                f"credit_tree: trajectory {t.id!r} has {len(given)} leaf rewards for {len(t.leaves)} leaves"
            )
        if not np.isfinite((*given, t.reward)).all():
            raise bad_reward(group, t)
        parents = [-1 if n.parent is None else n.parent for n in t.nodes]
        tree = tree_values(parents, dict(zip(t.leaves, given, strict=True)))
        return write_nodes(t, dict(enumerate(RULES[rule](tree).tolist())))

    return stateless(
        lambda groups: tuple(replace(g, trajectories=tuple(one(g, t) for t in g.trajectories)) for g in groups),
        apart=True,
    )


@register("advantage", "share_prefixes", status="experimental", confidence="guess", after="normalise")
def share_prefixes(once: bool = False) -> Advantage:
    """Give the tokens that several branches share the mean advantage of those branches.

    When to use: after the advantages, where rollouts fork in mid-episode. Our reading of ARPO's hard attribution; without this part its
    soft one holds, in which shared tokens simply appear in every branch.

    Maths: `A_t <- mean of A over the branches that contain token t`, branches of one group by their fork (trajectory, turn, token).

    Args:
        once: let the copies of a shared token together weigh as one, by `weight.rl`.

    Returns: An advantage that rewrites the stream `advantage`.
    Special cases: a trajectory that nothing forked from keeps its own; a fork from a trajectory of another group shares nothing.

    Example:
        >>> share_prefixes().apply((), None)
        ((), None)
    """

    def one(group: Group) -> Group:
        known = {t.id: t for t in group.trajectories}
        seen: dict[tuple[str, int, int], list[float]] = {}
        for t in group.trajectories:
            if "advantage" not in t.streams:
                raise PartError(f"share_prefixes: trajectory {t.id!r} has no advantage; put `normalise` before it")
        for t in group.trajectories:
            for i, j in _drawn(t):
                seen.setdefault(_owner(t, t.nodes[i].turn, j, known), []).append(t.streams["advantage"][i][j])
        return replace(group, trajectories=tuple(_shared(t, seen, known, once) for t in group.trajectories))

    return stateless(lambda groups: tuple(map(one, groups)), apart=True)


def _drawn(t: Trajectory) -> list[tuple[int, int]]:
    """Node and token of everything that the policy sampled."""
    return [(i, j) for i in sampled_nodes(t, range(len(t.nodes))) for j, m in enumerate(t.nodes[i].mask) if m]


def _owner(t: Trajectory, turn: int, token: int, known: dict[str, Trajectory]) -> tuple[str, int, int]:
    """The trajectory that first drew a token of `t`, and where."""
    while t.fork is not None and (turn, token) < t.fork[1:] and t.fork[0] in known:
        t = known[t.fork[0]]
    return t.id, turn, token


def _shared(
    t: Trajectory, seen: dict[tuple[str, int, int], list[float]], known: dict[str, Trajectory], once: bool
) -> Trajectory:
    advantage = [[0.0] * len(n.tokens) for n in t.nodes]
    weight = [[0.0] * len(n.tokens) for n in t.nodes]
    for i, j in _drawn(t):
        same = seen[_owner(t, t.nodes[i].turn, j, known)]
        advantage[i][j], weight[i][j] = same[0] + sum(v - same[0] for v in same) / len(same), 1 / len(same)
    out = t.with_stream("advantage", tuple(map(tuple, advantage)))
    return out.with_stream("weight.rl", tuple(map(tuple, weight))) if once else out
