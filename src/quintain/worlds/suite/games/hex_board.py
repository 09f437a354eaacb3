"""HexBoard: join two edges of a rhombus, against an opponent or between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.hexes import HexLook
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.men_look import OPENING
from quintain.worlds.kernel import Facts, levels_of

RULES = """The game of Hex: two players, X (blue) and O (gold, ringed), put a stone each in turn on any free cell of a rhombus of
hexagons; stones never move. X wins by an unbroken chain of his stones from the left edge to the right one, O by one from the upper
edge to the lower one; a draw is impossible. Columns have letters, rows have numbers from the top; . is a free cell. Each row of the
rhombus lies half a cell further to the right than the row above, so the neighbours of c3 are b3, d3, c2, d2, b4 and c4. A picture
shows the edges in the colours of the sides; its corner says which side you have and how many moves of both sides are left, which is
always enough."""
ANSWER = "Name the cell where you put a stone."
KNOBS = ("size", *OPENING, "opponent")
TABLE = (
    (4, 1, 0, 14, "random"),
    (4, 1, 1, 15, "greedy"),
    (4, 1, 1, 16, "depth1"),
    (5, 1, 1, 24, "depth1"),
    (5, 1, 2, 25, "depth1"),
    (6, 2, 2, 35, "depth1"),
    (6, 2, 3, 36, "depth1"),
    (7, 1, 2, 48, "depth1"),
    (7, 2, 2, 49, "depth1"),
    (8, 2, 3, 64, "depth1"),
)
LOOK = HexLook()


@register("world", "HexBoard", domain="games", engine="board")
def hex_board() -> BoardWorld:
    """Join the left edge of a rhombus of hexagons with the right one before the opponent joins the others."""
    facts = Facts(
        name="HexBoard",
        rules=RULES,
        answer=ANSWER,
        example="c3",
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.1, "constant": 0.05, "first": 0.1, "blind": 0.4},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, TABLE), look=LOOK)


@register("world", "HexBoardDuel", domain="games", engine="board")
def hex_board_duel() -> BoardWorld:
    """Join two edges of a rhombus of hexagons before the other seat joins the others."""
    facts = Facts(
        name="HexBoardDuel",
        rules=RULES,
        answer=ANSWER,
        example="c3",
        seats=("X", "O"),
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.62, "constant": 0.05, "first": 0.6, "blind": 0.5},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS[:-1], [row[:-1] for row in TABLE]), look=LOOK)
