"""BlockFall: steer falling pieces and fill lines."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.arcade.blocks import Blocks
from quintain.worlds.engines.arcade.loop import SAYINGS, Frame, arcade
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """Pieces fall into a well, one at a time. Each turn you first say what the piece does: left or right moves it by
one column, turn gives it a quarter turn clockwise (the upper left corner of the box around it stays where it is), drop
lets it fall as far as it can, wait does nothing; a move or turn for which there is no room is not made. Then the piece
falls by one row. If it cannot, it comes to rest, every line of the well that is full vanishes, all above moves down,
and the next piece enters in the top row, in the middle (half a column to the left where it cannot be exact). You lose if
there is no room for it. Fill as many lines as you still need before the turns are used up.
Pieces as they enter, rows from the top: A XX; B XXX; C X. XX; I XXXX; O XX XX; T .X. XXX; S .XX XX.; Z XX. .XX; J X.. XXX;
L ..X XXX.
Map: letters the cells of the falling piece, # cells at rest, | the right wall of the well, . free. Right of the wall are
the next pieces, the first at the top. Counters: turns left, lines still needed."""

# width of the well, height, pieces, lines begun, lines to fill, next pieces shown
TABLE = (
    (4, 7, "ABC", 1, 1, 2),
    (4, 8, "ABCO", 1, 2, 2),
    (5, 9, "ABCOI", 2, 3, 2),
    (5, 10, "ACIOTL", 2, 4, 3),
    (6, 10, "ACIOTLJ", 2, 5, 3),
    (6, 11, "CIOTLJS", 2, 6, 3),
    (6, 12, "IOTLJSZ", 3, 7, 3),
    (7, 13, "IOTLJSZ", 3, 8, 3),
    (8, 14, "IOTLJSZ", 3, 9, 3),
    (8, 15, "IOTLJSZ", 4, 11, 4),
)
KNOBS = ("well", "height", "kinds", "junk", "goal", "shown")


@register("world", "BlockFall", domain="temporal", engine="arcade", foresees=True)
def block_fall() -> TurnWorld[Frame]:
    """Steer falling pieces so that one to eleven lines of the well are filled; the oracle knows all pieces and searches placements."""
    facts = Facts(
        name="BlockFall",
        rules=RULES,
        answer="One of: wait, left, right, turn, drop.",
        example="turn",
        ceilings={"random": 0.03, "constant": 0.02, "first": 0.02, "blind": 0.05},
        sayings=SAYINGS | {"lost": "There is no room for the next piece."},
    )
    return arcade(facts, levels_of(KNOBS, TABLE), Blocks())
