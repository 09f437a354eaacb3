"""The picture of pieces and the silhouette that they are to fill."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator

from quintain.worlds.cells import LETTERS
from quintain.worlds.engines.geometry.canvas import Segment, apart
from quintain.worlds.engines.geometry.pieces import Cells, Fit, Kit, cells_of, turned
from quintain.worlds.palette import ink_on
from quintain.worlds.scene import Box, Polygon, Run, Scene, Shape

NAMES = "ABCDEFGHIJKL"
LARGEST = 0.95  # height of a letter
FINE = 4  # places for a letter in the width of a cell
WIDER = 8  # cells that the pieces below a board may be wider than it
FILLS = ("sky", "gold", "mint", "plum", "sand", "cloud", "green", "frost", "amber", "brick", "wood", "seam")


def _corners(x: float, y: float, size: float, part: int) -> list[tuple[float, float]]:
    """The corners of a square or a half square, in their order."""
    every = [(x, y), (x + size, y), (x + size, y + size), (x, y + size)]
    missing = {9: 2, 3: 3, 6: 0, 12: 1}.get(part)
    return [p for i, p in enumerate(every) if i != missing]


@functools.lru_cache(maxsize=2048)
def _outline(cells: Cells) -> tuple[Segment, ...]:
    """The sides of squares and half squares that no two have in common; those that go on straight are one."""
    edges: dict[Segment, int] = {}
    for x, y, part in cells:
        ring = _corners(x, y, 1.0, part)
        for a, b in zip(ring, (*ring[1:], ring[0]), strict=True):
            edge = (*min(a, b), *max(a, b))
            edges[edge] = edges.get(edge, 0) + 1
    ends: dict[tuple[float, ...], Segment] = {}  # by where a side ends and which way it went
    for ax, ay, bx, by in sorted(edge for edge, times in edges.items() if times == 1):
        way = (bx - ax, by - ay)
        ax, ay, *_ = ends.pop((ax, ay, *way), (ax, ay))
        ends[bx, by, *way] = (ax, ay, bx, by)
    return tuple(ends.values())


@functools.lru_cache(maxsize=2048)
def _clearing(cells: Cells) -> tuple[float, float, float]:
    """The place farthest within a piece, of equals the most central, and how far it is from the outline."""
    wide, high = (max([c[k] for c in cells]) + 1 for k in (0, 1))
    if len(cells) == wide * high and all(c[2] == 15 for c in cells):
        return wide / 2, high / 2, min(wide, high) / 2
    edges, middle = _outline(cells), [sum(c[k] for c in cells) / len(cells) + 0.5 for k in (0, 1)]
    within = {9: (-1, -1), 3: (1, -1), 6: (1, 1), 12: (-1, 1)}
    steps = [(i / FINE, j / FINE) for i, j in itertools.product(range(FINE + 1), repeat=2)]
    spots: set[tuple[float, float]] = set()  # cells side by side share some
    for x, y, part in cells:
        right, below = within.get(part, (0, 0))
        spots |= {(x + u, y + v) for u, v in steps if right * (u - 0.5) + below * (v - 0.5) >= 0}
    deep = {spot: min([apart(*spot, edge) for edge in edges]) for spot in spots}
    x, y = max(spots, key=lambda spot: (round(deep[spot], 6), -round(math.dist(middle, spot), 6), spot))
    return x, y, deep[x, y]


def _filled(cells: Cells, left: float, top: float, size: float, fill: str) -> Iterator[Shape]:
    """Squares and half squares; squares below each other are one."""
    whole = {(x, y) for x, y, part in cells if part == 15}
    rings = [_corners(float(x), float(y), 1.0, part) for x, y, part in cells if part != 15]
    for x, y, part in cells:
        if part == 15 and (x, y - 1) not in whole:
            end = next(n for n in itertools.count(y) if (x, n) not in whole)
            rings.append([(x, y), (x + 1, y), (x + 1, end), (x, end)])
    for ring in rings:
        points = tuple([(round(left + x * size, 3), round(top + y * size, 3)) for x, y in ring])
        yield Polygon(points=points, fill=fill, line=fill, thick=0.02)


def drawn_piece(cells: Cells, left: float, top: float, size: float, fill: str, name: str = "") -> Iterator[Shape]:
    """A piece with its outline and its name where the most room is, as large as that lets it be."""
    if fill:
        yield from _filled(cells, left, top, size, fill)
    for ax, ay, bx, by in _outline(cells):
        edge = tuple([(round(left + x * size, 3), round(top + y * size, 3)) for x, y in ((ax, ay), (bx, by))])
        yield Polygon(points=edge, line="ink", thick=0.07 * max(size, 0.6), closed=False)
    if name:
        x, y, depth = _clearing(cells)
        letter = min(1.8 * depth * size, LARGEST)
        yield Run(text=name, x=left + x * size, y=top + (y + 0.03) * size, size=letter, color=ink_on(fill))


def _tray(kit: Kit, wide: float, size: float) -> tuple[list[tuple[float, float]], float]:
    """Where each piece lies beside the board when rows are so wide, and how high that is."""
    spots, x, y, high = [], 0.0, 0.0, 0.0
    for rows in kit.pieces:
        w, h = len(rows[0]) * size, len(rows) * size
        if x and x + w > wide:
            x, y, high = 0.0, y + high + 0.35, 0.0
        spots.append((x, y))
        x, high = x + w + 0.4, max(high, h)
    return spots, y + high


def scene_of(state: Fit) -> Scene:
    """The board with its letters and numbers, the pieces on it, and below it the pieces as they lie before they are turned."""
    kit, high = state.kit, len(state.kit.goal)
    size = 0.7
    widths = [max(kit.width, high) + k / 2 for k in range(2 * WIDER)]
    wide = min(widths, key=lambda w: max(w + 2, high + 2.1 + _tray(kit, w, size)[1]))
    spots, deep = _tray(kit, wide, size)
    left, top = 1.0 + (wide - kit.width) / 2, 1.0
    shapes: list[Shape] = [Box(x=left, y=top, width=kit.width, height=high, fill="floor")]
    shapes += _filled(cells_of(kit.goal), left, top, 1.0, "white")
    shapes += [
        Polygon(points=((left + x, top), (left + x, top + high)), line="seam", thick=0.03, closed=False)
        for x in range(kit.width + 1)
    ]
    shapes += [
        Polygon(points=((left, top + y), (left + kit.width, top + y)), line="seam", thick=0.03, closed=False)
        for y in range(high + 1)
    ]
    shapes += drawn_piece(cells_of(kit.goal), left, top, 1.0, "")
    shapes += [Run(text=LETTERS[x], x=left + x + 0.5, y=top - 0.4, size=0.55, color="stone") for x in range(kit.width)]
    shapes += [Run(text=str(y + 1), x=left - 0.4, y=top + y + 0.5, size=0.55, color="stone") for y in range(high)]
    for i, (rows, place) in enumerate(zip(kit.pieces, state.places, strict=True)):
        cells = cells_of(rows)
        x, y = spots[i][0] + 1.0, spots[i][1] + top + high + 0.6
        if not place:
            shapes += drawn_piece(cells, x, y, size, FILLS[i], NAMES[i])
            continue
        shapes.append(Run(text=NAMES[i], x=x + 0.5 * size, y=y + 0.5 * size, size=0.5, color="cloud"))
        for _ in range(place[2]):
            cells = turned(cells)
        shapes += drawn_piece(cells, left + place[0], top + place[1], 1.0, FILLS[i], NAMES[i])
    return Scene(width=wide + 2, height=top + high + 0.6 + deep + 0.5, shapes=tuple(shapes))
