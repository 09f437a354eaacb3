"""A drawing of a figure: lattice coordinates with y upward on a square sheet, axes with numbers, names that keep clear of lines."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from quintain.worlds.engines.geometry.figure import Spot
from quintain.worlds.scene import Box, Disc, Polygon, Run, Scene, Shape

SHEET = 8.0  # width and height of the picture
FOOT = 7.72  # middle of the line at the bottom, for questions and answers
INKS = ("blue", "brick", "green", "plum", "amber", "navy", "rust", "forest", "wine", "slate")
Segment = tuple[float, float, float, float]


class Canvas:
    """Collects the shapes of one picture, bottom first.

    Args:
        side: coordinates run from 0 to `side` in both directions.
        axes: draw a lattice with numbers.
        top: room in front of the lattice's upper edge, of 8 in all.
    """

    def __init__(self, side: int, axes: bool = True, top: float = 0.3) -> None:
        self.side = side
        self.left, self.top = (0.62, top) if axes else (0.5, top)
        self.scale = (7.05 - top) / side if axes else min(7.2 - top, 7.0) / side
        self.left = round((SHEET - self.scale * side) / 2 + (0.15 if axes else 0), 3)
        self.shapes: list[Shape] = []
        self.lines: list[Segment] = []  # what names keep clear of
        self.rings: list[tuple[float, float, float]] = []  # circles: middle and radius
        self.taken: list[tuple[float, float]] = []
        if axes:
            self.shapes += _lattice(side, self.left, self.top, self.scale)
            self.taken += [(shape.x, shape.y) for shape in self.shapes if isinstance(shape, Run)]

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The place of a lattice point on the sheet."""
        return round(self.left + x * self.scale, 3), round(self.top + (self.side - y) * self.scale, 3)

    def line(self, a: Sequence[float], b: Sequence[float], color: str = "ink", thick: float = 0.07) -> None:
        """A straight line between two points."""
        self.stroke(self.at(*a), self.at(*b), color, thick)

    def stroke(self, a: Sequence[float], b: Sequence[float], color: str = "ink", thick: float = 0.07) -> None:
        """A straight line between two places of the sheet."""
        ax, ay, bx, by = (round(c, 3) for c in (*a, *b))
        self.lines.append((ax, ay, bx, by))
        self.shapes.append(Polygon(points=((ax, ay), (bx, by)), line=color, thick=thick, closed=False))

    def polygon(
        self, points: Iterable[Sequence[float]], fill: str = "", line: str = "ink", thick: float = 0.06
    ) -> None:
        """A closed outline."""
        ring = tuple(self.at(*p) for p in points)
        self.lines += [(*p, *q) for p, q in zip(ring, (*ring[1:], ring[0]), strict=True)]
        self.shapes.append(Polygon(points=ring, fill=fill, line=line, thick=thick))

    def dot(self, at: Sequence[float], color: str = "ink", radius: float = 0.1) -> None:
        """A point."""
        x, y = self.at(*at)
        self.taken.append((x, y))
        self.shapes.append(Disc(x=x, y=y, radius=radius, fill=color))

    def circle(
        self, at: Sequence[float], radius: float, fill: str = "", line: str = "ink", thick: float = 0.06
    ) -> None:
        """A circle with its radius in lattice units."""
        x, y = self.at(*at)
        radius = round(radius * self.scale, 3)
        self.rings.append((x, y, radius))
        self.shapes.append(Disc(x=x, y=y, radius=radius, fill=fill, line=line, thick=thick))

    def text(self, text: str, at: Sequence[float], size: float = 0.4, color: str = "ink") -> None:
        """A run of text around a lattice point."""
        x, y = self.at(*at)
        self.put(text, x, y, size, color)

    def put(self, text: str, x: float, y: float, size: float = 0.4, color: str = "ink") -> None:
        """A run of text around a place of the sheet."""
        self.taken.append((x, y))
        self.shapes.append(Run(text=text, x=round(x, 3), y=round(y, 3), size=size, color=color))

    def foot(self, text: str, color: str = "slate") -> None:
        """The question, in the line at the bottom."""
        self.shapes.append(Run(text=text, x=SHEET / 2, y=FOOT, size=0.36, color=color))

    def names(
        self, points: Iterable[tuple[str, Spot]], size: float = 0.4, color: str = "ink", away: float = 0.32
    ) -> None:
        """Write names beside points, each where the most room is."""
        for name, at in points:
            x, y = self.at(*at)
            places = [
                (x + away * math.cos(k * math.pi / 6), y + away * math.sin(k * math.pi / 6))
                for k in (9, 3, 0, 6, 10, 8, 2, 4, 11, 7, 1, 5)
            ]
            best = max(places, key=lambda p: (round(self.room(p, (x, y)), 2), -places.index(p)))
            self.put(name, *best, size=size, color=color)

    def room(self, place: tuple[float, float], owner: tuple[float, float] = (-9.0, -9.0)) -> float:
        """How far a place is from all lines, points and names, at most half a cell, and from the edge of the sheet."""
        px, py = place
        room = min(0.5, px - 0.1, SHEET - 0.1 - px, py - 0.1, FOOT - 0.2 - py)
        for x, y in self.taken:
            if -room < px - x < room and -room < py - y < room and (x, y) != owner:
                room = min(room, math.hypot(px - x, py - y))
        for segment in self.lines:  # most are too far to matter, which takes less to see than how far they are
            ax, ay, bx, by = segment
            if (
                (ax - px < room or bx - px < room)
                and (px - ax < room or px - bx < room)
                and (ay - py < room or by - py < room)
                and (py - ay < room or py - by < room)
            ):
                room = min(room, 1.4 * apart(px, py, segment))
        return room

    def scene(self) -> Scene:
        """The picture."""
        return Scene(width=SHEET, height=SHEET, shapes=tuple(self.shapes))


