"""TopoOrder, AdjacencyRead, IsoMatch, SubPattern: reading drawn graphs and laying one over another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quintain.registry import register
from quintain.worlds.engines.graph.answer import Form
from quintain.worlds.engines.graph.look import Style
from quintain.worlds.engines.graph.page import NAMES, Graph, as_named
from quintain.worlds.engines.graph.place import built, built_plain, redrawn, web
from quintain.worlds.engines.graph.reasons import joined, listed
from quintain.worlds.engines.graph.sheet import GraphWorld, facts_of
from quintain.worlds.kernel import levels_of
from quintain.worlds.noise import Rng

# vertices, edges
JOBS = ((5, 6), (6, 8), (7, 10), (8, 12), (9, 14), (10, 16), (11, 18), (12, 20), (13, 22), (14, 25))
MATRIX = (
    (4, 4, 0),
    (4, 5, 0),
    (5, 6, 0),
    (5, 7, 1),
    (6, 9, 1),
    (6, 10, 2),
    (7, 12, 2),
    (8, 14, 3),
    (9, 17, 3),
    (10, 20, 4),
)
PAIRS = ((4, 4), (5, 5), (5, 6), (6, 7), (6, 8), (7, 9), (7, 10), (8, 11), (8, 12), (9, 13))
# vertices and edges of the large drawing, vertices of the small one
PARTS = (
    (5, 6, 3),
    (6, 7, 4),
    (6, 8, 4),
    (7, 9, 4),
    (8, 10, 5),
    (8, 11, 5),
    (9, 13, 5),
    (10, 14, 6),
    (10, 15, 6),
    (11, 17, 6),
)
NUMBERED = tuple(f"{a}-{b}" for a in range(1, 10) for b in range(a + 1, 10))
LEFT, RIGHT, SMALL, LARGE = (9, 12, 69, 134), (91, 12, 151, 134), (9, 25, 47, 121), (72, 12, 151, 134)


def jobs(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A drawing whose arrows follow a hidden order."""
    found = web(rng, knobs["n"], knobs["edges"], shortest=28, crossings=1)
    if found is None:
        return None
    rank = rng.sample(range(knobs["n"]), knobs["n"])
    arcs = [(a, b, "") if rank[a] < rank[b] else (b, a, "") for a, b in found[1]]
    return built(rng, found[0], arcs, ">" * len(arcs))


def an_order(graph: Graph) -> tuple[int, ...]:
    """The vertices in an order that the arrows allow, the first name first where there is a choice."""
    waiting = [sum(b == v for _, b, _ in graph.edges) for v in range(len(graph.names))]
    out: list[int] = []
    while len(out) < len(waiting):
        v = waiting.index(0)
        waiting[v] = -1
        out.append(v)
        for u in graph.near[v]:
            waiting[u] -= 1
    return tuple(out)


def in_order(graph: Graph, _: object, said: tuple[int, ...]) -> float:
    """1 for every vertex once, tails before heads."""
    at = {v: i for i, v in enumerate(said)}
    return float(len(at) == len(said) == len(graph.names) and all(at[a] < at[b] for a, b, _ in graph.edges))


