"""TreeWalk and CircuitRead: carry out what a drawing says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quintain.registry import register
from quintain.worlds.engines.graph.answer import Form
from quintain.worlds.engines.graph.figures import GATES, circuit, signals
from quintain.worlds.engines.graph.look import Style
from quintain.worlds.engines.graph.page import Graph
from quintain.worlds.engines.graph.place import LEFT, RIGHT, SHEET, TOP, blocked, built, names_of
from quintain.worlds.engines.graph.reasons import listed
from quintain.worlds.engines.graph.sheet import GraphWorld, facts_of
from quintain.worlds.kernel import levels_of
from quintain.worlds.noise import Rng

SIDES = "; then L or R: B hangs at the left or at the right of A."
MARKS = "; after a name its 0 or 1, or its kind."
KINDS = ("preorder", "inorder", "postorder", "levelorder")
SIZES = tuple((n,) for n in (5, 6, 7, 8, 9, 10, 11, 12, 13, 15))
# inputs, layers, gates in all, kinds of gates
TABLE = (
    (3, 2, 3, 5),
    (3, 2, 4, 5),
    (3, 2, 5, 5),
    (3, 3, 6, 5),
    (3, 3, 7, 5),
    (4, 3, 8, 6),
    (4, 3, 9, 6),
    (4, 3, 10, 6),
)
TABLE += ((5, 3, 11, 6), (5, 3, 12, 6))


def binary(rng: Rng, knobs: Mapping[str, Any]) -> Graph:
    """A random binary tree, each vertex further right than all that come before it in order."""
    n = knobs["n"]
    sides: list[dict[str, int]] = [{} for _ in range(n)]
    free = [(0, "L"), (0, "R")]
    for v in range(1, n):
        parent, side = free.pop(rng.below(len(free)))
        sides[parent][side] = v
        free += [(v, "L"), (v, "R")]
    depth = [0] * n
    for v in range(n):
        for child in sides[v].values():
            depth[child] = depth[v] + 1
    place = {v: i for i, v in enumerate(visit(sides, 0, "inorder"))}
    deep = max(depth)
    at = [
        (round(LEFT + place[v] * (RIGHT - LEFT) / (n - 1)), round(TOP + depth[v] * (SHEET[3] - TOP) / deep))
        for v in range(n)
    ]
    edges = [(v, child, side) for v in range(n) for side, child in sides[v].items()]
    return built(rng, at, edges, ">" * len(edges), asks=(("root", 0), ("order", rng.pick(KINDS))))


def visit(sides: list[dict[str, int]], v: int, kind: str) -> list[int]:
    """The vertices of the subtree at `v` in that order (not level by level)."""
    left, right = (visit(sides, sides[v][s], kind) if s in sides[v] else [] for s in "LR")
    if kind == "preorder":
        return [v, *left, *right]
    return [*left, v, *right] if kind == "inorder" else [*left, *right, v]


def walked(graph: Graph) -> tuple[int, ...]:
    """The order that is asked for."""
    sides: list[dict[str, int]] = [{} for _ in graph.names]
    for a, b, side in graph.edges:
        sides[a][side] = b
    if graph.ask["order"] != "levelorder":
        return tuple(visit(sides, graph.vertex("root"), graph.ask["order"]))
    out = [graph.vertex("root")]
    for v in out:
        out += [sides[v][s] for s in "LR" if s in sides[v]]
    return tuple(out)


def bottom_up(graph: Graph, order: tuple[int, ...]) -> str:
    """The order of each subtree out of those of its halves; or row by row."""
    names, kind, parts = graph.names, graph.ask["order"], []
    if kind == "levelorder":
        row = list(order[:1])
        while row:
            parts.append(listed(graph, row))
            row = [v for v in order if any((u, v) in graph.pairs for u in row)]
        return f"Row by row: {' | '.join(parts)}."
    sides = [{side: v for a, v, side in graph.edges if a == u} for u in range(len(names))]
    for v in visit(sides, graph.vertex("root"), "postorder"):
        halves = [listed(graph, visit(sides, sides[v][s], kind)) for s in "LR" if s in sides[v]]
        halves.insert({"preorder": 0, "inorder": "L" in sides[v], "postorder": 2}[kind], names[v])
        if sides[v]:
            parts.append(f"{names[v]}: {' | '.join(halves)}")
    return f"Each vertex with what hangs at it, from below: {'; '.join(parts)}."


def gates(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """Inputs at the left and gates in columns, each reading two (`not`: one) things further left without touching others."""
    inputs, layers, count = knobs["inputs"], knobs["layers"], knobs["gates"]
    columns = [inputs, *(count // layers + (i < count % layers) for i in range(layers))]
    at: list[tuple[int, int]] = []
    first = []
    for i, size in enumerate(columns):
        first.append(len(at))
        x, step = 16 + i * 128 // layers, 124 / size
        at += [(x, round(TOP + 2 + step * (k + 0.5) + (rng.uniform() - 0.5) * (step - 20) * 0.5)) for k in range(size)]
    notes = [str(rng.below(2)) for _ in range(inputs)]
    edges: list[tuple[int, int, str]] = []
    for layer in range(1, len(columns)):
        for v in range(first[layer], first[layer] + columns[layer]):
            kind = rng.pick(list(GATES)[: knobs["kinds"]])
            idle = set(range(first[layer])) - {a for a, _, _ in edges}
            found = [u for u in range(first[layer]) if not blocked(at, u, v)]
            found.sort(key=lambda u: (u not in idle) + rng.uniform())
            read = found[: 1 if kind == "not" else 2]
            if len(read) < 1 + (kind != "not") or max(read) < first[layer - 1]:
                return None
            notes.append(kind)
            edges += [(u, v, "") for u in sorted(read)]
    if len({a for a, _, _ in edges}) < first[-1]:  # all but the last column are read
        return None
    edges.sort()
    return Graph(names_of(len(at)), tuple(at), tuple(edges), ">" * len(edges), tuple(notes))


def lamps(graph: Graph) -> tuple[int, ...] | None:
    """What the gates carry, if not all the same."""
    out = [s for s, note in zip(signals(graph), graph.notes, strict=True) if note in GATES]
    return tuple(out) if len(set(out)) == 2 else None


def as_named(graph: Graph, said: tuple[object, ...]) -> bool:
    """Whether bits behind names are right: those of all gates, and of inputs if they are named too."""
    every = list(enumerate(signals(graph)))
    return {each for each in every if graph.notes[each[0]] in GATES} <= {*said} <= {*every}


def gate_by_gate(graph: Graph, _: object) -> str:
    """What each gate reads and puts out."""
    told, out = [], signals(graph)
    for v, note in enumerate(graph.notes):
        read = [f"{graph.names[a]} {out[a]}" for a, b, _ in graph.edges if b == v]
        if read:
            told.append(
                f"{graph.names[v]}: {f'not {read[0]}' if note == 'not' else f' {note} '.join(read)} is {out[v]}"
            )
    return f"From left to right, {'; '.join(told)}."


@register("world", "TreeWalk", domain="cognition", engine="graph")
def tree_walk() -> GraphWorld:
    """Write down the vertices of a binary tree in one of four orders."""
    task = """Write down the vertices of the binary tree in the order that is asked for. preorder: a vertex, then all at
