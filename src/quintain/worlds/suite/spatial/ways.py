"""Ways to a goal: four rooms, lava, chains of rooms, portals and belts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quintain.registry import register
from quintain.worlds.engines.grid.board import FLOOR, GOAL, OPEN, WALL
from quintain.worlds.engines.grid.floorplan import conveyor_floor as lay_belts
from quintain.worlds.engines.grid.floorplan import four_rooms as build_four
from quintain.worlds.engines.grid.floorplan import lava_gap as pour_lava
from quintain.worlds.engines.grid.floorplan import multi_room as build_chain
from quintain.worlds.engines.grid.floorplan import teleport_hall as build_hall
from quintain.worlds.engines.grid.maps import SAYINGS, MapGame, world
from quintain.worlds.engines.grid.sights import BELTS
from quintain.worlds.engines.grid.walk import ANSWER
from quintain.worlds.engines.grid.ways import LAVA, PORTALS, SHUT, Way, WayRules
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of
from quintain.worlds.noise import Rng

FOUR = """You walk through four rooms to reach the goal, one cell a turn. The walls between the rooms have gaps.
Map: P you, G goal, # wall, . floor."""
GAP = """You walk to the goal, one cell a turn. Strips of lava lie across the way, each with one gap, and beside them there
may be single cells of lava; whoever steps into lava has lost.
Map: P you, G goal, L lava, . floor."""
CHAIN = """You walk through a chain of rooms to reach the goal in the last one, one cell a turn. Between two rooms there is a
shut door: a step into it opens it and leaves you where you are; the next step can lead through.
Map: P you, G goal, # wall, . floor, D a shut door, ' an open door; below the map the one in which you stand."""
HALL = """You walk to the goal, one cell a turn. The rooms have no doors; portals join them. Each letter marks the two ends of
one portal: a step onto one end puts you onto the other at once. To go back, step off and onto it again.
Map: P you, G goal, # wall, . floor, a b c and so on the portals; below the map the one on which you stand."""
BELT = """You walk to the goal. Belts carry you: after a step onto a belt you move on in the way its arrow points, from belt
to belt, until you are off the belts or a wall or the edge of the map stops you; all that takes one turn. From a belt on
which you were stopped you can step any way. A step after which you would end where you stand is not possible; if no step is
possible, you have lost.
Map: P you, G goal, # wall, . floor, ^ v < > belts; below the map the belt on which you stand."""
EVENTS = {
    "opened": "The door is open now.",
    "burned": "You stepped into lava.",
    "stuck": "No step leads off this belt.",
    "carried": "You were carried on.",
}
TILES = {FLOOR: "floor", WALL: "wall", GOAL: "floor+goal"}
NOUNS = {GOAL: "the goal"}
Make = Callable[[Rng, Mapping[str, Any]], Way | None]


def _world(
    facts: Facts,
    table: Sequence[Sequence[int]],
    knobs: str,
    make: Make,
    tiles: Mapping[str, str],
    nouns: Mapping[str, str],
    aside: str = "player",
) -> TurnWorld[Way]:
    game = MapGame(rules=WayRules(make), tiles={**TILES, **tiles}, nouns={**NOUNS, **nouns}, aside=aside)
    return world(facts, levels_of(knobs.split(), table), game, Way)


def _facts(name: str, rules: str, ceilings: Sequence[float], illegal: str = SAYINGS["illegal"]) -> Facts:
    kinds = ("random", "constant", "first", "blind")
    return Facts(
        name=name,
        rules=rules,
        answer=ANSWER,
        example="up",
        ceilings=dict(zip(kinds, ceilings, strict=True)),
        sayings=EVENTS | {"illegal": illegal},
    )


@register("world", "FourRooms", domain="spatial", engine="grid")
def four_rooms() -> TurnWorld[Way]:
    """Walk through gaps in the walls between four rooms to the goal; boards of 5 to 19 cells a side, with loose walls."""
    table = (
        *((5, 0, 4, 10), (6, 0, 5, 12), (7, 1, 7, 14), (8, 2, 8, 17), (9, 4, 10, 20)),
        *((11, 7, 12, 24), (13, 12, 15, 28), (15, 18, 18, 34), (17, 26, 22, 40), (19, 36, 26, 48)),
    )
    facts = _facts("FourRooms", FOUR, (0.02, 0.02, 0.02, 0.04))
    return _world(facts, table, "size walls low high", build_four, {}, {})


