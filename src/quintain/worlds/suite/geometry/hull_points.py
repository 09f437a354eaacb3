"""HullPoints: which points are corners of the convex hull."""

from __future__ import annotations

from collections.abc import Mapping

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import SAYINGS, AskWorld
from quintain.worlds.engines.geometry.canvas import Canvas
from quintain.worlds.engines.geometry.exact import chain, cross, hull, scattered
from quintain.worlds.engines.geometry.figure import LETTERS, Things, Words, grid_words, lettered, named
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng

RULES = """Points lie on a lattice; x runs to the right, y upward. Stretch a rubber band round all of them: name the points at which
it bends, the corners of the convex hull. A point inside, or on a straight piece of the band, is no corner.
A line `point A (3,5)` says that point A lies at x=3, y=5."""
SIDE = 16
LEVELS = [{"count": n} for n in (5, 6, 7, 8, 9, 11, 13, 15, 18, 21)]


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    spots = scattered(rng, knobs["count"], SIDE, 5, 1)
    if not spots or not 3 < len(hull(spots)) < len(spots):
        return None
    return lettered(spots)


def _truth(things: Things) -> Words:
    names = {p: name for name, p in named(things).items()}
    return tuple(sorted(names[p] for p in hull(list(names))))


def _why(things: Things) -> str:
    names, out = {p: name for name, p in named(things).items()}, []
    order = sorted(names)
    for side, run, off in (("Below, to the right", order, "above"), ("Above, to the left", order[::-1], "under")):
        kept, left = chain(run)
        told = [f"{names[q]} is {off if cross(a, q, b) else 'on'} {names[a]}-{names[b]}" for q, a, b in left]
        out.append(
            f"{side}, the band runs {' '.join(names[p] for p in kept)}: {', '.join(told) or 'no point is left out'}."
        )
    return " ".join(out)


def _paint(things: Things) -> Canvas:
    canvas = Canvas(SIDE)
    for p in named(things).values():
        canvas.dot(p, "blue")
    canvas.names(named(things).items())
    return canvas


def _guess(things: Things, rng: Rng) -> Words:
    names = list(named(things))
    return tuple(rng.sample(names, 3 + rng.below(len(names) - 2)))


@register("world", "HullPoints", domain="geometry", engine="geometry")
def hull_points() -> AskWorld:
    """Name the corners of the convex hull of 5 to 21 points."""
    facts = Facts(
        name="HullPoints",
        rules=RULES,
        answer="Name all corners of the hull, in any order.",
        example="A B C D",
        ceilings={"random": 0.03, "constant": 0.02, "first": 0.02, "blind": 0.05},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="name", unordered=True),
        lexicon=("point", *LETTERS, *grid_words(SIDE)),
        paint=_paint,
        guess=_guess,
        side=SIDE,
    )
