"""Things to place on a grid: queens, stars, tents, lamps, ships."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from quintain.registry import register
from quintain.types import Ints
from quintain.worlds.engines.csp.clues import QUICK, letters, members, regions, settle
from quintain.worlds.engines.csp.desk import CEILINGS, DeskWorld
from quintain.worlds.engines.csp.nets import Fleet, Matched
from quintain.worlds.engines.csp.page import BLANK, WALL, Page, Truth, columns_of, neighbours, rows_of
from quintain.worlds.engines.csp.page_look import Look
from quintain.worlds.engines.csp.rules import Rule, Total
from quintain.worlds.engines.csp.solve import Model, Solver, search
from quintain.worlds.engines.csp.tables import Count
from quintain.worlds.kernel import levels_of
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Shape
from quintain.worlds.splits import canonical, symmetries
from quintain.worlds.suite.logic.binary import UNIQUE, bits, both, lines_of, marking

PRINTED = "A printed 1 is one of them and need not be named, a printed 0 (x in the picture) is none."
Knobs = Mapping[str, Any]


def diagonals(size: int) -> list[Ints]:
    """The diagonals of at least two cells, in both directions."""
    out = []
    for s in range(1, 2 * size - 2):
        out.append(tuple(y * size + s - y for y in range(size) if 0 <= s - y < size))
        out.append(tuple(y * size + y - s + size - 1 for y in range(size) if 0 <= y - s + size - 1 < size))
    return out


@functools.lru_cache(maxsize=16)
def queen_rules(size: int) -> tuple[Rule, ...]:
    """One in each row and column, at most one on each diagonal."""
    lines = [Count(line, 2, 1, 1) for line in (*rows_of(size, size), *columns_of(size, size))]
    return (*lines, *(Count(line, 2, 0, 1) for line in diagonals(size)))


def queen_model(page: Page) -> Model:
    """The rules and the printed queens."""
    return Model(queen_rules(page.width), bits(page))


def queen_plant(rng: Rng, knobs: Knobs) -> Truth:
    """Queens in random places."""
    size = knobs["size"]
    found = Solver(queen_rules(size), size * size).search([3] * (size * size), rng=rng)
    values = found.solutions[0]
    shown = rng.sample([c for c, v in enumerate(values) if v], knobs["shown"])
    return Truth(size, size, values, tuple(str(c) for c in shown))


def queen_layout(page: Page) -> str:
    """The printed cells in their least image: of few placements come many pages, and a page of several choices."""
    return canonical([str(v) for v in page.given], page.width, page.height)


def queen_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """Some queens, and empty cells where they leave two ways."""
    size, values = truth.width, truth.values
    given = tuple(1 if str(c) in truth.more else BLANK for c in range(size * size))
    return settle(rng, Page(width=size, height=size, given=given), values, queen_model, size)


@register("world", "NQueens", domain="logic", engine="csp")
def queens() -> DeskWorld:
    """Complete a placement of queens that do not attack each other, on 7x7 to 12x12 cells."""
    rules = f"""Place queens so that every row and every column of the NxN board holds exactly one and no diagonal