def crossed(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A drawing with crossings, some of its edges arrows."""
    found = web(rng, knobs["n"], knobs["edges"], shortest=26, crossings=knobs["crossings"])
    if found is None:
        return None
    arrows = "".join(">" if rng.below(3) == 0 else "-" for _ in found[1])
    return built(rng, found[0], [(a, b, "") if rng.below(2) else (b, a, "") for a, b in found[1]], arrows)


def matrix(graph: Graph) -> tuple[tuple[int, ...], ...]:
    """Row by row 1 where an edge leads from the vertex of the row to that of the column."""
    every = range(len(graph.names))
    return tuple(tuple(int((a, b) in graph.pairs) for b in every) for a in every)


def side_by_side(one: Graph, two_at: Sequence[tuple[int, int]], pairs: Sequence[tuple[int, int]]) -> Graph:
    """Two drawings on one sheet: the vertices of the second are numbered, and `pairs` are its edges."""
    n, k = len(one.names), len(two_at)
    second = sorted((n + min(p), n + max(p), "") for p in pairs)
    return Graph(
        names=(*one.names, *(str(i + 1) for i in range(k))),
        at=(*one.at, *two_at),
        edges=(*one.edges, *second),
        arrows="-" * (len(one.edges) + len(second)),
    )


def twice(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A graph drawn twice, in two ways."""
    n = knobs["n"]
    found = web(rng, n, knobs["edges"], shortest=24, box=LEFT)
    if found is None:
        return None
    one = built(rng, found[0], [(a, b, "") for a, b in found[1]])
    image = rng.sample(range(n), n)
    pairs = [(image[a], image[b]) for a, b, _ in one.edges]
    at = redrawn(rng, n, pairs, RIGHT)
    return side_by_side(one, at, pairs) if at else None


def within(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A large drawing, and a connected piece of it drawn anew."""
    n, k = knobs["n"], knobs["small"]
    found = web(rng, n, knobs["edges"], shortest=24, box=LARGE)
    if found is None:
        return None
    one = built(rng, found[0], [(a, b, "") for a, b in found[1]])
    chosen = [rng.below(n)]
    while len(chosen) < k:
        chosen.append(rng.pick(sorted({u for v in chosen for u in one.near[v]} - set(chosen))))
    image = {v: i for i, v in enumerate(rng.sample(chosen, k))}
    pairs = [(image[a], image[b]) for a, b, _ in one.edges if a in image and b in image]
    at = redrawn(rng, k, pairs, SMALL)
    return side_by_side(one, at, pairs) if at and len(pairs) >= k - (k < 4) else None


def halves(graph: Graph) -> tuple[Graph, Graph]:
    """The two drawings of a sheet, each with its vertices counted from 0."""
    n = sum(name in NAMES for name in graph.names)
    one = [(a, b) for a, b, _ in graph.edges if a < n]
    two = [(a - n, b - n) for a, b, _ in graph.edges if a >= n]
    return built_plain(graph.at[:n], one), built_plain(graph.at[n:], two)


def laid_over(graph: Graph) -> tuple[tuple[int, int], ...] | None:
    """(vertex of the first drawing, vertex of the second): a way to find all of the second in the first."""
    one, two = halves(graph)
    n, k = len(one.names), len(two.names)
    order = [max(range(k), key=lambda v: len(two.near[v]))]
    while len(order) < k:
        order.append(max((v for v in range(k) if v not in order), key=lambda v: sum(u in order for u in two.near[v])))
    place: dict[int, int] = {}

    def go(i: int) -> bool:
        if i == k:
            return True
        v = order[i]
        for u in range(n):
            if u in place.values() or len(one.near[u]) < len(two.near[v]):
                continue
            if all((u, place[w]) in one.pairs for w in two.near[v] if w in place):
                place[v] = u
                if go(i + 1):
                    return True
                del place[v]
        return False

    return tuple((u, n + v) for v, u in place.items()) if go(0) else None


def fits(graph: Graph, _: object, said: tuple[tuple[int, int], ...]) -> float:
    """1 where every number gets a letter of its own and joined numbers get joined letters."""
    one, two = halves(graph)
    n = len(one.names)
    place = {v - n: u for u, v in said if u < n <= v}
    whole = len(said) == len(place) == len(two.names) == len(set(place.values()))
    return float(whole and all((place[a], place[b]) in one.pairs for a, b in two.pairs))


def any_map(graph: Graph, rng: Rng) -> tuple[list[tuple[int, int]]]:
    """Every number laid on a random letter."""
    n = len(halves(graph)[0].names)
    k = len(graph.names) - n
    return ([(u, n + v) for v, u in enumerate(rng.sample(range(n), k))],)


def freed(graph: Graph, order: tuple[int, ...]) -> str:
    """Which vertices no arrow holds back at first, and which each one frees."""
    first = [v for v in order if not any(b == v for _, b, _ in graph.edges)]
    told = []
    for i, v in enumerate(order):
        new = [u for u in graph.near[v] if all(a in order[: i + 1] for a, b, _ in graph.edges if b == u)]
        told.append(f"{graph.names[v]}{f' (frees {listed(graph, new)})' if new else ''}")
    return f"No arrow leads into {listed(graph, sorted(first))}. The first free name each time: {', '.join(told)}."


def row_by_row(graph: Graph, _: object) -> str:
    """The vertices to which edges lead from each."""
    told = "; ".join(
        f"{name} to {listed(graph, row) or 'none'}" for name, row in zip(graph.names, graph.near, strict=True)
    )
    return f"Edges lead from {told}."


def one_by_one(graph: Graph, pairs: tuple[tuple[int, int], ...]) -> str:
    """For each number the letters that fit with those before it, the one that is taken first, and which edges lie on which."""
    place, told, near = {}, [], graph.near
    letters = [u for u, name in enumerate(graph.names) if name in NAMES]
    alike = 2 * len(letters) == len(graph.names)
    for u, v in pairs:
        old, many = [place[w] for w in near[v] if w in place], len(near[v])
        others = [
            graph.names[x]
            for x in letters
            if x != u and x not in place.values() and all(y in near[x] for y in old)
            if len(near[x]) == many or (len(near[x]) > many and not alike)
        ]
        beside = f" beside {listed(graph, sorted(old))}" if old else ""
        told.append(f"{graph.names[v]} ({many}{beside}) {graph.names[u]}" + f" (or {' '.join(others)})" * bool(others))
        place[v] = u
    laid = ", ".join(
        f"{line} {joined(graph, [(place[a], place[b])])}"
        for line, (a, b, _) in zip(graph.lines, graph.edges, strict=True)
        if a in place
    )
    rule = f"By trial, for each number with its edges a letter that fits, with {'as many' if alike else 'no fewer'}"
    return f"{rule}: {'; '.join(told)}. Edges: {laid}."


@register("world", "TopoOrder", domain="graphs", engine="graph")
def topo_order() -> GraphWorld:
    """Put jobs into an order that their arrows allow."""
    task = "Put all vertices into an order in which every arrow leads from an earlier to a later one."
    return GraphWorld(
        facts=facts_of("TopoOrder", task, "All vertices in order.", "C A B D"),
        levels=levels_of("n edges", JOBS),
        form=Form(("order",)),
        make=jobs,
        truth=an_order,
        why=freed,
        answer=lambda g, order: (order,),
        check=in_order,
    )


@register("world", "AdjacencyRead", domain="graphs", engine="graph")
def adjacency_read() -> GraphWorld:
    """Write down which vertices a drawing joins, as a matrix."""
    task = """Write the drawing as a matrix: one row and one column for each vertex in the order of the alphabet, 1
where an edge leads from the vertex of the row to the vertex of the column, 0 elsewhere. An edge without an arrow leads
both ways."""
    return GraphWorld(
        facts=facts_of("AdjacencyRead", task, "The rows, parted by /.", "0 1 0 / 1 0 1 / 0 0 0"),
        levels=levels_of("n edges crossings", MATRIX),
        form=Form(("rows",)),
        make=crossed,
        truth=matrix,
        why=row_by_row,
        answer=lambda g, rows: (rows,),
        check=lambda g, rows, said: float(said == rows),
        guess=lambda g, rng: ([[rng.below(2) for _ in g.names] for _ in g.names],),
    )


@register("world", "IsoMatch", domain="graphs", engine="graph")
def iso_match() -> GraphWorld:
    """Find which vertex of one drawing is which of another drawing of the same graph."""
    task = """The same graph is drawn twice, once with letters and once with numbers. Say which letter is which number,
so that letters are joined exactly where their numbers are."""
    return GraphWorld(
        facts=facts_of("IsoMatch", task, "Each letter and its number.", "A=2 B=1 C=3"),
        levels=levels_of("n edges", PAIRS),
        form=Form(("map",)),
        make=twice,
        truth=laid_over,
        why=one_by_one,
        answer=lambda g, pairs: (pairs,),
        check=fits,
        style=Style(radius=0.66),
        words_of=NUMBERED,
        guess=any_map,
        layout=as_named,
    )  # fmt: skip


@register("world", "SubPattern", domain="graphs", engine="graph")
def sub_pattern() -> GraphWorld:
    """Find a small drawing inside a large one."""
    task = """A small drawing with numbers and a large one with letters. Give each number a letter of its own, so that
wherever two numbers are joined their letters are joined; there may be further edges between these letters."""
    return GraphWorld(
        facts=facts_of("SubPattern", task, "A letter for each number.", "A=2 C=1 D=3"),
        levels=levels_of("n edges small", PARTS),
        form=Form(("map",)),
        make=within,
        truth=laid_over,
        why=one_by_one,
        answer=lambda g, pairs: (pairs,),
        check=fits,
        style=Style(radius=0.66),
        words_of=NUMBERED,
        guess=any_map,
    )
