"""PegJump and KnightSwap: pieces hop over a board with holes."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.slide.hops import Knights, Pegs
from quintain.worlds.engines.slide.pose import SAYINGS, Pose, PoseGame
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

PEGS = """Pegs stand in holes of a board. A peg jumps over a peg next to it, up, down, left or right, into the free hole behind it, and the
peg that was jumped over is taken away. You win when one peg is left, wherever it is; you lose when two or more are left and none
can jump. Board: o a peg, . a free hole, # no hole; columns have letters, rows have numbers from the top."""
KNIGHTS = """White and black knights stand on a board of odd shape. A knight moves as in chess: two cells in one direction and one cell
across, onto a free cell, whatever stands between. Any knight may move at any time, and none is ever taken. You win when the knights stand
as the goal shows: the white ones where the black ones began, and the black ones where the white ones began. Board: W a white
knight, B a black one, . a free cell, # no cell; columns have letters, rows have numbers from the top. In a picture the corner of a
cell has the colour of the knight that should stand there at the end."""


@register("world", "PegJump", domain="puzzles", engine="slide")
def peg_jump() -> TurnWorld[Pose]:
    """Jump with pegs over pegs until one is left; every start can be solved, and one wrong jump may spoil it."""
    facts = Facts(
        name="PegJump",
        rules=PEGS,
        answer="The cell of the peg that jumps and the cell where it lands, as in b3 d3.",
        example="b3 d3",
        ceilings={"random": 0.08, "constant": 0.01, "first": 0.1, "blind": 0.02},
        sayings=SAYINGS,
    )
    table = (
        *((5, 4, 0, 3), (5, 4, 0, 4), (5, 4, 0, 6), (5, 5, 1, 7), (5, 5, 0, 8)),
        *((6, 5, 0, 9), (6, 5, 0, 10), (6, 6, 1, 12), (6, 6, 0, 14), (7, 6, 0, 16)),
    )
    levels = levels_of(("width", "height", "cut", "jumps"), table)
    return TurnWorld(facts=facts, levels=levels, game=PoseGame(Pegs(), "b3 d3"), schema=Pose)


@register("world", "KnightSwap", domain="puzzles", engine="slide")
def knight_swap() -> TurnWorld[Pose]:
    """Make white and black knights change places on a small board of odd shape; the oracle knows a shortest way from anywhere."""
    facts = Facts(
        name="KnightSwap",
        rules=KNIGHTS,
        answer="The cell of a knight and the cell it moves to, as in a1 b3.",
        example="a1 b3",
        ceilings={"random": 0.03, "constant": 0.01, "first": 0.01, "blind": 0.02},
        sayings=SAYINGS,
    )
    table = (
        *((4, 4, 9, 1, 4, 4, 900), (4, 4, 9, 1, 6, 6, 900), (4, 4, 9, 2, 8, 8, 900), (4, 4, 9, 2, 10, 10, 900)),
        *((3, 4, 9, 2, 12, 12, 900), (4, 4, 9, 2, 14, 14, 900), (3, 4, 9, 2, 16, 16, 900), (3, 4, 9, 2, 18, 20, 900)),
        *((3, 4, 10, 3, 20, 24, 3000), (4, 4, 10, 3, 24, 60, 4000)),
    )
    levels = levels_of(("width", "height", "cells", "knights", "low", "high", "nodes"), table)
    return TurnWorld(facts=facts, levels=levels, game=PoseGame(Knights(), "a1 b3"), schema=Pose)
