"""UnionArea: the area that overlapping shapes cover."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Mapping

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import SAYINGS, AskWorld
from quintain.worlds.engines.geometry.canvas import Canvas
from quintain.worlds.engines.geometry.figure import Spot, Things, Words, grid_words, number_words, of, spot, word
from quintain.worlds.engines.geometry.quarters import PITCH, placed
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng

RULES = """Shapes with their corners on a lattice overlap; x runs to the right, y upward. Find the area that they cover together; what
lies under several shapes counts once. The area is an integer. A line `shape (1,1) (5,1) (5,4)` gives the corners of one shape in
order."""
SIDE = 14
LEVELS = [
    {"shapes": n, "slanted": k}
    for n, k in ((2, 0), (3, 0), (3, 1), (4, 1), (4, 2), (5, 2), (5, 3), (6, 3), (7, 4), (8, 5))
]
FILLS = ("sky", "gold", "plum", "mint", "sand", "frost", "amber", "cloud")


def _boxed(rng: Rng) -> list[Spot]:
    x, y, wide, high = 1 + rng.below(9), 1 + rng.below(9), 3 + rng.below(6), 3 + rng.below(6)
    return [(x, y), (x + wide, y), (x + wide, y + high), (x, y + high)]


def _slanted(rng: Rng) -> list[Spot]:
    """A square on its corner, or a right-angled triangle with two equal sides."""
    r, x, y = 2 + rng.below(3), 1 + rng.below(11), 1 + rng.below(11)
    if rng.below(2):
        return [(x - r, y), (x, y - r), (x + r, y), (x, y + r)]
    long, a, b = 2 * r + rng.below(2), rng.pick((1, -1)), rng.pick((1, -1))
    ring = [(x, y), (x + a * long, y), (x, y + b * long)]
    return ring if a * b > 0 else ring[::-1]


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    rings: list[list[Spot]] = []
    total, sizes = 0, 0
    for _ in range(knobs["shapes"] * 30):
        ring = _slanted(rng) if len(rings) < knobs["slanted"] else _boxed(rng)
        if any(not 0 <= c <= SIDE for p in ring for c in p):
            continue
        bits = placed(ring)
        shared = (bits & total).bit_count() * 4
        if rings and not bits.bit_count() // 2 <= shared <= bits.bit_count() * 3:
            continue  # it would hardly touch the others, or add little
        rings.append(ring)
        total, sizes = total | bits, sizes + bits.bit_count()
        if len(rings) == knobs["shapes"]:
            rng.shuffle(rings)
            things = tuple(("shape", *(word(*p) for p in ring)) for ring in rings)
            return things if total.bit_count() % 4 == 0 else None
    return None


def _rings(things: Things) -> list[list[Spot]]:
    return [[spot(w) for w in ring] for ring in of(things, "shape")]


def _covered(things: Things) -> int:
    return functools.reduce(operator.or_, map(placed, _rings(things)))


def _truth(things: Things) -> Words:
    return (str(_covered(things).bit_count() // 4),)


def _why(things: Things) -> str:
    total, row, out, areas = _covered(things), (1 << 4 * PITCH) - 1, [], []
    for strip, run in itertools.groupby(range(SIDE), key=lambda y: total >> 4 * PITCH * y & row):
        (low, *rest), parts = run, []
        for count, cells in itertools.groupby(range(SIDE), key=lambda x: (strip >> 4 * x & 15).bit_count()):
            first, *more = cells
            if count:
                parts.append(f"{f'{count}/4 of ' if count < 4 else ''}{first}-{first + len(more) + 1}")
        if strip:
            wide, high = strip.bit_count() / 4, len(rest) + 1
            out.append(f"y {low}-{low + high}: x {', '.join(parts)} is {wide:g}{f' * {high}' if rest else ''}")
            areas.append(f"{wide * high:g}")
    return f"What is covered in level strips, with n/4 of cells not covered whole: {'; '.join(out)}. Together {' + '.join(areas)}."


def _paint(things: Things) -> Canvas:
    canvas, rings = Canvas(SIDE), _rings(things)
    ground, canvas.shapes = canvas.shapes, []
    for ring, fill in zip(rings, FILLS, strict=False):
        canvas.polygon(ring, fill=fill, line="")
    canvas.shapes += ground
    for ring in rings:
        canvas.polygon(ring, line="ink", thick=0.07)
    return canvas


def _guess(things: Things, rng: Rng) -> Words:
    return (str(20 + rng.below(100)),)


@register("world", "UnionArea", domain="geometry", engine="geometry")
def union_area() -> AskWorld:
    """Find the area that 2 to 8 overlapping rectangles, squares and triangles cover."""
    facts = Facts(
        name="UnionArea",
        rules=RULES,
        answer="Write the area as an integer.",
        example="60",
        ceilings={"random": 0.03, "constant": 0.04, "first": 0.04, "blind": 0.05},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="number", low=1, high=1, least=3),
        lexicon=("shape", *grid_words(SIDE), *number_words(SIDE * SIDE)),
        paint=_paint,
        guess=_guess,
        side=SIDE,
    )
