"""Mastermines: a mine field that logic alone clears."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.csp.probe import SAYINGS, ProbeWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """Open every cell that hides no mine, one cell a turn. An open cell shows how many of the up to eight cells around it hide
mines; a 0 opens the cells around it by itself. Opening a mine ends the game. The numbers and the count of all mines always make
some closed cell certain, so that no guess is needed.
Map: ? closed, 0 to 8 open, * the mine that was opened. Columns have letters, rows have numbers from the top; the
corner of a picture counts all mines."""

# size, mines, how often several numbers must be thought of together
TABLE = (
    (4, 3, 0),
    (5, 3, 0),
    (5, 4, 0),
    (6, 6, 0),
    (6, 6, 1),
    (7, 9, 1),
    (8, 11, 1),
    (8, 12, 1),
    (9, 15, 2),
    (10, 20, 3),
)
KNOBS = ("size", "mines", "hard")


@register("world", "Mastermines", domain="logic", engine="csp")
def mastermines() -> ProbeWorld:
    """Clear a mine field by logic. Every board is made so that no guess is needed; the oracle sees what the player sees."""
    facts = Facts(
        name="Mastermines",
        rules=RULES,
        answer="Name the cell to open: its column letter and row number.",
        example="b3",
        ceilings={"random": 0.02, "constant": 0.01, "first": 0.01, "blind": 0.02},
        sayings=SAYINGS,
    )
    return ProbeWorld(facts=facts, levels=levels_of(KNOBS, TABLE))
