"""The state of all graph worlds: a drawn graph, what is asked about it, and the answer; its captions and its canonical form."""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass

from quintain.types import QuintainError
from quintain.worlds.cells import framed, names_of, unframed
from quintain.worlds.splits import canonical as board_form

NAMES = "ABCDEFGHIJKLMNOPQR"
WROTE = "answer: "
_VERTEX = re.compile(r"(\w+)(?: (\S+))? \((\d+),(\d+)\)", re.ASCII)
_EDGE = re.compile(r"(\w+)([->])(\w+)(?: (\S+))?", re.ASCII)
_ROUNDS = 3
SMALL = 9  # vertices

Point = tuple[int, int]
Edge = tuple[int, int, str]  # tail, head, label


@dataclass(frozen=True)
class Graph:
    """What is printed: vertices, edges, and what is asked.

    Attributes:
        names: the names of the vertices.
        at: where each is drawn, in tenths of a cell from the upper left corner.
        edges: tail, head and label (a number or text, or nothing) of each.
        arrows: one sign per edge: `>` leads from tail to head, `-` both ways.
        notes: what stands beside each vertex, or nothing at all.
        asks: name and value of what the question is about, such as `from` and a vertex.
    """

    names: tuple[str, ...]
    at: tuple[Point, ...]
    edges: tuple[Edge, ...]
    arrows: str
    notes: tuple[str, ...] = ()
    asks: tuple[tuple[str, str], ...] = ()

    @functools.cached_property
    def index(self) -> dict[str, int]:
        """Vertex name -> its number."""
        return {name: i for i, name in enumerate(self.names)}

    @functools.cached_property
    def ask(self) -> dict[str, str]:
        """What is asked, by name."""
        return dict(self.asks)

    @functools.cached_property
    def weights(self) -> tuple[int, ...]:
        """The labels as numbers; 1 where there is none."""
        return tuple([int(label) if label else 1 for _, _, label in self.edges])

    @functools.cached_property
    def pairs(self) -> dict[tuple[int, int], int]:
        """(from, to) -> the edge that may be walked that way."""
        out = {}
        for i, ((a, b, _), sign) in enumerate(zip(self.edges, self.arrows, strict=True)):
            out[a, b] = i
            if sign == "-":
                out[b, a] = i
        return out

    @functools.cached_property
    def near(self) -> tuple[tuple[int, ...], ...]:
        """The vertices that can be reached from each by one edge, in order."""
        out: list[list[int]] = [[] for _ in self.names]
        for a, b in self.pairs:
            out[a].append(b)
        return tuple(tuple(sorted(row)) for row in out)

    @functools.cached_property
    def masks(self) -> tuple[int, ...]:
        """`near` as bit sets."""
        return tuple(sum(1 << v for v in row) for row in self.near)

    @functools.cached_property
    def values(self) -> tuple[int, ...]:
        """The notes as numbers."""
        return tuple(int(note) for note in self.notes)

    def vertex(self, ask: str) -> int:
        """The vertex that is the value of `ask`."""
        return self.index[self.ask[ask]]

    @functools.cached_property
    def lines(self) -> tuple[str, ...]:
        """The edges as words: `A-B` or `A>B`."""
        names = self.names
        return tuple([f"{names[a]}{s}{names[b]}" for (a, b, _), s in zip(self.edges, self.arrows, strict=True)])

    @functools.cached_property
    def things(self) -> tuple[str, ...]:
        """The words of all that is printed."""
        notes = self.notes or ("",) * len(self.names)
        out = [word for pair in zip(self.names, notes, strict=True) for word in pair if word]
        for key, value in self.asks:
            out += [key, *value.split()]
        if self.cells:
            return tuple(out)
        out += [word for line, edge in zip(self.lines, self.edges, strict=True) for word in (line, edge[2]) if word]
        return tuple(out)

    @functools.cached_property
    def cells(self) -> bool:
        """Whether this is a board: its vertices are cells, drawn as a map, and cells side by side are joined."""
        return self.names[0][-1].isdecimal() and self.names[0][0].islower()

    @functools.cached_property
    def caption(self) -> str:
        """All that is drawn, in lines; see `parse_graph`."""
        if self.cells:
            return "\n".join([self._map(), *[f"{key}: {value}" for key, value in self.asks]])
        notes = self.notes or ("",) * len(self.names)
        vertices = [
            f"{name}{' ' + note if note else ''} ({x},{y})"
            for name, note, (x, y) in zip(self.names, notes, self.at, strict=True)
        ]
        edges = [f"{line}{' ' + e[2] if e[2] else ''}." for line, e in zip(self.lines, self.edges, strict=True)]
        asks = [f"{key}: {value}" for key, value in self.asks]
        return "\n".join([f"vertices: {'; '.join(vertices)}", f"edges: {' '.join(edges)}", *asks])

    def _map(self) -> str:
        """The board as text, one sign per cell, `.` where there is none."""
        width, height = (int(part) for part in self.ask["board"].split("x"))
        note = dict(zip(self.names, self.notes, strict=True))
        return framed("".join([note.get(name, ".") for name in names_of(width, height)]), width)

    @functools.cached_property
    def brief(self) -> str:
        """How many vertices and edges there are, and what is asked."""
        count = f"A drawing with {len(self.names)} vertices and {len(self.edges)} edges."
        return "\n".join([count, *[f"{key}: {value}" for key, value in self.asks]])


