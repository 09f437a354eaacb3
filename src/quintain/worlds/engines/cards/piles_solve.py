"""A search that solves patience games: best first by how far the cards are from home, never the same table twice."""

from __future__ import annotations

import functools
import heapq
import itertools
from typing import NamedTuple

from quintain.types import Ints
from quintain.worlds.engines.cards.piles import DRAW, Kind, Step, Table, after, steps, won


class Found(NamedTuple):
    """The steps to the end (None: there is no way, or none was found), whether the search was complete, tables looked at."""

    way: tuple[Step, ...] | None
    complete: bool
    nodes: int


def distance(kind: Kind, table: Table) -> int:
    """A guess at the work that is left: cards not home, cards that lie on lower ones or face down, and full cells."""
    piles, under, cells, homes, stock, waste = table
    if kind.game == "spider":
        joined, covered = sum(map(_joined, piles)), sum(under)
        left = sum(map(len, piles)) + len(stock)
        return 3 * left - joined + 3 * covered + 2 * len(stock) - 2 * piles.count(())
    total = 2 * (kind.suits * kind.ranks - sum(homes)) + 3 * sum(under)
    for pile in piles:
        least = 99
        for card in pile:
            rank = card >> 2
            if rank > least:
                total += 2
            else:
                least = rank
    total += sum(card >= 0 for card in cells)
    return total + len(stock) + len(waste)


@functools.lru_cache(maxsize=16_384)
def _joined(pile: Ints) -> int:
    """How well the cards of a column hang together: 3 for each that lies on the next of its suit, 1 on the next of another."""
    joined = 0
    for on, card in itertools.pairwise(pile):
        joined += 3 if on - card == 4 else (on >> 2) - (card >> 2) == 1
    return joined


@functools.lru_cache(maxsize=512)
def solved(kind: Kind, table: Table, limit: int) -> Found:
    """A way to the end, not always the shortest, or a proof that there is none, within `limit` tables."""
    if won(kind, table):
        return Found((), True, 0)
    came: dict[object, tuple[object, Step] | None] = {_same(kind, table): None}
    count = 0
    heap: list[tuple[int, int, Table, object]] = [(0, 0, table, _same(kind, table))]
    opened = 0
    while heap:
        _, _, here, key = heapq.heappop(heap)
        opened += 1
        if opened > limit:
            return Found(None, False, opened)
        for step in steps(kind, here, lean=True):
            new = after(kind, here, step)
            same = _same(kind, new)
            if same in came:
                continue
            came[same] = (key, step)
            if won(kind, new):
                return Found(_way(came, same), True, opened)
            count += 1
            heapq.heappush(heap, (distance(kind, new) * 4 + (step == DRAW), -count, new, same))
    return Found(None, True, opened)


def _same(kind: Kind, table: Table) -> object:
    """Equal for tables that differ only in the order of columns or of free cells; where a stock is dealt onto columns, it matters."""
    piles, under, cells, homes, stock, waste = table
    if kind.game == "spider" and stock:
        return table
    return (tuple(sorted(zip(piles, under, strict=True))), tuple(sorted(cells)), homes, stock, waste)


def _way(came: dict[object, tuple[object, Step] | None], end: object) -> tuple[Step, ...]:
    """The steps from the start: each was taken from the very table to which those before it lead."""
    out: list[Step] = []
    while (link := came[end]) is not None:
        end, step = link
        out.append(step)
    return tuple(out[::-1])
