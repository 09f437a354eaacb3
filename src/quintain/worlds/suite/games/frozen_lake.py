"""FrozenLake: cross slippery ice without falling into a hole."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.grid.board import layout_of
from quintain.worlds.engines.grid.layouts import lake
from quintain.worlds.engines.grid.walk import ANSWER, SAYINGS, WalkWorld
from quintain.worlds.kernel import Facts

RULES = """You cross a frozen lake to the goal, one cell a turn. The ice is slippery: some steps carry you to one of the two
sides instead, to either as often; the line below the map says how many of 100 steps do so on average. You cannot leave the lake: at
its edge such a step leaves you where you are. A hole ends the walk.
Map: P you, G goal, O hole, . ice, X you in a hole, * you at the goal."""

# side, holes, chance that a step goes sideways
TABLE = (
    (4, 2, 0.06),
    (4, 3, 0.08),
    (5, 4, 0.10),
    (5, 5, 0.12),
    (6, 7, 0.14),
    (6, 8, 0.16),
    (7, 11, 0.18),
    (8, 14, 0.20),
    (9, 18, 0.22),
    (10, 23, 0.24),
)


@register("world", "FrozenLake", domain="games", engine="grid")
def frozen_lake() -> WalkWorld:
    """Cross slippery ice between holes; the oracle plays by value iteration and does not foresee the slips."""
    facts = Facts(
        name="FrozenLake",
        rules=RULES,
        answer=ANSWER,
        example="right",
        proof="policy",
        floor=0.85,
        ceilings={"random": 0.08, "constant": 0.08, "first": 0.08, "blind": 0.12},
        sayings=SAYINGS | {"blocked": "The lake ends there; you stay where you are."},
    )
    levels = [{"size": side, "holes": holes, "slip": slip, "chance": 0.9} for side, holes, slip in TABLE]
    return WalkWorld(facts=facts, levels=levels, make=lake, layout=lambda s: layout_of(s, player=True), signs="POG")
