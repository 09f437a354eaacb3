"""The picture of walls, ground and ceiling as flat shapes, with a bar below for what is told beside the view."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from quintain.worlds.engines.raycast.fan import BACK, DEPTH
from quintain.worlds.scene import Box, Polygon, Shape

SIDE = 8.0  # of the picture
HORIZON = 3.5
BAR = 7.0  # below it is the bar
_ZOOM = SIDE / 2
_LIT, _DIM, _DARK = ("cloud", "stone"), ("stone", "slate"), ("slate", "ink")  # fill and line of a wall
_FAR = 4  # cells from which walls are a shade darker
_COURSES = (-1 / 6, 1 / 6)

Cell = tuple[int, int]
Part = tuple[int, int, bool, bool]  # of the walls: cells ahead, cells to the right, which faces are seen


def across(x: float, z: float) -> float:
    """Where the picture shows what lies `x` to the right and `z` ahead of the eye."""
    return _ZOOM + _ZOOM * x / z


def down(y: float, z: float) -> float:
    """Where the picture shows what lies `y` below and `z` ahead of the eye, which is half a cell high."""
    return HORIZON + _ZOOM * y / z


def _ground() -> tuple[Shape, ...]:
    far = DEPTH + 0.5 + BACK
    ceiling = Box(x=0, y=0, width=SIDE, height=HORIZON, fill="ice")
    floor = Box(x=0, y=HORIZON, width=SIDE, height=BAR - HORIZON, fill="sand")
    lines: list[Shape] = []
    for d in range(DEPTH + 1):
        y = down(0.5, d + 0.5 + BACK)
        lines.append(Polygon(points=((0, y), (SIDE, y)), line="wood", thick=0.03, closed=False))
    for o in range(-DEPTH - 1, DEPTH + 1):
        ends = tuple((across(o + 0.5, z), down(0.5, z)) for z in (far, max(abs(o + 0.5), 4 / 7)))
        lines.append(Polygon(points=ends, line="wood", thick=0.03, closed=False))
    fog = Box(x=0, y=down(-0.5, far), width=SIDE, height=_ZOOM / far, fill="ink")
    return (ceiling, floor, *lines, fog)


GROUND = _ground()
FOOT: tuple[Shape, ...] = (
    Box(x=0, y=BAR, width=SIDE, height=SIDE - BAR, fill="paper"),
    Box(x=0, y=BAR, width=SIDE, height=0.05, fill="slate"),
)


def parts_of(open_: Sequence[Cell], walls: Sequence[Cell]) -> list[Part]:
    """The walls that look on floor in sight, in the order in which they are painted: far to near."""
    free, out = frozenset(open_), []
    for d, o in sorted(walls, key=lambda cell: (-cell[0], -abs(cell[1]))):
        side = o != 0 and (d, o - (1 if o > 0 else -1)) in free
        front = (d - 1, o) in free
        if side or front:
            out.append((d, o, side, front))
    return out


@functools.lru_cache(maxsize=1024)
def faces(d: int, o: int, side: bool, front: bool, small: bool = False) -> tuple[Shape, ...]:
    """What is seen of a wall: its face to the middle of the picture, its face to the eye.

    Small, far faces have no lines, which would hide passages that are a pixel wide, and those to the eye are as light as near ones.
    """
    shown = 1 if small and d >= _FAR else None
    beside = _side(o - 0.5 if o > 0 else o + 0.5, d)[:shown] if side else []
    return (*beside, *(_front(d, o, _LIT if small or d < _FAR else _DIM)[:shown] if front else ()))


def _front(d: int, o: int, shade: tuple[str, str]) -> list[Shape]:
    z = d - 0.5 + BACK
    left, right = (min(max(x, -z), z) for x in (o - 0.5, o + 0.5))
    return _face((left, z), (right, z), shade, (o - 0.5 == left, o + 0.5 == right))


def _side(x: float, d: int) -> list[Shape]:
    near, far = max(d - 0.5 + BACK, abs(x)), d + 0.5 + BACK
    if near >= far:
        return []
    return _face((x, near), (x, far), _DIM if d < _FAR else _DARK, (near > abs(x), True))


def _face(
    one: tuple[float, float], two: tuple[float, float], shade: tuple[str, str], edges: tuple[bool, bool]
) -> list[Shape]:
    """A wall from the floor at (x, z) `one` to `two`, with two courses of stone; `edges` says which upright ends are drawn."""
    fill, line = shade
    corners = [(across(x, z), down(y, z)) for (x, z), y in ((one, -0.5), (two, -0.5), (two, 0.5), (one, 0.5))]
    out: list[Shape] = [Polygon(points=tuple(corners), fill=fill)]
    for y in (-0.5, *_COURSES, 0.5):
        out.append(_line([(across(x, z), down(y, z)) for x, z in (one, two)], line))
    out += [_line([corners[i], corners[3 - i]], line) for i in (0, 1) if edges[i]]
    return out


def _line(points: Sequence[tuple[float, float]], color: str) -> Polygon:
    return Polygon(points=tuple(points), line=color, thick=0.035, closed=False)
