"""Cells to shade: repeats to strike out, a sea between islands, the inside of a loop, a picture, parities."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from quintain.registry import register
from quintain.types import Ints
from quintain.worlds.engines.csp.clues import latin, pick_clues, settle
from quintain.worlds.engines.csp.desk import DeskWorld
from quintain.worlds.engines.csp.nets import Islands, Joined, flood, place
from quintain.worlds.engines.csp.page import BLANK, Page, Truth, columns_of, neighbours, rows_of
from quintain.worlds.engines.csp.page_look import Look
from quintain.worlds.engines.csp.rules import Rule
from quintain.worlds.engines.csp.solve import Model
from quintain.worlds.engines.csp.tables import Count, Parity, Table, ones
from quintain.worlds.kernel import levels_of
from quintain.worlds.noise import Rng
from quintain.worlds.suite.logic.binary import UNIQUE, bits, both, lines_of, marking

PRINTED = """A 1 in the grid of the text (a blue cell in the picture) is marked already and need not be named, a 0 there (a grey cell)
is not marked; digits in the picture are clues."""
Knobs = Mapping[str, Any]


def joined(cells: Sequence[int], width: int, height: int) -> bool:
    """Whether cells hang together over sides."""
    free = sum(place(c, width) for c in cells)
    return not cells or flood(place(cells[0], width), free, width, (1 << height * (width + 1)) - 1) == free


def hitori_model(page: Page) -> Model:
    """No number twice among the free cells of a line, no two shaded cells side by side, free cells hang together."""
    width, height = page.width, page.height
    numbers, rules = [text for _, text in page.labels], []
    for line in lines_of(page):
        for a, b in itertools.combinations(line, 2):
            if numbers[a] == numbers[b]:
                rules.append(Count((a, b), 2, 1, 2))
    for c, near in enumerate(neighbours(width, height)):
        rules += [Count((c, n), 2, 0, 1) for n in near if n > c]
    return Model((*rules, Joined(tuple(range(width * height)), width)), bits(page))


def hitori_plant(rng: Rng, knobs: Knobs) -> Truth:
    """A Latin square in which shaded cells repeat a number of their row or column."""
    size = knobs["size"]
    numbers, near, values = list(latin(rng, size)), neighbours(size, size), [0] * (size * size)
    order = list(range(size * size))
    rng.shuffle(order)
    for cell in order:
        free = [c for c, v in enumerate(values) if not v and c != cell]
        if sum(values) < size * size * 3 // 10 and not any(values[n] for n in near[cell]) and joined(free, size, size):
            values[cell] = 1
    for cell, shaded in enumerate(values):
        if shaded:
            y, x = divmod(cell, size)
            line = [c for c in range(size * size) if (c // size == y or c % size == x) and not values[c]]
            numbers[cell] = numbers[rng.pick(line)]
    return Truth(size, size, tuple(values), (" ".join(map(str, numbers)),))


def hitori_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """All numbers; cells are printed where they leave two ways."""
    size, numbers = truth.width, truth.more[0].split()
    page = Page(width=size, height=size, given=(BLANK,) * (size * size), labels=tuple(enumerate(numbers)))
    return settle(rng, page, truth.values, hitori_model, size)


def _marks(name: str, rules: str, table: Sequence[Sequence[int]], names: str = "size", **more: Any) -> DeskWorld:
    """A world whose answers name shaded cells."""
    given: dict[str, Any] = {
        "look": Look(mark="tint", label="printed", zeros=False),
        "levels": levels_of(names, table),
    } | more
    return DeskWorld(facts=marking(name, rules), values=both, marks=True, **given)


@register("world", "Hitori", domain="logic", engine="csp")
def hitori() -> DeskWorld:
    """Shade repeated numbers so that none is left twice in a line and the rest hangs together, 4x4 to 8x8."""
    rules = f"""The clues write a number in every cell, as in a1=3. Mark cells so that no number occurs twice among
