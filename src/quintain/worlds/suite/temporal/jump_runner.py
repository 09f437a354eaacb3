"""JumpRunner: run, jump and gather coins on the way to the flag."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.arcade.loop import SAYINGS, Frame, arcade
from quintain.worlds.engines.arcade.runner import Runner
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """You run a course from left to right, seen from the side, to the flag. Each turn you first go one cell left or right,
if no ground is in the way, or stay in your column; then you rise or fall by one cell. A jump, which needs ground
right below you at the start of the turn, rises one cell in this turn and one in the next; `rise` tells how much is
left, nothing once ground above you, or the upper edge of the map, has stopped you. If you do not rise and there is no
ground below you, you fall. You can steer in the air. A coin is gathered when a turn of yours ends on it. Walkers pace
a level stretch of ground from end to end, one cell per turn, after you, but never enter the first two columns or the
last column of the course. You lose in the water, or where a walker stands or steps. Gather all coins, then end a turn
on the flag, before the turns are used up; without all coins the flag does nothing.
Map: P you, # ground, ~ water, o coin, F flag, > and < walkers and where they go next, X you when lost, . air. Counters:
turns left, coins still to be gathered, rise."""

# width, height, gaps per 100 pieces, widest gap, highest ground, blocks in the air per 100 columns, coins, walkers, turns to spare
TABLE = (
    (9, 7, 40, 1, 1, 0, 1, 0, 3),
    (10, 7, 40, 2, 1, 10, 2, 0, 3),
    (11, 8, 40, 2, 1, 15, 3, 0, 3),
    (12, 8, 40, 2, 2, 20, 4, 0, 3),
    (13, 8, 35, 2, 2, 20, 4, 1, 3),
    (14, 8, 35, 3, 2, 20, 5, 1, 3),
    (15, 8, 35, 3, 2, 20, 6, 1, 3),
    (16, 9, 30, 3, 2, 20, 7, 1, 3),
    (17, 9, 30, 3, 3, 20, 8, 2, 3),
    (18, 10, 30, 3, 3, 20, 10, 2, 3),
)
KNOBS = ("width", "height", "gaps", "gap", "high", "blocks", "coins", "walkers", "slack")


@register("world", "JumpRunner", domain="temporal", engine="arcade")
def jump_runner() -> TurnWorld[Frame]:
    """Gather one to ten coins on a course of gaps, steps and walkers and reach the flag; the oracle searches from coin to coin."""
    facts = Facts(
        name="JumpRunner",
        rules=RULES,
        answer="One of: wait, left, right, jump, jump-left, jump-right.",
        example="jump-right",
        ceilings={"random": 0.02, "constant": 0.02, "first": 0.01, "blind": 0.06},
        sayings=SAYINGS | {"lost": "You fell into the water or met a walker."},
    )
    return arcade(facts, levels_of(KNOBS, TABLE), Runner())
