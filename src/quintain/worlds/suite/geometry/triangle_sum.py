"""TriangleSum: the areas of all triangles between points, added up."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import SAYINGS, AskWorld
from quintain.worlds.engines.geometry.canvas import Canvas
from quintain.worlds.engines.geometry.exact import cross, scattered
from quintain.worlds.engines.geometry.figure import (
    LETTERS,
    Things,
    Words,
    grid_words,
    lettered,
    named,
    number_words,
)
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng

RULES = """Points lie on a lattice; x runs to the right, y upward. Any three of them are the corners of a triangle. Add up the areas of
all these triangles; triples on one line have none. The sum is an integer.
A line `point A (3,5)` says that point A lies at x=3, y=5."""
SIDE = 12
LEVELS = [
    {"count": n, "span": s}
    for n, s in ((3, 5), (3, 10), (4, 6), (4, 10), (5, 8), (5, 10), (6, 8), (6, 10), (7, 10), (8, 10))
]


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    low = (SIDE - knobs["span"]) // 2
    spots = scattered(rng, knobs["count"], SIDE, 4, low)
    twice = sum(abs(cross(*three)) for three in itertools.combinations(spots or [], 3))
    return lettered(spots) if spots and twice >= 6 and twice % 2 == 0 else None


def _truth(things: Things) -> Words:
    return (str(sum(abs(cross(*three)) for three in itertools.combinations(named(things).values(), 3)) // 2),)


def _why(things: Things) -> str:
    out, total = [], 0
    for (m, a), (n, b), (o, c) in itertools.combinations(named(things).items(), 3):
        one, two = (b[0] - a[0]) * (c[1] - a[1]), (b[1] - a[1]) * (c[0] - a[0])
        out.append(f"{m}{n}{o} |{one}{-two:+d}|={abs(one - two)}")
        total += abs(one - two)
    rule = "|(xb-xa)*(yc-ya)-(yb-ya)*(xc-xa)|"
    return f"Twice the area of a triangle abc is {rule}: {', '.join(out)}. Together {total}, half is {total // 2}."


def _paint(things: Things) -> Canvas:
    canvas, points = Canvas(SIDE), named(things)
    for p, q in () if len(points) > 5 else itertools.combinations(points.values(), 2):
        canvas.line(p, q, "cloud", 0.04)
    for p in points.values():
        canvas.dot(p, "brick")
    canvas.names(points.items())
    return canvas


def _guess(things: Things, rng: Rng) -> Words:
    return (str(3 + rng.below(40 * len(things))),)


@register("world", "TriangleSum", domain="geometry", engine="geometry")
def triangle_sum() -> AskWorld:
    """Add up the areas of all triangles between 3 to 8 lattice points."""
    facts = Facts(
        name="TriangleSum",
        rules=RULES,
        answer="Write the sum as an integer.",
        example="25",
        ceilings={"random": 0.03, "constant": 0.04, "first": 0.04, "blind": 0.04},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="number", low=1, high=1, least=3),
        lexicon=("point", *LETTERS, *grid_words(SIDE), *number_words(3000)),
        paint=_paint,
        guess=_guess,
        side=SIDE,
    )
