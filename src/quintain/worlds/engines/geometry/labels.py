"""Numbers of angles and arcs: each stands clear of lines, circles, names and other numbers, with a leader if it is far."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from quintain.worlds.engines.geometry.canvas import FOOT, SHEET, Canvas, Segment
from quintain.worlds.scene import Box, Disc, Polygon, Run, Shape

SIZE = 0.36
PAD = 0.04  # clear room around a number
ARC = 0.4  # radius of the arc of an angle
STEPS = tuple(round(0.54 + 0.09 * k, 2) for k in range(14))  # from the corner, in the angle
NEAR = 0.85  # a number farther than this from its corner has a leader
SHORT = 0.12  # a leader that is shorter is not seen
ALONG = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)  # of the way from one side of an angle to the other
TURNS = 16  # directions in which a number may stand that has no room in its angle
AWAY = (0.42, 0.55, 0.7, 0.85, 1.0, 1.2, 1.4)
EDGE = 0.08
Place = tuple[float, float]
Rect = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Angle:
    """An angle that is to be marked, on the sheet, where directions turn with the clock.

    Attributes:
        at: its corner.
        begins: the directions that it may begin at; any will do.
        wide: how far it turns.
        text: its number.
        color: of its arc and its number.
    """

    at: Place
    begins: tuple[float, ...]
    wide: float
    text: str
    color: str

    def on(self, begin: float, part: float, radius: float) -> Place:
        """The place so far from its corner and so far, 0 to 1, from one side to the other."""
        turn = begin + self.wide * part
        return self.at[0] + radius * math.cos(turn), self.at[1] + radius * math.sin(turn)

    def arc(self, begin: float) -> tuple[Place, ...]:
        """The arc between its sides."""
        places = [self.on(begin, k / 8, ARC) for k in range(9)]
        return tuple([(round(x, 3), round(y, 3)) for x, y in places])


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a number may stand.

    Attributes:
        x, y: the middle of the number.
        begin: what its angle then begins at.
        leader: where a leader to it begins, if it needs one.
    """

    x: float
    y: float
    begin: float = 0.0
    leader: Place | None = None


class Labels:
    """Places numbers on a canvas whose lines, circles and names are all there.

    Args:
        canvas: is drawn on.
    """

    def __init__(self, canvas: Canvas) -> None:
        self.canvas = canvas
        self.strokes = [_stroke(line) for line in canvas.lines]
        runs = [shape for shape in canvas.shapes if isinstance(shape, Run)]
        self.rects: list[Rect] = [rect_of(run.text, run.x, run.y, run.size) for run in runs]
        for dot in [shape for shape in canvas.shapes if isinstance(shape, Disc) and shape.fill]:
            self.rects.append((dot.x - dot.radius, dot.y - dot.radius, dot.x + dot.radius, dot.y + dot.radius))

    def angles(self, angles: Iterable[Angle]) -> None:
        """Mark angles, narrow ones first, which have the least choice of where their numbers stand."""
        order = sorted(angles, key=lambda angle: abs(angle.wide))
        for angle in order:
            for begin in angle.begins:
                self.strokes.append(_stroke(*[(*p, *q) for p, q in itertools.pairwise(angle.arc(begin))]))
        for angle in order:
            spot = self.place(angle.text, angle.color, _spots(angle))
            arc = Polygon(points=angle.arc(spot.begin), line=angle.color, thick=0.06, closed=False)
            self.canvas.shapes.append(arc)

    def place(self, text: str, color: str, spots: Iterable[Spot]) -> Spot:
        """Write a number at the first spot that is clear or, if none is, where it covers least."""
        best, least = Spot(SHEET / 2, SHEET / 2), math.inf
        for spot in spots:
            covered = self._covered(rect_of(text, spot.x, spot.y), spot.leader, least)
            if covered < least:
                best, least = spot, covered
                if not covered:
                    break
        rect = rect_of(text, best.x, best.y)
        self.rects.append(rect)
        self.canvas.shapes += _written(text, color, best, rect, plate=least > 0)
        if best.leader:
            self.strokes.append(_stroke((*best.leader, *_end(rect, best.leader))))
        return best

    def _covered(self, rect: Rect, leader: Place | None, most: float) -> float:
        """What a number would cover: strokes count 1, other text or the edge of the sheet 9; exact up to `most`."""
        left, top, right, bottom = rect
        if left < EDGE or top < EDGE or right > SHEET - EDGE or bottom > FOOT - 0.2:
            return 9.0
        for x0, y0, x1, y1 in self.rects:  # most of the time of a drawing goes into this loop and the last
            if left < x1 and x0 < right and top < y1 and y0 < bottom:
                return 9.0
        if leader:
            end = _end(rect, leader)
            if math.dist(end, leader) < SHORT or any(crosses(other, (*leader, *end)) for other in self.rects):
                return 9.0
        covered = sum([on_ring(rect, ring) for ring in self.canvas.rings])
        for (x0, y0, x1, y1), segments in self.strokes:
            if left < x1 and x0 < right and top < y1 and y0 < bottom:
                covered += sum([crosses(rect, segment) for segment in segments])
                if covered >= most:
                    break
        return covered


