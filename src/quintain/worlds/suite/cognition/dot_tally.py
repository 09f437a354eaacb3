"""DotTally: count marks by colour and shape among many others."""

from __future__ import annotations

from collections.abc import Mapping

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import PARTIAL, SAYINGS, AskWorld
from quintain.worlds.engines.geometry.canvas import Canvas
from quintain.worlds.engines.geometry.exact import scattered
from quintain.worlds.engines.geometry.figure import Things, Words, grid_words, number_words, of, spot, word
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box

RULES = (
    """Discs, squares and triangles of several colours are strewn about. Count those that are asked for, each question by itself:
`count gold disc` asks for the gold discs, `count gold any` for all gold marks, `count any disc` for all discs.
A line `disc gold (3,5)` is a gold disc at x=3, y=5."""
    + PARTIAL
)
SIDE = 22
SHAPES = ("disc", "square", "triangle")
COLORS = ("gold", "blue", "brick", "green", "plum", "sky")
FILLS = {
    **dict(zip(COLORS, COLORS, strict=True)),
    "green": "forest",
}  # colour-blind eyes tell it from plum by its shade
HEADS = {w + s: w for w in (*SHAPES, *COLORS) for s in ("", "s")} | dict.fromkeys(("any", "all", "marks"), "")
LEVELS = [
    {"marks": n, "colors": k, "asked": q}
    for n, k, q in (
        (6, 2, 2),
        (9, 2, 2),
        (12, 3, 3),
        (15, 3, 3),
        (19, 3, 3),
        (23, 4, 4),
        (26, 4, 4),
        (29, 5, 4),
        (32, 5, 5),
        (36, 6, 5),
    )
]


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    spots = scattered(rng, knobs["marks"], SIDE, 7, 1)
    if not spots:
        return None
    colors = rng.sample(COLORS, knobs["colors"])
    marks = [(rng.pick(SHAPES), rng.pick(colors), word(*p)) for p in spots]
    kinds = [(c, s) for c in colors for s in SHAPES] + [(c, "any") for c in colors] + [("any", s) for s in SHAPES]
    return *marks, *(("count", *kind) for kind in rng.sample(kinds, knobs["asked"]))


def _found(things: Things) -> list[list[str]]:
    """The places of the marks that each question asks for."""
    marks = [t for t in things if t[0] != "count"]
    return [[m[2] for m in marks if c in ("any", m[1]) and s in ("any", m[0])] for c, s in of(things, "count")]


def _truth(things: Things) -> Words:
    return tuple(str(len(places)) for places in _found(things))


def _why(things: Things) -> str:
    asked = zip(of(things, "count"), _found(things), strict=True)
    return " ".join([f"{' '.join(kind)}: {' '.join(at) or 'none'}, {len(at)}." for kind, at in asked])


def _paint(things: Things) -> Canvas:
    asked = [
        f"{i}: {'all ' if 'any' in t else ''}{' '.join(w for w in t if w != 'any')}"
        for i, t in enumerate(of(things, "count"), 1)
    ]
    canvas = Canvas(SIDE, axes=False, top=0.5 + 0.4 * ((len(asked) + 1) // 2))
    for i, text in enumerate(asked):
        canvas.put(text, 2.2 + 3.7 * (i % 2), 0.34 + 0.4 * (i // 2), 0.34, "slate")
    r = 1.15
    for shape, color, at in (t for t in things if t[0] != "count"):
        (x, y), fill = spot(at), FILLS[color]
        if shape == "disc":
            canvas.circle((x, y), r, fill=fill, line="ink", thick=0.03)
        elif shape == "square":
            canvas.polygon([(x - 1, y - 1), (x + 1, y - 1), (x + 1, y + 1), (x - 1, y + 1)], fill, "ink", 0.03)
        else:
            canvas.polygon([(x - r, y - 1), (x + r, y - 1), (x, y + r)], fill, "ink", 0.03)
    named = {word for thing in things for word in thing}
    for i, color in enumerate([color for color in COLORS if color in named]):
        canvas.shapes.append(Box(x=0.2 + 1.3 * i, y=7.44, width=0.3, height=0.3, fill=FILLS[color], line="ink"))
        canvas.put(color, 0.95 + 1.3 * i, 7.6, 0.3, "slate")
    return canvas


def _guess(things: Things, rng: Rng) -> Words:
    return tuple(str(rng.below(max(len(things) // 3, 2))) for _ in of(things, "count"))


@register("world", "DotTally", domain="cognition", engine="geometry")
def dot_tally() -> AskWorld:
    """Count 2 to 5 kinds of marks among 6 to 36 of several shapes and colours."""
    facts = Facts(
        name="DotTally",
        rules=RULES,
        answer="Write the counts in the order in which they are asked for.",
        example="3 2 4",
        ceilings={"random": 0.05, "constant": 0.06, "first": 0.06, "blind": 0.08},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="number", heads=HEADS),
        labels=lambda things: tuple([" ".join(sorted({*kind} - {"any"})) for kind in of(things, "count")]),
        lexicon=("count", "any", *SHAPES, *COLORS, *number_words(60), *grid_words(SIDE)),
        paint=_paint,
        guess=_guess,
        side=SIDE,
        near=True,
    )
