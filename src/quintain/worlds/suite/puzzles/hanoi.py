"""Hanoi: bring the discs to where the goal shows them."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.slide.tower import ANSWER, SAYINGS, TowerWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """Discs of different sizes lie on pegs; disc 1 is the smallest. A turn takes the top disc of a peg and puts it
on another peg that is empty or whose top disc is larger. You win when every disc lies on the peg that the goal shows.
Pegs: one line each, its discs from bottom to top, - for an empty peg; then the same for the goal."""

# discs, pegs, moves of the plan at least and at most, share of further turns
TABLE = (
    (4, 3, 2, 5, 1.0),
    (4, 3, 4, 8, 0.8),
    (4, 3, 7, 12, 0.7),
    (4, 3, 10, 15, 0.6),
    (5, 3, 14, 23, 0.5),
    (5, 3, 20, 31, 0.5),
    (6, 3, 28, 47, 0.4),
    (6, 3, 40, 63, 0.4),
    (7, 3, 60, 100, 0.3),
    (8, 3, 100, 200, 0.25),
)
KNOBS = ("discs", "pegs", "low", "high", "slack")


@register("world", "Hanoi", domain="puzzles", engine="slide")
def hanoi() -> TowerWorld:
    """Move discs between pegs, from anywhere to anywhere; the knob `tower` asks for one tower, as in the old puzzle."""
    facts = Facts(
        name="Hanoi",
        rules=RULES,
        answer=ANSWER,
        example="ac",
        ceilings={"random": 0.02, "constant": 0.0, "first": 0.0, "blind": 0.01},
        sayings=SAYINGS,
        variety=7_000,
    )
    return TowerWorld(facts=facts, levels=levels_of(KNOBS, TABLE, tower=0))