def _stroke(*segments: Segment) -> tuple[Rect, tuple[Segment, ...]]:
    """A line of some segments, and the rectangle that it fills."""
    xs, ys = [x for s in segments for x in s[::2]], [y for s in segments for y in s[1::2]]
    return (min(xs), min(ys), max(xs), max(ys)), segments


def _spots(angle: Angle) -> Iterator[Spot]:
    """Places in an angle from its arc outward, then around its arc, with a leader."""
    for far in STEPS:
        for begin in angle.begins:
            for part in ALONG if abs(angle.wide) * far > 0.4 else ALONG[:1]:
                x, y = angle.on(begin, part, far)
                yield Spot(x, y, begin, angle.on(begin, 0.5, ARC) if far > NEAR else None)
    for away, k in itertools.product(AWAY, range(TURNS)):
        for begin in angle.begins:
            x, y = angle.on(begin, 0.5, ARC)
            turn = begin + angle.wide / 2 + math.pi * ((k + 1) // 2) * (-1) ** k * 2 / TURNS
            yield Spot(x + away * math.cos(turn), y + away * math.sin(turn), begin, (x, y))


def _written(text: str, color: str, spot: Spot, rect: Rect, plate: bool) -> Iterator[Shape]:
    """A number, its leader, and a plate that covers what lies under it."""
    left, top, right, bottom = (round(edge, 3) for edge in rect)
    if spot.leader:
        x, y = (round(c, 3) for c in spot.leader)
        points = ((x, y), _end(rect, spot.leader))
        yield Polygon(points=points, line=color, thick=0.025, closed=False)
    if plate:
        yield Box(x=left, y=top, width=right - left, height=bottom - top, fill="paper", radius=0.08)
    yield Run(text=text, x=round(spot.x, 3), y=round(spot.y, 3), size=SIZE, color=color)


def rect_of(text: str, x: float, y: float, size: float = SIZE) -> Rect:
    """Left, top, right and bottom of a short text around a place, with some room."""
    wide = size * sum([0.29 if letter.isdigit() else 0.45 for letter in text]) + PAD
    return x - wide, y - 0.34 * size - PAD, x + wide, y + 0.4 * size + PAD


def crosses(rect: Rect, segment: Segment) -> bool:
    """Whether any of a segment lies in a rectangle.

    Example:
        >>> crosses((0.0, 0.0, 2.0, 1.0), (-1.0, -1.0, 3.0, 2.0)), crosses((0.0, 0.0, 2.0, 1.0), (-1.0, 0.5, 0.5, 2.0))
        (True, False)
    """
    left, top, right, bottom = rect
    ax, ay, bx, by = segment
    if (ax <= left and bx <= left) or (ax >= right and bx >= right):
        return False
    if (ay <= top and by <= top) or (ay >= bottom and by >= bottom):
        return False
    dx, dy = bx - ax, by - ay
    up, down, near, far = dx * (top - ay), dx * (bottom - ay), dy * (left - ax), dy * (right - ax)
    if up > down:
        up, down = down, up
    if near > far:
        near, far = far, near
    return up < far and near < down  # corners on both sides of the line


def on_ring(rect: Rect, ring: tuple[float, float, float]) -> bool:
    """Whether a circle's line runs through a rectangle."""
    left, top, right, bottom = rect
    x, y, radius = ring
    near = math.hypot(max(left - x, x - right, 0), max(top - y, y - bottom, 0))
    return near < radius < math.hypot(max(x - left, right - x), max(y - top, bottom - y))


def _end(rect: Rect, place: Place) -> Place:
    """The place of a rectangle nearest to another."""
    left, top, right, bottom = rect
    return round(min(max(place[0], left), right), 3), round(min(max(place[1], top), bottom), 3)
