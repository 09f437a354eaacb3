"""A search that solves patience games: best first by how far the cards are from home, never the same table twice."""

from __future__ import annotations

import functools
import heapq
import itertools
from typing import NamedTuple

from quintain.types import Ints
from quintain.worlds.engines.cards.piles import CELL, DRAW, WASTE, Kind, Step, Table, after, steps, won


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


def steady(kind: Kind, table: Table, limit: int) -> Found:
    """What `solved` finds, in Klondike such that who asks again after each step does not go round in circles.

    Tables that turning the stock over and moving cards to and fro among the columns make of each other all lead to the same step that
    cannot be taken back, each by the shortest way: what `solved` says of one of them.
    """
    if kind.game != "klondike":
        return solved(kind, table, limit)
    piles, under, cells, homes, stock, waste = table
    cards = (*waste, *stock[::-1])
    came = _kin(kind, (piles, under, cells, homes, cards[::-1], ()))
    here = min(came)
    found = solved(kind, here, limit)
    if found.way is None:
        return found
    turned, rest = 0, [*found.way]
    while rest:
        if rest[0] == DRAW:
            turned += 1
        elif rest[0][0] == WASTE or (new := after(kind, here, rest[0])) not in came:
            break  # this step cannot be taken back
        else:
            here = new
        del rest[0]
    way = [DRAW] * ((turned - len(waste)) % (len(cards) + 1))
    while (link := came[here]) is not None:
        here, step = link
        way.insert(0, step)
    return found._replace(way=(*way, *rest))


def _kin(kind: Kind, table: Table) -> dict[Table, tuple[Table, Step] | None]:
    """The tables to which moves among the columns lead that can be taken back, each with the one before it and the step from there."""
    came: dict[Table, tuple[Table, Step] | None] = {table: None}
    queue = [table]
    for here in queue:  # grows while it is walked
        for step in steps(kind, here):
            if step[2] < CELL and step != DRAW and (new := after(kind, here, step)) not in came:
                back = (step[2], step[1], step[0])
                if back in steps(kind, new) and after(kind, new, back) == here:
                    came[new] = (here, step)
                    queue.append(new)
    return came


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
