"""Spanning trees: lightest ones, how many there are, and the lightest that lead away from a root."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from quintain.worlds.engines.graph.page import Graph
from quintain.worlds.engines.graph.place import find

Pair = tuple[int, int]


def is_tree(n: int, pairs: Sequence[Pair]) -> bool:
    """Whether the pairs join `n` vertices without a cycle."""
    root = list(range(n))
    for a, b in pairs:
        x, y = find(root, a), find(root, b)
        if x == y:
            return False
        root[x] = y
    return len(pairs) == n - 1


def lightest(graph: Graph) -> tuple[int, tuple[Pair, ...]] | None:
    """The least weight of a spanning tree and one such tree, or None."""
    root, tree, total = list(range(len(graph.names))), [], 0
    for weight, (a, b, _) in sorted(zip(graph.weights, graph.edges, strict=True)):
        x, y = find(root, a), find(root, b)
        if x != y:
            root[x] = y
            tree.append((a, b))
            total += weight
    return (total, tuple(tree)) if len(tree) == len(graph.names) - 1 else None


def count(n: int, pairs: Iterable[Pair]) -> int:
    """How many spanning trees there are: a determinant (matrix-tree theorem), without fractions (Bareiss)."""
    matrix = [[0] * (n - 1) for _ in range(n - 1)]
    for a, b in pairs:
        for u, v in ((a, b), (b, a)):
            if u < n - 1:
                matrix[u][u] += 1
                if v < n - 1:
                    matrix[u][v] -= 1
    before = 1
    for k in range(n - 2):
        if not matrix[k][k]:
            return 0  # the minor of a connected drawing is positive definite
        for i in range(k + 1, n - 1):
            for j in range(k + 1, n - 1):
                matrix[i][j] = (matrix[i][j] * matrix[k][k] - matrix[i][k] * matrix[k][j]) // before
        before = matrix[k][k]
    return matrix[-1][-1]


def count_lightest(graph: Graph) -> int:
    """How many lightest spanning trees there are: by weight class, spanning forests of what lighter edges have left apart."""
    n, total = len(graph.names), 1
    root = list(range(n))
    order = sorted(zip(graph.weights, graph.edges, strict=True))
    for _, group in itertools.groupby(order, key=lambda item: item[0]):
        ends = [(find(root, a), find(root, b)) for _, (a, b, _) in group]
        ends = [(a, b) for a, b in ends if a != b]
        for a, b in ends:
            root[find(root, a)] = find(root, b)
        parts: dict[int, list[Pair]] = {}
        for a, b in ends:
            parts.setdefault(find(root, a), []).append((a, b))
        for pairs in parts.values():
            known = {v: i for i, v in enumerate(sorted({v for pair in pairs for v in pair}))}
            total *= count(len(known), [(known[a], known[b]) for a, b in pairs])
    return total


def from_root(n: int, root: int, arcs: Sequence[tuple[int, int, int]]) -> list[int] | None:
    """Which arcs (tail, head, weight) form a lightest tree that leads from the root to every vertex; None if there is none.

    Edmonds: take the lightest arc into each vertex; shrink a cycle among these to one vertex, solve, and open it again.
    """
    into: dict[int, int] = {}
    for i, (a, b, w) in enumerate(arcs):
        if b != root and a != b and (b not in into or w < arcs[into[b]][2]):
            into[b] = i
    if len(into) < n - 1:
        return None
    cycle = _cycle(n, root, {v: arcs[i][0] for v, i in into.items()})
    if not cycle:
        return list(into.values())
    rest = [v for v in range(n) if v not in cycle]
    new = {v: i for i, v in enumerate(rest)} | dict.fromkeys(cycle, len(rest))
    inner = []
    kept = []
    for i, (a, b, w) in enumerate(arcs):
        if new[a] != new[b]:
            inner.append((new[a], new[b], w - arcs[into[b]][2] if b in cycle else w))
            kept.append(i)
    found = from_root(len(rest) + 1, new[root], inner)
    if found is None:
        return None
    chosen = [kept[i] for i in found]
    entered = {arcs[i][1] for i in chosen}
    return chosen + [into[v] for v in cycle if v not in entered]


def _cycle(n: int, root: int, parent: dict[int, int]) -> set[int]:
    """The vertices of a cycle among parents, or nothing."""
    safe = {root}
    for v in range(n):
        walk = []
        while v not in safe and v not in walk:
            walk.append(v)
            v = parent[v]
        if v not in safe:
            return set(walk[walk.index(v) :])
        safe.update(walk)
    return set()
