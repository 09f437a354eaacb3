"""MatchMax, FlowMax, CutMin: matchings, flows and cuts of drawn graphs; FlowRead: read a flow that is drawn."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from quintain.registry import register
from quintain.worlds.engines.graph import flows, reasons
from quintain.worlds.engines.graph.answer import Form
from quintain.worlds.engines.graph.look import Style
from quintain.worlds.engines.graph.page import Graph
from quintain.worlds.engines.graph.place import built, built_plain, links, slots, spanning, web
from quintain.worlds.engines.graph.sheet import GraphWorld, facts_of, guessed
from quintain.worlds.kernel import levels_of
from quintain.worlds.noise import Rng

# vertices, edges, largest number
SIZES = (
    (4, 5, 9),
    (5, 6, 9),
    (6, 8, 9),
    (7, 9, 9),
    (7, 10, 9),
    (8, 12, 9),
    (9, 14, 9),
    (10, 16, 9),
    (11, 18, 9),
    (12, 21, 9),
)
WEIGHTS = tuple((n, edges - (n == 4), 9 if n < 8 else 19) for n, edges, _ in SIZES)
DRAWN = (
    (4, 4, 5),
    (5, 6, 5),
    (6, 7, 5),
    (6, 8, 9),
    (7, 9, 9),
    (8, 10, 9),
    (9, 12, 9),
    (10, 13, 9),
    (10, 14, 9),
    (11, 16, 9),
)


def weighted(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A drawing with weights."""
    found = web(rng, knobs["n"], knobs["edges"])
    return found and built(rng, found[0], [(a, b, str(1 + rng.below(knobs["top"]))) for a, b in found[1]])


def ends(at: list[tuple[int, int]]) -> tuple[int, int]:
    """The leftmost and the rightmost place."""
    return min(range(len(at)), key=lambda v: at[v]), max(range(len(at)), key=lambda v: at[v])


