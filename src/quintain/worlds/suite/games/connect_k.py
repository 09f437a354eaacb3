"""ConnectK: discs that drop into columns, against an opponent or between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.cells import LETTERS
from quintain.worlds.engines.board.lines import WIDEST, ConnectK, column_alone, column_of, shape
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.men_look import OPENING, MenLook
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players, X (blue) and O (gold, ringed), drop one disc in turn into a column that is not full; it falls to the
lowest free cell of that column. The first who has a straight line of own discs wins, across, down or diagonal, of the length that
is said above the board (in a picture beside or below it). A full board without such a line is a draw (half a win), and so is a game with
no moves left. Columns have letters, rows have numbers from the top; . is a free cell. The corner of a picture says which side you
have and how many moves of both sides are left."""
ANSWER = "Name the column in which you drop a disc by its letter."
KNOBS = ("columns", "rows", "line", *OPENING)
# columns, rows, discs in a row, random rounds at the start, so many more, moves; opponent, lead of the side to move
TABLE = (
    ((4, 4, 3, 2, 0, 12), "random", -1),
    ((5, 4, 3, 2, 0, 16), "greedy", -1),
    ((5, 5, 4, 2, 1, 21), "greedy", 0.05),
    ((6, 5, 4, 2, 1, 26), "greedy", 0.05),
    ((6, 6, 4, 2, 2, 32), "depth1", 0.15),
    ((7, 6, 4, 3, 1, 36), "depth1", 0.15),
    ((7, 6, 4, 2, 2, 38), "depth1", 0.15),
    ((8, 7, 4, 3, 1, 50), "depth1", 0.15),
    ((8, 8, 4, 3, 2, 58), "depth2", 0.15),
    ((9, 9, 4, 3, 3, 75), "depth2", 0.15),
)
# between two seats, with columns so full at the start that no single one suffices
DUEL = (
    (5, 4, 4, 2, 0, 16),
    (5, 4, 4, 2, 1, 17),
    (5, 5, 4, 4, 1, 18),
    (6, 5, 4, 4, 1, 23),
    (6, 5, 5, 4, 1, 24),
    (7, 5, 4, 5, 1, 26),
    (7, 6, 5, 5, 1, 33),
    (8, 6, 5, 5, 1, 39),
    (8, 7, 5, 7, 1, 43),
    (9, 7, 5, 7, 1, 50),
)
LOOK = MenLook(
    ConnectK,
    ("columns", "rows", "line"),
    {"X": "men-X", "O": "men-O"},
    specials=LETTERS[:WIDEST],
    shape=shape,
    tidy=column_alone,
)


@register("world", "ConnectK", domain="games", engine="board")
def connect_k() -> BoardWorld:
    """Drop discs into columns and be the first with a line of them, against an opponent."""
    facts = Facts(
        name="ConnectK",
        rules=RULES,
        answer=ANSWER,
        example="c",
        proof="policy",
        floor=0.85,
        ceilings={"random": 0.3, "constant": 0.35, "first": 0.3, "blind": 0.5},
        sayings=SAYINGS,
    )
    return BoardWorld(
        facts=facts,
        levels=levels_of((*KNOBS, "opponent", "lead"), [(*row, *rest) for row, *rest in TABLE]),
        look=LOOK,
        meant=column_of,
    )


@register("world", "ConnectKDuel", domain="games", engine="board")
def connect_k_duel() -> BoardWorld:
    """Drop discs into columns and be the first with a line of them, against the other seat."""
    facts = Facts(
        name="ConnectKDuel",
        rules=RULES,
        answer=ANSWER,
        example="c",
        seats=("X", "O"),
        proof="policy",
        floor=0.85,
        ceilings={"random": 0.6, "constant": 0.6, "first": 0.6, "blind": 0.6},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, DUEL), look=LOOK, meant=column_of)
