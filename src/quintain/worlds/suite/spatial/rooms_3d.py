"""First-person rooms: obey, collect, survive, bring together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quintain.registry import register
from quintain.worlds.engines.raycast.roam import ANSWER, ANSWER_HANDS, LEGEND, SAYINGS, RoamWorld
from quintain.worlds.engines.raycast.rooms import fetch, flat, hearts, pair, signpost
from quintain.worlds.engines.raycast.things import HEART, SIGN
from quintain.worlds.kernel import Facts, levels_of

FLAT = f"""You stand in a flat and look for one thing, told below the picture; step into its cell. It is in another room. All other
things are in the way.
{LEGEND}"""
SIGNPOST = f"""A sign in the room shows one of the things in it. Step into the cell of that thing; any other ends the episode. A sign can be
read when it stands at most 3 rows ahead, farther off you see just a sign; it cannot be stepped on. Remember what it shows: nothing
else tells you.
{LEGEND}"""
FETCH = f"""Take all things of the kind told below the picture: step into their cells. All other things are in the way.
{LEGEND}"""
HEALTH = f"""Stay alive until there are no turns to go; their number is told below the picture. Each action, a bump too, takes one of your
health and one of the turns to go. To step into the cell of a heart takes it and gives 5 to 9 health, in an episode always the same,
with no upper limit; that saves you also with your last health. With no health left the episode is lost, unless that was the last
turn to go. An answer that cannot be read takes neither: the turns that you have are more than the turns to go for such answers only.
{LEGEND}"""
PAIR = f"""Put the first of the two things told below the picture beside the second, so that their cells share an edge. Take it when it is
in the cell ahead; drop it into the cell ahead when that is free. No other thing can be taken, and all
things are in the way. In the picture a ring marks what you hold.
{LEGEND}"""
KNOBS = ("size", "pillars", "others", "kinds", "least", "most")


def _plain(knobs: Mapping[str, Any]) -> Sequence[int]:
    return range(knobs["kinds"])


@register("world", "SignPost3D", domain="spatial", engine="raycast")
def sign_post_3d() -> RoamWorld:
    """Read the sign in a room and go to what it shows; 2 to 7 things to choose from."""
    facts = Facts(
        name="SignPost3D",
        rules=SIGNPOST,
        answer=ANSWER,
        example="forward",
        ceilings={"random": 0.12, "constant": 0.03, "first": 0.02, "blind": 0.2},
        sayings=SAYINGS,
    )
    table = (
        *((4, 0, 1, 3, 2, 12), (5, 0, 1, 6, 3, 15), (5, 2, 2, 6, 4, 18), (6, 3, 2, 9, 6, 22), (7, 5, 3, 9, 8, 26)),
        *(
            (8, 8, 3, 12, 10, 30),
            (9, 11, 4, 12, 13, 36),
            (10, 15, 4, 15, 16, 42),
            (11, 20, 5, 18, 19, 50),
            (12, 26, 6, 18, 23, 60),
        ),
    )
    return RoamWorld(
        facts=facts,
        task="choose",
        levels=levels_of(KNOBS, table),
        make=signpost,
        kinds=lambda knobs: (*range(knobs["kinds"]), SIGN, *(SIGN + 1 + k for k in range(knobs["kinds"]))),
    )


@register("world", "Fetch3D", domain="spatial", engine="raycast")
def fetch_3d() -> RoamWorld:
    """Collect all things of one kind in a room; 2 to 8 of them."""
    facts = Facts(
        name="Fetch3D",
        rules=FETCH,
        answer=ANSWER,
        example="forward",
        ceilings={"random": 0.06, "constant": 0.02, "first": 0.02, "blind": 0.06},
        sayings=SAYINGS,
    )
    table = (
        *(
            (4, 1, 0, 3, 2, 4, 16),
            (5, 2, 1, 6, 2, 6, 20),
            (5, 2, 1, 6, 3, 8, 26),
            (6, 4, 2, 9, 3, 10, 32),
            (7, 6, 2, 9, 4, 14, 40),
        ),
        *((8, 9, 2, 12, 4, 18, 50), (8, 9, 3, 12, 5, 22, 60), (9, 12, 3, 15, 6, 28, 72), (10, 16, 4, 18, 7, 36, 90)),
        (11, 20, 5, 18, 8, 44, 110),
    )
    levels = levels_of(("size", "pillars", "others", "kinds", "count", "least", "most"), table)
    return RoamWorld(facts=facts, task="collect", levels=levels, make=fetch, kinds=_plain)


@register("world", "ThreeRooms3D", domain="spatial", engine="raycast")
def three_rooms_3d() -> RoamWorld:
    """Find a named thing in another room of a flat; two small rooms up to four large ones, three at most levels."""
    facts = Facts(
        name="ThreeRooms3D",
        rules=FLAT,
        answer=ANSWER,
        example="forward",
        ceilings={"random": 0.06, "constant": 0.02, "first": 0.02, "blind": 0.08},
        sayings=SAYINGS,
    )
    table = (
        *((2, 3, 0, 6, 4, 14), (2, 3, 1, 6, 5, 17), (3, 3, 1, 9, 7, 21), (3, 4, 2, 9, 9, 25), (3, 4, 3, 12, 11, 30)),
        *(
            (3, 5, 4, 12, 13, 36),
            (3, 6, 5, 15, 16, 42),
            (3, 7, 6, 18, 19, 50),
            (4, 6, 7, 18, 23, 60),
            (4, 7, 8, 18, 28, 75),
        ),
    )
    levels = levels_of(("rooms", "size", "others", "kinds", "least", "most"), table)
    return RoamWorld(facts=facts, task="reach", levels=levels, make=flat, kinds=_plain)


@register("world", "HealthWalk3D", domain="spatial", engine="raycast")
def health_walk_3d() -> RoamWorld:
    """Stay alive by finding hearts: 12 up to 84 turns, with health at first for half of them down to a fifth."""
    facts = Facts(
        name="HealthWalk3D",
        rules=HEALTH,
        answer=ANSWER,
        example="forward",
        ceilings={"random": 0.08, "constant": 0.02, "first": 0.02, "blind": 0.15},
        sayings=SAYINGS,
    )
    table = (
        *((4, 1, 3, 6, 5, 12), (5, 2, 3, 7, 6, 16), (5, 2, 4, 8, 6, 22), (6, 4, 5, 9, 7, 28), (7, 6, 6, 10, 7, 36)),
        *(
            (8, 9, 7, 11, 8, 44),
            (8, 9, 8, 12, 8, 52),
            (9, 12, 9, 13, 8, 62),
            (10, 16, 10, 14, 9, 72),
            (11, 20, 11, 15, 9, 84),
        ),
    )
    levels = [
        {**row, "least": 1, "most": 99}
        for row in levels_of(("size", "pillars", "hearts", "health", "gain", "turns"), table)
    ]
    return RoamWorld(facts=facts, task="survive", levels=levels, make=hearts, kinds=lambda knobs: (HEART,))


@register("world", "PlaceNext3D", domain="spatial", engine="raycast")
def place_next_3d() -> RoamWorld:
    """Carry one thing to another in a room with pillars and more things."""
    facts = Facts(
        name="PlaceNext3D",
        rules=PAIR,
        answer=ANSWER_HANDS,
        example="forward",
        ceilings={"random": 0.06, "constant": 0.02, "first": 0.02, "blind": 0.05},
        sayings=SAYINGS,
    )
    table = (
        *((4, 0, 1, 4, 4, 12), (5, 1, 1, 6, 5, 15), (6, 2, 2, 6, 7, 20), (6, 3, 3, 9, 9, 25), (7, 6, 3, 12, 11, 30)),
        *(
            (8, 9, 4, 12, 14, 36),
            (9, 13, 4, 12, 17, 42),
            (10, 17, 5, 15, 20, 50),
            (11, 22, 6, 18, 24, 60),
            (12, 28, 7, 18, 29, 72),
        ),
    )
    return RoamWorld(facts=facts, task="beside", levels=levels_of(KNOBS, table), make=pair, kinds=_plain)
