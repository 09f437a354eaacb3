"""Pieces of squares and half squares, and exact covers of a silhouette by them.

A cell has four quarters, parted by its diagonals; areas are the bits of an integer, so overlaps and covers are exact.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from quintain.types import Ints

NODES = 20_000  # of the oracle's search
# quarters of a cell: 1 upper, 2 right, 4 lower, 8 left; ◤ is the half square with its right angle at the upper left
SIGNS = {0: ".", 15: "#", 9: "◤", 3: "◥", 6: "◢", 12: "◣"}
PARTS = {sign: part for part, sign in SIGNS.items()}
Cells = tuple[tuple[int, int, int], ...]  # column, row, quarters
Place = tuple[int, int, int]  # column and row of the upper left corner of a piece's frame, quarter turns


@dataclass(frozen=True)
class Kit:
    """What never changes: the silhouette and the pieces as rows of signs, how many quarter turns differ, and the turn budget."""

    goal: tuple[str, ...]
    pieces: tuple[tuple[str, ...], ...]
    spins: int
    budget: int = 0

    @functools.cached_property
    def width(self) -> int:
        """Columns of the board."""
        return len(self.goal[0])

    @functools.cached_property
    def bits(self) -> int:
        """The quarters of the silhouette."""
        return bits_of(cells_of(self.goal), self.width)

    @functools.cached_property
    def shapes(self) -> dict[tuple[int, int], tuple[int, int, int]]:
        """(piece, quarter turns) -> the quarters that it fills in the upper left corner, its columns, its rows."""
        out = {}
        for i, piece in enumerate(self.pieces):
            cells = cells_of(piece)
            for spin in range(self.spins):
                wide, high = max(x for x, _, _ in cells) + 1, max(y for _, y, _ in cells) + 1
                out[i, spin] = bits_of(cells, self.width), wide, high
                cells = turned(cells)
        return out

    def filled(self, piece: int, place: Place) -> int:
        """The quarters that a piece fills at a place."""
        x, y, spin = place
        return self.shapes[piece, spin][0] << 4 * (y * self.width + x)


@dataclass(frozen=True, slots=True)
class Fit:
    """The state: the kit, and the place of each piece, () while it is not on the board."""

    kit: Kit
    places: tuple[Ints, ...]


def cells_of(rows: Sequence[str]) -> Cells:
    """The cells of rows of signs that are not empty."""
    return tuple([(x, y, PARTS[s]) for y, row in enumerate(rows) for x, s in enumerate(row) if s != "."])


def rows_of(cells: Iterable[tuple[int, int, int]]) -> tuple[str, ...]:
    """The rows of signs of some cells, in the smallest frame around them.

    Example:
        >>> rows_of(turned(cells_of(("##", "◤."))))
        ('◥#', '.#')
    """
    parts = {(x, y): part for x, y, part in cells}
    (left, right), (top, low) = [(min(p[i] for p in parts), max(p[i] for p in parts)) for i in (0, 1)]
    return tuple(["".join([SIGNS[parts.get((x, y), 0)] for x in range(left, right + 1)]) for y in range(top, low + 1)])


def turned(cells: Cells) -> Cells:
    """Cells after a quarter turn to the right, in a frame that starts at 0."""
    low = max(y for _, y, _ in cells)
    return tuple([(low - y, x, (part << 1 | part >> 3) & 15) for x, y, part in cells])


def mirrored(cells: Cells) -> Cells:
    """Cells with left and right exchanged."""
    wide = max(x for x, _, _ in cells)
    return tuple([(wide - x, y, part & 5 | (part & 2) << 2 | (part & 8) >> 2) for x, y, part in cells])


def bits_of(cells: Cells, width: int) -> int:
    """The quarters of cells as the bits of an integer, four for each cell of a board so wide."""
    return sum(part << 4 * (y * width + x) for x, y, part in cells)


def fits(kit: Kit, rest: int, pieces: Iterable[int]) -> Iterator[tuple[int, int, Place]]:
    """Each of these pieces with the quarters and the place, wherever it lies within the quarters `rest`, the pieces in turn."""
    shapes, width, height, taken = kit.shapes, kit.width, len(kit.goal), ~rest
    for i in pieces:
        for spin in range(kit.spins):
            bits, wide, high = shapes[i, spin]
            for y in range(height + 1 - high):
                for x in range(width + 1 - wide):
                    moved = bits << 4 * (y * width + x)
                    if not moved & taken:
                        yield i, moved, (x, y, spin)


@functools.lru_cache(maxsize=64)  # some hundred kB each
def by_first(kit: Kit) -> dict[int, list[tuple[int, int, Place]]]:
    """The lowest quarter that is filled -> piece, quarters and place, inside the silhouette; turns that look the same come once."""
    seen, out = set(), dict[int, list[tuple[int, int, Place]]]()
    for i, bits, place in fits(kit, kit.bits, range(len(kit.pieces))):
        if (i, bits) not in seen:
            seen.add((i, bits))
            out.setdefault(bits & -bits, []).append((i, bits, place))
    return out


def cover(kit: Kit, rest: int, left: frozenset[int], limit: int) -> tuple[list[tuple[int, Place]] | None, int]:
    """Places for the pieces `left` that fill the quarters `rest`, or None; and the nodes that took. More than `limit`: it gave up."""
    nodes, dead, firsts = 0, set[tuple[int, frozenset[int]]](), by_first(kit)

    def go(rest: int, left: frozenset[int]) -> list[tuple[int, Place]] | None:
        nonlocal nodes
        if not rest:
            return [] if not left else None
        if (rest, left) in dead:
            return None
        for i, bits, place in firsts.get(rest & -rest, ()):
            if i in left and not bits & ~rest:
                nodes += 1
                if nodes > limit:
                    return None
                found = go(rest ^ bits, left - {i})
                if found is not None:
                    return [(i, place), *found]
        dead.add((rest, left))
        return None

    return go(rest, left), nodes


@functools.lru_cache(maxsize=1 << 12)
def plan(kit: Kit, places: tuple[Ints, ...]) -> tuple[tuple[int, ...], tuple[tuple[int, Place], ...]] | None:
    """The fewest pieces to take back and then where to put all that are off the board; None at the limit of nodes."""
    rest, off = rest_of(kit, places), frozenset(i for i, p in enumerate(places) if not p)
    on, nodes = [i for i, p in enumerate(places) if p], 0
    for count in range(len(on) + 1):
        for back in itertools.combinations(on, count):
            if nodes > NODES and count < len(on):
                break
            freed = sum(kit.filled(i, place_of(places[i])) for i in back)
            found, spent = cover(kit, rest + freed, off | frozenset(back), NODES)
            nodes += spent
            if found is not None:
                return back, tuple(found)
    return None


def place_of(place: Ints) -> Place:
    """The place of a piece that is on the board."""
    x, y, spin = place
    return x, y, spin


def rest_of(kit: Kit, places: tuple[Ints, ...]) -> int:
    """The quarters that are still to be filled."""
    return kit.bits ^ sum(kit.filled(i, place_of(p)) for i, p in enumerate(places) if p)
