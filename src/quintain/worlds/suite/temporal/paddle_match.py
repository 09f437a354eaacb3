"""PaddleMatch: paddle and ball between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.arcade.loop import Frame
from quintain.worlds.engines.arcade.versus import Versus
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players have a paddle each, three cells wide; each sees its own at the bottom of the court and the other's at the
top. They move by turns, the 1st and then the 2nd: left, right or wait, one cell (left and right as each sees them, which is the
same for both). When both have moved, the ball flies as many ticks as `speed` says. In a tick it goes one cell on, straight or
diagonally; side walls turn it back. If the cell ahead is a paddle's, the ball stays in its cell and turns back: to the left
from the paddle's left cell, straight from its middle, to the right from its right cell. If the cell ahead is elsewhere in
the row of a paddle, the other player has a point, and a new ball starts in the middle row, in a column and a direction that
nobody can foretell. Who first has the points needed wins (reward 1); if the turns, of both together, are used up before, the match
is a draw (reward 0.5 each).
Map: O ball, [=] your paddle, (-) the other's, . free. Counters: turns left, points you need, points your opponent needs, speed,
where the ball flies, whether yours is the 1st or the 2nd move."""

# width, height, ticks per turn, points
TABLE = (
    (9, 7, 1, 1),
    (9, 9, 1, 1),
    (9, 9, 1, 2),
    (11, 9, 2, 2),
    (11, 11, 2, 2),
    (11, 11, 2, 3),
    (13, 11, 2, 4),
    (13, 13, 2, 4),
    (13, 13, 2, 5),
    (13, 13, 3, 6),
)
KNOBS = ("width", "height", "ticks", "goal")
SAID = {"won": "You won the match.", "lost": "Your opponent won the match.", "late": "The turns are used up: a draw."}


@register("world", "PaddleMatch", domain="temporal", engine="arcade")
def paddle_match() -> TurnWorld[Frame]:
    """Win one to six points with paddle and ball against a second seat; the oracle goes where the ball will be and aims it away."""
    facts = Facts(
        name="PaddleMatch",
        rules=RULES,
        answer="One of: wait, left, right.",
        example="left",
        seats=("first", "second"),
        proof="policy",
        floor=0.9,
        ceilings={"random": 0.58, "constant": 0.6, "first": 0.6, "blind": 0.6},
        sayings=SAID,
    )
    return TurnWorld(facts=facts, levels=levels_of(KNOBS, TABLE), game=Versus(), schema=Frame)
