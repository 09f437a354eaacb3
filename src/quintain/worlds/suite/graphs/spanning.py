"""SpanMin, SpanCount, SpanCountMin, ArboMin: spanning trees of drawn graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quintain.registry import register
from quintain.worlds.engines.graph import reasons
from quintain.worlds.engines.graph.answer import Form
from quintain.worlds.engines.graph.page import Graph
from quintain.worlds.engines.graph.place import built, web
from quintain.worlds.engines.graph.sheet import CEILINGS, GraphWorld, facts_of
from quintain.worlds.engines.graph.spans import count, count_lightest, from_root, is_tree, lightest
from quintain.worlds.kernel import levels_of
from quintain.worlds.noise import Rng

NUMBERED = "; the number after an edge is its weight."
TREE = "The edges of the tree."
# vertices, edges, heaviest edge
SIZES = (
    (4, 4, 9),
    (5, 6, 9),
    (6, 8, 9),
    (7, 10, 19),
    (8, 12, 19),
    (9, 13, 29),
    (10, 15, 29),
    (11, 17, 49),
    (12, 19, 49),
)
SIZES += ((13, 22, 99),)
# vertices, edges, trees at most
COUNTS = (
    (4, 4, 99),
    (5, 6, 99),
    (6, 8, 99),
    (6, 9, 150),
    (7, 10, 250),
    (7, 11, 400),
    (8, 12, 600),
    (8, 13, 900),
    (9, 14, 1200),
)
COUNTS += ((9, 15, 2000),)
# vertices, edges, heaviest edge
TIES = (
    (5, 5, 3),
    (5, 6, 3),
    (6, 7, 3),
    (6, 8, 3),
    (7, 10, 3),
    (8, 12, 3),
    (9, 13, 3),
    (10, 15, 3),
    (11, 17, 4),
    (12, 19, 4),
)


def weighted(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A drawing with weights up to `heavy`, or `top`."""
    found = web(rng, knobs["n"], knobs["edges"])
    if found is None:
        return None
    heavy = knobs.get("heavy", knobs["top"])
    return built(rng, found[0], [(a, b, str(1 + rng.below(heavy))) for a, b in found[1]])


