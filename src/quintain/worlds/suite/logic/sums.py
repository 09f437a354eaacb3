"""Grids of numbers that add up: Survo, magic squares, cross sums."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from quintain.registry import register
from quintain.types import Ints
from quintain.worlds.engines.csp.clues import domains_of, settle, thin
from quintain.worlds.engines.csp.desk import CEILINGS, SAYINGS, DeskWorld
from quintain.worlds.engines.csp.page import BLANK, WALL, Page, Truth, columns_of, neighbours, rows_of
from quintain.worlds.engines.csp.page_look import Look
from quintain.worlds.engines.csp.rules import Distinct, Rule, Sum, Total
from quintain.worlds.engines.csp.solve import Model
from quintain.worlds.engines.csp.tables import Patterns, Table
from quintain.worlds.kernel import Facts, levels_of
from quintain.worlds.noise import Rng

END = "There is exactly one solution. Columns have letters, rows have numbers from the top; . is a blank cell."
ANSWER = "Write the whole grid row by row, numbers parted by spaces and rows by /."
Knobs = Mapping[str, Any]


def facts(name: str, rules: str, example: str = "6 2 3 / 1 4 5 / 9 8 7", answer: str = ANSWER) -> Facts:
    """What these worlds declare."""
    return Facts(name=name, rules=f"{rules}\n{END}", answer=answer, example=example, ceilings=CEILINGS, sayings=SAYINGS)


def survo_model(page: Page) -> Model:
    """Every number once; the sums of rows on the right, of columns below."""
    width, height = page.width, page.height
    count = width * height
    values = (1 << count) - 1 << 1
    lines = (*columns_of(width, height), *rows_of(width, height))
    sums = [Total(c, int(s)) for c, s in zip(lines, (*page.sides[3], *page.sides[2]), strict=True)]
    return Model((Distinct(tuple(range(count)), values), *sums), domains_of(page, values))


def survo_plant(rng: Rng, knobs: Knobs) -> Truth:
    """The numbers in random order."""
    width, height = knobs["width"], knobs["height"]
    values = list(range(1, width * height + 1))
    rng.shuffle(values)
    return Truth(width, height, tuple(values))


def survo_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """All sums, and as many blanks as the knob says."""
    width, height, values = truth.width, truth.height, truth.values
    below, right = (
        [str(sum(values[c] for c in line)) for line in side(width, height)] for side in (columns_of, rows_of)
    )
    page = Page(width=width, height=height, given=values, sides=((), (), tuple(right), tuple(below)))
    empty = Page(width=width, height=height, given=(BLANK,) * len(values), sides=page.sides)
    return thin(rng, page, values, survo_model(empty), knobs["blanks"])


def all_numbers(page: Page) -> Sequence[int]:
    """1 to the number of cells."""
    return range(1, page.width * page.height + 1)


@register("world", "Survo", domain="logic", engine="csp")
def survo() -> DeskWorld:
    """Place the numbers from 1 on, each once, so that rows and columns have given sums."""
    rules = """Fill the grid of N cells with the numbers 1 to N, each once. The sums of the rows stand on the right, those of the columns
at the bottom."""
    table = (
        (3, 3, 4),
        (3, 3, 5),
        (3, 3, 6),
        (4, 3, 6),
        (4, 3, 7),
        (4, 3, 8),
        (5, 3, 8),
        (5, 3, 9),
        (4, 4, 10),
        (5, 4, 11),
    )
    return DeskWorld(
        facts=facts("Survo", rules),
        levels=levels_of("width height blanks", table),
        plant=survo_plant,
        clue=survo_clue,
        model=survo_model,
        values=all_numbers,
        size=lambda knobs: (knobs["width"], knobs["height"]),
    )


@functools.lru_cache(maxsize=8)
def magic_rules(size: int) -> tuple[Rule, ...]:
    """Every number once; rows, columns and both diagonals with the same sum."""
    count = size * size
    lines = [*rows_of(size, size), *columns_of(size, size)]
    lines += [tuple(range(0, count, size + 1)), tuple(range(size - 1, count - 1, size - 1))]
    sums = [Total(line, size * (count + 1) // 2) for line in lines]
    return Distinct(tuple(range(count)), (1 << count) - 1 << 1), *sums


def magic_model(page: Page) -> Model:
    """The rules and the printed cells."""
    count = page.width * page.width
    return Model(magic_rules(page.width), domains_of(page, (1 << count) - 1 << 1))


SQUARES = {  # pairs of Latin squares whose pairs of values are all different, with all values on both diagonals
    4: ("0123 2301 3210 1032", "0123 3210 1032 2301"),
    5: ("01234 23401 40123 12340 34012", "01234 34012 12340 40123 23401"),
}


def magic_plant(rng: Rng, knobs: Knobs) -> Truth:
    """Two orthogonal Latin squares, renamed: sums are the same whatever digits stand for."""
    size = knobs["size"]
    first, second = (square.replace(" ", "") for square in SQUARES[size])
    one, two = rng.sample(range(size), size), rng.sample(range(size), size)
    high = rng.below(2)
    values = []
    for a, b in zip(first, second, strict=True):
        x, y = one[int(a)], two[int(b)]
        values.append(1 + (x * size + y if high else y * size + x))
    return Truth(size, size, tuple(values))


def magic_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """As many blanks as the knob says."""
    size, count = truth.width, truth.width**2
    page = Page(width=size, height=size, given=truth.values)
    made = Model(magic_rules(size), ((1 << count) - 1 << 1,) * count)
    return thin(rng, page, truth.values, made, knobs["blanks"])


@register("world", "MagicSquare", domain="logic", engine="csp")
def magic_square() -> DeskWorld:
    """Complete a magic square of 4x4 or 5x5 cells."""
    rules = """Complete the magic square: an NxN grid holds each of the numbers 1 to N*N once, and every row, every