holds two. Name the cells of the queens that are still to place. {PRINTED} {UNIQUE}"""
    table = ((7, 4), (7, 3), (7, 2), (8, 3), (8, 2), (8, 1), (9, 2), (10, 2), (11, 2), (12, 2))
    return DeskWorld(
        facts=replace(marking("NQueens", rules), variety=7_000),  # eight queens stand in few ways
        levels=levels_of("size shown", table),
        plant=queen_plant,
        clue=queen_clue,
        model=queen_model,
        values=both,
        marks=True,
        look=Look(mark="queen"),
        printed=queen_layout,
    )


@functools.lru_cache(maxsize=64)
def apart(width: int, height: int, walls: Ints = ()) -> tuple[Rule, ...]:
    """At most one in every block of 2x2 cells: no two touch, not even at corners."""
    blocks = [(c, c + 1, c + width, c + width + 1) for c in range(width * (height - 1)) if c % width < width - 1]
    return tuple(Count(tuple(c for c in block if c not in walls), 2, 0, 1) for block in blocks)


def star_model(page: Page) -> Model:
    """One in each row, column and region, none touching."""
    size = page.width
    units = (*rows_of(size, size), *columns_of(size, size), *members(page.ground).values())
    return Model((*(Count(u, 2, 1, 1) for u in units), *apart(size, size)), bits(page))


def star_plant(rng: Rng, knobs: Knobs) -> Truth:
    """Stars that do not touch."""
    size = knobs["size"]
    rules = [Count(u, 2, 1, 1) for u in (*rows_of(size, size), *columns_of(size, size))]
    found = Solver((*rules, *apart(size, size)), size * size).search([3] * (size * size), rng=rng)
    values = found.solutions[0]
    grown = regions(rng, size, size, [c for c, v in enumerate(values) if v])
    return Truth(size, size, values, (letters(grown or ()),))


def star_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """Regions that leave one way: where another way puts a star, that cell goes to a neighbouring region."""
    size, values, near = truth.width, truth.values, neighbours(truth.width, truth.width)
    ground, blank = truth.more[0], (BLANK,) * (size * size)
    for _ in range(3 * size):
        page = Page(width=size, height=size, given=blank, ground=letters([ord(g) for g in ground]))
        found = search(star_model(page), 2, rng, QUICK)
        wrong = [c for s in found.solutions for c, v in enumerate(s) if v and not values[c]]
        if not wrong and found.complete:
            return page
        moves = [(c, ground[n]) for c in wrong for n in near[c] if ground[n] != ground[c]]
        moves = [(c, sign) for c, sign in moves if _whole(ground, c, near)]
        if not moves:
            break
        cell, sign = rng.pick(moves)
        ground = ground[:cell] + sign + ground[cell + 1 :]
    page = Page(width=size, height=size, given=blank, ground=letters([ord(g) for g in ground]))
    return settle(rng, page, values, star_model)


def _whole(ground: str, cell: int, near: Sequence[Ints]) -> bool:
    """Whether the region of `cell` hangs together without it."""
    rest = [c for c, g in enumerate(ground) if g == ground[cell] and c != cell]
    reached = rest[:1]
    for c in reached:
        reached += [n for n in near[c] if n in rest and n not in reached]
    return bool(rest) and len(reached) == len(rest)


def region_layout(page: Page) -> str:
    """The borders of the regions in their least image: there are few ways to place few stars."""
    images = (letters([ord(page.ground[i]) for i in order]) for order in symmetries(page.width, page.height))
    return min(images)


@register("world", "StarBattle", domain="logic", engine="csp")
def star_battle() -> DeskWorld:
    """Place one star in each row, column and region, none touching another, on 6x6 to 9x9 cells."""
    rules = f"""Place stars so that every row, every column and every region holds exactly one, and no two stars
touch, not even at a corner. Thick lines part regions; the map gives every cell the letter of its region. Name the
cells of the stars. {PRINTED} {UNIQUE}"""
    table = ((6,), (6,), (6,), (7,), (7,), (7,), (8,), (8,), (8,), (9,))
    return DeskWorld(
        facts=replace(marking("StarBattle", rules), ceilings=CEILINGS | {"blind": 0.03}),
        levels=levels_of("size", table),
        plant=star_plant,
        clue=star_clue,
        model=star_model,
        values=both,
        marks=True,
        look=Look(mark="star", regions=lambda page: page.ground),
        printed=region_layout,
    )


def around(cell: int, width: int, height: int) -> Ints:
    """The cells beside one."""
    return neighbours(width, height)[cell]


def tent_model(page: Page) -> Model:
    """Counts of lines, no two touching, a tent of its own beside each tree and no other tents."""
    width, height = page.width, page.height
    trees = tuple(c for c, sign in enumerate(page.ground) if sign == "T")
    beside = tuple(tuple(n for n in around(t, width, height) if n not in trees) for t in trees)
    reach = {n for cells in beside for n in cells}
    rules: list[Rule] = [
        Total(line, int(s)) for line, s in zip(lines_of(page), (*page.sides[0], *page.sides[1]), strict=True)
    ]
    rules += [*apart(width, height), *(Count(cells, 2, 1, 4) for cells in beside)]
    rules += [Total(tuple(range(width * height)), len(trees)), Matched(tuple(sorted(reach)), beside)]
    return Model(tuple(rules), tuple(d if c in reach else d & 1 for c, d in enumerate(bits(page))))


def tent_plant(rng: Rng, knobs: Knobs) -> Truth | None:
    """Tents that do not touch, with a tree beside each."""
    size, count = knobs["size"], knobs["tents"]
    near, values, ground = neighbours(size, size), [0] * (size * size), ["-"] * (size * size)
    order = list(range(size * size))
    rng.shuffle(order)
    for cell in order:
        y, x = divmod(cell, size)
        free = [n for n in near[cell] if ground[n] == "-" and not values[n]]
        touching = any(
            values[r * size + c]
            for r in range(max(y - 1, 0), min(y + 2, size))
            for c in range(max(x - 1, 0), min(x + 2, size))
        )
        if ground[cell] != "-" or touching or not free:
            continue
        values[cell] = 1
        ground[rng.pick(free)] = "T"
        if sum(values) == count:
            return Truth(size, size, tuple(values), ("".join(ground),))
    return None


def tent_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """All counts; cells are printed where they leave two ways."""
    size, values, ground = truth.width, truth.values, truth.more[0]
    top, left = ([str(sum(values[c] for c in line)) for line in side(size, size)] for side in (columns_of, rows_of))
    given = tuple(0 if g == "T" else BLANK for g in ground)
    page = Page(width=size, height=size, given=given, ground=ground, sides=(tuple(top), tuple(left), (), ()))
    return settle(rng, page, values, tent_model, 2 + size // 2)


@register("world", "Tents", domain="logic", engine="csp")
def tents() -> DeskWorld:
    """Pitch a tent beside each tree, none touching another, with counts for rows and columns, on 5x5 to 9x9 cells."""
    rules = f"""Place tents on free cells: to each tree (T in the map, - is none) belongs one tent that shares a side with it,
