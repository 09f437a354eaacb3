"""PolygonArea: the area of a lattice polygon, and the lattice points in it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import SAYINGS, AskWorld
from quintain.worlds.engines.geometry.canvas import Canvas
from quintain.worlds.engines.geometry.exact import border, outline, twice_area
from quintain.worlds.engines.geometry.figure import (
    LETTERS,
    Things,
    Words,
    grid_words,
    lettered,
    named,
    number_words,
)
from quintain.worlds.engines.geometry.reasons import laced
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng

RULES = """A polygon has its corners on a lattice; x runs to the right, y upward. Find its area, an integer, and how many lattice
points lie strictly inside. A line `corner A (3,5)` says that corner A lies at x=3, y=5; the sides run from A to B, from B to C and so
on, and from the last corner back to A."""
SIDE = 14
LEVELS = [
    {"corners": n, "span": s}
    for n, s in ((3, 8), (4, 8), (4, 12), (5, 10), (5, 14), (6, 14), (7, 14), (8, 14), (9, 14), (11, 14))
]


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    ring = outline(rng, knobs["corners"], SIDE, 5, (SIDE - knobs["span"]) // 2)
    if not ring or twice_area(ring) % 2 or twice_area(ring) < 12:
        return None
    return lettered(ring, "corner")


def _truth(things: Things) -> Words:
    ring = list(named(things, "corner").values())
    twice = abs(twice_area(ring))
    return str(twice // 2), str((twice - len(border(ring)) + 2) // 2)  # the second by Pick's theorem


def _why(things: Things) -> str:
    corners = named(things, "corner")
    names, spots = list(corners), list(corners.values())
    sides = zip(names, names[1:] + names[:1], spots, spots[1:] + spots[:1], strict=True)
    steps = [(f"{m}-{n}", math.gcd(a[0] - b[0], a[1] - b[1])) for m, n, a, b in sides]
    area, edge = abs(twice_area(spots)) // 2, sum(n for _, n in steps)
    return (
        f"Twice the area, x*y'-x'*y added up over the sides: {laced(corners)}; half is {area}. Lattice steps on the sides, "
        f"gcd of both differences: {', '.join(f'{side} {n}' for side, n in steps)}, together {edge}. "
        f"Inside, by Pick: {area} - {edge}/2 + 1 = {area - edge // 2 + 1}."
    )


def _paint(things: Things) -> Canvas:
    canvas, corners = Canvas(SIDE), named(things, "corner")
    canvas.polygon(corners.values(), fill="mint", line="forest")
    for p in corners.values():
        canvas.dot(p, "forest")
    canvas.names(corners.items(), size=0.36)
    return canvas


def _guess(things: Things, rng: Rng) -> Words:
    area = 10 + rng.below(90)
    return str(area), str(max(area - 3 - rng.below(6), 0))


@register("world", "PolygonArea", domain="geometry", engine="geometry")
def polygon_area() -> AskWorld:
    """Find the area and the inner lattice points of a polygon with 3 to 11 corners."""
    facts = Facts(
        name="PolygonArea",
        rules=RULES,
        answer="Write two integers: the area, then the number of lattice points strictly inside.",
        example="40 34",
        ceilings={"random": 0.02, "constant": 0.02, "first": 0.02, "blind": 0.04},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="number", low=2, high=2),
        lexicon=("corner", *LETTERS, *grid_words(SIDE), *number_words(SIDE * SIDE)),
        paint=_paint,
        guess=_guess,
        side=SIDE,
    )
