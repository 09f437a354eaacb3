"""StoneGarden: the line or circle with the most stones on it."""

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
from quintain.worlds.engines.geometry.exact import apart2, circumcentre, cross
from quintain.worlds.engines.geometry.figure import LETTERS, Spot, Things, Words, grid_words, lettered, named
from quintain.worlds.engines.geometry.reasons import linear
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng

RULES = """Stones lie on a lattice; x runs to the right, y upward. Among all straight lines and all circles one passes through more
stones than any other: name those stones. A line `stone A (3,5)` says that stone A lies at x=3, y=5."""
SIDE = 16
LEVELS = [
    {"count": n, "row": k}
    for n, k in ((6, 4), (7, 4), (8, 5), (9, 5), (10, 5), (11, 5), (12, 5), (13, 6), (14, 6), (16, 6))
]
SQUARES = (25, 50)


def curves(points: Sequence[Spot]) -> dict[tuple[int, ...], set[Spot]]:
    """All lines and circles through at least three points, and the points on each.

    A curve is a(x^2 + y^2) + bx + cy + d = 0 with integers of no common factor.
    """
    out: dict[tuple[int, ...], set[Spot]] = {}
    for p, q, r in itertools.combinations(points, 3):
        if cross(p, q, r) == 0:
            b, c = q[1] - p[1], p[0] - q[0]
            key = (0, b, c, -b * p[0] - c * p[1])
        else:
            x, y, d = circumcentre(p, q, r)
            key = (d, -2 * x, -2 * y, 2 * x * p[0] + 2 * y * p[1] - d * (p[0] ** 2 + p[1] ** 2))
        common = math.gcd(*key)
        if next(n for n in key if n) < 0:
            common = -common
        out.setdefault(tuple([n // common for n in key]), set()).update((p, q, r))
    return out


def _planted(rng: Rng, count: int) -> list[Spot]:
    """Stones on a random line or circle; some may lie outside."""
    if rng.below(2):
        dx, dy = rng.pick(((1, 0), (0, 1), (1, 1), (1, -1), (2, 1), (1, 2), (2, -1), (1, -2)))
        x, y = rng.below(SIDE), rng.below(SIDE)
        return [(x + dx * k, y + dy * k) for k in rng.sample(range(9), count)]
    square, x, y = rng.pick(SQUARES), 5 + rng.below(7), 5 + rng.below(7)
    ring = [(x + i, y + j) for i in range(-7, 8) for j in range(-7, 8) if i * i + j * j == square]
    return rng.sample(ring, count)


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    spots = _planted(rng, knobs["row"])
    if any(not 1 <= c < SIDE for p in spots for c in p):
        return None
    for _ in range(knobs["count"] * 12):
        p = 1 + rng.below(SIDE - 1), 1 + rng.below(SIDE - 1)
        if all(apart2(p, q) >= 4 for q in spots) and len(spots) < knobs["count"]:
            spots.append(p)
    sizes = sorted(len(on) for on in curves(spots).values())
    if len(spots) < knobs["count"] or sizes[-1] != knobs["row"] or sizes[-2:-1] == [sizes[-1]]:
        return None
    rng.shuffle(spots)
    return lettered(spots, "stone")


@functools.lru_cache(maxsize=256)
def _ranked(things: Things) -> list[tuple[tuple[int, ...], set[Spot]]]:
    """The curves and the stones on them, the fullest first."""
    return sorted(curves(list(named(things, "stone").values())).items(), key=lambda curve: -len(curve[1]))


def _truth(things: Things) -> Words:
    on = _ranked(things)[0][1]
    return tuple(sorted(name for name, p in named(things, "stone").items() if p in on))


def _why(things: Things) -> str:
    ((a, b, c, d), on), *others = _ranked(things)
    most = len(others[0][1]) if others else 2
    stones = named(things, "stone")
    if a:
        x, y = Fraction(-b, 2 * a), Fraction(-c, 2 * a)
        what = f"The circle round ({x},{y}) with the squared radius {x * x + y * y - Fraction(d, a)}"
        tried = [f"{name} {(p[0] - x) ** 2 + (p[1] - y) ** 2}" for name, p in stones.items()]
    else:
        what = f"The line {linear(b, c, -d)}"
        tried = [f"{name} {b * p[0] + c * p[1]}" for name, p in stones.items()]
    told = f"{'Squared distances from there' if a else 'Its left side'}: {', '.join(tried)}"
    return f"{what} holds {len(on)} stones. {told}. No other line or circle holds more than {most}."


def _paint(things: Things) -> Canvas:
    canvas, stones = Canvas(SIDE), named(things, "stone")
    for p in stones.values():
        canvas.dot(p, "slate", 0.13)
    canvas.names(stones.items(), size=0.36, away=0.3)
    return canvas


def _guess(things: Things, rng: Rng) -> Words:
    return tuple(rng.sample(list(named(things, "stone")), 4 + rng.below(3)))


@register("world", "StoneGarden", domain="geometry", engine="geometry")
def stone_garden() -> AskWorld:
    """Name the stones on the line or circle that passes through the most of 6 to 16 stones."""
    facts = Facts(
        name="StoneGarden",
        rules=RULES,
        answer="Name the stones on that line or circle, in any order.",
        example="A B C D E",
        ceilings={"random": 0.02, "constant": 0.02, "first": 0.02, "blind": 0.05},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="name", unordered=True, low=3),
        lexicon=("stone", *LETTERS, *grid_words(SIDE)),
        paint=_paint,
        guess=_guess,
        side=SIDE,
    )
