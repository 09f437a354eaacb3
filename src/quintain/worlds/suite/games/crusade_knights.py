"""CrusadeKnights: knights burn the cells that they leave, against an opponent or between two seats."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from quintain.registry import register
from quintain.types import Ints
from quintain.worlds.engines.board.knights import Knights
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.men import MenGame
from quintain.worlds.engines.board.men_look import OPENING, MenLook
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players, X (blue) and O (gold, with a ring), have chess knights, both as many. In a move one knight of yours jumps two
cells along a row or column and one to the side, over whatever stands there, onto a free cell or onto an enemy knight, which is taken.
The cell that it leaves burns down (#, a dark cell with a cross), and nobody may enter it again. Who cannot move, or has no knight,
loses. Columns have letters, rows have numbers from the top; . is a free cell. The corner of a picture says which side you have and
how many moves of both sides are left, which is always enough."""
ANSWER = "Name the cell of a knight and the cell it jumps to."
KNOBS = ("size", *OPENING, "opponent")
TABLE = (
    (5, 2, 0, 22, "random"),
    (5, 2, 0, 24, "greedy"),
    (5, 2, 1, 26, "depth1"),
    (6, 1, 1, 35, "depth1"),
    (6, 2, 1, 36, "depth1"),
    (7, 2, 2, 48, "depth1"),
    (7, 3, 1, 49, "depth1"),
    (8, 1, 2, 62, "depth1"),
    (8, 2, 2, 64, "depth1"),
    (9, 2, 2, 81, "depth1"),
)


def _fits(game: MenGame, position: Ints, knobs: Mapping[str, Any]) -> bool:
    """Whether the mover seems to be ahead and cannot win at once; on small boards, whether it can win at all."""
    if game.guess(position) <= 0.5 or game.peak(position) == 1:
        return False
    verdict = game.judge(position) if knobs["size"] < 6 else None
    return verdict is None or verdict.worth > 0


_KNIGHT = re.compile(r"\b(?:n|knight)\s*(?:(?:on|at|from)\s+)?(?=[a-z]\d)")
LOOK = MenLook(
    Knights, ("size",), {"X": "knight-X", "O": "knight-O", "#": "burnt"}, fits=_fits, tidy=partial(_KNIGHT.sub, "")
)


@register("world", "CrusadeKnights", domain="games", engine="board")
def crusade_knights() -> BoardWorld:
    """Leave the opponent without a knight's move on a board that burns down."""
    facts = Facts(
        name="CrusadeKnights",
        rules=RULES,
        answer=ANSWER,
        example="b4 c2",
        proof="policy",
        floor=0.75,
        ceilings={"random": 0.2, "constant": 0.05, "first": 0.2, "blind": 0.2},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, TABLE), look=LOOK)


@register("world", "CrusadeKnightsDuel", domain="games", engine="board")
def crusade_knights_duel() -> BoardWorld:
    """Leave the other seat without a knight's move on a board that burns down."""
    facts = Facts(
        name="CrusadeKnightsDuel",
        rules=RULES,
        answer=ANSWER,
        example="b4 c2",
        seats=("X", "O"),
        variety=7_000,
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.6, "constant": 0.05, "first": 0.6, "blind": 0.3},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS[:-1], [row[:-1] for row in TABLE]), look=LOOK)
