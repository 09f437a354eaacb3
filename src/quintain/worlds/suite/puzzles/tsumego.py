"""Tsumego: life and death of a group of stones."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.game import Match
from quintain.worlds.engines.board.match import SAYINGS
from quintain.worlds.engines.board.tsumego import GAME
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """Go on a small board with walls: # (dark grey) is no point and gives no room. You have X (black), the opponent O (white). In turn
each puts a stone on a free point (.) or passes. Stones of a colour that are joined by lines form a group; a group whose last
free neighbour is filled is taken off. A stone that takes nothing and whose group would be left without a free neighbour is
forbidden. `ko at c3` means that it is forbidden to take back at once at c3. `X must take all O`: you win as soon as no O is on
the board, and lose when the moves run out before. `X must live`: you lose as soon as no X is on the board, and win when the
moves run out. Both are possible against any play, if the first stone is right. Columns have letters, rows have numbers from the
top. The corner of a picture says that you have X and how many moves of both sides are left."""
KNOBS = ("size", "space", "moves", "keys")
TABLE = (
    (6, 3, 2, 3),
    (6, 4, 2, 3),
    (6, 3, 3, 2),
    (6, 3, 3, 1),
    (6, 4, 3, 3),
    (7, 4, 3, 3),
    (7, 4, 4, 2),
    (7, 4, 4, 1),
    (7, 4, 5, 1),
    (7, 5, 5, 2),
)


@register("world", "Tsumego", domain="puzzles", engine="board")
def tsumego() -> TurnWorld[Match]:
    """Take a shut-in group of Go stones, or make it live, against the best reply."""
    facts = Facts(
        name="Tsumego",
        rules=RULES,
        answer="Name a free point, or say pass.",
        example="c3",
        proof="policy",
        floor=0.97,
        ceilings={"random": 0.1, "constant": 0.05, "first": 0.02, "blind": 0.15},
        sayings=SAYINGS,
        variety=4_000,
    )
    return TurnWorld(facts=facts, levels=levels_of(KNOBS, TABLE), game=GAME, schema=Match)
