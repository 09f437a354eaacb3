"""SortNetwork: numbers run through comparators on wires."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quintain.registry import register
from quintain.worlds.engines.graph.answer import Form
from quintain.worlds.engines.graph.figures import sorted_by, wires
from quintain.worlds.engines.graph.look import Style
from quintain.worlds.engines.graph.page import Graph
from quintain.worlds.engines.graph.place import names_of
from quintain.worlds.engines.graph.sheet import GraphWorld, facts_of
from quintain.worlds.kernel import levels_of
from quintain.worlds.noise import Rng

TASK = """Numbers run along wires from left to right. An arrow between two wires compares the numbers on them: the larger one
goes on along the wire at its tip, the smaller one along the other. Which numbers come out at the right, from the top wire to
the bottom one? Text: as vertices the wires from top to bottom, each with its number, and its place in the picture in brackets;
as edges the arrows in order from left to right, A>C with its tip on wire C."""
# wires, comparators, how many in ten point upwards
TABLE = (
    (4, 3, 0),
    (4, 4, 0),
    (5, 5, 0),
    (5, 6, 2),
    (6, 8, 2),
    (6, 10, 3),
    (7, 12, 3),
    (7, 14, 4),
    (8, 17, 4),
    (9, 20, 5),
)


def network(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """Wires with random numbers and comparators, each of which has something to do or not."""
    n = knobs["n"]
    at = tuple((13, 12 + 122 * i // (n - 1)) for i in range(n))
    numbers = tuple(map(str, rng.sample(range(1, knobs["top"] + 1), n)))
    edges: list[tuple[int, int, str]] = []
    while len(edges) < knobs["arrows"]:
        a, b = sorted(rng.sample(range(n), 2))
        if not edges or {a, b} != set(edges[-1][:2]):
            edges.append((b, a, "") if rng.below(10) < knobs["up"] else (a, b, ""))
    graph = Graph(names_of(n), at, tuple(edges), ">" * len(edges), numbers)
    moved = sum(x != y for x, y in zip(sorted_by(graph), graph.values, strict=True))
    return graph if moved > n // 2 else None


def compared(graph: Graph, out: tuple[int, ...]) -> str:
    """What is on both wires after each arrow."""
    now, told = list(graph.values), []
    for (a, b, _), line in zip(graph.edges, graph.lines, strict=True):
        now[a], now[b] = min(now[a], now[b]), max(now[a], now[b])
        told.append(f"{line} {now[a]} {now[b]}")
    last = ", ".join(f"{name} {number}" for name, number in zip(graph.names, out, strict=True))
    return f"Each arrow and the numbers at its tail and its tip after it: {', '.join(told)}. At the right: {last}."


@register("world", "SortNetwork", domain="algorithmic", engine="graph")
def sort_network() -> GraphWorld:
    """Tell in which order numbers leave a network of comparators."""
    return GraphWorld(
        facts=facts_of("SortNetwork", TASK, "The numbers from top to bottom.", "12 4 31 7", legend=""),
        levels=levels_of("n arrows up", TABLE, top=99),
        form=Form(("numbers",), wires=True),
        make=network,
        truth=sorted_by,
        why=compared,
        answer=lambda g, out: (out,),
        check=lambda g, out, said: float(said == out),
        style=Style(figure=wires),
        guess=lambda g, rng: (rng.sample(g.values, len(g.values)),),
    )