and to each tent one tree; a tree may also touch tents of other trees. No two tents touch, not even at a corner. The numbers
above and on the left count the tents of each column and row. Name the cells of the tents. {PRINTED} {UNIQUE}"""
    table = ((5, 4), (5, 4), (6, 6), (6, 6), (6, 7), (7, 9), (7, 9), (8, 12), (8, 12), (9, 16))
    return DeskWorld(
        facts=marking("Tents", rules),
        levels=levels_of("size tents", table),
        plant=tent_plant,
        clue=tent_clue,
        model=tent_model,
        values=both,
        marks=True,
        look=Look(mark="tent", ground={"T": "+page-tree"}, bare=True),
        layout=lambda truth: canonical(list(truth.more[0]), truth.width, truth.height),
    )


def sights(given: Sequence[int], width: int) -> list[Ints]:
    """For each cell those that a lamp in it lights, itself among them; () for walls."""
    height, out = len(given) // width, []
    for cell, value in enumerate(given):
        y, x = divmod(cell, width)
        seen = [cell]
        for dy, dx in ((0, 1), (0, -1), (1, 0), (-1, 0)):
            r, c = y + dy, x + dx
            while 0 <= r < height and 0 <= c < width and given[r * width + c] != WALL:
                seen.append(r * width + c)
                r, c = r + dy, c + dx
        out.append(() if value == WALL else tuple(seen))
    return out


def lamp_model(page: Page) -> Model:
    """Every cell is lit, no lamp lights another, and walls count the lamps beside them."""
    width, height = page.width, page.height
    walls = tuple(c for c, v in enumerate(page.given) if v == WALL)
    rules: list[Rule] = []
    done = set()
    for cells in sights(page.given, width):
        if cells:
            rules.append(Count(cells, 2, 1, len(cells)))
            for line in (
                tuple(sorted(c for c in cells if c // width == cells[0] // width)),
                tuple(sorted(c for c in cells if c % width == cells[0] % width)),
            ):
                if len(line) > 1 and line not in done:
                    done.add(line)
                    rules.append(Count(line, 2, 0, 1))
    for cell, text in page.labels:
        rules.append(Total(tuple(n for n in around(cell, width, height) if n not in walls), int(text)))
    rules = [rule for rule in rules if rule.cells]
    return Model(tuple(rules), bits(page))


def lamp_plant(rng: Rng, knobs: Knobs) -> Truth:
    """Random walls, then lamps in dark cells until all are lit."""
    size, count = knobs["size"], knobs["size"] ** 2
    walls = rng.sample(range(count), count * 22 // 100)
    values = [WALL if c in walls else 0 for c in range(count)]
    lit: set[int] = set()
    light, order = sights(values, size), [c for c in range(count) if c not in walls]
    rng.shuffle(order)
    for cell in order:
        if cell not in lit:
            values[cell] = 1
            lit.update(light[cell])
    return Truth(size, size, tuple(values))


def lamp_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """Counts on all walls; cells are printed where they leave two ways."""
    size, values, near = truth.width, truth.values, neighbours(truth.width, truth.height)
    labels = [(c, str(sum(values[n] == 1 for n in near[c]))) for c, v in enumerate(values) if v == WALL]
    labels = [(c, text) for c, text in labels if any(values[n] != WALL for n in near[c])]
    given = tuple(WALL if v == WALL else BLANK for v in values)
    return settle(rng, Page(width=size, height=size, given=given, labels=tuple(labels)), values, lamp_model, 1 + size)


@register("world", "LightUp", domain="logic", engine="csp")
def light_up() -> DeskWorld:
    """Place lamps that light every cell and not each other, on 5x5 to 9x9 cells."""
    rules = f"""Place lamps on free cells. A lamp lights its own cell and all cells in its row and column up to the
