"""PaddleDuel: get the ball past an opponent's paddle."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.arcade.duel import Duel
from quintain.worlds.engines.arcade.loop import SAYINGS, Frame, arcade
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """You move a paddle, three cells wide, along the bottom row: left, right or wait, one cell per turn. The opponent's
paddle is as wide and moves along the top row. Each turn first your paddle moves, then the opponent's: one cell
towards the column of the ball (where the ball is at the start of the turn) if the ball flies up, else one cell
towards the middle of the court (of two middle columns the right one). Then the ball flies as many ticks as `speed`
says. In a tick it goes one cell on, straight or diagonally; side walls turn it back. If the cell ahead is a paddle's,
the ball stays in its cell and turns back: to the left from the paddle's left cell, straight from its middle, to the
right from its right cell. If the cell ahead is elsewhere in the top row, you have a point, and a new ball enters in
the second row, in a column that nobody can foretell, flying down aslant in the next turn. If it is elsewhere in the
bottom row, you have lost. Make as many points as you still need before the turns are used up.
Map: O ball, [=] your paddle, (-) the opponent's, . free. Counters: turns left, points needed, speed, where the ball flies."""

# width, height, ticks per turn, points
TABLE = (
    (11, 8, 2, 1),
    (11, 9, 2, 1),
    (11, 9, 2, 2),
    (11, 10, 2, 2),
    (11, 10, 2, 3),
    (13, 11, 2, 3),
    (13, 11, 2, 4),
    (13, 12, 2, 5),
    (13, 12, 2, 6),
    (12, 13, 3, 9),
)
KNOBS = ("width", "height", "ticks", "goal")


@register("world", "PaddleDuel", domain="temporal", engine="arcade", foresees=True)
def paddle_duel() -> TurnWorld[Frame]:
    """Get the ball past an opponent's paddle one to nine times and never miss it; the oracle searches from meeting to meeting."""
    facts = Facts(
        name="PaddleDuel",
        rules=RULES,
        answer="One of: wait, left, right.",
        example="left",
        ceilings={"random": 0.03, "constant": 0.03, "first": 0.03, "blind": 0.06},
        sayings=SAYINGS | {"lost": "The ball went past your paddle."},
    )
    return arcade(facts, levels_of(KNOBS, TABLE), Duel())
