"""HeapDuel: take pins from heaps that split, against an opponent that makes no mistake from level 2 on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from quintain.registry import register
from quintain.types import Ints
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.men import MenGame
from quintain.worlds.engines.board.men_look import OPENING, MenLook
from quintain.worlds.engines.board.pins import Pins
from quintain.worlds.kernel import Facts, levels_of

RULES = """Pins (I) stand in rows; those side by side in a row are a heap. Two players, X and O, move in turn. A move takes one pin,
or two side by side in a row with no gap between them. Taking from the middle splits a heap. Who takes the last pin of all wins.
Columns have letters, rows have numbers from the top; . is an empty place. The corner of a picture says which side you have and how
many moves of both sides are left, which is always enough. You can win from the start, whatever the opponent does."""
KNOBS = ("columns", "rows", *OPENING, "opponent")
TABLE = (
    (5, 2, 1, 0, 10, "random"),
    (4, 3, 1, 0, 12, "greedy"),
    (5, 3, 1, 0, 15, "depth1"),
    (6, 3, 1, 1, 18, "depth1"),
    (5, 4, 1, 1, 20, "depth1"),
    (6, 4, 1, 1, 24, "depth1"),
    (7, 4, 1, 1, 28, "depth1"),
    (8, 4, 2, 1, 32, "depth1"),
    (8, 5, 2, 1, 40, "depth1"),
    (9, 5, 2, 2, 45, "depth1"),
)


def _fits(game: MenGame, position: Ints, knobs: Mapping[str, Any]) -> bool:
    """Whether the mover can force a win, and not at once."""
    return game.rules.value(position) > 0 and game.peak(position) < 1


def _leftmost_first(text: str) -> str:
    """The pins of an answer from left to right."""
    return " ".join(sorted(re.findall(r"[a-z]\d+|\w+|\W+", text)))


LOOK = MenLook(Pins, ("columns", "rows"), {"I": "pin"}, fits=_fits, tidy=_leftmost_first)


@register("world", "HeapDuel", domain="algorithmic", engine="board")
def heap_duel() -> BoardWorld:
    """Take the last pin of heaps that split; every start can be won, and from level 2 on one slip loses."""
    facts = Facts(
        name="HeapDuel",
        rules=RULES,
        answer="Name the pins that you take.",
        example="b1 c1",
        proof="policy",
        floor=0.97,
        ceilings={"random": 0.06, "constant": 0.03, "first": 0.06, "blind": 0.15},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, TABLE), look=LOOK)