the unmarked cells of a row or column, no two marked cells share a side, and all unmarked cells hang together over
sides. {PRINTED} {UNIQUE}"""
    table = ((4,), (4,), (5,), (5,), (5,), (6,), (6,), (7,), (7,), (8,))
    return _marks("Hitori", rules, table, plant=hitori_plant, clue=hitori_clue, model=hitori_model)


def sea_model(page: Page) -> Model:
    """Islands of the given sizes in a sea that hangs together and has no 2x2 block."""
    width, height = page.width, page.height
    cells = tuple(range(width * height))
    blocks = [c for c in range(width * (height - 1)) if c % width < width - 1]
    pools = [Count((c, c + 1, c + width, c + width + 1), 2, 0, 3) for c in blocks]
    sizes = tuple((c, int(text)) for c, text in page.labels)
    return Model((*pools, Islands(cells, width, sizes), Joined(cells, width, 1)), bits(page))


def sea_plant(rng: Rng, knobs: Knobs) -> Truth | None:
    """Land put into blocks of sea, as long as islands stay apart and the sea hangs together."""
    size, most = knobs["size"], knobs["island"]
    near, values, count = neighbours(size, size), [1] * (size * size), size * size
    blocks = [(c, c + 1, c + size, c + size + 1) for c in range(size * (size - 1)) if c % size < size - 1]
    for _ in range(count):
        pools = [b for b in blocks if all(values[c] for c in b)]
        spots = [rng.pick(rng.pick(pools))] if pools else []
        if not spots:
            break
        cell = spots[0]
        values[cell] = 0
        island = [cell]
        for c in island:
            island += [n for n in near[c] if not values[n] and n not in island]
        if len(island) > most or not joined([c for c, v in enumerate(values) if v], size, size):
            values[cell] = 1
    if any(all(values[c] for c in b) for b in blocks):
        return None
    return Truth(size, size, tuple(values))


def sea_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """The size of each island in one of its cells; cells are printed where that leaves two ways."""
    size, values, near = truth.width, truth.values, neighbours(truth.width, truth.width)
    labels, seen = [], set()
    for cell, sea in enumerate(values):
        if sea or cell in seen:
            continue
        island = [cell]
        for c in island:
            island += [n for n in near[c] if not values[n] and n not in island]
        seen.update(island)
        labels.append((rng.pick(island), str(len(island))))
    given = [BLANK] * (size * size)
    for cell, _ in labels:
        given[cell] = 0
    page = Page(width=size, height=size, given=tuple(given), labels=tuple(sorted(labels)))
    return settle(rng, page, values, sea_model)


@register("world", "Nurikabe", domain="logic", engine="csp")
def nurikabe() -> DeskWorld:
    """Shade a sea that leaves islands of given sizes, 5x5 to 7x7."""
    rules = f"""Mark the cells of the sea. What is left are islands: each holds exactly one clue, as in b3=4, which
counts its cells, and two islands touch at corners at most. The sea hangs together over sides and nowhere fills a
block of 2x2 cells. {PRINTED} {UNIQUE}"""
    table = ((5, 3), (5, 3), (5, 4), (5, 4), (6, 4), (6, 4), (6, 5), (6, 5), (7, 5), (7, 5))
    return _marks("Nurikabe", rules, table, names="size island", plant=sea_plant, clue=sea_clue, model=sea_model)


def edges(line: Sequence[int], clue: int, outside: int) -> bool:
    """The first cell differs from `clue` of the others and of `outside` cells outside the grid."""
    return sum(v != line[0] for v in line[1:]) + outside * line[0] == clue


@functools.lru_cache(maxsize=16)
def loop_rules(width: int, height: int) -> tuple[Rule, ...]:
    """The inside hangs together, and so does the outside with the world around: then its border is one loop."""
    cells = tuple(range(width * height))
    return Joined(cells, width, 1), Joined(cells, width, 0, True), Count(cells, 2, 1, len(cells))


def loop_model(page: Page) -> Model:
    """One loop; a clue counts the sides of its cell that belong to it."""
    near, tables = neighbours(page.width, page.height), []
    for cell, text in page.labels:
        spots = near[cell]
        tables.append(Table((cell, *spots), ones(1 + len(spots), edges, int(text), 4 - len(spots))))
    return Model((*tables, *loop_rules(page.width, page.height)), bits(page))


def loop_plant(rng: Rng, knobs: Knobs) -> Truth | None:
    """An inside that is grown cell by cell and stays without holes."""
    size = knobs["size"]
    near, count = neighbours(size, size), size * size
    values = [0] * count
    values[rng.below(count)] = 1
    outside = loop_rules(size, size)[1]
    for _ in range(4 * count):
        cell = rng.below(count)
        touching = sum(values[n] for n in near[cell])
        if values[cell] or not touching or (touching > 1 and rng.uniform() < 0.6):
            continue
        values[cell] = 1
        if outside.narrow([1 << v for v in values]) is None:
            values[cell] = 0
        if sum(values) * 100 >= count * 55:
            break
    return Truth(size, size, tuple(values)) if sum(values) * 100 >= count * 40 else None


def loop_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """Clues in some cells, as many as are needed."""
    size, values, near = truth.width, truth.values, neighbours(truth.width, truth.width)
    clues = []
    for c, v in enumerate(values):
        clues.append((c, str(sum(values[n] != v for n in near[c]) + (4 - len(near[c])) * v)))
    page = Page(width=size, height=size, given=(BLANK,) * (size * size))
    first = size * size * knobs["share"] // 100
    return pick_clues(rng, page, clues, values, _with_labels, loop_model, first)


def _with_labels(page: Page, clues: Sequence[Any]) -> Page:
    return replace(page, labels=tuple(sorted(clues)))


@register("world", "Slitherlink", domain="logic", engine="csp")
def slitherlink() -> DeskWorld:
    """Find one closed loop along cell borders from counts of borders, answered by the cells inside it, 4x4 to 8x8."""
    rules = f"""There is one closed loop along the borders of cells; it neither crosses nor touches itself. A clue, as
