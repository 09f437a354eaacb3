"""PelletMaze: eat pellets and avoid ghosts."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.arcade.loop import SAYINGS, Frame, arcade
from quintain.worlds.engines.arcade.pellets import Pellets
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """You walk through a maze, one step or one wait per turn; walls stop you. First you step, and eat the pellet that
lies there. Then the ghosts step, one after another in reading order, row by row. You lose if you step onto a ghost, or a
ghost onto you, also in the turn in which you eat the last pellet. Ghosts do not eat. To a ghost the other ghosts are
walls, and it waits if it has no way at all.
A patrol goes straight on, else back. A roamer keeps to its left hand: it goes left if it can, else
straight on, else right, else back. A hunter steps only when the number of turns left, before your step, is a multiple of
three: to a neighbour that is nearer to you by the shortest way through the maze (other ghosts do not count for that); of
the free neighbours that are nearer, the first of up, down, left, right.
Eat as many pellets as you still need before the turns are used up.
Map: P you, o pellet, # wall, ghosts with their heading up, down, left, right: n s w e patrols (square in the picture),
u d l r roamers (round), h hunter (horned); a capital letter means that a pellet lies under the ghost; X you when caught,
. free. Counters: turns left, pellets still needed."""

# rooms across, rooms down, pellets, pellets to eat, patrols, roamers, hunters
TABLE = (
    (3, 2, 4, 3, 1, 0, 0),
    (3, 3, 6, 5, 1, 0, 0),
    (4, 3, 10, 8, 1, 0, 0),
    (4, 4, 14, 11, 1, 1, 0),
    (5, 4, 18, 14, 1, 1, 0),
    (5, 4, 22, 17, 2, 1, 0),
    (5, 5, 26, 20, 2, 1, 1),
    (6, 5, 30, 24, 2, 1, 1),
    (6, 6, 36, 28, 2, 2, 1),
    (7, 6, 42, 33, 2, 2, 2),
)
KNOBS = ("across", "down", "pellets", "goal", "patrols", "roamers", "hunters")


@register("world", "PelletMaze", domain="temporal", engine="arcade")
def pellet_maze() -> TurnWorld[Frame]:
    """Eat three to thirty-three pellets in a maze of up to five ghosts; the oracle foresees them and searches pellet by pellet."""
    facts = Facts(
        name="PelletMaze",
        rules=RULES,
        answer="One of: wait, up, down, left, right.",
        example="up",
        ceilings={"random": 0.02, "constant": 0.01, "first": 0.01, "blind": 0.03},
        sayings=SAYINGS | {"lost": "A ghost caught you."},
    )
    return arcade(facts, levels_of(KNOBS, TABLE), Pellets())
