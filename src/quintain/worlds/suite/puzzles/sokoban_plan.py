"""SokobanPlan: say at once how every box gets onto a target."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.slide.push_plan import SAYINGS, PlanWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """You push boxes onto targets. Write the whole plan as one answer: every step of it, in order. Walking into a box pushes it by one
cell, if the cell behind it is free; boxes cannot be pulled. The plan is played step by step. You win when every box is on a target;
steps after that do not count. A step into a wall, or into a box that cannot move, ends the plan, and you lose.
Map: P you, B box, T target, # wall, . floor, b a box on a target, p you on a target. In a plan u is up, d down, l left, r right."""

# side with its rim, boxes, loose walls at least, how many more, pulls, moves of the kept plan (least, most), turns of a played game
TABLE = (
    (6, 1, 1, 1, 0, 3, 8, 0),
    (6, 1, 2, 1, 0, 4, 13, 0),
    (7, 1, 2, 2, 0, 7, 20, 0),
    (7, 2, 2, 3, 4, 7, 30, 0),
    (8, 2, 3, 3, 6, 12, 40, 0),
    (8, 2, 4, 4, 8, 16, 60, 0),
    (9, 3, 5, 5, 8, 18, 70, 0),
    (9, 3, 6, 6, 10, 22, 80, 0),
    (10, 3, 9, 7, 14, 30, 110, 0),
    (11, 4, 12, 8, 18, 40, 150, 0),
)
KNOBS = ("size", "boxes", "walls", "more", "pulls", "low", "high", "turns")


@register("world", "SokobanPlan", domain="puzzles", engine="slide")
def sokoban_plan() -> PlanWorld:
    """Write down, in one answer, all the steps that push every box onto a target; the plan is played, and any that works counts."""
    facts = Facts(
        name="SokobanPlan",
        rules=RULES,
        answer="All steps in order, as letters u, d, l, r or as words, with or without spaces: u u r d.",
        example="u u r d",
        ceilings={"random": 0.02, "constant": 0.01, "first": 0.01, "blind": 0.02},
        sayings=SAYINGS,
    )
    return PlanWorld(facts=facts, levels=levels_of(KNOBS, TABLE))
