"""Sokoban: push every box onto a target."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.slide.push import ANSWER, SAYINGS, CrateWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """You push boxes onto targets, one cell a turn. Walk into a box to push it; it moves if the cell behind it is
free. Boxes cannot be pulled, so a box in a corner stays there. You win when every box is on a target.
Map: P you, B box, T target, # wall, . floor, b a box on a target, p you on a target."""

# side with its rim, boxes, loose walls at least, how many more, pulls, moves of the kept plan (least, most), turns
TABLE = (
    (6, 1, 1, 1, 0, 2, 8, 10),
    (6, 1, 2, 2, 0, 4, 13, 0),
    (7, 2, 2, 3, 4, 7, 30, 0),
    (7, 2, 3, 3, 6, 11, 40, 0),
    (8, 2, 5, 5, 8, 15, 60, 0),
    (8, 3, 4, 5, 10, 20, 80, 0),
    (9, 3, 8, 6, 14, 28, 100, 0),
    (10, 4, 10, 8, 18, 40, 130, 0),
    (11, 4, 14, 10, 24, 50, 180, 0),
    (12, 5, 18, 12, 30, 70, 260, 0),
)
KNOBS = ("size", "boxes", "walls", "more", "pulls", "low", "high", "turns")


@register("world", "Sokoban", domain="puzzles", engine="slide")
def sokoban() -> CrateWorld:
    """Push boxes onto targets. Level 0 is the board of the quick start: 4x4 cells inside, one box, one or two walls."""
    facts = Facts(
        name="Sokoban",
        rules=RULES,
        answer=ANSWER,
        example="up",
        ceilings={"random": 0.03, "constant": 0.01, "first": 0.01, "blind": 0.02},
        sayings=SAYINGS,
    )
    return CrateWorld(facts=facts, levels=levels_of(KNOBS, TABLE))
