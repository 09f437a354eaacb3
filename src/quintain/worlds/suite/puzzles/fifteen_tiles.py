"""FifteenTiles: slide the tiles into order."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.slide.tiles import ANSWER, SAYINGS, TileWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """Numbered tiles fill a board but for one gap. A turn slides a tile that is next to the gap into it: `up` moves
the tile below the gap up, `left` moves the tile right of the gap to the left. You win when the numbers stand in order,
row by row from the upper left, with the gap in the last place.
Board: numbers are tiles, . is the gap."""

# width, height, slides from the goal at least and at most, least sum of the distances from home
TABLE = (
    (3, 3, 4, 8, 2),
    (3, 3, 8, 12, 5),
    (3, 3, 12, 18, 8),
    (3, 3, 20, 30, 11),
    (3, 3, 36, 46, 14),
    (4, 3, 36, 46, 17),
    (4, 4, 40, 48, 20),
    (4, 4, 50, 62, 24),
    (4, 4, 70, 90, 30),
    (4, 4, 150, 220, 34),
)
KNOBS = ("width", "height", "low", "high", "far")


@register("world", "FifteenTiles", domain="puzzles", engine="slide")
def fifteen_tiles() -> TileWorld:
    """Slide tiles into order: eight of them on 3x3 cells up to level 4, fifteen on 4x4 from level 6."""
    facts = Facts(
        name="FifteenTiles",
        rules=RULES,
        answer=ANSWER,
        example="up",
        ceilings={"random": 0.01, "constant": 0.0, "first": 0.0, "blind": 0.01},
        sayings=SAYINGS,
    )
    return TileWorld(facts=facts, levels=levels_of(KNOBS, TABLE))
