"""Pictures of pages: lines with their numbers on them, discs with their names, and the question at the foot."""

from __future__ import annotations

import functools
import itertools
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from quintain.worlds.cells import LETTERS
from quintain.worlds.engines.graph.page import Graph, Point
from quintain.worlds.engines.graph.place import apart
from quintain.worlds.scene import Box, Disc, Polygon, Run, Scene, Shape

WIDE, TALL = 16.0, 16.0
FOOT_Y = 15.3
LONGEST, LEAD = 46, 0.9  # letters in a line of an answer, and how far apart its lines are
ENOUGH = 9.0  # tenths of a cell; a label with more room than this is no better off
PLENTY = 14.0  # the same for the plates of vertices
ALONG = (0.5, 0.43, 0.57, 0.36, 0.64, 0.3, 0.7)
HEAD = 0.62  # length of an arrow's head
Frame = tuple[Point, Point, float, float, float, float]
Area = tuple[float, float, float, float]  # the middle of a disc or a plate, and half its width and height
_WORD = re.compile(r"[A-Z]\d?|[A-Z][->][A-Z]", re.ASCII)


@dataclass(frozen=True, slots=True)
class Style:
    """How graphs of a world are drawn.

    Attributes:
        radius: of a vertex, in cells.
        labels: edges carry their labels.
        path: a walk in the answer is drawn over the edges.
        hide: asks that are not written at the foot.
        figure: draws the graph in another way altogether.
    """

    radius: float = 0.72
    labels: bool = True
    path: bool = False
    hide: tuple[str, ...] = ()
    figure: Callable[[Graph], Iterator[Shape]] | None = None


PLAIN = Style()


@functools.lru_cache(maxsize=512)
def scene_of(graph: Graph, answer: str, style: Style) -> Scene:
    """The picture of a page."""
    if style.figure is not None:
        return _with_foot(style.figure(graph), graph, answer, style.hide)
    if graph.cells:
        return _with_foot(_board(graph, answer), graph, answer, ("board",))
    shapes = [*_lines(graph, answer, style), *_discs(graph, answer, style), *_badges(graph, style)]
    if style.labels:
        shapes += _pills(graph, style.radius)
    return _with_foot(shapes, graph, answer, style.hide)


