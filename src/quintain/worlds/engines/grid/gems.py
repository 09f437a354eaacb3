"""Gems that fall and clear: what the games of matching gems share."""

from __future__ import annotations

import functools
import re

from quintain.worlds.cells import name_of, read_cell
from quintain.worlds.engines.grid.hues import EMPTY, HUES
from quintain.worlds.kernel import Move
from quintain.worlds.scene import Box, Run, Shape

Cell = tuple[int, int]
_PAIR = re.compile(
    r"(?:(?:swap|exchange):?\s+)?(?:the\s+)?(?:(?:gems|cells)\s+)?(?:at\s+)?"
    r"([a-z]\s?\d{1,2})\s*(?:(?:<->|[-,:/&↔]|and|with)\s*)?([a-z]\s?\d{1,2}|up|down|left|right)",
    re.ASCII,
)
_TABLES = [
    bytes([49 if chr(code) == sign else 48 for code in range(256)]) for sign in HUES
]  # a colour's letter to 1, others to 0
_TO_DIGIT = {ord(sign): str(i) for i, sign in enumerate(EMPTY + HUES)}
_FROM_DIGIT = {ord(str(i)): sign for i, sign in enumerate(EMPTY + HUES)}
AWAY = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


def _masks(cells: str, width: int) -> list[int]:
    """For each colour its cells as bits, the last cell lowest; a gap of one bit after each row keeps lines from going round."""
    raw = EMPTY.join([cells[i : i + width] for i in range(0, len(cells), width)]).encode()
    return [int(raw.translate(table), 2) for table in _TABLES]


@functools.lru_cache(maxsize=64)
def _board(width: int, height: int) -> tuple[int, int, dict[int, int]]:
    """Of a board as octal digits, its last cell the lowest: the lowest bit of all digits, and of those from which three lie in a
    row; and by the place of a digit all digits above it.
    """
    last = width * height - 1
    every = sum(1 << 3 * i for i in range(last + 1))
    across = sum(1 << 3 * (last - i) for i in range(last + 1) if i % width < width - 2)
    above = {3 * (last - i): sum(7 << 3 * (last - k) for k in range(i % width, i, width)) for i in range(last + 1)}
    return every, across, above


def _digits(cells: str) -> int:
    return int(cells.translate(_TO_DIGIT), 8)


def _matching(board: int, width: int, height: int) -> int:
    every, across, _ = _board(width, height)
    taken, found = (board | board >> 1 | board >> 2) & every, 0
    for step, starts in ((3, across), (3 * width, every)):
        other = board ^ board << step
        alike = taken & ~(other | other >> 1 | other >> 2)  # like the next cell on the right, or below
        if run := alike & alike << step & starts:
            found |= run | run >> step | run >> 2 * step
    return found


def matching(cells: str, width: int) -> int:
    """The gems that stand three or more in a line, across or down, in one colour; as bits, every third one a cell."""
    return _matching(_digits(cells), width, len(cells) // width)


def fallen(cells: str, width: int) -> str:
    """The board when all gems have fallen.

    Example:
        >>> fallen("RB" "..", 2)
        '..RB'
    """
    height = len(cells) // width
    columns = [cells[x::width].replace(EMPTY, "").rjust(height, EMPTY) for x in range(width)]
    return "".join(["".join(row) for row in zip(*columns, strict=True)])


@functools.lru_cache(maxsize=1 << 15)
def cleared(cells: str, width: int) -> str:
    """The board, on which nothing can fall, when nothing clears any more: all matching gems vanish at once, the rest falls, and again.

    Example:
        >>> cleared("RRR" "BGB", 3), cleared("BBR" "RRB" "BRR", 3)
        ('...BGB', 'BBRRRBBRR')
    """
    board, height = _digits(cells), len(cells) // width
    gone = _matching(board, width, height)
    if not gone:
        return cells
    above = _board(width, height)[2]
    while gone:
        while gone:  # from the top down, what is above each falls on its place
            at = gone.bit_length() - 1
            falling = board & above[at]
            board = (board ^ falling) & ~(7 << at) | falling >> 3 * width
            gone ^= 1 << at
        gone = _matching(board, width, height)
    return f"{board:0{len(cells)}o}".translate(_FROM_DIGIT)


def exchanged(cells: str, one: int, other: int) -> str:
    """The board with what two cells hold exchanged."""
    signs = list(cells)
    signs[one], signs[other] = signs[other], signs[one]
    return "".join(signs)


@functools.lru_cache(maxsize=1 << 14)
def exchanges(cells: str, width: int) -> tuple[tuple[int, int], ...]:
    """The swaps of two gems beside each other that make a match: first cell, second cell, row by row."""
    masks, step = _masks(cells, width), width + 1
    taken, last, found = sum(masks), step * len(cells) // width - 2, set[tuple[int, int]]()
    for here in masks:
        left, right, above, below = here >> 1, here << 1, here >> step, here << step
        one = {"left": left & left >> 1, "right": right & right << 1, "level": left & right}
        two = {"up": above & above >> step, "down": below & below << step, "upright": above & below}
        lines, posts = one["left"] | one["right"] | one["level"], two["up"] | two["down"] | two["upright"]
        for moved, away, fits in (
            (left, -1, one["right"] | posts),
            (right, 1, one["left"] | posts),
            (above, -width, two["down"] | lines),
            (below, width, two["up"] | lines),
        ):
            good = moved & fits & taken & ~here
            while good:
                low = good & -good
                row, column = divmod(last - low.bit_length() + 1, step)
                at = row * width + column
                found.add((min(at, at + away), max(at, at + away)))
                good ^= low
    return tuple(sorted(found))


@functools.lru_cache(maxsize=4096)
def swap(one: Cell, other: Cell) -> Move:
    """The swap of two cells, (row, column) each."""
    one, other = min(one, other), max(one, other)
    return Move(f"{name_of(*one)}-{name_of(*other)}", (*one, *other))


def read_swap(text: str) -> Move | None:
    """The swap of two cells that `text` spells, which need not be beside each other.

    Example:
        >>> read_swap("swap b2 and b3") == read_swap("b3-b2") == read_swap("b2b3"), read_swap("b2")
        (True, None)
    """
    found = _PAIR.fullmatch(text)
    one = read_cell(found[1]) if found else None
    if not found or one is None:
        return None
    if found[2] in AWAY:
        other = (one[0] + AWAY[found[2]][0], one[1] + AWAY[found[2]][1])
    else:
        other = read_cell(found[2]) or one
    return swap(one, other) if min(other) >= 0 and other[1] < 26 else None


def marked(number: int, row: int, column: int) -> tuple[Shape, Shape]:
    """A frame around a cell and its right neighbour of a labelled board, with a number."""
    x, y = column + 1.05, row + 1.05
    return (
        Box(x=x, y=y, width=1.9, height=0.9, line="ink", thick=0.06, radius=0.2),
        Run(text=str(number), x=x + 0.95, y=y + 0.48, size=0.5, color="ink"),
    )
