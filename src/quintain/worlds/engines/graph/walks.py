"""Exact walks: shortest, longest, through all vertices, over all edges."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence

from quintain.worlds.engines.graph.page import Graph

NODES = 60_000  # search nodes after which a graph is refused


def length(graph: Graph, walk: Sequence[int]) -> int | None:
    """The sum of the labels along a walk, or None if it is none."""
    total = 0
    for step in itertools.pairwise(walk):
        edge = graph.pairs.get(step)
        if edge is None:
            return None
        total += graph.weights[edge]
    return total


def shortest(graph: Graph, start: int, goal: int) -> tuple[int, tuple[int, ...]] | None:
    """The least length of a walk and one such walk, or None."""
    known = settled(graph, start, goal)
    if goal not in known:
        return None
    walk = [goal]
    while walk[-1] != start:
        walk.append(known[walk[-1]][1])
    return known[goal][0], tuple(walk[::-1])


def settled(graph: Graph, start: int, goal: int) -> dict[int, tuple[int, int]]:
    """The vertices from the nearest one on up to the goal, each with its least length from the start and the one before it."""
    best, before = {start: 0}, {start: start}
    known: dict[int, tuple[int, int]] = {}
    queue = [(0, start)]
    while queue and goal not in known:
        far, v = heapq.heappop(queue)
        if v in known:
            continue
        known[v] = far, before[v]
        for u in graph.near[v]:
            new = far + graph.weights[graph.pairs[v, u]]
            if new < best.get(u, 1 << 30):
                best[u], before[u] = new, v
                heapq.heappush(queue, (new, u))
    return known


def longest(graph: Graph, start: int, goal: int) -> tuple[int, tuple[int, ...]] | None:
    """The greatest length of a walk that visits no vertex twice and one such walk; None if there is none or it takes too long."""
    best: tuple[int, tuple[int, ...]] | None = None
    nodes = 0
    stack: list[tuple[int, int, int, tuple[int, ...]]] = [(start, 1 << start, 0, (start,))]
    while stack:
        v, seen, far, walk = stack.pop()
        nodes += 1
        if nodes > NODES:
            return None
        if v == goal:
            if best is None or far > best[0]:
                best = far, walk
            continue
        for u in graph.near[v]:
            if not seen >> u & 1:
                stack.append((u, seen | 1 << u, far + graph.weights[graph.pairs[v, u]], (*walk, u)))
    return best


def through_all(graph: Graph) -> tuple[int, ...] | None:
    """A walk that visits every vertex exactly once, or None, by sets of visited vertices."""
    masks, n = graph.masks, len(graph.names)
    full = (1 << n) - 1
    dead: set[tuple[int, int]] = set()

    def go(v: int, seen: int) -> list[int] | None:
        if seen == full:
            return [v]
        if (v, seen) in dead:
            return None
        ahead = masks[v] & ~seen
        while ahead:
            u = (ahead & -ahead).bit_length() - 1
            ahead &= ahead - 1
            rest = go(u, seen | 1 << u)
            if rest is not None:
                return [v, *rest]
        dead.add((v, seen))
        return None

    found = (go(v, 1 << v) for v in range(n))
    return next((tuple(walk) for walk in found if walk is not None), None)


def over_all(graph: Graph) -> tuple[int, ...] | None:
    """A closed walk over every edge exactly once, arrows heeded, or None: turn free edges until in- and out-degrees agree."""
    turned, stuck = balanced(graph)
    if stuck:
        return None
    out: list[list[int]] = [[] for _ in graph.names]
    for a, b in sorted(turned, reverse=True):
        out[a].append(b)
    stack, walk = [turned[0][0]], []
    while stack:
        if out[stack[-1]]:
            stack.append(out[stack[-1]].pop())
        else:
            walk.append(stack.pop())
    return tuple(walk[::-1]) if len(walk) == len(turned) + 1 else None


def balanced(graph: Graph) -> tuple[list[tuple[int, int]], list[int]]:
    """The edges, each with a direction, such that as many lead into each vertex as out of it.

    If there is no such way, then also a vertex with an odd number of edges, or vertices out of which more arrows lead than other
    edges touch both them and the rest.
    """
    ends = [(a, b) for a, b, _ in graph.edges]
    free = [i for i, sign in enumerate(graph.arrows) if sign == "-"]
    extra = [0] * len(graph.names)  # out minus in
    for a, b in ends:
        extra[a] += 1
        extra[b] -= 1
    odd = [v for v, e in enumerate(extra) if e % 2]
    if odd:
        return ends, odd[:1]
    while any(extra):
        source = next(v for v, e in enumerate(extra) if e > 0)
        before: dict[int, int] = {source: -1}
        queue, goal = [source], -1
        for v in queue:
            if extra[v] < 0:
                goal = v
                break
            for i in free:
                if ends[i][0] == v and ends[i][1] not in before:
                    before[ends[i][1]] = i
                    queue.append(ends[i][1])
        if goal < 0:
            return ends, queue
        extra[source] -= 2
        extra[goal] += 2
        while goal != source:
            i = before[goal]
            goal = ends[i][0]
            ends[i] = ends[i][1], ends[i][0]
    return ends, []
