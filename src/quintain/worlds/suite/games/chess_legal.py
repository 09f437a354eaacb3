"""ChessLegal: where the marked piece may go."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.chess_legal import SAYINGS, LegalGame, Marked
from quintain.worlds.engines.board.chess_look import RULES
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of


@register("world", "ChessLegal", domain="games", engine="board")
def chess_legal_moves() -> TurnWorld[Marked]:
    """Name every cell to which the marked chess piece may go."""
    facts = Facts(
        name="ChessLegal",
        rules=RULES
        + """
You see a position and one piece of the side that is to move, marked by a frame. Name all cells to which it may legally
go: captures count, castling counts as the king's cell, and no move may leave the own king in check. Only the exact set earns the
reward. The king in the corner of the picture is of the side that is to move. `W K e1` is a white king on e1.""",
        answer="Write all the cells, in any order.",
        example="d3 e4 f5",
        ceilings={"random": 0.02, "constant": 0.04, "first": 0.02, "blind": 0.05},
        sayings=SAYINGS,
    )
    table = [(2, 0), (3, 10), (4, 15), (5, 25), (6, 35), (8, 45), (9, 55), (10, 65), (12, 80), (14, 100)]
    levels = levels_of(("men", "twist"), table)
    return TurnWorld(facts=facts, levels=levels, game=LegalGame(), schema=Marked, longest=200)
