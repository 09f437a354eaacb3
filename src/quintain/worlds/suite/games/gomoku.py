"""Gomoku: five in a row on large boards, against an opponent or between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.rows_look import KNOBS, RowLook
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players put stones on the free cells of a square board in turn, X (blue crosses) and O (orange rings). The first who
has five or more own stones in an unbroken straight line wins: across, down or diagonal. A full board without such a line is a
draw (half a win). Columns have letters, rows have numbers from the top; . is a free cell. The corner of a picture says which stones are
yours and how many in a row win."""
ANSWER = "Name a free cell: its column letter and row number."
# board, stones there at the start, up to so many more; opponent, lead of the side to move
TABLE = (
    ((7, 6, 0), "random", -1),
    ((7, 4, 1), "greedy", -1),
    ((8, 6, 1), "depth1", 0.0),
    ((8, 4, 1), "depth1", 0.0),
    ((9, 6, 1), "depth1", 0.0),
    ((9, 4, 1), "depth1", 0.0),
    ((10, 6, 1), "depth1", 0.0),
    ((11, 6, 1), "depth1", 0.02),
    ((12, 6, 1), "depth2", 0.03),
    ((13, 6, 1), "depth2", 0.03),
)


@register("world", "Gomoku", domain="games", engine="board")
def gomoku() -> BoardWorld:
    """Put five stones in a row before the opponent does, on boards of 7x7 to 13x13."""
    facts = Facts(
        name="Gomoku",
        rules=RULES,
        answer=ANSWER,
        example="e5",
        proof="policy",
        floor=0.85,
        ceilings={"random": 0.1, "constant": 0.05, "first": 0.1, "blind": 0.35},
        sayings=SAYINGS,
    )
    table = [(size, 5, stones, more, 0, 0, lead, opponent) for (size, stones, more), opponent, lead in TABLE]
    return BoardWorld(facts=facts, levels=levels_of((*KNOBS, "lead", "opponent"), table), look=RowLook())


@register("world", "GomokuDuel", domain="games", engine="board")
def gomoku_duel() -> BoardWorld:
    """Put five stones in a row before the other seat does, on boards of 7x7 to 13x13."""
    facts = Facts(
        name="GomokuDuel",
        rules=RULES,
        answer=ANSWER,
        example="e5",
        seats=("X", "O"),
        proof="policy",
        floor=0.9,
        ceilings={"random": 0.6, "constant": 0.05, "first": 0.6, "blind": 0.5},
        sayings=SAYINGS,
    )
    table = [(size, 5, stones, more, 0, 0) for (size, stones, more), *_ in TABLE]
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, table), look=RowLook())
