"""Flows, cuts and matchings."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

from quintain.worlds.engines.graph.page import Graph

Arc = tuple[int, int]


def most(graph: Graph, source: int, sink: int) -> tuple[int, dict[Arc, int], frozenset[int]]:
    """The value of a greatest flow, one such flow, and the vertices on the side of the source of a smallest cut.

    An edge without an arrow carries a flow either way.
    """
    room = {arc: graph.weights[i] for arc, i in graph.pairs.items()}
    left = dict(room)
    for a, b in room:
        left.setdefault((b, a), 0)
    value = 0
    while True:
        before = _reached(len(graph.names), left, source)
        if sink not in before:
            break
        walk, v = [], sink
        while v != source:
            walk.append((before[v], v))
            v = before[v]
        amount = min(left[arc] for arc in walk)
        for a, b in walk:
            left[a, b] -= amount
            left[b, a] += amount
        value += amount
    flow = {arc: room[arc] - left[arc] for arc in room if room[arc] > left[arc]}
    return value, flow, frozenset(before)


def _reached(n: int, left: Mapping[Arc, int], source: int) -> dict[int, int]:
    """Vertex -> the one before it on a walk with room from the source."""
    near: list[list[int]] = [[] for _ in range(n)]
    for (a, b), room in left.items():
        if room:
            near[a].append(b)
    before, queue = {source: -1}, [source]
    for v in queue:
        for u in near[v]:
            if u not in before:
                before[u] = v
                queue.append(u)
    return before


def is_flow(graph: Graph, source: int, sink: int, flow: Iterable[tuple[int, int, int]]) -> int | None:
    """The value of a flow, or None if it breaks a rule."""
    rest = [0] * len(graph.names)
    for a, b, amount in flow:
        edge = graph.pairs.get((a, b))
        if edge is None or amount > graph.weights[edge]:
            return None
        rest[a] -= amount
        rest[b] += amount
    if any(r for v, r in enumerate(rest) if v not in (source, sink)):
        return None
    return rest[sink]


def parted(graph: Graph, source: int, sink: int, cut: Iterable[Arc]) -> bool:
    """Whether no walk is left once the edges of `cut` are taken out."""
    gone = set(cut)
    left = {arc: int(arc not in gone and arc[::-1] not in gone) for arc in graph.pairs}
    return sink not in _reached(len(graph.names), left, source)


def widest(graph: Graph, source: int, sink: int) -> tuple[int, tuple[int, ...]] | None:
    """The most that one walk can add to the drawn flow (labels `flow/capacity`), and such a walk; None if the flow is greatest."""
    known = widths(graph, source)
    if sink not in known:
        return None
    walk = [sink]
    while walk[-1] != source:
        walk.append(known[walk[-1]][1])
    return known[sink][0], tuple(walk[::-1])


def widths(graph: Graph, source: int) -> dict[int, tuple[int, int]]:
    """The vertices that a walk with room reaches, the widest first, each with the most that one can bring and the one before it."""
    room = spare(graph)
    best, before = {source: 1 << 30}, {source: source}
    waiting = {source}
    known: dict[int, tuple[int, int]] = {}
    while waiting:
        v = max(waiting, key=lambda u: (best[u], -u))
        waiting.remove(v)
        known[v] = best[v], before[v]
        for (a, b), amount in room.items():
            if a == v and min(best[v], amount) > best.get(b, 0):
                best[b], before[b] = min(best[v], amount), v
                waiting.add(b)
    return known


def streams(flow: Mapping[Arc, int], source: int, sink: int) -> list[tuple[list[int], int]]:
    """Walks from the source to the sink, each with an amount, that make up a flow without circles."""
    left, out = dict(flow), []
    while any(amount and a == source for (a, _), amount in left.items()):
        walk = [source]
        while walk[-1] != sink:
            walk.append(next(b for (a, b), amount in left.items() if amount and a == walk[-1]))
        least = min(left[arc] for arc in itertools.pairwise(walk))
        out.append((walk, least))
        for arc in itertools.pairwise(walk):
            left[arc] -= least
    return out


def spare(graph: Graph) -> dict[Arc, int]:
    """(from, to) -> how much more can flow that way, along an arrow or back against it."""
    out: dict[Arc, int] = {}
    for a, b, label in graph.edges:
        flow, room = map(int, label.split("/"))
        if room > flow:
            out[a, b] = out.get((a, b), 0) + room - flow
        if flow:
            out[b, a] = out.get((b, a), 0) + flow
    return out


def heaviest_matching(graph: Graph) -> tuple[int, tuple[Arc, ...]]:
    """The greatest weight of edges of which no two meet, and such edges, by sets of vertices that are left."""
    return matchings(graph)((1 << len(graph.names)) - 1)


def matchings(graph: Graph) -> Callable[[int], tuple[int, tuple[Arc, ...]]]:
    """Set of vertices -> the greatest weight of edges among them of which no two meet, and such edges."""
    near, weights, pairs = graph.near, graph.weights, graph.pairs

    @functools.cache
    def go(left: int) -> tuple[int, tuple[Arc, ...]]:
        if not left:
            return 0, ()
        v = (left & -left).bit_length() - 1
        rest = left & (left - 1)
        best = go(rest)
        for u in near[v]:
            if rest >> u & 1:
                value, taken = go(rest & ~(1 << u))
                value += weights[pairs[v, u]]
                if value > best[0]:
                    best = value, ((v, u), *taken)
        return best

    return go


def is_matching(graph: Graph, pairs: Sequence[Arc]) -> int | None:
    """The weight of a matching, or None if it is none."""
    ends = [v for pair in pairs for v in pair]
    if len(set(ends)) < len(ends) or any(pair not in graph.pairs for pair in pairs):
        return None
    return sum(graph.weights[graph.pairs[pair]] for pair in pairs)
