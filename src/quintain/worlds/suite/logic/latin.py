"""Latin squares with clues: inequalities, neighbours, towers that are seen from outside, and cages."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quintain.registry import register
from quintain.types import Ints
from quintain.worlds.engines.csp.clues import cages, domains_of, latin, latin_rules, letters, members, planted, settle
from quintain.worlds.engines.csp.desk import CEILINGS, SAYINGS, DeskWorld
from quintain.worlds.engines.csp.page import BLANK, Page, Truth, columns_of, rows_of
from quintain.worlds.engines.csp.page_look import Look
from quintain.worlds.engines.csp.solve import Model
from quintain.worlds.engines.csp.tables import APART, LESS, NEXT, Pair, Patterns, Table
from quintain.worlds.kernel import Facts, levels_of
from quintain.worlds.noise import Rng

GRID = """Fill the grid so that every row and every column of an NxN grid holds each of the numbers 1 to N once."""
END = """There is exactly one solution. Columns have letters, rows have numbers from the top; . is a blank cell."""
ANSWER = "Write the whole solved grid row by row, numbers parted by spaces and rows by /."
EXAMPLE = "1 2 3 4 / 3 4 1 2 / 2 1 4 3 / 4 3 2 1"
Knobs = Mapping[str, Any]
PRODUCTS = tuple([str(n) for n in (400, 432, 450, 480, 540, 576, 600, 720, 900)])  # of four numbers up to 6, beyond 399


def facts(name: str, rules: str) -> Facts:
    """What all these worlds declare."""
    return Facts(
        name=name,
        rules=f"{GRID}\n{rules}\n{END}",
        answer=ANSWER,
        example=EXAMPLE,
        ceilings=CEILINGS,
        sayings=SAYINGS,
    )


def plant(rng: Rng, knobs: Knobs) -> Truth:
    """A random Latin square."""
    return planted(knobs, latin(rng, knobs["size"]))


def blank(size: int) -> Page:
    """A page without clues."""
    return Page(width=size, height=size, given=(BLANK,) * (size * size))


def digits(page: Page) -> Ints:
    """Domains of the cells."""
    return domains_of(page, (1 << page.width) - 1 << 1)


def borders(size: int) -> list[tuple[int, int]]:
    """Cells that share a side, the left or upper one first."""
    across = [(c, c + 1) for c in range(size * size) if c % size < size - 1]
    return across + [(c, c + size) for c in range(size * size - size)]


def with_clues(page: Page, clues: Sequence[Any]) -> Page:
    """The page with printed cells (cell, value) and signs between cells (a, b, sign)."""
    given = list(page.given)
    for clue in clues:
        if len(clue) == 2:
            given[clue[0]] = clue[1]
    return replace(page, given=tuple(given), pairs=tuple(sorted(c for c in clues if len(c) == 3)))


def futoshiki_model(page: Page) -> Model:
    """Rows, columns, inequalities."""
    pairs = [Pair((a, b) if sign == "<" else (b, a), LESS) for a, b, sign in page.pairs]
    return Model((*latin_rules(page.width), *pairs), digits(page))


def futoshiki_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """Inequalities and a few numbers, as many as are needed and `spare` more."""
    size, values = knobs["size"], truth.values
    clues: list[Any] = [(a, b, "<" if values[a] < values[b] else ">") for a, b in borders(size)]
    rng.shuffle(clues)
    clues = clues[: len(clues) * 3 // 5]
    shown = rng.sample(range(size * size), knobs["spare"])
    page = with_clues(blank(size), clues + [(c, values[c]) for c in shown])
    return settle(rng, page, values, futoshiki_model)


def renzoku_model(page: Page) -> Model:
    """Rows, columns; a dot lies between two cells exactly where their numbers differ by one."""
    dots = {(a, b) for a, b, _ in page.pairs}
    pairs = [Pair(ab, NEXT if ab in dots else APART) for ab in borders(page.width)]
    return Model((*latin_rules(page.width), *pairs), digits(page))


def renzoku_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """All dots, and as many numbers as are needed."""
    size, values = knobs["size"], truth.values
    shown = rng.sample(range(size * size), knobs["spare"])
    dots = [(a, b, "~") for a, b in borders(size) if abs(values[a] - values[b]) == 1]
    return settle(rng, with_clues(blank(size), dots + [(c, values[c]) for c in shown]), values, renzoku_model)


def seen(line: Sequence[int]) -> list[int]:
    """The towers of a line that are seen from its start: each that is higher than all before it."""
    return [h for i, h in enumerate(line) if h > max(line[:i], default=0)]


def summed(line: Sequence[int]) -> int:
    """The heights that are seen, added up."""
    return sum(seen(line))


def counted(line: Sequence[int]) -> int:
    """How many are seen."""
    return len(seen(line))


@functools.lru_cache(maxsize=4096)
def towers(size: int, clue: Callable[[Sequence[int]], int], near: str, far: str) -> Patterns:
    """The lines that show `near` from their start and `far` from their end."""
    lines = itertools.permutations(range(1, size + 1))
    fits = [t for t in lines if near in ("", str(clue(t))) and far in ("", str(clue(t[::-1])))]
    return Patterns(fits, size + 1)


def tower_model(clue: Callable[[Sequence[int]], int], page: Page) -> Model:
    """Rows, columns, and what is seen from the four sides."""
    top, left, right, bottom = page.sides
    size = page.width
    lines = [(c, top[i], bottom[i]) for i, c in enumerate(columns_of(size, size))]
    lines += [(c, left[i], right[i]) for i, c in enumerate(rows_of(size, size))]
    tables = [Table(c, towers(size, clue, a, b)) for c, a, b in lines if a or b]
    return Model((*latin_rules(size), *tables), digits(page))


def tower_clue(clue: Callable[[Sequence[int]], int], rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """Clues beside a share of the lines, then as many numbers as are needed."""
    size, values = knobs["size"], truth.values
    rows = [[values[c] for c in line] for line in rows_of(size, size)]
    columns = [[values[c] for c in line] for line in columns_of(size, size)]
    sides = [columns, rows, [r[::-1] for r in rows], [c[::-1] for c in columns]]
    hidden = set(rng.sample(range(4 * size), knobs["hidden"]))
    text = [
        tuple("" if s * size + i in hidden else str(clue(line)) for i, line in enumerate(side))
        for s, side in enumerate(sides)
    ]
    shown = [(c, values[c]) for c in rng.sample(range(size * size), knobs["spare"])]
    page = replace(with_clues(blank(size), shown), sides=tuple(text))
    return settle(rng, page, values, functools.partial(tower_model, clue))


@functools.lru_cache(maxsize=8192)
def caged(size: int, shape: tuple[tuple[int, int], ...], sign: str, result: int) -> Patterns:
    """Values of a cage's cells, at (row, column) of `shape`, that make `result`: no two alike in one line."""
    fits = []
    for t in itertools.product(range(1, size + 1), repeat=len(shape)):
        if made(t, sign) == result and all(
            a != b or (p[0] != q[0] and p[1] != q[1])
            for (a, p), (b, q) in itertools.combinations(zip(t, shape, strict=True), 2)
        ):
            fits.append(t)
    return Patterns(fits, size + 1)


