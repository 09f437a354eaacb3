"""Answers to puzzle pages that are told cell by cell, as ranges of cells, or as the board is printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from quintain.types import Ints
from quintain.worlds.cells import LETTERS, name_of
from quintain.worlds.engines.csp.page import BLANK, BRICK, DOT, WALL, Lines, Page
from quintain.worlds.kernel import Move

Cell = tuple[int, int]
_PAIR = re.compile(r"\b([a-z])([1-9]\d?)\s*[:=]\s*([a-z]|\d{1,3})(?!\w)", re.ASCII)
_QUOTES = re.compile(r"[{}\"'`]")
_APART = re.compile(r"[\s,;/|]|\band\b")
WALLS = (DOT, "-", "x")  # other signs of walls


def paired(text: str) -> dict[Cell, str]:
    """What a text that is nothing but pairs writes into each cell, (row, column) from 0; empty for other texts.

    Example:
        >>> paired("a1=3, b1: 4"), paired("a1=3 a1=4")
        ({(0, 0): '3', (0, 1): '4'}, {})
    """
    text = _QUOTES.sub("", text)
    found = _PAIR.findall(text)
    cells = {(int(row) - 1, LETTERS.index(column)): sign for column, row, sign in found}
    return cells if len(cells) == len(found) and not _APART.sub("", _PAIR.sub("", text)) else {}


def pairs(cells: Iterable[tuple[Cell, int]], sign: Sequence[str] = ()) -> Move:
    """The answer that writes these values into these cells; the others stay as they are printed."""
    value = tuple(sorted(cells))
    return Move(" ".join(f"{name_of(*cell)}={sign[v] if sign else v}" for cell, v in value), value)


def placed(value: Iterable[tuple[Cell, int]], given: Ints, width: int) -> list[int] | None:
    """The page with these values; None where one lies outside."""
    out = list(given)
    for (row, column), v in value:
        if column >= width or row * width + column >= len(out):
            return None
        out[row * width + column] = v
    return out


def numbered(first: Sequence[object]) -> bool:
    """Whether these are the numbers of the rows, as they stand before a printed board."""
    return len(first) > 1 and [*map(str, first)] == [str(i + 1) for i in range(len(first))]


def unnumbered(values: Sequence[int], width: int, rows: int) -> list[int]:
    """The values of a grid without the numbers of its rows, where each row has one more than the page is wide."""
    wide = width + 1
    if len(values) != wide * rows or not numbered(values[::wide]):
        return [*values]
    return [v for i, v in enumerate(values) if i % wide]


def walled(words: list[str], rows: Sequence[int]) -> list[str]:
    """The words of a grid with `#` for another sign of which its first row and column are made, as where both are walls.

    Example:
        >>> walled(["x", "x", "x", "1"], (2, 2))
        ['#', '#', '#', '1']
    """
    sign, edge = words[0] if words else "", [*words[: rows[0]], *words[:: rows[0] or 1]]
    return (
        [BRICK if w == sign else w for w in words] if sign in WALLS and len(rows) > 1 and {*edge} == {sign} else words
    )


def values_of(words: Iterable[str], signs: Lines) -> list[int]:
    """What the words of a grid stand for; [] where one stands for nothing."""
    known, out = {s.lower(): i for i, s in enumerate(signs)}, []
    for word in words:
        if word in (BRICK, DOT):
            out.append(WALL if word == BRICK else BLANK)
        elif word in known:
            out.append(known[word])
        elif not known and word.isascii() and word.isdigit() and len(word) < 4:
            out.append(int(word))
        else:
            return []
    return out


def filled_in(page: Page, move: Move) -> list[int] | None:
    """The cells of a page after an answer that is to fill it; None where it does not."""
    if "=" in move.key:
        filled = placed(move.value, page.given, page.width)
        return None if filled is None or BLANK in filled else filled
    rows = move.key.count("/") + 1
    filled = unnumbered(move.value, page.width, page.height) if rows == page.height else [*move.value]
    fits = rows in (1, page.height) and len(filled) == len(page.given)
    return filled if fits and (WALL not in filled or WALL in page.given) else None
