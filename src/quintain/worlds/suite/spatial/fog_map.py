"""FogMap: explore a map of which only the cells around you can be seen."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.grid.board import FLOOR, GOAL, WALL
from quintain.worlds.engines.grid.fog import UNKNOWN, Fog, FogRules
from quintain.worlds.engines.grid.maps import SAYINGS, Frame, MapGame, world
from quintain.worlds.engines.grid.walk import ANSWER
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of
from quintain.worlds.scene import Run

RULES = """You walk through rooms to find a goal, one cell a turn. You see only the cells around you, as many rows and columns far
as is said below the map, through walls too; what you have seen stays on the map.
Map: P you, G goal, # wall, . floor, ? not yet seen."""
KNOBS = ("size", "across", "walls", "open", "radius", "low", "extra", "high")
# side, rooms in a row, loose walls, chance of a gap, cells seen, least steps of the way, least steps of exploring beyond, most
TABLE = (
    (5, 2, 0, 0.8, 1, 3, 1, 14),
    (6, 2, 1, 0.8, 1, 4, 2, 18),
    (7, 2, 2, 0.8, 1, 5, 4, 24),
    (8, 2, 3, 0.8, 1, 6, 6, 32),
    (9, 3, 4, 0.8, 1, 8, 8, 42),
    (10, 3, 5, 0.8, 1, 9, 12, 54),
    (12, 3, 9, 0.8, 1, 11, 17, 70),
    (14, 4, 10, 0.8, 2, 13, 22, 84),
    (16, 4, 14, 0.8, 2, 15, 32, 110),
    (18, 4, 20, 0.8, 2, 18, 42, 140),
)


def _told(state: Fog) -> Frame:
    """How far one sees, above the map."""
    wide = state.board.width
    text = FogRules().lines(state)[0].partition(";")[0]
    return 0.0, 0.08 * wide, (Run(text=text, x=wide / 2, y=0.04 * wide, size=0.06 * wide),)


@register("world", "FogMap", domain="spatial", engine="grid")
def fog_map() -> TurnWorld[Fog]:
    """Explore rooms of which you see only the cells around you until you find the goal; boards of 5 to 18 cells a side."""
    facts = Facts(
        name="FogMap",
        rules=RULES,
        answer=ANSWER,
        example="up",
        proof="policy",
        floor=0.95,
        ceilings={"random": 0.05, "constant": 0.02, "first": 0.02, "blind": 0.16},
        sayings=SAYINGS,
    )
    look = {FLOOR: "floor", WALL: "wall", GOAL: "floor+goal", UNKNOWN: "fog"}
    game = MapGame(rules=FogRules(), tiles=look, nouns={GOAL: "the goal"}, frame=_told, veiled=True)
    return world(facts, levels_of(KNOBS, TABLE), game, Fog)
