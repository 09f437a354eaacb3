"""Cells of a board: their names, a letter for the column and a number for the row from the top, as in `b3`, and sets of them as bits.

Boards whose actions name a cell share these names in captions, pictures, words and answers.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from quintain.worlds.art import tiles
from quintain.worlds.scene import Run, Scene

LETTERS = "abcdefghijklmnopqrstuvwxyz"
NESTED = r"[\])}]\s*,?\s*[\[({]"  # what parts the rows of a board that is written as nested lists
_SIGNS = [chr(code) for code in range(128)]
_NAMED = re.compile(r"([a-z])\s*(\d{1,2})", re.ASCII)
_PLACED = re.compile(r"\(?\s*(?:r|row)?\s*(\d{1,2})\s*(?:,|\s|c(?=\d))\s*(?:c|col|column)?\s*(\d{1,2})\s*\)?", re.ASCII)
_COLUMN_ROW = re.compile(r"(?:column|col) ([a-z]|\d{1,2}),? row (\d{1,2})", re.ASCII)
_LETTERED = re.compile(r"\b[a-z]\d{1,2}\b", re.ASCII)
_NUMBERED = re.compile(
    r"\br(?:ow)? ?:? ?(\d{1,2})[, ]*(?:and )?c(?:ol(?:umn)?)? ?:? ?(\d{1,2})\b"
    r"|\bcol(?:umn)? ?:? ?(\d{1,2})[, ]*(?:and )?row ?:? ?(\d{1,2})\b",
    re.ASCII,
)
_ROW_COLUMN = re.compile(r"row (\d{1,2}),? (?:column|col) ([a-z])", re.ASCII)


def name_of(row: int, column: int) -> str:
    """The name of the cell in `row` and `column`, both counted from 0.

    Example:
        >>> name_of(2, 1)
        'b3'
    """
    return f"{LETTERS[column]}{row + 1}"


@functools.lru_cache(maxsize=128)
def names_of(width: int, height: int) -> tuple[str, ...]:
    """The names of all cells, row by row.

    Example:
        >>> names_of(2, 2)
        ('a1', 'b1', 'a2', 'b2')
    """
    return tuple(name_of(row, column) for row in range(height) for column in range(width))


def sized(width: int, height: int) -> str:
    """Which cells a board has, in a sentence.

    Example:
        >>> sized(6, 5)
        'The board has columns a-f and rows 1-5.'
    """
    return f"The board has columns a-{LETTERS[width - 1]} and rows 1-{height}."


def lettered(text: str) -> str:
    """A text in small letters in which cells that are told by the numbers of their row and column have their names, if none has one.

    Example:
        >>> lettered("r3c2 to row 4, column 2"), lettered("column 2, row 3"), lettered("row 3, column 99")
        ('b3 to b4', 'b3', 'row 3, column 99')
    """

    def name(told: re.Match[str]) -> str:
        row, column = int(told[1] or told[4]), int(told[2] or told[3])
        return f"{LETTERS[column - 1]}{row}" if 0 < column <= len(LETTERS) else told[0]

    return text if _LETTERED.search(_NUMBERED.sub(" ", text)) else _NUMBERED.sub(name, text)


def read_cell(text: str) -> tuple[int, int] | None:
    """(row, column) from 0 of the cell that `text` names: `b3`, `B 3`, or row and column from 1: `3 2`, `r3c2`, `(3, 2)`.

    Example:
        >>> read_cell("B3"), read_cell("row 3, column 2"), read_cell("b0"), read_cell("third")
        ((2, 1), (2, 1), None, None)
    """
    text = text.strip().lower()
    if len(text) > 40:
        return None
    if turned := _ROW_COLUMN.fullmatch(text):
        text = turned[2] + turned[1]
    elif turned := _COLUMN_ROW.fullmatch(text):
        text = f"{turned[1]}{turned[2]}" if turned[1].isalpha() else f"{turned[2]} {turned[1]}"
    named = _NAMED.fullmatch(text)
    if named:
        row, column = int(named[2]) - 1, LETTERS.index(named[1])
    else:
        placed = _PLACED.fullmatch(text)
        if not placed:
            return None
        row, column = int(placed[1]) - 1, int(placed[2]) - 1
    return (row, column) if row >= 0 and 0 <= column < len(LETTERS) else None


@functools.lru_cache(maxsize=128)
def frame(width: int) -> str:
    """The line of column letters above a board that is written with row numbers.

    Example:
        >>> frame(3)
        '   a b c'
    """
    return "   " + " ".join(LETTERS[:width])


def framed(signs: str, width: int) -> str:
    """A row-major board, one character per cell, with column letters above and row numbers before.

    Example:
        >>> print(framed("X.O.", 2))
           a b
         1 X .
         2 O .
    """
    rows = [f"{i // width + 1:2d} " + " ".join(signs[i : i + width]) for i in range(0, len(signs), width)]
    return "\n".join([frame(width), *rows])


def unframed(lines: list[str]) -> tuple[str, int] | None:
    """The signs and the width of a board that `framed` wrote, or None.

    Example:
        >>> unframed(framed("X.O.", 2).split("\\n"))
        ('X.O.', 2)
    """
    if not lines or not lines[0].split() or "".join(lines[0].split()) != LETTERS[: len(lines[0].split())]:
        return None
    width = len(lines[0].split())
    rows = [line.split() for line in lines[1:]]
    if any(len(row) != width + 1 or row[0] != str(i) for i, row in enumerate(rows, 1)):
        return None
    return "".join("".join(row[1:]) for row in rows), width


tiles({f"label-{sign}": (Run(text=sign, x=0.5, y=0.52, size=0.5, color="stone"),) for sign in LETTERS})
tiles({f"label-{n}": (Run(text=str(n), x=0.5, y=0.52, size=0.5, color="stone"),) for n in range(1, 100)})


def labelled(cells: Sequence[str], width: int, corner: str = "") -> Scene:
    """The picture of a board with column letters above and row numbers before its `cells`; `corner` is their tile.

    Example:
        >>> labelled(["floor", "wall"], 2).cells
        ('', 'label-a', 'label-b', 'label-1', 'floor', 'wall')
    """
    out = [corner, *_letters(width)]
    for row, at in enumerate(range(0, len(cells), width), 1):
        out.append(f"label-{row}")
        out.extend(cells[at : at + width])
    return Scene(width=width + 1, height=len(out) // (width + 1), cells=tuple(out), columns=width + 1)


@functools.lru_cache(maxsize=128)
def _letters(width: int) -> tuple[str, ...]:
    return tuple(f"label-{sign}" for sign in LETTERS[:width])


@functools.lru_cache(maxsize=64)
def _telling(signs: str) -> dict[int, str]:
    return {ord(sign): "1" if sign in signs else "0" for sign in _SIGNS}


def bits_of(cells: str, signs: str) -> int:
    """The cells that show one of these signs.

    Example:
        >>> bin(bits_of("#..#", "#"))
        '0b1001'
    """
    return int(cells[::-1].translate(_telling(signs)), 2)
