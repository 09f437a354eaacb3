"""MiniSudoku: each digit once in every row, column and box; as one answer, or cell by cell."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.csp.fill import SAYINGS, STEPS, FillWorld
from quintain.worlds.engines.csp.rules import Distinct, Rule
from quintain.worlds.kernel import Facts, levels_of

RULES = """Fill the blank cells of the grid so that every row, every column and every box holds each digit once.
A 4x4 grid takes the digits 1 to 4 and has boxes of 2 rows and 2 columns; a 6x6 grid takes 1 to 6 and has boxes of 2 rows
and 3 columns. There is exactly one solution. Columns have letters, rows have numbers from the top; . is a blank cell."""

TABLE = ((4, 3), (4, 5), (4, 7), (4, 9), (4, 11), (6, 12), (6, 16), (6, 19), (6, 22), (6, 25))  # size, blanks
LEVELS = levels_of("size blanks", TABLE)


def regions(size: int) -> str:
    """One sign per cell: the box that it lies in, 2 rows high."""
    wide = size // 2
    return "".join(chr(65 + row // 2 * 2 + column // wide) for row in range(size) for column in range(size))


def rules(size: int) -> tuple[Rule, ...]:
    """Rows, columns and boxes hold different digits."""
    digits, cells, boxes = (1 << size) - 1 << 1, range(size * size), regions(size)
    rows = [tuple(range(i * size, i * size + size)) for i in range(size)]
    columns = [tuple(range(i, size * size, size)) for i in range(size)]
    parts = [tuple(c for c in cells if boxes[c] == sign) for sign in sorted(set(boxes))]
    return tuple(Distinct(unit, digits) for unit in (*rows, *columns, *parts))


@register("world", "MiniSudoku", domain="logic", engine="csp")
def mini_sudoku() -> FillWorld:
    """Solve a 4x4 or 6x6 sudoku in one answer: the whole grid."""
    facts = Facts(
        name="MiniSudoku",
        rules=RULES,
        answer="Write the whole solved grid row by row, digits parted by spaces and rows by /.",
        example="1 2 3 4 / 3 4 1 2 / 2 1 4 3 / 4 3 2 1",
        ceilings={"random": 0.01, "constant": 0.01, "first": 0.01, "blind": 0.01},
        sayings=SAYINGS,
    )
    return FillWorld(facts=facts, levels=LEVELS, rules=rules, regions=regions)


@register("world", "MiniSudokuSteps", domain="logic", engine="csp")
def mini_sudoku_steps() -> FillWorld:
    """Solve a 4x4 or 6x6 sudoku cell by cell; a written cell may be written over."""
    facts = Facts(
        name="MiniSudokuSteps",
        rules=RULES + "\nYou write one cell a turn, and may write over what you wrote.",
        answer="Name a cell and its digit, as in b3=4.",
        example="b3=4",
        ceilings={"random": 0.01, "constant": 0.0, "first": 0.0, "blind": 0.01},
        sayings=STEPS,
    )
    return FillWorld(facts=facts, levels=LEVELS, rules=rules, regions=regions, stepwise=True)
