"""Grids of zeros and ones: balanced rows, weighted sums, thermometers, parities, and pictures painted by numbers."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quintain.registry import register
from quintain.types import Ints
from quintain.worlds.art import tiles
from quintain.worlds.engines.csp.clues import domains_of, planted, settle, thin
from quintain.worlds.engines.csp.desk import CEILINGS, SAYINGS, DeskWorld
from quintain.worlds.engines.csp.page import BLANK, Page, Truth, called, columns_of, layout_of, neighbours, rows_of
from quintain.worlds.engines.csp.page_look import Look
from quintain.worlds.engines.csp.rules import Rule, Total
from quintain.worlds.engines.csp.solve import Model, Solver
from quintain.worlds.engines.csp.tables import Pair, Relation, Table, ones
from quintain.worlds.kernel import Facts, levels_of
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc

PLACES = "Columns have letters, rows have numbers from the top; . is a blank cell."
UNIQUE = f"There is exactly one solution. {PLACES}"
NAMING = "Name the marked cells, a column letter and a row number each, parted by spaces."
Knobs = Mapping[str, Any]


def marking(name: str, rules: str, answer: str = NAMING, example: str = "a1 c2 b3") -> Facts:
    """What worlds declare whose answer names cells."""
    return Facts(name=name, rules=rules, answer=answer, example=example, ceilings=CEILINGS, sayings=SAYINGS)


def bits(page: Page) -> Ints:
    """Domains of cells that are marked or not."""
    return domains_of(page, 3)


def both(page: Page) -> Sequence[int]:
    """The values of a cell that is marked or not."""
    return (0, 1)


def lines_of(page: Page) -> tuple[Ints, ...]:
    """Columns, then rows."""
    return (*columns_of(page.width, page.height), *rows_of(page.width, page.height))


@dataclass(frozen=True, slots=True)
class Unlike:
    """Two lines of cells, the first and the second half of `cells`, are not the same."""

    cells: Ints

    def narrow(self, domains: list[int]) -> list[int] | None:
        half, spare = len(self.cells) // 2, None
        for a, b in zip(self.cells[:half], self.cells[half:], strict=True):
            one, two = domains[a], domains[b]
            if not one & two:
                return []
            if one & (one - 1) or two & (two - 1):
                if spare is not None or (one & (one - 1) and two & (two - 1)):
                    return []
                spare = (a, two) if one & (one - 1) else (b, one)
        if spare is None:
            return None
        domains[spare[0]] &= ~spare[1]
        return [spare[0]]


def balanced(line: Sequence[int], strict: int) -> bool:
    """As many ones as zeros; if `strict`, never three alike in a row."""
    runs = [len(list(run)) for _, run in itertools.groupby(line)]
    return sum(line) * 2 == len(line) and (not strict or max(runs) < 3)


@functools.lru_cache(maxsize=32)
def balance_rules(size: int, strict: int) -> tuple[Rule, ...]:
    """Every line is balanced, no two rows and no two columns are the same."""
    patterns, out = ones(size, balanced, strict), []
    for side in (rows_of(size, size), columns_of(size, size)):
        out += [Table(line, patterns) for line in side]
        out += [Unlike((*a, *b)) for a, b in itertools.combinations(side, 2)]
    return tuple(out)


def balance_model(strict: int, page: Page) -> Model:
    """The rules and the printed cells."""
    return Model(balance_rules(page.width, strict), bits(page))


def balance_plant(strict: int, rng: Rng, knobs: Knobs) -> Truth:
    """A random balanced grid."""
    size = knobs["size"]
    solver = Solver(balance_rules(size, strict), size * size)
    return planted(knobs, solver.search([3] * (size * size), rng=rng).one)


def balance_clue(strict: int, rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """As many blanks as the knob says."""
    size = knobs["size"]
    made = Model(balance_rules(size, strict), (3,) * (size * size))
    page = Page(width=size, height=size, given=truth.values)
    return thin(rng, page, truth.values, made, knobs["blanks"])


def _balance(name: str, strict: int, rules: str, table: Sequence[Sequence[int]]) -> DeskWorld:
    return DeskWorld(
        facts=Facts(
            name=name,
            rules=f"{rules}\n{UNIQUE}",
            answer="Write the whole grid row by row, zeros and ones parted by spaces and rows by /.",
            example="0 1 0 1 / 1 0 1 0 / 0 0 1 1 / 1 1 0 0",
            ceilings=CEILINGS,
            sayings=SAYINGS,
        ),
        levels=levels_of("size blanks", table),
        plant=functools.partial(balance_plant, strict),
        clue=functools.partial(balance_clue, strict),
        model=functools.partial(balance_model, strict),
        values=both,
    )


@register("world", "Binairo", domain="logic", engine="csp")
def binairo() -> DeskWorld:
    """Fill a grid with zeros and ones, balanced and never three alike in a row, 6x6 or 8x8."""
    rules = """Fill the grid with 0 and 1. Every row and every column holds as many 0 as 1, no three equal digits stand next to each
