"""ShortestWalk, LongestWalk, HamPath, EulerTour: walks over drawn graphs."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from quintain.registry import register
from quintain.worlds.engines.graph import reasons
from quintain.worlds.engines.graph.answer import Form
from quintain.worlds.engines.graph.look import Style
from quintain.worlds.engines.graph.page import Graph
from quintain.worlds.engines.graph.place import built, built_plain, links, slots, spanning, web
from quintain.worlds.engines.graph.sheet import CEILINGS, GraphWorld, facts_of
from quintain.worlds.engines.graph.walks import length, longest, over_all, shortest, through_all
from quintain.worlds.kernel import levels_of
from quintain.worlds.noise import Rng

WALK = "The vertices of the walk in order."
NUMBERED = "; the number after an edge is its length."
EXAMPLE = "A D B"
# vertices, edges, longest edge, edges of the walk at least
SHORT = ((4, 4, 9, 2), (5, 6, 9, 2), (6, 8, 9, 2), (7, 10, 9, 3), (8, 12, 19, 3), (9, 14, 19, 3), (10, 16, 19, 3))
SHORT += ((11, 18, 29, 4), (12, 20, 29, 4), (13, 22, 39, 4))
LONG = ((4, 4, 9, 1), (5, 6, 9, 1), (6, 8, 9, 2), (7, 10, 9, 2), (8, 12, 9, 2), (8, 13, 19, 2), (9, 14, 19, 3))
LONG += ((9, 15, 19, 3), (10, 16, 29, 3), (10, 17, 29, 3))
ALL = ((5, 6), (6, 8), (7, 10), (8, 12), (9, 13), (10, 15), (10, 16), (11, 17), (12, 19), (13, 21))  # vertices, edges
NONE = 0.12  # what `none` earns where one drawing in ten has no walk
# vertices, edges, arrows
TOUR = (
    (5, 6, 2),
    (6, 7, 2),
    (6, 8, 2),
    (7, 9, 3),
    (7, 10, 3),
    (8, 12, 4),
    (9, 14, 5),
    (10, 16, 6),
    (11, 18, 7),
    (12, 20, 8),
)


def between(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A drawing with lengths and two ends."""
    found = web(rng, knobs["n"], knobs["edges"])
    if found is None:
        return None
    at, pairs = found
    edges = [(a, b, str(1 + rng.below(knobs["top"]))) for a, b in pairs]
    graph = built(rng, at, edges)
    for _ in range(8):
        start, goal = rng.sample(range(len(at)), 2)
        best = shortest(graph, start, goal)
        if best is not None and len(best[1]) > knobs["least"]:
            names = graph.names
            return dataclasses.replace(graph, asks=(("from", names[start]), ("to", names[goal])))
    return None


