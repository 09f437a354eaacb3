"""InvaderRow: shoot the invaders before they land."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.arcade.invaders import Invaders
from quintain.worlds.engines.arcade.loop import SAYINGS, Frame, arcade
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """A block of invaders marches over the board and comes down. You steer a gun along the bottom row: left or right by one
cell, wait, or shoot, which does nothing while a shot of yours is still in the air or when you have none left. Each turn
first you act. Then the shot, a new one from the cell of the gun, flies up cell by cell, three cells; the first invader it
meets is hit, and both are gone. Then, if it is time, all invaders step one cell to the left or right at once, as `march`
says; if one of them is at that edge already, all step down one row instead, and march the other way from then on. An
invader that steps onto the shot is hit as well. `march left-2-of-3`: the next step is to the left, in the second turn from
now (1: in this turn), and after it every third turn; the filled dots in the picture are the turns from now.
You lose if an invader reaches the bottom row. Shoot all invaders before the turns are used up.
Map: P gun, M invader, ' shot, X gun when lost, . free. Counters: turns left, march, shots left."""

# width, height, columns and rows of the block, invaders, turns from march to march, shots to spare
TABLE = (
    (6, 7, 3, 2, 2, 2, 2),
    (7, 7, 4, 2, 3, 2, 2),
    (7, 8, 4, 2, 4, 2, 2),
    (8, 9, 5, 2, 5, 2, 2),
    (9, 9, 6, 2, 6, 2, 1),
    (10, 10, 6, 3, 7, 2, 1),
    (10, 11, 6, 3, 8, 1, 1),
    (11, 12, 7, 3, 9, 1, 1),
    (12, 13, 7, 3, 11, 1, 1),
    (13, 14, 7, 3, 13, 1, 1),
)
KNOBS = ("width", "height", "across", "down", "goal", "pace", "spare")


@register("world", "InvaderRow", domain="temporal", engine="arcade")
def invader_row() -> TurnWorld[Frame]:
    """Shoot two to thirteen invaders before they land; the oracle foresees every march and searches from hit to hit."""
    facts = Facts(
        name="InvaderRow",
        rules=RULES,
        answer="One of: wait, left, right, shoot.",
        example="shoot",
        ceilings={"random": 0.04, "constant": 0.08, "first": 0.01, "blind": 0.06},
        sayings=SAYINGS | {"lost": "An invader has landed."},
    )
    return arcade(facts, levels_of(KNOBS, TABLE), Invaders())
