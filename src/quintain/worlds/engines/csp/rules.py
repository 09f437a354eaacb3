"""Rules between variables. A domain is a set of small integers as bits: value v is possible where bit 1 << v is set."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Protocol, TypeVar

from quintain.types import Ints

Changes = tuple[tuple[int, int], ...]  # place among the cells of a rule, new domain
SMALL = 256  # domains below it are few enough to meet again
KEPT = 2048  # answers that one kind of rule remembers
MOST = 1 << 16  # domains whose values and span are


class Rule(Protocol):
    """A rule between the variables `cells`."""

    @property
    def cells(self) -> Ints:
        """The variables that the rule binds."""
        ...

    def narrow(self, domains: list[int]) -> Sequence[int] | None:
        """Take impossible values out of `domains`, in place: the variables that changed, or None if none is left for one.

        With every domain a single value it must return None exactly when the rule is broken.
        """
        ...


Told = TypeVar("Told")


class _Table(dict[int, Told]):
    """What a function gives for an integer, remembered."""

    def __init__(self, of: Callable[[int], Told]) -> None:
        self.of = of

    def __missing__(self, key: int) -> Told:
        if len(self) >= MOST:
            self.clear()
        value = self[key] = self.of(key)
        return value


LEAST = _Table(lambda d: (d & -d).bit_length() - 1)  # domain -> its smallest value
VALUES = _Table(lambda d: tuple([1 << v for v in range(d.bit_length()) if d >> v & 1]))  # domain -> its values as bits
SPAN = _Table(lambda d: d.bit_length() - (d & -d).bit_length())  # domain -> its greatest value less its smallest


class Known(dict[Ints, Changes | None]):
    """What a kind of rule makes of the domains of its cells: the changes, or None if none is left for one; small ones are remembered."""

    __slots__ = ("of",)

    def __init__(self, of: Callable[[Ints], Changes | None]) -> None:
        self.of = of

    def __missing__(self, now: Ints) -> Changes | None:
        found = self.of(now)
        if max(now, default=0) < SMALL:
            if len(self) >= KEPT:
                self.clear()
            self[now] = found
        return found


@functools.lru_cache(maxsize=256)
def known(of: Callable[..., Changes | None], *given: int) -> Known:
    """What `of(*given, domains)` tells, for all rules of a kind."""
    return Known(functools.partial(of, *given))


class Local(Protocol):
    """A rule for which only the domains of its cells count, not which cells they are."""

    cells: Ints
    take: Callable[[list[int]], Ints]
    known: dict[Ints, Any]


def recalled(self: Local, domains: list[int]) -> Sequence[int] | None:
    """See `Rule.narrow`."""
    found = self.known[self.take(domains)]
    if not found:
        return found
    cells, changed = self.cells, []
    for i, domain in found:
        cell = cells[i]
        domains[cell] = domain
        changed.append(cell)
    return changed


def taking(cells: Ints) -> Callable[[Sequence[int]], Ints]:
    """What takes the domains of some cells."""
    return itemgetter(*cells) if len(cells) > 1 else lambda domains: tuple([domains[cell] for cell in cells])


class Distinct:
    """All `cells` differ. `values` are bits that must each occur; give it where there are as many values as cells.

    Example:
        >>> domains = [0b010, 0b110, 0b111]
        >>> Distinct((0, 1, 2), 0b111).narrow(domains), domains
        ([1, 2], [2, 4, 1])
    """

    __slots__ = ("cells", "known", "take", "values")

    def __init__(self, cells: Ints, values: int = 0) -> None:
        self.cells, self.values = cells, values
        self.take, self.known = taking(cells), known(_distinct, values)

    narrow = recalled


def _distinct(values: int, now: Sequence[int]) -> Changes | None:
    new, changed = list(now), {}
    again = True
    while again:
        again = False
        fixed = once = twice = 0
        for d in new:
            if d & (d - 1):
                twice |= once & d
                once |= d
            elif not d or fixed & d:
                return None
            else:
                fixed |= d
        if values & ~(once | fixed):
            return None
        alone = values & once & ~twice & ~fixed
        if not alone and not fixed & once:
            break
        for i, d in enumerate(new):
            if not d & (d - 1):
                continue
            kept = d & ~fixed
            if kept & alone:
                kept &= alone
                if kept & (kept - 1):
                    return None  # two values have this cell alone
            if kept != d:
                if not kept:
                    return None
                new[i] = changed[i] = kept
                again = again or not kept & (kept - 1)
    return tuple(changed.items())


class Total:
    """The values of `cells` add up to `total`.

    Example:
        >>> domains = [0b11, 0b11, 0b01]
        >>> Total((0, 1, 2), 2).narrow(domains), domains
        ([0, 1], [2, 2, 1])
    """

    __slots__ = ("cells", "known", "take", "total")

    def __init__(self, cells: Ints, total: int) -> None:
        self.cells, self.total = cells, total
        self.take, self.known = taking(cells), known(_total, total)

    narrow = recalled


def _total(total: int, now: Sequence[int]) -> Changes | None:
    new, changed = list(now), {}
    while True:
        spans = list(map(SPAN.__getitem__, new))
        room = total - sum(map(LEAST.__getitem__, new))
        need = sum(spans) - room
        if room < 0 or need < 0:
            return None
        least_slack, again = min(room, need), False
        if max(spans, default=0) <= least_slack:
            break
        for i, span in enumerate(spans):
            if span > least_slack:
                d = new[i]
                low = LEAST[d]
                kept = d & (2 << low + room) - 1 & -1 << max(low + span - need, 0)
                if kept != d:
                    if not kept:
                        return None
                    new[i] = changed[i] = kept
                    again = True
        if not again:
            break
    return tuple(changed.items())


class Sum:
    """All `cells` differ, and their values add up to `total`.

    Example:
        >>> domains = [0b1110, 0b1110]
        >>> Sum((0, 1), 3).narrow(domains), domains
        ([0, 1], [6, 6])
    """

    __slots__ = ("cells", "known", "take")

    def __init__(self, cells: Ints, total: int) -> None:
        self.cells, self.take, self.known = cells, taking(cells), known(_sum, total)

    narrow = recalled


def _sum(total: int, now: Ints) -> Changes | None:
    new, changed, rest, idle = list(now), {}, True, 0
    while idle < 2:
        found = _distinct(0, new) if rest else _total(total, new)
        if found is None:
            return None
        for i, domain in found:
            new[i] = changed[i] = domain
        idle = 1 if found else idle + 1
        rest = not rest
    return tuple(changed.items())


def holds(rules: Sequence[Rule], values: Ints) -> bool:
    """Whether an assignment of one value to each variable keeps every rule.

    Example:
        >>> holds([Distinct((0, 1)), Total((0, 1), 3)], (1, 2)), holds([Distinct((0, 1))], (1, 1))
        (True, False)
    """
    domains = [1 << v for v in values]
    return all(rule.narrow(domains) is not None for rule in rules)
