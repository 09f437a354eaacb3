"""MaxRectangle: the largest rectangle with its corners on given points."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import SAYINGS, AskWorld
from quintain.worlds.engines.geometry.canvas import Canvas
from quintain.worlds.engines.geometry.exact import apart2, cross
from quintain.worlds.engines.geometry.figure import LETTERS, Spot, Things, Words, grid_words, lettered, named
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng

RULES = """Points lie on a lattice; x runs to the right, y upward. Four of them are the corners of a rectangle, maybe a tilted one; find
the rectangle with the largest area. A line `point A (3,5)` says that point A lies at x=3, y=5."""
SIDE = 14
LEVELS = [
    {"count": n, "rectangles": k}
    for n, k in ((6, 1), (7, 1), (8, 1), (9, 2), (10, 2), (12, 2), (14, 3), (16, 3), (18, 3), (21, 4))
]
SLANTS = ((1, 0), (1, 0), (1, 1), (2, 1), (1, 2), (3, 1), (1, 3))


def rectangles(points: Sequence[Spot]) -> dict[frozenset[Spot], int]:
    """All rectangles with corners on points, and their areas: their diagonals are as long and have the same middle."""
    diagonals: dict[tuple[int, int, int], list[tuple[Spot, Spot]]] = {}
    for p, q in itertools.combinations(points, 2):
        diagonals.setdefault((p[0] + q[0], p[1] + q[1], apart2(p, q)), []).append((p, q))
    return {
        frozenset((*one, *two)): abs(cross(one[0], two[0], one[1]))
        for same in diagonals.values()
        for one, two in itertools.combinations(same, 2)
    }


def _planted(rng: Rng) -> list[Spot]:
    """A random rectangle; it may lie partly outside."""
    a, b = rng.pick(SLANTS)
    long, wide = 2 + rng.below(7), 2 + rng.below(5)
    x, y = rng.below(SIDE + 1), rng.below(SIDE + 1)
    return [
        (x, y),
        (x + a * long, y + b * long),
        (x + a * long - b * wide, y + b * long + a * wide),
        (x - b * wide, y + a * wide),
    ]


def _clear(new: Sequence[Spot], old: Sequence[Spot]) -> bool:
    """Whether no new point touches an old one."""
    return all(apart2(p, q) >= 3 for p in new for q in old)


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    count, order = knobs["count"], list[Spot]()
    for _ in range(40):
        corners = _planted(rng)
        if all(1 <= c < SIDE for p in corners for c in p) and _clear(corners, order):
            order += corners
            if len(order) >= 4 * knobs["rectangles"]:
                break
    for _ in range(count * 12):
        p = 1 + rng.below(SIDE - 1), 1 + rng.below(SIDE - 1)
        if len(order) < count and _clear([p], order):
            order.append(p)
    areas = sorted(rectangles(order).values())
    if len(order) != count or len(areas) < knobs["rectangles"] or areas[-1] < 6 or areas[-2:-1] == areas[-1:]:
        return None
    rng.shuffle(order)
    return lettered(order)


def _truth(things: Things) -> Words:
    names = {p: name for name, p in named(things).items()}
    found = rectangles(list(names))
    return tuple(sorted(names[p] for p in max(found, key=lambda corners: found[corners])))


def _why(things: Things) -> str:
    names, out = {p: name for name, p in named(things).items()}, []
    found = rectangles(list(names))
    for corners in sorted(found, key=lambda c: (-found[c], sorted(c))):
        a, b, c, d = sorted(corners)  # the outer two are the ends of one diagonal
        ends = f"{names[a]}-{names[d]} and {names[b]}-{names[c]} round ({(a[0] + d[0]) / 2:g},{(a[1] + d[1]) / 2:g})"
        out.append(f"{ends}, {apart2(a, b)} by {apart2(a, c)}, {found[corners]}.")
    rule = "A rectangle is two pairs of points as far apart, with one middle; its squared area is the product of two squared sides."
    return f"{rule} All, with squared sides and area: {' '.join(out)}"


def _paint(things: Things) -> Canvas:
    canvas = Canvas(SIDE)
    for p in named(things).values():
        canvas.dot(p, "green")
    canvas.names(named(things).items(), size=0.36, away=0.27)
    return canvas


def _guess(things: Things, rng: Rng) -> Words:
    return tuple(rng.sample(list(named(things)), 4))


@register("world", "MaxRectangle", domain="geometry", engine="geometry")
def max_rectangle() -> AskWorld:
    """Name the corners of the largest rectangle, maybe tilted, on 6 to 21 points."""
    facts = Facts(
        name="MaxRectangle",
        rules=RULES,
        answer="Name its four corners, in any order.",
        example="A B C D",
        ceilings={"random": 0.02, "constant": 0.02, "first": 0.02, "blind": 0.04},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="name", unordered=True, low=4, high=4),
        lexicon=("point", *LETTERS, *grid_words(SIDE)),
        paint=_paint,
        guess=_guess,
        side=SIDE,
    )
