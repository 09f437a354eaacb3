"""Isolation: two kings on a board that shrinks, against an opponent or between two seats."""

from __future__ import annotations

import re

from quintain.registry import register
from quintain.worlds.engines.board.isolation import Isolation
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.men_look import OPENING, MenLook
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players have a king each, X (blue) and O (gold, ringed). In turn, each steps with its king to one of the eight
cells around that is free, and then takes one free cell off the board for good, which may be the one it came from. Nobody may step on a
cell that is gone, which is # in captions and dark in pictures. Who cannot step when it is to move has lost. When the counted
moves are used up, the game is a draw (half a win), unless the side whose turn it would be cannot step: then it has lost. Columns have
letters, rows have numbers from the top; . is a free cell. The corner of a picture says which side you have and how many moves of both
sides are left."""
ANSWER = "Name the cell your king steps to, then the cell that is taken away."
KNOBS = ("size", *OPENING)
# board, random rounds at the start, so many more, moves; opponent, lead of the side to move
TABLE = (
    ((4, 1, 1, 12), "random", 0),
    ((4, 1, 1, 12), "greedy", 0),
    ((5, 2, 1, 19), "greedy", 0),
    ((5, 2, 1, 19), "depth1", 0.1),
    ((5, 1, 1, 21), "depth1", 0.1),
    ((6, 3, 2, 28), "depth1", 0.1),
    ((6, 2, 2, 30), "depth1", 0.1),
    ((6, 2, 1, 31), "depth1", 0.1),
    ((7, 3, 2, 41), "depth1", 0.1),
    ((7, 2, 2, 43), "depth1", 0.1),
)
_OWN = re.compile(
    r"(?:\bfrom\s+)?\b[a-h]\d\s*(?:to|(?:steps?|moves?) to|->|→|[-–])\s*(?=[a-h]\d.*[a-h]\d)"
)  # the cell that the king leaves
_LATE = re.compile(r"[a-h]\d.*\b(?:steps?|moves?|king)\b")  # the cell that goes comes first


def _step_first(text: str) -> str:
    text = _OWN.sub("", text, count=1)
    return "" if _LATE.search(text) else text


LOOK = MenLook(Isolation, ("size",), {"X": "men-X", "O": "men-O", "#": "men-hole"}, tidy=_step_first)


@register("world", "Isolation", domain="games", engine="board")
def isolation() -> BoardWorld:
    """Step with a king and take cells off the board until the opponent's king cannot step."""
    facts = Facts(
        name="Isolation",
        rules=RULES,
        answer=ANSWER,
        example="b3 c4",
        proof="policy",
        floor=0.85,
        ceilings={"random": 0.3, "constant": 0.1, "first": 0.3, "blind": 0.3},
        sayings=SAYINGS,
    )
    table = [(*row, *rest) for row, *rest in TABLE]
    return BoardWorld(facts=facts, levels=levels_of((*KNOBS, "opponent", "lead"), table), look=LOOK)


@register("world", "IsolationDuel", domain="games", engine="board")
def isolation_duel() -> BoardWorld:
    """Step with a king and take cells off the board until the other seat's king cannot step."""
    facts = Facts(
        name="IsolationDuel",
        rules=RULES,
        answer=ANSWER,
        example="b3 c4",
        seats=("X", "O"),
        proof="policy",
        floor=0.9,
        ceilings={"random": 0.6, "constant": 0.1, "first": 0.6, "blind": 0.6},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, [row for row, *_ in TABLE]), look=LOOK)