def marked(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A drawing with one thick edge and a number of spanning trees that is neither small nor too large."""
    found = web(rng, knobs["n"], knobs["edges"], shortest=26, crossings=1)
    if found is None:
        return None
    graph = built(rng, found[0], [(a, b, "") for a, b in found[1]], asks=(("edge", "?"),))
    ends = [(a, b) for a, b, _ in graph.edges]
    trees = count(len(graph.names), ends)
    loose = [i for i in range(len(ends)) if count(len(graph.names), ends[:i] + ends[i + 1 :])]
    if not loose or not (knobs["top"] * (0.15 if knobs["n"] > 5 else 0.02) < trees <= knobs["top"]):
        return None
    return Graph(graph.names, graph.at, graph.edges, graph.arrows, (), (("edge", graph.lines[rng.pick(loose)]),))


def two_counts(graph: Graph) -> tuple[int, int]:
    """How many spanning trees there are, and how many hold the marked edge."""
    ends = [(a, b) for a, b, _ in graph.edges]
    mark = graph.lines.index(graph.ask["edge"])
    every = count(len(graph.names), ends)
    return every, every - count(len(graph.names), ends[:mark] + ends[mark + 1 :])


def rooted(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A drawing with arrows, in which the lightest arrows into the vertices do not make a tree by themselves (from level 2 on)."""
    found = web(rng, knobs["n"], knobs["edges"])
    if found is None:
        return None
    at, pairs = found
    root = rng.below(len(at))
    tree, known = pairs[: len(at) - 1], {root}
    arcs = [p if rng.below(2) else p[::-1] for p in pairs[len(at) - 1 :]]
    while tree:
        a, b = tree.pop(0)
        if (a in known) == (b in known):
            tree.append((a, b))
        else:
            arcs.append((a, b) if a in known else (b, a))
            known |= {a, b}
    for _ in range(8):
        edges = [(a, b, str(1 + rng.below(knobs["top"]))) for a, b in arcs]
        graph = built(rng, at, edges, ">" * len(edges), asks=(("root", root),))
        best = tree_of(graph)
        if best is not None and best[0] >= knobs["least"] * naive(graph):
            return graph
    return None


def naive(graph: Graph) -> int:
    """The sum of the lightest arrows into each vertex but the root, and 1."""
    root, best = graph.vertex("root"), {}
    for (_, b, _), w in zip(graph.edges, graph.weights, strict=True):
        best[b] = min(w, best.get(b, w))
    return 1 + sum(w for v, w in best.items() if v != root)


def tree_of(graph: Graph) -> tuple[int, tuple[tuple[int, int], ...]] | None:
    """The least weight of a tree that leads from the root to all, and such a tree."""
    arcs = [(a, b, w) for (a, b, _), w in zip(graph.edges, graph.weights, strict=True)]
    found = from_root(len(graph.names), graph.vertex("root"), arcs)
    return None if found is None else (sum(arcs[i][2] for i in found), tuple(arcs[i][:2] for i in found))


def leads(graph: Graph, best: tuple[int, Any], arcs: tuple[tuple[int, int], ...]) -> float:
    """1 for a lightest tree from the root, up to 0.2 for a heavier one."""
    heads = {b for _, b in arcs}
    if any(arc not in graph.pairs for arc in arcs) or graph.vertex("root") in heads or len(heads) < len(arcs):
        return 0.0
    return worth(graph, best[0], arcs)


def worth(graph: Graph, best: int, pairs: tuple[tuple[int, int], ...]) -> float:
    """1 for a spanning tree of the best weight, up to 0.2 for a heavier one."""
    if any(pair not in graph.pairs for pair in pairs) or not is_tree(len(graph.names), pairs):
        return 0.0
    total = sum(graph.weights[graph.pairs[pair]] for pair in pairs)
    return 1.0 if total == best else 0.2 * (best / total) ** 3


@register("world", "SpanMin", domain="graphs", engine="graph")
def span_min() -> GraphWorld:
    """Choose edges of least total weight that join all vertices."""
    task = """Choose edges that join all vertices, without a cycle, and whose weights add up to as little as possible. A
heavier spanning tree is worth something, up to 0.2."""
    return GraphWorld(
        facts=facts_of("SpanMin", task, TREE, "A-B A-C C-D", NUMBERED),
        levels=levels_of("n edges top", SIZES),
        form=Form(("edges",)),
        make=weighted,
        truth=lightest,
        why=reasons.lightest_first,
        answer=lambda g, best: (best[1],),
        check=lambda g, best, pairs: worth(g, best[0], pairs),
    )


@register("world", "SpanCount", domain="graphs", engine="graph")
def span_count() -> GraphWorld:
    """Count the spanning trees of a drawing, and those that hold the thick edge."""
    task = """A spanning tree is a choice of edges that joins all vertices without a cycle. How many spanning trees has
the drawing? And how many of them hold the thick edge, which the text names after `edge`?"""
    return GraphWorld(
        facts=facts_of("SpanCount", task, "Both numbers, in this order.", "21 8", ceilings={**CEILINGS, "blind": 0.1}),
        levels=levels_of("n edges top", COUNTS),
        form=Form(
            ("numbers",),
            counts=(
                r"(?:total )?(?:number of )?(?:spanning )?trees|total|in (?:all|total)",
                r"(?:of (?:them|these) )?(?:with|hold|contain)(?: the)?(?: thick)?(?: edge)?(?: [a-r]-[a-r])?|(?:thick )?edge",
            ),
        ),
        make=marked,
        truth=two_counts,
        why=reasons.taken_out,
        answer=lambda g, counts: (counts,),
        check=lambda g, counts, said: float(said == counts),
        words_of=("edge",),
        guess=lambda g, rng: (sorted((1 + rng.below(99), 1 + rng.below(99)), reverse=True),),
    )


@register("world", "SpanCountMin", domain="graphs", engine="graph")
def span_count_min() -> GraphWorld:
    """Tell the weight of the lightest spanning trees, and how many there are."""
    task = """A spanning tree is a choice of edges that joins all vertices without a cycle; the lightest ones have the
least sum of weights. What is that sum, and how many different spanning trees have it? Which edges
have they all?"""
    return GraphWorld(
        facts=facts_of(
            "SpanCountMin",
            task,
            "The sum and the number of trees; then, after a semicolon, the edges that all of them have.",
            "9 12 ; A-B A-C C-D",
            NUMBERED,
        ),
        levels=levels_of("n edges heavy", TIES, top=500),
        form=Form(("numbers", "edges"), counts=("sum|(?:total )?weight", "(?:number of )?(?:spanning )?trees")),
        make=weighted,
        truth=lightest_of_all,
        why=reasons.by_weight,
        answer=lambda g, best: best,
        check=lambda g, best, counts, pairs: float(counts == best[0] and set(pairs) == set(best[1])),
    )


def lightest_of_all(graph: Graph) -> tuple[tuple[int, int], tuple[tuple[int, int], ...]] | None:
    """The least weight and how many trees have it, three at least; and the edges, one at least, without which none has it."""
    best, trees = lightest(graph), count_lightest(graph)
    if best is None or not 3 <= trees <= 500:
        return None
    shared = []
    for a, b in sorted(best[1]):
        k = graph.pairs[a, b]
        edges, arrows = graph.edges[:k] + graph.edges[k + 1 :], graph.arrows[1:]
        other = lightest(Graph(graph.names, graph.at, edges, arrows))
        if other is None or other[0] > best[0]:
            shared.append((a, b))
    return ((best[0], trees), tuple(shared)) if shared else None


@register("world", "ArboMin", domain="graphs", engine="graph")
def arbo_min() -> GraphWorld:
    """Choose arrows of least total weight that lead from the root to every vertex."""
    task = """Choose arrows such that exactly one leads into every vertex but the root, all vertices can be reached from
the root (drawn green) along them, and their weights add up to as little as possible. A heavier such choice is worth
something, up to 0.2."""
    return GraphWorld(
        facts=facts_of("ArboMin", task, "The arrows that you choose.", "A>B A>C C>D", NUMBERED),
        levels=[{**knobs, "least": 0 if i < 2 else 1} for i, knobs in enumerate(levels_of("n edges top", SIZES))],
        form=Form(("arcs",)),
        make=rooted,
        truth=tree_of,
        why=reasons.led,
        answer=lambda g, best: (best[1],),
        check=leads,
        words_of=("root",),
    )
