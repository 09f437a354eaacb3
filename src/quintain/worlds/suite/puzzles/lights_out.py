"""LightsOut: switch all lamps off."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.slide.lamps import ANSWER, SAYINGS, LampWorld
from quintain.worlds.kernel import Facts

RULES = """A board of lamps. Pressing a lamp switches it and the lamps above, below, left and right of it: what is lit
goes dark and what is dark lights up. You win when every lamp is dark.
Board: o a lit lamp, . a dark one; columns have letters, rows have numbers."""

# width and height, presses of the shortest plan at least and at most
TABLE = (
    (4, 2, 3),
    (4, 3, 4),
    (5, 3, 5),
    (5, 5, 7),
    (5, 7, 10),
    (6, 8, 12),
    (6, 12, 16),
    (7, 14, 20),
    (8, 20, 28),
    (9, 24, 36),
)


@register("world", "LightsOut", domain="puzzles", engine="slide")
def lights_out() -> LampWorld:
    """Press lamps until all are dark; the shortest plan has 2 presses on 4x4 lamps at least, 36 on 9x9 at most."""
    facts = Facts(
        name="LightsOut",
        rules=RULES,
        answer=ANSWER,
        example="b3",
        ceilings={"random": 0.01, "constant": 0.0, "first": 0.0, "blind": 0.01},
        sayings=SAYINGS,
    )
    levels = [{"width": side, "height": side, "low": low, "high": high} for side, low, high in TABLE]
    return LampWorld(facts=facts, levels=levels)
