"""VisibleLines: the upper envelope of lines."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import SAYINGS, AskWorld
from quintain.worlds.engines.geometry.canvas import INKS, Canvas
from quintain.worlds.engines.geometry.figure import LETTERS, Things, Words, grid_words, of, spot, word
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng

RULES = """Straight lines cross a frame from its left side, x=0, to its right side, x=20; y runs upward. Somebody looks straight
down from high above. Name the lines of which something can be seen, those uppermost somewhere, in their order from left to right.
A line `line A (0,5) (20,13)` gives the ends of line A."""
SIDE = 20
LEVELS = [
    {"lines": n, "seen": k}
    for n, k in ((3, 2), (4, 2), (5, 3), (6, 3), (7, 3), (8, 3), (9, 3), (10, 4), (11, 4), (13, 4))
]
Ends = tuple[int, int]


def _lead(a: Ends, b: Ends) -> Fraction:
    """Where line b overtakes line a, which starts above it: x as a part of the frame's width."""
    return Fraction(a[0] - b[0], a[0] - b[0] + b[1] - a[1])


def visible(lines: Mapping[str, Ends]) -> list[tuple[str, Fraction]]:
    """The lines of the upper envelope from left to right, and where each ends, as a part of the width."""
    name = max(lines, key=lambda n: lines[n])
    at, out = Fraction(0), []
    while True:
        here = lines[name]
        later = {n: _lead(here, e) for n, e in lines.items() if e[1] > here[1] and e[0] < here[0]}
        later = {n: x for n, x in later.items() if at <= x < 1}
        if not later:
            return [*out, (name, Fraction(1))]
        after = min(later, key=lambda n: (later[n], here[1] - lines[n][1], n))
        out.append((name, later[after]))
        name, at = after, later[after]


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    count = knobs["lines"]
    lefts, rights = rng.sample(range(SIDE + 1), count), rng.sample(range(SIDE + 1), count)
    lines = dict(zip(LETTERS, zip(lefts, rights, strict=True), strict=False))
    ends = list(lines.values())
    tops = {max(ends, key=lambda e: e[0] * (16 - t) + e[1] * t) for t in range(17)}
    if len(tops) < knobs["seen"]:  # a quick look before the exact one
        return None
    found = visible(lines)
    marks = [Fraction(0), *(end for _, end in found)]
    if len(found) < knobs["seen"] or min(b - a for a, b in itertools.pairwise(marks)) < Fraction(1, 20):
        return None
    seen = {name for name, _ in found}
    for (name, end), start in zip(found, marks, strict=False):
        for x in (start, end):
            top = lines[name][0] * (1 - x) + lines[name][1] * x
            if any(top - (a * (1 - x) + b * x) < Fraction(1, 3) for n, (a, b) in lines.items() if n not in seen):
                return None  # too near to tell
    return tuple(("line", n, word(0, a), word(SIDE, b)) for n, (a, b) in lines.items())


def _lines(things: Things) -> dict[str, Ends]:
    return {name: (spot(a)[1], spot(b)[1]) for name, a, b in of(things, "line")}


def _truth(things: Things) -> Words:
    return tuple(name for name, _ in visible(_lines(things)))


def _why(things: Things) -> str:
    lines, at, told = _lines(things), Fraction(0), list[str]()
    for name, end in visible(lines):
        here = lines[name]
        later = sorted((_lead(here, e), n) for n, e in lines.items() if e[1] > here[1] and e[0] < here[0])
        marks = ", ".join([f"{n} at {float(SIDE * x):.2f}" for x, n in later if x >= at])
        told.append(f"{name} is crossed by {marks or 'none'}.")
        at = end
    return (
        f"At x=0 {told[0][0]} is uppermost; after it the first line that crosses it from below, and so on. A line that is l lower "
        f"on the left and r higher on the right crosses at 20*l/(l+r), here to two places. {' '.join(told)}"
    )


def _paint(things: Things) -> Canvas:
    canvas = Canvas(SIDE, axes=False)
    canvas.polygon(((0, 0), (SIDE, 0), (SIDE, SIDE), (0, SIDE)), fill="white", line="cloud", thick=0.03)
    for i, (name, (a, b)) in enumerate(_lines(things).items()):
        color = INKS[i % len(INKS)]
        canvas.line((0, a), (SIDE, b), color, 0.06)
        canvas.text(name, (-0.9, a), 0.34, color)
        canvas.text(name, (SIDE + 0.9, b), 0.34, color)
    return canvas


def _guess(things: Things, rng: Rng) -> Words:
    names = list(_lines(things))
    return tuple(rng.sample(names, min(2 + rng.below(3), len(names))))


@register("world", "VisibleLines", domain="geometry", engine="geometry")
def visible_lines() -> AskWorld:
    """Name the lines of 3 to 13 that are seen from above, from left to right."""
    facts = Facts(
        name="VisibleLines",
        rules=RULES,
        answer="Name the lines that can be seen, from left to right.",
        example="A B C",
        ceilings={"random": 0.04, "constant": 0.03, "first": 0.03, "blind": 0.06},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="name"),
        lexicon=("line", *LETTERS, *grid_words(SIDE)),
        paint=_paint,
        guess=_guess,
        side=SIDE,
    )
