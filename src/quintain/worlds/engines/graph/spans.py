"""Spanning trees: lightest ones, how many there are, and the lightest that lead away from a root."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

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
    return math.prod(ways for *_, ways in classes(graph))


def classes(graph: Graph) -> Iterator[tuple[int, list[Pair], int, int]]:
    """Weights, lightest first, with edges of that weight that join a few parts which lighter edges leave, how many of these edges
    are needed, and in how many ways."""
    root = list(range(len(graph.names)))
    order = sorted(zip(graph.weights, graph.edges, strict=True))
    for weight, group in itertools.groupby(order, key=lambda item: item[0]):
        edges = [((a, b), (find(root, a), find(root, b))) for _, (a, b, _) in group]
        edges = [(edge, ends) for edge, ends in edges if ends[0] != ends[1]]
        for _, (a, b) in edges:
            root[find(root, a)] = find(root, b)
        parts: dict[int, list[tuple[Pair, Pair]]] = {}
        for edge, ends in edges:
            parts.setdefault(find(root, ends[0]), []).append((edge, ends))
        for part in parts.values():
            known = {v: i for i, v in enumerate(sorted({v for _, ends in part for v in ends}))}
            ways = count(len(known), [(known[a], known[b]) for _, (a, b) in part])
            yield weight, [edge for edge, _ in part], len(known) - 1, ways


def bounds(graph: Graph, root: int) -> list[tuple[frozenset[int], int, int]]:
    """Sets of vertices without the root, each with its lightest arrow from outside and what that costs beyond what its head has paid.

    Edmonds: first each vertex by itself, then circles of such arrows as one. What all sets pay is the least weight of a tree.
    """
    part, paid = [frozenset([v]) for v in range(len(graph.names))], [0] * len(graph.names)
    into: dict[frozenset[int], int] = {}
    out: list[tuple[frozenset[int], int, int]] = []
    while waiting := [s for s in part if root not in s and s not in into]:
        s = waiting[0]
        open_arcs = [i for i, (a, b, _) in enumerate(graph.edges) if b in s and a not in s]
        into[s] = min(open_arcs, key=lambda i: graph.weights[i] - paid[graph.edges[i][1]])
        cost = graph.weights[into[s]] - paid[graph.edges[into[s]][1]]
        out.append((s, into[s], cost))
        for v in s:
            paid[v] += cost
        walk = [s]
        while (s := part[graph.edges[into[walk[-1]]][0]]) in into and s not in walk:
            walk.append(s)
        if s in walk:
            circle = frozenset().union(*walk[walk.index(s) :])
            part = [circle if v in circle else old for v, old in enumerate(part)]
    return out


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
