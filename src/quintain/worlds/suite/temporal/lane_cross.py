"""LaneCross: cross lanes of traffic."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.arcade.lanes import Lanes
from quintain.worlds.engines.arcade.loop import SAYINGS, Frame, arcade
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """You cross a road from the bottom row to a home in the top row, one step or one wait per turn. First you step, then
all cars drive. The note of a lane (the chevrons in the picture) tells its direction and how many cells its cars drive
per turn; a car that leaves at one end comes in at the other. You lose if a car is on your cell after your step, or
drives onto or over it. On a bank you are safe; hedges stop you. Reach a home before the turns are used up.
Map: P you, H home, # hedge, > and < cars, X you when hit, . free."""

# width, lanes, lanes between banks, top speed, cars per 12 cells, homes, moves (least, most), turns to spare
TABLE = (
    (7, 1, 0, 1, 3, 2, 3, 8, 3),
    (7, 2, 0, 1, 4, 2, 4, 10, 3),
    (8, 3, 0, 1, 4, 1, 6, 12, 3),
    (9, 4, 0, 2, 4, 1, 7, 14, 3),
    (10, 5, 3, 2, 4, 1, 9, 18, 3),
    (11, 6, 3, 2, 4, 1, 11, 22, 3),
    (12, 7, 4, 3, 4, 1, 13, 26, 3),
    (13, 8, 4, 3, 4, 1, 15, 30, 2),
    (14, 9, 5, 3, 4, 1, 17, 36, 2),
    (15, 11, 4, 3, 4, 1, 20, 44, 2),
)
KNOBS = ("width", "lanes", "middle", "speed", "cars", "homes", "low", "high", "slack")


@register("world", "LaneCross", domain="temporal", engine="arcade")
def lane_cross() -> TurnWorld[Frame]:
    """Cross one to eleven lanes of traffic; the oracle searches over place and time, so its plan is the shortest."""
    facts = Facts(
        name="LaneCross",
        rules=RULES,
        answer="One of: wait, up, down, left, right.",
        example="up",
        ceilings={"random": 0.02, "constant": 0.0, "first": 0.0, "blind": 0.03},
        sayings=SAYINGS | {"lost": "A car hit you."},
    )
    return arcade(facts, levels_of(KNOBS, TABLE), Lanes())
