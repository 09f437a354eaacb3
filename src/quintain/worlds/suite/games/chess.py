"""Chess, against an opponent or between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.chess import why
from quintain.worlds.engines.board.chess_look import ANSWER, CORNER, LOOK, RULES, named
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.kernel import Facts, levels_of

END = (
    """
When no moves are left, the side with more material wins (pawn 1, knight and bishop 3, rook 5, queen 9); with equal material it is a
draw (half a win). Where it says `W must mate`, White wins by mate alone and everything else is a win for Black."""
    + CORNER
)
KNOBS = ("men", "rounds", "more", "limit", "opponent")
# men that each side keeps, or those of an ending; random rounds before; moves of both sides; opponent
TABLE = (
    ("KQRk", 0, 0, 20, "random"),
    (4, 1, 1, 21, "random"),
    (5, 1, 1, 22, "depth1"),
    (7, 1, 1, 24, "depth1"),
    (9, 1, 2, 26, "depth1"),
    (11, 1, 2, 28, "depth1"),
    (13, 1, 2, 30, "depth1"),
    (15, 2, 2, 32, "depth1"),
    (15, 2, 2, 36, "depth2"),
    (15, 2, 3, 40, "depth2"),
)


@register("world", "ChessGame", domain="games", engine="board")
def chess_game() -> BoardWorld:
    """Play White in chess from an opening, a small army or an ending."""
    facts = Facts(
        name="ChessGame",
        rules=RULES + END,
        answer=ANSWER,
        example="e2 e4",
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.3, "constant": 0.05, "first": 0.3, "blind": 0.3},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, TABLE), look=LOOK, meant=named, why=why)


@register("world", "ChessDuel", domain="games", engine="board")
def chess_duel() -> BoardWorld:
    """Play one side of chess against the other seat, from an opening, a small army or an ending."""
    facts = Facts(
        name="ChessDuel",
        rules=RULES + END,
        answer=ANSWER,
        example="e2 e4",
        seats=("W", "B"),
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.6, "constant": 0.05, "first": 0.6, "blind": 0.4},
        sayings=SAYINGS,
    )
    return BoardWorld(
        facts=facts, levels=levels_of(KNOBS[:-1], [row[:-1] for row in TABLE]), look=LOOK, meant=named, why=why
    )
