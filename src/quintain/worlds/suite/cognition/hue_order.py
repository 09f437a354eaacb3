"""HueOrder: swap tiles until their colours run smoothly between the fixed corners."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from quintain.registry import register
from quintain.worlds.art import tiles
from quintain.worlds.cells import labelled
from quintain.worlds.engines.geometry.shades import HUES, SHADES, shade
from quintain.worlds.engines.geometry.swap import Board, SwapWorld, Tiles
from quintain.worlds.kernel import Facts, levels_of
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Scene

RULES = """Tiles should run smoothly: along each row the hue changes in one direction only, along each column the shade does,
all tiles of a column have one hue and all of a row one shade. The tiles with a dot are fixed and lie where they belong. Each
turn two other tiles change places. `b3 h7s2` is a tile of hue 7 and shade 2 in column b, row 3; `fixed` follows where a tile is
fixed. Hues go round a wheel of 24."""
TABLE = (
    (3, 3, 2, 3),
    (3, 3, 3, 3),
    (4, 3, 4, 3),
    (4, 4, 5, 2),
    (4, 4, 7, 2),
    (5, 4, 9, 2),
    (5, 4, 11, 1),
    (5, 5, 13, 1),
    (6, 5, 17, 1),
    (6, 6, 22, 1),
)
LEVELS = levels_of("width height swaps gap", TABLE)

tiles({shade(h, s): (Box(x=0, y=0, width=1, height=1, fill=shade(h, s)),) for h in range(HUES) for s in range(SHADES)})
tiles({"hue-fixed": (Disc(x=0.5, y=0.5, radius=0.1, fill="ink"),)})


def _make(rng: Rng, knobs: Mapping[str, Any]) -> Board | None:
    wide, high, gap = knobs["width"], knobs["height"], knobs["gap"]
    first, way, stretch = rng.below(HUES), rng.pick((1, -1)), gap + rng.below(2)
    hues = [(first + way * stretch * i) % HUES for i in range(wide)]
    lights = sorted(rng.sample(range(SHADES), high), reverse=bool(rng.below(2)))
    goal = tuple(shade(h, s) for s in lights for h in hues)
    return Board(wide, high, (0, wide - 1, wide * (high - 1), wide * high - 1), goal)


def _right(state: Tiles) -> bool:
    """Whether each column has one hue, each row one shade, and both run in one direction; corners are fixed and tell it."""
    wide, pieces = state.board.width, [p[1:].split("s") for p in state.pieces]
    hues, lights = [int(p[0]) for p in pieces], [int(p[1]) for p in pieces]
    if any(h != hues[i % wide] or s != lights[i - i % wide] for i, (h, s) in enumerate(zip(hues, lights, strict=True))):
        return False
    column = lights[::wide]
    steps = [(b - a) % HUES for a, b in itertools.pairwise(hues[:wide])]
    return column in (sorted(column), sorted(column, reverse=True)) and (
        sum(steps) < HUES or sum(HUES - s for s in steps) < HUES
    )


def _paint(state: Tiles) -> Scene:
    fixed = state.board.fixed
    cells = [f"{p}+hue-fixed" if i in fixed else p for i, p in enumerate(state.pieces)]
    return labelled(cells, state.board.width)


@register("world", "HueOrder", domain="cognition", engine="geometry")
def hue_order() -> SwapWorld:
    """Swap coloured tiles until hue and shade run smoothly; 9 to 36 tiles, 2 to 22 swaps."""
    facts = Facts(
        name="HueOrder",
        rules=RULES,
        answer="Name two tiles that are to change places.",
        example="b1 b2",
        proof="solver",
        ceilings={"random": 0.02, "constant": 0.01, "first": 0.01, "blind": 0.02},
        sayings={"illegal": "A tile that is fixed, or no tile, lies there; the turn is spent."},
    )
    lexicon = [shade(h, s) for h in range(HUES) for s in range(SHADES)]
    return SwapWorld(facts=facts, levels=LEVELS, make=_make, right=_right, paint=_paint, lexicon=lexicon)
