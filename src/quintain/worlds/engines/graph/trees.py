"""Trees: middles, diameters, parts, orders, colourings, and triples that are equally far apart."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from quintain.worlds.engines.graph.page import Graph

Pair = tuple[int, int]
Near = Sequence[Sequence[int]]


def distances(near: Near, start: int) -> list[int]:
    """How many edges it is from `start` to each vertex; -1 where there is no way."""
    far = [-1] * len(near)
    far[start] = 0
    queue = [start]
    for v in queue:
        for u in near[v]:
            if far[u] < 0:
                far[u] = far[v] + 1
                queue.append(u)
    return far


def centre(near: Near) -> tuple[int, ...]:
    """The vertices whose farthest vertex is nearest."""
    far = [max(distances(near, v)) for v in range(len(near))]
    return tuple(v for v, f in enumerate(far) if f == min(far))


def below(near: Near, root: int) -> tuple[list[int], list[int]]:
    """For each vertex its parent (the root: -1), and the order in which a walk from the root meets them."""
    parent, order = [-1] * len(near), [root]
    for v in order:
        for u in near[v]:
            if u != parent[v]:
                parent[u] = v
                order.append(u)
    return parent, order


def sizes(near: Near, root: int) -> list[int]:
    """How many vertices hang at each vertex, itself counted."""
    parent, order = below(near, root)
    out = [1] * len(near)
    for v in reversed(order[1:]):
        out[parent[v]] += out[v]
    return out


def centroid(near: Near) -> tuple[int, ...]:
    """The vertices without which the largest piece is smallest."""
    n, size = len(near), sizes(near, 0)
    parent, _ = below(near, 0)
    largest = [max([n - size[v], *(size[u] for u in near[v] if u != parent[v])]) for v in range(n)]
    return tuple(v for v, s in enumerate(largest) if s == min(largest))


def longest_path(near: Near, start: int) -> list[int]:
    """A longest path of the tree that holds `start`."""
    far = distances(near, start)
    one = far.index(max(far))
    far = distances(near, one)
    other = far.index(max(far))
    out = [other]
    while out[-1] != one:
        out.append(next(u for u in near[out[-1]] if far[u] == far[out[-1]] - 1))
    return out


def without(near: Near, edge: Pair) -> list[list[int]]:
    """The neighbours when an edge is taken out."""
    return [[u for u in row if {u, v} != set(edge)] for v, row in enumerate(near)]


def rehung(near: Near, edge: Pair) -> int:
    """The least diameter after an edge is taken out and the two parts are joined by another: at the middles of both."""
    left = without(near, edge)
    one, two = len(longest_path(left, edge[0])), len(longest_path(left, edge[1]))
    return max(one - 1, two - 1, one // 2 + two // 2 + 1)


def equal_parts(near: Near, parts: int) -> tuple[Pair, ...] | None:
    """The edges without which a tree falls into so many parts of equal size; there is one way at most."""
    n = len(near)
    if n % parts:
        return None
    size, (parent, _) = sizes(near, 0), below(near, 0)
    cut = tuple((parent[v], v) for v in range(n) if parent[v] >= 0 and size[v] % (n // parts) == 0)
    return cut if len(cut) == parts - 1 else None


def orders(near: Near, root: int) -> int:
    """In how many orders a tree can be built from its root, parents first: n! over the product of all sizes."""
    return math.factorial(len(near)) // math.prod(sizes(near, root))


def colourings(near: Near, hues: int, fixed: Sequence[str]) -> list[list[int]]:
    """[vertex][hue]: in how many ways the vertices can be coloured such that joined ones differ and that vertex has that hue.

    `fixed[v]` names the hues that a vertex may not have, one digit each.
    """
    return [ways_below(near, root, hues, fixed)[root] for root in range(len(near))]


def ways_below(near: Near, root: int, hues: int, fixed: Sequence[str]) -> dict[int, list[int]]:
    """The same for each vertex and what hangs at it as seen from the root, from the leaves on."""
    parent, order = below(near, root)
    ways = {v: [int(str(h + 1) not in fixed[v]) for h in range(hues)] for v in reversed(order)}
    for v in reversed(order[1:]):
        total, up = sum(ways[v]), ways[parent[v]]
        for h in range(hues):
            up[h] *= total - ways[v][h]
    return ways


def triads(graph: Graph, far: int) -> tuple[tuple[int, ...], ...]:
    """The triples of vertices that are `far` edges apart, each from each."""
    table = [distances(graph.near, v) for v in range(len(graph.names))]
    return tuple(
        t
        for t in itertools.combinations(range(len(graph.names)), 3)
        if table[t[0]][t[1]] == table[t[0]][t[2]] == table[t[1]][t[2]] == far
    )