column and both diagonals have the same sum, which is 34 for 4x4 and 65 for 5x5 cells."""
    table = ((4, 4), (4, 5), (4, 6), (4, 7), (4, 8), (4, 9), (5, 10), (5, 11), (5, 12), (5, 13))
    return DeskWorld(
        facts=facts("MagicSquare", rules, "16 3 2 13 / 5 10 11 8 / 9 6 7 12 / 4 15 14 1"),
        levels=levels_of("size blanks", table),
        plant=magic_plant,
        clue=magic_clue,
        model=magic_model,
        values=all_numbers,
    )


def runs(page_or_walls: Sequence[int], width: int) -> list[Ints]:
    """Runs of at least two cells between walls, along rows and columns."""
    height, out = len(page_or_walls) // width, []
    for line in (*rows_of(width, height), *columns_of(width, height)):
        for open_cells, group in itertools.groupby(line, lambda c: page_or_walls[c] != WALL):
            cells = tuple(group)
            if open_cells and len(cells) > 1:
                out.append(cells)
    return out


@functools.lru_cache(maxsize=1024)
def addends(length: int, total: int, highest: int) -> Patterns:
    """Different numbers that add up, in every order."""
    found = [t for t in itertools.combinations(range(1, highest + 1), length) if sum(t) == total]
    return Patterns([p for t in found for p in itertools.permutations(t)], highest + 1)


def sum_rule(cells: Ints, total: int) -> Rule:
    """A run of different numbers with a sum; long runs without a list of all fillings."""
    return Table(cells, addends(len(cells), total, 9)) if len(cells) < 6 else Sum(cells, total)


def kakuro_model(page: Page) -> Model:
    """Each run has the sum that the wall before it shows: left part for down, right part for across."""
    clues, rules = dict(page.labels), []
    for cells in runs(page.given, page.width):
        across = cells[1] == cells[0] + 1
        wall = cells[0] - (1 if across else page.width)
        down, _, right = clues[wall].partition("\\")
        rules.append(sum_rule(cells, int(right if across else down)))
    digits: Ints = tuple(1 if v == WALL else 1022 if v == BLANK else 1 << v for v in page.given)
    return Model(tuple(rules), digits)


def crossed(grid: Sequence[int], size: int) -> bool:
    """Whether every cell lies in two runs and all hang together; the first row and column are walls."""
    free = {c for c, v in enumerate(grid) if v != WALL}
    for c in free:
        if not ((c - 1 in free or c + 1 in free) and (c - size in free or c + size in free)):
            return False
    near, reached = neighbours(size, size), [min(free)]
    free -= {*reached}
    for c in reached:
        new = free.intersection(near[c])
        free -= new
        reached += new
    return not free


def kakuro_plant(rng: Rng, knobs: Knobs) -> Truth | None:
    """Walls, the first row and column among them, each put where runs stay whole; then different numbers in each run."""
    size = knobs["size"] + 1
    grid = [WALL if c < size or c % size == 0 else 0 for c in range(size * size)]
    for _ in range(knobs["walls"]):
        cell = size + 1 + rng.below(size * (size - 1) - 1)
        trial = grid.copy()
        trial[cell] = WALL
        if crossed(trial, size):
            grid = trial
    lines: dict[int, list[Ints]] = {}
    for line in runs(grid, size):
        for c in line:
            lines.setdefault(c, []).append(line)
    for _ in range(40):
        full = grid.copy()
        for cell, both in lines.items():
            used = {full[o] for line in both for o in line}
            free = [v for v in range(1, 10) if v not in used]
            if not free:
                break
            full[cell] = rng.pick(free[: knobs["low"]])
        else:
            return Truth(size, size, tuple(full))
    return None


def kakuro_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """All sums; cells are printed where they leave two ways."""
    size, values = truth.width, truth.values
    clues: dict[int, list[str]] = {}
    for cells in runs(values, size):
        across = cells[1] == cells[0] + 1
        wall = cells[0] - (1 if across else size)
        clues.setdefault(wall, ["", ""])[across] = str(sum(values[c] for c in cells))
    page = Page(
        width=size,
        height=size,
        given=tuple(WALL if v == WALL else BLANK for v in values),
        labels=tuple((c, "\\".join(clues[c])) for c in sorted(clues)),
    )
    return settle(rng, page, values, kakuro_model, 2 * size)


@register("world", "Kakuro", domain="logic", engine="csp")
def kakuro() -> DeskWorld:
    """Cross sums: runs of different digits with given sums, 3x3 to 6x6 cells."""
    rules = """Fill the blank cells with the digits 1 to 9. A run is a line of cells between walls (#), along a row or a column; no digit
occurs twice in a run. A clue in a wall, as in a2=14\\6, gives the sum of the run below it (14) and of the run to its right
(6); either may be missing."""
    table = (
        (3, 1, 5),
        (3, 1, 6),
        (3, 0, 6),
        (4, 4, 5),
        (4, 3, 5),
        (5, 9, 5),
        (5, 8, 5),
        (5, 7, 6),
        (6, 16, 5),
        (6, 12, 6),
    )
    return DeskWorld(
        facts=facts(
            "Kakuro",
            rules,
            "# # # / # 1 2 / # 3 1",
            "Write the whole grid row by row with # for walls, parted by spaces, and rows by /.",
        ),
        levels=levels_of("size walls low", table),
        plant=kakuro_plant,
        clue=kakuro_clue,
        model=kakuro_model,
        values=lambda page: range(1, 10),
        look=Look(label="split"),
        size=lambda knobs: (knobs["size"] + 1, knobs["size"] + 1),
    )