other in a row or column, no two rows are the same, and no two columns are."""
    table = ((6, 8), (6, 12), (6, 16), (6, 19), (6, 22), (6, 24), (8, 30), (8, 35), (8, 40), (8, 44))
    return _balance("Binairo", 1, rules, table)


@register("world", "BinairoLoose", domain="logic", engine="csp")
def binairo_loose() -> DeskWorld:
    """Fill a grid with zeros and ones, balanced, with no two lines alike; threes in a row are allowed."""
    rules = """Fill the grid with 0 and 1. Every row and every column holds as many 0 as 1, no two rows are the same, and no two columns
are. Any number of equal digits may stand next to each other."""
    table = ((6, 5), (6, 8), (6, 11), (6, 13), (6, 15), (6, 17), (8, 20), (8, 24), (8, 28), (8, 32))
    return _balance("BinairoLoose", 0, rules, table)


def weighs(line: Sequence[int], total: int) -> bool:
    """The places of the ones, counted from 1, add up to `total`."""
    return sum(i * v for i, v in enumerate(line, 1)) == total


def kakurasu_model(page: Page) -> Model:
    """Sums of places, on the right and below."""
    below, right = page.sides[3], page.sides[2]
    tables = [
        Table(line, ones(len(line), weighs, int(text)))
        for line, text in zip(lines_of(page), (*below, *right), strict=True)
    ]
    return Model(tuple(tables), bits(page))


def random_marks(rng: Rng, knobs: Knobs) -> Truth | None:
    """Marks in random cells, about half of them, at least one in each row and column."""
    size = knobs["size"]
    values = [int(rng.uniform() < 0.5) for _ in range(size * size)]
    full = all(any(values[c] for c in line) for line in (*rows_of(size, size), *columns_of(size, size)))
    return planted(knobs, values) if full else None


def kakurasu_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """All sums; cells are printed where they leave two ways."""
    size, values = knobs["size"], truth.values
    sums = [
        str(sum(i * values[c] for i, c in enumerate(line, 1))) for line in columns_of(size, size) + rows_of(size, size)
    ]
    blank = (BLANK,) * (size * size)
    page = Page(width=size, height=size, given=blank, sides=((), (), tuple(sums[size:]), tuple(sums[:size])))
    return settle(rng, page, values, kakurasu_model, 2 + size * size // 8)


@register("world", "Kakurasu", domain="logic", engine="csp")
def kakurasu() -> DeskWorld:
    """Mark cells so that the places of the marks in each row and column add up to given sums, 4x4 to 8x8."""
    rules = f"""Mark cells. A mark in the first column counts 1 for the sum of its row, in the second 2, and so on; a mark in
