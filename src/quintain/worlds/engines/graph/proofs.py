"""How answers about trees, sets of vertices and groups of them come about, in a line each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from quintain.worlds.engines.graph import sets, trees
from quintain.worlds.engines.graph.page import Graph
from quintain.worlds.engines.graph.reasons import joined, listed, pieces, summed

Pair = tuple[int, int]


def middles(graph: Graph, both: tuple[tuple[int, ...], tuple[int, ...]]) -> str:
    """Of centre and centroid: for each vertex its farthest and its largest piece."""
    near, names, every = graph.near, graph.names, range(len(graph.names))
    far = [max(trees.distances(near, v)) for v in every]
    large = [max(map(len, pieces(graph, [v]))) for v in every]
    one, two = (", ".join(f"{names[v]} {row[v]}" for v in every) for row in (far, large))
    told = f"Distance of the farthest vertex: {one}; least at {listed(graph, both[0])}"
    return f"{told}. Largest piece without it: {two}; least at {listed(graph, both[1])}."


def hung(graph: Graph, best: tuple[int, tuple[Pair, ...]]) -> str:
    """Of the shortest longest path: for each edge, the longest paths that are left and the one when their middles are joined."""
    told = []
    for a, b, _ in graph.edges:
        left = trees.without(graph.near, (a, b))
        one, two = (len(trees.longest_path(left, v)) - 1 for v in (a, b))
        half = f"{-(-one // 2)}+{-(-two // 2)}+1"
        told.append(f"{joined(graph, [(a, b)])} {one},{two},{half}: {max(one, two, -(-one // 2) - (-two // 2) + 1)}")
    rule = "For each edge that goes, the longest paths of both parts, the one when their middles are joined, and the largest"
    return f"{rule}. {'; '.join(told)}. Least {best[0]}: {joined(graph, best[1])}."


def hanging(graph: Graph, cut: tuple[Pair, ...]) -> str:
    """Of a tree in equal parts: how much hangs at each vertex."""
    near, size = graph.near, len(graph.names) // (len(cut) + 1)
    parent, order = trees.below(near, 0)
    many = trees.sizes(near, 0)
    told = ", ".join(f"{joined(graph, [(parent[v], v)])} {many[v]}" for v in order[:0:-1])
    rule = f"Each part has {len(near)}/{len(cut) + 1}={size}. Vertices beyond each edge, seen from {graph.names[0]}"
    return f"{rule}: {told}. Multiples of {size}: {joined(graph, cut)}."


def coloured(graph: Graph, counts: tuple[int, ...]) -> str:
    """Of the colourings of a tree: from the leaves on, the ways of each vertex by its colour."""
    notes, root = graph.notes or ("",) * len(graph.names), graph.vertex("marked")
    ways = trees.ways_below(graph.near, root, len(counts), notes)
    told = "; ".join(
        f"{graph.names[v]}{f' {notes[v]}' * bool(notes[v])}: {' '.join(map(str, w))}" for v, w in ways.items()
    )
    rule = f"Ways by colour, leaves first, seen from {graph.names[root]}: a vertex has the product, over those that hang at it"
    return f"{rule}, of their ways in other colours, 0 where forbidden. {told}."


def around(graph: Graph, found: Sequence[tuple[int, ...]]) -> str:
    """Of triples equally far apart: the middles, and what lies half as far from each, branch by branch."""
    half, told = int(graph.ask["distance"]) // 2, []
    for v, name in enumerate(graph.names):
        far = trees.distances(graph.near, v)
        beyond = [[u for u in part if far[u] == half] for part in pieces(graph, [v])]
        beyond = [part for part in beyond if part]
        if len(beyond) > 2:
            told.append(f"{name}: {' | '.join(listed(graph, part) for part in beyond)}")
    rule = f"Three vertices so far from each other have a middle, {half} from each, and lie in three branches of it"
    return f"{rule}. The branches at distance {half} from {'; from '.join(told)}. One from each of three: {len(found)} triples."


def with_without(graph: Graph, best: tuple[int, int]) -> str:
    """Of a heaviest set in a tree: from the leaves on, the best of what hangs at a vertex with and without it."""
    parent, order = trees.below(graph.near, 0)
    take, leave = list(graph.values), [0] * len(order)
    for v in order[:0:-1]:
        take[parent[v]] += leave[v]
        leave[parent[v]] += max(take[v], leave[v])
    told = ", ".join(f"{graph.names[v]} {take[v]}|{leave[v]}" for v in order[::-1])
    chosen = sets.members(best[1])
    total = summed(graph.values[v] for v in chosen)
    rule = f"Seen from {graph.names[0]}, leaves first, the best of what hangs at a vertex with it (own weight and the second of those"
    return f"{rule} below) | without it (the larger of each below): {told}. {listed(graph, chosen)}: {total}."


def outweighed(graph: Graph, best: tuple[int, int]) -> str:
    """Of a heaviest set on a board: for each cell left out, the chosen cells beside it that make up for it."""
    room = {v: graph.values[v] for v in sets.members(best[1])}
    gives: dict[Pair, int] = {}

    def one_more(c: int, seen: set[int]) -> bool:
        for v in graph.near[c]:
            if v in room and v not in seen:
                seen.add(v)
                payers = [d for d in graph.near[v] if gives.get((d, v))]
                other = next((d for d in payers if not room[v] and one_more(d, seen)), None)
                if room[v] or other is not None:
                    if other is None:
                        room[v] -= 1
                    else:
                        gives[other, v] -= 1
                    gives[c, v] = gives.get((c, v), 0) + 1
                    return True
        return False

    told = []
    out = [v for v in range(len(graph.names)) if v not in room]
    for v in out:
        for _ in range(graph.values[v]):
            one_more(v, set())
    for v in out:
        paid = ", ".join(f"{graph.names[u]} {gives[v, u]}" for u in graph.near[v] if gives.get((v, u)))
        told.append(f"{graph.names[v]} by {paid}")
    chosen = ", ".join(f"{graph.names[v]} {graph.values[v]}" for v in sets.members(best[1]))
    rule = "Each cell left out is made up for by chosen cells beside it, none of which gives more than its digit"
    bound = f"{rule}: {'; '.join(told)}. So no exchange gains" if told else "No cell is left out"
    return f"{bound}. Chosen: {chosen}, sum {best[0]}."


def clique_bound(graph: Graph, best: tuple[int, ...]) -> str:
    """Of a largest clique: its edges, and why none has a vertex more: too few of those before its last one are joined."""
    k, told = len(best), []
    for v, mask in enumerate(graph.masks):
        before = mask & (1 << v) - 1
        if before.bit_count() >= k:
            most = sets.largest_clique(graph.masks, before)
            some, all_joined = listed(graph, sets.members(before)), listed(graph, sets.members(most))
            told.append(f"{graph.names[v]} ({some}: {all_joined})")
    more = f". So many neighbours before it, and the most of them that are joined: {', '.join(told)}"
    rule = f"For {k + 1}, the last in the alphabet needs {k} before it, all joined"
    whole = f"{listed(graph, best)}: {joined(graph, itertools.combinations(best, 2))}"
    return f"{rule}{more if told else '; none has so many'}. So {k} at most. {whole}."


def colour_bound(graph: Graph, groups: Sequence[Sequence[int]]) -> str:
    """Of the fewest groups: how vertices get their group in turn, and vertices that need so many."""
    masks, k = graph.masks, len(groups)
    hue = {v: i for i, group in enumerate(groups, 1) for v in group}
    order, told = sorted(hue, key=lambda v: (-masks[v].bit_count(), v)), []
    for i, v in enumerate(order):
        shut = sorted({hue[u] for u in order[:i] if masks[v] >> u & 1})
        note = f" (not {' '.join(map(str, shut))})" if shut else ""
        told.append(f"{graph.names[v]} {hue[v]}{note}{'' if {*range(1, hue[v])} <= {*shut} else ' by trial'}")
    clique = sets.members(sets.largest_clique(masks))
    if len(clique) == k:
        bound = f"{listed(graph, clique)} are joined each with each, so it takes {k}"
    elif k == 4 and (wheel := _wheel(graph)):
        bound = f"The odd circle {listed(graph, wheel[1:])} takes 3 and {graph.names[wheel[0]]}, joined to all of it, a fourth"
    else:
        bound = f"{k - 1} groups were tried in vain"
    return f"Most edges first, each into the first group without a neighbour: {', '.join(told)}. {bound}."


def _wheel(graph: Graph) -> tuple[int, ...] | None:
    """A vertex and a circle of five neighbours of it, or None."""
    for v, mask in enumerate(graph.masks):
        rim = [u for u in graph.near[v] if (graph.masks[u] & mask).bit_count() > 1]
        for circle in itertools.permutations(rim, 5):
            if all(step in graph.pairs for step in itertools.pairwise((*circle, circle[0]))):
                return v, *circle
    return None


def completed(graph: Graph, groups: Sequence[Sequence[int]]) -> str:
    """Of the most groups that all meet: an edge for each two, and what one group more would need."""
    k, n = len(groups) + 1, len(graph.names)
    told = ", ".join(f"{i} {listed(graph, group)}" for i, group in enumerate(groups, 1))
    meet = ", ".join(
        f"{i}-{j} {joined(graph, [next(p for p in itertools.product(one, two) if p in graph.pairs)])}"
        for (i, one), (j, two) in itertools.combinations(enumerate(groups, 1), 2)
    )
    rich = [v for v in range(n) if len(graph.near[v]) >= k - 1]
    need, least = k * (k - 1) // 2, 2 * k - len(rich)
    if need > len(graph.edges):
        bound = f"{k} groups would need {need} edges, there are {len(graph.edges)}"
    elif least > n:
        alone = f"only {listed(graph, rich)}" if rich else "none"
        bound = f"In {k} groups a vertex alone needs {k - 1} edges, {alone} has them; so it takes {least} vertices, there are {n}"
    else:
        bound = f"{k} groups were tried in vain"
    return f"By trial, groups {told}. They meet: {meet}. {bound}."
