"""Sudokus beside the small ones: 9x9 step by step, and 6x6 with one more rule, which the page names."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from quintain.registry import register
from quintain.types import Ints
from quintain.worlds.art import tiles
from quintain.worlds.engines.csp.clues import cages, domains_of, letters, members, settle, thin
from quintain.worlds.engines.csp.desk import CEILINGS, SAYINGS, DeskWorld
from quintain.worlds.engines.csp.fill import STEPS
from quintain.worlds.engines.csp.page import BLANK, Page, Truth, columns_of, neighbours, rows_of
from quintain.worlds.engines.csp.page_look import Look, bounds
from quintain.worlds.engines.csp.rules import Distinct, Rule
from quintain.worlds.engines.csp.solve import Model, search
from quintain.worlds.engines.csp.tables import Patterns, Table
from quintain.worlds.kernel import Facts, levels_of
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Polygon, Shape
from quintain.worlds.splits import symmetries
from quintain.worlds.suite.logic.latin import ANSWER
from quintain.worlds.suite.logic.sums import END

Knobs = Mapping[str, Any]
EXAMPLE = "1 2 3 4 5 6 / 4 5 6 1 2 3 / 2 3 1 5 6 4 / 5 6 4 2 3 1 / 3 1 2 6 4 5 / 6 4 5 3 1 2"
BOXES = {6: 2, 9: 3}  # side -> rows of a box


def boxes(size: int) -> str:
    """The box of each cell."""
    high = BOXES[size]
    wide = size // high
    return "".join(chr(65 + r // high * high + c // wide) for r in range(size) for c in range(size))


@functools.lru_cache(maxsize=64)
def units(size: int, ground: str, diagonal: bool) -> tuple[Rule, ...]:
    """Rows, columns and regions, and the two diagonals if wanted, hold each digit once."""
    values = (1 << size) - 1 << 1
    lines = [*rows_of(size, size), *columns_of(size, size), *members(ground).values()]
    if diagonal:
        lines += [tuple(range(0, size * size, size + 1)), tuple(range(size - 1, size * size - 1, size - 1))]
    return tuple(Distinct(line, values) for line in lines)


def nine_plant(rng: Rng, knobs: Knobs) -> Truth:
    """A full grid: a regular one with rows, columns, stacks and digits in random order."""
    del knobs

    def lines() -> list[int]:
        return [3 * band + row for band in rng.sample(range(3), 3) for row in rng.sample(range(3), 3)]

    rows, columns, digits = lines(), lines(), rng.sample(range(1, 10), 9)
    values = tuple(digits[(3 * (r % 3) + r // 3 + c) % 9] for r in rows for c in columns)
    return Truth(9, 9, values)


def nine_model(page: Page) -> Model:
    """The rules and the printed digits."""
    return Model(units(9, boxes(9), False), domains_of(page, 1022))


def nine_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """As many blanks as the knob says."""
    page = Page(width=9, height=9, given=truth.values, ground=boxes(9), budget=knobs["blanks"] * 3 // 2)
    made = Model(units(9, boxes(9), False), (1022,) * 81)
    return thin(rng, page, truth.values, made, knobs["blanks"])


def nine_layout(truth: Truth) -> str:
    """The least image of the grid with its digits renamed by first appearance."""
    images = []
    for order in symmetries(9, 9):
        names: dict[int, str] = {}
        images.append("".join([names.setdefault(truth.values[i], str(len(names))) for i in order]))
    return min(images)


@register("world", "SudokuStep", domain="logic", engine="csp")
def sudoku_step() -> DeskWorld:
    """Solve a 9x9 sudoku cell by cell; a wrong entry costs a turn of the budget and may be written over."""
    rules = f"""Fill the blank cells with the digits 1 to 9 so that every row, every column and every box of 3x3 cells holds
