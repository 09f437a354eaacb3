"""TicTacToe: a line of one's own stones on 3x3 to 6x6 boards, against an opponent or between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.rows_look import KNOBS, RowLook
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players put stones on the free cells of a square board in turn, X and O. The first who has a line of own stones
wins: across, down or diagonal, as long as the first line of the board says. A full board without such a line is a draw (half a win).
Columns have letters, rows have numbers from the top; . is a free cell. The corner of a picture says which stones are yours
and how many in a row win."""
ANSWER = "Name a free cell: its column letter and row number."

# board, line, stones there at the start, so many more at most, own moves to a forced win at least and at most, opponent
TABLE = (
    (3, 3, 2, 2, 1, 3, "random"),
    (3, 3, 1, 3, 2, 3, "greedy"),
    (3, 3, 1, 3, 2, 3, "perfect"),
    (4, 3, 2, 3, 2, 3, "depth2"),
    (5, 4, 6, 2, 2, 2, "depth2"),
    (5, 4, 5, 3, 2, 3, "depth2"),
    (5, 4, 5, 2, 3, 3, "depth2"),
    (6, 4, 5, 2, 3, 3, "depth2"),
    (6, 4, 5, 2, 3, 4, "depth3"),
    (6, 4, 5, 3, 4, 6, "depth4"),
)
# between two seats no side has a win at hand: board, line, stones, so many more
DUEL = (
    (3, 3, 4, 0),
    (3, 3, 3, 1),
    (3, 3, 2, 2),
    (4, 4, 1, 3),
    (4, 4, 2, 3),
    (5, 4, 1, 2),
    (5, 4, 1, 3),
    (6, 5, 1, 3),
    (6, 5, 2, 3),
    (6, 5, 2, 4),
)


@register("world", "TicTacToe", domain="games", engine="board")
def tic_tac_toe() -> BoardWorld:
    """Win a game of rows that can be won: the side to move has a forced win, and the opponent grows with the level."""
    facts = Facts(
        name="TicTacToe",
        rules=RULES + "\nYou can win from the start, whatever the opponent does.",
        answer=ANSWER,
        example="b3",
        proof="policy",
        floor=1.0,
        ceilings={"random": 0.05, "constant": 0.02, "first": 0.05, "blind": 0.12},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of((*KNOBS, "opponent"), TABLE), look=RowLook())


@register("world", "TicTacToeDuel", domain="games", engine="board")
def tic_tac_toe_duel() -> BoardWorld:
    """A game of rows between two seats, X first, from positions in which nobody can win at once."""
    facts = Facts(
        name="TicTacToeDuel",
        rules=RULES,
        answer=ANSWER,
        example="b3",
        seats=("X", "O"),
        proof="policy",
        floor=0.85,
        ceilings={"random": 0.58, "constant": 0.02, "first": 0.5, "blind": 0.1},
        variety=2_500,
        sayings=SAYINGS,
    )
    table = [(*row, 0, 0) for row in DUEL]
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, table), look=RowLook())
