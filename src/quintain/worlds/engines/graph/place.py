"""Where vertices are drawn: jittered slots, trees in rows, rings; and which edges can be drawn so that all stays legible.

Places are in tenths of a cell on a sheet of 160 x 160, whose foot is left to the question.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence

from quintain.worlds.engines.graph.page import NAMES, Edge, Graph, Point
from quintain.worlds.noise import Rng

LEFT, TOP, RIGHT, FOOT = SHEET = 11, 11, 149, 135
APART = 27  # least distance of vertices along either axis
CLEAR = 12.5  # least distance of a vertex from an edge that passes by
SHORTEST = 31  # of an edge with a number on it
BLUNT = math.cos(math.radians(24))  # edges that leave a vertex do so at no sharper angle
Pair = tuple[int, int]
Frame = tuple[int, int, int, int]


def slots(rng: Rng, n: int, box: Frame = SHEET) -> list[Point]:
    """`n` places on a jittered lattice inside the frame (left, top, right, bottom), with at least one slot left empty."""
    left, top, right, bottom = box
    columns = max(2, round(math.sqrt((n + 1) * (right - left) / (bottom - top))))
    rows = max(-(-(n + 1) // columns), 2)
    dx, dy = (right - left) / (columns - 1), (bottom - top) / (rows - 1)
    wobble_x, wobble_y = (max(min(0.5 * d, d - APART), 0.0) for d in (dx, dy))
    out = []
    for slot in rng.sample(range(columns * rows), n):
        row, column = divmod(slot, columns)
        x = left + column * dx + (rng.uniform() - 0.5) * wobble_x
        y = top + row * dy + (rng.uniform() - 0.5) * wobble_y
        out.append((round(min(max(x, left), right)), round(min(max(y, top), bottom))))
    return out


def ring(rng: Rng, n: int, box: Frame = SHEET) -> list[Point]:
    """`n` places around an ellipse, in order, from a random angle on."""
    x0, y0, x1, y1 = box
    turn = rng.uniform() * 2 * math.pi
    angles = (turn + 2 * math.pi * i / n for i in range(n))
    return [
        (round((x0 + x1) / 2 + (x1 - x0) / 2 * math.cos(a)), round((y0 + y1) / 2 + (y1 - y0) / 2 * math.sin(a)))
        for a in angles
    ]


def apart(p: Point, a: Point, b: Point) -> float:
    """The distance of a point from the segment between two others."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    px, py = p[0] - a[0], p[1] - a[1]
    along = min(max((px * dx + py * dy) / (dx * dx + dy * dy or 1), 0.0), 1.0)
    return math.hypot(px - along * dx, py - along * dy)


def cross(a: Point, b: Point, c: Point, d: Point) -> bool:
    """Whether two segments meet inside both."""
    ax, ay = a
    bx, by = b[0] - ax, b[1] - ay
    one, two = bx * (c[1] - ay) - by * (c[0] - ax), bx * (d[1] - ay) - by * (d[0] - ax)
    if (one > 0) == (two > 0):
        return False
    cx, cy = c
    ex, ey = d[0] - cx, d[1] - cy
    return (ex * (ay - cy) - ey * (ax - cx) > 0) != (ex * (b[1] - cy) - ey * (b[0] - cx) > 0)


def links(rng: Rng, at: Sequence[Point], shortest: float = SHORTEST, crossings: int = 0) -> list[Pair]:
    """A largest set of edges, short ones first, that can be drawn legibly; at most `crossings` of them cross others."""
    n, order = len(at), []
    for a in range(n):
        (xa, ya) = at[a]
        for b in range(a + 1, n):
            length = math.hypot(at[b][0] - xa, at[b][1] - ya)
            if length >= shortest:
                order.append((length * (0.7 + 0.6 * rng.uniform()), a, b, length))
    order.sort()
    out: list[Pair] = []
    headings: list[list[tuple[float, float]]] = [[] for _ in at]
    for _, a, b, length in order:
        p, q = at[a], at[b]
        dx, dy = (q[0] - p[0]) / length, (q[1] - p[1]) / length
        if any(dx * x + dy * y > BLUNT for x, y in headings[a]) or any(
            -dx * x - dy * y > BLUNT for x, y in headings[b]
        ):
            continue
        met = [(c, d) for c, d in out if a not in (c, d) and b not in (c, d) and cross(p, q, at[c], at[d])]
        if met and (not crossings or any(not _square(p, q, at[c], at[d]) for c, d in met)):
            continue
        if blocked(at, a, b):
            continue
        crossings -= bool(met)
        out.append((a, b))
        headings[a].append((dx, dy))
        headings[b].append((-dx, -dy))
    return out


def _square(a: Point, b: Point, c: Point, d: Point) -> bool:
    """Whether two edges cross at 45 degrees or more."""
    ux, uy, vx, vy = b[0] - a[0], b[1] - a[1], d[0] - c[0], d[1] - c[1]
    return abs(ux * vx + uy * vy) < 0.71 * math.hypot(ux, uy) * math.hypot(vx, vy)