@dataclass(frozen=True, slots=True)
class Page:
    """A printed graph and the answer that was given, empty before."""

    graph: Graph
    answer: str = ""


def full_caption(page: Page) -> str:
    """The caption of the graph, and the answer."""
    return f"{page.graph.caption}\n{WROTE}{page.answer}" if page.answer else page.graph.caption


def parse_caption(caption: str) -> Page:
    """The page with the given full caption.

    Raises:
        QuintainError: this is no such caption.
    """
    body, _, answer = caption.partition("\n" + WROTE)
    return Page(parse_graph(body), answer)


def parse_graph(caption: str) -> Graph:
    """The graph with the given caption.

    Raises:
        QuintainError: this is no such caption.
    """
    if caption.startswith("   a"):
        rows = caption.split("\n")
        size = next(i for i, row in enumerate(rows) if ": " in row)
        found = unframed(rows[:size])
        if found is not None:
            return board_of(*found, tuple(_line(row) for row in rows[size + 1 :]))
    lines = dict(_line(row) for row in caption.split("\n"))
    if "vertices" not in lines or "edges" not in lines:
        raise QuintainError(f"this is no full caption of a graph: {caption[:60]!r}")
    vertices = [_VERTEX.fullmatch(text) for text in lines.pop("vertices").split("; ")]
    edges = [_EDGE.fullmatch(text.strip()) for text in lines.pop("edges").split(".") if text.strip()]
    if None in vertices or None in edges:
        raise QuintainError(f"this is no full caption of a graph: {caption[:60]!r}")
    names = [v[1] for v in vertices if v]
    known = {name: i for i, name in enumerate(names)}
    notes = tuple(v[2] or "" for v in vertices if v)
    return Graph(
        names=tuple(names),
        at=tuple((int(v[3]), int(v[4])) for v in vertices if v),
        edges=tuple((known[e[1]], known[e[3]], e[4] or "") for e in edges if e),
        arrows="".join(e[2] for e in edges if e),
        notes=notes if any(notes) else (),
        asks=tuple(lines.items()),
    )


def _line(row: str) -> tuple[str, str]:
    """What stands before and after the first colon."""
    key, _, value = row.partition(":")
    return key, value.strip()


def board_of(signs: str, width: int, asks: tuple[tuple[str, str], ...] = ()) -> Graph:
    """The graph of a board: row by row one sign per cell, its note, or `.` where there is no cell."""
    height = len(signs) // width
    side = min(136 // width, 126 // height)
    left, top = 86 - side * width // 2, 77 - side * height // 2
    kept = [i for i, sign in enumerate(signs) if sign != "."]
    new = {i: k for k, i in enumerate(kept)}
    edges = []
    for i in kept:
        if i % width < width - 1 and i + 1 in new:
            edges.append((new[i], new[i + 1], ""))
        if i + width in new:
            edges.append((new[i], new[i + width], ""))
    names = names_of(width, height)
    return Graph(
        names=tuple(names[i] for i in kept),
        at=tuple((left + side * (i % width) + side // 2, top + side * (i // width) + side // 2) for i in kept),
        edges=tuple(edges),
        arrows="-" * len(edges),
        notes=tuple(signs[i] for i in kept),
        asks=(("board", f"{width}x{height}"), *asks),
    )


def as_named(graph: Graph) -> str:
    """The text of a graph with its names in it: for worlds whose graphs are too few to part by shape alone."""
    return f"{graph.names} {graph.edges} {graph.arrows} {graph.asks}"


def canonical(graph: Graph) -> str:
    """The same text for graphs that differ in names and places alone, by rounds of colour refinement.

    Some graphs that differ share a text as well, which splits can bear. Of small graphs without labels and notes there are too
    few to part: the text of one has its names in it.
    """
    if (
        len(graph.names) < SMALL
        and not graph.cells
        and not any(label for _, _, label in graph.edges)
        and not graph.notes
    ):
        return as_named(graph)
    if graph.cells:
        width, height = (int(part) for part in graph.ask["board"].split("x"))
        note = dict(zip(graph.names, graph.notes, strict=True))
        return board_form([note.get(name, ".") for name in names_of(width, height)], width, height)
    notes = graph.notes or ("",) * len(graph.names)
    asked: dict[int, list[str]] = {}
    for key, value in graph.asks:
        if value in graph.index:
            asked.setdefault(graph.index[value], []).append(key)
    color = [_short(note, *asked.get(v, ())) for v, note in enumerate(notes)]
    ends: list[list[tuple[int, str]]] = [[] for _ in notes]
    for (a, b, label), sign in zip(graph.edges, graph.arrows, strict=True):
        ends[a].append((b, f"o{label}" if sign == ">" else label))
        ends[b].append((a, f"i{label}" if sign == ">" else label))
    for _ in range(_ROUNDS):
        color = [_short(color[v], *sorted([label + color[u] for u, label in row])) for v, row in enumerate(ends)]
    return " ".join(sorted(color))


def _short(*parts: str) -> str:
    return hashlib.blake2b("|".join(parts).encode(), digest_size=6).hexdigest()
