"""Klondike, FreeCell and SpiderDeal: games of patience with open cards, every deal solved before it is given."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.cards.patience import SAYINGS, Patience, PatienceGame, named
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

CARDS = """
A card is a rank (A 2 3 4 5 6 7 8 9 T J Q K) and a suit (C D H S); C and S count as black, D and H as red, though the picture draws
clubs (C) green and diamonds (D) blue to tell the suits apart. The deck has as many suits as the first line tells, the last
of C D H S, and as many ranks, from A on. Columns are written from the bottom card to the last, free one. The game is over, too, when
no card can be moved."""
HOME = """Bring all cards home: each suit is stacked upwards from its ace. Columns are built downwards in alternating colours. """
KLONDIKE = (
    HOME
    + """A card, or a run of cards that hang together, moves onto a card one rank higher; only the highest rank of the deck may
start an empty column, and not from a column that it would leave empty.
Cards in [brackets] lie face down: they can be read but not moved until they are free. `draw` turns the first
listed card of the stock onto the waste, whose last card may be played; with no stock left it turns the waste over, as often
as you like. In a picture both run row by row."""
)
FREECELL = (
    HOME
    + """Any card may start an empty column, and a free cell holds one card. A run of n cards moves at once if there is
room to move it card by card: n is at most (empty cells + 1), twice that with an empty column besides the target, and so on."""
)
SPIDER = """Build runs of one suit, from the highest rank of the deck down to the ace; a complete run leaves the table. A card may be laid
on any card one rank higher, but only a run of one suit moves as a whole. Any run may start an empty column. Cards in [brackets] lie face
down: they can be read but not moved until they are free. `draw` deals one card of the stock onto each column, from the first
column and the first listed card on, as far as the stock reaches; in a picture it runs row by row. Finish as many runs as the
first line tells."""
MOVES = """
A move names where the last card of a column goes: 3-5 from column 3 to column 5; 3x2-5 moves two cards"""
KNOBS = ("suits", "ranks", "columns", "cells", "runs", "depth", "open")


ANSWERS = {
    "Klondike": "Say draw, or where from and where to: a column number, w for the waste, or h for home, as in 3x2-5.",
    "FreeCell": "Say where from and where to: a column number, a cell letter, or h for home, as in 3x2-5.",
    "SpiderDeal": "Say draw, or from which column to which, as in 3-5; 3x2-5 moves two cards.",
}


def _world(name: str, rules: str, example: str, table: tuple[tuple[int, ...], ...], quick: int) -> TurnWorld[Patience]:
    facts = Facts(
        name=name,
        rules=rules + CARDS,
        answer=ANSWERS[name],
        example=example,
        ceilings={"random": 0.13, "constant": 0.01, "first": 0.17, "blind": 0.03},
        sayings=SAYINGS | ({"won": "All runs are done."} if name == "SpiderDeal" else {}),
    )
    game = PatienceGame({"Klondike": "klondike", "FreeCell": "freecell", "SpiderDeal": "spider"}[name], quick)
    return TurnWorld(facts=facts, levels=levels_of(KNOBS, table), game=game, schema=Patience, meant=named)


@register("world", "Klondike", domain="puzzles", engine="cards")
def klondike() -> TurnWorld[Patience]:
    """The common game of patience with readable cards; every deal can be solved, and the stock may be turned without end."""
    rules = KLONDIKE + MOVES + ", w-4 plays the waste card, and 3-h or w-h bring a card home."
    table = tuple(
        (suits, ranks, columns, 0, 0, 0, 1)
        for suits, ranks, columns in (
            *((2, 4, 3), (2, 5, 3), (2, 6, 4), (3, 5, 4), (4, 5, 4)),
            *((4, 6, 5), (4, 7, 5), (4, 7, 6), (4, 8, 6), (4, 9, 6)),
        )
    )
    return _world("Klondike", rules, "draw", table, 110)


@register("world", "FreeCell", domain="puzzles", engine="cards")
def free_cell() -> TurnWorld[Patience]:
    """All cards open, a few cells to park them in; every deal can be solved."""
    rules = (
        FREECELL + MOVES + ", 3-a goes to the free cell a, a-5 comes back from it, and 3-h or a-h bring a card home."
    )
    table = tuple(
        (suits, ranks, columns, cells, 0, 0, 1)
        for suits, ranks, columns, cells in (
            *((2, 4, 3, 2), (2, 5, 3, 2), (2, 6, 3, 2), (3, 5, 4, 2), (4, 5, 4, 3)),
            *((4, 6, 5, 3), (4, 7, 6, 3), (4, 7, 5, 3), (4, 8, 6, 4), (4, 9, 7, 4)),
        )
    )
    return _world("FreeCell", rules, "1-h", table, 100)


@register("world", "SpiderDeal", domain="puzzles", engine="cards")
def spider_deal() -> TurnWorld[Patience]:
    """Runs of cards in one to three suits, cut down to a table that one can think through; every deal can be solved."""
    rules = SPIDER + MOVES + "."
    table = tuple(
        (suits, ranks, columns, 0, runs, depth, 1)
        for suits, ranks, columns, runs, depth in (
            *((1, 4, 3, 2, 2), (1, 5, 3, 2, 2), (1, 6, 4, 2, 2), (2, 6, 4, 2, 2), (2, 7, 4, 2, 2)),
            *((2, 5, 5, 3, 3), (2, 6, 5, 3, 3), (2, 7, 5, 3, 3), (2, 6, 6, 4, 3), (3, 6, 6, 4, 3)),
        )
    )
    return _world("SpiderDeal", rules, "1-2", table, 60)
