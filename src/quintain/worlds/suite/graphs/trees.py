"""TreeCentre, TreeDiameter, TreeSplit, TreeColours, TriadList, IndepTree, TopoCount: questions about drawn trees."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from quintain.registry import register
from quintain.worlds.engines.graph import proofs, trees
from quintain.worlds.engines.graph.answer import Form
from quintain.worlds.engines.graph.page import Graph, as_named
from quintain.worlds.engines.graph.place import built, built_plain, links, rows, slots, spanning
from quintain.worlds.engines.graph.sets import are_apart, heaviest_apart, members
from quintain.worlds.engines.graph.sheet import CEILINGS, GraphWorld, facts_of
from quintain.worlds.kernel import levels_of
from quintain.worlds.noise import Rng

COUNT = ((5,), (6,), (7,), (8,), (9,), (10,), (11,), (12,), (14,), (16,))  # vertices
PARTS = ((6, 2), (6, 3), (8, 4), (9, 3), (10, 5), (12, 4), (12, 6), (14, 7), (15, 5), (16, 8))  # vertices, parts
# vertices, hues, bans, ways for one colour at most
HUES = ((4, 3, 1, 60), (5, 3, 2, 80), (6, 3, 3, 100), (7, 3, 3, 200), (7, 4, 5, 600), (8, 4, 6, 900), (8, 4, 4, 1500))
HUES += ((9, 4, 8, 1500), (10, 4, 10, 1500), (11, 4, 12, 2000))
FAR = ((6, 2), (7, 2), (8, 2), (9, 2), (10, 4), (11, 4), (12, 4), (13, 4), (14, 4), (16, 4))  # vertices, distance
ROOTED = ((4, 24), (5, 60), (6, 120), (7, 300), (8, 600), (8, 900), (9, 1200), (9, 2000), (10, 2500), (11, 3000))


def tree(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A tree drawn without crossings."""
    at = slots(rng, knobs["n"])
    found = spanning(rng, len(at), links(rng, at, shortest=26))
    return None if found is None else built(rng, at, [(a, b, "") for a, b in found[0]])


def asking(graph: Graph, notes: tuple[str, ...] = (), **asks: object) -> Graph:
    """The same drawing with notes, and with what is asked."""
    asked = tuple((key, str(value)) for key, value in asks.items())
    return Graph(graph.names, graph.at, graph.edges, graph.arrows, notes, asked)


