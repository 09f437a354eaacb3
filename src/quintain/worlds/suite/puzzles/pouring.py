"""WaterSort and JugMeasure: pour water from vessel to vessel."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.slide.jugs import Jugs
from quintain.worlds.engines.slide.pose import SAYINGS, Pose, PoseGame
from quintain.worlds.engines.slide.tubes import Tubes
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

TUBES = """Numbered tubes hold layers of coloured water. Pour until every tube is empty or full of one colour. You may pour from one tube
into another if that one has room and is empty or has the same colour on top. All of the colour on top flows, as far as there is
room. A line shows a tube from its bottom to its top: letters are colours (r red, g green, b light blue, y yellow, p pink, n navy,
k brown, m mint), a dot is room for one more layer."""
JUGS = """Jugs without marks, named by letters; each holds so many litres. Get exactly the asked amount into the asked jug. `pour a b` pours
from a into b until a is empty or b is full. Where there is a tap, `fill a` fills a jug to the brim and `empty a` empties it; without one
you can only pour. A line such as a: 3 of 8 says that jug a holds 3 litres now and 8 when full. In a picture a green mark shows the goal."""


@register("world", "WaterSort", domain="puzzles", engine="slide")
def water_sort() -> TurnWorld[Pose]:
    """Pour coloured water from tube to tube, like onto like, until every tube holds one colour."""
    facts = Facts(
        name="WaterSort",
        rules=TUBES,
        answer="The tube to pour from and the tube to pour into, as in 2 4.",
        example="2 4",
        ceilings={"random": 0.06, "constant": 0.01, "first": 0.01, "blind": 0.02},
        sayings=SAYINGS,
    )
    table = (
        *((3, 3, 1, 4), (3, 4, 1, 6), (4, 4, 2, 9), (4, 5, 2, 12), (5, 5, 2, 15)),
        *((6, 5, 2, 15), (7, 5, 2, 18), (7, 6, 2, 22), (8, 6, 2, 25), (8, 7, 2, 30)),
    )
    levels = levels_of(("colors", "size", "empty", "low"), table)
    return TurnWorld(facts=facts, levels=levels, game=PoseGame(Tubes(), "2 4"), schema=Pose)


@register("world", "JugMeasure", domain="puzzles", engine="slide")
def jug_measure() -> TurnWorld[Pose]:
    """Measure an amount of water with jugs that have no marks; the oracle knows a shortest way from anywhere."""
    facts = Facts(
        name="JugMeasure",
        rules=JUGS,
        answer="One of: pour and two jugs, as in pour a b; fill and a jug; empty and a jug.",
        example="pour a b",
        ceilings={"random": 0.03, "constant": 0.01, "first": 0.01, "blind": 0.15},
        sayings=SAYINGS,
    )
    table = (
        *((2, 7, 1, 2, 3), (2, 9, 1, 4, 5), (3, 10, 0, 5, 6), (3, 11, 0, 6, 7), (3, 12, 0, 8, 9)),
        *((3, 20, 0, 9, 10), (3, 20, 0, 10, 11), (3, 22, 0, 11, 13), (3, 24, 0, 12, 15), (3, 28, 0, 15, 20)),
    )
    levels = levels_of(("jugs", "most", "tap", "low", "high"), table)
    return TurnWorld(facts=facts, levels=levels, game=PoseGame(Jugs(), "pour a b"), schema=Pose)
