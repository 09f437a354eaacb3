"""KeyDoor: fetch the key, pass the door, reach the goal."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.grid.board import layout_of
from quintain.worlds.engines.grid.layouts import rooms
from quintain.worlds.engines.grid.walk import ANSWER, SAYINGS, WalkWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """You walk over a map to reach the goal, one cell a turn. A locked door bars the way: walk onto its key first,
then into the door, which opens. Each key opens one door; all of them are needed to get through.
Map: P you, G goal, # wall, . floor, a b c keys, A B C the doors that they open, ' an open door, p you in one."""

KNOBS = ("size", "doors", "walls", "low", "high", "slack", "turns")
TABLE = (
    (4, 1, 0, 5, 9, 0, 12),
    (4, 1, 2, 5, 9, 0, 12),
    (5, 1, 2, 5, 12, 0, 16),
    (6, 1, 5, 7, 16, 0, 20),
    (7, 1, 9, 9, 20, 0, 25),
    (8, 1, 14, 11, 24, 1, 30),
    (8, 2, 8, 16, 30, 1, 38),
    (10, 2, 16, 20, 40, 2, 50),
    (12, 3, 20, 28, 52, 3, 64),
    (14, 3, 32, 36, 66, 4, 80),
)


@register("world", "KeyDoor", domain="spatial", engine="grid")
def key_door() -> WalkWorld:
    """Fetch keys, open doors, reach the goal. Level 2 is the 5x5 board of the quick start: one key, two loose walls."""
    facts = Facts(
        name="KeyDoor",
        rules=RULES,
        answer=ANSWER,
        example="up",
        ceilings={"random": 0.02, "constant": 0.0, "first": 0.0, "blind": 0.03},
        sayings=SAYINGS,
    )
    levels = levels_of(KNOBS, TABLE, straight=0.05)
    return WalkWorld(facts=facts, levels=levels, make=rooms, layout=layout_of)
