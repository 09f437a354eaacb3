"""SkyDodge: dodge rocks and catch stars."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.arcade.loop import SAYINGS, Frame, arcade
from quintain.worlds.engines.arcade.sky import Sky
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """You fly a ship along the bottom row: left, right or wait, one cell per turn. First you move, then everything
above falls, each thing at its own speed: 1, 2 or 3 cells per turn (strokes in the picture). What reaches the bottom row
in a turn, or would fall past it, lands there and is gone. A rock that lands on your ship ends the game; a star that lands
on it is caught. New things enter at the top. Catch the stars you still need before the turns are used up.
Map: P you, 1 2 3 rocks and a b c stars of speed 1, 2 and 3, X you when hit, . free."""

# width, height, top speed, things per 100 columns and turns, stars among 100 things, stars to catch, moves (least, most)
TABLE = (
    (5, 6, 1, 14, 40, 1, 2, 20),
    (5, 7, 1, 18, 34, 2, 4, 30),
    (6, 7, 2, 20, 28, 3, 7, 40),
    (6, 8, 2, 22, 25, 4, 9, 50),
    (7, 8, 2, 24, 22, 5, 12, 60),
    (7, 9, 3, 24, 21, 6, 15, 70),
    (8, 9, 3, 26, 20, 7, 18, 80),
    (8, 10, 3, 28, 19, 8, 21, 90),
    (9, 11, 3, 29, 18, 9, 24, 100),
    (10, 12, 3, 30, 18, 10, 27, 110),
)
KNOBS = ("width", "height", "speed", "dense", "stars", "goal", "low", "high")


@register("world", "SkyDodge", domain="temporal", engine="arcade", foresees=True)
def sky_dodge() -> TurnWorld[Frame]:
    """Dodge rocks and catch one to ten stars; the oracle knows what is still to come and searches over place and time."""
    facts = Facts(
        name="SkyDodge",
        rules=RULES,
        answer="One of: wait, left, right.",
        example="wait",
        ceilings={"random": 0.04, "constant": 0.03, "first": 0.03, "blind": 0.06},
        sayings=SAYINGS | {"lost": "A rock hit you."},
    )
    return arcade(facts, levels_of(KNOBS, TABLE), Sky())
