"""MinCircle: the smallest circle round all points."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import SAYINGS, AskWorld
from quintain.worlds.engines.geometry.canvas import Canvas
from quintain.worlds.engines.geometry.exact import apart2, circumcentre, hull
from quintain.worlds.engines.geometry.figure import (
    LETTERS,
    Spot,
    Things,
    Words,
    grid_words,
    lettered,
    named,
    number_words,
)
from quintain.worlds.engines.geometry.reasons import linear
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng

RULES = """Points lie on a lattice; x runs to the right, y upward. Find the smallest circle that has no point outside it. Its centre
lies on the lattice. A line `point A (3,5)` says that point A lies at x=3, y=5."""
SIDE = 20
LEVELS = [{"count": n} for n in (3, 4, 5, 6, 7, 8, 10, 12, 14, 16)]
SQUARES = (25, 50, 65)  # squared radii with 12 lattice points and more


@functools.cache
def _offsets(square: int) -> tuple[Spot, ...]:
    span = range(-9, 10)
    return tuple((x, y) for x in span for y in span if x * x + y * y == square)


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    square = rng.pick(SQUARES)
    reach = math.isqrt(square - 1) + 1
    centre = reach + rng.below(SIDE - 2 * reach + 1), reach + rng.below(SIDE - 2 * reach + 1)
    ends = rng.sample(_offsets(square), 2 + rng.below(2))
    if len(ends) == 2:
        ends[1] = -ends[0][0], -ends[0][1]
    spots = [(centre[0] + x, centre[1] + y) for x, y in ends]
    for _ in range(200):
        p = rng.below(SIDE + 1), rng.below(SIDE + 1)
        if apart2(p, centre) < square * 0.92 and all(apart2(p, q) >= 5 for q in spots):
            spots.append(p)
        if len(spots) >= knobs["count"]:
            break
    if len(spots) != knobs["count"] or min(apart2(p, q) for p, q in itertools.combinations(spots, 2)) < 5:
        return None
    rng.shuffle(spots)
    return lettered(spots) if smallest(spots) == (*centre, square) else None


def smallest(points: Sequence[Spot]) -> tuple[Fraction | int, Fraction | int, Fraction | int]:
    """x and y of the centre and the squared radius of the smallest circle round points, exactly."""
    corners = hull(points)
    for p, q in itertools.combinations(corners, 2):
        middle = p[0] + q[0], p[1] + q[1]  # in half units
        if all((2 * r[0] - middle[0]) ** 2 + (2 * r[1] - middle[1]) ** 2 <= apart2(p, q) for r in corners):
            return Fraction(middle[0], 2), Fraction(middle[1], 2), Fraction(apart2(p, q), 4)
    found = []
    for p, q, r in itertools.combinations(corners, 3):
        x, y, d = circumcentre(p, q, r)  # the centre is (x / d, y / d)
        square = (p[0] * d - x) ** 2 + (p[1] * d - y) ** 2
        if all((s[0] * d - x) ** 2 + (s[1] * d - y) ** 2 <= square for s in corners):
            found.append((Fraction(square, d * d), Fraction(x, d), Fraction(y, d)))
    square, cx, cy = min(found)
    return cx, cy, square


def _truth(things: Things) -> Words:
    return tuple(str(n) for n in smallest(list(named(things).values())))


def _why(things: Things) -> str:
    points = named(things)
    x, y, square = smallest(list(points.values()))
    far = {name: (p[0] - x) ** 2 + (p[1] - y) ** 2 for name, p in points.items()}
    rim = [name for name in points if far[name] == square]
    told = ", ".join([f"{name} {n}" for name, n in far.items()])
    inside = f"Squared distances from it: {told}; none is more than {square}."
    for a, b in itertools.combinations(rim, 2):
        long = apart2(points[a], points[b])
        if long == 4 * square:
            return f"{a} and {b} are furthest apart, squared {long}, so 4 * r^2 is no less; their middle is ({x},{y}). {inside}"
    for a, b, c in itertools.combinations(rim, 3):
        sides = sorted(apart2(points[m], points[n]) for m, n in (a + b, b + c, c + a))
        if sides[0] + sides[1] > sides[2]:
            (ax, ay), zero = points[a], (0, 0)
            one, two = (
                linear(2 * (px - ax), 2 * (py - ay), apart2((px, py), zero) - apart2((ax, ay), zero))
                for px, py in (points[b], points[c])
            )
            return (
                f"As far from {a} as from {b}: {one}; as from {c}: {two}; both at ({x},{y}). Squared sides of {a}-{b}-{c}: "
                f"{sides[0]} + {sides[1]} > {sides[2]}, so it is acute and no smaller circle holds all three. {inside}"
            )
    return inside


def _paint(things: Things) -> Canvas:
    canvas = Canvas(SIDE)
    for p in named(things).values():
        canvas.dot(p, "blue")
    canvas.names(named(things).items(), size=0.34, away=0.28)
    canvas.foot("centre x, centre y, squared radius")
    return canvas


def _guess(things: Things, rng: Rng) -> Words:
    return str(5 + rng.below(11)), str(5 + rng.below(11)), str(rng.pick(SQUARES))


@register("world", "MinCircle", domain="geometry", engine="geometry")
def min_circle() -> AskWorld:
    """Find centre and squared radius of the smallest circle round 3 to 16 points."""
    facts = Facts(
        name="MinCircle",
        rules=RULES,
        answer="Write three integers: x and y of the centre, and the square of the radius.",
        example="8 9 25",
        ceilings={"random": 0.02, "constant": 0.05, "first": 0.02, "blind": 0.05},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="number", low=3, high=3),
        lexicon=("point", *LETTERS, *grid_words(SIDE), *number_words(100)),
        paint=_paint,
        guess=_guess,
        side=SIDE,
    )
