"""SnakeRun: eat apples with a snake that grows."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.arcade.loop import SAYINGS, Frame, arcade
from quintain.worlds.engines.arcade.snake import Snake
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """You steer a snake. Each turn its head goes one cell up, down, left or right, and the rest of it follows: each
cell of the body moves to where the one before it was. If the head comes to the apple, the snake eats it and grows by one
cell instead: its tail stays where it was for this turn, and a new apple appears on a free cell that nobody can foretell.
You lose if the head runs into a rock, the edge of the board or the body; the cell which the tail leaves in the same turn
is free. Eat as many apples as you still need before the turns are used up.
Map: P head, ^ v < > cells of the body, each pointing to the next one towards the head, A apple, # rock, X head when lost,
. free. Counters: turns left, apples still needed."""

# width, height, rocks, cells of the snake, apples
TABLE = (
    (5, 5, 0, 3, 2),
    (6, 5, 0, 3, 3),
    (6, 6, 1, 3, 4),
    (7, 6, 2, 4, 5),
    (7, 7, 3, 4, 6),
    (8, 7, 4, 5, 7),
    (8, 8, 5, 5, 8),
    (9, 8, 6, 6, 10),
    (9, 9, 7, 7, 12),
    (10, 10, 9, 8, 14),
)
KNOBS = ("width", "height", "rocks", "length", "goal")


@register("world", "SnakeRun", domain="temporal", engine="arcade", foresees=True)
def snake_run() -> TurnWorld[Frame]:
    """Eat two to fourteen apples with a snake that grows; the oracle knows where apples will lie and searches from one to the next."""
    facts = Facts(
        name="SnakeRun",
        rules=RULES,
        answer="One of: up, down, left, right.",
        example="left",
        ceilings={"random": 0.01, "constant": 0.01, "first": 0.01, "blind": 0.03},
        sayings=SAYINGS | {"lost": "The snake ran into something."},
    )
    return arcade(facts, levels_of(KNOBS, TABLE), Snake())