def _board(graph: Graph, answer: str) -> Iterator[Shape]:
    """A map: letters above, numbers before, a square for each cell, and the cells of the answer framed."""
    width, height = (int(part) for part in graph.ask["board"].split("x"))
    side = min(136 // width, 126 // height)
    left, top = (86 - side * width // 2) / 10, (77 - side * height // 2) / 10
    side, said = side / 10, set(answer.replace(";", " ").split())
    yield Box(x=left, y=top, width=side * width, height=side * height, fill="ice")
    for column in range(width):
        yield Run(text=LETTERS[column], x=left + side * (column + 0.5), y=top - 0.42, size=0.72, color="stone")
    for row in range(height):
        yield Run(text=str(row + 1), x=left - 0.45, y=top + side * (row + 0.5), size=0.72, color="stone")
    for name, note, (x, y) in zip(graph.names, graph.notes, graph.at, strict=True):
        at = {"x": x / 10 - side / 2, "y": y / 10 - side / 2, "width": side, "height": side}
        yield Box(**at, fill="wood" if note == "#" else "white", line="bark" if note == "#" else "cloud", thick=0.08)
        if note != "#":
            yield Run(text=note, x=x / 10, y=y / 10 + 0.03, size=side * 0.55)
        if name in said:
            yield Box(**at, line="blue", thick=0.3)


def _with_foot(shapes: Iterable[Shape], graph: Graph, answer: str, hide: tuple[str, ...]) -> Scene:
    """A picture with what is asked on its lowest line, and the answer on as many lines below as it takes."""
    asked = " · ".join(f"{k} {v}" for k, v in graph.asks if k not in hide)
    said = textwrap.wrap(f"answer {answer}", LONGEST) if answer else []
    lines = [(asked, len(asked), "stone")] if asked else []
    lines += [(line, max(map(len, said)), "blue") for line in said]
    foot = [
        Run(text=text, x=WIDE / 2, y=FOOT_Y + LEAD * i, size=min(0.95, 29 / most), color=color)
        for i, (text, most, color) in enumerate(lines)
    ]
    return Scene(width=WIDE, height=TALL + LEAD * max(len(lines) - 1, 0), shapes=(*shapes, *foot))


def drawn_over(graph: Graph, answer: str, style: Style) -> tuple[set[int], set[tuple[int, int]]]:
    """The vertices and the pairs that an answer names."""
    vertices: set[int] = set()
    pairs: set[tuple[int, int]] = set()
    for part in answer.split(" ; ") if "/" not in answer else ():
        words = part.split()
        for word in words:
            ends = re.split("[->]", word)
            if len(ends) == 2 and all(e in graph.index for e in ends):
                pairs |= {(graph.index[ends[0]], graph.index[ends[1]]), (graph.index[ends[1]], graph.index[ends[0]])}
            elif word in graph.index:
                vertices.add(graph.index[word])
        if style.path and len(words) > 1 and all(w in graph.index for w in words):
            walk = [graph.index[w] for w in words]
            for a, b in itertools.pairwise(walk):
                pairs |= {(a, b), (b, a)}
    return vertices, pairs


def _lines(graph: Graph, answer: str, style: Style) -> Iterator[Shape]:
    named = drawn_over(graph, answer, style)[1]
    marked = graph.ask.get("edge", "")
    for (a, b, _), sign, line in zip(graph.edges, graph.arrows, graph.lines, strict=True):
        said = (a, b) in named
        color = "blue" if said else "amber" if line == marked else "cloud"
        thick = 0.24 if said or line == marked else 0.13
        yield from arrow(graph.at[a], graph.at[b], style.radius, sign, color, thick)


def arrow(a: Point, b: Point, radius: float, sign: str, color: str, thick: float) -> Iterator[Shape]:
    """A line between two vertices, with a head before the second one where the sign says so."""
    ax, ay, bx, by = a[0] / 10, a[1] / 10, b[0] / 10, b[1] / 10
    length = math.hypot(bx - ax, by - ay) or 1.0
    ux, uy = (bx - ax) / length, (by - ay) / length
    if sign == "-":
        yield Polygon(points=((ax, ay), (bx, by)), line=color, thick=thick, closed=False)
        return
    tip = (bx - ux * (radius + 0.06), by - uy * (radius + 0.06))
    base = (tip[0] - ux * HEAD, tip[1] - uy * HEAD)
    yield Polygon(points=((ax, ay), base), line=color, thick=thick, closed=False)
    head = (tip, (base[0] - uy * 0.34, base[1] + ux * 0.34), (base[0] + uy * 0.34, base[1] - ux * 0.34))
    yield Polygon(points=head, fill="stone" if color == "cloud" else color)


def _discs(graph: Graph, answer: str, style: Style) -> Iterator[Shape]:
    named = drawn_over(graph, answer, style)[0]
    first = {graph.ask.get(key) for key in ("from", "root", "start")}
    last = {graph.ask.get(key) for key in ("to", "marked", "first")}
    for v, (name, (x, y)) in enumerate(zip(graph.names, graph.at, strict=True)):
        fill = "mint" if name in first else "sand" if name in last else "white"
        line = "blue" if v in named else "ink"
        thick = 0.22 if v in named else 0.1
        yield Disc(x=x / 10, y=y / 10, radius=style.radius, fill=fill, line=line, thick=thick)
        if name in last:
            yield Disc(x=x / 10, y=y / 10, radius=style.radius - 0.17, line="rust", thick=0.06)
        yield Run(text=name, x=x / 10, y=y / 10 + 0.02, size=style.radius * 1.2, color="ink")


def pill(text: str, x: float, y: float, fill: str = "paper", line: str = "") -> Iterator[Shape]:
    """A short text on a small plate."""
    wide = 0.46 * len(text) + 0.34
    yield Box(x=x - wide / 2, y=y - 0.48, width=wide, height=0.96, fill=fill, line=line, thick=0.07, radius=0.3)
    yield Run(text=text, x=x, y=y + 0.02, size=0.8, color="ink")


def _pills(graph: Graph, radius: float) -> Iterator[Shape]:
    if not any(label for _, _, label in graph.edges):
        return
    for (_, _, label), spot in zip(graph.edges, spots(graph, radius), strict=True):
        if label:
            yield from pill(label, *spot)


def _over_head(graph: Graph, edge: int, radius: float) -> Callable[[float], float]:
    """How far the plate of an edge's label reaches over the head of its arrow, in tenths of a cell, by the share of the way to it."""
    a, b, label = graph.edges[edge]
    p, q = graph.at[a], graph.at[b]
    length = math.dist(p, q) or 1.0
    reach = 10 * min(
        (0.23 * len(label) + 0.17) * length / (abs(q[0] - p[0]) or 1), 0.48 * length / (abs(q[1] - p[1]) or 1)
    )
    end = length - 10 * (radius + 0.06 + HEAD) - reach
    return lambda t: max(t * length - end, 0.0) if graph.arrows[edge] == ">" else 0.0


@functools.lru_cache(maxsize=256)
def spots(graph: Graph, radius: float) -> tuple[tuple[float, float], ...]:
    """Where on each edge its label stands: off its head, as far from other edges, vertices and labels as it can, near the middle."""
    frames, taken = _frames(graph, ENOUGH), list[tuple[float, float]](graph.at)
    out: list[tuple[float, float]] = []
    for i, (a, b, _) in enumerate(graph.edges):
        (ax, ay), (bx, by), over = graph.at[a], graph.at[b], _over_head(graph, i, radius)
        ways = [(abs(t - 0.5) * 2 + over(t), ax + (bx - ax) * t, ay + (by - ay) * t) for t in ALONG]
        (left, right), (top, bottom) = (sorted(way[k] for way in ways[-2:]) for k in (1, 2))  # which are the outer ones
        wide = 2 * ENOUGH
        near = [p for p in taken if left - wide < p[0] < right + wide and top - wide < p[1] < bottom + wide]
        others = [f for f in frames[:i] + frames[i + 1 :] if f[2] <= right + 1 and f[3] <= bottom + 1]
        others = [f for f in others if f[4] >= left - 1 and f[5] >= top - 1]
        best, where = -1.0, (0.0, 0.0)
        for off, x, y in ways:
            if ENOUGH - off > best:
                room = min([wide, *[math.hypot(x - px, y - py) for px, py in near]]) / 2
                if room - off > best:  # else edges, which take longer, can only make it worse
                    room = _clear((round(x), round(y)), others, room) - off
                    if room > best:
                        best, where = room, (x / 10, y / 10)
        out.append(where)
        taken.append((where[0] * 10, where[1] * 10))
    return tuple(out)


def _frames(graph: Graph, margin: float) -> list[Frame]:
    """The ends of each edge and, left, top, right and bottom, the frame that all places nearer to it than `margin` lie in."""
    out = []
    for a, b, _ in graph.edges:
        p, q = graph.at[a], graph.at[b]
        low, high = map(min, p, q), map(max, p, q)
        out.append((p, q, *[c - margin for c in low], *[c + margin for c in high]))
    return out


def _clear(here: Point, frames: list[Frame], room: float) -> float:
    """How far a place is from edges; at most `room`, which is no more than the margin of the frames."""
    x, y = here
    for p, q, left, top, right, bottom in frames:
        if left < x < right and top < y < bottom:
            room = min(room, apart(here, p, q))
    return room


def _badges(graph: Graph, style: Style) -> Iterator[Shape]:
    """The notes of vertices, each where around its vertex there is most room."""
    for note, spot in zip([note for note in graph.notes if note], _plates(graph, style.radius), strict=True):
        yield from pill(note, *spot, "sand", "wood")


@functools.lru_cache(maxsize=256)
def _plates(graph: Graph, radius: float) -> tuple[tuple[float, float], ...]:
    frames, placed = _frames(graph, PLENTY), list[Area]()
    for v, note in enumerate(graph.notes):
        if note:
            others = [(x / 10, y / 10, radius, radius) for u, (x, y) in enumerate(graph.at) if u != v]
            areas = [(x, y, 0.23 * len(note) + 0.17, 0.48) for x, y in _around(graph, radius, v, len(note))]
            placed.append(max(areas, key=functools.partial(_room, others=[*others, *placed], frames=frames)))
    return tuple([area[:2] for area in placed])


def _around(graph: Graph, radius: float, v: int, letters: int) -> list[tuple[float, float]]:
    """Where the plate of a vertex may stand: beside it, a wide one farther to the sides than above and below."""
    (x, y), wide = graph.at[v], 0.23 * letters + 0.17
    out = []
    for k in range(16):
        dx, dy = math.cos(k * math.pi / 8), math.sin(k * math.pi / 8)
        out.append((x / 10 + dx * (radius + wide * 0.95), y / 10 + dy * (radius + 0.46 + 0.1 * abs(dx))))
    return [(x, y) for x, y in out if wide < x < WIDE - wide and 0.5 < y < FOOT_Y - 0.8]


def _room(area: Area, others: Sequence[Area], frames: list[Frame]) -> float:
    """How far a plate is from other vertices and plates, and from edges, in cells; more than a little is as good as a little."""
    x, y, wide, high = area
    gaps = [math.hypot(max(abs(x - a) - wide - w, 0), max(abs(y - b) - high - h, 0)) for a, b, w, h in others]
    gaps = [gap + 0.5 if gap > 0.1 else gap - 1 for gap in gaps]  # a touch is worse than any edge
    return min([*gaps, _clear((round(x * 10), round(y * 10)), frames, PLENTY) / 10])
