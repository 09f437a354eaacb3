"""What moves of patience are called, by their places or by the card."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from quintain.types import Ints
from quintain.worlds.engines.cards.deck import NAMES, SPOKEN, spoken
from quintain.worlds.engines.cards.piles import CELL, DRAW, HOME, STOCK, WASTE, Step, Table
from quintain.worlds.kernel import Move

LETTERS = "abcd"  # free cells
_MOVE = re.compile(
    r"(?:column |(?:free )?cell |the )?(10|[1-9]|[a-d]|w|waste(?: card)?)(?: ?[x×] ?([1-9]\d?))? ?(?:-|>|->|to|,| ) ?"
    r"(?:column |(?:the )?(?:free )?cell )?(10|[1-9]|[a-d]|h|home)",
    re.ASCII,
)
_CARDS = re.compile(
    r"(?:move )?([1-9]|two|three|four|five|six) cards? from (?:column )?(10|[1-9]) (?:on)?to (?:column )?(10|[1-9])",
    re.ASCII,
)
_NAMED = re.compile(  # a card that moves, where it lies, and where it goes
    rf"(?:move |put |play )?(?:the )?({SPOKEN})(?: from (?:the )?(?:column (10|[1-9])|(?:free )?cell ([a-d])|(waste)))?"
    r"(?:\s?(?:->|→|-|>)\s?| (?:on)?to | on | (?=home))(?:the )?"
    rf"(?:column (10|[1-9])|(?:free )?cell ([a-d])|((?:a )?free cell)|(home|foundation)|({SPOKEN}))"
)
_WORDS = {word: str(i) for i, word in enumerate(("two", "three", "four", "five", "six"), 2)}
DRAWN = Move("draw", DRAW)
_DRAW = (
    "draw",
    "deal",
    "stock",
    "draw a card",
    "draw from the stock",
    "draw from stock",
    "deal a row",
    "deal cards",
    "draw cards",
)


@functools.lru_cache(maxsize=4096)
def move_of(step: Step) -> Move:
    """The move that takes a step.

    Example:
        >>> move_of((2, 1, 4)).key, move_of((2, 2, 4)).key, move_of((WASTE, 1, HOME)).key
        ('3-5', '3x2-5', 'w-h')
    """
    if step == DRAW:
        return DRAWN
    source, count, target = step
    times = f"x{count}" if count > 1 else ""
    return Move(f"{_place(source)}{times}-{_place(target)}", step)


def _place(place: int) -> str:
    if place == WASTE:
        return "w"
    return "h" if place == HOME else LETTERS[place - CELL] if place >= CELL else str(place + 1)


class Named(NamedTuple):
    """A move that names the card: itself, the place that it leaves (or -1), the places where it may go, the card that it is laid on."""

    card: int
    source: int
    targets: Ints
    on: int

    def says(self, table: Table, step: Step) -> bool:
        """Whether a legal step is such a one."""
        piles, _, cells, _, _, waste = table
        source, count, target = step
        if source >= STOCK or (self.source >= 0 and source != self.source):
            return False
        pile = piles[source] if source < CELL else (cells[source - CELL],) if source < WASTE else waste
        if pile[-count] != self.card:
            return False
        if self.on >= 0:
            return target < CELL and piles[target][-1:] == (self.on,)
        return target in self.targets


def _named(said: re.Match[str]) -> Move:
    card, column, cell, waste, to, into, any_cell, home, on = said.groups()
    source = _placed(column or cell or "w") if column or cell or waste else -1
    targets = tuple(range(CELL, WASTE)) if any_cell else () if on else (_placed(to or into or "h"),)
    value = Named(spoken(card), source, targets, spoken(on) if on else -1)
    left = f" from column {column}" if column else f" from cell {cell}" if cell else " from waste" if waste else ""
    ends = (
        (to, f"column {to}"),
        (into, f"cell {into}"),
        (any_cell, "free cell"),
        (home, "home"),
        (on, NAMES[value.on]),
    )
    end = next(text for named, text in ends if named)
    return Move(f"{NAMES[value.card]}{left} to {end}", value, True)


def _placed(sign: str) -> int:
    if sign[0] in "wh":
        return WASTE if sign[0] == "w" else HOME
    return CELL + LETTERS.index(sign) if sign in LETTERS else int(sign) - 1


def read(text: str) -> Move | None:
    """The move that a short text in small letters names, or None.

    Example:
        >>> read("3 to 5").key, read("seven to 8s"), read("seven of hearts to 8s").key, read("ac home").key
        ('3-5', None, '7H to 8S', 'AC to home')
    """
    if text in _DRAW:
        return DRAWN
    if many := _CARDS.fullmatch(text):
        return move_of((_placed(many[2]), int(_WORDS.get(many[1], many[1])), _placed(many[3])))
    if card := _NAMED.fullmatch(text):
        return _named(card)
    if not (found := _MOVE.fullmatch(text)):
        return None
    return move_of((_placed(found[1]), int(found[2] or 1), _placed(found[3])))
