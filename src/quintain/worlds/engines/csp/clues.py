"""How pages get their clues: from a planted solution, cell by cell, so that one solution is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quintain.types import Ints
from quintain.worlds.engines.csp.page import BLANK, Page, Truth, columns_of, neighbours, rows_of
from quintain.worlds.engines.csp.rules import Distinct, Rule, holds
from quintain.worlds.engines.csp.solve import Model, Solver, search
from quintain.worlds.noise import Rng

SEARCH = 400  # guesses after which a page is given up
QUICK = 40  # guesses after which one more cell is printed


def domains_of(page: Page, values: int) -> Ints:
    """Domains of the cells: the printed value, or the bits `values` where a cell is blank."""
    return tuple(values if v == BLANK else 1 << max(v, 0) for v in page.given)


def latin_rules(size: int) -> tuple[Rule, ...]:
    """Every row and every column holds the values 1 to `size` once."""
    values = (1 << size) - 1 << 1
    return tuple(Distinct(line, values) for line in (*rows_of(size, size), *columns_of(size, size)))


def latin(rng: Rng, size: int, values: Sequence[int] | None = None) -> Ints:
    """A random square in which each row and column holds each of 1 to `size` once."""
    solver = _latins.setdefault(size, Solver(latin_rules(size), size * size))
    return solver.search([(1 << size) - 1 << 1] * (size * size), rng=rng).one


_latins: dict[int, Solver] = {}


def settle(rng: Rng, page: Page, truth: Sequence[int], model: Callable[[Page], Model], most: int = 99) -> Page | None:
    """Print cells of the solution, each one in which another solution differs, until there is no other.

    Where a search takes long, any cell is printed. None where more than `most` would be.
    """
    given, made = list(page.given), model(page)
    solver, domains = Solver(made.rules, len(made.domains)), list(made.domains)  # printing changes no rules
    changed: Ints | None = None
    settled = len(made.rules) > 1  # a rule alone is applied once, and what it then leaves is not the last word
    for _ in range(most + 1):
        if settled:
            solver.narrow(domains, changed)
        found = solver.search(domains, 2, QUICK, made.first, rng, () if settled else None)
        cells = [made.cells(s) if made.cells else s for s in found.solutions]
        blanks = page.blanks
        wrong = [c for s in cells for c in blanks if s[c] != truth[c]]
        if not wrong and found.complete:
            return page
        cell = rng.pick(wrong or blanks)
        given[cell] = truth[cell]
        page = replace(page, given=tuple(given))
        if made.cells:
            domains = [a & b for a, b in zip(domains, model(page).domains, strict=True)]
        else:
            domains[cell], changed = 1 << truth[cell], (cell,)
    return None


def thin(rng: Rng, page: Page, truth: Sequence[int], made: Model, blanks: int) -> Page | None:
    """Blank random cells while no other solution appears, until there are `blanks`; None where that many cannot be.

    A cell may be blanked where every other value of it leads to a contradiction. `made` has the domains of an empty page.
    """
    solver, domains = Solver(made.rules, len(made.domains)), [1 << max(v, 0) for v in truth]
    domains += made.domains[len(truth) :]
    order = [c for c, v in enumerate(page.given) if v == BLANK or v >= 0]
    rng.shuffle(order)
    loose = list(range(len(truth), len(domains)))  # all rules about none of these are kept
    left, given = blanks, list(truth)
    for tried, cell in enumerate(order):
        if not left or len(order) - tried < left:
            break
        known, other = domains[cell], made.domains[cell]
        domains[cell] = other & ~known
        found = solver.search(domains, 1, SEARCH, changed=(*loose, cell)) if domains[cell] else None
        if found is None or (found.complete and not found.solutions):
            domains[cell], given[cell] = other, BLANK
            loose.append(cell)
            left -= 1
        else:
            domains[cell] = known
    return None if left else replace(page, given=tuple(given))


def pick_clues(
    rng: Rng,
    page: Page,
    clues: Sequence[Any],
    truth: Sequence[int],
    put: Callable[[Page, Sequence[Any]], Page],
    model: Callable[[Page], Model],
    first: int,
) -> Page | None:
    """Add clues, each one that another solution breaks, until there is no other; begin with `first` random ones.

    Args:
        rng: chance.
        page: without clues.
        clues: all that may be printed.
        truth: values of the solution's cells.
        put: page, clues -> the page with these clues.
        model: the page's rules.
        first: clues to begin with.
    """
    rest = list(clues)
    rng.shuffle(rest)
    used, rest = rest[:first], rest[first:]
    alone: dict[Any, Model] = {}
    for _ in range(len(clues) + 1):
        now = put(page, used)
        found = search(model(now), 2, rng, SEARCH)
        others = [s for s in found.solutions if tuple(s[: len(truth)]) != tuple(truth)]
        if not others:
            return now if found.complete else None
        for at, clue in enumerate(rest):
            if clue not in alone:
                alone[clue] = model(put(page, [clue]))
            if not _keeps(alone[clue], others[0]):
                used.append(rest.pop(at))
                break
        else:
            return None
    return None


def _keeps(made: Model, values: Ints) -> bool:
    return all(d >> v & 1 for d, v in zip(made.domains, values, strict=True)) and holds(made.rules, values)


def regions(rng: Rng, width: int, height: int, seeds: Sequence[int], most: int = 99) -> list[int] | None:
    """Grow regions from `seeds` until they cover the grid, none beyond `most` cells: the number of each cell's region."""
    near, out = neighbours(width, height), [-1] * (width * height)
    sizes = [1] * len(seeds)
    for i, seed in enumerate(seeds):
        out[seed] = i
    edge = list(seeds)
    while edge:
        at = rng.below(len(edge))
        cell = edge[at]
        free = [n for n in near[cell] if out[n] < 0]
        if not free or sizes[out[cell]] >= most:
            edge[at] = edge[-1]
            edge.pop()
            continue
        new = rng.pick(free)
        out[new] = out[cell]
        sizes[out[cell]] += 1
        edge.append(new)
    return None if -1 in out else out


def cages(rng: Rng, width: int, height: int, most: int) -> list[int]:
    """A random partition of a grid into connected cages of 1 to `most` cells, few of them single."""
    near, out, count = neighbours(width, height), [-1] * (width * height), 0
    order = list(range(width * height))
    rng.shuffle(order)
    for cell in order:
        if out[cell] >= 0:
            continue
        size, cage = 2 + rng.below(most - 1), [cell]
        out[cell] = count
        while len(cage) < size:
            free = [n for c in cage for n in near[c] if out[n] < 0]
            if not free:
                break
            new = rng.pick(free)
            out[new] = count
            cage.append(new)
        count += 1
    return out


def letters(numbers: Sequence[int]) -> str:
    """Regions as letters, in order of first appearance."""
    names: dict[int, str] = {}
    for n in numbers:
        names.setdefault(n, chr(65 + len(names)) if len(names) < 26 else chr(71 + len(names)))
    return "".join(names[n] for n in numbers)


def members(ground: str) -> dict[str, Ints]:
    """The cells of each region."""
    out: dict[str, list[int]] = {}
    for c, sign in enumerate(ground):
        out.setdefault(sign, []).append(c)
    return {sign: tuple(cells) for sign, cells in out.items()}


def planted(knobs: Mapping[str, Any], values: Sequence[int]) -> Truth:
    """A square solution."""
    return Truth(knobs["size"], knobs["size"], tuple(values))
