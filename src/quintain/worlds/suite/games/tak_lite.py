"""TakLite: build a road of flat stones, against an opponent or between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.men_look import OPENING, MenLook
from quintain.worlds.engines.board.roads import ART, WALL, Roads, plain
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players, X (blue) and O (gold, with a ring), build roads. A move does one of three things: it puts a flat stone of
one's own on a free cell; it puts a wall there; or it slides one's own flat stone to a neighbour in the row or column, if it lies on
top. A sliding stone may come to a free cell or onto a single flat stone of either side, never onto a wall or a stack of two; of a
stack only the upper stone slides, and leaves the lower one. Walls never move. Who joins the left and right edge, or the upper and
lower one, by a chain of cells that are neighbours in rows and columns and have his own flat stone on top, wins; if one move makes
such roads for both, whoever made it wins. When no cell is free or no moves are left, who has more flat stones on top wins; equal
numbers are a draw (half a win). Columns have letters, rows have numbers from the top. . is a free cell; X and O are single flat stones;
A is X on X, B is X on O, C is O on O, D is O on X; V is a wall of X (an upright bar), W one of O. The corner of a picture says which
side you have and how many moves of both sides are left."""
ANSWER = "Name a cell for a flat stone, a cell and the word wall, or the cells from which and to which a stone slides."
KNOBS = ("size", *OPENING, "opponent")
TABLE = (
    (3, 1, 0, 16, "random"),
    (3, 1, 1, 20, "greedy"),
    (4, 1, 0, 24, "depth1"),
    (4, 1, 1, 28, "depth1"),
    (4, 1, 2, 32, "depth1"),
    (5, 1, 2, 38, "depth1"),
    (5, 2, 1, 40, "depth1"),
    (5, 2, 2, 44, "depth1"),
    (6, 1, 2, 54, "depth1"),
    (6, 2, 2, 60, "depth1"),
)
LOOK = MenLook(Roads, ("size",), ART, specials=(WALL,), tidy=plain)


@register("world", "TakLite", domain="games", engine="board")
def tak_lite() -> BoardWorld:
    """Join two opposite edges by a road of flat stones before the opponent does."""
    facts = Facts(
        name="TakLite",
        rules=RULES,
        answer=ANSWER,
        example="b2 wall",
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.1, "constant": 0.05, "first": 0.1, "blind": 0.4},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, TABLE), look=LOOK)


@register("world", "TakLiteDuel", domain="games", engine="board")
def tak_lite_duel() -> BoardWorld:
    """Join two opposite edges by a road of flat stones before the other seat does."""
    facts = Facts(
        name="TakLiteDuel",
        rules=RULES,
        answer=ANSWER,
        example="b2 wall",
        seats=("X", "O"),
        variety=7_500,
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.62, "constant": 0.05, "first": 0.5, "blind": 0.6},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS[:-1], [row[:-1] for row in TABLE]), look=LOOK)