def weighted(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A tree with a weight at each vertex."""
    graph = tree(rng, knobs)
    return graph and asking(graph, tuple(str(1 + rng.below(knobs["top"])) for _ in graph.names))


def splittable(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A tree that can be cut into equal parts."""
    n = knobs["n"]
    at = slots(rng, n)
    pairs = links(rng, at, shortest=26)
    for _ in range(60):
        found = spanning(rng, n, pairs)
        if found is None:
            return None
        if trees.equal_parts(built_plain(at, found[0]).near, knobs["parts"]) is not None:
            return built(rng, at, [(a, b, "") for a, b in found[0]], asks=(("parts", str(knobs["parts"])),))
    return None


def banned(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A tree in which some vertices may not have some colours."""
    graph = tree(rng, knobs)
    if graph is None:
        return None
    notes = [""] * len(graph.names)
    for _ in range(knobs["bans"]):
        v, hue = rng.below(len(notes)), str(1 + rng.below(knobs["hues"]))
        if hue not in notes[v] and len(notes[v]) < knobs["hues"] - 2:
            notes[v] = "".join(sorted(notes[v] + hue))
    shown = tuple("no" + note if note else "" for note in notes)
    graph = asking(graph, shown, hues=knobs["hues"], marked=rng.pick(graph.names))
    counts = hues_of(graph)
    return graph if counts is not None and max(counts) <= knobs["top"] else None


def hues_of(graph: Graph) -> tuple[int, ...] | None:
    """How many colourings give the marked vertex each hue."""
    counts = trees.colourings(graph.near, int(graph.ask["hues"]), graph.notes or ("",) * len(graph.names))
    mine = tuple(counts[graph.vertex("marked")])
    return mine if sum(mine) >= 8 else None


def far_apart(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A tree with a few triples at the distance that is asked for."""
    for _ in range(20):
        graph = tree(rng, knobs)
        if graph is not None and 2 <= len(trees.triads(graph, knobs["far"])) <= 12:
            return asking(graph, distance=knobs["far"])
    return None


def precedence(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A rooted tree, drawn downwards, with arrows from parents to children, and one child of the root marked."""
    n = knobs["n"]
    children: list[list[int]] = [[] for _ in range(n)]
    for v in range(1, n):
        parent = rng.below(v)
        children[parent if len(children[parent]) < 3 else v - 1].append(v)
    if len(children[0]) < 2:
        return None
    at = rows(children)
    edges = [(v, c, "") for v in range(n) for c in children[v]]
    graph = built(rng, at, edges, ">" * len(edges), asks=(("root", 0), ("first", rng.pick(children[0]))))
    every = orders_of(graph)[0]
    return graph if knobs["top"] // 12 <= every <= knobs["top"] else None


def orders_of(graph: Graph) -> tuple[int, int]:
    """How many orders there are, and in how many of them the marked child comes right after the root."""
    near: list[list[int]] = [[] for _ in graph.names]
    for a, b, _ in graph.edges:
        near[a].append(b)
        near[b].append(a)
    root, child = graph.vertex("root"), graph.vertex("first")
    every = trees.orders(near, root)
    return every, every * trees.sizes(near, root)[child] // (len(near) - 1)


def below_each(graph: Graph, both: tuple[int, int]) -> str:
    """How many jobs hang at each, and what follows."""
    names, root, child = graph.names, graph.vertex("root"), graph.vertex("first")
    near = [[u for u in range(len(names)) if (v, u) in graph.pairs or (u, v) in graph.pairs] for v in range(len(names))]
    many = trees.sizes(near, root)
    n, large = len(names), [v for v in trees.below(near, root)[1] if many[v] > 1]
    told = ", ".join(f"{names[v]} {many[v]}" for v in large)
    over = [many[v] for v in large]
    return (
        f"Jobs that hang at each, with itself: {told}, all others 1. Orders: {n}!/({'x'.join(map(str, over))})="
        f"{math.factorial(n)}/{math.prod(over)}={both[0]}. "
        f"{names[child]} holds {many[child]} of the {n - 1} jobs after {names[root]} and comes first in as large a part of the "
        f"orders: {both[0]}x{many[child]}/{n - 1}={both[1]}."
    )


@register("world", "TreeCentre", domain="graphs", engine="graph")
def tree_centre() -> GraphWorld:
    """Name the centre and the centroid of a tree."""
    task = """The distance of two vertices is the number of edges between them. The centre is every vertex whose
farthest vertex is as near as possible. The centroid is every vertex without which the largest piece that is left has as
few vertices as possible. Each may be one vertex or two."""
    return GraphWorld(
        facts=facts_of("TreeCentre", task, "The centre; then, after a semicolon, the centroid.", "B ; B D"),
        levels=levels_of("n", COUNT),
        form=Form(("set", "set"), heads=("cent(?:re|er)s?(?: vertex)?", "centroids?(?: vertex)?")),
        make=tree,
        truth=lambda g: (trees.centre(g.near), trees.centroid(g.near)),
        why=proofs.middles,
        answer=lambda g, both: both,
        check=lambda g, both, *said: float(both == tuple(tuple(sorted(s)) for s in said)),
        guess=lambda g, rng: ([rng.below(len(g.names))], [rng.below(len(g.names))]),
    )


@register("world", "TreeDiameter", domain="graphs", engine="graph")
def tree_diameter() -> GraphWorld:
    """Find which edges of a tree to hang elsewhere so that the longest path becomes as short as possible."""
    task = """Take one edge of the tree out and put one edge between any two vertices in, so that a tree is left whose longest path has
as few edges as possible. How few can these be, and which edges can be the one that is taken out for that?"""
    answer = "The number of edges of the longest path then; after a semicolon, all edges that can be taken out for it."
    return GraphWorld(
        facts=facts_of("TreeDiameter", task, answer, "3 ; A-B A-C"),
        levels=levels_of("n", [(n + 1,) for (n,) in COUNT], top=18),
        form=Form(("number", "edges")),
        make=tree,
        truth=shorter,
        why=proofs.hung,
        answer=lambda g, best: best,
        check=lambda g, best, number, said: float(
            number == best[0] and set(map(frozenset, said)) == set(map(frozenset, best[1]))
        ),
        guess=lambda g, rng: (2 + rng.below(5), rng.sample([e[:2] for e in g.edges], 1 + rng.below(3))),
    )


def shorter(graph: Graph) -> tuple[int, tuple[tuple[int, int], ...]] | None:
    """The shortest longest path and the edges to take out for it, if it is shorter than before."""
    reach = {(a, b): trees.rehung(graph.near, (a, b)) for a, b, _ in graph.edges}
    best = min(reach.values())
    if best >= len(trees.longest_path(graph.near, 0)) - 1:
        return None
    return best, tuple(edge for edge, far in reach.items() if far == best)


@register("world", "TreeSplit", domain="graphs", engine="graph")
def tree_split() -> GraphWorld:
    """Cut a tree into parts of equal size."""
    task = "Take edges out so that the tree falls into as many parts as `parts` tells, all with the same number of vertices."
    return GraphWorld(
        facts=facts_of("TreeSplit", task, "The edges to take out.", "A-B C-D"),
        levels=levels_of("n parts", PARTS),
        form=Form(("edges",)),
        make=splittable,
        truth=lambda g: trees.equal_parts(g.near, int(g.ask["parts"])),
        why=proofs.hanging,
        answer=lambda g, cut: (cut,),
        check=lambda g, cut, said: float(set(map(frozenset, cut)) == set(map(frozenset, said))),
        words_of=("parts",),
        guess=lambda g, rng: (rng.sample([e[:2] for e in g.edges], int(g.ask["parts"]) - 1),),
        layout=as_named,
    )


@register("world", "TreeColours", domain="graphs", engine="graph")
def tree_colours() -> GraphWorld:
    """Count the colourings of a tree by the colour of one vertex, where some vertices may not have some colours."""
    task = """Every vertex gets one of the colours 1, 2 ... up to `hues`, so that the two ends of each edge differ. A
plate such as no13 beside a vertex forbids it the colours 1 and 3. In how many ways does the marked vertex (double ring)
get colour 1, colour 2, and so on?"""
    return GraphWorld(
        facts=facts_of(
            "TreeColours",
            task,
            "One number per colour, from colour 1 on.",
            "4 0 6",
            "; no13 after a vertex is its plate.",
        ),
        levels=levels_of("n hues bans top", HUES),
        form=Form(("numbers",)),
        make=banned,
        truth=hues_of,
        why=proofs.coloured,
        answer=lambda g, counts: (counts,),
        check=lambda g, counts, said: float(said == counts),
        words_of=(
            "hues",
            "marked",
            *("no" + "".join(d for i, d in enumerate("1234") if m >> i & 1) for m in range(1, 16)),
        ),
        guess=lambda g, rng: ([rng.below(50) for _ in range(int(g.ask["hues"]))],),
    )


@register("world", "TriadList", domain="graphs", engine="graph")
def triad_list() -> GraphWorld:
    """List all triples of vertices of a tree that are equally far from each other."""
    task = """The distance of two vertices is the number of edges between them. Find all triples of vertices such that
each two of the three have the distance that is asked for."""
    return GraphWorld(
        facts=facts_of("TriadList", task, "Every triple once, in any order, parted by /.", "A B C / B D E"),
        levels=levels_of("n far", FAR),
        form=Form(("groups",), size=3),
        make=far_apart,
        truth=lambda g: trees.triads(g, int(g.ask["distance"])),
        why=proofs.around,
        answer=lambda g, found: (found,),
        check=lambda g, found, said: float(sorted(found) == sorted(tuple(sorted(t)) for t in said)),
        words_of=("distance",),
        guess=lambda g, rng: ([rng.sample(range(len(g.names)), 3) for _ in range(2 + rng.below(2))],),
    )


@register("world", "IndepTree", domain="graphs", engine="graph")
def indep_tree() -> GraphWorld:
    """Choose vertices of a tree, no two of them joined, of the greatest total weight."""
    task = """Choose vertices of which no two are joined by an edge, so that the numbers beside them add up to as much
as possible. Less than that is worth something, up to 0.2."""
    return GraphWorld(
        facts=facts_of("IndepTree", task, "The vertices that you choose.", "A C D", "; the number after a vertex is its weight."),
        levels=levels_of("n", COUNT, top=19),
        form=Form(("set",)),
        make=weighted,
        truth=lambda g: heaviest_apart(g.masks, g.values),
        why=proofs.with_without,
        answer=lambda g, best: (members(best[1]),),
        check=heavy,
    )  # fmt: skip


def heavy(graph: Graph, best: tuple[int, int], chosen: tuple[int, ...]) -> float:
    """1 for a heaviest set without joined vertices, up to 0.2 for a lighter one."""
    if not are_apart(graph, chosen):
        return 0.0
    total = sum(graph.values[v] for v in chosen)
    return 1.0 if total == best[0] else 0.2 * (total / best[0]) ** 3


@register("world", "TopoCount", domain="graphs", engine="graph")
def topo_count() -> GraphWorld:
    """Count the orders in which a tree can be built, parents first, and those in which one child comes right after the root."""
    task = """A job can be done once the job from which an arrow leads to it is done. In how many orders can all jobs be
done one after another? And in how many of these does the marked job (double ring, `first`) come right after the root?"""
    return GraphWorld(
        facts=facts_of(
            "TopoCount", task, "Both numbers, in this order.", "20 8", ceilings={**CEILINGS, "constant": 0.04}
        ),
        levels=levels_of("n top", ROOTED),
        form=Form(
            ("numbers",),
            counts=(
                r"(?:total )?(?:number of )?orders(?: in (?:all|total))?|total|in (?:all|total)",
                r"(?:of (?:them|these) )?with [a-r] (?:first|right after (?:[a-r]|the root))|first",
            ),
        ),
        make=precedence,
        truth=orders_of,
        why=below_each,
        answer=lambda g, both: (both,),
        check=lambda g, both, said: float(said == both),
        words_of=("root", "first"),
        guess=lambda g, rng: (sorted((1 + rng.below(24), 1 + rng.below(24)), reverse=True),),
    )
