"""SwapAttack and GemSwap: gems that vanish three in a line."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.grid import gem_pile, gem_swap
from quintain.worlds.engines.grid.hues import LEGEND
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

ATTACK = f"""Clear a whole pile of gems with a few swaps, all said in one answer. A swap exchanges what two cells beside each
other in one row hold: two gems, or a gem and an empty cell; it is named by the left one of the two cells. After each swap gems without
support fall straight down; then all gems that stand three or more in a line of one colour, across or down, vanish at once; the rest
falls, and again, until nothing moves; then comes the next swap. A swap of two gems of one colour or of two
empty cells spoils the answer. There is one answer, of no more swaps than are allowed; any that clears the pile is right, and one that
leaves gems earns {gem_pile.NEAR} times the share that vanished.
Board: {LEGEND}, . empty; columns have letters, rows have numbers from the top."""
SWAP = f"""Swap two gems beside each other, across or down, so that three or more gems of one colour stand in a line. They vanish,
the gems above them fall, and lines that form so vanish as well, until nothing moves. No new gems come. A swap that makes no line is not
allowed. You win when as many gems are cleared as asked, before your swaps are used up.
Board: {LEGEND}, . empty; columns have letters, rows have numbers from the top."""


@register("world", "SwapAttack", domain="puzzles", engine="grid")
def swap_attack() -> TurnWorld[gem_pile.Pile]:
    """Name the few swaps that clear a pile of gems to the last, chains and all, in one answer."""
    facts = Facts(
        name="SwapAttack",
        rules=ATTACK,
        answer="Name the left cell of each swap in order, as in b5 c6, or its row and column, as in 52 63.",
        example="b5 c6",
        proof="construction",
        ceilings={"random": 0.06, "constant": 0.03, "first": 0.03, "blind": 0.06},
        sayings=gem_pile.SAYINGS,
    )
    table = (
        *((6, 6, 3, 2, 1), (6, 7, 4, 2, 2), (6, 7, 4, 3, 1), (6, 8, 4, 3, 2), (6, 9, 4, 3, 3)),
        *((6, 9, 4, 4, 1), (7, 9, 5, 4, 2), (7, 10, 5, 5, 2), (7, 11, 5, 5, 3), (8, 11, 5, 6, 3)),
    )
    levels = levels_of(("width", "height", "colours", "swaps", "chains"), table)
    return TurnWorld(facts=facts, levels=levels, game=gem_pile.PileGame(), schema=gem_pile.Pile)


@register("world", "GemSwap", domain="puzzles", engine="grid")
def gem_swap_() -> TurnWorld[gem_swap.Gems]:
    """Swap gems to make lines of three on a board without refill, and clear as many within few swaps as a search can."""
    facts = Facts(
        name="GemSwap",
        rules=SWAP,
        answer="Name the two cells, as in b2-b3.",
        example="b2-b3",
        ceilings={"random": 0.08, "constant": 0.01, "first": 0.06, "blind": 0.02},
        sayings=gem_swap.SAYINGS,
    )
    table = (
        *((4, 3, 2, 0), (5, 3, 2, 0), (5, 3, 3, 0), (6, 4, 3, 0), (6, 4, 4, 0)),
        *((7, 5, 5, 0), (7, 5, 6, 0), (7, 5, 7, 0), (8, 6, 8, 0), (9, 6, 10, 0)),
    )
    levels = levels_of(("side", "colours", "swaps", "spare"), table)
    return TurnWorld(facts=facts, levels=levels, game=gem_swap.GemGame(), schema=gem_swap.Gems)
