"""Battleship: a hidden fleet is to be found with few shots."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.fleet import HITS, SAYINGS, FleetGame, Sea
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = f"""A fleet lies hidden in a square sea. Ships are straight, lie along a row or a column, and do not touch each other, not
even at corners. Each shot names a cell and shows what is there: o is water (white dot), x a hit (red disc), and when all cells of a
ship are hit, it is sunk: # (dark hull). . was not shot at yet. `Afloat: 4 3` names the lengths of the ships that are not sunk. Sink all
ships before the shots run out. If you do not, you earn {HITS} times the share of ship cells that you hit, but nothing where
turns ran out before shots did. Columns have letters, rows have
numbers from the top."""
KNOBS = ("size", "ships", "shots")
TABLE = (
    (5, (3, 2), 14),
    (6, (3, 2), 19),
    (6, (3, 2, 2), 21),
    (6, (3, 3, 2), 22),
    (7, (4, 3, 2), 25),
    (7, (4, 3, 2, 2), 27),
    (8, (4, 3, 3, 2), 30),
    (8, (5, 4, 3, 2), 32),
    (9, (5, 4, 3, 3, 2), 39),
    (10, (5, 4, 3, 3, 2), 46),
)


@register("world", "Battleship", domain="games", engine="board")
def battleship() -> TurnWorld[Sea]:
    """Find and sink a hidden fleet with few shots."""
    facts = Facts(
        name="Battleship",
        rules=RULES,
        answer="Name a cell that was not shot at.",
        example="c3",
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.2, "constant": 0.05, "first": 0.25, "blind": 0.25},
        sayings=SAYINGS,
    )
    return TurnWorld(facts=facts, levels=levels_of(KNOBS, TABLE), game=FleetGame(), schema=Sea)
