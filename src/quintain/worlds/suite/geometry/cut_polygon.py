"""CutPolygon: one straight cut that halves the area of a convex polygon."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import SAYINGS, AskWorld
from quintain.worlds.engines.geometry.canvas import Canvas
from quintain.worlds.engines.geometry.exact import apart2, border, hull, twice_area
from quintain.worlds.engines.geometry.figure import (
    LETTERS,
    Spot,
    Things,
    Words,
    grid_words,
    lettered,
    named,
    spot,
    word,
)
from quintain.worlds.engines.geometry.reasons import laced
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng

RULES = """A convex polygon has its corners on a lattice; x runs to the right, y upward. Cut it by one straight line into two parts of
equal area. The cut is given by the two points of the outline at which it starts and ends; both must be lattice points. There may be
several such cuts; any will do. A line `corner A (3,5)` says that corner A lies at x=3, y=5; sides join neighbours, and the last corner
to A."""
SIDE = 16
LEVELS = [
    {"corners": n, "size": s}
    for n, s in ((3, 12), (4, 12), (4, 16), (5, 12), (5, 14), (5, 16), (6, 14), (6, 16), (7, 16), (8, 16))
]


@functools.lru_cache(maxsize=4096)
def _cuts(ring: tuple[Spot, ...]) -> list[tuple[Spot, Spot]]:
    """All pairs of lattice points on a convex outline between which a straight cut halves the area."""
    points, total = border(ring), twice_area(ring)
    sums = [0]
    for p, q in itertools.pairwise(points):
        sums.append(sums[-1] + p[0] * q[1] - p[1] * q[0])
    out = []
    for i, p in enumerate(points):
        for j in range(i + 2, len(points)):
            q = points[j]
            if 2 * (sums[j] - sums[i] + q[0] * p[1] - q[1] * p[0]) == total:
                out.append((p, q))
                break  # from p the part grows on the way round
    return out


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    low, half = (SIDE - knobs["size"]) // 2, SIDE // 2
    spots = []
    for _ in range(40):
        p = low + rng.below(knobs["size"] + 1), low + rng.below(knobs["size"] + 1)
        far = apart2(p, (half, half))
        if (half - low - 2) ** 2 <= far <= (half - low + 1) ** 2 and all(apart2(p, q) >= 9 for q in spots):
            spots.append(p)
            if len(spots) == knobs["corners"]:
                break
    ring = hull(spots)
    if len(ring) != knobs["corners"] or twice_area(ring) < 60 or not 1 <= len(_cuts(tuple(ring))) <= 4:
        return None
    turn = rng.below(len(ring))
    return lettered(ring[turn:] + ring[:turn], "corner")


def _ring(things: Things) -> tuple[Spot, ...]:
    ring = tuple(named(things, "corner").values())
    return ring if twice_area(ring) > 0 else ring[::-1]


def _truth(things: Things) -> Words:
    return tuple(sorted(word(*p) for p in _cuts(_ring(things))[0]))


def _why(things: Things) -> str:
    ring, names = _ring(things), {p: name for name, p in named(things, "corner").items()}
    points, (p, q) = border(ring), _cuts(ring)[0]
    part = [r for r in points[points.index(p) : points.index(q) + 1] if r in names or r in (p, q)]
    whole, half = (laced({names.get(r, word(*r)): r for r in some}) for some in (ring, part))
    return f"Twice the area, x*y'-x'*y added up over the sides: {whole}. One part of the cut {word(*p)}-{word(*q)}: {half}, the half."


def _check(things: Things, said: Words) -> bool:
    ring = _ring(things)
    return len(said) == 2 and {spot(w) for w in said} in [set(cut) for cut in _cuts(ring)]


def _paint(things: Things) -> Canvas:
    canvas, corners = Canvas(SIDE), named(things, "corner")
    canvas.polygon(corners.values(), fill="ice", line="blue")
    for p in border(list(corners.values())):
        canvas.dot(p, "blue", 0.06)
    for p in corners.values():
        canvas.dot(p, "navy", 0.1)
    canvas.names(corners.items(), size=0.36)
    return canvas


def _guess(things: Things, rng: Rng) -> Words:
    return tuple(word(*p) for p in rng.sample(border(_ring(things)), 2))


@register("world", "CutPolygon", domain="geometry", engine="geometry")
def cut_polygon() -> AskWorld:
    """Halve the area of a convex polygon by one cut between lattice points of its outline."""
    facts = Facts(
        name="CutPolygon",
        rules=RULES,
        answer="Write the two ends of the cut as points.",
        example="(3,4) (9,12)",
        ceilings={"random": 0.1, "constant": 0.02, "first": 0.02, "blind": 0.03},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="point", unordered=True, high=2),
        lexicon=("corner", *LETTERS, *grid_words(SIDE)),
        paint=_paint,
        guess=_guess,
        side=SIDE,
        check=_check,
    )