the first row counts 1 for the sum of its column, in the second 2, and so on. The sums of the rows stand on the right, those of
the columns at the bottom. A printed 1 is marked and need not be named, a printed 0 (x in the picture) is not marked.
{UNIQUE}"""
    table = ((4,), (4,), (4,), (5,), (5,), (6,), (6,), (7,), (7,), (8,))
    return DeskWorld(
        facts=marking("Kakurasu", rules),
        levels=levels_of("size", table),
        plant=random_marks,
        clue=kakurasu_clue,
        model=kakurasu_model,
        values=both,
        marks=True,
        look=Look(mark="fill"),
    )


def paths_of(page: Page) -> list[Ints]:
    """The thermometers of the notes, from the bulb on."""
    index = {name: i for i, name in enumerate(called(page.width, page.height))}
    return [tuple(index[name] for name in note.split()) for note in page.notes]


THROUGH = Relation(lambda a, b: a >= b, 2)  # a cell is filled only if the one before it is


def thermometer_model(page: Page) -> Model:
    """Counts of filled cells, and thermometers that fill from the bulb."""
    counts = [
        Total(line, int(text)) for line, text in zip(lines_of(page), (*page.sides[0], *page.sides[1]), strict=True)
    ]
    chains = [Pair(pair, THROUGH) for path in paths_of(page) for pair in itertools.pairwise(path)]
    return Model((*counts, *chains), bits(page))


def thermometer_plant(rng: Rng, knobs: Knobs) -> Truth:
    """Random paths that cover the grid, each filled up to somewhere."""
    size = knobs["size"]
    near, taken, values, notes = neighbours(size, size), [False] * (size * size), [0] * (size * size), []
    order, names = list(range(size * size)), called(size, size)
    rng.shuffle(order)
    for cell in order:
        if taken[cell]:
            continue
        path, longest = [cell], 3 + rng.below(size)
        taken[cell] = True
        while len(path) < longest:
            free = [n for n in near[path[-1]] if not taken[n]]
            if not free:
                break
            path.append(rng.pick(free))
            taken[path[-1]] = True
        for c in path[: rng.below(len(path) + 1)]:
            values[c] = 1
        notes.append(" ".join(names[c] for c in path))
    return Truth(size, size, tuple(values), tuple(notes))


def thermometer_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """All counts; cells are printed where they leave two ways."""
    size, values = truth.width, truth.values
    top, left = ([str(sum(values[c] for c in line)) for line in side(size, size)] for side in (columns_of, rows_of))
    page = Page(
        width=size,
        height=size,
        given=(BLANK,) * (size * size),
        sides=(tuple(top), tuple(left), (), ()),
        notes=truth.more,
    )
    return settle(rng, page, values, thermometer_model, 2 + size) if any(values) else None


tiles(
    {
        "tube-bulb": (Disc(x=0.5, y=0.5, radius=0.38, fill="seam"),),
        "tube-end": (Disc(x=0.5, y=0.5, radius=0.2, fill="seam"),),
        "tube-up": (Box(x=0.3, y=0, width=0.4, height=0.5, fill="seam"),),
        "tube-down": (Box(x=0.3, y=0.5, width=0.4, height=0.5, fill="seam"),),
        "tube-left": (Box(x=0, y=0.3, width=0.5, height=0.4, fill="seam"),),
        "tube-right": (Box(x=0.5, y=0.3, width=0.5, height=0.4, fill="seam"),),
    }
)


def tubes(page: Page) -> tuple[str, ...]:
    """The piece of a thermometer that lies in each cell."""
    way = {-page.width: "up", page.width: "down", -1: "left", 1: "right"}
    out = [""] * len(page.given)
    for path in paths_of(page):
        for i, c in enumerate(path):
            links = [path[k] - c for k in (i - 1, i + 1) if 0 <= k < len(path)]
            out[c] = ("+tube-bulb" if i == 0 else "+tube-end") + "".join(f"+tube-{way[step]}" for step in links)
    return tuple(out)


@register("world", "Thermometers", domain="logic", engine="csp")
def thermometers() -> DeskWorld:
    """Fill thermometers from their bulbs so that each row and column holds the given number of filled cells."""
    rules = f"""Every cell is part of a thermometer; a line below the grid that begins with * lists its cells from the bulb (the
disc of the picture) to the tip. Mark the filled cells: a thermometer is filled from its bulb up to some cell, or not at all.
The numbers above and on the left count the marked cells of each column and row. A printed 1 (a black disc in the picture) is
marked and need not be named, a printed 0 (x in the picture) is not marked. {UNIQUE}"""
    table = ((4,), (4,), (5,), (5,), (5,), (6,), (6,), (7,), (7,), (8,))
    return DeskWorld(
        facts=marking("Thermometers", rules),
        levels=levels_of("size", table),
        plant=thermometer_plant,
        clue=thermometer_clue,
        model=thermometer_model,
        values=both,
        marks=True,
        ranges=False,  # from one cell to another may be along a thermometer
        look=Look(mark="disc", layers=tubes),
        layout=lambda truth: layout_of(replace(truth, more=())),
    )
