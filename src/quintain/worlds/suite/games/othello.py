"""Othello: discs that turn over, against an opponent or between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.flips import Othello
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.men_look import OPENING, MenLook
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players, X (blue) and O (gold, ringed), put one disc in turn on a free cell. It must enclose enemy discs: from
it, in at least one of the eight directions, there come one or more enemy discs in an unbroken line and then an own disc. All
discs that are enclosed so, in every direction, turn over and become own ones. Who has no such move, and only then, says pass.
The game is over when neither side can put a disc or no moves are left; then the side with more discs wins, and as many on
both sides are a draw (half a win). Columns have letters, rows have numbers from the top; . is a free cell. The corner of a picture says
which side you have and how many moves of both sides are left."""
ANSWER = "Name the cell where you put a disc, or pass if you can put none."
KNOBS = ("size", *OPENING)
# board, random rounds at the start, so many more, moves; opponent, lead of the side to move
TABLE = (
    ((4, 2, 0, 8), "random", -1),
    ((6, 7, 1, 18), "greedy", 0),
    ((6, 6, 1, 20), "depth1", 0),
    ((6, 5, 1, 22), "depth1", 0),
    ((6, 4, 1, 24), "depth1", 0),
    ((6, 3, 1, 26), "depth1", 0),
    ((6, 2, 2, 28), "depth1", 0),
    ((8, 8, 2, 44), "depth1", 0),
    ((8, 6, 2, 48), "depth1", 0),
    ((8, 4, 2, 52), "depth1", 0),
)
LOOK = MenLook(Othello, ("size",), {"X": "men-X", "O": "men-O"}, specials=("pass",))


@register("world", "Othello", domain="games", engine="board")
def othello() -> BoardWorld:
    """Enclose the opponent's discs to turn them over, and have more discs in the end."""
    facts = Facts(
        name="Othello",
        rules=RULES,
        answer=ANSWER,
        example="c4",
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.3, "constant": 0.1, "first": 0.3, "blind": 0.3},
        sayings=SAYINGS,
    )
    table = [(*row, *rest) for row, *rest in TABLE]
    return BoardWorld(facts=facts, levels=levels_of((*KNOBS, "opponent", "lead"), table), look=LOOK)


@register("world", "OthelloDuel", domain="games", engine="board")
def othello_duel() -> BoardWorld:
    """Enclose the other seat's discs to turn them over, and have more discs in the end."""
    facts = Facts(
        name="OthelloDuel",
        rules=RULES,
        answer=ANSWER,
        example="c4",
        seats=("X", "O"),
        proof="policy",
        floor=0.85,
        ceilings={"random": 0.6, "constant": 0.1, "first": 0.6, "blind": 0.6},
        variety=6_000,
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, [row for row, *_ in TABLE]), look=LOOK)
