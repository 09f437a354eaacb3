"""Breakthrough: a race of pawns, against an opponent or between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.men_look import OPENING, MenLook
from quintain.worlds.engines.board.pawns import Breakthrough
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players move one pawn in turn. A pawn goes one row on, straight or diagonally, X (blue) up and O (gold, ringed)
down. It may take an enemy pawn diagonally, never straight ahead. The first who has a pawn in the last row, or who takes all
enemy pawns, wins. When no moves are left, the game is a draw (half a win). Columns have letters, rows have numbers from the top; . is a
free cell. The corner of a picture says which side you have and how many moves of both sides are left."""
KNOBS = ("size", *OPENING, "opponent")
TABLE = (
    (4, 1, 1, 30, "random"),
    (4, 1, 1, 34, "greedy"),
    (5, 1, 1, 40, "greedy"),
    (5, 1, 2, 44, "depth1"),
    (5, 2, 1, 48, "depth1"),
    (6, 1, 2, 60, "depth1"),
    (6, 2, 2, 64, "depth1"),
    (6, 2, 2, 68, "depth2"),
    (7, 2, 2, 80, "depth2"),
    (8, 2, 2, 100, "depth2"),
)
# between two seats, after more random moves: board, rounds, so many more, moves
DUEL = (
    (5, 2, 1, 40),
    (5, 3, 1, 42),
    (6, 2, 2, 54),
    (6, 2, 2, 58),
    (6, 3, 2, 62),
    (7, 2, 2, 72),
    (7, 3, 2, 78),
    (7, 3, 2, 82),
    (8, 3, 2, 96),
    (8, 3, 2, 104),
)
LOOK = MenLook(Breakthrough, ("size",), {"X": "men-X", "O": "men-O"})


@register("world", "Breakthrough", domain="games", engine="board")
def breakthrough() -> BoardWorld:
    """Race a pawn to the last row before the opponent does."""
    facts = Facts(
        name="Breakthrough",
        rules=RULES,
        answer="Name the cell of a pawn and the cell it goes to.",
        example="b4 b3",
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.3, "constant": 0.05, "first": 0.3, "blind": 0.45},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, TABLE), look=LOOK)


@register("world", "BreakthroughDuel", domain="games", engine="board")
def breakthrough_duel() -> BoardWorld:
    """Race a pawn to the last row before the other seat does."""
    facts = Facts(
        name="BreakthroughDuel",
        rules=RULES,
        answer="Name the cell of a pawn and the cell it goes to.",
        example="b4 b3",
        seats=("X", "O"),
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.6, "constant": 0.05, "first": 0.2, "blind": 0.5},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS[:-1], DUEL), look=LOOK)
