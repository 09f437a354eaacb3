"""BubbleShot: aim bubbles at a heap that hangs from the ceiling."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.grid.bubbles import SAYINGS, BubbleGame, Bubbles
from quintain.worlds.engines.grid.hues import LEGEND
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = f"""Bubbles hang from the ceiling in rows; every even row is set half a bubble to the right, so a bubble touches up to six
others. You shoot the first of the bubbles to come: choose the column of the lowest row from which it starts, and left or right. It flies
up slantwise, half a column sideways with each row, and is turned back by the side walls: where half a column on would be outside, it
goes half a column back. It sticks in the last free cell of its line, below the first bubble in its way or at the ceiling. If it then
belongs to a group of three or more touching bubbles of its colour, the group bursts, and bubbles that no longer hang on the ceiling by
others fall as well. A shot that would stay in the lowest row is not allowed. You win when no bubble hangs any more.
Board: {LEGEND}, . free; columns have letters, rows have numbers from the ceiling. Bubbles: those to come, the first one first."""

# columns, rows of bubbles, free rows, colours, shots that a search takes at least and at most
TABLE = (
    *((4, 2, 3, 3, 3, 3), (5, 2, 3, 3, 4, 4), (5, 3, 3, 3, 5, 5), (6, 3, 3, 3, 5, 6), (6, 3, 3, 4, 6, 7)),
    *((7, 3, 4, 4, 6, 8), (7, 4, 4, 4, 7, 9), (8, 4, 4, 5, 8, 10), (9, 4, 4, 5, 9, 11), (9, 5, 5, 5, 10, 13)),
)


@register("world", "BubbleShot", domain="puzzles", engine="grid")
def bubble_shot() -> TurnWorld[Bubbles]:
    """Shoot bubbles of given colours along slanted lines into a hanging heap, burst groups of three and clear it."""
    facts = Facts(
        name="BubbleShot",
        rules=RULES,
        answer="Name the column and the way, as in c left.",
        example="c left",
        ceilings={"random": 0.05, "constant": 0.04, "first": 0.04, "blind": 0.1},
        sayings=SAYINGS,
    )
    levels = levels_of(("width", "rows", "room", "colours", "low", "high"), TABLE)
    return TurnWorld(facts=facts, levels=levels, game=BubbleGame(), schema=Bubbles)
