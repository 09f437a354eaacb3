"""AngleChase: the angle between two of many crossing lines, from angles between others."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import SAYINGS, AskWorld
from quintain.worlds.engines.geometry.canvas import Canvas
from quintain.worlds.engines.geometry.exact import apart2, cross
from quintain.worlds.engines.geometry.figure import (
    LETTERS,
    Spot,
    Things,
    Words,
    grid_words,
    number_words,
    of,
    spot,
    word,
)
from quintain.worlds.engines.geometry.labels import Angle, Labels
from quintain.worlds.engines.geometry.reasons import added
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng

RULES = """Straight lines cross. Some angles between them are given in degrees; find the one marked with a question mark. The drawing
is true to within a little: reason, do not measure. `line A (0,5) (40,12)` gives the ends of line A. `angle A B 50` says that line A,
turned left by 50 degrees about the crossing, lies on line B; `ask A D` asks by how much, less than 180, A must be turned left to lie
on D."""
SIDE = 40
LEVELS = [
    {"lines": n, "apart": d}
    for n, d in ((3, 25), (3, 15), (4, 20), (4, 12), (5, 15), (5, 12), (5, 10), (6, 12), (6, 10), (6, 8))
]
Ends = tuple[Spot, Spot]


def _through(angle: int, x: float, y: float) -> Ends | None:
    """The ends, on the lattice, of the line through a place in a direction, cut off at the sides of the square."""
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    times = sorted(t for p, d in ((x, c), (y, s)) for t in ((1 - p) / d, (SIDE - 1 - p) / d))
    ends = [(round(x + c * t), round(y + s * t)) for t in times[1:3]]
    return (ends[0], ends[1]) if apart2(*ends) > 400 else None


@functools.lru_cache(maxsize=1024)
def _meet(one: Ends, two: Ends) -> tuple[float, float] | None:
    """Where two lines cross, if well within the square."""
    (ax, ay), (bx, by) = one
    d = (bx - ax) * (two[1][1] - two[0][1]) - (by - ay) * (two[1][0] - two[0][0])
    if not d:
        return None
    t = cross(two[0], two[1], one[0]) / d
    x, y = ax + t * (bx - ax), ay + t * (by - ay)
    return (x, y) if 5 < x < SIDE - 5 and 5 < y < SIDE - 5 else None


def _joined(rng: Rng, ends: Sequence[Ends], angle: int, last: bool) -> Ends | None:
    """A line that crosses the one before (and the first, if it is the last), so that no two marked crossings are near."""
    (ax, ay), (bx, by) = ends[-1]
    t = 0.15 + 0.7 * rng.uniform()
    line = _through(angle, ax + (bx - ax) * t, ay + (by - ay) * t)
    if not line:
        return None
    (ax, ay), (bx, by) = line
    for x, y in itertools.chain(*ends):
        if (x - ax) ** 2 + (y - ay) ** 2 < 7 or (x - bx) ** 2 + (y - by) ** 2 < 7:
            return None
    lines = [*ends, line]
    marked = [_meet(*two) for two in itertools.pairwise(lines)] + ([_meet(line, ends[0])] if last else [])
    if None in marked:
        return None
    sure = [p for p in marked if p]
    if any(math.dist(p, q) < 6 for p, q in itertools.combinations(sure, 2)):
        return None
    every = [p for p in (_meet(*two) for two in itertools.combinations(lines, 2)) if p and p not in sure]
    return None if any(math.dist(p, q) < 3 for p in sure for q in every) else line


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    count, apart = knobs["lines"], knobs["apart"]
    angles, ends = [1 + rng.below(89)], list[Ends]()
    first = _through(angles[0], 12 + rng.below(17), 12 + rng.below(17))
    if not first:
        return None
    ends.append(first)
    for _ in range(count * 12):
        a = rng.below(180)
        if a % 90 and all(apart <= (a - b) % 180 <= 180 - apart for b in angles):
            line = _joined(rng, ends, a, len(ends) == count - 1)
            if line:
                angles.append(a)
                ends.append(line)
                if len(ends) == count:
                    break
    if len(ends) < count:
        return None
    pairs = [(i, i + 1) for i in range(count - 1)] + [(0, count - 1)]
    names = rng.sample(LETTERS[:count], count)
    things = [("line", names[i], word(*ends[i][0]), word(*ends[i][1])) for i in range(count)]
    marks = []
    for i, j in pairs:
        i, j = (i, j) if rng.below(2) else (j, i)
        marks.append((names[i], names[j], str((angles[j] - angles[i]) % 180)))
    asked = marks.pop()
    rng.shuffle(marks)
    return *sorted(things), *(("angle", *mark) for mark in marks), ("ask", *asked[:2])


def _way(things: Things) -> list[tuple[str, str, int]]:
    """The given angles that lead from the first line asked for to the second, turned left along that way."""
    links: dict[str, list[tuple[str, int]]] = {}
    for a, b, size in of(things, "angle"):
        links.setdefault(a, []).append((b, int(size)))
        links.setdefault(b, []).append((a, -int(size)))
    start, end = of(things, "ask")[0]
    ways, waiting = {start: list[tuple[str, str, int]]()}, [start]
    for a in waiting:  # grows while it is walked
        for b, size in links.get(a, ()):
            if b not in ways:
                ways[b] = [*ways[a], (a, b, size)]
                waiting.append(b)
    return ways[end]


def _truth(things: Things) -> Words:
    return (str(sum(size for *_, size in _way(things)) % 180),)


def _why(things: Things) -> str:
    way = _way(things)
    sizes = [size for *_, size in way]
    total, steps = sum(sizes), ", ".join([f"{a} to {b} {size:+d}" for a, b, size in way])
    less = (
        ""
        if 0 <= total < 180
        else f"; {added((total, total % 180 - total))} = {total % 180}, for half a turn leaves a line as it is"
    )
    minus = ", with a minus where the angle is given the other way round" if min(sizes) < 0 else ""
    return f"Turned left{minus}: {steps}. {added(sizes)} = {total}{less}."


def _angle(canvas: Canvas, one: Ends, two: Ends, text: str) -> Angle:
    """From the first line left to the second at their crossing, on either side."""
    place = _meet(one, two) or (0.0, 0.0)
    a, b = (math.atan2(q[1] - p[1], q[0] - p[0]) for p, q in (one, two))
    color = "brick" if text == "?" else "blue"
    return Angle(canvas.at(*place), (-a, math.pi - a), -((b - a) % math.pi), text, color)


def _paint(things: Things) -> Canvas:
    canvas = Canvas(SIDE, axes=False)
    lines = {name: (spot(a), spot(b)) for name, a, b in of(things, "line")}
    for name, (p, q) in lines.items():
        canvas.line(p, q, "slate", 0.05)
        long = math.dist(p, q) / 1.3
        canvas.text(name, (q[0] + (q[0] - p[0]) / long, q[1] + (q[1] - p[1]) / long), 0.38)
    marks = (*of(things, "angle"), *((*pair, "?") for pair in of(things, "ask")))
    Labels(canvas).angles([_angle(canvas, lines[a], lines[b], size) for a, b, size in marks])
    return canvas


def _guess(things: Things, rng: Rng) -> Words:
    return (str(5 + rng.below(170)),)


@register("world", "AngleChase", domain="geometry", engine="geometry")
def angle_chase() -> AskWorld:
    """Find the angle between two of 3 to 6 crossing lines, from a chain of other angles."""
    facts = Facts(
        name="AngleChase",
        rules=RULES,
        answer="Write the angle in degrees as an integer.",
        example="50",
        ceilings={"random": 0.03, "constant": 0.03, "first": 0.03, "blind": 0.05},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="number", low=1, high=1, least=3),
        lexicon=("line", "angle", "ask", *LETTERS, *number_words(180), *grid_words(SIDE)),
        paint=_paint,
        guess=_guess,
        side=SIDE,
    )
