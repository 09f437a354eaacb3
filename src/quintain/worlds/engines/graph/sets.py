"""Cliques, independent sets and colourings, by exact search over bit sets."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from quintain.worlds.engines.graph.page import Graph

NODES = 12_000  # search nodes after which a graph is refused


def members(mask: int) -> tuple[int, ...]:
    """The vertices of a bit set, in order."""
    return tuple(v for v in range(mask.bit_length()) if mask >> v & 1)


def largest_clique(masks: Sequence[int], among: int | None = None) -> int:
    """A largest set of vertices (of the bit set `among`) that are all joined, as a bit set."""
    best = 0
    stack = [(0, (1 << len(masks)) - 1 if among is None else among)]
    while stack:
        chosen, left = stack.pop()
        if chosen.bit_count() + left.bit_count() <= best.bit_count():
            continue
        if not left:
            best = chosen
            continue
        v = left.bit_length() - 1
        stack.append((chosen, left & ~(1 << v)))
        stack.append((chosen | 1 << v, left & masks[v]))
    return best


def heaviest_apart(masks: Sequence[int], values: Sequence[int]) -> tuple[int, int]:
    """The greatest sum of values of vertices of which no two are joined, and such a set."""

    @functools.cache
    def go(left: int) -> tuple[int, int]:
        if not left:
            return 0, 0
        v = (left & -left).bit_length() - 1  # in the order of names, so that few sets are met on boards
        without = left & (left - 1)
        near = masks[v] & left
        value, chosen = go(without & ~near)
        value, chosen = value + values[v], chosen | 1 << v
        return (value, chosen) if not near else max((value, chosen), go(without))

    return go((1 << len(masks)) - 1)


def are_apart(graph: Graph, chosen: Sequence[int]) -> bool:
    """Whether no two of the vertices are joined."""
    mask = sum(1 << v for v in chosen)
    return not any(graph.masks[v] & mask for v in chosen)


def colouring(masks: Sequence[int], hues: int) -> list[int] | None:
    """A colouring of all vertices with at most so many hues, or None."""
    n = len(masks)
    order = sorted(range(n), key=lambda v: -masks[v].bit_count())
    classes = [0] * hues
    out = [0] * n

    def go(i: int, used: int) -> bool:
        if i == n:
            return True
        v = order[i]
        for hue in range(min(used + 1, hues)):
            if not classes[hue] & masks[v]:
                classes[hue] |= 1 << v
                out[v] = hue
                if go(i + 1, max(used, hue + 1)):
                    return True
                classes[hue] &= ~(1 << v)
        return False

    return out if go(0, 0) else None


def fewest_hues(masks: Sequence[int]) -> list[int]:
    """A colouring with the fewest hues."""
    return next(found for hues in range(1, len(masks) + 1) if (found := colouring(masks, hues)) is not None)


def most_hues(graph: Graph) -> list[int] | None:
    """A complete colouring (every two hues meet at some edge) with the most hues; None if it takes too long."""
    edges = len(graph.edges)
    hues = next(k for k in range(2, 99) if k * (k + 1) // 2 > edges)
    nodes = [NODES]
    while hues > 1:
        found = next(_complete(graph, hues, nodes), None)
        if nodes[0] <= 0:
            return None
        if found is not None:
            return found
        hues -= 1
    return None


def _complete(graph: Graph, hues: int, nodes: list[int]) -> Iterator[list[int]]:
    masks, n = graph.masks, len(graph.names)
    order = sorted(range(n), key=lambda v: -masks[v].bit_count())
    left_edges = [0] * (n + 1)  # edges with an end among order[i:]
    for i in range(n - 1, -1, -1):
        later = sum(1 << v for v in order[i + 1 :])
        left_edges[i] = left_edges[i + 1] + (masks[order[i]] & ~later).bit_count()
    classes = [0] * hues
    out = [0] * n

    def met() -> int:
        reach = [0] * hues
        for h, mask in enumerate(classes):
            for v in members(mask):
                reach[h] |= masks[v]
        return sum(bool(reach[h] & classes[g]) for h in range(hues) for g in range(h))

    def go(i: int, used: int) -> bool:
        nodes[0] -= 1
        if nodes[0] <= 0 or hues - used > n - i:
            return False
        lacking = hues * (hues - 1) // 2 - met()
        if lacking > left_edges[i]:
            return False
        if i == n:
            return lacking == 0
        v = order[i]
        for hue in range(min(used + 1, hues)):
            if not classes[hue] & masks[v]:
                classes[hue] |= 1 << v
                out[v] = hue
                if go(i + 1, max(used, hue + 1)):
                    return True
                classes[hue] &= ~(1 << v)
        return False

    if go(0, 0):
        yield out


def as_groups(hues: Sequence[int]) -> list[list[int]]:
    """The vertices of each hue."""
    return [[v for v, h in enumerate(hues) if h == hue] for hue in sorted(set(hues))]


def is_colouring(graph: Graph, groups: Sequence[Sequence[int]]) -> bool:
    """Whether each vertex is in one group and no group holds two that are joined."""
    placed = sorted(v for group in groups for v in group)
    return placed == list(range(len(graph.names))) and all(are_apart(graph, group) for group in groups)


def is_complete(graph: Graph, groups: Sequence[Sequence[int]]) -> bool:
    """Whether an edge joins every two groups."""
    sets = [sum(1 << v for v in group) for group in groups]
    reach = [functools.reduce(lambda m, v: m | graph.masks[v], group, 0) for group in groups]
    return all(reach[i] & sets[j] for i in range(len(sets)) for j in range(i))