def blocked(at: Sequence[Point], a: int, b: int) -> bool:
    """Whether the edge would pass too close to a third vertex."""
    (xa, ya), (xb, yb) = at[a], at[b]
    low_x, high_x = min(xa, xb) - CLEAR, max(xa, xb) + CLEAR
    low_y, high_y = min(ya, yb) - CLEAR, max(ya, yb) + CLEAR
    for v, p in enumerate(at):
        if v not in (a, b) and low_x < p[0] < high_x and low_y < p[1] < high_y and apart(p, at[a], at[b]) < CLEAR:
            return True
    return False


def spanning(rng: Rng, n: int, pairs: Iterable[Pair]) -> tuple[list[Pair], list[Pair]] | None:
    """A random spanning tree of `pairs` and the pairs left over, or None if they do not connect all."""
    pool = list(pairs)
    rng.shuffle(pool)
    root = list(range(n))
    tree, rest = [], []
    for a, b in pool:
        x, y = find(root, a), find(root, b)
        if x == y:
            rest.append((a, b))
        else:
            root[x] = y
            tree.append((a, b))
    return (tree, rest) if len(tree) == n - 1 else None


def find(root: list[int], v: int) -> int:
    """The root of `v` in a forest of parents, whose paths are halved on the way."""
    while root[v] != v:
        root[v] = v = root[root[v]]
    return v


def web(
    rng: Rng, n: int, edges: int, shortest: float = SHORTEST, crossings: int = 0, box: Frame = SHEET
) -> tuple[list[Point], list[Pair]] | None:
    """A connected drawing of `n` vertices and as many `edges`; None where the places do not allow it."""
    at = slots(rng, n, box)
    found = spanning(rng, n, links(rng, at, shortest, crossings))
    if found is None or len(found[0]) + len(found[1]) < edges:
        return None
    return at, (found[0] + found[1])[: max(edges, n - 1)]


def crossings(at: Sequence[Point], pairs: Sequence[Pair]) -> int:
    """How many pairs of edges cross, and far more for each that passes too close to a vertex."""
    met = sum(
        not {a, b} & {c, d} and cross(at[a], at[b], at[c], at[d])
        for i, (a, b) in enumerate(pairs)
        for c, d in pairs[:i]
    )
    return met + 100 * sum(blocked(at, a, b) for a, b in pairs)


def redrawn(rng: Rng, n: int, pairs: Sequence[Pair], box: Frame = SHEET, tries: int = 12) -> list[Point] | None:
    """Other places for a graph, the best of some; None where all have an edge that passes too close to a vertex."""
    drawings = [slots(rng, n, box) if n < 7 and k % 2 else rng.sample(ring(rng, n, box), n) for k in range(tries)]
    best = min(drawings, key=lambda at: crossings(at, pairs))
    return best if crossings(best, pairs) < 100 else None


def rows(children: Sequence[Sequence[int]], root: int = 0) -> list[Point]:
    """Places of a rooted tree: level by level downwards, leaves side by side, each parent over the middle of its children."""
    x: dict[int, float] = {}
    depth: dict[int, int] = {}
    leaves = 0

    def visit(v: int, d: int) -> None:
        nonlocal leaves
        depth[v] = d
        for c in children[v]:
            visit(c, d + 1)
        if children[v]:
            x[v] = (x[children[v][0]] + x[children[v][-1]]) / 2
        else:
            x[v] = leaves
            leaves += 1

    visit(root, 0)
    return _fitted([x[v] for v in range(len(x))], [depth[v] for v in range(len(x))])


def _fitted(xs: Sequence[float], ys: Sequence[float]) -> list[Point]:
    """Stretch coordinates over the sheet."""
    left, wide, deep = min(xs), max(xs) - min(xs), max(ys) or 1
    mid = (LEFT + RIGHT) / 2
    place = (lambda x: mid) if not wide else (lambda x: LEFT + (x - left) * (RIGHT - LEFT) / wide)
    return [(round(place(x)), round(TOP + y * (FOOT - TOP) / deep)) for x, y in zip(xs, ys, strict=True)]


def built(
    rng: Rng,
    at: Sequence[Point],
    edges: Sequence[Edge],
    arrows: str = "",
    notes: Sequence[str] = (),
    asks: Sequence[tuple[str, int | str]] = (),
) -> Graph:
    """The graph with names given at random, edges in the order of their names; an ask of a vertex is told by its number."""
    n = len(at)
    order = rng.sample(range(n), n)  # order[i]: which vertex gets name i
    new = {old: i for i, old in enumerate(order)}
    named: list[tuple[Edge, str]] = []
    for (a, b, label), sign in zip(edges, arrows or "-" * len(edges), strict=True):
        u, v = new[a], new[b]
        named.append(((u, v, label) if sign == ">" or u < v else (v, u, label), sign))
    named.sort()
    return Graph(
        names=names_of(n),
        at=tuple(at[v] for v in order),
        edges=tuple(e for e, _ in named),
        arrows="".join(s for _, s in named),
        notes=tuple(notes[v] for v in order) if notes else (),
        asks=tuple((k, NAMES[new[v]] if isinstance(v, int) else v) for k, v in asks),
    )


def built_plain(at: Sequence[Point], pairs: Sequence[Pair]) -> Graph:
    """The graph with names in the order of the places and nothing beside its edges."""
    return Graph(names_of(len(at)), tuple(at), tuple((a, b, "") for a, b in pairs), "-" * len(pairs))


@functools.lru_cache(maxsize=32)
def names_of(n: int) -> tuple[str, ...]:
    """The first `n` vertex names."""
    return tuple(NAMES[:n])
