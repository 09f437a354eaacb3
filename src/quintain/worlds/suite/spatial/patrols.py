"""Ways past things that move: guards who look ahead, and blocks that hit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quintain.registry import register
from quintain.worlds.engines.grid.board import GOAL
from quintain.worlds.engines.grid.maps import ARROWS, SAYINGS, MapGame, world
from quintain.worlds.engines.grid.patrol import ANSWER, LINES, LIT, LIT_LINES, Patrol, PatrolRules
from quintain.worlds.engines.grid.patrol_look import BLOCKS, GUARDS
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

MOVE = """You walk to the goal, one cell a turn, or wait. After each step or wait of yours {things} move one cell along their
tracks, to and fro; at the end of its track a {thing} has turned round and goes back the same way. Their arrows show where
they go next. You cannot step into a wall, off the map or onto a cell where a {thing} stands: that takes a turn in which
nothing moves."""
GUARD = f"""{MOVE.format(things="all guards", thing="guard")} A guard sees the cell it stands on and up to 3 cells straight ahead, to the
first wall; whoever is in sight when the guards have moved has lost. Stepping onto the goal wins at once.
Map: P you, G goal, # wall, . floor, ^ v < > guards, - and | their tracks, + cells in sight, = and ! tracks in sight;
below the map what you stand on, if it is not plain floor."""
BLOCK = f"""{MOVE.format(things="all blocks", thing="block")} Whoever stands where a block moves to is hit and has lost. Stepping
onto the goal wins at once.
Map: P you, G goal, # wall, . floor, ^ v < > blocks, - and | their tracks; below the map what you stand on, if it is not
plain floor."""

SEEN = {
    LIT: "in sight",
    LIT_LINES[LINES[True]]: "tracks up and down in sight",
    LIT_LINES[LINES[False]]: "tracks left and right in sight",
}


def _world(
    facts: Facts, table: Sequence[Sequence[int]], sight: int, tiles: Mapping[str, str], thing: str
) -> TurnWorld[Patrol]:
    ways = zip(ARROWS, ("up", "down", "left", "right"), strict=True)
    nouns = {GOAL: "the goal"} | {sign: f"{thing} going {way}" for sign, way in ways} | (SEEN if sight else {})
    nouns |= {LINES[True]: "tracks up and down", LINES[False]: "tracks left and right"}
    game = MapGame(rules=PatrolRules(sight), tiles=tiles, nouns=nouns)
    return world(facts, levels_of(("size", "walls", "movers", "low", "high"), table), game, Patrol)


@register("world", "PatrolGuard", domain="spatial", engine="grid")
def patrol_guard() -> TurnWorld[Patrol]:
    """Slip past 1 to 10 guards, who walk to and fro and look ahead, to the goal; whoever is seen has lost."""
    facts = Facts(
        name="PatrolGuard",
        rules=GUARD,
        answer=ANSWER,
        example="wait",
        ceilings={"random": 0.02, "constant": 0.02, "first": 0.02, "blind": 0.04},
        sayings=SAYINGS | {"caught": "A guard has seen you."},
    )
    table = (
        *((5, 2, 1, 4, 9), (6, 3, 1, 6, 12), (7, 4, 2, 7, 14), (8, 6, 2, 9, 17), (9, 9, 3, 11, 20)),
        *((10, 12, 4, 13, 23), (11, 16, 5, 15, 26), (12, 20, 6, 17, 30), (14, 30, 8, 21, 36), (16, 42, 10, 26, 44)),
    )
    return _world(facts, table, 3, GUARDS, "guard")


@register("world", "MovingWalls", domain="spatial", engine="grid")
def moving_walls() -> TurnWorld[Patrol]:
    """Reach the goal between 1 to 16 blocks that slide to and fro; whoever is hit has lost."""
    facts = Facts(
        name="MovingWalls",
        rules=BLOCK,
        answer=ANSWER,
        example="wait",
        ceilings={"random": 0.02, "constant": 0.02, "first": 0.02, "blind": 0.04},
        sayings=SAYINGS | {"caught": "A block has hit you."},
    )
    table = (
        *((5, 2, 1, 4, 9), (6, 4, 2, 6, 12), (7, 6, 3, 7, 14), (8, 9, 4, 9, 17), (9, 12, 5, 11, 20)),
        *((10, 16, 7, 13, 23), (11, 20, 8, 15, 26), (12, 25, 10, 17, 30), (14, 36, 13, 21, 36), (16, 50, 16, 26, 44)),
    )
    return _world(facts, table, 0, BLOCKS, "block")
