"""DotsBoxes: close more boxes, against an opponent or between two seats."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from quintain.registry import register
from quintain.types import Ints
from quintain.worlds.engines.board.boxes import ART, PASS, Boxes
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.men import MenGame
from quintain.worlds.engines.board.men_look import OPENING, MenLook
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players, X (blue) and O (gold), draw lines between dots (+). A move draws one line, in a free cell (.) between two dots
that are neighbours in a row or column; drawn lines are - and |. Four lines around a box (:) close it: it belongs to whoever drew the
last of them, and gets his letter. Who closes a box moves again: the other player must then say pass, and cannot do anything else. Who
owns more than half of all boxes wins; equal numbers are a draw (half a win). Columns have letters, rows have numbers from the top. X=2
O=1 tells how many boxes each owns, and `pass` after it that the side to move must pass. The corner of a picture says which side you have
and how many moves of both sides are left, which is always enough."""
ANSWER = "Name the cell of the line that you draw, or say pass when you must."
KNOBS = ("columns", "rows", *OPENING, "opponent")
TABLE = (
    (5, 5, 1, 1, 16, "random"),
    (5, 7, 1, 1, 23, "greedy"),
    (5, 7, 1, 2, 27, "depth1"),
    (7, 7, 4, 1, 33, "depth1"),
    (7, 7, 3, 2, 36, "depth1"),
    (7, 7, 2, 3, 40, "depth1"),
    (9, 7, 4, 3, 43, "depth1"),
    (9, 7, 3, 3, 46, "depth1"),
    (11, 7, 6, 3, 53, "depth1"),
    (11, 7, 4, 3, 60, "depth1"),
)


def _fits(game: MenGame, position: Ints, knobs: Mapping[str, Any]) -> bool:
    """Whether the mover is free to draw and seems to be ahead."""
    return len(game.legal(position)) > 1 and game.rules.value(position) > 0


_DOTS = re.compile(
    r"(?:(?:draw|connect|join|play) )?(?:(?:a |the )?line )?(?:from |between )?"
    r"([acegik])([1357])(?:\s*[-–>]*\s*| and | to | with )([acegik])([1357])",
    re.ASCII,
)


def _line(text: str) -> str:
    """The cell of a line that two dots beside each other name."""
    if not (dots := _DOTS.fullmatch(text.strip())):
        return text
    column, row = (sorted(map(ord, pair)) for pair in (dots.group(1, 3), dots.group(2, 4)))
    return (
        f"{chr(sum(column) // 2)}{chr(sum(row) // 2)}" if {column[1] - column[0], row[1] - row[0]} == {0, 2} else text
    )


LOOK = MenLook(Boxes, ("columns", "rows"), ART, fits=_fits, specials=(PASS,), tidy=_line)


@register("world", "DotsBoxes", domain="games", engine="board")
def dots_boxes() -> BoardWorld:
    """Draw lines between dots and close more boxes than the opponent."""
    facts = Facts(
        name="DotsBoxes",
        rules=RULES,
        answer=ANSWER,
        example="b1",
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.08, "constant": 0.05, "first": 0.08, "blind": 0.4},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, TABLE), look=LOOK)


@register("world", "DotsBoxesDuel", domain="games", engine="board")
def dots_boxes_duel() -> BoardWorld:
    """Draw lines between dots and close more boxes than the other seat."""
    facts = Facts(
        name="DotsBoxesDuel",
        rules=RULES,
        answer=ANSWER,
        example="b1",
        seats=("X", "O"),
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.64, "constant": 0.05, "first": 0.62, "blind": 0.4},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS[:-1], [row[:-1] for row in TABLE]), look=LOOK)
