"""Alquerque: leaping men on a net of lines, against an opponent or between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.jumps import DUE, points
from quintain.worlds.engines.board.jumps import alquerque as rules_of
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.men_look import OPENING, MenLook
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players, X (blue) and O (gold, ringed), move one man in turn on the points of a net. Lines join every point with
its neighbours across and down; diagonal lines leave only those points whose column and row number add up to an even number, with
a counted as 1. A man steps along a line, any way, to the next free point. It takes an enemy by leaping over it along a line to
the free point right behind; the enemy goes off at once, and the same man leaps on as long as it can. Who can take must take, by
any way that ends where no more can be taken. Who has no move when it is to move has lost, also when the counted moves are used
up. Otherwise, when no moves are left, the side with more men wins; as many on both sides are a draw (half a win). Columns have letters,
rows have numbers from the top; . is a free point. The corner of a picture says which side you have and how many moves of both sides
are left."""
ANSWER = "Name the point of a man and the point it goes to; of several leaps, every point where it lands."
KNOBS = ("columns", "rows", *OPENING)
# net, random rounds at the start, so many more, moves; opponent, lead of the side to move
TABLE = (
    ((5, 5, 3, 2, 10), "greedy", 0.05),
    ((5, 5, 3, 2, 14), "depth1", 0.05),
    ((5, 5, 2, 3, 18), "depth2", 0.05),
    ((5, 5, 3, 2, 22), "depth2", 0.05),
    ((5, 5, 3, 3, 26), "depth2", 0.05),
    ((5, 5, 3, 4, 30), "depth2", 0.05),
    ((7, 5, 3, 3, 36), "depth2", 0.04),
    ((7, 5, 3, 4, 40), "depth2", 0.04),
    ((7, 7, 4, 3, 46), "depth2", 0.05),
    ((7, 7, 4, 4, 50), "depth2", 0.05),
)
LOOK = MenLook(rules_of, ("columns", "rows"), {"X": "men-X", "O": "men-O"}, ground=points)


@register("world", "Alquerque", domain="games", engine="board")
def alquerque() -> BoardWorld:
    """Leap over the opponent's men on a net of lines until none is left or none can move."""
    facts = Facts(
        name="Alquerque",
        rules=RULES,
        answer=ANSWER,
        example="b4 d2",
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.3, "constant": 0.1, "first": 0.3, "blind": 0.3},
        sayings=SAYINGS | DUE,
    )
    table = [(*row, *rest) for row, *rest in TABLE]
    return BoardWorld(facts=facts, levels=levels_of((*KNOBS, "opponent", "lead"), table), look=LOOK)


@register("world", "AlquerqueDuel", domain="games", engine="board")
def alquerque_duel() -> BoardWorld:
    """Leap over the other seat's men on a net of lines until none is left or none can move."""
    facts = Facts(
        name="AlquerqueDuel",
        rules=RULES,
        answer=ANSWER,
        example="b4 d2",
        seats=("X", "O"),
        proof="policy",
        floor=0.75,
        ceilings={"random": 0.6, "constant": 0.1, "first": 0.6, "blind": 0.6},
        variety=2_500,
        sayings=SAYINGS | DUE,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, [row for row, *_ in TABLE]), look=LOOK)
