"""ColourFlood: flood a board from its corner until it has one colour."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.grid.flood import SAYINGS, Flood, FloodGame
from quintain.worlds.engines.grid.hues import LEGEND
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = f"""A square board of coloured cells. The flood is all cells that cells of the same colour join to the upper left
corner, side by side. A move names a colour: the whole flood takes it, and so swallows all cells of that colour beside it; it must be
another one than the flood has. You win when the whole board has one colour, before your moves are used up.
Board: {LEGEND}."""

# side, colours, moves of a good search at least, moves beyond those
TABLE = (
    *((3, 3, 3, 1), (4, 3, 4, 1), (5, 3, 5, 0), (5, 4, 6, 0), (6, 4, 7, 0)),
    *((7, 4, 8, 0), (7, 5, 10, 0), (8, 5, 12, 0), (9, 6, 14, 0), (11, 6, 17, 0)),
)


@register("world", "ColourFlood", domain="puzzles", engine="grid")
def colour_flood() -> TurnWorld[Flood]:
    """Flood a board of three to six colours from its corner in as few moves as a search that keeps 40 floods needs."""
    facts = Facts(
        name="ColourFlood",
        rules=RULES,
        answer="Name a colour, as in blue.",
        example="blue",
        ceilings={"random": 0.03, "constant": 0.01, "first": 0.02, "blind": 0.06},
        sayings=SAYINGS,
    )
    levels = levels_of(("side", "colours", "low", "spare"), TABLE)
    return TurnWorld(facts=facts, levels=levels, game=FloodGame(), schema=Flood)
