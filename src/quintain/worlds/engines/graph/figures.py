"""Drawings that are no plain graphs: wires with comparators, and circuits of gates."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from quintain.worlds.engines.graph.look import arrow
from quintain.worlds.engines.graph.page import Graph
from quintain.worlds.scene import Box, Disc, Polygon, Run, Shape

GATES: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "nand": lambda a, b: 1 - (a & b),
    "nor": lambda a, b: 1 - (a | b),
    "not": lambda a, b: 1 - a,
}


def wires(graph: Graph) -> Iterator[Shape]:
    """Wires from left to right with their numbers before them; an arrow between two leads to where the larger number goes."""
    left, right = 2.4, 15.4
    for note, (_, y) in zip(graph.notes, graph.at, strict=True):
        yield Polygon(points=((left, y / 10), (right, y / 10)), line="cloud", thick=0.12, closed=False)
        yield Run(text=note, x=1.3, y=y / 10, size=1.0)
    gap = (right - left) / (len(graph.edges) + 1)
    for i, (a, b, _) in enumerate(graph.edges, 1):
        x = round((left + gap * i) * 10)
        start, end = (x, graph.at[a][1]), (x, graph.at[b][1])
        yield from arrow(start, end, 0.02, ">", "blue", 0.16)
        yield Disc(x=x / 10, y=start[1] / 10, radius=0.2, fill="blue")


def circuit(graph: Graph) -> Iterator[Shape]:
    """Inputs and gates as plates with name and kind, joined from left to right."""
    for a, b, _ in graph.edges:
        (ax, ay), (bx, by) = graph.at[a], graph.at[b]
        yield from arrow((ax + 12, ay), (bx - 12, by), 0.0, ">", "cloud", 0.12)
    for name, note, (x, y) in zip(graph.names, graph.notes, graph.at, strict=True):
        gate = note in GATES
        yield Box(
            x=x / 10 - 1.3, y=y / 10 - 0.66, width=2.6, height=1.32,
            fill="white" if gate else "mint", line="ink", thick=0.09, radius=0.3,
        )  # fmt: skip
        yield Run(text=name, x=x / 10 - (0.86 if gate else 0.5), y=y / 10 + 0.02, size=0.85)
        yield Run(
            text=note, x=x / 10 + (0.36 if gate else 0.5), y=y / 10 + 0.02, size=0.64 if gate else 0.9, color="blue"
        )


def signals(graph: Graph) -> list[int]:
    """What every input and gate carries; gates come after what they read."""
    out: list[int] = []
    for v, note in enumerate(graph.notes):
        read = [out[a] for a, b, _ in graph.edges if b == v]
        out.append(GATES[note](read[0], read[-1]) if note in GATES else int(note))
    return out


def sorted_by(graph: Graph) -> tuple[int, ...]:
    """The numbers on the wires at the right end."""
    now = list(graph.values)
    for a, b, _ in graph.edges:
        now[a], now[b] = min(now[a], now[b]), max(now[a], now[b])
    return tuple(now)
