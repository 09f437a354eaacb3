"""Occluded: in which order overlapping shapes were laid down."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import PARTIAL, SAYINGS, AskWorld
from quintain.worlds.engines.geometry.canvas import Canvas
from quintain.worlds.engines.geometry.figure import LETTERS, Things, Words, grid_words, number_words, of, spot, word
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng
from quintain.worlds.palette import ink_on

RULES = (
    """Shapes were laid on a table one after the other, each over those that lay there. Name them in that order, the lowest
first. Any two neighbours in the order overlap, and it can be seen which one covers the other; so there is only one such order.
A line `disc A (3,5) 4` is a disc round x=3, y=5 with radius 4, `square A (3,5) 4` reaches 4 to each side of its middle,
`diamond A (3,5) 4` to each corner; `cover B A` says that B lies over A, where this can be seen."""
    + PARTIAL
)
SIDE = 24
FINE = 4  # places for a letter in the width of a cell
FILLS = ("sky", "gold", "brick", "green", "plum", "sand", "blue", "mint", "cloud", "amber")
SHAPES = ("disc", "square", "diamond")
LEVELS = [{"shapes": n} for n in (3, 4, 5, 5, 6, 6, 7, 8, 9, 10)]
Laid = tuple[str, int, int, int]


@functools.lru_cache(maxsize=4096)
def _cells(shape: Laid) -> int:
    """The cells of the table whose middles lie well within a shape, as bits."""
    kind, cx, cy, r = shape
    bits = 0
    for y in range(max(cy - r, 0), min(cy + r, SIDE)):
        for x in range(max(cx - r, 0), min(cx + r, SIDE)):
            dx, dy = abs(2 * (x - cx) + 1), abs(2 * (y - cy) + 1)
            if kind == "square" or (dx * dx + dy * dy <= 4 * r * r if kind == "disc" else dx + dy <= 2 * r):
                bits |= 1 << y * SIDE + x
    return bits


def _seen(order: Sequence[Laid]) -> list[tuple[int, int]] | None:
    """The pairs (upper, lower) of shapes whose overlap is in sight; None if it is too little to tell for neighbours."""
    areas, over, pairs = [_cells(s) for s in order], 0, []
    for j in range(len(order) - 1, -1, -1):
        if (areas[j] & ~over).bit_count() < 14:
            return None  # nearly hidden
        for i in range(j):
            shared = (areas[i] & areas[j] & ~over).bit_count()
            if shared >= 5:
                pairs.append((j, i))
            if (i == j - 1 and shared < 8) or areas[i] & ~areas[j] == 0:
                return None
        over |= areas[j]
    return pairs


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    order: list[Laid] = []
    for _ in range(knobs["shapes"] * 25):
        r = 4 + rng.below(3)
        at = (order[-1][1], order[-1][2]) if order else (12, 12)
        x, y = (min(max(c + rng.below(2 * r + 3) - r - 1, r), SIDE - r) for c in at)
        trial = [*order, (rng.pick(SHAPES), x, y, r)]
        if _seen(trial) is not None:
            order = trial
            if len(order) == knobs["shapes"]:
                break
    pairs = _seen(order) if len(order) == knobs["shapes"] else None
    if pairs is None:
        return None
    names = rng.sample(LETTERS[: len(order)], len(order))
    shapes = sorted((kind, n, word(x, y), str(r)) for (kind, x, y, r), n in zip(order, names, strict=True))
    return *shapes, *sorted(("cover", names[j], names[i]) for j, i in pairs)


def _truth(things: Things) -> Words:
    pairs = of(things, "cover")
    left, out = sorted(t[1] for t in things if t[0] != "cover"), []
    while left:
        name = next(n for n in left if not any(up == n and low in left for up, low in pairs))
        out.append(name)
        left.remove(name)
    return tuple(out)


def _why(things: Things) -> str:
    over = {n: [low for up, low in of(things, "cover") if up == n] for n in _truth(things)}
    told = ", ".join([f"{n} covers {' '.join(lows) or 'nothing'}" for n, lows in over.items()])
    return f"The next is always the one that covers no other that is left: {told}. Each covers the one before it: no other order fits."


def _paint(things: Things) -> Canvas:
    canvas = Canvas(SIDE, axes=False)
    laid = {t[1]: (t[0], *spot(t[2]), int(t[3])) for t in things if t[0] != "cover"}
    order = _truth(things)
    for name in order:
        kind, x, y, r = laid[name]
        fill = FILLS[LETTERS.index(name)]
        if kind == "disc":
            canvas.circle((x, y), r, fill, "ink", 0.05)
        elif kind == "square":
            canvas.polygon([(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)], fill, "ink", 0.05)
        else:
            canvas.polygon([(x - r, y), (x, y - r), (x + r, y), (x, y + r)], fill, "ink", 0.05)
    for name, at in _clearings([laid[n] for n in order], order):
        canvas.text(name, at, 0.44, ink_on(FILLS[LETTERS.index(name)]))
    return canvas


def _clearings(shapes: Sequence[Laid], names: Words) -> Iterator[tuple[str, tuple[float, float]]]:
    """Names, each with the place farthest from its shape's outline and from all that lies over it; of equals, the most central."""
    y, x = np.ogrid[0 : SIDE * FINE + 1, 0 : SIDE * FINE + 1]
    x, y = (x / FINE).astype(np.float32), (y / FINE).astype(np.float32)
    free = np.full((y.size, x.size), SIDE, np.float32)
    for name, (kind, cx, cy, r) in zip(reversed(names), reversed(shapes), strict=True):
        dx, dy = abs(x - cx), abs(y - cy)
        away = np.hypot(dx, dy)
        depth = (
            r - (away if kind == "disc" else np.maximum(dx, dy)) if kind != "diamond" else (r - dx - dy) / math.sqrt(2)
        )
        row, column = divmod(int(np.argmax(np.minimum(depth, free) - away / 1000)), x.size)
        yield name, (column / FINE, row / FINE)
        free = np.minimum(free, -depth)


def _guess(things: Things, rng: Rng) -> Words:
    names = [t[1] for t in things if t[0] != "cover"]
    return tuple(rng.sample(names, len(names)))


@register("world", "Occluded", domain="cognition", engine="geometry")
def occluded() -> AskWorld:
    """Name 3 to 10 overlapping shapes in the order in which they were laid down."""
    facts = Facts(
        name="Occluded",
        rules=RULES,
        answer="Name all shapes, the lowest first.",
        example="B A C D",
        ceilings={"random": 0.06, "constant": 0.03, "first": 0.03, "blind": 0.08},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="name"),
        lexicon=("cover", *SHAPES, *LETTERS, *number_words(SIDE), *grid_words(SIDE)),
        paint=_paint,
        guess=_guess,
        side=SIDE,
        near=True,
    )
