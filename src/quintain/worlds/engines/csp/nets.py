"""Rules about what hangs together: connected cells, islands of given sizes, pairings, runs, and links between ends."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from quintain.types import Ints
from quintain.worlds.engines.csp.rules import taking


def flood(start: int, free: int, width: int, full: int) -> int:
    """The cells of `free` that hang together with `start`, all as bits; rows are `width` + 1 bits long, the last unused."""
    reached = start & free
    while True:
        wider = (reached | reached << 1 | reached >> 1 | reached << width + 1 | reached >> width + 1) & free & full
        if wider == reached:
            return reached
        reached = wider


def place(cell: int, width: int) -> int:
    """The bit of a cell where rows are one bit longer than they are."""
    return 1 << cell + cell // width


@functools.lru_cache(maxsize=64)
def places_of(cells: Ints, width: int) -> Ints:
    """The bits of some cells."""
    return tuple([place(c, width) for c in cells])


@dataclass(frozen=True, slots=True)
class Joined:
    """All cells with value `value` hang together over sides; with `outside` also by way of the world around the grid."""

    cells: Ints
    width: int
    value: int = 0
    outside: bool = False

    def narrow(self, domains: list[int]) -> list[int] | None:
        bit, width, sure, may = 1 << self.value, self.width, 0, 0
        if self.outside:
            return self._framed(domains)
        places = places_of(self.cells, width)
        for c, spot in zip(self.cells, places, strict=True):
            d = domains[c]
            if d & bit:
                may |= spot
                if d == bit:
                    sure |= spot
        if not sure:
            return []
        reached = flood(sure & -sure, may, width, (1 << (len(self.cells) // width) * (width + 1)) - 1)
        if sure & ~reached:
            return None
        lost = may & ~reached
        changed = [c for c, spot in zip(self.cells, places, strict=True) if lost & spot] if lost else []
        for c in changed:
            domains[c] &= ~bit
        return changed

    def _framed(self, domains: list[int]) -> list[int] | None:
        bit, width, wide = 1 << self.value, self.width, self.width + 2
        height = len(self.cells) // width
        full = (1 << (height + 2) * (wide + 1)) - 1
        may, sure = 0, 0
        for y in (0, height + 1):
            may |= ((1 << wide) - 1) << y * (wide + 1)
        for y in range(1, height + 1):
            may |= (1 | 1 << wide - 1) << y * (wide + 1)
        spots = []
        for c in self.cells:
            y, x = divmod(c, width)
            spot = 1 << (y + 1) * (wide + 1) + x + 1
            spots.append(spot)
            if domains[c] & bit:
                may |= spot
                sure |= spot if domains[c] == bit else 0
        reached = flood(1, may, wide, full)
        if sure & ~reached:
            return None
        changed = [c for c, spot in zip(self.cells, spots, strict=True) if may & spot & ~reached]
        for c in changed:
            domains[c] &= ~bit
        return changed


@dataclass(frozen=True, slots=True)
class Islands:
    """Cells with value 0 form islands, each around one clue (cell, size) and of its size; islands touch only at corners."""

    cells: Ints
    width: int
    clues: tuple[tuple[int, int], ...]

    def narrow(self, domains: list[int]) -> list[int] | None:
        width, land, may = self.width, 0, 0
        places = places_of(self.cells, width)
        for c, spot in zip(self.cells, places, strict=True):
            if domains[c] & 1:
                may |= spot
                land |= spot if domains[c] == 1 else 0
        full = (1 << (len(self.cells) // width) * (width + 1)) - 1
        islands = [(flood(place(c, width), land, width, full), size) for c, size in self.clues]
        shut = reach_all = every = twice = 0
        for island, size in islands:
            if not island or island.bit_count() > size:
                return None
            twice |= every & island
            every |= island
        if twice:
            return None  # an island with two clues
        for island, size in islands:
            missing = size - island.bit_count()
            if not missing:
                shut |= self._around(island, full) & ~island
                reach_all |= island
                continue
            room = may & ~self._around(every & ~island, full)
            reach = island
            for _ in range(missing):
                reach |= self._around(reach, full) & room
            if reach.bit_count() < size:
                return None
            reach_all |= reach
        if land & shut or land & ~reach_all:
            return None
        sea = (shut | ~reach_all) & may
        if not sea:
            return []
        changed = [c for c, spot in zip(self.cells, places, strict=True) if sea & spot]
        for c in changed:
            domains[c] &= 2
            if not domains[c]:
                return None
        return changed

    def _around(self, spots: int, full: int) -> int:
        step = self.width + 1
        return (spots | spots << 1 | spots >> 1 | spots << step | spots >> step) & full


@functools.lru_cache(maxsize=64)
def lines_of(cells: Ints, width: int) -> tuple[Callable[[Sequence[int]], Ints], ...]:
    """What takes the domains of each row and each column."""
    rows = [cells[i : i + width] for i in range(0, len(cells), width)]
    return tuple([taking(line) for line in (*rows, *zip(*rows, strict=True))])


@functools.lru_cache(maxsize=8192)
def sighted(line: Ints) -> tuple[int, Ints, bool]:
    """The most ones side by side in a line, the lengths from two on of rows of ones that end there, and whether any cell is open."""
    most, whole, length, closed = 0, [], 0, True
    for d in (*line, 1):
        if d == 2:
            length += 1
            continue
        most = max(most, length)
        if length > 1 and closed and d == 1:
            whole.append(length)
        length, closed = 0, d == 1
    return most, tuple(whole), 3 in line


@dataclass(frozen=True, slots=True)
class Fleet:
    """Ones form straight ships, and the lengths of all ships are `ships`, longest first. (Others rule out bends.)"""

    cells: Ints
    width: int
    ships: Ints

    def narrow(self, domains: list[int]) -> list[int] | None:
        whole: list[int] = []
        unsure = False
        for line in lines_of(self.cells, self.width):
            most, closed, gaps = sighted(line(domains))
            if most > self.ships[0]:
                return None
            whole += closed
            unsure = unsure or gaps
        for length in set(whole):
            if whole.count(length) > self.ships.count(length):
                return None
        if unsure:
            return []
        total = sum(domains[c] == 2 for c in self.cells)
        whole += [1] * (total - sum(whole))
        return [] if sorted(whole, reverse=True) == list(self.ships) else None


@dataclass(frozen=True, slots=True)
class Matched:
    """Each of the `owners` (lists of cells) gets a one of its own, and no one is left over."""

    cells: Ints
    owners: tuple[Ints, ...]

    def narrow(self, domains: list[int]) -> list[int] | None:
        holder: dict[int, int] = {}

        def give(owner: int, seen: set[int]) -> bool:
            for c in self.owners[owner]:
                if domains[c] & 2 and c not in seen:
                    seen.add(c)
                    if c not in holder or give(holder[c], seen):
                        holder[c] = owner
                        return True
            return False

        for owner in range(len(self.owners)):
            if not give(owner, set()):
                return None
        return []


@dataclass(frozen=True, slots=True)
class Links:
    """Cells of one value form one path between its two `ends`; every cell lies on a path. `near`: neighbours of each cell."""

    cells: Ints
    near: tuple[Ints, ...]
    ends: Ints

    def narrow(self, domains: list[int]) -> list[int] | None:
        changed: list[int] = []
        for c in self.cells:
            mine = domains[c]
            if mine & (mine - 1):
                continue
            need = 1 if c in self.ends else 2
            same = [n for n in self.near[c] if domains[n] & mine]
            sure = [n for n in same if domains[n] == mine]
            if len(same) < need or len(sure) > need:
                return None
            if len(same) > len(sure):
                if len(sure) == need:
                    for n in same:
                        if domains[n] != mine:
                            domains[n] &= ~mine
                            changed.append(n)
                elif len(same) == need:
                    for n in same:
                        if domains[n] != mine:
                            domains[n] = mine
                            changed.append(n)
        return changed if self._open(domains) else None

    def _open(self, domains: Sequence[int]) -> bool:
        """Whether the ends of each value can still meet, and, once all is fixed, reach every cell of it."""
        by_value: dict[int, list[int]] = {}
        for e in self.ends:
            by_value.setdefault(domains[e], []).append(e)
        for value, (start, end) in by_value.items():
            waiting, seen = [start], {start}
            while waiting:
                for n in self.near[waiting.pop()]:
                    if n not in seen and domains[n] & value:
                        seen.add(n)
                        waiting.append(n)
            if end not in seen or any(domains[c] == value and c not in seen for c in self.cells):
                return False
        return True
