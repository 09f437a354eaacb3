"""A deck of cards and what cards look like: one painter for all card games.

A card is rank * 4 + suit, ranks from ace to king. Suits differ in shape and in a colour that colour-blind eyes tell apart.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from quintain.types import Ints
from quintain.worlds.art import tiles
from quintain.worlds.engines.turns import NUMBERS, counted
from quintain.worlds.noise import Noise
from quintain.worlds.scene import Box, Disc, Polygon, Run, Scene, Shape

RANKS = "A23456789TJQK"
SUITS = "CDHS"
COLORS = {"C": "forest", "D": "blue", "H": "brick", "S": "ink"}
NAMES = tuple(rank + suit for rank in RANKS for suit in SUITS)
CARDS = {name: card for card, name in enumerate(NAMES)}
_SIGN, _SUIT = "(?:10|[2-9atjqk])", "[cdhs♣♦♥♠]"
_RANK = rf"(?:ace|king|queen|jack|{'|'.join(NUMBERS[1:10])}|{_SIGN})"
# a card, in small letters; kings are no king of spades
SPOKEN = rf"(?:{_SIGN}\s?{_SUIT}|{_RANK}(?:\s?[♣♦♥♠]| of (?:clubs|diamonds|hearts|spades))|{_SUIT}{_SIGN})"
LARGEST = 999  # numbers in pictures


def names(cards: Sequence[int]) -> str:
    """Cards as words, in their order.

    Example:
        >>> names((0, 51)), names(())
        ('AC KS', 'none')
    """
    return " ".join([NAMES[card] for card in cards]) or "none"


def cards_of(text: str) -> Ints:
    """What `names` wrote, as cards.

    Example:
        >>> cards_of("AC KS"), cards_of("none")
        ((0, 51), ())
    """
    return () if text == "none" else tuple([CARDS[name] for name in text.split()])


def spoken(text: str) -> int:
    """The card that a text with the pattern `SPOKEN` names.

    Example:
        >>> names([spoken("10h"), spoken("ten of hearts"), spoken("♥t"), spoken("ace of spades"), spoken("three of diamonds")])
        'TH TH TH AS 3D'
    """
    first, last = re.match(_RANK, text), re.search(rf"{_RANK}$", text)
    rank = (first or last or [""])[0]
    suit = text[len(rank) :].strip().removeprefix("of ") if first else text[0]
    return CARDS[counted(rank)[0].upper().replace("1", "T") + SUITS["cdhs♣♦♥♠".index(suit[0]) % 4]]


def dealt(deck: Sequence[int], count: int, noise: Noise) -> Ints:
    """`count` different cards of a deck, drawn with the noise of one step."""
    pool = list(deck)
    for i in range(count):
        j = i + noise.below(len(pool) - i, i)
        pool[i], pool[j] = pool[j], pool[i]
    return tuple(pool[:count])


def suit_shapes(suit: str, x: float, y: float, r: float) -> tuple[Shape, ...]:
    """The sign of a suit around (x, y), about 2 r high."""
    color = COLORS[suit]
    stem = Polygon(points=((x, y), (x - 0.4 * r, y + r), (x + 0.4 * r, y + r)), fill=color)
    if suit == "D":
        return (Polygon(points=((x, y - r), (x + 0.75 * r, y), (x, y + r), (x - 0.75 * r, y)), fill=color),)
    if suit == "C":
        leaves = ((0.0, -0.5), (-0.52, 0.22), (0.52, 0.22))
        return (*(Disc(x=x + a * r, y=y + b * r, radius=0.48 * r, fill=color) for a, b in leaves), stem)
    up = 1 if suit == "H" else -1  # a spade is a heart on its head, with a stem
    lobes = tuple(Disc(x=x + a * r, y=y - 0.35 * up * r, radius=0.5 * r, fill=color) for a in (-0.45, 0.45))
    low = y + 0.95 * up * r
    tip = Polygon(points=((x - 0.92 * r, y - 0.15 * up * r), (x + 0.92 * r, y - 0.15 * up * r), (x, low)), fill=color)
    return (*lobes, tip) if suit == "H" else (*lobes, tip, stem)


def _face(name: str) -> tuple[Shape, ...]:
    body = Box(x=0.1, y=0.03, width=0.8, height=0.94, fill="white", line="cloud", thick=0.035, radius=0.1)
    return (body, _rank(name, 0.5, 0.28), *suit_shapes(name[1], 0.5, 0.7, 0.22))


def _rank(name: str, x: float, y: float, size: float = 0.48) -> Run:
    ten = name[0] == "T"  # two digits are set smaller, or they leave the card
    return Run(text="10" if ten else name[0], x=x, y=y, size=min(size, 0.72) if ten else size, color=COLORS[name[1]])


def _strip(name: str, fill: str, left: bool) -> tuple[Shape, ...]:
    """Half of the upper edge of a card, so that cards may lie over one another: two cells wide, one high."""
    x, wide = (0.06, 0.94) if left else (0.0, 0.94)
    body = (
        Box(x=x, y=0, width=wide, height=1, fill=fill),
        Box(x=x, y=0, width=wide, height=0.07, fill="cloud"),
        Box(x=0.06 if left else 0.88, y=0, width=0.06, height=1, fill="cloud"),
    )
    return (*body, _rank(name, 0.56, 0.55, 0.84) if left else suit_shapes(name[1], 0.4, 0.55, 0.36)[0])


def _halves(name: str, fill: str, mark: str) -> dict[str, tuple[Shape, ...]]:
    right = _strip(name, fill, False)[:-1]
    return {
        f"{mark}l-{name}": _strip(name, fill, True),
        f"{mark}r-{name}": (*right, *suit_shapes(name[1], 0.4, 0.55, 0.36)),
    }


# letters wider than others, by their height
WIDTHS = {"W": 0.95, "M": 0.87, "O": 0.74, "Q": 0.74, "H": 0.73, "N": 0.72, "G": 0.71, "D": 0.71, "C": 0.7, "m": 0.85}


def note(text: str, color: str = "ink") -> tuple[Shape, ...]:
    """A short word that fits into one cell."""
    wide = sum([WIDTHS.get(letter, 0.64 if letter.isupper() else 0.58) for letter in text])
    size = min(0.55, 1.5 / max(len(text), 1), 0.97 / max(wide, 0.1))
    return (Run(text=text, x=0.5, y=0.52, size=size, color=color),)


def wide_note(name: str, text: str, color: str = "stone") -> dict[str, tuple[Shape, ...]]:
    """The tiles `name` and `name-2` of a word that fills two cells side by side."""
    wide = sum([WIDTHS.get(letter, 0.64) for letter in text])
    size = min(0.55, 1.9 / wide)
    return {
        f"{name}{half}": (Run(text=text, x=x, y=0.52, size=size, color=color),) for half, x in (("", 1.0), ("-2", 0.0))
    }


def _slot(wide: float) -> Box:
    return Box(x=0.1, y=0.03, width=wide, height=0.94, fill="floor", line="seam", thick=0.04, radius=0.1)


tiles({f"card-{name}": _face(name) for name in NAMES})
for _name in NAMES:
    tiles(_halves(_name, "white", ""))
    tiles(_halves(_name, "seam", "under-"))
tiles({f"n-{n}": note(str(n)) for n in range(-LARGEST, LARGEST + 1)})
tiles({f"col-{n}": note(str(n), "stone") for n in range(1, 11)})
tiles(
    {
        "card-back": (
            Box(x=0.1, y=0.03, width=0.8, height=0.94, fill="navy", line="cloud", thick=0.035, radius=0.1),
            Box(x=0.2, y=0.13, width=0.6, height=0.74, line="sky", thick=0.05, radius=0.08),
            Polygon(points=((0.5, 0.28), (0.68, 0.5), (0.5, 0.72), (0.32, 0.5)), fill="sky"),
        ),
        "card-slot": (_slot(0.8),),
        "backl": (
            Box(x=0.06, y=0, width=0.94, height=1, fill="navy"),
            Box(x=0.06, y=0, width=0.94, height=0.1, fill="sky"),
        ),
        "backr": (Box(x=0, y=0, width=0.94, height=1, fill="navy"), Box(x=0, y=0, width=0.94, height=0.1, fill="sky")),
        "footl": (Box(x=0.06, y=0.93, width=0.94, height=0.07, fill="cloud"),),  # of a card that nothing lies on
        "footr": (Box(x=0, y=0.93, width=0.94, height=0.07, fill="cloud"),),
        "slotl": (Box(x=0.06, y=0.06, width=0.94, height=0.88, fill="seam"),),
        "slotr": (Box(x=0, y=0.06, width=0.94, height=0.88, fill="seam"),),
    }
)
for _suit in SUITS:
    tiles({f"suit-{_suit}": suit_shapes(_suit, 0.5, 0.5, 0.36)})


MARGIN = 0.25  # round a sheet, in cells


class Sheet:
    """A picture that is put together cell by cell: `put` tiles into a row from a column on, then take the `scene`."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.cells = [""] * (width * height)

    def put(self, row: int, column: int, tile_names: Sequence[str]) -> None:
        """Set the cells from (row, column) on; what would lie beyond the row is left out."""
        at = row * self.width + column
        room = self.width - column
        kept = list(tile_names[:room])
        self.cells[at : at + len(kept)] = kept

    def scene(self) -> Scene:
        """The picture as data, with a margin: cards and letters at the very edge look cut."""
        wide, tall = self.width + 2 * MARGIN, self.height + 2 * MARGIN
        return Scene(width=wide, height=tall, left=MARGIN, top=MARGIN, cells=tuple(self.cells), columns=self.width)


def faces(cards: Sequence[int]) -> list[str]:
    """The tiles of cards that are seen."""
    return [f"card-{NAMES[card]}" for card in cards]


@functools.lru_cache(maxsize=16)
def deck_of(ranks: int, suits: int, low: int = 0) -> Ints:
    """A deck of the ranks `low` to `low + ranks - 1` in the last `suits` suits.

    Example:
        >>> names(deck_of(3, 1, 10))
        'JS QS KS'
    """
    return tuple(rank * 4 + suit for rank in range(low, low + ranks) for suit in range(4 - suits, 4))