def between_all(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A walk through all places and some edges more; at most one drawing in ten has no such walk, and two dead ends at most."""
    n, barren = knobs["n"], rng.below(10) == 0
    at = slots(rng, n)
    pairs = links(rng, at, 26, 2)
    if barren:
        for _ in range(25):
            found = spanning(rng, n, pairs)
            if found is None or len(found[0]) + len(found[1]) < knobs["edges"]:
                return None
            graph = built_plain(at, (found[0] + found[1])[: knobs["edges"]])
            if sum(len(near) == 1 for near in graph.near) < 3 and through_all(graph) is None:
                return built(rng, at, graph.edges)
        return None
    walk = through_all(built_plain(at, pairs))
    if walk is None:
        return None
    taken = [(min(s), max(s)) for s in itertools.pairwise(walk)]
    rest = [p for p in pairs if p not in taken]
    if len(taken) + len(rest) < knobs["edges"]:
        return None
    more = rng.sample(rest, knobs["edges"] - len(taken))
    return built(rng, at, [(a, b, "") for a, b in (*taken, *more)])


def closed(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A sum of cycles, with arrows along a tour of it on some edges; in one of ten an arrow is wrong and there is no tour."""
    at = slots(rng, knobs["n"])
    found = spanning(rng, len(at), links(rng, at, 26, 2))
    if found is None:
        return None
    tree, rest = found
    for _ in range(20):
        loops = rng.sample(rest, rng.below(len(rest) + 1))
        odd = [sum(v in pair for pair in loops) % 2 for v in range(len(at))]
        pairs = [*loops, *joins(tree, odd)]
        if abs(len(pairs) - knobs["edges"]) <= 1 and len({v for pair in pairs for v in pair}) == len(at):
            break
    else:
        return None
    plain = built(rng, at, [(a, b, "") for a, b in pairs])
    tour = over_all(plain)
    if tour is None:
        return None
    steps = list(itertools.pairwise(tour))
    turned = rng.sample(steps, knobs["arrows"])
    wrong = rng.below(10) == 0
    for _ in range(6 if wrong else 1):
        if wrong:
            k = rng.below(len(turned))
            turned[k] = turned[k][::-1]
        ends = {frozenset(step) for step in turned}
        edges = [(a, b, "") for a, b in (*turned, *(s for s in steps if frozenset(s) not in ends))]
        graph = built(rng, plain.at, edges, ">" * len(turned) + "-" * (len(edges) - len(turned)))
        if not wrong or over_all(graph) is None:
            return graph
    return None


def joins(tree: Sequence[tuple[int, int]], odd: list[int]) -> list[tuple[int, int]]:
    """The edges of a tree that make all degrees even, given which are odd without them: leaves are settled first."""
    left, out = list(tree), []
    while left:
        pair, leaf = next((p, v) for p in left for v in p if sum(v in other for other in left) == 1)
        left.remove(pair)
        if odd[leaf]:
            out.append(pair)
            odd[pair[0]] ^= 1
            odd[pair[1]] ^= 1
    return out


def is_best(graph: Graph, best: tuple[int, tuple[int, ...]], walk: tuple[int, ...], sign: int = 1) -> float:
    """1 for a walk between the ends as long as the best, up to 0.2 for others; the longest visits no vertex twice (`sign` -1)."""
    if (sign < 0 and len(set(walk)) < len(walk)) or walk[0] != graph.vertex("from") or walk[-1] != graph.vertex("to"):
        return 0.0
    far = length(graph, walk)
    if far is None:
        return 0.0
    return 1.0 if far == best[0] else 0.2 * (best[0] / far if sign > 0 else far / best[0]) ** 3


@register("world", "ShortestWalk", domain="graphs", engine="graph")
def shortest_walk() -> GraphWorld:
    """Find a shortest walk between two vertices of a drawing with lengths on its edges."""
    task = """Find a walk along the edges between the two marked vertices whose lengths add up to as little as possible:
`from` is drawn green, `to` with a double ring. A longer one is worth something, up to 0.2."""
    return GraphWorld(
        facts=facts_of("ShortestWalk", task, WALK, EXAMPLE, NUMBERED, ceilings=dict.fromkeys(
            ("random", "blind", "constant", "first"), 0.1)),
        levels=levels_of("n edges top least", SHORT),
        form=Form(("path",)),
        make=between,
        truth=lambda g: shortest(g, g.vertex("from"), g.vertex("to")),
        why=reasons.nearest_first,
        answer=lambda g, best: (best[1],),
        check=is_best,
        style=Style(path=True),
        words_of=("from", "to"),
    )  # fmt: skip


@register("world", "LongestWalk", domain="graphs", engine="graph")
def longest_walk() -> GraphWorld:
    """Find a longest walk between two vertices that visits none twice."""
    task = """Find a walk along the edges between the two marked vertices that visits no vertex twice and whose lengths
add up to as much as possible: `from` is drawn green, `to` with a double ring. A shorter one is worth something, up to
0.2."""
    return GraphWorld(
        facts=facts_of("LongestWalk", task, WALK, EXAMPLE, NUMBERED, ceilings={**CEILINGS, "random": 0.12}),
        levels=levels_of("n edges top least", LONG),
        form=Form(("path",)),
        make=between,
        truth=lambda g: longest(g, g.vertex("from"), g.vertex("to")),
        why=reasons.most_after,
        answer=lambda g, best: (best[1],),
        check=lambda g, best, walk: is_best(g, best, walk, -1),
        style=Style(path=True),
        words_of=("from", "to"),
    )


@register("world", "HamPath", domain="graphs", engine="graph")
def ham_path() -> GraphWorld:
    """Find a walk through every vertex exactly once, or say that there is none."""
    task = "Find a walk along the edges that visits every vertex exactly once, wherever it begins and ends. Some drawings have none."
    return GraphWorld(
        facts=facts_of(
            "HamPath",
            task,
            WALK + " Say `none` if there is no such walk.",
            EXAMPLE,
            ceilings={**CEILINGS, "constant": NONE},
        ),
        levels=levels_of("n edges", ALL),
        form=Form(("path",), none=True),
        make=between_all,
        truth=lambda g: through_all(g) or (),
        guess=lambda g, rng: (rng.sample(range(len(g.names)), len(g.names)),),
        why=reasons.every_vertex,
        answer=lambda g, walk: (walk,) if walk else None,
        check=lambda g, _, w: float(len(w) == len(g.names) == len(set(w)) and length(g, w) is not None),
        style=Style(path=True),
    )


@register("world", "EulerTour", domain="graphs", engine="graph")
def euler_tour() -> GraphWorld:
    """Find a closed walk over every edge exactly once in a drawing where some edges are one-way, or say that there is none."""
    task = """Find a closed walk that takes every edge exactly once and ends where it began. An edge with an arrow may
be taken only that way, the others either way. Some drawings have no such walk."""
    return GraphWorld(
        facts=facts_of(
            "EulerTour",
            task,
            WALK + " The first comes again at the end. Say `none` if there is none.",
            "A D B A",
            ceilings={**CEILINGS, "constant": NONE},
        ),
        levels=levels_of("n edges arrows", TOUR),
        form=Form(("path",), none=True),
        make=closed,
        truth=lambda g: over_all(g) or (),
        why=reasons.every_edge,
        answer=lambda g, walk: (walk,) if walk else None,
        check=lambda g, _, w: float(
            w[0] == w[-1]
            and len(w) == len(g.edges) + 1
            and len({g.pairs.get(s, -1) for s in itertools.pairwise(w)} - {-1}) == len(g.edges)
        ),
        style=Style(path=True),
    )
