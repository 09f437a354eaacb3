"""MazeRoute: find the way through a maze."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.grid.board import layout_of
from quintain.worlds.engines.grid.layouts import maze
from quintain.worlds.engines.grid.walk import ANSWER, SAYINGS, WalkWorld
from quintain.worlds.kernel import Facts

RULES = """You walk through a maze to its goal, one cell a turn.
Map: P you, G goal, # wall, . floor."""

# side, walls that are opened after carving
TABLE = ((5, 1), (7, 1), (7, 0), (9, 1), (9, 0), (11, 2), (13, 2), (15, 3), (17, 3), (21, 4))


@register("world", "MazeRoute", domain="spatial", engine="grid")
def maze_route() -> WalkWorld:
    """Walk through a maze from a far corner of it to the goal; a few loops make some ways shorter than others."""
    facts = Facts(
        name="MazeRoute",
        rules=RULES,
        answer=ANSWER,
        example="up",
        ceilings={"random": 0.02, "constant": 0.02, "first": 0.02, "blind": 0.02},
        sayings=SAYINGS,
    )
    levels = [{"size": side, "loops": loops} for side, loops in TABLE]
    return WalkWorld(facts=facts, levels=levels, make=maze, layout=lambda s: layout_of(s, player=True))
