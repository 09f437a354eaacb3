"""Rules between variables. A domain is a set of small integers as bits: value v is possible where bit 1 << v is set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from quintain.types import Ints


class Rule(Protocol):
    """A rule between the variables `cells`."""

    @property
    def cells(self) -> Ints:
        """The variables that the rule binds."""
        ...

    def narrow(self, domains: list[int]) -> list[int] | None:
        """Take impossible values out of `domains`, in place: the variables that changed, or None if none is left for one.

        With every domain a single value it must return None exactly when the rule is broken.
        """
        ...


class _Table(dict[int, int]):
    """What a function gives for an integer, remembered."""

    def __init__(self, of: Callable[[int], int]) -> None:
        self.of = of

    def __missing__(self, key: int) -> int:
        value = self[key] = self.of(key)
        return value


LEAST = _Table(lambda d: (d & -d).bit_length() - 1)  # domain -> its smallest value
SPAN = _Table(lambda d: d.bit_length() - (d & -d).bit_length())  # domain -> its greatest value less its smallest


@dataclass(frozen=True, slots=True)
class Distinct:
    """All `cells` differ. `values` are bits that must each occur; give it where there are as many values as cells.

    Example:
        >>> domains = [0b010, 0b110, 0b111]
        >>> Distinct((0, 1, 2), 0b111).narrow(domains), domains
        ([1, 2], [2, 4, 1])
    """

    cells: Ints
    values: int = 0

    def narrow(self, domains: list[int]) -> list[int] | None:
        cells, values = self.cells, self.values
        changed: list[int] = []
        again = True
        while again:
            again = False
            fixed = once = twice = 0
            for c in cells:
                d = domains[c]
                if not d & (d - 1):
                    if not d or fixed & d:
                        return None
                    fixed |= d
                twice |= once & d
                once |= d
            if values & ~once:
                return None
            alone = values & once & ~twice & ~fixed
            for c in cells:
                d = domains[c]
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
                    domains[c] = kept
                    changed.append(c)
                    again = again or not kept & (kept - 1)
        return changed


@dataclass(frozen=True, slots=True)
class Total:
    """The values of `cells` add up to `total`.

    Example:
        >>> domains = [0b11, 0b11, 0b01]
        >>> Total((0, 1, 2), 2).narrow(domains), domains
        ([0, 1], [2, 2, 1])
    """

    cells: Ints
    total: int

    def narrow(self, domains: list[int]) -> list[int] | None:
        cells, changed = self.cells, []
        while True:
            now = [domains[c] for c in cells]
            spans = [SPAN[d] for d in now]
            room = self.total - sum([LEAST[d] for d in now])
            need = sum(spans) - room
            if room < 0 or need < 0:
                return None
            least_slack, before = min(room, need), len(changed)
            if max(spans) <= least_slack:
                return changed
            for c, d, span in zip(cells, now, spans, strict=True):
                if span > least_slack:
                    low = LEAST[d]
                    kept = d & (2 << low + room) - 1 & -1 << max(low + span - need, 0)
                    if kept != d:
                        if not kept:
                            return None
                        domains[c] = kept
                        changed.append(c)
            if len(changed) == before:
                return changed


def holds(rules: Sequence[Rule], values: Ints) -> bool:
    """Whether an assignment of one value to each variable keeps every rule.

    Example:
        >>> holds([Distinct((0, 1)), Total((0, 1), 3)], (1, 2)), holds([Distinct((0, 1))], (1, 1))
        (True, False)
    """
    domains = [1 << v for v in values]
    return all(rule.narrow(domains) is not None for rule in rules)