def made(values: Sequence[int], sign: str) -> int:
    """What the numbers of a cage make; -1 where a quotient is not whole."""
    high, low = max(values), min(values)
    if sign == "+":
        return sum(values)
    if sign == "x":
        return functools.reduce(lambda a, b: a * b, values)
    if sign == "-":
        return high - low
    return high // low if high % low == 0 else -1


def kenken_model(page: Page) -> Model:
    """Rows, columns, cages."""
    size, cages_of = page.width, members(page.ground)
    tables = []
    for cell, text in page.labels:
        cells = cages_of[page.ground[cell]]
        y, x = divmod(cells[0], size)
        shape = tuple((c // size - y, c % size - x) for c in cells)
        tables.append(Table(cells, caged(size, shape, text[-1], int(text[:-1]))))
    return Model((*latin_rules(size), *tables), digits(page))


def kenken_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """Cages with what their numbers make; where that leaves two ways, a number is printed."""
    size, values = knobs["size"], truth.values
    ground = letters(cages(rng, size, size, knobs["cage"]))
    labels = []
    for cells in members(ground).values():
        inside = [values[c] for c in cells]
        if len(cells) == 2:
            signs = ["-", "/"] if made(inside, "/") > 0 else ["-", "-", "+"]
        else:
            signs = ["+", "x"]
        sign = rng.pick(signs) if len(cells) > 1 else "+"
        labels.append((cells[0], f"{made(inside, sign)}{sign}"))
    shown = [(c, values[c]) for c in rng.sample(range(size * size), knobs["spare"])]
    page = replace(with_clues(blank(size), shown), ground=ground, labels=tuple(labels))
    return settle(rng, page, values, kenken_model, knobs["cage"])


@register("world", "Futoshiki", domain="logic", engine="csp")
def futoshiki() -> DeskWorld:
    """Fill a Latin square with signs of inequality between its cells, 4x4 to 7x7."""
    rules = "A sign < or > between two cells, as in a1<b1, points to the smaller number."
    table = ((4, 6), (4, 4), (4, 2), (5, 6), (5, 4), (5, 2), (6, 6), (6, 4), (7, 12), (7, 8))
    return DeskWorld(
        facts=facts("Futoshiki", rules),
        levels=levels_of("size spare", table),
        plant=plant,
        clue=futoshiki_clue,
        model=futoshiki_model,
    )


@register("world", "Renzoku", domain="logic", engine="csp")
def renzoku() -> DeskWorld:
    """Fill a Latin square in which every pair of neighbours that differ by one is marked."""
    rules = "A dot lies between two cells, as in a1~b1, exactly where their numbers differ by one."
    table = ((4, 5), (4, 3), (4, 1), (5, 6), (5, 3), (5, 1), (6, 8), (6, 5), (7, 16), (7, 12))
    return DeskWorld(
        facts=facts("Renzoku", rules),
        levels=levels_of("size spare", table),
        plant=plant,
        clue=renzoku_clue,
        model=renzoku_model,
    )


def _towers(name: str, rules: str, clue: Callable[[Sequence[int]], int]) -> DeskWorld:
    table = (
        (4, 0, 5),
        (4, 1, 3),
        (4, 2, 1),
        (4, 3, 0),
        (5, 2, 6),
        (5, 4, 4),
        (5, 6, 2),
        (5, 7, 0),
        (6, 5, 3),
        (6, 7, 0),
    )
    return DeskWorld(
        facts=facts(name, rules),
        levels=levels_of("size hidden spare", table),
        plant=plant,
        clue=functools.partial(tower_clue, clue),
        model=functools.partial(tower_model, clue),
    )


@register("world", "Skyscraper", domain="logic", engine="csp")
def skyscraper() -> DeskWorld:
    """Place towers so that as many are seen from each side as is written there."""
    rules = """The numbers are heights of towers. A clue beside the grid says how many towers are seen from there along the line;
a tower hides all that are not higher behind it. Clues stand in the order of the columns or rows; - is none."""
    return _towers("Skyscraper", rules, counted)


@register("world", "SkyscraperSum", domain="logic", engine="csp")
def skyscraper_sum() -> DeskWorld:
    """Place towers so that the heights seen from each side add up to what is written there."""
    rules = """The numbers are heights of towers. A clue beside the grid is the sum of the heights that are seen from there along the
line; a tower hides all that are not higher behind it. Clues stand in the order of the columns or rows; - is none."""
    return _towers("SkyscraperSum", rules, summed)


@register("world", "KenKen", domain="logic", engine="csp")
def kenken() -> DeskWorld:
    """Fill a Latin square in which the numbers of each cage make a given result."""
    rules = """Thick lines part cages; the map gives every cell the letter of its cage. The clue in a cage's first cell says what its
numbers make: 7+ their sum, 12x their product, 2- the difference of two, 3/ the quotient of two, the greater by the
smaller. A cage of one cell shows its number with +."""
    table = (
        (4, 2, 5),
        (4, 2, 3),
        (4, 3, 1),
        (4, 3, 0),
        (5, 3, 5),
        (5, 3, 2),
        (5, 4, 0),
        (6, 3, 6),
        (6, 3, 3),
        (6, 4, 0),
    )
    return DeskWorld(
        facts=facts("KenKen", rules),
        levels=levels_of("size cage spare", table),
        plant=plant,
        clue=kenken_clue,
        model=kenken_model,
        look=Look(regions=lambda page: page.ground),
        extra=PRODUCTS,
    )
