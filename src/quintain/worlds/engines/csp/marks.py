"""Answers to puzzle pages that name the cells to be marked, one by one, as ranges, or by what the letters are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from quintain.worlds.engines.csp.page import ONLY, Lines, told_of, untitled, words_in
from quintain.worlds.engines.csp.spelled import paired
from quintain.worlds.kernel import Move

_THE = r"(?:the )?(?:cell |square )?"
_RANGE = re.compile(rf"(?:\bfrom )?{_THE}\b([a-z]) ?([1-9]\d?)? to {_THE}([a-z]) ?([1-9]\d?)?\b", re.ASCII)
_SPAN = re.compile(r"(?<![-–:\w])([a-z])([1-9]\d?) ?[-–:] ?([a-z])([1-9]\d?)(?![-–:\w])", re.ASCII)
_LONE = (  # a single one
    r"(?:only|just)(?: (?:switch|person|letter))? ([a-z]) is (?:an? )?{0}"
    r"|(?:the )?only {0}(?: is)? ([a-z])|([a-z]) is the only {0}|just ([a-z])"
)
_CALLED = re.compile(
    r"\b(?:r ?([1-9]\d?) ?c|row ([1-9]\d?),? col(?:umn)?) ?([1-9]\d?)\b", re.ASCII
)  # a cell by its row and column
_CHAIN = re.compile(r"[a-z]\d\d?(?: to [a-z]\d\d?){2,}", re.ASCII)  # a list
NOWHERE = (99, 99)  # a cell outside all pages
_SMALL = re.compile(r"\b(?:from|the|cells?|squares?)\b")
_NAME = re.compile(r"[a-z]\d{1,2}", re.ASCII)
_PRIMED = re.compile(
    r"(?:(?<!['’])\b[a-z]\b['’]?(?:[\s,]+|$))+"
)  # letters, with a sign behind those that are not meant
_AND = re.compile(r"\band\b|&")
_PLACE = re.compile(r"\b([a-z])[\s,]+(\d)", re.ASCII)


def marked(cells: Sequence[tuple[int, int]], flat: bool) -> Move:
    """The answer that names cells, (row, column) from 0."""
    places = tuple(sorted(set(cells)))
    names = [chr(97 + x) if flat else f"{chr(97 + x)}{y + 1}" for y, x in places]
    if flat and len(names) == 1:
        names.insert(0, ONLY)
    return Move(" ".join(names), places)


def read_marks(text: str, flat: bool, tells: Lines, ranges: bool, spans: bool) -> Move | None:
    """The answer that a text in small letters spells; cells are letters where `flat`. See `DeskWorld` for the others."""
    if (told := paired(text)) and {*told.values()} <= {"0", "1"}:
        on = [cell for cell, sign in told.items() if sign == "1"]
        return marked(on, False) if on else None
    if flat and ("'" in text or "’" in text) and _PRIMED.fullmatch(text):
        text = re.sub(r"[a-z]['’]", " ", text)
    text = told_of(alone(text, tells[0]), *tells) if tells else lettered(text)
    if not ranges and (way := bent(text)):
        return way
    text = ranged(_SPAN.sub(_line, text) if spans else text)
    bare = untitled(text)
    words = words_in(_AND.sub(" ", bare if flat else _PLACE.sub(r"\1\2", bare)))
    if flat and len(words) == 1 and bare == text:
        return lone(words[0])
    if flat and words[-1:] in ([ONLY], ["on"]):
        words = words[:-1]
    cells = []
    for word in words[flat and words[:1] == [ONLY] :]:
        if flat and len(word) == 1 and "a" <= word <= "z":
            cells.append((0, ord(word) - 97))
        elif not flat and _NAME.fullmatch(word) and int(word[1:]) > 0:
            cells.append((int(word[1:]) - 1, ord(word[0]) - 97))
        else:
            return None
    return marked(cells, flat) if cells else None


def alone(text: str, yes: str) -> str:
    """An answer that tells a single letter to be `yes`, as the rules ask for it.

    Example:
        >>> alone("c is the only knave", "knave"), alone("c is a knight", "knave")
        ('only c', 'c is a knight')
    """
    found = re.fullmatch(_LONE.format(yes), text)
    return f"{ONLY} {next(filter(None, found.groups()))}" if found else text


def lettered(text: str) -> str:
    """A text with cells by their letters that it tells by row and column.

    Example:
        >>> lettered("r1c4, r2 c1")
        'd1, a2'
    """
    return _CALLED.sub(
        lambda cell: f"{chr(96 + int(cell[3]))}{cell[1] or cell[2]}" if int(cell[3]) <= 26 else cell[0], text
    )


def bent(text: str) -> Move | None:
    """An answer that no page has, for a text that tells of a way from one cell to another, where ways may bend."""
    return Move(text, (NOWHERE,)) if _RANGE.search(text) and not _CHAIN.fullmatch(text) else None


def lone(word: str) -> Move | None:
    """The answer that is one letter alone; among other words it may be any."""
    return replace(marked([(0, ord(word) - 97)], True), named=True) if len(word) == 1 and "a" <= word <= "z" else None


def ranged(text: str) -> str:
    """A list with all cells of each range: the row, column or rectangle between two that stand with `to`.

    Example:
        >>> ranged("a1 to c1, a2"), ranged("b to d")
        ('a1 b1 c1, a2', 'b c d')
    """
    told = _RANGE.sub(_between, text)
    return text if told == text else _SMALL.sub(" ", told).strip()  # which grammars drop together with `to`


def _line(ends: re.Match[str]) -> str:
    first, one, last, two = ends.groups()
    return _between(ends) if first == last or one == two else ends[0]


def _between(ends: re.Match[str]) -> str:
    first, one, last, two = ends.groups()
    if (one is None) != (two is None):
        return ends[0]
    low, high = sorted((ord(first), ord(last)))
    columns = [chr(code) for code in range(low, high + 1)]
    if one is None:
        return " ".join(columns)
    top, bottom = sorted((int(one), int(two)))
    return " ".join(f"{column}{row}" for row in range(top, bottom + 1) for column in columns)
