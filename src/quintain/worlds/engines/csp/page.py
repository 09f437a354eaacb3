"""What a puzzle page is made of: what is printed, what was written, and how both read."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from quintain.types import Ints, QuintainError
from quintain.worlds.cells import LETTERS, NESTED, names_of, read_cell
from quintain.worlds.splits import canonical

BLANK, WALL = -1, -2  # of the cells: still to fill; no cell at all
SIDES = ("Top", "Left", "Right", "Bottom")
WROTE, DONE = "You wrote", "At the end you wrote"
DOT, BRICK, NONE = ".", "#", "-"
ONLY = "only"  # goes before a single letter
_GAP = re.compile(r"[\s,;/|\[\](){}]+")
_TITLE = re.compile(
    r"\A[\s*_#]*(?:(?:the|my|final|whole|full|complete|completed|filled|finished|solved) ){0,3}"
    r"(?:solution|grid|board|puzzle|map|distances)[*_]*(?: is)?(?:\s*:[*_]*|\s*(?=\n))\s*"
)
_MARK = r"(?:^[ \t]*[-*•]?[ \t]*)?(?<!\*)\*{0,2}"  # what may stand before the label of a row
_NAMED = re.compile(rf"{_MARK}\b(?:row\s*|r)(\d{{1,2}})\b(?: \([a-z]+\))?\**\s*[:=]\**\s*", re.MULTILINE)
_COUNTED = re.compile(rf"(?:{_MARK}(?<![^\s{{,;/])(\d{{1,2}})\** ?:|^[ \t]*\**(\d{{1,2}})[.)])\**[ \t]+", re.MULTILINE)
_PRINTED = re.compile(r"[\s|*]*\ba(?:[\s|*]+[b-z]\b)+[ \t|*]*\n")  # the letters above the columns
_FIRST = re.compile(r"^[ \t|*]*(\d{1,2})[ \t|*]+", re.MULTILINE)  # the number of a row
_LISTED = re.compile(r"^[ \t]*(?:[-•*]|\d{1,2}[.)])[ \t]+", re.MULTILINE)
_HEAD = re.compile(
    r"\A[\s*_{\"]*(?:(?:[a-z]{2,} ){0,5}[a-z]+[*_ \"]*(?::[*_]*| at\b| are(?: at)?\b)|mark\b(?: the)?(?: cells\b)?)"
)
_IN_ROW = re.compile(r"\brow (\d{1,2}):((?:[\s,]*[a-z]\1\b)+)")
_OTHERS = re.compile(
    r"\b(?:un\w+|empty|off|no|not|others?|free|blank|white|islands?|land|trees?|walls?|water|outside"
    r"|honest|innocent|truthful|wrong|excluded)\b|\A\W*(?:grass|true|conflicts?|candidates?)\W*\Z"
)
_VERB = r"(?:(?:write|put|place|set|fill|enter)\s+)?"
_DIGIT = r"(?:digit |number |value )?"
_ENTRY = re.compile(
    rf"{_VERB}(?P<cell>.+?)\s*(?::=|=|:|,? (?:digit|number|value) |\s|<-| to | with )\s*(?P<number>[0-9]{{1,2}})",
    re.ASCII,
)
_INTO = re.compile(
    rf"{_VERB}(?:an? |the )?{_DIGIT}(?P<number>\d{{1,2}}) (?:in|into|at|on) (?:cell |square )?(?P<cell>.+)", re.ASCII
)
_TOKEN = re.compile(r"[a-z]\d+|\d+|[A-Za-z]+|[^\w\s]")
_BETWEEN = re.compile(r"([a-z]\d+)(\W)([a-z]\d+)")

Lines = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Page:
    """What is printed.

    Attributes:
        width: columns.
        height: rows.
        given: the printed value of each cell, row by row; `BLANK` is to fill, `WALL` is no cell.
        ground: one sign per cell, a region or a thing that stands there; empty where there are none.
        labels: (cell, text) of clues that stand in cells.
        sides: clues beside the grid: a line for each column above, each row left, right, each column below; or ().
        pairs: (cell, cell, sign) of clues between two cells, the left or upper one first.
        notes: clues in words.
        budget: turns.
    """

    width: int
    height: int
    given: Ints
    ground: str = ""
    labels: tuple[tuple[int, str], ...] = ()
    sides: tuple[Lines, ...] = ()
    pairs: tuple[tuple[int, int, str], ...] = ()
    notes: Lines = ()
    budget: int = 1

    @property
    def blanks(self) -> list[int]:
        """The cells to fill."""
        return [c for c, v in enumerate(self.given) if v == BLANK]


@dataclass(frozen=True, slots=True)
class Work:
    """The state of a puzzle: the page, and the cells as they are now; `done` once it was answered."""

    page: Page
    cells: Ints
    done: bool = False


@dataclass(frozen=True)
class Truth:
    """A planted solution, before there are clues: the values of its cells, and whatever else the clues are made of."""

    width: int
    height: int
    values: Ints
    more: tuple[str, ...] = ()


def layout_of(truth: Truth) -> str:
    """The least text of a solution under the symmetries of its grid."""
    return canonical([chr(48 + v) for v in truth.values], truth.width, truth.height) + "".join(truth.more)


def called(width: int, height: int) -> Lines:
    """The names of the cells, row by row; a single row needs no numbers.

    Example:
        >>> called(2, 1), called(1, 2)
        (('a', 'b'), ('a1', 'a2'))
    """
    return tuple(LETTERS[:width]) if height == 1 else names_of(width, height)


@functools.lru_cache(maxsize=64)
def neighbours(width: int, height: int) -> tuple[Ints, ...]:
    """For each cell those that share a side with it."""
    out = []
    for cell in range(width * height):
        y, x = divmod(cell, width)
        around = ((y - 1, x), (y, x - 1), (y, x + 1), (y + 1, x))
        out.append(tuple(r * width + c for r, c in around if 0 <= r < height and 0 <= c < width))
    return tuple(out)


def rows_of(width: int, height: int) -> tuple[Ints, ...]:
    """The cells of each row."""
    return tuple(tuple(range(y * width, (y + 1) * width)) for y in range(height))


def columns_of(width: int, height: int) -> tuple[Ints, ...]:
    """The cells of each column."""
    return tuple(tuple(range(x, width * height, width)) for x in range(width))


def framed(signs: Sequence[str], width: int) -> str:
    """A grid of words with column letters above and row numbers before."""
    wide = max(map(len, signs))
    lines = ["   " + " ".join(letter.rjust(wide) for letter in LETTERS[:width])]
    for y in range(0, len(signs), width):
        lines.append(f"{y // width + 1:2d} " + " ".join([s.rjust(wide) for s in signs[y : y + width]]))
    return "\n".join(lines)


def sign_of(value: int, signs: Lines) -> str:
    """How a value is written."""
    if value >= 0:
        return signs[value] if signs else str(value)
    return DOT if value == BLANK else BRICK


def clue_lines(page: Page) -> list[str]:
    """The clues outside the two grids, a line for each kind."""
    names, out = called(page.width, page.height), []
    if page.labels:
        out.append("Clues: " + " ".join([f"{names[c]}={text}" for c, text in page.labels]))
    for side, lines in zip(SIDES, page.sides, strict=False):
        if lines:
            out.append(f"{side}: " + " ".join([line or NONE for line in lines]))
    if page.pairs:
        out.append("Between: " + " ".join([f"{names[a]}{sign}{names[b]}" for a, b, sign in page.pairs]))
    return out + [f"* {note}" for note in page.notes]


def full_caption(work: Work, signs: Lines) -> str:
    """All that is on the page."""
    page = work.page
    lines = ["Grid:", framed([sign_of(v, signs) for v in page.given], page.width)]
    if page.ground:
        lines += ["Map:", framed(page.ground, page.width)]
    lines += clue_lines(page)
    if work.cells != page.given or work.done:
        names = called(page.width, page.height)
        wrote = [f"{n}={sign_of(v, signs)}" for n, v, g in zip(names, work.cells, page.given, strict=True) if v != g]
        lines.append(f"{DONE if work.done else WROTE}: {' '.join(wrote)}")
    return "\n".join(lines)


def brief_caption(work: Work) -> str:
    """The size, how many cells are blank, and the clues outside the grids."""
    page, blank = work.page, sum(v == BLANK for v in work.cells)
    return "\n".join([f"columns: {page.width}, rows: {page.height}, blank cells: {blank}", *clue_lines(page)])


def parse_caption(caption: str, signs: Lines) -> Work:
    """The work with the given full caption.

    Raises:
        QuintainError: this is no such caption.
    """
    try:
        return _parsed(caption.split("\n"), {s: i for i, s in enumerate(signs)})
    except (ValueError, IndexError, KeyError, AttributeError) as error:
        raise QuintainError(f"this is no full caption of a puzzle page: {caption[:60]!r}") from error


def _parsed(lines: list[str], values: dict[str, int]) -> Work:
    def value(sign: str) -> int:
        return {DOT: BLANK, BRICK: WALL}.get(sign, values[sign] if values and sign in values else -3)

    def number(sign: str) -> int:
        return value(sign) if values or not sign.isdigit() else int(sign)

    width = len(lines[1].split())
    end = next((i for i, line in enumerate(lines[2:], 2) if not line.split()[0].isdigit()), len(lines))
    given = tuple(number(s) for line in lines[2:end] for s in line.split()[1:])
    height = end - 2
    ground, at = "", end
    if at < len(lines) and lines[at] == "Map:":
        ground = "".join("".join(line.split()[1:]) for line in lines[at + 2 : at + 2 + height])
        at += 2 + height
    index = {name: i for i, name in enumerate(called(width, height))}
    labels, pairs, notes, cells, done = [], [], [], list(given), False
    sides: dict[str, Lines] = {}
    for line in lines[at:]:
        head, _, rest = line.partition(": ")
        if line.startswith("* "):
            notes.append(line[2:])
        elif head == "Clues":
            labels = [(index[n], text) for n, _, text in (item.partition("=") for item in rest.split())]
        elif head == "Between":
            found = [_BETWEEN.fullmatch(item) for item in rest.split()]
            pairs = [(index[f[1]], index[f[3]], f[2]) for f in found if f]
        elif head in SIDES:
            sides[head] = tuple("" if s == NONE else s for s in rest.split())
        else:
            done = head == DONE
            for item in rest.split():
                name, _, sign = item.partition("=")
                cells[index[name]] = number(sign)
    page = Page(
        width=width,
        height=height,
        given=given,
        ground=ground,
        labels=tuple(labels),
        sides=tuple(sides.get(side, ()) for side in SIDES) if sides else (),
        pairs=tuple(pairs),
        notes=tuple(notes),
    )
    return Work(page, tuple(cells), done)


def static_words(page: Page, signs: Lines) -> tuple[str, ...]:
    """The page word by word."""
    names, out = called(page.width, page.height), []
    for i, name in enumerate(names):
        if page.given[i] != BLANK:
            out += [name, sign_of(page.given[i], signs)]
        if page.ground and page.ground[i] != NONE:
            out += [name, page.ground[i]]
    return tuple(out + _TOKEN.findall("\n".join(clue_lines(page))))


def moving_words(work: Work, signs: Lines) -> tuple[str, ...]:
    """What was written, word by word."""
    names, out = called(work.page.width, work.page.height), []
    for name, v, g in zip(names, work.cells, work.page.given, strict=True):
        if v != g:
            out += [name, sign_of(v, signs)]
    return tuple(out)


def words_in(text: str) -> list[str]:
    """The signs of a written answer, without what stands between them."""
    return [w for w in _GAP.split(text) if w]


def unlabelled(text: str, kinds: Lines = ()) -> str:
    """The rows of a written grid without its title, lines drawn through it, and the labels of its rows (may be `kinds`) and columns."""
    text = rowed(text, kinds) if kinds else text
    for number, kind in enumerate(kinds, 1):
        text = re.sub(rf"\b{kind}[*_]*\s*:", f"row {number}:", text)
    lines = _TITLE.sub("", text.replace("```", "")).split("\n")
    text = "\n".join(line for line in lines if "--" not in line or {*line} - {*" \t|+:-"})
    printed = _PRINTED.match(text)
    rest = text[printed.end() :] if printed else text
    for label in (_FIRST,) if printed else (_NAMED, _COUNTED):
        found = ["".join(mark.groups("")) for mark in label.finditer(rest)]
        counted = len(found) > 1 and found == [str(i) for i in range(1, len(found) + 1)]
        if counted and (not printed or len(found) == len(rest.strip().split("\n"))):
            return label.sub("/", rest)
    return text


def rowed(text: str, kinds: Lines) -> str:
    """A table with titles of columns and kinds as rows of kinds; "" where it has no rows, or these stand in another order.

    Example:
        >>> rowed("house | colour | pet\\n1 | r | c\\n2 | g | d", ("colours?", "pets?"))
        'r g / c d'
    """
    lines = [line.strip().strip("|") for line in text.strip().split("\n") if "|" in line and "--" not in line]
    rows = [[cell.strip(" \t*_") for cell in line.split("|")] for line in lines]
    if not rows or {len(row) for row in rows} != {len(rows[0])}:
        return text
    heads, firsts = rows[0], [row[0] for row in rows[1:]]
    if _are(heads[1:], kinds):
        return " / ".join(map(" ".join, list(zip(*rows[1:], strict=True))[1:])) if _counted(firsts) else ""
    if _are(heads, kinds):
        return " / ".join(map(" ".join, zip(*rows[1:], strict=True)))
    if _are(firsts, kinds):
        return " / ".join(" ".join(row[1:]) for row in rows[1:]) if _counted(heads[1:]) else ""
    return " / ".join(map(" ".join, rows[1:])) if _counted(heads) else text


def _are(titles: list[str], kinds: Lines) -> bool:
    """Whether these are the first kinds, in their order."""
    return 1 < len(titles) <= len(kinds) and all(map(re.fullmatch, kinds, titles))


def _counted(titles: list[str]) -> bool:
    """Whether these are the names of all columns from the first on."""
    bare = [re.sub(r"^house ", "", title) for title in titles]
    return bool(bare) and bare in ([str(i + 1) for i in range(len(bare))], [chr(97 + i) for i in range(len(bare))])


def told_of(text: str, yes: str, no: str) -> str:
    """The letters that an answer tells to be `yes`, one by one or in a list, without those that it tells to be `no`."""
    text = re.sub(
        rf"[*`]|\b(?:the|(?<=is )an?|(?<=[:=] )an?)\s+(?=(?:{yes}|{no})s?\b)|\b(?:turn|switch(?:es)?)\s", "", text
    )
    one = rf"\b([a-z])\s*(?:\bis\b|[:=]|\s)\s*({yes}|{no})\b"
    told, rest = re.findall(one, text), re.sub(rf"{one}|\band\b", "", text)
    plain = len(told) == 1 and not re.search(r"\bis\b|[:=]", text)  # as in: a knave
    if told and not plain and len(dict(told)) == len(told) and not re.search("[a-z]", rest):
        return " ".join([ONLY, *(name for name, kind in told if re.fullmatch(yes, kind))])
    text = "\n".join(part for part in re.split(r"[;.\n]", text) if not re.match(rf"[\s-]*{no}s?\b", part)).strip()
    return re.sub(rf"^[\s-]*{yes}s?\b\s*(?:are\b|is\b|[:=])?|\s+are\s+{yes}s?$", f" {ONLY} ", text).strip()


def untitled(text: str) -> str:
    """A list of cells without what it begins with: a title, a sentence, points; a title of what is not asked for stays."""
    told = _IN_ROW.sub(r"\2", _LISTED.sub("", text))
    found = _HEAD.match(told)
    return told[found.end() :] if found and not _OTHERS.search(found[0]) else told


def entry_of(text: str) -> tuple[tuple[int, int], int] | None:
    """The cell and the number that `text` writes into it, as in `b3=4` or `put 4 in b3`."""
    found = _INTO.fullmatch(text) or _ENTRY.fullmatch(text) if len(text) <= 64 else None
    parts = found.groupdict() if found else {}
    cell = read_cell(parts["cell"]) if parts else None
    return (cell, int(parts["number"])) if cell and max(cell) < 9 and 0 < int(parts["number"]) < 10 else None


def row_lengths(text: str) -> list[int]:
    """How many cells each row of a written grid has; one row where nothing parts rows."""
    rows = [0]
    for breaks in (r"[/\n]", r"[|;]", NESTED):
        rows = [n for row in re.split(breaks, text) if (n := len(words_in(row)))]
        if len(rows) > 1 and max(rows) > 1:
            return rows
    return [sum(rows)]


def packed_rows(words: Sequence[str], rows: Sequence[int], text: str) -> Sequence[str]:
    """The rows of a square grid whose signs, or some of them, stand without gaps; () where gaps part all cells."""
    lines = words
    if len(rows) > 1 and len(set(rows)) > 1:  # cells with two digits make rows of one length
        lines = [line for row in re.split(r"[/\n]", text) if (line := _GAP.sub("", row))]
    return lines if 1 < len(lines) <= 9 and all(len(line) == len(lines) for line in lines) else ()
