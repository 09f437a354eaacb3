"""Game2048: slide numbers, merge equal ones, reach the goal."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.grid.merge import SAYINGS, MergeWorld
from quintain.worlds.engines.grid.walk import ANSWER
from quintain.worlds.kernel import Facts, levels_of

RULES = """You sweep all numbers of a square board to one side. Two equal numbers that meet merge into their sum, once a
sweep. After each sweep that moved something, a 2 (or at times a 4) appears on an empty cell. Reach the goal number
before the board is stuck or your turns are used up; a sweep that moves nothing takes a turn, too.
The board shows one number per cell; . is empty."""

# side, exponent of the goal, turns
TABLE = (
    (3, 4, 16),
    (3, 5, 26),
    (3, 6, 46),
    (4, 8, 200),
    (4, 8, 170),
    (4, 9, 360),
    (4, 9, 315),
    (4, 10, 680),
    (4, 10, 620),
    (4, 11, 1300),
)


@register("world", "Game2048", domain="games", engine="grid")
def game_2048() -> MergeWorld:
    """Merge numbers up to a goal from 16 (3x3) to 2048 (4x4) in few turns; the oracle is an expectimax search."""
    facts = Facts(
        name="Game2048",
        rules=RULES,
        answer=ANSWER,
        example="left",
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.06, "constant": 0.0, "first": 0.06, "blind": 0.15},
        sayings=SAYINGS,
    )
    levels = levels_of("side goal turns", TABLE)
    return MergeWorld(facts=facts, levels=levels)
