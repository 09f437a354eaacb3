"""PackBoxes and Tangram: turn and place pieces until they fill a box or a silhouette."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quintain.registry import register
from quintain.worlds.engines.geometry.fit import SAYINGS, FitGame
from quintain.worlds.engines.geometry.pieces import Cells, Fit
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of
from quintain.worlds.noise import Rng

TURNS = """ Each turn puts one piece on the board or takes one back (take B), as it must be before it is put elsewhere. `B c2 90`
turns piece B to the right by 90 degrees from how it lies beside the board, and puts the upper left corner of the frame around it on the
cell in column c, row 2; no number means that it is not turned."""
PACK = f"""Fill the box with all the rectangles, so that none overlap and nothing stays free.{TURNS} Rectangles are turned by 90 or not
at all. In text, # is a cell; a grid shows what is still free, then follows each rectangle, its rows parted by /, and what is placed."""
FILL = f"""Fill the silhouette with all the pieces, so that none overlap, nothing stays free and nothing sticks out.{TURNS} Pieces may be
turned by 90, 180 or 270, but not turned over. They are made of squares and halves of squares. In text, # is a square, ◤ ◥ ◣ ◢ are
halves, . is nothing; a grid shows what is still free, then follows each piece, its rows parted by /, and what is placed."""
# pieces, side of the box
BOXES = ((3, 4), (4, 5), (5, 5), (6, 6), (6, 7), (7, 7), (8, 7), (9, 8), (10, 8), (11, 9))
# pieces, side of the board, half squares of a piece at least and at most
SHAPES = (
    (3, 4, 3, 4),
    (4, 4, 3, 4),
    (4, 4, 3, 6),
    (5, 5, 3, 6),
    (5, 5, 4, 7),
    (6, 5, 4, 7),
    (6, 6, 4, 8),
    (7, 6, 4, 8),
    (8, 6, 4, 8),
    (9, 7, 4, 8),
)


def _cut(rng: Rng, knobs: Mapping[str, Any]) -> list[Cells] | None:
    """A box cut into rectangles, always a largest one of some."""
    side = knobs["side"]
    parts = [(0, 0, side - rng.below(2), side - rng.below(3) % side)]
    while len(parts) < knobs["pieces"]:
        x, y, w, h = max(rng.sample(parts, min(2, len(parts))), key=lambda p: p[2] * p[3])
        if w * h < 4:
            return None
        parts.remove((x, y, w, h))
        if w > h or (w == h and rng.below(2)):
            at = 1 + rng.below(w - 1)
            parts += [(x, y, at, h), (x + at, y, w - at, h)]
        else:
            at = 1 + rng.below(h - 1)
            parts += [(x, y, w, at), (x, y + at, w, h - at)]
    if (
        sum(w * h == 1 for _, _, w, h in parts) > 1
        or len({(min(p[2:]), max(p[2:])) for p in parts}) < len(parts) * 2 // 3
    ):
        return None
    return [tuple([(x + i, y + j, 15) for j in range(h) for i in range(w)]) for x, y, w, h in parts]


def _beside(half: tuple[int, int, int], halves: set[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """The halves that share a side with one."""
    x, y, part = half
    out = [(x, y, 15 ^ part)]
    for bit, dx, dy in ((1, 0, -1), (2, 1, 0), (4, 0, 1), (8, -1, 0)):
        if part & bit:
            other = (bit << 2 | bit >> 2) & 15
            out += [h for p in (9, 3, 6, 12) if p & other and (h := (x + dx, y + dy, p)) in halves]
    return out


def _grown(rng: Rng, knobs: Mapping[str, Any]) -> list[Cells] | None:
    """Pieces grown side by side from half squares, each square of the board halved one way or the other."""
    side = knobs["side"]
    free: set[tuple[int, int, int]] = set()
    for y in range(side):
        for x in range(side):
            free |= {(x, y, p) for p in ((9, 6) if rng.below(2) else (3, 12))}
    every, parts, rim = set(free), [], [rng.pick(sorted(free))]
    for _ in range(knobs["pieces"]):
        rim = [h for h in rim if h in free]
        if not rim:
            return None
        piece, size = [rng.pick(rim)], knobs["least"] + rng.below(knobs["most"] - knobs["least"] + 1)
        free.remove(piece[0])
        while len(piece) < size:
            more = sorted({h for one in piece for h in _beside(one, every) if h in free})
            if not more:
                return None
            # what lies within a square that was begun comes first, so that pieces are not too ragged
            whole = [h for h in more if (h[0], h[1], 15 ^ h[2]) in piece]
            piece.append(rng.pick(whole if whole and rng.below(2) else more))
            free.remove(piece[-1])
        rim += [h for one in piece for h in _beside(one, every)]
        cells: dict[tuple[int, int], int] = {}
        for x, y, p in piece:
            cells[x, y] = cells.get((x, y), 0) | p
        parts.append(tuple([(x, y, p) for (x, y), p in cells.items()]))
    return parts


def _world(
    name: str, rules: str, game: FitGame, levels: list[dict[str, Any]], example: str, ceilings: tuple[float, ...]
) -> TurnWorld[Fit]:
    facts = Facts(
        name=name,
        rules=rules,
        answer="A piece, a cell and if need be its turn, as in B c2 90; or take and a piece.",
        example=example,
        ceilings=dict(zip(("random", "constant", "first", "blind"), ceilings, strict=True)),
        sayings=SAYINGS,
    )
    return TurnWorld(facts=facts, levels=levels, game=game, schema=Fit)


@register("world", "PackBoxes", domain="geometry", engine="geometry")
def pack_boxes() -> TurnWorld[Fit]:
    """Pack 3 to 11 rectangles into a box that they fill exactly."""
    levels = levels_of(("pieces", "side"), BOXES)
    return _world("PackBoxes", PACK, FitGame(_cut, 2, "Box"), levels, "B a1 90", (0.05, 0.02, 0.05, 0.03))


@register("world", "Tangram", domain="geometry", engine="geometry")
def tangram() -> TurnWorld[Fit]:
    """Fill a silhouette with 3 to 9 pieces made of squares and half squares."""
    levels = levels_of(("pieces", "side", "least", "most"), SHAPES)
    return _world("Tangram", FILL, FitGame(_grown, 4, "Silhouette"), levels, "B a1 180", (0.05, 0.02, 0.05, 0.03))
