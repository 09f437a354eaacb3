"""BrickBounce: strike bricks with a ball that a paddle keeps in play."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.arcade.bricks import Bricks
from quintain.worlds.engines.arcade.loop import SAYINGS, Frame, arcade
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """You move a paddle, three cells wide, along the bottom row: left, right or wait, one cell per turn. First it
moves, then the ball flies as many ticks as `speed` says. In a tick the ball goes one cell on, straight or diagonally; side
walls and the top turn it back. If the cell ahead is a brick, the ball strikes it, the brick is gone, and the ball stays in
its cell and turns back up or down. If the cell ahead is the paddle's, the ball stays in its cell and turns up: to the left
from the paddle's left cell, straight from its middle, to the right from its right cell. If the cell ahead is elsewhere in
the bottom row, the ball is lost. Strike as many bricks as you still need before the turns are used up.
Map: O ball, B brick, [=] paddle, . free. Counters: turns left, bricks needed, speed, where the ball flies."""

# width, height, rows of bricks, bricks per 100 cells, ticks per turn, bricks to strike, turns at most
TABLE = (
    (8, 7, 1, 60, 1, 1, 40),
    (8, 7, 2, 70, 1, 2, 60),
    (8, 8, 2, 80, 1, 3, 80),
    (9, 8, 2, 90, 2, 6, 80),
    (9, 9, 2, 90, 2, 7, 100),
    (9, 9, 3, 80, 2, 9, 120),
    (10, 10, 3, 80, 2, 10, 140),
    (10, 10, 3, 90, 2, 12, 160),
    (11, 11, 4, 80, 2, 15, 200),
    (11, 12, 4, 90, 2, 18, 240),
)
KNOBS = ("width", "height", "rows", "dense", "ticks", "goal", "high")


@register("world", "BrickBounce", domain="temporal", engine="arcade")
def brick_bounce() -> TurnWorld[Frame]:
    """Strike one to eighteen bricks; the oracle foresees every flight and searches from meeting to meeting."""
    facts = Facts(
        name="BrickBounce",
        rules=RULES,
        answer="One of: wait, left, right.",
        example="left",
        ceilings={"random": 0.06, "constant": 0.05, "first": 0.05, "blind": 0.06},
        sayings=SAYINGS | {"lost": "The ball went past your paddle."},
    )
    return arcade(facts, levels_of(KNOBS, TABLE), Bricks())
