"""ChessMate: a forced mate."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.chess_look import ANSWER, CORNER, RULES, named
from quintain.worlds.engines.board.chess_mate import GAME
from quintain.worlds.engines.board.game import Match
from quintain.worlds.engines.board.match import SAYINGS
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

KNOBS = ("moves", "white", "black", "keys")
TABLE = (
    (1, (2, 2), (0, 0), 3),
    (1, (2, 3), (0, 2), 3),
    (1, (3, 4), (1, 3), 2),
    (1, (4, 5), (2, 4), 2),
    (1, (5, 7), (4, 6), 1),
    (1, (6, 9), (6, 9), 1),
    (2, (2, 2), (0, 0), 2),
    (2, (2, 3), (0, 1), 2),
    (2, (2, 3), (1, 2), 2),
    (2, (3, 3), (1, 2), 1),
)


@register("world", "ChessMate", domain="games", engine="board")
def chess_mate_in() -> TurnWorld[Match]:
    """Mate the black king in 1 or 2 moves of White, whatever Black replies."""
    facts = Facts(
        name="ChessMate",
        rules=RULES
        + """
You play White and must mate before the moves run out: 1 move left is a mate in one, 3 moves of both sides are a mate
in two. Black defends as well as it can; stalemate and everything else loses."""
        + CORNER,
        answer=ANSWER,
        example="e2 e4",
        proof="policy",
        floor=0.97,
        ceilings={"random": 0.08, "constant": 0.04, "first": 0.06, "blind": 0.08},
        sayings=SAYINGS,
    )
    return TurnWorld(facts=facts, levels=levels_of(KNOBS, TABLE), game=GAME, schema=Match, meant=named)
