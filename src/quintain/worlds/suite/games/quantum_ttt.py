"""QuantumTTT: tic-tac-toe with entangled marks, against an opponent or between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.men_look import OPENING
from quintain.worlds.engines.board.quantum_look import QuantumLook
from quintain.worlds.kernel import Facts, levels_of

RULES = """Quantum tic-tac-toe. Two players, X and O, make marks with numbers: X1, O2, X3 and so on. A mark is put into two cells at
once, and is in truth in one of them; two cells may hold any number of open marks. Open marks link their two cells. When a new mark
closes a loop of links (two marks with the same two cells are a loop), the other player first chooses in which of its two cells this
mark settles. Every open mark that shares this cell is then settled in its other cell, which drives others out in turn. A settled mark
has its cell alone; no new mark may go there. After this the same player makes a new mark, in the same move. If only one cell is free,
a new mark is put there and is settled at once. Three settled marks of one side in a row, a column or a diagonal win. If both sides
have such a row, the one whose latest mark in it has the smaller number wins. A full board without such a row is a draw (half a win).
Columns have letters, rows have numbers from the top. In a picture marks of X are blue squares, those of O golden discs; open marks are
small, settled ones fill their cell, and one that closes a loop has a frame of another colour. The corner says which side you have and how
many moves of both sides are left, which is always enough."""
ANSWER = """Name the two cells of your new mark, or the only free one; if there is a loop, name first the cell in which the latest mark
settles, and no other if that ends the game."""
KNOBS = ("columns", "rows", *OPENING, "opponent")
TABLE = (
    (3, 3, 1, 0, 8, "random"),
    (3, 3, 1, 0, 8, "greedy"),
    (3, 3, 1, 0, 9, "depth1"),
    (3, 3, 1, 1, 10, "depth1"),
    (4, 3, 1, 0, 11, "depth1"),
    (4, 3, 1, 1, 12, "depth1"),
    (4, 3, 1, 1, 13, "depth1"),
    (4, 4, 1, 0, 15, "depth1"),
    (4, 4, 1, 1, 16, "depth1"),
    (4, 4, 2, 1, 17, "depth1"),
)
LOOK = QuantumLook()


@register("world", "QuantumTTT", domain="games", engine="board")
def quantum_ttt() -> BoardWorld:
    """Get three in a row with marks that are in two cells at once until a loop settles them."""
    facts = Facts(
        name="QuantumTTT",
        rules=RULES,
        answer=ANSWER,
        example="a1 b2",
        proof="policy",
        floor=0.75,
        ceilings={"random": 0.16, "constant": 0.05, "first": 0.2, "blind": 0.45},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, TABLE), look=LOOK)


@register("world", "QuantumTTTDuel", domain="games", engine="board")
def quantum_ttt_duel() -> BoardWorld:
    """Get three in a row, before the other seat does, with marks that are in two cells at once until a loop settles them."""
    facts = Facts(
        name="QuantumTTTDuel",
        rules=RULES,
        answer=ANSWER,
        example="a1 b2",
        seats=("X", "O"),
        variety=5_000,
        proof="policy",
        floor=0.75,
        ceilings={"random": 0.66, "constant": 0.1, "first": 0.66, "blind": 0.5},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS[:-1], [row[:-1] for row in TABLE]), look=LOOK)
