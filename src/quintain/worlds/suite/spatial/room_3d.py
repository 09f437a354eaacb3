"""Room3D: find a thing in a room that is seen from within."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.raycast.roam import ANSWER, LEGEND, SAYINGS, RoamWorld
from quintain.worlds.engines.raycast.rooms import room
from quintain.worlds.kernel import Facts, levels_of

ROOM = f"""You stand in a room and look for one thing, told below the picture; step into its cell. All other things are in the way.
{LEGEND}"""
KNOBS = ("size", "pillars", "others", "kinds", "least", "most")


@register("world", "Room3D", domain="spatial", engine="raycast")
def room_3d() -> RoamWorld:
    """Find a thing in a room, seen from within; rooms grow from 4 to 13 cells, pillars and other things come."""
    facts = Facts(
        name="Room3D",
        rules=ROOM,
        answer=ANSWER,
        example="forward",
        ceilings={"random": 0.1, "constant": 0.02, "first": 0.02, "blind": 0.12},
        sayings=SAYINGS,
    )
    table = (
        *((4, 1, 0, 3, 2, 9), (5, 2, 1, 4, 3, 11), (6, 4, 1, 6, 4, 13), (7, 6, 2, 6, 5, 16), (8, 9, 2, 9, 7, 20)),
        *(
            (9, 13, 3, 12, 9, 24),
            (10, 17, 3, 12, 11, 30),
            (11, 22, 4, 15, 13, 36),
            (12, 28, 5, 18, 16, 44),
            (13, 36, 6, 18, 20, 54),
        ),
    )
    return RoamWorld(
        facts=facts, task="reach", levels=levels_of(KNOBS, table), make=room, kinds=lambda knobs: range(knobs["kinds"])
    )
