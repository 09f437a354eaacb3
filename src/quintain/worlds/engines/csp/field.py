"""What a mine field is made of: where the mines are, what is open, and what follows from the open numbers alone."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quintain.types import Ints
from quintain.worlds.cells import names_of
from quintain.worlds.engines.csp.reasons import Words, easiest
from quintain.worlds.engines.csp.rules import Total
from quintain.worlds.engines.csp.solve import Solver

CLOSED, MINE = "?", "*"
SAFE_BIT, MINE_BIT, EITHER = 1, 2, 3  # domains of a closed cell: value 1 is a mine


@dataclass(frozen=True, slots=True)
class Field:
    """The state of a field: `mines` (hidden) in order, and what the player sees of each cell.

    `seen` is row-major: `?` closed, a digit for an open cell with that many mines around it, `*` a mine that was stepped on.
    """

    width: int
    height: int
    mines: Ints
    seen: str
    budget: int = 0


@functools.lru_cache(maxsize=64)
def around(width: int, height: int) -> tuple[Ints, ...]:
    """For each cell the up to eight cells that touch it."""
    out = []
    for cell in range(width * height):
        y, x = divmod(cell, width)
        rows, columns = range(max(y - 1, 0), min(y + 2, height)), range(max(x - 1, 0), min(x + 2, width))
        out.append(tuple(r * width + c for r in rows for c in columns if (r, c) != (y, x)))
    return tuple(out)


def opened(field: Field, cell: int) -> str:
    """What is seen after a closed cell is opened; a 0 opens all cells around it, and so on."""
    seen = list(field.seen)
    if cell in field.mines:
        seen[cell] = MINE
        return "".join(seen)
    near, mines = around(field.width, field.height), set(field.mines)
    waiting = [cell]
    while waiting:
        at = waiting.pop()
        if seen[at] == CLOSED:
            count = sum(c in mines for c in near[at])
            seen[at] = str(count)
            if not count:
                waiting.extend(near[at])
    return "".join(seen)


class Known(NamedTuple):
    """What is certain about the closed cells: which are safe, which are mines; `simple`: single numbers told it."""

    safe: Ints
    mines: Ints
    simple: bool


class Clues:
    """The open numbers of a field as rules, over its closed cells.

    Variable i < n is the closed cell `border[i]` beside a number, 0 safe and 1 a mine; variable n is how many mines lie in
    `inner`, the closed cells that no number touches.
    """

    def __init__(self, width: int, height: int, seen: str, mines: int) -> None:
        near = around(width, height)
        numbers = [c for c, sign in enumerate(seen) if sign not in (CLOSED, MINE, "0")]
        touched = {c: tuple(o for o in near[c] if seen[o] == CLOSED) for c in numbers}
        exploded = {c for c, sign in enumerate(seen) if sign == MINE}
        index: dict[int, int] = {}
        for cells in touched.values():
            for cell in cells:
                index.setdefault(cell, len(index))
        self.border: Ints = tuple(index)
        self.inner: Ints = tuple(c for c, sign in enumerate(seen) if sign == CLOSED and c not in index)
        self.said = [(c, cells) for c, cells in touched.items() if cells]
        rules = [
            Total(tuple(index[o] for o in cells), int(seen[c]) - len(exploded.intersection(near[c])))
            for c, cells in self.said
        ]
        n = len(index)
        rules.append(Total(tuple(range(n + 1)), mines - len(exploded)))
        self.count = len(rules) - 1  # the rule about all mines
        self.solver = Solver(rules, n + 1)
        self.start: list[int] = [EITHER] * n + [(2 << len(self.inner)) - 1]

    def simple(self) -> Known:
        """What single numbers tell, one after the other."""
        domains = self.start.copy()
        self.solver.narrow(domains)
        return self._known(domains, True)

    def all(self, enough: int = 1 << 30) -> Known:
        """What is certain: a cell is safe if no placement of the mines that fits the numbers has a mine there.

        Args:
            enough: safe cells after which it looks no further.
        """
        domains = self.start.copy()
        self.solver.narrow(domains)
        seen = [0] * len(domains)  # the values that some placement has
        last = len(self.border)
        for cell in range(last):
            for value in (MINE_BIT, SAFE_BIT):
                self._try(domains, seen, cell, value)
            if enough < last and domains[:-1].count(SAFE_BIT) >= enough:
                return self._known(domains, False)
        for none_or_all in (1, 1 << len(self.inner)):  # of the count of inner mines only its ends matter
            self._try(domains, seen, last, domains[last] & ~none_or_all)
        return self._known(domains, False)

    def _try(self, domains: list[int], seen: list[int], cell: int, values: int) -> None:
        """Look for a placement in which `cell` has one of `values`, unless one is known; without any, rule them out."""
        if seen[cell] & values or not domains[cell] & values or domains[cell] == values:
            return
        guess = domains.copy()
        guess[cell] &= values
        found = self.solver.search(guess, first=self._orders[cell])
        if found.solutions:
            for i, value in enumerate(found.solutions[0]):
                seen[i] |= 1 << value
        elif found.complete:
            domains[cell] &= ~values
            self.solver.narrow(domains, (cell,))

    def placement(self) -> Ints | None:
        """Some placement of the mines in the closed cells that fits the numbers, or None."""
        found = self.solver.search(self.start)
        if not found.solutions:
            return None
        *values, rest = found.solutions[0]
        return tuple(sorted([c for c, v in zip(self.border, values, strict=True) if v] + list(self.inner[:rest])))

    @functools.cached_property
    def _orders(self) -> tuple[Ints, ...]:
        """For each variable, in which order to guess: the part of the border that rules link to it, then the others."""
        last = len(self.border)
        parts: list[list[int]] = []
        seen: set[int] = set()
        for root in range(last):
            if root in seen:
                continue
            part = [root]
            seen.add(root)
            for at in part:  # grows while it is walked
                for rule in self.solver.at[at]:
                    for cell in self.solver.rules[rule].cells:
                        if cell not in seen and rule != self.count:
                            seen.add(cell)
                            part.append(cell)
            parts.append(part)
        orders: dict[int, Ints] = {last: tuple(c for part in parts for c in part)}
        for part in parts:
            order = tuple(part + [c for other in parts if other is not part for c in other])
            orders.update(dict.fromkeys(part, order))
        return tuple(orders[i] for i in range(last + 1))

    def _known(self, domains: Sequence[int], simple: bool) -> Known:
        *border, rest = domains
        safe = [c for c, d in zip(self.border, border, strict=True) if d == SAFE_BIT]
        mines = [c for c, d in zip(self.border, border, strict=True) if d == MINE_BIT]
        if rest == 1:
            safe += self.inner
        elif rest == 1 << len(self.inner):
            mines += self.inner
        return Known(tuple(sorted(safe)), tuple(sorted(mines)), simple)


@functools.lru_cache(maxsize=8192)
def certain(width: int, height: int, seen: str, mines: int, quick: bool = False) -> Known:
    """What the numbers in `seen` and the count of all mines make certain.

    Args:
        width: columns.
        height: rows.
        seen: what is seen of each cell, row by row.
        mines: how many mines there are in all.
        quick: look no further than the first safe cells, those that single numbers give before all others.
    """
    clues = Clues(width, height, seen, mines)
    known = clues.simple()
    if quick:
        return known if known.safe else clues.all(enough=1)
    return clues.all()._replace(simple=bool(known.safe))


@functools.lru_cache(maxsize=8192)
def explained(width: int, height: int, seen: str, mines: int, safe: Ints) -> tuple[Ints, str]:
    """Of the `safe` cells one that follows in few steps (see `easiest`), and these; () where trials of single cells do not tell."""
    names, clues = names_of(width, height), Clues(width, height, seen, mines)
    wanted = {i: SAFE_BIT for i, c in enumerate(clues.border) if c in safe}
    if {*clues.inner} & {*safe}:
        wanted[len(clues.border)] = 1
    words = Words(
        [*[names[c] for c in clues.border], "mines beside no number"],
        ("safe", "mine"),
        [*[f"{names[c]} shows {seen[c]}" for c, _ in clues.said], f"all mines are {mines}"],
        len(clues.border),
    )
    order, why = easiest(clues.solver.rules, tuple(clues.start), words, wanted)
    if not why:
        return (), ""
    cell = (*clues.border, *clues.inner)[order[0]]
    return (cell,), f"{why} So {names[cell]} safe." if cell in clues.inner else why


class Trail(NamedTuple):
    """Cells in the order in which they became certain and were opened, how often single numbers did not tell, the end."""

    cells: Ints
    puzzles: int
    end: Field

    @property
    def cleared(self) -> bool:
        """Whether every safe cell is open at the end."""
        return self.end.seen.count(CLOSED) + self.end.seen.count(MINE) == len(self.end.mines)


def unravel(field: Field) -> Trail:
    """Open what is certainly safe, again and again, until all is open or nothing is certain.

    Each cell is chosen by what is seen at that time; the mines only decide what is seen next.
    """
    order: list[int] = []
    puzzles = 0
    while field.seen.count(CLOSED) + field.seen.count(MINE) > len(field.mines):
        known = certain(field.width, field.height, field.seen, len(field.mines), True)
        if not known.safe:
            break
        puzzles += not known.simple
        for cell in known.safe:
            if field.seen[cell] == CLOSED:
                field = show(field, cell)
                order.append(cell)
    return Trail(tuple(order), puzzles, field)


def show(field: Field, cell: int) -> Field:
    """The field after `cell` is opened."""
    return Field(field.width, field.height, field.mines, opened(field, cell), field.budget)
