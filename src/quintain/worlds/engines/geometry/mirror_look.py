"""How a box of mirrors looks: tiles for its cells, numbers at its gates, the ray as a line."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from quintain.worlds.art import tiles
from quintain.worlds.engines.geometry.mirrors import STEP, entry
from quintain.worlds.scene import Box, Polygon, Run, Scene, Shape

_GROUND = (
    Box(x=0, y=0, width=1, height=1, fill="seam"),
    Box(x=0.015, y=0.015, width=0.97, height=0.97, fill="white"),
)


def _glass(points: tuple[tuple[float, float], ...], color: str) -> Polygon:
    return Polygon(points=points, line=color, thick=0.13, closed=False)


_RISE, _FALL = ((0.14, 0.86), (0.86, 0.14)), ((0.14, 0.14), (0.86, 0.86))
tiles(
    {
        "mirror-free": _GROUND,
        "mirror-wall": (*_GROUND, Box(x=0.08, y=0.08, width=0.84, height=0.84, fill="stone", radius=0.1)),
        "mirror-rise": (*_GROUND, _glass(_RISE, "slate")),
        "mirror-fall": (*_GROUND, _glass(_FALL, "slate")),
        "mirror-own-rise": (*_GROUND, _glass(_RISE, "blue")),
        "mirror-own-fall": (*_GROUND, _glass(_FALL, "blue")),
    }
)
TILES = {".": "mirror-free", "#": "mirror-wall", "/": "mirror-rise", "\\": "mirror-fall"}
OWN = {**TILES, "/": "mirror-own-rise", "\\": "mirror-own-fall"}
OUTSIDE, PARTED = -0.35, 0.07  # where names of columns and rows stand, and a line between them and the gates' numbers
INKS = ("brick", "green", "plum", "blue", "amber")  # of rays; the rules of ReflectRay name them in this order


@functools.lru_cache(maxsize=256)
def numbers(size: int, colors: tuple[tuple[int, str], ...] = (), target: int = 0) -> tuple[Shape, ...]:
    """The numbers at the gates, some in colours of their own with an arrow.

    With a `target` its arrow points outward, and the cells have letters and numbers of their own outside.
    """
    shapes: list[Shape] = []
    paint = dict(colors)
    for gate in range(1, 4 * size + 1):
        row, column, way = entry(gate, size)
        x, y = column + 1.5 - STEP[way][1] * 0.95, row + 1.5 - STEP[way][0] * 0.95
        color = paint.get(gate)
        shapes.append(Run(text=str(gate), x=x, y=y, size=0.36 if size < 9 else 0.46, color=color or "cloud"))
        if color:
            shapes.append(
                arrow(
                    column + 1.5 - STEP[way][1] * 0.56,
                    row + 1.5 - STEP[way][0] * 0.56,
                    way if gate != target else (way + 2) % 4,
                    color,
                )
            )
    if target:
        for i in range(size):
            shapes.append(Run(text="abcdefghi"[i], x=i + 1.5, y=OUTSIDE, size=0.4, color="ink"))
            shapes.append(Run(text=str(i + 1), x=OUTSIDE, y=i + 1.5, size=0.4, color="ink"))
        shapes.append(Polygon(points=((PARTED, 1), (PARTED, size + 1)), line="seam", thick=0.04, closed=False))
        shapes.append(Polygon(points=((1, PARTED), (size + 1, PARTED)), line="seam", thick=0.04, closed=False))
    return tuple(shapes)


def arrow(x: float, y: float, way: int, color: str) -> Polygon:
    """A small arrow head that points along a direction."""
    dy, dx = STEP[way]
    tip, side = 0.13, 0.12
    points = (
        (x + dx * tip, y + dy * tip),
        (x - dx * tip + dy * side, y - dy * tip + dx * side),
        (x - dx * tip - dy * side, y - dy * tip - dx * side),
    )
    return Polygon(points=tuple((round(a, 3), round(b, 3)) for a, b in points), fill=color)


def ray(cells: Sequence[int], size: int, gate: int, out: int) -> Polygon:
    """The ray as a line through the cells it enters, and out by its last gate if it has one."""
    row, column, way = entry(gate, size)
    points = [(column + 1.5 - STEP[way][1] * 0.5, row + 1.5 - STEP[way][0] * 0.5)]
    points += [(at % size + 1.5, at // size + 1.5) for at in cells]
    if out:
        row, column, way = entry(out, size)
        points.append((column + 1.5 - STEP[way][1] * 0.5, row + 1.5 - STEP[way][0] * 0.5))
    return Polygon(points=tuple(points), line="brick", thick=0.06, closed=False)


def box_scene(cells: Sequence[str], size: int, shapes: Sequence[Shape], more: float = 0) -> Scene:
    """The box with a margin for its gates, and so much more on the left and above for names of rows and columns."""
    wide = size + 2 + more
    drawn = tuple([_moved(shape, more) for shape in shapes]) if more else tuple(shapes)
    return Scene(width=wide, height=wide, cells=tuple(cells), columns=size, left=1 + more, top=1 + more, shapes=drawn)


@functools.lru_cache(maxsize=1024)
def _moved(shape: Shape, by: float) -> Shape:
    """A shape so far to the right and down."""
    if isinstance(shape, Polygon):
        return replace(shape, points=tuple([(round(x + by, 3), round(y + by, 3)) for x, y in shape.points]))
    return replace(shape, x=round(shape.x + by, 3), y=round(shape.y + by, 3))
