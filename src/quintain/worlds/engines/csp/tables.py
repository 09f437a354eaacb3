"""Rules given by what they allow: lists of patterns, relations of two, counts, and parities."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from quintain.types import Ints
from quintain.worlds.engines.csp.rules import VALUES, Changes, Known, known, recalled, taking


class Reach(dict[int, int]):
    """Domain -> the union of what belongs to its values."""

    __slots__ = ("masks",)

    def __init__(self, masks: Sequence[int]) -> None:
        self.masks = masks

    def __missing__(self, domain: int) -> int:
        found = 0
        for value, mask in enumerate(self.masks):
            if domain >> value & 1:
                found |= mask
        self[domain] = found
        return found


class Patterns:
    """The value tuples that a table allows.

    Args:
        tuples: allowed values, in the order of the cells.
        width: one more than the greatest value of any domain.

    Example:
        >>> Patterns([(0, 1), (1, 1)], 2).narrowed((3, 3))
        ((1, 2),)
    """

    __slots__ = ("all", "having", "known", "some")

    def __init__(self, tuples: Iterable[Sequence[int]], width: int) -> None:
        listed = [tuple(t) for t in tuples]
        self.all = (1 << len(listed)) - 1
        having = [[0] * width for _ in listed[0]] if listed else []  # cell, value -> patterns with it, as bits
        for n, pattern in enumerate(listed):
            bit = 1 << n
            for patterns, value in zip(having, pattern, strict=True):
                patterns[value] |= bit
        self.some = [Reach(patterns) for patterns in having]
        self.having = [{1 << v: bits for v, bits in enumerate(patterns)} for patterns in having]
        self.known = Known(self.narrowed)

    def narrowed(self, now: Ints) -> Changes | None:
        """What changes in domains so that every value is one of some pattern within them; None where no pattern is."""
        fit, out = self.all, []
        for d, some in zip(now, self.some, strict=False):
            fit &= some[d]
        if not fit:
            return None
        for i, d in enumerate(now):
            if d & (d - 1):
                having, kept = self.having[i], d
                for value in VALUES[d]:
                    if not having[value] & fit:
                        kept ^= value
                if kept != d:
                    out.append((i, kept))
        return tuple(out)


class Table:
    """The values of `cells` are one of `patterns`."""

    __slots__ = ("cells", "known", "take")

    def __init__(self, cells: Ints, patterns: Patterns) -> None:
        self.cells, self.take, self.known = cells, taking(cells), patterns.known

    narrow = recalled


class Relation:
    """Which values of two variables go together: `ok(a, b)` for values below `width`."""

    __slots__ = ("after", "before", "known")

    def __init__(self, ok: Callable[[int, int], bool], width: int) -> None:
        values = range(width)
        self.after = Reach([sum(1 << b for b in values if ok(a, b)) for a in values])
        self.before = Reach([sum(1 << a for a in values if ok(a, b)) for b in values])
        self.known = Known(self.narrowed)

    def narrowed(self, now: Ints) -> Changes | None:
        """What changes in two domains so that each value goes with one of the other; None where none is left."""
        first, second = now
        later = second & self.after[first]
        sooner = first & self.before[later]
        if not later or not sooner:
            return None
        pairs = ((0, first, sooner), (1, second, later))
        return tuple([(i, new) for i, old, new in pairs if new != old])


class Pair:
    """The values of two cells go together."""

    __slots__ = ("cells", "known", "take")

    def __init__(self, cells: Ints, relation: Relation) -> None:
        self.cells, self.take, self.known = cells, taking(cells), relation.known

    narrow = recalled


class Count:
    """From `low` to `high` of the cells have a value of the bits `mask`.

    Only where a domain comes to lie within the bits `wakes` has it something new to say.
    """

    __slots__ = ("cells", "high", "known", "low", "take", "wakes")

    def __init__(self, cells: Ints, mask: int, low: int, high: int) -> None:
        self.low, self.high = low, high
        self.cells, self.take, self.known = cells, taking(cells), known(_counted, mask, low, high)
        self.wakes = mask if low <= 0 else ~mask if high >= len(cells) else -1

    narrow = recalled


def _counted(mask: int, low: int, high: int, now: Ints) -> Changes | None:
    sure, may = 0, []
    for i, d in enumerate(now):
        if d & mask:
            if d & ~mask:
                may.append(i)
            else:
                sure += 1
    if sure > high or sure + len(may) < low:
        return None
    if sure == high:
        return tuple([(i, now[i] & ~mask) for i in may])
    if sure + len(may) == low:
        return tuple([(i, now[i] & mask) for i in may])
    return ()


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
