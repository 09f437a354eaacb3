"""Checkers: draughts on small and full boards, against an opponent or between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.jumps import DUE
from quintain.worlds.engines.board.jumps import checkers as rules_of
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.men_look import OPENING, MenLook
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players move in turn on the dark cells. X (blue) goes up, O (gold, ringed) goes down. A man, x or o, steps
diagonally ahead to the next free cell. It takes an enemy by leaping diagonally ahead over it to the free cell right behind; the
enemy goes off at once, and the same man leaps on as long as it can. Who can take must take, by any way that ends where no more
can be taken. A man that reaches the last row becomes a king, X or O in captions and marked K in pictures, and its move ends
there. A king steps and leaps one cell too, ahead and back. Who has no move when it is to move has lost, also when the counted
moves are used up. Otherwise, when no moves are left, the side with more men wins, a king counting as one man; as many on both
sides are a draw (half a win). Columns have letters, rows have numbers from the top; . is a free cell. The corner of a picture says which
side you have and how many moves of both sides are left."""
ANSWER = "Name the cell of a man and the cell it goes to; of several leaps, every cell where it lands."
KNOBS = ("size", *OPENING)
# board, random rounds at the start, so many more, moves; opponent, lead of the side to move
TABLE = (
    ((6, 2, 2, 20), "greedy", 0.05),
    ((6, 1, 1, 24), "depth1", 0.05),
    ((6, 1, 2, 28), "depth2", 0.05),
    ((6, 2, 2, 32), "depth2", 0.05),
    ((6, 2, 3, 36), "depth2", 0.05),
    ((6, 3, 3, 40), "depth2", 0.05),
    ((8, 2, 2, 50), "depth2", 0.05),
    ((8, 2, 3, 55), "depth2", 0.05),
    ((8, 3, 3, 60), "depth2", 0.05),
    ((8, 3, 4, 70), "depth2", 0.05),
)
LOOK = MenLook(rules_of, ("size",), {"x": "men-X", "o": "men-O", "X": "men-X-king", "O": "men-O-king"}, dark=True)


@register("world", "Checkers", domain="games", engine="board")
def checkers() -> BoardWorld:
    """Leap over the opponent's men until none is left or none can move."""
    facts = Facts(
        name="Checkers",
        rules=RULES,
        answer=ANSWER,
        example="a6 c4 e2",
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.3, "constant": 0.1, "first": 0.3, "blind": 0.3},
        sayings=SAYINGS | DUE,
    )
    table = [(*row, *rest) for row, *rest in TABLE]
    return BoardWorld(facts=facts, levels=levels_of((*KNOBS, "opponent", "lead"), table), look=LOOK)


@register("world", "CheckersDuel", domain="games", engine="board")
def checkers_duel() -> BoardWorld:
    """Leap over the other seat's men until none is left or none can move."""
    facts = Facts(
        name="CheckersDuel",
        rules=RULES,
        answer=ANSWER,
        example="a6 c4 e2",
        seats=("X", "O"),
        proof="policy",
        floor=0.85,
        ceilings={"random": 0.6, "constant": 0.1, "first": 0.6, "blind": 0.6},
        variety=5_000,
        sayings=SAYINGS | DUE,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, [row for row, *_ in TABLE]), look=LOOK)
