"""Mancala: sow and capture seeds, against an opponent or between two seats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quintain.registry import register
from quintain.types import Ints
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.men import MenGame
from quintain.worlds.engines.board.men_look import OPENING, MenLook
from quintain.worlds.engines.board.sowing import ART, Sowing, pit_alone, pit_of
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players sow seeds over two rows of pits; X has the lower row, O the upper one. A move empties a pit of one's own row
and sows its seeds one by one into the following pits, counterclockwise: along the lower row to the right, then along the upper row to
the left, and round again; the emptied pit is left out. If the last seed falls into a pit of the other side and makes two or three
seeds there, these are captured, and so are twos and threes in the pits of that side just before it, without a gap. A move that would
capture all seeds of the other side captures none. Who finds the other side empty must make a move that gives it seeds; if there is
none, it has no move. Who has more than half of all seeds wins. If the side to move has no move, or no moves are left, the game is over:
each side gets the seeds in its own row, and who has more wins; equal numbers are a draw (half a win).
Columns have letters; row 1 is the upper one. A sign tells the seeds of a
pit: . is 0, 1 to 9, then a is 10, b is 11 and so on, after z (35) A is 36. In a picture the number stands in the pit. X=5 O=7 tells
what each has captured. The corner of a picture says which side you have and how many moves of both sides are left."""
ANSWER = "Name one pit of your row that has seeds."
KNOBS = ("columns", *OPENING, "opponent")
TABLE = (
    (3, 1, 2, 24, "random"),
    (3, 2, 2, 28, "greedy"),
    (4, 2, 2, 32, "depth1"),
    (4, 3, 2, 36, "depth1"),
    (5, 2, 3, 44, "depth1"),
    (5, 4, 2, 48, "depth1"),
    (5, 4, 3, 52, "depth1"),
    (6, 3, 2, 60, "depth1"),
    (6, 4, 2, 66, "depth2"),
    (7, 4, 2, 80, "depth2"),
)


def _fits(game: MenGame, position: Ints, knobs: Mapping[str, Any]) -> bool:
    """Whether the mover has captured as much or a little more, and cannot win at once."""
    return 0 <= position[-4] - position[-3] <= 4 and game.peak(position) < 1


LOOK = MenLook(Sowing, ("columns",), ART, fits=_fits, alone=pit_alone)


@register("world", "Mancala", domain="games", engine="board")
def mancala() -> BoardWorld:
    """Sow seeds around two rows of pits and capture more than the opponent."""
    facts = Facts(
        name="Mancala",
        rules=RULES,
        answer=ANSWER,
        example="b2",
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.15, "constant": 0.1, "first": 0.12, "blind": 0.4},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, TABLE), look=LOOK, meant=pit_of)


@register("world", "MancalaDuel", domain="games", engine="board")
def mancala_duel() -> BoardWorld:
    """Sow seeds around two rows of pits and capture more than the other seat."""
    facts = Facts(
        name="MancalaDuel",
        rules=RULES,
        answer=ANSWER,
        example="b2",
        seats=("X", "O"),
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.6, "constant": 0.1, "first": 0.5, "blind": 0.4},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS[:-1], [row[:-1] for row in TABLE]), look=LOOK, meant=pit_of)
