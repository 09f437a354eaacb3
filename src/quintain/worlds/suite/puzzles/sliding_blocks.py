"""RushHour and Klotski: slide blocks about until one of them can leave the yard."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.slide.blocks import Blocks
from quintain.worlds.engines.slide.pose import SAYINGS, Pose, PoseGame
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

CARS = """A yard with parked cars, each one cell wide and named by a letter. A car slides along its own length only, over free
cells, never through another car. Bring the red car, a, to the right end of its row, where the exit is. A turn slides one car by
one cell or by several. Map: a letter on each cell of that car, . a free cell, > the exit, behind the last cell of its row."""
BLOCKS = """A tray with wooden blocks of one to four cells, each named by a letter. A block slides up, down, left or right over free
cells, never through another one, and is not turned. Bring the large red block, a, of 2 x 2 cells, to the lowest rows right above the
exit in the lower rim. A turn slides one block in a straight line by one cell or by several. Map: a letter on each cell of that
block, . a free cell; the last line is the rim: # wall, v the exit."""
ANSWER = "A {}, a direction and how many cells it slides, as in b left 2; without a number it slides by one."
CARS_KNOBS = ("width", "height", "cars", "low", "high", "nodes")
BLOCKS_KNOBS = ("width", "height", "singles", "doubles", "low", "high")


@register("world", "RushHour", domain="puzzles", engine="slide")
def rush_hour() -> TurnWorld[Pose]:
    """Slide parked cars along their lines until the red one can leave; the oracle knows a shortest way from anywhere."""
    facts = Facts(
        name="RushHour",
        rules=CARS,
        answer=ANSWER.format("car"),
        example="b left 2",
        ceilings={"random": 0.05, "constant": 0.01, "first": 0.01, "blind": 0.02},
        sayings=SAYINGS,
    )
    table = (
        *((5, 5, 5, 2, 2, 400), (5, 5, 5, 3, 3, 400), (5, 5, 6, 4, 4, 300), (5, 5, 7, 5, 5, 300), (5, 5, 7, 6, 6, 300)),
        *(
            (5, 5, 8, 6, 8, 300),
            (5, 5, 8, 8, 9, 600),
            (5, 5, 8, 8, 10, 600),
            (5, 5, 8, 10, 14, 600),
            (6, 5, 11, 11, 30, 1000),
        ),
    )
    return TurnWorld(
        facts=facts, levels=levels_of(CARS_KNOBS, table), game=PoseGame(Blocks(cars=True), "b left 2"), schema=Pose
    )


@register("world", "Klotski", domain="puzzles", engine="slide")
def klotski() -> TurnWorld[Pose]:
    """Slide wooden blocks in a tray until the large one reaches the exit; the oracle knows a shortest way from anywhere."""
    facts = Facts(
        name="Klotski",
        rules=BLOCKS,
        answer=ANSWER.format("block"),
        example="b left 2",
        ceilings={"random": 0.05, "constant": 0.01, "first": 0.01, "blind": 0.02},
        sayings=SAYINGS,
    )
    table = (
        *((3, 4, 2, 2, 2, 3), (3, 5, 3, 2, 4, 5), (3, 5, 3, 2, 6, 8), (4, 4, 3, 3, 6, 8), (4, 4, 3, 3, 8, 11)),
        *((4, 4, 4, 3, 8, 16), (4, 4, 4, 3, 12, 18), (4, 4, 4, 3, 15, 22), (4, 4, 4, 3, 20, 30), (4, 4, 4, 3, 26, 60)),
    )
    return TurnWorld(
        facts=facts, levels=levels_of(BLOCKS_KNOBS, table), game=PoseGame(Blocks(cars=False), "b left 2"), schema=Pose
    )