def network(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A drawing with a capacity on each arrow; most lead to the right, from the source to the sink."""
    found = web(rng, knobs["n"], knobs["edges"])
    if found is None:
        return None
    at, pairs = found
    source, sink = ends(at)
    arcs = [aimed(rng, at, pair, source, sink) for pair in pairs]
    edges = [(a, b, str(1 + rng.below(knobs["top"]))) for a, b in arcs]
    return built(rng, at, edges, ">" * len(edges), asks=(("from", source), ("to", sink)))


def aimed(rng: Rng, at: list[tuple[int, int]], pair: tuple[int, int], source: int, sink: int) -> tuple[int, int]:
    """The pair turned to the right, seldom to the left; never into the source nor out of the sink."""
    right = at[pair[0]] < at[pair[1]]
    if source not in pair and sink not in pair and rng.below(6) == 0:
        right = not right
    return pair if right else pair[::-1]


def parting(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A drawing with weights and two vertices to part, whose edges by themselves are no smallest cut."""
    found = web(rng, knobs["n"], knobs["edges"])
    if found is None:
        return None
    source, sink = ends(found[0])
    edges = [(a, b, str(1 + rng.below(knobs["top"]))) for a, b in found[1]]
    graph = built(rng, found[0], edges, asks=(("from", source), ("to", sink)))
    _value, _, side = flows.most(graph, graph.vertex("from"), graph.vertex("to"))
    return graph if 1 < len(side) < len(graph.names) - 1 or len(graph.names) < 6 else None


def cut_of(graph: Graph) -> tuple[int, tuple[tuple[int, int], ...]]:
    """The weight of a smallest cut, and its edges."""
    value, _, side = flows.most(graph, graph.vertex("from"), graph.vertex("to"))
    return value, tuple((a, b) for a, b, _ in graph.edges if (a in side) != (b in side))


def is_cut(graph: Graph, best: tuple[int, Any], pairs: tuple[tuple[int, int], ...]) -> float:
    """1 for a smallest cut, up to 0.2 for a larger one."""
    if any(p not in graph.pairs for p in pairs) or not flows.parted(
        graph, graph.vertex("from"), graph.vertex("to"), pairs
    ):
        return 0.0
    total = sum(graph.weights[graph.pairs[p]] for p in pairs)
    return 1.0 if total == best[0] else 0.2 * (best[0] / total) ** 3


def carried(graph: Graph, best: tuple[int, Any, Any], flow: tuple[tuple[int, int, int], ...]) -> float:
    """1 for a greatest flow, up to 0.2 for a lesser one."""
    value = flows.is_flow(graph, graph.vertex("from"), graph.vertex("to"), flow)
    return 0.0 if not value or value < 0 else 1.0 if value == best[0] else 0.2 * (value / best[0]) ** 3


def running(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A network with a flow that can still grow, where it can be only by taking some of it back."""
    at = slots(rng, knobs["n"])
    found = spanning(rng, len(at), links(rng, at, shortest=38))
    if found is None or len(found[0]) + len(found[1]) < knobs["edges"]:
        return None
    pairs = (found[0] + found[1])[: knobs["edges"]]
    source, sink = ends(at)
    kept = None
    for _ in range(5):
        arcs = [aimed(rng, at, pair, source, sink) for pair in pairs]
        edges = filled(rng, arcs, knobs["top"], built_plain(at, pairs), (source, sink))
        graph = built(rng, at, edges, ">" * len(edges), asks=(("from", source), ("to", sink)))
        best = flows.widest(graph, graph.vertex("from"), graph.vertex("to"))
        if best is not None and len(best[1]) > 2:
            kept = graph
            if any(step not in graph.pairs for step in zip(best[1], best[1][1:], strict=False)):
                break
    return kept


def filled(
    rng: Rng, arcs: list[tuple[int, int]], most: int, plain: Graph, between: tuple[int, int]
) -> list[tuple[int, int, str]]:
    """The arrows with random capacities and a flow along some random walks through them."""
    room = [1 + rng.below(most) for _ in arcs]
    flow = [0] * len(arcs)
    for _ in range(5):
        walk = wander(rng, plain, {arc: i for i, arc in enumerate(arcs) if flow[i] < room[i]}, *between)
        if walk:
            amount = 1 + rng.below(min(room[i] - flow[i] for i in walk))
            for i in walk:
                flow[i] += amount
    return [(a, b, f"{f}/{r}") for (a, b), f, r in zip(arcs, flow, room, strict=True)]


def wander(rng: Rng, graph: Graph, open_arcs: Mapping[tuple[int, int], int], at: int, goal: int) -> list[int] | None:
    """The arcs of a random walk along open ones, or None where it runs into a dead end."""
    seen, out = {at}, []
    while at != goal:
        ahead = [u for u in graph.near[at] if u not in seen and (at, u) in open_arcs]
        if not ahead:
            return None
        new = rng.pick(ahead)
        out.append(open_arcs[at, new])
        at = new
        seen.add(at)
    return out


def adds(graph: Graph, best: tuple[int, Any], walk: tuple[int, ...], amount: int) -> float:
    """1 for a walk and an amount that no walk exceeds."""
    room = flows.spare(graph)
    whole = (
        len(walk) > 1
        and walk[0] == graph.vertex("from")
        and walk[-1] == graph.vertex("to")
        and len(set(walk)) == len(walk)
    )
    found = min((room.get(step, 0) for step in itertools.pairwise(walk)), default=0)
    return float(whole and amount == found == best[0])


@register("world", "MatchMax", domain="graphs", engine="graph")
def match_max() -> GraphWorld:
    """Choose edges of which no two meet, of the greatest total weight."""
    task = """Choose edges of which no two share a vertex, so that their weights add up to as much as possible. Less is
worth something, up to 0.2."""
    return GraphWorld(
        facts=facts_of("MatchMax", task, "The edges that you choose.", "A-B C-D", "; the number after an edge is its weight."),
        levels=levels_of("n edges top", WEIGHTS),
        form=Form(("edges",)),
        make=weighted,
        truth=flows.heaviest_matching,
        why=reasons.matched,
        answer=lambda g, best: (best[1],),
        check=lambda g, best, said: 0.0
        if (total := flows.is_matching(g, said)) is None
        else 1.0 if total == best[0] else 0.2 * (total / best[0]) ** 3,
    )  # fmt: skip


@register("world", "FlowMax", domain="graphs", engine="graph")
def flow_max() -> GraphWorld:
    """Send as much as possible through a network of pipes, and say how much flows through each."""
    task = """Send as much as possible from the green vertex `from` to the vertex `to` (double ring). Each arrow carries
a whole amount in its direction, at most its number; in every other vertex as much flows in as out. Less is worth
something, up to 0.2."""
    answer = "Each arrow that carries something, and its amount."
    return GraphWorld(
        facts=facts_of(
            "FlowMax", task, answer, "A>B 3 B>C 3", "; the number after an arrow is the most that it carries."
        ),
        levels=levels_of("n edges top", SIZES),
        form=Form(("flow",)),
        make=network,
        truth=lambda g: (
            best if (best := flows.most(g, g.vertex("from"), g.vertex("to")))[0] > 1 and len(best[1]) > 2 else None
        ),
        why=reasons.sent,
        answer=lambda g, best: (tuple((a, b, f) for (a, b), f in best[1].items()),),
        check=carried,
        words_of=("from", "to"),
    )


@register("world", "CutMin", domain="graphs", engine="graph")
def cut_min() -> GraphWorld:
    """Part two vertices by taking out edges of the least total weight."""
    task = """Take edges out so that no walk is left between the green vertex `from` and the vertex `to` (double ring),
and so that their weights add up to as little as possible. More is worth something, up to 0.2."""
    return GraphWorld(
        facts=facts_of(
            "CutMin", task, "The edges to take out.", "A-B C-D", "; the number after an edge is its weight."
        ),
        levels=levels_of("n edges top", WEIGHTS),
        form=Form(("edges",)),
        make=parting,
        truth=cut_of,
        why=reasons.parted,
        answer=lambda g, best: (best[1],),
        check=is_cut,
        words_of=("from", "to"),
    )


@register("world", "FlowRead", domain="cognition", engine="graph")
def flow_read() -> GraphWorld:
    """Read a drawn flow, and find the walk along which it can grow the most, taking back what is in the way."""
    task = """A network with a flow in it: 2/5 on an arrow means that 2 flow through it, of 5 that it carries at most.
Find a walk from the green vertex `from` to the vertex `to` (double ring) that visits no vertex twice and along which the
flow can grow by as much as possible. Along an arrow there is room for what is missing to its most; against an arrow for
as much as flows through it, which is taken back. The least room on the walk is what the flow can grow by."""
    answer = "The vertices of the walk in order; then, after a semicolon, how much the flow can grow along it."
    return GraphWorld(
        facts=facts_of("FlowRead", task, answer, "A D B ; 3", "; then flow/most."),
        levels=levels_of("n edges top", DRAWN),
        form=Form(
            ("path", "number"),
            heads=(
                "(?:augmenting )?(?:path|walk|route)",
                r"(?:\+|(?:flow )?(?:can )?(?:grow )?by|(?:flow )?(?:increase|growth)|(?:least )?room|flow|bottleneck|amount)",
            ),
        ),
        make=running,
        truth=lambda g: flows.widest(g, g.vertex("from"), g.vertex("to")),
        why=reasons.widest_first,
        answer=lambda g, best: (best[1], best[0]),
        check=adds,
        guess=lambda g, rng: (
            guessed("path", g, rng),
            rng.below(1 + max(int(e[2].partition("/")[2]) for e in g.edges)),
        ),
        style=Style(path=True),
        words_of=("from", "to", *(f"{f}/{r}" for r in range(1, 10) for f in range(r + 1))),
    )
