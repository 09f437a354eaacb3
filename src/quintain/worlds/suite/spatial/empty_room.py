"""EmptyRoom: walk to the goal; nothing is in the way."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.grid.board import layout_of
from quintain.worlds.engines.grid.layouts import empty_room as build_room
from quintain.worlds.engines.grid.walk import ANSWER, SAYINGS, WalkWorld
from quintain.worlds.kernel import Facts

RULES = """You walk over an open floor to reach the goal, one cell a turn.
Map: P you, G goal, . floor."""

SIDES = (4, 5, 6, 7, 8, 9, 10, 12, 14, 16)


@register("world", "EmptyRoom", domain="spatial", engine="grid")
def empty_room() -> WalkWorld:
    """Walk to the goal over an open floor; the side grows from 4 to 16 cells."""
    facts = Facts(
        name="EmptyRoom",
        rules=RULES,
        answer=ANSWER,
        example="up",
        ceilings={"random": 0.06, "constant": 0.1, "first": 0.1, "blind": 0.12},
        sayings=SAYINGS,
        variety=3_000,  # all that a bare 9x9 floor has
    )
    levels = [{"size": side} for side in SIDES]
    return WalkWorld(
        facts=facts, levels=levels, make=build_room, layout=lambda s: layout_of(s, player=True), signs="PG"
    )
