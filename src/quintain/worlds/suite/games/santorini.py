"""Santorini: climb and build, against an opponent or between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.builders import ART, Builders
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.men_look import OPENING, MenLook
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players, X (blue) and O (gold, ringed), have one builder each, two on boards of 20 or more cells. In a move one of
them steps to one of the eight neighbours of its cell, at most one floor up, as far down as it likes; then it builds one floor on
a neighbour of the cell where it is now. No builder may step or build on a builder. A cell has 0 to 3 floors; a fourth is a dome
(#), on which nobody may step or build. Who steps on a third floor wins at once, and builds no more. Who cannot move loses. When
the counted moves are used up, the game is a draw (half a win), unless the side whose turn it would be cannot move: then it has lost.
Columns have letters, rows have numbers from the top. . is the ground, 1, 2 and 3 are floors; a, b, c, d is a builder of X on floor 0, 1,
2, 3, and w, x, y, z one of O. In a picture the number of floors stands on each tower and on each builder above the ground. The corner
says which side you have and how many moves of both sides are left."""
ANSWER = (
    "Name the cell of a builder, the cell it steps to, and the cell where it builds, which a winning step leaves out."
)
KNOBS = ("columns", "rows", *OPENING, "opponent")
TABLE = (
    (3, 3, 1, 2, 16, "random"),
    (4, 3, 1, 2, 20, "greedy"),
    (4, 4, 1, 2, 24, "depth1"),
    (4, 4, 2, 2, 28, "depth1"),
    (5, 4, 1, 2, 32, "depth1"),
    (5, 4, 2, 2, 36, "depth1"),
    (5, 5, 1, 2, 40, "depth1"),
    (5, 5, 2, 2, 44, "depth1"),
    (6, 5, 2, 2, 50, "depth2"),
    (6, 6, 2, 2, 60, "depth2"),
)
LOOK = MenLook(Builders, ("columns", "rows"), ART)


@register("world", "Santorini", domain="games", engine="board")
def santorini() -> BoardWorld:
    """Climb to a third floor that you and the opponent build in turn."""
    facts = Facts(
        name="Santorini",
        rules=RULES,
        answer=ANSWER,
        example="b3 b2 c2",
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.2, "constant": 0.05, "first": 0.2, "blind": 0.2},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, TABLE), look=LOOK)


@register("world", "SantoriniDuel", domain="games", engine="board")
def santorini_duel() -> BoardWorld:
    """Climb to a third floor before the other seat does."""
    facts = Facts(
        name="SantoriniDuel",
        rules=RULES,
        answer=ANSWER,
        example="b3 b2 c2",
        seats=("X", "O"),
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.6, "constant": 0.05, "first": 0.6, "blind": 0.3},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS[:-1], [row[:-1] for row in TABLE]), look=LOOK)
