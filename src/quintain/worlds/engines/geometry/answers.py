"""How an answer in one line is read: names, numbers, times or points, in a row or as a set, with whatever parts them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from quintain.worlds.engines.geometry.figure import Words
from quintain.worlds.kernel import Move

LONGEST = 400  # characters of an answer
_FLUFF = re.compile(
    r"\b(?:(?:from )?left to right|lowest first|bottom to top|on the (?:circle|line)|(?<!\ba )(?:circle|lines?)(?: through)?|stones?"
    r"|corners of the hull|visible|order|convex|rays?|gates?|leaves|exits|at|targets?|paints?|players?|gets|rectangles|squares?|of them"
    r"|(?:largest|max)(?= area)|largest|interior|lattice|strictly|are|the|and|answer|is|then|there"
    r"|points?|names?|areas?|inside|first|second|perimeter|radius|squared|cent(?:re|er)|degrees?|degs?|units?|counts?|patch(?:es)?"
    r"|marks?|(?:with )?corners?|rectangle|hull|total|sq|coins?|cells?|by|left|x|y|r2)\b"
)
_ORDERS = [  # what is asked for first, and what after it
    (re.compile(rf"\b(?:{early})\b"), re.compile(rf"\b(?:{late})\b"))
    for early, late in (
        ("first", "second"),
        ("coins?", "cells?|by"),
        ("area", "inside|interior|points?"),
        ("rectangles?", "squares?|largest|area"),
        ("squares?", "largest|area"),
        ("rays?", "gates?"),
        ("x", "y|r2"),
        ("x|cent(?:re|er)", "radius|r2"),
    )
]
_ASKED = re.compile(  # what the one number is of
    r"m?∠\s*[a-z]{1,4}\b|\b(?:ask|angle|arc|inscribed|tangent|chords|size|sum|total|value|cent(?:re|er))\b(?:\s+(?:between|and|[a-z]{1,2})\b){0,4}"
    r"|\bsum of (?:the )?areas\b|\?(?=\s*=)|\bmarked(?=\s+angle)"
)
_COMPARED = re.compile(r"(?<![-=])[<>]")  # a bound is not the number
_BETWEEN = re.compile(r"[\s,;:/|\[\](){}=><°+&-]*")
_LATE = re.compile(r"^\D*\d+[^\d.):]+\d+ rectangles?\b|\d area\b.*\d")  # what comes first or last elsewhere
_SQUARED = re.compile(r"\bsquare of (?:the )?radius\b|\br(?:adius)?\s*(?:\^\s*2\b|\*\*\s*2\b|²)")
_DASHES = str.maketrans("−–—－", "----")
_POINT = re.compile(r"^\s*[-*•]\s+", re.MULTILINE)  # of a list in lines
# a sign, where it cannot part two entries
_MINUS = re.compile(r"(?<![\w)\]}°])-(?=[\d(\[])|(?:^|[^\w\s)\]}°])\s*-\s*(?=[\d(\[])")
# what may stand before the entries, counted from 1 or A on
_LABELS = {
    "name": re.compile(r"(?<!\w)(\d{1,2})[\s:=.)>-]*(?:(?:site|paints?)\s+)?(?=[a-z]\b)", re.ASCII),
    "number": re.compile(
        r"(?<![\d.:=])(\d{1,2})\s*(?:(?:[:=-]?>|[:=→⇒])\s*|[.)]\s+|gets\s+|(?:exits|leaves)\s+(?:at|by)\s+(?:gate\s+)?)(?=\d)",
        re.ASCII,
    ),
    "point": re.compile(r"\b([a-z])\b[\s:=]*(?=[(\[]?\s*\d)", re.ASCII),
    "time": re.compile(r"\b([a-z])\b(?:\s+(?:reads|shows)\b)?[\s:=]*(?=\d)", re.ASCII),
}
_COUNTED = re.compile(r"(?<![\d.:=])(\d)[.)]\s+(?=\d)", re.ASCII)  # of a list
_SQUARES = re.compile(r"(?<=unit)(?:s?\s*(?:\^\s*2\b|²)|\s+squares?\b)")
_CUT = re.compile(r"\b(?:line|cut|goes|from|to|start|ends?)\b\s*:?")
_BEFORE = re.compile(r"^\s*(?:Rectangle|Corners|Hull|Stones|Lines|Order)\s*:?\s+(?=[A-Z]+\s*$)")  # names in one
_ARTICLE = re.compile(
    r"^\s*an?\s+(?=(?:circle|line)\s*(?::|(?:with|through)\b)|(?:convex )?(?:hull|rectangle|square|set|group)\b|corners?\s*:)"
)  # before a word that is no name
_LINES = re.compile(r"^\s*[a-r](?:\s*[-,]\s*|\s+)[a-r]\s*[=:]?\s*(?=\d)")  # between which an angle is
_FIGURE = re.compile(r"^\s*[A-R]{2,4}\s*=\s*(?=\d)")  # its corners in one
_AREA = re.compile(r"^\s*a(?:rea)?\s*[:=]\s*(\d+(?:\.0)?)[\s,;]+(?:and\s+)?i\s*[:=]\s*(?=\d)")  # and what lies inside
_PLACE = re.compile(r"(?<=\b[a-z])\s*=?\s*\(\s*\d{1,2}\s*,\s*\d{1,2}\s*\)", re.ASCII)  # of a point that is named
_RUN = re.compile(r"(?<=[A-Z])(?=[A-Z])")
_NO_NAMES = re.compile(
    r"(?i:\b(?:inside|interior)\b|\b[a-z]\s*<-\s*[a-z]\b)|^\s*(?:TODO|TBD|NONE|DONE|UNKNOWN|NULL|IDK)\s*$"
)
_CALLED = re.compile(r"^\s*[A-Za-z]\s*=\s*(?=[^=]*$)")  # a set that has a name itself
_MARKED = re.compile(r"(?<!\w)([a-z])\s*[:=]\s*(?=[a-z]\b)", re.ASCII)  # by the letters of what was asked for
_TOKENS = {
    "name": re.compile(r"(?<![a-z0-9])[a-z](?![a-z0-9])", re.ASCII),
    "number": re.compile(r"(?<![\d.a-z])\d{1,6}(?:\.0)?(?![\d.]|[a-z])", re.ASCII),
    "time": re.compile(r"(?<![\d.a-z:])\d{1,6}(?::\d\d)?(?![\d.:]|[a-z])", re.ASCII),
    "point": re.compile(
        r"[(\[]?\s*(?<![\d.])\d{1,3}(?:\.0+)?\s*[,;\s]\s*\d{1,3}(?:\.0+)?(?!\d|\.\d)\s*[)\]]?", re.ASCII
    ),
}


def _number(text: str) -> str:
    hours, colon, minutes = text.partition(":")
    return f"{int(hours)}:{minutes}" if colon else str(int(float(text)))


def _point(text: str) -> str:
    return "({},{})".format(*(int(n) for n in re.findall(r"(\d+)(?:\.0+)?", text)))


def _swapped(text: str, among: int) -> bool:
    """Whether a text tells what comes later first, by one of the first orders; names may be x and y themselves."""
    found = [(early.search(text), late.search(text)) for early, late in _ORDERS[:among]]
    return any(early and late and late.start() < early.start() for early, late in found)


def _unlabelled(of: str, text: str) -> tuple[str, int]:
    """A text without the labels of its entries, and how many these were."""
    marks = _MARKED.findall(text) if of == "name" else []
    if len(marks) > 1 and marks == [chr(ord(marks[0]) + i) for i in range(len(marks))]:
        return _MARKED.sub(" ", text), len(marks)
    labels = _LABELS[of].findall(text) if of in _LABELS else []
    counted = [chr(96 + i) if of in ("point", "time") else str(i) for i in range(1, len(labels) + 1)]
    least = 1 if of == "name" else 2  # a single number may be the first of two entries
    if (
        of == "time"
        and not labels
        and [*_COUNTED.findall(text)] == [str(i + 1) for i in range(len(_COUNTED.findall(text)))]
    ):
        return _COUNTED.sub(" ", text), len(_COUNTED.findall(text))
    return (_LABELS[of].sub(" ", text), len(labels)) if len(labels) >= least and labels == counted else (text, 0)


_NORMAL: dict[str, Callable[[str], str]] = {"name": str.upper, "number": _number, "time": _number, "point": _point}


@dataclass(frozen=True, kw_only=True)
class Form:
    """What an answer is made of.

    Args:
        of: what each entry is: `name`, `number`, `time` (a number or h:mm) or `point`.
        unordered: the order of the entries does not matter, nor does an entry that comes twice.
        pairs: entries belong together two by two, in either order.
        low: fewest entries.
        high: most entries.
        least: smallest number of a single one, so that stray digits are no answers.
        heads: words that a number may have before it and a colon, `=` or, where commas or lines part them, a blank, with what each says; an
            answer with them before all of its numbers has each number behind what they say.

    Example:
        >>> Form(of="name", unordered=True).read(" c, a and B ").key, Form(of="name").read("CAB").key
        ('A B C', 'C A B')
    """

    of: str
    unordered: bool = False
    pairs: bool = False
    low: int = 2
    high: int = 40
    least: int = 0
    heads: Mapping[str, str] = field(default_factory=dict)

    def read(self, text: str) -> Move | None:
        """The answer that `text` spells, or None."""
        if len(text) > LONGEST or (self.of == "name" and _NO_NAMES.search(text)):
            return None
        text = _BEFORE.sub("", _CALLED.sub("", text))
        low = text.strip().lower()
        # names in one, as in BDFG; words are seldom in capitals
        if self.of == "name" and text == text.upper() and not _FLUFF.search(low):
            low = _RUN.sub(" ", text.strip()).lower()
        low = _SQUARES.sub("", low)
        low = _SQUARED.sub("r2", low.translate(_DASHES)).replace("**", " ")
        low = _AREA.sub(r"\1 ", _ARTICLE.sub("", low)) if self.of in ("name", "number") else low
        if self.of != "name" and _MINUS.search(_POINT.sub("", low) if "\n" in low else low):
            return None  # no answer is below 0
        if not self.unordered and self.high > 1 and _swapped(low, 1 if self.of == "name" else len(_ORDERS)):
            return None
        bare = self.low == 3 and "radius" in low and not re.search(r"\bsquared?\b|\bsq\b|\br2\b|radius\s*\*", low)
        if bare or (self.low == 3 and _LATE.search(low)):
            return None  # a radius is none where its square is asked for
        if self.high == 1:
            low = _ASKED.sub(" ", _LINES.sub("", low) if not _FIGURE.match(text) else low[low.index("=") :])
            if _COMPARED.search(low) and not re.fullmatch(r"\s*<[^<>]*>\s*", low):
                return None
        low = _PLACE.sub(" ", low) if self.of == "name" else low
        if self.of == "point" and self.unordered:
            low = re.sub(r"\b[a-z]\s*(?=\()", " ", _CUT.sub(" ", low))  # corners by their names
        if self.of == "time":
            low = re.sub(r"\b(?:ruler|gauge|clock)\s+(?=[a-z]\b)", "", low)
        low, heads = self._headless(self._turned(low))
        low, labels = _unlabelled(self.of, low)
        pattern = _TOKENS[self.of]
        normal = _NORMAL[self.of]
        words = [normal(token) for token in pattern.findall(low)]
        count = len(set(words) if self.unordered else words)
        if not self.low <= count <= self.high or not _BETWEEN.fullmatch(_FLUFF.sub(" ", pattern.sub(" ", low))):
            return None
        if labels and len(words) != labels * (2 if self.pairs else 1):
            return None
        if self.least and min(int(w) for w in words) < self.least:
            return None
        if heads:
            pairs = tuple(zip(heads, words, strict=False))
            told = " ".join(f"{head}: {word}" for head, word in pairs)
            return Move(told, tuple(itertools.chain(*pairs))) if len(heads) == len(words) and all(heads) else None
        return self.move(tuple(words))

    def _turned(self, text: str) -> str:
        """Numbers with words behind all of them, as in `2 green, 1 blue patches`, with these before them."""
        if not self.heads or re.search("[:=]", text):
            return text
        words = "|".join(self.heads)
        parts = [" ".join(_FLUFF.sub(" ", part).split()) for part in re.split(r"[,;\n]|\band\b", text.rstrip(". "))]
        found = [re.fullmatch(rf"(\d+) ((?:(?:{words}) ?)+)", part) for part in parts if part]
        return "; ".join([f"{one[2]}: {one[1]}" for one in found if one]) if all(found) else text

    def _headless(self, text: str) -> tuple[str, Words]:
        """A text without the words before its numbers, and what these say."""
        if not self.heads or not re.search("[:=,;\n]", text):
            return text, ()
        sign = r"\s*[:=]\s*" if re.search("[:=]", text) else r"\s+"  # in `red 2 green 5` the 2 may belong to green
        head = rf"\b((?:(?:{'|'.join(self.heads)})\s+)*(?:{'|'.join(self.heads)})){sign}(?=\d)"
        said = [sorted({self.heads[word]: 0 for word in found.split()}) for found in re.findall(head, text)]
        return re.sub(head, " ", text), tuple([" ".join(words).strip() for words in said])

    def move(self, words: Words) -> Move:
        """The answer made of these entries."""
        if self.unordered:
            words = tuple(sorted(set(words)))
        if self.pairs:
            words = tuple([word for i in range(0, len(words), 2) for word in sorted(words[i : i + 2])])
        return Move(" ".join(words), words)
