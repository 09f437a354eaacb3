"""WildTTT: rows of which either side may build, against an opponent or between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.lines import WildLines, mark_last, quiet, square
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.men_look import OPENING, MenLook
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players, 1 and 2, put one mark in turn on a free cell, and each time choose whether it is an X or an O; marks
belong to nobody. The first who completes a straight line of equal marks wins, across, down or diagonal, of the length that is
said above the board (in a picture beside or below it), whoever put the other marks there. A full board without such a line is a
draw (half a win), and so is a game with no moves left. Columns have letters, rows have numbers from the top; . is a free cell. The
corner of a picture says which player you are and how many moves of both are left."""
ANSWER = "Name a free cell, then the mark, x or o."
KNOBS = ("size", "line", *OPENING)
# board, marks in a row, random rounds at the start, so many more, moves; opponent, and how sure the side to move can be
TABLE = (
    ((3, 3, 1, 0, 7), "random", -1),
    ((3, 3, 1, 0, 7), "greedy", -1),
    ((4, 3, 2, 0, 10), "greedy", 0.9),
    ((4, 3, 2, 0, 11), "greedy", 0.9),
    ((4, 3, 2, 0, 12), "depth1", 0.9),
    ((4, 3, 1, 1, 13), "depth1", 0.9),
    ((4, 3, 1, 1, 14), "depth1", 0.9),
    ((5, 3, 3, 0, 18), "depth1", 0.9),
    ((5, 3, 2, 1, 20), "depth1", 0.9),
    ((5, 3, 2, 0, 21), "depth1", 0.9),
)
LOOK = MenLook(
    WildLines,
    ("size", "line"),
    {"X": "stone-X", "O": "stone-O"},
    fits=quiet,
    specials=("x", "o"),
    shape=square,
    tidy=mark_last,
)


@register("world", "WildTTT", domain="games", engine="board")
def wild_ttt() -> BoardWorld:
    """Complete a line of equal marks before the opponent does, where either side may put either mark."""
    facts = Facts(
        name="WildTTT",
        rules=RULES,
        answer=ANSWER,
        example="b2 x",
        proof="policy",
        floor=0.85,
        ceilings={"random": 0.3, "constant": 0.1, "first": 0.3, "blind": 0.3},
        sayings=SAYINGS,
    )
    return BoardWorld(
        facts=facts, levels=levels_of((*KNOBS, "opponent", "lead"), [(*row, *rest) for row, *rest in TABLE]), look=LOOK
    )


@register("world", "WildTTTDuel", domain="games", engine="board")
def wild_ttt_duel() -> BoardWorld:
    """Complete a line of equal marks before the other seat does, where either side may put either mark."""
    facts = Facts(
        name="WildTTTDuel",
        rules=RULES,
        answer=ANSWER,
        example="b2 x",
        seats=("1", "2"),
        variety=700,
        proof="policy",
        floor=0.85,
        ceilings={"random": 0.6, "constant": 0.1, "first": 0.6, "blind": 0.6},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, [row for row, *_ in TABLE]), look=LOOK)