@register("world", "LavaGap", domain="spatial", engine="grid")
def lava_gap() -> TurnWorld[Way]:
    """Reach the goal through the gaps in 1 to 5 strips of lava; a step into lava ends the episode."""
    table = (
        *((4, 1, 0, 3, 8), (5, 1, 0, 4, 10), (6, 1, 2, 5, 12), (7, 2, 2, 8, 16), (8, 2, 4, 10, 20)),
        *((9, 2, 8, 11, 23), (10, 3, 9, 14, 28), (12, 3, 14, 17, 34), (14, 4, 18, 21, 42), (16, 5, 20, 26, 54)),
    )
    facts = _facts("LavaGap", GAP, (0.02, 0.02, 0.02, 0.04))
    return _world(facts, table, "size strips spots low high", pour_lava, {LAVA: "lava"}, {})


@register("world", "MultiRoom", domain="spatial", engine="grid")
def multi_room() -> TurnWorld[Way]:
    """Open the doors of a winding chain of 2 to 12 rooms to reach the goal in the last one."""
    table = (
        *((5, 2, 2, 4, 10), (6, 2, 3, 7, 16), (6, 2, 4, 9, 20), (8, 2, 4, 12, 26), (9, 3, 5, 15, 30)),
        *((10, 3, 6, 19, 36), (11, 3, 7, 23, 44), (12, 3, 8, 28, 54), (15, 4, 10, 36, 70), (17, 4, 12, 46, 90)),
    )
    facts = _facts("MultiRoom", CHAIN, (0.02, 0.02, 0.02, 0.02))
    nouns = {SHUT: "shut doors", OPEN: "open doors"}
    return _world(
        facts, table, "size across rooms low high", build_chain, {SHUT: "shut", OPEN: "floor+door-open"}, nouns
    )


@register("world", "TeleportHall", domain="spatial", engine="grid")
def teleport_hall() -> TurnWorld[Way]:
    """Find the way from room to room through paired portals to the goal; 2 to 9 rooms, up to 11 portals."""
    table = (
        *((5, 2, 1, 0, 3, 9), (6, 2, 1, 1, 4, 11), (7, 2, 2, 0, 6, 14), (8, 2, 2, 1, 8, 17), (9, 2, 2, 2, 10, 20)),
        *(
            (10, 3, 2, 2, 12, 23),
            (12, 3, 2, 2, 13, 27),
            (12, 3, 3, 3, 14, 30),
            (14, 3, 3, 3, 16, 34),
            (16, 3, 3, 3, 19, 40),
        ),
    )
    facts = _facts("TeleportHall", HALL, (0.02, 0.02, 0.02, 0.02))
    portals = {sign: f"floor+portal-{i}" for i, sign in enumerate(PORTALS)}
    nouns = {sign: f"portal {sign}" for sign in PORTALS}
    return _world(facts, table, "size across down extra low high", build_hall, portals, nouns, "player-corner")


@register("world", "ConveyorFloor", domain="spatial", engine="grid")
def conveyor_floor() -> TurnWorld[Way]:
    """Reach the goal over a floor of belts that carry you on; boards of 4 to 16 cells a side, half of them belts."""
    table = (
        *((4, 2, 0, 2, 6), (5, 3, 1, 3, 7), (6, 5, 1, 4, 9), (7, 8, 2, 5, 10), (8, 11, 4, 6, 12)),
        *((9, 14, 6, 8, 14), (10, 18, 9, 9, 16), (12, 26, 14, 11, 19), (14, 36, 20, 13, 23), (16, 48, 28, 16, 30)),
    )
    barred = "Something is in the way, or you would end where you stand."
    facts = _facts("ConveyorFloor", BELT, (0.05, 0.03, 0.03, 0.06), barred)
    nouns = dict(zip(BELTS, ("belts up", "belts down", "belts left", "belts right"), strict=True))
    return _world(facts, table, "size belts walls low high", lay_belts, BELTS, nouns)
