"""TwiddleTiles and PipeTurn: turn parts of a board until it is in order."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.slide.pipes import Pipes
from quintain.worlds.engines.slide.pose import SAYINGS, Pose, PoseGame
from quintain.worlds.engines.slide.twiddle import Twiddle
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

NUMBERS = """Numbers fill a board. A turn takes a block of 2 x 2 cells and turns it by a quarter to the right or to the left, so that its
four numbers move on by one place around the block. You win when the numbers stand in order, row by row, 1 at the upper left. A block is
named by its upper left cell: in b2 right the block of b2, c2, b3 and c3 is turned clockwise. Columns have letters, rows have numbers
from the top."""
PIPES = """Every cell of a board holds a pipe that can be turned in place. Turn pipes until all of them are connected with the source and
no opening leads nowhere: each opening must meet an opening of the pipe next to it, and none may lead out of the board. Any such end
counts. A move names a pipe and by how many quarters it turns to the right: b3 1, b3 2 or b3 3 (one to the left); a turn that
leaves it as it lies is not allowed. In the board a sign
shows the openings of a pipe by its lines (│ up and down, └ up and right, ├ up, right and down, ╴ only left, and so on); columns have
letters, rows have numbers from the top. In a picture pipes that are connected with the source, which is golden, are blue."""


@register("world", "TwiddleTiles", domain="puzzles", engine="slide")
def twiddle_tiles() -> TurnWorld[Pose]:
    """Turn blocks of 2 x 2 numbers until all numbers stand in order, on 3x3 to 4x4 cells."""
    facts = Facts(
        name="TwiddleTiles",
        rules=NUMBERS,
        answer="The upper left cell of a block and right or left, as in b2 right.",
        example="b2 right",
        ceilings={"random": 0.03, "constant": 0.01, "first": 0.01, "blind": 0.02},
        sayings=SAYINGS,
    )
    table = (
        *((3, 3, 3, 2), (3, 3, 4, 3), (3, 3, 5, 4), (3, 3, 6, 5), (3, 3, 7, 6)),
        *((3, 3, 9, 7), (3, 3, 12, 7), (4, 3, 7, 7), (4, 3, 10, 8), (4, 4, 12, 8)),
    )
    levels = levels_of(("width", "height", "turns", "low"), table)
    return TurnWorld(facts=facts, levels=levels, game=PoseGame(Twiddle(), "b2 right"), schema=Pose)


@register("world", "PipeTurn", domain="puzzles", engine="slide")
def pipe_turn() -> TurnWorld[Pose]:
    """Turn pipes in place until all are connected with the source and nothing leaks; any such end counts."""
    facts = Facts(
        name="PipeTurn",
        rules=PIPES,
        answer="A cell and how many quarters its pipe turns to the right, as in b3 2; without a number it turns by one.",
        example="b3 2",
        proof="construction",
        ceilings={"random": 0.01, "constant": 0.01, "first": 0.01, "blind": 0.02},
        sayings=SAYINGS,
    )
    table = (
        *((3, 3, 3), (3, 3, 5), (4, 4, 7), (4, 4, 10), (5, 5, 13)),
        *((5, 5, 17), (6, 6, 22), (6, 6, 27), (7, 7, 36), (8, 8, 50)),
    )
    levels = levels_of(("width", "height", "turned"), table)
    return TurnWorld(facts=facts, levels=levels, game=PoseGame(Pipes(), "b3 2"), schema=Pose)
