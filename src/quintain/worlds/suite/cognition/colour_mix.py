"""ColourMix: which two paints give a mixture."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import PARTIAL, SAYINGS, AskWorld
from quintain.worlds.engines.geometry.figure import LETTERS, Things, Words, number_words, of
from quintain.worlds.engines.geometry.shades import mixture
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Run, Scene, Shape

RULES = (
    """Each target is an even mixture of two different paints: its red, green and blue are the means of theirs. Name the two paints of
each target, target by target. `paint A 8 0 4` is a paint with 8 parts of red, none of green, 4 of blue, on a scale from 0 to 8;
`target 1 6 2 4` is the first target."""
    + PARTIAL
)
LEVELS = [
    {"paints": n, "targets": k, "gap": g}
    for n, k, g in (
        (3, 1, 3),
        (4, 1, 3),
        (5, 1, 3),
        (6, 1, 3),
        (6, 2, 2),
        (7, 2, 2),
        (8, 2, 2),
        (9, 2, 1),
        (9, 3, 1),
        (10, 3, 1),
    )
]
Mix = tuple[int, int, int]


def _mixes(paints: Mapping[str, Mix]) -> dict[tuple[str, str], Mix]:
    """Twice the mean of every two paints."""
    pairs = itertools.combinations(paints, 2)
    return {(a, b): tuple(x + y for x, y in zip(paints[a], paints[b], strict=True)) for a, b in pairs}  # pyrefly: ignore


def _far(a: Sequence[int], b: Sequence[int]) -> int:
    return max(abs(x - y) for x, y in zip(a, b, strict=True))


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    paints: dict[str, Mix] = {}
    for _ in range(200):
        mix = 2 * rng.below(5), 2 * rng.below(5), 2 * rng.below(5)
        if len(paints) < knobs["paints"] and all(_far(mix, p) > 2 for p in paints.values()):
            paints[LETTERS[len(paints)]] = mix
    mixes = _mixes(paints)
    clear = [
        pair
        for pair, mix in mixes.items()
        if all(_far(mix, other) > knobs["gap"] for two, other in mixes.items() if two != pair)
        and all(_far(mix, [2 * v for v in p]) > 2 for p in paints.values())
    ]
    if len(paints) < knobs["paints"] or len(clear) < knobs["targets"]:
        return None
    targets = [tuple(str(v // 2) for v in mixes[pair]) for pair in rng.sample(clear, knobs["targets"])]
    named = (("paint", name, *(str(v) for v in mix)) for name, mix in paints.items())
    return *named, *(("target", str(i), *target) for i, target in enumerate(targets, 1))


@functools.lru_cache(maxsize=4096)
def _truth(things: Things) -> Words:
    paints = {name: (int(r), int(g), int(b)) for name, r, g, b in of(things, "paint")}
    names = {mix: pair for pair, mix in _mixes(paints).items()}
    return tuple(name for _, r, g, b in of(things, "target") for name in names[2 * int(r), 2 * int(g), 2 * int(b)])


def _why(things: Things) -> str:
    paints = {name: [int(v) for v in mix] for name, *mix in of(things, "paint")}
    out, pairs = [], _truth(things)
    for i, (number, *mix) in enumerate(of(things, "target")):
        tried = []
        for name, paint in paints.items():
            rest = [2 * int(v) - p for v, p in zip(mix, paint, strict=True)]
            tried.append(f"less {name} leaves {' '.join(map(str, rest))}")
            if name == pairs[2 * i]:
                break
        out.append(
            f"Target {number} twice: {' '.join(str(2 * int(v)) for v in mix)}; {', no paint; '.join(tried)}, {pairs[2 * i + 1]}."
        )
    return " ".join(out)


def _paint(things: Things) -> Scene:
    shapes: list[Shape] = []
    for i, (name, r, g, b) in enumerate(of(things, "paint")):
        x, y = 1.0 + 1.5 * (i % 5), 1.0 + 1.9 * (i // 5)
        shapes.append(Disc(x=x, y=y, radius=0.6, fill=mixture(int(r), int(g), int(b)), line="slate", thick=0.03))
        shapes.append(Run(text=name, x=x, y=y + 0.87, size=0.42, color="ink"))
    for i, (name, r, g, b) in enumerate(of(things, "target")):
        x = 1.1 + 2.4 * i
        shapes.append(
            Box(
                x=x,
                y=4.9,
                width=1.7,
                height=1.7,
                fill=mixture(int(r), int(g), int(b)),
                line="slate",
                thick=0.03,
                radius=0.1,
            )
        )
        shapes.append(Run(text=name, x=x + 0.85, y=6.95, size=0.42, color="slate"))
    return Scene(width=8, height=8, shapes=tuple(shapes))


def _guess(things: Things, rng: Rng) -> Words:
    paints = [t[0] for t in of(things, "paint")]
    return tuple(name for _ in of(things, "target") for name in rng.sample(paints, 2))


@register("world", "ColourMix", domain="cognition", engine="geometry")
def colour_mix() -> AskWorld:
    """Name the two paints of 3 to 10 that give each of 1 to 3 mixtures."""
    facts = Facts(
        name="ColourMix",
        rules=RULES,
        answer="Name two paints for each target, target by target.",
        example="A C",
        ceilings={"random": 0.08, "constant": 0.08, "first": 0.08, "blind": 0.13},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="name", pairs=True),
        lexicon=("paint", "target", *LETTERS, *number_words(9)),
        paint=_paint,
        guess=_guess,
        near=True,
    )