its left, then all at its right. inorder: all at its left, the vertex, all at its right. postorder: all at its left, all
at its right, the vertex. levelorder: row by row from the top, each from left to right."""
    return GraphWorld(
        facts=facts_of(
            "TreeWalk",
            task,
            "All vertices in order.",
            "C A B D",
            SIDES,
        ),
        levels=levels_of("n", SIZES),
        form=Form(("order",)),
        make=binary,
        truth=walked,
        why=bottom_up,
        answer=lambda g, order: (order,),
        check=lambda g, order, said: float(said == order),
        style=Style(labels=False, radius=0.66),
        words_of=("root", "order", "L", "R", *KINDS),
    )


@register("world", "CircuitRead", domain="cognition", engine="graph")
def circuit_read() -> GraphWorld:
    """Tell what every gate of a drawn circuit puts out."""
    task = """Signals run from the inputs (green, each with its 0 or 1) through the gates. and: 1 if both are 1; or: 1
if at least one is 1; xor: 1 if exactly one is 1; nand and nor: the opposite of and and or; not: the opposite of its one
signal. What does each gate put out?"""
    return GraphWorld(
        facts=facts_of(
            "CircuitRead",
            task,
            "0 or 1 for each gate, in the order of the alphabet.",
            "1 0 0 1",
            MARKS,
        ),
        levels=levels_of("inputs layers gates kinds", TABLE),
        form=Form(("bits",)),
        make=gates,
        truth=lamps,
        why=gate_by_gate,
        answer=lambda g, bits: (bits,),
        check=lambda g, bits, said: float(said == bits or as_named(g, said)),
        style=Style(figure=circuit),
        words_of=tuple(GATES),
        size=lambda knobs: knobs["inputs"] + knobs["gates"],
        guess=lambda g, rng: ([rng.below(2) for note in g.notes if note in GATES],),
    )
