"""Puzzle pages against their rules written out once more, in plain words, and against plain enumeration where pages are small."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.worlds.cells import names_of
from quintain.worlds.engines.csp.nets import Fleet
from quintain.worlds.engines.csp.page import BLANK, WALL, Page
from quintain.worlds.engines.csp.tables import Count
from quintain.worlds.kernel import Plan
from quintain.worlds.noise import Rng


def grid(page: Page, cells) -> list[list[int]]:
    return [list(cells[y * page.width : (y + 1) * page.width]) for y in range(page.height)]


def lines(page: Page, cells) -> tuple[list, list]:
    rows = grid(page, cells)
    return rows, [list(c) for c in zip(*rows, strict=True)]


def square(page: Page, cells) -> bool:
    rows, columns = lines(page, cells)
    return all(sorted(line) == list(range(1, page.width + 1)) for line in rows + columns)


def futoshiki(page: Page, cells) -> bool:
    return square(page, cells) and all((cells[a] < cells[b]) == (sign == "<") for a, b, sign in page.pairs)


def renzoku(page: Page, cells) -> bool:
    dots = {(a, b) for a, b, _ in page.pairs}
    for a, b in itertools.combinations(range(len(cells)), 2):
        beside = b - a == page.width or (b - a == 1 and b % page.width)
        if beside and ((a, b) in dots) != (abs(cells[a] - cells[b]) == 1):
            return False
    return square(page, cells)


def towers(page: Page, cells, show) -> bool:
    rows, columns = lines(page, cells)
    views = [columns, rows, [r[::-1] for r in rows], [c[::-1] for c in columns]]
    for clues, view in zip(page.sides, views, strict=True):
        for clue, line in zip(clues, view, strict=True):
            tall, seen = 0, []
            for height in line:
                if height > tall:
                    tall = height
                    seen.append(height)
            if clue and int(clue) != show(seen):
                return False
    return square(page, cells)


def kenken(page: Page, cells) -> bool:
    for cell, text in page.labels:
        inside = sorted(cells[c] for c, sign in enumerate(page.ground) if sign == page.ground[cell])
        goal, product = int(text[:-1]), 1
        for value in inside:
            product *= value
        made = {"+": sum(inside), "x": product, "-": inside[-1] - inside[0], "/": inside[-1] / inside[0]}[text[-1]]
        if made != goal:
            return False
    return square(page, cells)


def balance(page: Page, cells, strict: bool) -> bool:
    rows, columns = lines(page, cells)
    for side in (rows, columns):
        if len({tuple(line) for line in side}) < len(side) or any(sum(line) * 2 != len(line) for line in side):
            return False
        if strict and any(t in "".join(map(str, line)) for line in side for t in ("000", "111")):
            return False
    return True


def counts(page: Page, cells) -> bool:
    """Numbers above and on the left count the ones."""
    rows, columns = lines(page, cells)
    return [sum(c) for c in columns] == list(map(int, page.sides[0])) and [sum(r) for r in rows] == list(
        map(int, page.sides[1])
    )


def kakurasu(page: Page, cells) -> bool:
    rows, columns = lines(page, cells)

    def weigh(line) -> int:
        return sum(i + 1 for i, v in enumerate(line) if v)

    return [weigh(r) for r in rows] == list(map(int, page.sides[2])) and [weigh(c) for c in columns] == list(
        map(int, page.sides[3])
    )


def thermometers(page: Page, cells) -> bool:
    names = names_of(page.width, page.height)
    for note in page.notes:
        tube = "".join(str(cells[names.index(name)]) for name in note.split())
        if "01" in tube:
            return False
    return counts(page, cells)


def survo(page: Page, cells) -> bool:
    rows, columns = lines(page, cells)
    right, below = list(map(int, page.sides[2])), list(map(int, page.sides[3]))
    return (
        sorted(cells) == list(range(1, len(cells) + 1))
        and [sum(r) for r in rows] == right
        and [sum(c) for c in columns] == below
    )


def magic(page: Page, cells) -> bool:
    rows, columns = lines(page, cells)
    n = page.width
    diagonals = [[rows[i][i] for i in range(n)], [rows[i][n - 1 - i] for i in range(n)]]
    return sorted(cells) == list(range(1, n * n + 1)) and len({sum(x) for x in rows + columns + diagonals}) == 1


def kakuro(page: Page, cells) -> bool:
    width = page.width
    for cell, text in page.labels:
        for step, clue in zip((width, 1), text.split("\\"), strict=True):
            run, at = [], cell + step
            while clue and at < len(cells) and cells[at] != WALL and (step > 1 or at // width == cell // width):
                run.append(cells[at])
                at += step
            if clue and (sum(run) != int(clue) or len(set(run)) < len(run)):
                return False
    return all((v == WALL) == (g == WALL) for v, g in zip(cells, page.given, strict=True))


def places(page: Page, cells, value: int = 1) -> list[tuple[int, int]]:
    return [divmod(c, page.width) for c, v in enumerate(cells) if v == value]


def touching(spots) -> bool:
    return any(max(abs(a - c), abs(b - d)) == 1 for (a, b), (c, d) in itertools.combinations(spots, 2))


def parts(spots) -> list[set]:
    """Groups that hang together over sides."""
    left, out = set(spots), []
    while left:
        part, waiting = set(), [left.pop()]
        while waiting:
            y, x = waiting.pop()
            part.add((y, x))
            near = {(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)} & left
            left -= near
            waiting += near
        out.append(part)
    return out


def queens(page: Page, cells) -> bool:
    spots = places(page, cells)
    keys = [{y for y, _ in spots}, {x for _, x in spots}, {y + x for y, x in spots}, {y - x for y, x in spots}]
    return len(spots) == page.width and all(len(k) == page.width for k in keys)


def stars(page: Page, cells) -> bool:
    spots = places(page, cells)
    regions = {page.ground[y * page.width + x] for y, x in spots}
    rows, columns = {y for y, _ in spots}, {x for _, x in spots}
    return len(spots) == len(regions) == len(rows) == len(columns) == page.width and not touching(spots)


def tents(page: Page, cells) -> bool:
    spots = places(page, cells)
    trees = [divmod(c, page.width) for c, sign in enumerate(page.ground) if sign == "T"]
    if touching(spots) or len(spots) != len(trees) or not counts(page, cells):
        return False

    def pair(rest, free) -> bool:
        if not rest:
            return True
        (y, x), *others = rest
        near = [t for t in free if abs(t[0] - y) + abs(t[1] - x) == 1]
        return any(pair(others, free - {t}) for t in near)

    return pair(trees, frozenset(spots))


def lamps(page: Page, cells) -> bool:
    width, height = page.width, page.height
    lit: Counter[tuple[int, int]] = Counter()
    spots = places(page, cells)
    for y, x in spots:
        lit[y, x] += 1
        for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            r, c = y + dy, x + dx
            while 0 <= r < height and 0 <= c < width and page.given[r * width + c] != WALL:
                lit[r, c] += 1
                r, c = r + dy, c + dx
    for cell, text in page.labels:
        y, x = divmod(cell, width)
        if sum(abs(y - r) + abs(x - c) == 1 for r, c in spots) != int(text):
            return False
    free = [divmod(c, width) for c, v in enumerate(page.given) if v != WALL]
    return all(lit[f] for f in free) and all(lit[s] == 1 for s in spots)


def ships(page: Page, cells) -> bool:
    fleet = sorted(map(int, page.notes[0].split()[1:]))
    found = parts(places(page, cells))
    for one, two in itertools.combinations(found, 2):
        if any(max(abs(a - c), abs(b - d)) < 2 for a, b in one for c, d in two):
            return False
    straight = all(len({y for y, _ in p}) == 1 or len({x for _, x in p}) == 1 for p in found)
    return straight and sorted(map(len, found)) == fleet and counts(page, cells)


def hitori(page: Page, cells) -> bool:
    number = [text for _, text in page.labels]
    rows, columns = lines(page, [n if not v else f"x{i}" for i, (n, v) in enumerate(zip(number, cells, strict=True))])
    shaded = places(page, cells)
    side = any(abs(a - c) + abs(b - d) == 1 for (a, b), (c, d) in itertools.combinations(shaded, 2))
    once = all(len(set(line)) == len(line) for line in rows + columns)
    return once and not side and len(parts(places(page, cells, 0))) <= 1


def nurikabe(page: Page, cells) -> bool:
    rows = grid(page, cells)
    sizes = {divmod(c, page.width): int(text) for c, text in page.labels}
    for island in parts(places(page, cells, 0)):
        inside = [sizes[s] for s in island if s in sizes]
        if inside != [len(island)]:
            return False
    pool = any(
        rows[y][x] and rows[y + 1][x] and rows[y][x + 1] and rows[y + 1][x + 1]
        for y in range(page.height - 1)
        for x in range(page.width - 1)
    )
    return not pool and len(parts(places(page, cells))) == 1


def loop(page: Page, cells) -> bool:
    """Every corner of the border has two sides, and all sides hang together."""
    inside = set(places(page, cells))
    sides = []
    for y, x in inside:
        for dy, dx, a, b in (
            (-1, 0, (0, 0), (0, 1)),
            (1, 0, (1, 0), (1, 1)),
            (0, -1, (0, 0), (1, 0)),
            (0, 1, (0, 1), (1, 1)),
        ):
            if (y + dy, x + dx) not in inside:
                sides.append(((y + a[0], x + a[1]), (y + b[0], x + b[1])))
    corners = Counter(c for side in sides for c in side)
    if not sides or set(corners.values()) != {2}:
        return False
    reached, grown = {sides[0][0]}, True
    while grown:
        grown = False
        for a, b in sides:
            if (a in reached) != (b in reached):
                reached |= {a, b}
                grown = True
    for cell, text in page.labels:
        y, x = divmod(cell, page.width)
        me = (y, x) in inside
        if sum((n in inside) != me for n in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1))) != int(text):
            return False
    return len(reached) == len(corners)


def picture(page: Page, cells) -> bool:
    rows, columns = lines(page, cells)

    def runs(line) -> str:
        found = [str(len(run)) for run in "".join(map(str, line)).split("0") if run]
        return ",".join(found) or "0"

    return [runs(c) for c in columns] == list(page.sides[0]) and [runs(r) for r in rows] == list(page.sides[1])


def parity(page: Page, cells) -> bool:
    spots = places(page, cells)
    for cell, text in page.labels:
        y, x = divmod(cell, page.width)
        if sum(abs(y - r) < 2 and abs(x - c) < 2 for r, c in spots) % 2 != int(text):
            return False
    return True


def path(page: Page, cells, corners: bool) -> bool:
    if sorted(cells) != list(range(1, len(cells) + 1)):
        return False
    order = [divmod(cells.index(n), page.width) for n in range(1, len(cells) + 1)]
    gaps = [(abs(a - c), abs(b - d)) for (a, b), (c, d) in itertools.pairwise(order)]
    return all(max(g) == 1 if corners else sum(g) == 1 for g in gaps)


def flow(page: Page, cells) -> bool:
    ends = [c for c, _ in page.labels]
    for letter in set(cells):
        spots = set(places(page, cells, letter))
        mine = [divmod(c, page.width) for c in ends if cells[c] == letter]
        degree = {(y, x): len({(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)} & spots) for y, x in spots}
        if len(parts(spots)) != 1 or len(mine) != 2 or any(d != 2 - (s in mine) for s, d in degree.items()):
            return False
    return set(cells) == {page.given[c] for c in ends}


def knaves(page: Page, cells) -> bool:
    for note in page.notes:
        words = note.split()
        lies = {chr(97 + i): bool(v) for i, v in enumerate(cells)}
        if "is" in words:
            said = lies[words[2]] == (words[4] == "knave")
        elif "exactly" in words:
            said = sum(lies[w] for w in words[6:]) == int(words[3])
        else:
            said = (lies[words[2]] == lies[words[4]]) == ("alike" in words)
        if said == lies[words[0]]:
            return False
    return True


def houses(page: Page, cells) -> bool:
    kinds = ("RGBYW", "CDFHM", "TJKLN", "PSVAE")
    at = {}
    for r, row in enumerate(grid(page, cells)):
        if sorted(row) != [5 * r + i for i in range(page.width)]:
            return False
        at.update({kinds[r][v - 5 * r]: i for i, v in enumerate(row)})
    for note in page.notes:
        one, *words, other = note.split()
        gap = (ord(other) - 97 if words == ["in", "house"] else at[other]) - at[one]
        fits = {
            "in house": gap == 0,
            "with": gap == 0,
            "apart from": gap != 0,
            "beside": abs(gap) == 1,
            "left of": gap > 0,
            "just left of": gap == 1,
        }
        if not fits[" ".join(words)]:
            return False
    return True


def circuit(page: Page, cells) -> bool:
    wires = {chr(97 + i): bool(v) for i, v in enumerate(cells)}
    for note in page.notes[:-1]:
        out, _, a, kind, b = note.split()
        x, y = wires[a], wires[b]
        wires[out] = {"and": x and y, "or": x or y, "xor": x != y, "nand": not (x and y), "nor": not (x or y)}[kind]
    return all(wires[w] for w in page.notes[-1].split()[2::2])


def sudoku(page: Page, cells) -> bool:
    n = page.width
    rows, columns = lines(page, cells)
    kind = page.notes[0] if page.notes else ""
    tall, wide = (3, 3) if n == 9 else (2, 3)
    boxes = [
        [rows[y + i][x + j] for i in range(tall) for j in range(wide)]
        for y in range(0, n, tall)
        for x in range(0, n, wide)
    ]
    regions = [[cells[c] for c in range(n * n) if page.ground[c] == sign] for sign in sorted(set(page.ground))]
    units = rows + columns + (regions if kind == "jigsaw" else boxes)
    if kind == "diagonal":
        units += [[rows[i][i] for i in range(n)], [rows[i][n - 1 - i] for i in range(n)]]
    if kind == "killer":
        if any(len(set(r)) < len(r) for r in regions):
            return False
        for cell, text in page.labels:
            if sum(v for v, sign in zip(cells, page.ground, strict=True) if sign == page.ground[cell]) != int(text):
                return False
    return all(sorted(unit) == list(range(1, n + 1)) for unit in units)


RULES = {
    "Futoshiki": futoshiki,
    "Renzoku": renzoku,
    "Skyscraper": lambda p, c: towers(p, c, len),
    "SkyscraperSum": lambda p, c: towers(p, c, sum),
    "KenKen": kenken,
    "Binairo": lambda p, c: balance(p, c, True),
    "BinairoLoose": lambda p, c: balance(p, c, False),
    "Kakurasu": kakurasu,
    "Thermometers": thermometers,
    "Survo": survo,
    "MagicSquare": magic,
    "Kakuro": kakuro,
    "NQueens": queens,
    "StarBattle": stars,
    "Tents": tents,
    "LightUp": lamps,
    "Battleships": ships,
    "Hitori": hitori,
    "Nurikabe": nurikabe,
    "Slitherlink": loop,
    "Nonogram": picture,
    "ParityGrid": parity,
    "Numbrix": lambda p, c: path(p, c, False),
    "Hidato": lambda p, c: path(p, c, True),
    "FlowLinks": flow,
    "KnightsKnaves": knaves,
    "ZebraHouses": houses,
    "CircuitSat": circuit,
    "SudokuStep": sudoku,
    "SudokuVariant": sudoku,
}
SMALL = ("Kakurasu", "Thermometers", "Hitori", "Slitherlink", "ParityGrid", "Nonogram", "KnightsKnaves", "CircuitSat")
SQUARES = ("Futoshiki", "Renzoku", "Skyscraper", "SkyscraperSum", "KenKen")


def solved(name: str, seed: int, level: int) -> tuple[Page, tuple[int, ...]]:
    """A page and what the oracle makes of it."""
    world = world_of(name)
    state = world.start(seed, level)
    plan = world.solve(state, SOLO)
    assert isinstance(plan, Plan)
    for move in plan.moves:
        outcome = world.step(state, {SOLO: move})
        state = outcome.state
    assert outcome.rewards == {SOLO: {"success": 1.0}}
    return state.page, tuple(0 if v == BLANK else v for v in state.cells)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("level", [0, 4, 9])
def test_solutions_keep_the_rules_and_near_ones_are_judged_alike(name: str, level: int) -> None:
    world, rule, broken = world_of(name), RULES[name], 0
    for seed in range(3):
        page, cells = solved(name, seed, level)
        assert rule(page, cells)
        rng, values = Rng("near", name, level, seed), list(world.values(page))
        for _ in range(40):
            other = list(cells)
            spots = rng.sample(page.blanks, min(1 + rng.below(3), len(page.blanks)))
            if rng.below(2) and len(spots) > 1:
                other[spots[0]], other[spots[1]] = other[spots[1]], other[spots[0]]
            else:
                for c in spots:
                    other[c] = rng.pick(values)
            right = rule(page, tuple(other))
            assert world.right(page, tuple(other)) == right
            broken += not right
    assert broken > 30


def every(name: str, page: Page):
    """All ways to fill a small page."""
    blanks = page.blanks
    if name in SQUARES:
        lines_ = list(itertools.permutations(range(1, page.width + 1)))
        for rows in itertools.product(lines_, repeat=page.width):
            yield tuple(v for row in rows for v in row)
        return
    for chosen in itertools.product((0, 1), repeat=len(blanks)):
        cells = [0 if v == BLANK else v for v in page.given]
        for c, v in zip(blanks, chosen, strict=True):
            cells[c] = v
        yield tuple(cells)


@pytest.mark.parametrize("name", SMALL)
def test_small_pages_have_one_solution_among_all_fillings(name: str) -> None:
    page, cells = solved(name, 1, 0)
    assert [c for c in every(name, page) if RULES[name](page, c)] == [cells]


@pytest.mark.parametrize("name", SQUARES)
def test_squares_have_one_solution_among_all(name: str) -> None:
    page, cells = solved(name, 2, 1)
    lines_ = list(itertools.permutations(range(1, 5)))
    found = []
    for a, b in itertools.product(lines_, repeat=2):
        if any(x == y for x, y in zip(a, b, strict=True)):
            continue
        for c, d in itertools.product(lines_, repeat=2):
            filled = (*a, *b, *c, *d)
            if all(g in (BLANK, v) for g, v in zip(page.given, filled, strict=True)) and RULES[name](page, filled):
                found.append(filled)
    assert found == [cells]


@pytest.mark.parametrize("name", RULES)
def test_splits_share_no_page(name: str) -> None:
    world = world_of(name)
    seen = [{world.start(seed, 1, split=s).page for seed in range(8)} for s in ("train", "validation", "test")]
    assert not seen[0] & seen[1] and not seen[0] & seen[2] and not seen[1] & seen[2]


def test_rows_are_read_with_and_without_gaps() -> None:
    kakuro, key = world_of("Kakuro"), "# # # # / # # 1 4 / # 2 6 7 / # 4 2 8"
    move = kakuro.read(key, SOLO)
    spellings = (
        key.replace(" ", ""),
        key.replace(" / ", "\n"),
        "# # # # / # # 14 / # 267 / # 428",
        "#### ##14 #267 #428",
    )
    for text in spellings:
        assert kakuro.read(text, SOLO) == move
    wide = "10 2 3 / 4 5 16 / 7 8 9"
    assert world_of("Survo").read(wide.replace(" / ", "\n"), SOLO) == world_of("Survo").read(wide, SOLO)
    assert world_of("Survo").read("1 12 / 3 4", SOLO).value == (1, 12, 3, 4)


@pytest.mark.parametrize(
    "name, rows", [("Survo", ("7 2 11", "5 9 12", "1 10 4")), ("FlowLinks", ("A A B", "A C B", "C C B"))]
)
def test_rows_are_read_with_the_labels_of_a_printed_grid(name: str, rows: tuple[str, ...]) -> None:
    world = world_of(name)
    plain, counted = world.read(" / ".join(rows), SOLO), list(enumerate(rows, 1))
    printed = ["   a b c", *(f" {i} {row}" for i, row in counted)]
    named = [f"Row {i}: {row}" for i, row in counted]
    for text in (
        "\n".join(printed),
        "\n".join(["Grid:", *printed]),
        "\n".join(named),
        ", ".join(named),
        " / ".join(named),
    ):
        assert world.read(text, SOLO) == plain is not None, text
    assert world.read("\n".join(named[::-1]), SOLO) is None
    assert world.read("\n".join(printed[::-1]), SOLO) != plain


def test_rules_on_no_cell_and_on_lines_of_one_hold_or_do_not() -> None:
    assert Count((), 2, 0, 4).narrow([]) == () and Count((), 2, 1, 4).narrow([]) is None
    assert not Fleet((0, 1, 2), 1, (1,)).narrow([3, 3, 3])


def test_rows_may_be_parted_by_a_slash_at_the_end_of_a_line() -> None:
    world = world_of("Survo")
    plan = world.solve(world.start(3, 4), SOLO)
    assert isinstance(plan, Plan)
    assert world.read(plan.moves[0].key.replace(" / ", " /\n"), SOLO) == plan.moves[0]


def test_products_of_large_cages_are_words_and_one_knave_is_no_knaves() -> None:
    cages, notes = world_of("KenKen"), set[str]()
    known = set(cages.words(9))
    for seed in range(40):
        for split in ("train", "validation"):
            assert known.issuperset(cages.static(cages.start(seed, 9, split=split), SOLO))
        notes |= {note for note in world_of("KnightsKnaves").start(seed, 5).page.notes if "exactly" in note}
    assert {" ".join(note.split()[3:5]) for note in notes} == {"0 knaves", "1 knave", "2 knaves", "3 knaves"}


def test_printed_marks_may_be_named_too_and_the_end_is_told() -> None:
    world = world_of("Battleships")
    state = next(s for s in (world.start(seed, 4) for seed in range(50)) if {0, 1} <= {*s.page.given})
    plan, names = world.solve(state, SOLO), names_of(state.page.width, state.page.height)
    assert isinstance(plan, Plan)
    ones, zeros = ([n for n, v in zip(names, state.page.given, strict=True) if v == value] for value in (1, 0))
    after = world.step(state, {SOLO: world.read(" ".join([plan.moves[0].key, *ones]), SOLO)})
    assert after.rewards == {SOLO: {"success": 1.0}}
    assert world.step(state, {SOLO: world.read(f"{plan.moves[0].key} {zeros[0]}", SOLO)}).events == {SOLO: ("illegal",)}
    assert "At the end you wrote: " in world.caption(after.state, SOLO, 2)
