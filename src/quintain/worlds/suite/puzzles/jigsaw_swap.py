"""JigsawSwap: a picture of ribbons, cut in squares and mixed up; swap and turn the pieces until the ribbons join."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from quintain.registry import register
from quintain.worlds.art import tiles
from quintain.worlds.cells import labelled
from quintain.worlds.engines.geometry.swap import Board, SwapWorld, Tiles
from quintain.worlds.engines.grid.hues import mark
from quintain.worlds.kernel import Facts, levels_of
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Polygon, Scene, Shape

RULES = """A picture of coloured ribbons was cut into square pieces, and they lie mixed up. It is whole again when every ribbon that
reaches the side of a piece goes on in the same colour in the next piece, and none ends at the border of the picture; any way to do
that counts. Each turn two pieces change places. `b3 r-gb` is the piece in column b, row 3: the colours of its ribbons at its upper,
right, lower and left side, r red, g green, b blue, y yellow, - none."""
TURNS = " A piece may also be turned in place, to the right by a quarter: turn b3."
SIGNS = {"r": "brick", "g": "green", "b": "blue", "y": "gold"}
MARKED = ((0.5, 0.2), (0.8, 0.5), (0.5, 0.8), (0.2, 0.5))  # where ribbons bear the marks of their colours
ENDS = ((0.5, 0.0), (1.0, 0.5), (0.5, 1.0), (0.0, 0.5))
TABLE = (
    (2, 2, 2, 0),
    (3, 2, 3, 0),
    (3, 3, 4, 0),
    (3, 3, 6, 0),
    (4, 3, 8, 0),
    (4, 4, 9, 0),
    (4, 4, 9, 2),
    (4, 4, 11, 4),
    (5, 4, 13, 5),
    (5, 5, 16, 6),
)
LEVELS = levels_of("width height swaps turned", TABLE)
PIECES = tuple("".join(p) for p in itertools.product("rgby-", repeat=4))


def _art(piece: str) -> tuple[Shape, ...]:
    """A piece: a ribbon from the middle to each side that has one."""
    ground = (
        Box(x=0, y=0, width=1, height=1, fill="cloud"),
        Box(x=0.015, y=0.015, width=0.97, height=0.97, fill="white"),
    )
    ribbons = [
        Polygon(points=((0.5, 0.5), end), line=SIGNS[sign], thick=0.3, closed=False)
        for sign, end in zip(piece, ENDS, strict=True)
        if sign != "-"
    ]
    marks = [mark(sign, *at, 0.6) for sign, at in zip(piece, MARKED, strict=True) if sign != "-"]
    knot = (Disc(x=0.5, y=0.5, radius=0.17, fill="slate"),) if ribbons else ()
    return (*ground, *ribbons, *marks, *knot)


tiles({f"ribbon-{piece}": _art(piece) for piece in PIECES})


def _make(rng: Rng, knobs: Mapping[str, Any]) -> Board | None:
    wide, high = knobs["width"], knobs["height"]
    side = {}
    for y, x in itertools.product(range(high), range(wide)):
        side[y, x, 1] = rng.pick("rgby-") if x < wide - 1 else "-"
        side[y, x, 2] = rng.pick("rgby-") if y < high - 1 else "-"
    goal = tuple(
        (side[y - 1, x, 2] if y else "-") + side[y, x, 1] + side[y, x, 2] + (side[y, x - 1, 1] if x else "-")
        for y, x in itertools.product(range(high), range(wide))
    )
    return Board(wide, high, (), goal) if "----" not in goal and len(set(goal)) == len(goal) else None


def _right(state: Tiles) -> bool:
    """Whether all ribbons go on and none ends at the border."""
    wide, pieces = state.board.width, state.pieces
    for i, piece in enumerate(pieces):
        right = pieces[i + 1][3] if (i + 1) % wide else "-"
        below = pieces[i + wide][0] if i + wide < len(pieces) else "-"
        if (
            piece[1] != right
            or piece[2] != below
            or (i < wide and piece[0] != "-")
            or (i % wide == 0 and piece[3] != "-")
        ):
            return False
    return True


def _turned(piece: str) -> str:
    return piece[3] + piece[:3]


def _paint(state: Tiles) -> Scene:
    return labelled([f"ribbon-{p}" for p in state.pieces], state.board.width)


@register("world", "JigsawSwap", domain="puzzles", engine="geometry")
def jigsaw_swap() -> SwapWorld:
    """Put a cut picture of ribbons together by swaps and, from level 6, turns of 4 to 25 pieces."""
    facts = Facts(
        name="JigsawSwap",
        rules=RULES + TURNS,
        answer="Name two pieces that are to change places, or turn and a piece.",
        example="a1 b2",
        proof="construction",
        ceilings={"random": 0.03, "constant": 0.01, "first": 0.01, "blind": 0.03},
        sayings={"illegal": "There is no such piece; nothing changed."},
    )
    return SwapWorld(facts=facts, levels=LEVELS, make=_make, right=_right, paint=_paint, lexicon=PIECES, turned=_turned)
