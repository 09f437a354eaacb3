"""ChainMarbles: shoot marbles into a chain until it is gone."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.arcade.loop import SAYINGS, Frame, arcade
from quintain.worlds.engines.arcade.marbles import Marbles, aims
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """A chain of coloured marbles lies on a track that leads to a hole. Its first marble, number 1, is the one nearest to
the hole along the track. Each turn you shoot the marble in your gun into the chain, or swap it with the next one.
shoot3 puts it in front of marble 3, into the cell of marble 2, and all from there to the front move one cell on
towards the hole; the number after that of the last marble puts it into the cell of the last, and all others move one
cell on. If it then stands in a group of three or more neighbours of one colour, the group vanishes and the part in
front of it falls back by as many cells, also where nothing is behind it; if the two marbles that meet there have one
colour and their group has three or more, it vanishes too, and so on. Then the next marble is loaded, and a new one
that nobody can foretell comes after it; a marble in the gun or next whose colour is no longer in the chain is
exchanged for a new one. New ones have colours that are still in the chain. Last, if it is time, the whole chain steps
one cell on: `push 2-of-3` says that it does in the second turn from now (1: in this turn), and then in every third.
You lose if the chain has reached the hole at the end of a turn. Make the whole chain vanish before the turns are used
up.
Map: R red (bar in the picture), G green (triangle), B blue (square), Y yellow (ring), W white (cross) marbles, + free track,
O hole, X hole when lost, . lawn. Counters: turns left, push, the marble in the gun, the next."""

# width, height, marbles, colours, turns from step to step, moves at least
TABLE = (
    (5, 5, 5, 2, 4, 2),
    (7, 5, 6, 3, 4, 4),
    (7, 5, 8, 3, 4, 5),
    (7, 5, 10, 3, 4, 6),
    (7, 7, 12, 4, 3, 8),
    (7, 7, 14, 4, 3, 9),
    (9, 7, 16, 4, 3, 11),
    (9, 7, 18, 4, 3, 12),
    (9, 9, 20, 5, 3, 15),
    (9, 9, 24, 5, 3, 20),
)
KNOBS = ("width", "height", "marbles", "colours", "pace", "low")


@register("world", "ChainMarbles", domain="temporal", engine="arcade", foresees=True)
def chain_marbles() -> TurnWorld[Frame]:
    """Shoot marbles into a moving chain so that groups of one colour vanish until none is left; the oracle searches over the groups."""
    facts = Facts(
        name="ChainMarbles",
        rules=RULES,
        answer="shoot and the number of a place in the chain (shoot3 puts your marble in front of the third), or swap.",
        example="shoot1",
        ceilings={"random": 0.03, "constant": 0.03, "first": 0.01, "blind": 0.05},
        sayings=SAYINGS | {"lost": "The chain has reached the hole."},
    )
    return arcade(facts, levels_of(KNOBS, TABLE), Marbles(), aims)