def apart(px: float, py: float, segment: Segment) -> float:
    """How far a place is from a segment."""
    ax, ay, bx, by = segment
    dx, dy = bx - ax, by - ay
    along = dx * dx + dy * dy
    t = min(max(((px - ax) * dx + (py - ay) * dy) / along, 0.0), 1.0) if along else 0.0
    return math.hypot(px - ax - t * dx, py - ay - t * dy)


@functools.lru_cache(maxsize=32)
def _lattice(side: int, left: float, top: float, scale: float) -> tuple[Shape, ...]:
    """A light lattice; numbers every few lines."""
    every = 1 if side <= 10 else 2 if side <= 16 else 5
    low, right = round(top + side * scale, 3), round(left + side * scale, 3)
    shapes: list[Shape] = []
    for n in range(side + 1):
        strong = n % every == 0
        x, y = round(left + n * scale, 3), round(low - n * scale, 3)
        thick = 0.03 if strong else 0.015
        color = "frost" if strong else "seam"
        shapes.append(Polygon(points=((x, top), (x, low)), line=color, thick=thick, closed=False))
        shapes.append(Polygon(points=((left, y), (right, y)), line=color, thick=thick, closed=False))
    for n in range(0, side + 1, every):
        shapes.append(Run(text=str(n), x=round(left + n * scale, 3), y=low + 0.24, size=0.32, color="stone"))
        shapes.append(Run(text=str(n), x=left - 0.34, y=round(low - n * scale, 3), size=0.32, color="stone"))
    return tuple(shapes)


def answered(scene: Scene, said: str) -> Scene:
    """The picture with an answer written over its foot, or below it where text stands there."""
    unit = scene.width / SHEET
    size = 0.36 if len(said) <= 34 else max(12.5 / len(said), 0.14)
    high = 0.56 * unit
    low = scene.height - high
    if any(isinstance(shape, Run) and shape.y + shape.size / 2 > low for shape in scene.shapes):
        scene, low = replace(scene, height=scene.height + high), scene.height
    strip = Box(x=0.1 * unit, y=low, width=scene.width - 0.2 * unit, height=0.54 * unit, fill="ink", radius=0.08 * unit)
    text = Run(text=said, x=scene.width / 2, y=low + 0.28 * unit, size=size * unit, color="white")
    return replace(scene, shapes=(*scene.shapes, strip, text))
