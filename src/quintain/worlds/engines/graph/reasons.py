"""How answers about walks, flows and spanning trees come about, in a line each."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction

from quintain.worlds.engines.graph import flows, spans, walks
from quintain.worlds.engines.graph.page import Graph

Pair = tuple[int, int]
Option = tuple[str, int, int]  # what is chosen, what it counts, the most that can follow


def listed(graph: Graph, vertices: Iterable[int]) -> str:
    """The names of the vertices."""
    return " ".join(graph.names[v] for v in vertices)


def joined(graph: Graph, pairs: Iterable[Pair]) -> str:
    """The edges as words."""
    return " ".join(graph.lines[graph.pairs[p]] for p in pairs)


def added(graph: Graph, pairs: Iterable[Pair]) -> str:
    """The weights of the edges and what they sum to."""
    return summed(graph.weights[graph.pairs[p]] for p in pairs)


def summed(numbers: Iterable[int]) -> str:
    """Numbers and their sum."""
    terms = list(numbers)
    return "+".join(map(str, terms)) + f"={sum(terms)}" * (len(terms) > 1)


def weighed(graph: Graph, pairs: Iterable[Pair]) -> str:
    """The edges, each with its weight."""
    return ", ".join(f"{graph.lines[i]} {graph.weights[i]}" for i in (graph.pairs[p] for p in pairs))


def _options(name: str, options: Sequence[Option], taken: str) -> str:
    best = sorted(options, key=lambda o: (-o[1] - o[2], o[0] != taken))
    return f"{name}: {', '.join(f'{what} {own}+{rest}={own + rest}' for what, own, rest in best)}"


def nearest_first(graph: Graph, best: tuple[int, tuple[int, ...]]) -> str:
    """Of a shortest walk: the least lengths from its start, nearest vertex first, and the way back."""
    names, walk = graph.names, best[1]
    known = walks.settled(graph, walk[0], walk[-1])
    steps = [f"{names[v]} {known[u][0]}+{far - known[u][0]}={far} after {names[u]}" for v, (far, u) in known.items()]
    back = f"Back from {names[walk[-1]]}: {listed(graph, walk[::-1])}"
    return f"Least lengths from {names[walk[0]]}, nearest first: {', '.join(steps[1:])}. {back}, length {best[0]}."


def most_after(graph: Graph, best: tuple[int, tuple[int, ...]]) -> str:
    """Of a longest walk: at each of its vertices where it can go on, and the most that can follow then."""
    walk = best[1]

    @functools.cache
    def ahead(v: int, seen: int) -> tuple[tuple[int, int, int], ...]:
        out = []
        for u in graph.near[v]:
            rest = ahead(u, seen | 1 << u) if not seen >> u & 1 and u != walk[-1] else ()
            if u == walk[-1] or rest:
                out.append((u, graph.weights[graph.pairs[v, u]], max((o[1] + o[2] for o in rest), default=0)))
        return tuple(out)

    parts, seen = [], 0
    for v, to in itertools.pairwise(walk):
        seen |= 1 << v
        options = [(graph.names[u], own, rest) for u, own, rest in ahead(v, seen)]
        parts.append(_options(graph.names[v], options, graph.names[to]))
    told = f"The next vertex, the edge to it and the most that can follow, the best first. {'; '.join(parts)}"
    return f"{told}. {listed(graph, walk)} is {added(graph, itertools.pairwise(walk))}."


def matched(graph: Graph, best: tuple[int, tuple[Pair, ...]]) -> str:
    """Of a heaviest matching: vertex by vertex with whom it can go, and the most that the others can give then."""
    go, mate, left, parts = flows.matchings(graph), dict(best[1]), (1 << len(graph.names)) - 1, []
    while left:
        v = (left & -left).bit_length() - 1
        left &= left - 1
        options = [
            (graph.lines[graph.pairs[v, u]], graph.weights[graph.pairs[v, u]], go(left & ~(1 << u))[0])
            for u in graph.near[v]
            if left >> u & 1
        ]
        if options:
            taken = graph.lines[graph.pairs[v, mate[v]]] if v in mate else "alone"
            parts.append(_options(graph.names[v], [*options, ("alone", 0, go(left)[0])], taken))
        left &= ~(1 << mate.get(v, v))
    told = f"What each can take, its weight and the most of what is left then, the best first. {'; '.join(parts)}"
    return f"{told}. {joined(graph, best[1])}: {added(graph, best[1])}."


def every_vertex(graph: Graph, walk: tuple[int, ...]) -> str:
    """Of a walk through all vertices: what was open at each step; where there is none, a proof or how far walks come."""
    names, n = graph.names, len(graph.names)
    if walk:
        steps = []
        for i, v in enumerate(walk[1:], 1):
            more = [u for u in graph.near[walk[i - 1]] if u not in walk[: i + 1]]
            steps.append(f"{names[v]} (or {listed(graph, more)})" if more else names[v])
        ends = [v for v in range(n) if len(graph.near[v]) == 1]
        told = f"Ends with one edge: {listed(graph, ends)}. " if ends else ""
        return f"{told}By trial, with what else was open: {names[walk[0]]}, {', '.join(steps)}. All {n} are visited."
    wide = [v for v in range(n) if len(graph.near[v]) > 2]
    for out in itertools.chain.from_iterable(itertools.combinations(wide, k) for k in range(5)):
        parts = pieces(graph, out)
        if len(parts) > len(out) + 1:
            left = f"{len(parts)} pieces: {' | '.join(listed(graph, p) for p in parts)}"
            if not out:
                return f"The drawing is in {left}. No edge joins them, so there is none."
            joins = f"A walk joins {len(out) + 1} at most through {'it' if len(out) == 1 else f'these {len(out)}'}"
            return f"Without {listed(graph, out)} it is in {left}. {joins}, so there is none."

    @functools.cache
    def most(v: int, seen: int) -> int:
        return 1 + max((most(u, seen | 1 << u) for u in graph.near[v] if not seen >> u & 1), default=0)

    far = ", ".join(f"{name} {most(v, 1 << v)}" for v, name in enumerate(names))
    return f"The most vertices that a walk visits, by its first: {far}. None visits all {n}."


def pieces(graph: Graph, without: Sequence[int]) -> list[list[int]]:
    """The connected parts that are left without some vertices."""
    left, out = set(range(len(graph.names))) - set(without), []
    while left:
        queue = [min(left)]
        left.remove(queue[0])
        for v in queue:
            queue += (new := [u for u in graph.near[v] if u in left])
            left.difference_update(new)
        out.append(sorted(queue))
    return out


def every_edge(graph: Graph, walk: tuple[int, ...]) -> str:
    """Of a closed walk over all edges: how edges are turned, and loops; where there is none, vertices that more arrows leave."""
    lines, names = graph.lines, graph.names
    if not walk:
        group = set(walks.balanced(graph)[1])
        rim = [i for i, (a, b, _) in enumerate(graph.edges) if (a in group) != (b in group)]
        away = [i for i in rim if graph.arrows[i] == ">" and graph.edges[i][0] in group]
        back = " ".join(lines[i] for i in rim if i not in away) or "none"
        if len(away) * 2 <= len(rim):
            return f"At {listed(graph, group)} there is an odd number of edges: {' '.join(lines[i] for i in rim)}. So none."
        told = f"The arrows {' '.join(lines[i] for i in away)} lead out of {listed(graph, sorted(group))}"
        return f"{told}. Other edges by which to come back: {back}. {len(away)} out and {len(rim) - len(away)} back at most: none."
    free = [f"{names[a]}>{names[b]}" for a, b in itertools.pairwise(walk) if graph.arrows[graph.pairs[a, b]] == "-"]
    degrees = ", ".join(f"{name} {walk[1:].count(v)}" for v, name in enumerate(names))
    loops, trail = [], []
    for v in walk:
        if v in trail:
            k = trail.index(v)
            loops.append(listed(graph, [*trail[k:], v]))
            del trail[k:]
        trail.append(v)
    turned = f"Edges without an arrow go {' '.join(free)}: then as many lead into each vertex as out, {degrees}"
    if len(loops) == 1:
        return f"{turned}. One loop takes them all: {loops[0]}."
    return f"{turned}. Loops: {', '.join(loops[::-1])}. One put into the other: {listed(graph, walk)}."


def sent(graph: Graph, best: tuple[int, dict[Pair, int], frozenset[int]]) -> str:
    """Of a greatest flow: the walks along which it goes, and the full arrows that part the ends."""
    _, flow, side = best
    parts = flows.streams(flow, graph.vertex("from"), graph.vertex("to"))
    full = [(a, b) for a, b, _ in graph.edges if a in side and b not in side]
    along = ", ".join(f"{amount} along {listed(graph, walk)}" for walk, amount in parts)
    rim = f"Arrows that lead out of {listed(graph, sorted(side))}: {weighed(graph, full)}"
    return f"{rim}; more than {added(graph, full)} cannot pass. As much goes: {along}."


def parted(graph: Graph, best: tuple[int, tuple[Pair, ...]]) -> str:
    """Of a smallest cut: its sides and its sum, and walks with amounts that show that no cut is lighter."""
    source, sink = graph.vertex("from"), graph.vertex("to")
    _, flow, side = flows.most(graph, source, sink)
    along = ", ".join(f"{amount} along {listed(graph, walk)}" for walk, amount in flows.streams(flow, source, sink))
    told = f"Without overloading an edge there can flow {along}: {best[0]} in all, so no cut is lighter"
    rim = f"Edges between {listed(graph, sorted(side))} and the rest: {weighed(graph, best[1])}"
    return f"{told}. {rim}; {added(graph, best[1])}."


def widest_first(graph: Graph, best: tuple[int, tuple[int, ...]]) -> str:
    """Of a walk with the most room: the most that can come to each vertex, the widest first, and the way back."""
    names, walk, steps = graph.names, best[1], []
    for v, (most, u) in flows.widths(graph, walk[0]).items():
        if v != walk[0]:
            flow, _, top = graph.edges[graph.pairs.get((u, v), graph.pairs.get((v, u), 0))][2].partition("/")
            room = f"{top}-{flow}={int(top) - int(flow)}" if (u, v) in graph.pairs else f"{flow} back"
            steps.append(f"{names[v]} {most} after {names[u]} ({room})")
        if v == walk[-1]:
            break
    told = f"The most that can come, with the room on the last step, widest first from {names[walk[0]]}: {', '.join(steps)}"
    return f"{told}. Back from {names[walk[-1]]}: {listed(graph, walk[::-1])}, with room for {best[0]}."


def lightest_first(graph: Graph, best: tuple[int, tuple[Pair, ...]]) -> str:
    """Of a lightest tree: the edges from the lightest on, and which close a circle."""
    order = sorted(zip(graph.weights, graph.edges, strict=True))
    last = max(i for i, (_, e) in enumerate(order) if e[:2] in best[1])
    told = [f"{joined(graph, [e[:2]])} {w}{'' if e[:2] in best[1] else ' no (circle)'}" for w, e in order[: last + 1]]
    return f"Lightest first: {', '.join(told)}. Sum {added(graph, best[1])}."


def by_weight(graph: Graph, best: tuple[tuple[int, int], tuple[Pair, ...]]) -> str:
    """Of the number of lightest trees: per weight, how many of which edges are needed and in how many ways."""
    told, sums, ways = [], [], []
    for weight, edges, needed, count in spans.classes(graph):
        every, some = [e for e in edges if e in best[1]], [e for e in edges if e not in best[1]]
        parts = [f"all of {joined(graph, every)}"] if every else []
        if some:
            parts.append(f"{needed - len(every)} of {joined(graph, some)} in {count} ways")
            ways.append(count)
        told.append(f"weight {weight}: {' and '.join(parts)}")
        sums.append((needed, weight))
    total = "+".join(f"{n}x{w}" for n, w in sums)
    every = f"In all of them: {joined(graph, best[1])}"
    return (
        f"Lightest first, what joins parts without a circle: {'; '.join(told)}. Sum {total}={best[0][0]}. "
        f"Trees: {'x'.join(map(str, ways))}{f'={best[0][1]}' if len(ways) > 1 else ''}. {every}."
    )


def led(graph: Graph, best: tuple[int, tuple[Pair, ...]]) -> str:
    """Of a lightest tree from a root: what each vertex and each circle must pay at least, and arrows that cost no more."""
    told, paid = [], [0] * len(graph.names)
    for group, arc, cost in spans.bounds(graph, graph.vertex("root")):
        head, weight = graph.edges[arc][1], graph.weights[arc]
        less = f" {weight}-{paid[head]}={cost}" if len(group) > 1 else f" {weight}"
        told.append(f"{f'circle {listed(graph, sorted(group))} by ' if len(group) > 1 else ''}{graph.lines[arc]}{less}")
        for v in group:
            paid[v] += cost
    rule = "The lightest arrow into each vertex, then into each circle of these, less what its head has paid"
    lightest, weights = f"{', '.join(told)}. Sum {best[0]}, no tree is lighter", weighed(graph, sorted(best[1]))
    if len(told) == len(best[1]):
        return f"The lightest arrow into each vertex: {lightest}."
    end = "From the last on, each is taken unless its vertex or circle has the head of one that was taken"
    return f"{rule}: {lightest}. {end}: {weights}, as much."


def taken_out(graph: Graph, counts: tuple[int, int]) -> str:
    """Of the number of spanning trees: vertices taken out one by one, but for the ends of the marked edge."""
    names, mark = graph.names, graph.ask["edge"]
    near: dict[int, dict[int, Fraction]] = {v: dict.fromkeys(row, Fraction(1)) for v, row in enumerate(graph.near)}
    ends, told, product = [graph.index[name] for name in mark.split("-")], [], []
    while len(near) > 2:
        v = min((u for u in near if u not in ends), key=lambda u: len(near[u]))
        row = near.pop(v)
        product.append(sum(row.values(), Fraction(0)))
        new = []
        for a, b in itertools.combinations(sorted(row), 2):
            near[a][b] = near[b][a] = near[a].get(b, Fraction(0)) + row[a] * row[b] / product[-1]
            new.append(f"{names[a]}-{names[b]} {near[a][b]}")
        for u in row:
            del near[u][v]
        told.append(f"{names[v]} {product[-1]}" + f" ({', '.join(new)})" * bool(new))
    last = near[ends[0]][ends[1]]
    return (
        "All edges weigh 1. Out goes a vertex at a time: the factor is the sum s of its weights, and between each two of its "
        f"neighbours xy/s is added to the weight. {'; '.join(told)}. {'x'.join(map(str, product))}={counts[1]} trees with "
        f"{mark}; it weighs {last} now, {counts[1]}x{last}={counts[0]} in all."
    )