next wall (#). Every free cell must be lit, and no lamp may light another. A number on a wall, as in c2=1, counts the
lamps in the up to four cells beside it. Name the cells of the lamps. {PRINTED} {UNIQUE}"""
    table = ((5,), (5,), (5,), (6,), (6,), (6,), (7,), (7,), (8,), (9,))
    return DeskWorld(
        facts=marking("LightUp", rules),
        levels=levels_of("size", table),
        plant=lamp_plant,
        clue=lamp_clue,
        model=lamp_model,
        values=both,
        marks=True,
        look=Look(mark="lamp", label="wall"),
    )


FLEETS = {5: (3, 2, 1, 1), 6: (3, 2, 2, 1, 1), 7: (4, 3, 2, 1, 1), 8: (4, 3, 2, 2, 1, 1), 9: (4, 3, 3, 2, 2, 1, 1)}


def fleet_model(page: Page) -> Model:
    """Counts of lines, ships that touch nowhere, and their lengths."""
    width, height = page.width, page.height
    ships = tuple(int(n) for n in page.notes[0].split()[1:])
    corners = []
    for c in range(width * (height - 1)):
        if c % width < width - 1:
            corners += [Count((c, c + width + 1), 2, 0, 1), Count((c + 1, c + width), 2, 0, 1)]
    counts = [Total(line, int(s)) for line, s in zip(lines_of(page), (*page.sides[0], *page.sides[1]), strict=True)]
    return Model((*counts, *corners, Fleet(tuple(range(width * height)), width, ships)), bits(page))


def fleet_plant(rng: Rng, knobs: Knobs) -> Truth | None:
    """Ships in random places that do not touch."""
    size, values = knobs["size"], [0] * knobs["size"] ** 2
    for ship in FLEETS[size]:
        for _ in range(40):
            down, along, across = rng.below(2), rng.below(size - ship + 1), rng.below(size)
            spots = [(along + i, across) if down else (across, along + i) for i in range(ship)]
            near = {(y + dy, x + dx) for y, x in spots for dy in (-1, 0, 1) for dx in (-1, 0, 1)}
            if not any(values[y * size + x] for y, x in near if 0 <= y < size and 0 <= x < size):
                for y, x in spots:
                    values[y * size + x] = 1
                break
        else:
            return None
    return Truth(size, size, tuple(values))


def fleet_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """All counts; cells are printed where they leave two ways."""
    size, values = truth.width, truth.values
    top, left = ([str(sum(values[c] for c in line)) for line in side(size, size)] for side in (columns_of, rows_of))
    page = Page(
        width=size,
        height=size,
        given=(BLANK,) * (size * size),
        sides=(tuple(top), tuple(left), (), ()),
        notes=("fleet " + " ".join(map(str, FLEETS[size])),),
    )
    return settle(rng, page, values, fleet_model)


def fleet_notes(page: Page) -> tuple[float, float, tuple[Shape, ...]]:
    """The ships, drawn below the grid."""
    x, shapes = 1.0, []
    for ship in page.notes[0].split()[1:]:
        for i in range(int(ship)):
            shapes.append(Box(x=x + 0.44 * i, y=page.height + 2.25, width=0.4, height=0.5, fill="stone"))
        x += 0.44 * int(ship) + 0.3
    return 0.0, 1.0, tuple(shapes)


@register("world", "Battleships", domain="logic", engine="csp")
def battleships() -> DeskWorld:
    """Find a fleet from counts of rows and columns, on 5x5 to 8x8 cells."""
    rules = f"""Ships lie on the grid, each a straight line of cells along a row or a column; no two touch, not even at a
corner. The line that begins with * fleet lists their lengths, which the picture draws below the grid. The numbers above and on
the left count the ship cells of each column and row. Name all cells of ships. A printed 1 is part of a ship and need not be
named, a printed 0 (x in the picture) is water. {UNIQUE}"""
    table = ((5,), (5,), (5,), (6,), (6,), (6,), (7,), (7,), (8,), (8,))
    return DeskWorld(
        facts=marking("Battleships", rules),
        levels=levels_of("size", table),
        plant=fleet_plant,
        clue=fleet_clue,
        model=fleet_model,
        values=both,
        marks=True,
        spans=True,
        look=Look(mark="fill", notes=fleet_notes),
        extra=("fleet",),
    )