each digit once; the map gives every cell the letter of its box. You write one cell a turn, and may write over what you wrote;
the text lists it after "You wrote", its grid stays as printed. {END}"""
    return DeskWorld(
        facts=Facts(
            name="SudokuStep",
            rules=rules,
            answer="Name a cell and its digit, as in b3=4.",
            example="b3=4",
            ceilings=CEILINGS,
            sayings=STEPS,
        ),
        levels=levels_of("blanks", [(n,) for n in (4, 8, 12, 17, 22, 27, 32, 37, 42, 46)]),
        plant=nine_plant,
        clue=nine_clue,
        model=nine_model,
        stepwise=True,
        look=Look(regions=lambda page: page.ground),
        layout=nine_layout,
        size=lambda knobs: (9, 9),
    )


@functools.lru_cache(maxsize=4096)
def sums(length: int, total: int) -> Patterns:
    """Different digits of 1 to 6 with a sum."""
    return Patterns([t for t in itertools.permutations(range(1, 7), length) if sum(t) == total], 7)


def variant_model(page: Page) -> Model:
    """Rows, columns, boxes or regions; diagonals; sums of cages, whose letters are those of the map."""
    kind = page.notes[0]
    rules = list(units(6, page.ground if kind == "jigsaw" else boxes(6), kind == "diagonal"))
    if kind == "killer":
        cells = members(page.ground)
        for cell, text in page.labels:
            cage = cells[page.ground[cell]]
            rules.append(Table(cage, sums(len(cage), int(text))))
    return Model(tuple(rules), domains_of(page, 126))


def variant_plant(rng: Rng, knobs: Knobs) -> Truth | None:
    """A full grid of some kind; the regions of a jigsaw are boxes whose borders were moved."""
    kind = rng.pick(("diagonal", "killer", "jigsaw"))
    ground = _jigsaw(rng) if kind == "jigsaw" else boxes(6)
    page = Page(width=6, height=6, given=(BLANK,) * 36, ground=ground, notes=(kind,))
    page = page if kind != "killer" else replace(page, notes=("plain",))
    found = search(variant_model(page), 1, rng, 300)
    return Truth(6, 6, found.solutions[0], (kind, ground)) if found.solutions else None


def _jigsaw(rng: Rng) -> str:
    """Boxes that swapped cells along their borders and still hang together."""
    ground, near = list(boxes(6)), neighbours(6, 6)
    for _ in range(60):
        a = rng.below(36)
        others = [n for n in near[a] if ground[n] != ground[a]]
        if not others:
            continue
        to = ground[rng.pick(others)]
        b = rng.pick([c for c in range(36) if ground[c] == to])
        trial = ground.copy()
        trial[a], trial[b] = to, ground[a]
        if all(_linked(cells, near) for cells in members("".join(trial)).values()):
            ground = trial
    return letters([ord(g) for g in ground])


def _linked(cells: Ints, near: tuple[Ints, ...]) -> bool:
    reached = [cells[0]]
    for c in reached:
        reached += [n for n in near[c] if n in cells and n not in reached]
    return len(reached) == len(cells)


def variant_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """As many blanks as the knob says; in killers, cages of different digits with their sums, and a few blanks more."""
    kind, ground = truth.more
    values, blanks = truth.values, knobs["blanks"]
    page = Page(width=6, height=6, given=values, ground=ground, notes=(kind,))
    if kind != "killer":
        made = variant_model(replace(page, given=(BLANK,) * 36))
        return thin(rng, page, values, made, blanks)
    for _ in range(20):
        ground = letters(cages(rng, 6, 6, 3))
        inside = members(ground).values()
        if all(len({values[c] for c in cage}) == len(cage) for cage in inside):
            break
    else:
        return None
    labels = tuple((cage[0], str(sum(values[c] for c in cage))) for cage in inside)
    shown = set(rng.sample(range(36), 32 - blanks))
    given = tuple(v if c in shown else BLANK for c, v in enumerate(values))
    return settle(
        rng, Page(width=6, height=6, given=given, ground=ground, labels=labels, notes=(kind,)), values, variant_model
    )


def _dashes(side: str) -> tuple[Shape, ...]:
    """One side of a cage."""
    near, spots = 0.06 if side in ("top", "left") else 0.9, [0.06 + 0.16 * k for k in range(6)]
    if side in ("top", "bottom"):
        return tuple([Box(x=far, y=near, width=0.08, height=0.04, fill="brick") for far in spots])
    return tuple([Box(x=near, y=far, width=0.04, height=0.08, fill="brick") for far in spots])


tiles(
    {
        "slash-down": (Polygon(points=((0, 0), (1, 1)), line="sky", thick=0.05, closed=False),),
        "slash-up": (Polygon(points=((0, 1), (1, 0)), line="sky", thick=0.05, closed=False),),
        **{f"cage-{side}": _dashes(side) for side in ("top", "bottom", "left", "right")},
    }
)


def lines(page: Page) -> tuple[str, ...]:
    """The diagonals or the cages, where they count."""
    if page.notes == ("killer",):
        return tuple(["".join([f"+cage-{side}" for side in bounds(page, page.ground, c)]) for c in range(36)])
    if page.notes != ("diagonal",):
        return ("",) * 36
    return tuple("+slash-down" * (c % 7 == 0) + "+slash-up" * (c % 5 == 0 and 0 < c < 35) for c in range(36))


@register("world", "SudokuVariant", domain="logic", engine="csp")
def sudoku_variant() -> DeskWorld:
    """Solve a 6x6 sudoku with diagonals, with cages and their sums, or with regions of any shape."""
    rules = f"""Fill the 6x6 grid so that every row, every column and every box of 2 rows and 3 columns holds each of
the digits 1 to 6 once. The line that begins with * names what is different: diagonal, both long diagonals hold each
digit once too; killer, the map gives cages, whose digits are all different and have the sum that the clue in their
first cell gives, while boxes count as well; jigsaw, the regions of the map hold each digit once and boxes do not
count. Thick lines part boxes or regions, dashed lines are the rims of cages. {END}"""
    return DeskWorld(
        facts=Facts(
            name="SudokuVariant", rules=rules, answer=ANSWER, example=EXAMPLE, ceilings=CEILINGS, sayings=SAYINGS
        ),
        levels=levels_of("blanks", [(n,) for n in (7, 10, 13, 15, 17, 19, 21, 23, 25, 26)]),
        plant=variant_plant,
        clue=variant_clue,
        model=variant_model,
        look=Look(regions=lambda page: boxes(6) if page.notes == ("killer",) else page.ground, layers=lines),
        size=lambda knobs: (6, 6),
        extra=("diagonal", "killer", "jigsaw"),
    )