in b3=2, counts those of the four borders of its cell that belong to the loop. Mark all cells inside the loop.
{UNIQUE}"""
    table = ((4, 80), (4, 70), (4, 60), (5, 70), (5, 60), (6, 70), (6, 60), (7, 60), (7, 55), (8, 55))
    return _marks("Slitherlink", rules, table, names="size share", plant=loop_plant, clue=loop_clue, model=loop_model)


def lengths(line: Sequence[int]) -> Ints:
    """The lengths of the runs of ones."""
    return tuple(len(list(run)) for value, run in itertools.groupby(line) if value)


def painted(line: Sequence[int], *given: int) -> bool:
    """The runs of ones have these lengths."""
    return lengths(line) == given


def picture_model(page: Page) -> Model:
    """The runs of each line."""
    tables = []
    for line, text in zip(lines_of(page), (*page.sides[0], *page.sides[1]), strict=True):
        runs = tuple(int(n) for n in text.split(",") if n != "0")
        tables.append(Table(line, ones(len(line), painted, *runs)))
    return Model(tuple(tables), bits(page))


def picture_plant(rng: Rng, knobs: Knobs) -> Truth:
    """Random blots."""
    size = knobs["size"]
    near, values = neighbours(size, size), [int(rng.uniform() < 0.5) for _ in range(size * size)]
    for _ in range(size):
        cell = rng.below(size * size)
        for n in near[cell]:
            values[n] = values[cell]
    values[rng.below(size * size)] = 1
    return Truth(size, size, tuple(values))


def picture_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """The runs of all lines; None where that leaves too many ways."""
    size, values = truth.width, truth.values
    top, left = (
        tuple(",".join(map(str, lengths([values[c] for c in line]))) or "0" for line in side(size, size))
        for side in (columns_of, rows_of)
    )
    page = Page(width=size, height=size, given=(BLANK,) * (size * size), sides=(top, left, (), ()))
    done = settle(rng, page, values, picture_model, 2)
    marks = sum(values[c] for c in done.blanks) if done else 0
    return replace(done, budget=marks + marks // 2 + 2) if done and marks > 1 else None


@register("world", "Nonogram", domain="logic", engine="csp")
def nonogram() -> DeskWorld:
    """Paint a picture cell by cell from the lengths of its runs, 4x4 to 10x10."""
    rules = f"""Paint cells. The numbers above each column and left of each row are the lengths of the runs of painted cells in
it, in order, with at least one cell between two runs; 0 is an empty line. Each turn names one cell: it is painted, or cleared
if it was. The text lists what is painted now after "You wrote", its grid stays as printed. The game is won as soon as all lines
are right. A printed 1 (dark grey in the picture) is painted, a printed 0 (light grey) is not; neither can be changed. {UNIQUE}"""
    table = ((4,), (4,), (5,), (5,), (6,), (6,), (7,), (8,), (9,), (10,))
    return replace(
        _marks(
            "Nonogram",
            rules,
            table,
            plant=picture_plant,
            clue=picture_clue,
            model=picture_model,
            stepwise=True,
            look=Look(mark="fill", zeros=False),
        ),
        facts=marking("Nonogram", rules, "Name the cell to paint or clear: its column letter and row number.", "b3"),
    )


def parity_model(page: Page) -> Model:
    """One equation for each clue."""
    width, height = page.width, page.height
    masks = []
    for cell, _ in page.labels:
        y, x = divmod(cell, width)
        block = [
            r * width + c
            for r in range(max(y - 1, 0), min(y + 2, height))
            for c in range(max(x - 1, 0), min(x + 2, width))
        ]
        masks.append(sum(1 << c for c in block))
    odd = tuple(int(text) for _, text in page.labels)
    return Model((Parity(tuple(range(width * height)), tuple(masks), odd),), bits(page))


def parity_plant(rng: Rng, knobs: Knobs) -> Truth | None:
    """Random marks."""
    size = knobs["size"]
    values = tuple(int(rng.uniform() < 0.4) for _ in range(size * size))
    return Truth(size, size, values) if any(values) else None


def parity_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """The parity of every block, which leaves one way for sides that are no multiple of three less one."""
    size, values = truth.width, truth.values
    page = Page(width=size, height=size, given=(BLANK,) * (size * size))
    labels = []
    masks = parity_model(replace(page, labels=tuple((c, "0") for c in range(size * size)))).rules[0].masks  # type: ignore[attr-defined]
    for cell, mask in enumerate(masks):
        labels.append((cell, str(sum(v for c, v in enumerate(values) if mask >> c & 1) % 2)))
    return settle(rng, replace(page, labels=tuple(labels)), values, parity_model)


@register("world", "ParityGrid", domain="logic", engine="csp")
def parity_grid() -> DeskWorld:
    """Mark cells so that every block of up to 3x3 cells holds an odd or even number of marks, as given, 3x3 to 9x9."""
    rules = f"""Mark cells. The clue of a cell, as in b3=1, tells of the block of cells that touch it, corners too,
together with itself: 1 says that an odd number of them is marked, 0 an even number. {PRINTED} {UNIQUE}"""
    table = ((3,), (3,), (4,), (4,), (4,), (6,), (6,), (7,), (7,), (9,))
    return _marks("ParityGrid", rules, table, plant=parity_plant, clue=parity_clue, model=parity_model)
