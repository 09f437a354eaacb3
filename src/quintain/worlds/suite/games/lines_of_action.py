"""Lines of Action: bring all own men together, against an opponent or between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.lineups import LinesOfAction
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.men_look import OPENING, MenLook
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players, X (blue) and O (gold, ringed), move one man in turn along a row, column or diagonal, exactly as many
cells as there are men of both sides on that whole line, itself included. It may leap over own men but not over enemies; it
may end on a free cell or on an enemy, which goes off. A side all of whose men hang together wins, where neighbours across,
down and diagonally hang together; a single man does so as well. If a move brings both sides together, the side that made it
wins. Who cannot move, and only then, says pass. When no moves are left, the game is a draw (half a win). Columns have letters, rows have
numbers from the top; . is a free cell. The corner of a picture says which side you have and how many moves of both sides are
left."""
ANSWER = "Name the cell of a man and the cell it goes to."
KNOBS = ("size", *OPENING)
# board, random rounds at the start, so many more, moves; opponent, lead of the side to move
TABLE = (
    ((5, 2, 1, 16), "random", -1),
    ((5, 1, 1, 20), "greedy", 0),
    ((5, 1, 1, 24), "depth1", 0),
    ((5, 1, 2, 28), "depth1", 0),
    ((6, 1, 1, 32), "depth1", 0),
    ((6, 1, 2, 36), "depth1", 0),
    ((6, 2, 2, 40), "depth1", 0),
    ((7, 1, 2, 46), "depth1", 0),
    ((7, 2, 2, 52), "depth1", 0),
    ((8, 1, 2, 60), "depth1", 0),
)
LOOK = MenLook(LinesOfAction, ("size",), {"X": "men-X", "O": "men-O"}, dark=True, specials=("pass",))


@register("world", "LinesOfAction", domain="games", engine="board")
def lines_of_action() -> BoardWorld:
    """Bring all own men together before the opponent does."""
    facts = Facts(
        name="LinesOfAction",
        rules=RULES,
        answer=ANSWER,
        example="b1 b3",
        proof="policy",
        floor=0.85,
        ceilings={"random": 0.3, "constant": 0.1, "first": 0.3, "blind": 0.3},
        sayings=SAYINGS,
    )
    table = [(*row, *rest) for row, *rest in TABLE]
    return BoardWorld(facts=facts, levels=levels_of((*KNOBS, "opponent", "lead"), table), look=LOOK)


@register("world", "LinesOfActionDuel", domain="games", engine="board")
def lines_of_action_duel() -> BoardWorld:
    """Bring all own men together before the other seat does."""
    facts = Facts(
        name="LinesOfActionDuel",
        rules=RULES,
        answer=ANSWER,
        example="b1 b3",
        seats=("X", "O"),
        proof="policy",
        floor=0.85,
        ceilings={"random": 0.6, "constant": 0.1, "first": 0.6, "blind": 0.6},
        variety=4_500,
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, [row for row, *_ in TABLE]), look=LOOK)
