"""Rules of patience games, on plain tuples so that a search is quick: which cards may move where, and what that does.

A table is (piles, under, cells, homes, stock, waste): cards of each column, bottom first; how many of them lie face down; free cells
(-1: empty); cards home by suit (or finished runs, one number); the stock, next card last; the waste, open card last.
"""

from __future__ import annotations

from dataclasses import dataclass

from quintain.types import Ints

Table = tuple[tuple[Ints, ...], Ints, Ints, Ints, Ints, Ints]
Step = tuple[int, int, int]  # from, how many cards, to
CELL, WASTE, HOME, STOCK = 10, 20, 30, 40  # places beyond the columns; free cells are CELL, CELL + 1...
DRAW: Step = (STOCK, 0, WASTE)


@dataclass(frozen=True)
class Kind:
    """What never changes: `klondike`, `freecell` or `spider`, the deck, the columns, free cells, the turn budget; `open`: all is read."""

    game: str
    suits: int
    ranks: int
    columns: int
    cells: int = 0
    runs: int = 0
    budget: int = 0
    open: int = 1


def won(kind: Kind, table: Table) -> bool:
    """Whether all cards are home."""
    homes = table[3]
    return homes[0] == kind.runs if kind.game == "spider" else sum(homes) == kind.suits * kind.ranks


def fits(kind: Kind, card: int, on: int) -> bool:
    """Whether a card may be laid on another in a column."""
    if on >> 2 != (card >> 2) + 1:
        return False
    return kind.game == "spider" or ((card & 3) in (1, 2)) != ((on & 3) in (1, 2))


def runs_of(kind: Kind, pile: Ints, under: int) -> int:
    """How many cards at the end of a column hang together."""
    count, same = 1, kind.game == "spider"
    while count < len(pile) - under:
        card, on = pile[-count], pile[-count - 1]
        if on >> 2 != (card >> 2) + 1:
            break
        if card & 3 != on & 3 if same else ((card & 3) in (1, 2)) == ((on & 3) in (1, 2)):
            break
        count += 1
    return count


def steps(kind: Kind, table: Table, lean: bool = False) -> list[Step]:
    """The legal steps; `lean` leaves out those that another one makes needless."""
    piles, _, cells, homes, stock, waste = table
    out: list[Step] = []
    if kind.game != "spider":
        low, top = 4 - kind.suits, kind.ranks - 1
        sources = [(i, pile[-1]) for i, pile in enumerate(piles) if pile]
        sources += [(CELL + i, card) for i, card in enumerate(cells) if card >= 0]
        if waste:
            sources.append((WASTE, waste[-1]))
        for source, card in sources:
            if homes[(card & 3) - low] == card >> 2:
                out.append((source, 1, HOME))
            if source >= CELL:
                out.extend(_onto(kind, piles, (source, card), top, lean))
    out.extend(_among(kind, table, lean))
    if -1 in cells:
        spots = [cells.index(-1)] if lean else [c for c, card in enumerate(cells) if card < 0]
        out.extend([(i, 1, CELL + c) for i, pile in enumerate(piles) if pile for c in spots])
    if stock or waste:
        out.append(DRAW)
    return out


def _among(kind: Kind, table: Table, lean: bool) -> list[Step]:
    """The steps from column to column."""
    piles, under, cells = table[:3]
    out: list[Step] = []
    lean = lean and not (kind.game == "spider" and table[4])  # which column is which matters to a stock
    top, room = kind.ranks - 1, (cells.count(-1) + 1) << piles.count(()) if kind.game == "freecell" else 99
    ends = [pile[-1] if pile else -1 for pile in piles]
    first = ends.index(-1) if -1 in ends else -1
    for i, pile in enumerate(piles):
        if not pile:
            continue
        longest, rank = runs_of(kind, pile, under[i]), ends[i] >> 2
        for j, end in enumerate(ends):
            if i == j:
                continue
            if end >= 0:
                need = (end >> 2) - rank
                if 0 < need <= longest and need <= room and fits(kind, pile[-need], end):
                    out.append((i, need, j))
            elif not lean or j == first:
                most = min(longest, room >> 1)  # the target is then no room
                for n in range(1, most + 1):
                    if (
                        (n < len(pile) and pile[-n] >> 2 == top)
                        if kind.game == "klondike"
                        else not lean or n < len(pile)
                    ):
                        out.append((i, n, j))
    return out


def _onto(kind: Kind, piles: tuple[Ints, ...], source: tuple[int, int], top: int, lean: bool) -> list[Step]:
    """Where the card of a free cell or of the waste may go among the columns."""
    place, card = source
    out: list[Step] = []
    seen_empty = False
    for j, pile in enumerate(piles):
        if pile:
            if fits(kind, card, pile[-1]):
                out.append((place, 1, j))
        elif (kind.game != "klondike" or card >> 2 == top) and not (lean and seen_empty):
            out.append((place, 1, j))
            seen_empty = True
    return out


def after(kind: Kind, table: Table, step: Step) -> Table:
    """The table after a legal step."""
    piles, under, cells, homes, stock, waste = table
    source, count, target = step
    if source == STOCK:
        if kind.game == "spider":
            return _dealt(kind, table)
        if stock:
            return piles, under, cells, homes, stock[:-1], (*waste, stock[-1])
        return piles, under, cells, homes, waste[::-1], ()
    columns = list(piles)
    if source < CELL:
        moved = columns[source][-count:]
        columns[source] = columns[source][:-count]
        left = len(columns[source])
        if left and under[source] == left:
            under = (*under[:source], left - 1, *under[source + 1 :])
    elif source == WASTE:
        moved, waste = (waste[-1],), waste[:-1]
    else:
        moved = (cells[source - CELL],)
        cells = (*cells[: source - CELL], -1, *cells[source - CELL + 1 :])
    if target == HOME:
        at = (moved[0] & 3) - (4 - kind.suits)
        homes = (*homes[:at], homes[at] + 1, *homes[at + 1 :])
    elif target >= CELL:
        cells = (*cells[: target - CELL], moved[0], *cells[target - CELL + 1 :])
    else:
        columns[target] = columns[target] + moved
        if kind.game == "spider":
            return _cleared(kind, (tuple(columns), under, cells, homes, stock, waste), (target,))
    return tuple(columns), under, cells, homes, stock, waste


def _dealt(kind: Kind, table: Table) -> Table:
    """Spider: a card of the stock on each column."""
    piles, under, cells, homes, stock, waste = table
    count = min(len(piles), len(stock))
    columns = tuple([(*pile, stock[-1 - i]) if i < count else pile for i, pile in enumerate(piles)])
    return _cleared(kind, (columns, under, cells, homes, stock[: len(stock) - count], waste), range(count))


def _cleared(kind: Kind, table: Table, touched: range | tuple[int, ...]) -> Table:
    """Spider: whole runs of one suit leave the columns."""
    piles, under, cells, homes, stock, waste = table
    for i in touched:
        pile = piles[i]
        if pile and pile[-1] >> 2 == 0 and runs_of(kind, pile, under[i]) == kind.ranks:
            left = len(pile) - kind.ranks
            piles = (*piles[:i], pile[:left], *piles[i + 1 :])
            homes = (homes[0] + 1,)
            if left and under[i] == left:
                under = (*under[:i], left - 1, *under[i + 1 :])
    return piles, under, cells, homes, stock, waste
