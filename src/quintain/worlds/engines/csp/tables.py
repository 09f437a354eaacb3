"""Rules given by what they allow: lists of patterns, relations of two, counts, and parities."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from quintain.types import Ints

KEPT = 20_000  # answers that a list of patterns remembers


class Patterns:
    """The value tuples that a table allows, each as one integer: cell i with value v is bit `i * width + v`.

    Args:
        tuples: allowed values, in the order of the cells.
        width: one more than the greatest value of any domain.

    Example:
        >>> Patterns([(0, 1), (1, 1)], 2).union(0b1111)
        11
    """

    __slots__ = ("known", "list", "width")

    def __init__(self, tuples: Iterable[Sequence[int]], width: int) -> None:
        self.width = width
        self.list = tuple([sum([1 << i * width + v for i, v in enumerate(t)]) for t in tuples])
        self.known: dict[int, int] = {}

    def union(self, joined: int) -> int:
        """All values that some pattern within `joined` has; 0 where none fits."""
        found = self.known.get(joined)
        if found is None:
            found = 0
            for pattern in self.list:
                if pattern & joined == pattern:
                    found |= pattern
            if len(self.known) >= KEPT:
                self.known.clear()
            self.known[joined] = found
        return found


@dataclass(frozen=True, slots=True)
class Table:
    """The values of `cells` are one of `patterns`."""

    cells: Ints
    patterns: Patterns

    def narrow(self, domains: list[int]) -> list[int] | None:
        cells, width, joined = self.cells, self.patterns.width, 0
        for c in reversed(cells):
            joined = joined << width | domains[c]
        union = self.patterns.union(joined)
        if union == joined:
            return []
        if not union:
            return None
        changed, mask = [], (1 << width) - 1
        for c in cells:
            kept = union & mask
            if kept != domains[c]:
                domains[c] = kept
                changed.append(c)
            union >>= width
        return changed


class Relation:
    """Which values of two variables go together: `ok(a, b)` for values below `width`."""

    __slots__ = ("after", "before", "known")

    def __init__(self, ok: Callable[[int, int], bool], width: int) -> None:
        values = range(width)
        self.after = tuple(sum(1 << b for b in values if ok(a, b)) for a in values)
        self.before = tuple(sum(1 << a for a in values if ok(a, b)) for b in values)
        self.known: tuple[dict[int, int], dict[int, int]] = ({}, {})

    def reach(self, domain: int, back: bool) -> int:
        """The values that go with some value of `domain` on the other side."""
        found = self.known[back].get(domain)
        if found is None:
            found, masks = 0, self.before if back else self.after
            for value, mask in enumerate(masks):
                if domain >> value & 1:
                    found |= mask
            self.known[back][domain] = found
        return found


@dataclass(frozen=True, slots=True)
class Pair:
    """The values of two cells go together."""

    cells: Ints
    relation: Relation

    def narrow(self, domains: list[int]) -> list[int] | None:
        a, b = self.cells
        first, second = domains[a], domains[b]
        later = second & self.relation.reach(first, False)
        sooner = first & self.relation.reach(later, True)
        if not later or not sooner:
            return None
        changed = []
        if sooner != first:
            domains[a] = sooner
            changed.append(a)
        if later != second:
            domains[b] = later
            changed.append(b)
        return changed


@dataclass(frozen=True, slots=True)
class Count:
    """From `low` to `high` of the cells have a value of the bits `mask`."""

    cells: Ints
    mask: int
    low: int
    high: int

    def narrow(self, domains: list[int]) -> list[int] | None:
        mask, sure, may = self.mask, 0, []
        for c in self.cells:
            d = domains[c]
            if d & mask:
                if d & ~mask:
                    may.append(c)
                else:
                    sure += 1
        if sure > self.high or sure + len(may) < self.low:
            return None
        if not may:
            return []
        if sure == self.high:
            for c in may:
                domains[c] &= ~mask
            return may
        if sure + len(may) == self.low:
            for c in may:
                domains[c] &= mask
            return may
        return []


@dataclass(frozen=True, slots=True)
class Parity:
    """A system of equations over two elements: the cells of each mask, as bits, have `odd` many ones or an even number.

    It finds all that follows for single cells, by elimination.
    """

    cells: Ints
    masks: Ints
    odd: Ints

    def narrow(self, domains: list[int]) -> list[int] | None:
        known = ones = 0
        for i, c in enumerate(self.cells):
            if domains[c] & (domains[c] - 1) == 0:
                known |= 1 << i
                ones |= (domains[c] >> 1 & 1) << i
        rows: dict[int, int] = {}  # pivot -> equation, the right side as the top bit
        top = 1 << len(self.cells)
        for mask, odd in zip(self.masks, self.odd, strict=True):
            row = (mask & ~known) | (top if (odd + (mask & ones).bit_count()) & 1 else 0)
            for pivot, other in rows.items():
                if row & pivot:
                    row ^= other
            if row == top:
                return None
            if row:
                pivot = row & -row
                for key, other in rows.items():
                    if other & pivot:
                        rows[key] = other ^ row
                rows[pivot] = row
        changed = []
        for pivot, row in rows.items():
            if row & ~top == pivot:
                cell = self.cells[pivot.bit_length() - 1]
                domains[cell] = 2 if row & top else 1
                changed.append(cell)
        return changed


LESS: Relation = Relation(lambda a, b: a < b, 12)
NEXT: Relation = Relation(lambda a, b: abs(a - b) == 1, 12)
APART: Relation = Relation(lambda a, b: abs(a - b) != 1, 12)


@functools.lru_cache(maxsize=4096)
def ones(length: int, fits: Callable[..., bool], *given: int) -> Patterns:
    """The patterns of zeros and ones, `length` long, of which `fits(pattern, *given)`."""
    lines = [tuple(n >> i & 1 for i in range(length)) for n in range(1 << length)]
    return Patterns([line for line in lines if fits(line, *given)], 2)
