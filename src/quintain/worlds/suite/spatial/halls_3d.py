"""First-person corridors, junctions and mazes."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.raycast.halls import corridor, junction, maze
from quintain.worlds.engines.raycast.roam import ANSWER, LEGEND, SAYINGS, RoamWorld
from quintain.worlds.engines.raycast.things import SIGN
from quintain.worlds.kernel import Facts, levels_of

CORRIDOR = f"""You stand in a corridor with blind alleys and look for one thing, told below the picture; step into its cell.
{LEGEND}"""
MAZE = f"""You stand in a maze and look for one thing, told below the picture; step into its cell.
{LEGEND}"""
JUNCTION = f"""A sign at the blind end of a corridor shows a thing. At the other end the corridor parts into {{}} arms, with a thing at the
end of each. Step into the cell of the thing that the sign shows; any other ends the episode. A sign can be read when it stands at
most 3 rows ahead, farther off you see just a sign; it cannot be stepped on. Remember what it shows: nothing else tells you.
{LEGEND}"""


@register("world", "Corridor3D", domain="spatial", engine="raycast")
def corridor_3d() -> RoamWorld:
    """Follow a corridor, seen from within, to its end; it grows from one bend to eight, with blind alleys."""
    facts = Facts(
        name="Corridor3D",
        rules=CORRIDOR,
        answer=ANSWER,
        example="forward",
        ceilings={"random": 0.05, "constant": 0.02, "first": 0.02, "blind": 0.1},
        sayings=SAYINGS,
    )
    table = (
        *((1, 4, 0, 6, 3, 15), (1, 6, 0, 9, 4, 20), (2, 5, 0, 9, 6, 25), (2, 6, 1, 9, 8, 30), (3, 6, 1, 12, 12, 36)),
        *(
            (4, 6, 2, 12, 16, 44),
            (5, 6, 2, 12, 20, 54),
            (6, 6, 3, 15, 25, 64),
            (7, 6, 3, 15, 31, 76),
            (8, 6, 4, 18, 38, 99),
        ),
    )
    levels = levels_of(("bends", "long", "alleys", "kinds", "least", "most"), table)
    return RoamWorld(facts=facts, task="reach", levels=levels, make=corridor, kinds=lambda knobs: range(knobs["kinds"]))


@register("world", "Maze3D", domain="spatial", engine="raycast")
def maze_3d() -> RoamWorld:
    """Find the way through a maze, seen from within; mazes grow from 5 to 13 cells a side."""
    facts = Facts(
        name="Maze3D",
        rules=MAZE,
        answer=ANSWER,
        example="forward",
        ceilings={"random": 0.05, "constant": 0.02, "first": 0.02, "blind": 0.06},
        sayings=SAYINGS,
    )
    table = (
        *((5, 0, 6, 3, 20), (5, 0, 9, 5, 30), (7, 1, 9, 8, 40), (7, 0, 9, 12, 50), (9, 2, 12, 16, 70)),
        *((9, 1, 12, 22, 80), (11, 3, 12, 28, 110), (11, 1, 15, 36, 130), (13, 4, 15, 44, 160), (13, 2, 18, 56, 200)),
    )
    levels = levels_of(("size", "loops", "kinds", "least", "most"), table)
    return RoamWorld(facts=facts, task="reach", levels=levels, make=maze, kinds=lambda knobs: range(knobs["kinds"]))


def _junction(name: str, arms: int, random: float) -> RoamWorld:
    facts = Facts(
        name=name,
        rules=JUNCTION.format(("two", "three")[arms - 2]),
        answer=ANSWER,
        example="forward",
        ceilings={"random": random, "constant": 0.02, "first": 0.02, "blind": 0.1},
        sayings=SAYINGS,
    )
    table = (
        *((0, 3, 1, 6, 4, 20), (0, 5, 2, 9, 5, 25), (0, 7, 2, 9, 7, 30), (1, 5, 3, 9, 9, 36), (1, 6, 4, 12, 12, 42)),
        *(
            (2, 6, 4, 12, 15, 50),
            (3, 6, 4, 12, 18, 60),
            (4, 6, 5, 15, 22, 70),
            (5, 6, 5, 15, 28, 80),
            (6, 6, 6, 18, 34, 95),
        ),
    )
    levels = [{**row, "arms": arms} for row in levels_of(("bends", "long", "arm", "kinds", "least", "most"), table)]
    return RoamWorld(
        facts=facts,
        task="choose",
        levels=levels,
        make=junction,
        kinds=lambda knobs: (*range(knobs["kinds"]), SIGN, *(SIGN + 1 + k for k in range(knobs["kinds"]))),
    )


@register("world", "TJunction3D", domain="spatial", engine="raycast")
def t_junction_3d() -> RoamWorld:
    """Read a sign beside you, go down a corridor, and choose the arm of the thing that it showed."""
    return _junction("TJunction3D", 2, 0.1)


@register("world", "YJunction3D", domain="spatial", engine="raycast")
def y_junction_3d() -> RoamWorld:
    """Read a sign beside you, go down a corridor, and choose among three arms that of the thing that it showed."""
    return _junction("YJunction3D", 3, 0.08)
