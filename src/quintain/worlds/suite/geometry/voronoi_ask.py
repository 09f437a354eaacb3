"""VoronoiAsk: which site is nearest to each marked point."""

from __future__ import annotations

from collections.abc import Mapping

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import PARTIAL, SAYINGS, AskWorld
from quintain.worlds.engines.geometry.canvas import Canvas
from quintain.worlds.engines.geometry.exact import apart2, scattered
from quintain.worlds.engines.geometry.figure import (
    LETTERS,
    Things,
    Words,
    grid_words,
    lettered,
    named,
    number_words,
    word,
)
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box

RULES = (
    """Sites with letters and marks with numbers lie on a lattice; x runs to the right, y upward. A mark belongs to the site nearest to
it in a straight line. `site A (3,5)` lies at x=3, y=5; `mark 1 (4,4)` is the first mark."""
    + PARTIAL
)
SIDE = 16
LEVELS = [
    {"sites": n, "marks": k, "margin": m}
    for n, k, m in (
        (3, 2, 12),
        (4, 2, 10),
        (5, 3, 8),
        (6, 3, 6),
        (7, 4, 5),
        (8, 4, 4),
        (9, 5, 3),
        (10, 5, 2),
        (11, 6, 2),
        (12, 7, 1),
    )
]


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    count, marks = knobs["sites"], knobs["marks"]
    spots = scattered(rng, count + marks, SIDE, 5, 1)
    if not spots:
        return None
    sites, asked = spots[:count], spots[count:]
    for p in asked:
        near = sorted(apart2(p, q) for q in sites)
        if near[1] - near[0] < knobs["margin"]:
            return None
    return *lettered(sites, "site"), *(("mark", str(i), word(*p)) for i, p in enumerate(asked, 1))


def _truth(things: Things) -> Words:
    sites = named(things, "site")
    return tuple(min(sites, key=lambda name: apart2(sites[name], p)) for p in named(things, "mark").values())


def _why(things: Things) -> str:
    sites, out = named(things, "site"), []
    for (number, p), near in zip(named(things, "mark").items(), _truth(things), strict=True):
        far = {name: apart2(q, p) for name, q in sites.items()}
        out.append(f"Mark {number}: {', '.join(f'{name} {n}' for name, n in far.items())}; least {far[near]}, {near}.")
    return f"Squared distances, dx*dx+dy*dy. {' '.join(out)}"


def _paint(things: Things) -> Canvas:
    canvas, sites, marks = Canvas(SIDE), named(things, "site"), named(things, "mark")
    for p in sites.values():
        canvas.dot(p, "blue", 0.13)
    for p in marks.values():
        x, y = canvas.at(*p)
        canvas.taken.append((x, y))
        canvas.shapes.append(Box(x=x - 0.1, y=y - 0.1, width=0.2, height=0.2, fill="brick"))
    canvas.names(sites.items(), size=0.38)
    canvas.names(marks.items(), size=0.38, color="brick")
    return canvas


def _guess(things: Things, rng: Rng) -> Words:
    sites = list(named(things, "site"))
    return tuple(rng.pick(sites) for _ in named(things, "mark"))


@register("world", "VoronoiAsk", domain="geometry", engine="geometry")
def voronoi_ask() -> AskWorld:
    """Say for each of 2 to 7 marks which of 3 to 12 sites is nearest."""
    facts = Facts(
        name="VoronoiAsk",
        rules=RULES,
        answer="Write the letter of the nearest site for each mark, in the order of the marks.",
        example="A C B",
        ceilings={"random": 0.06, "constant": 0.04, "first": 0.04, "blind": 0.08},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="name"),
        lexicon=("site", "mark", *LETTERS, *number_words(9), *grid_words(SIDE)),
        paint=_paint,
        guess=_guess,
        side=SIDE,
        near=True,
    )
