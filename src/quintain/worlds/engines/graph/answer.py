"""Answers about graphs as typed text: walks, sets of vertices and edges, groups, numbers, and several of these parted by `;`."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

from quintain.worlds.engines.graph.kinds import GAP, KINDS, VERTEX, twice, words
from quintain.worlds.kernel import Move

NONE = "none"
LONGEST = 900  # characters of an answer
CELL = "[a-i][1-9]"
_AND = re.compile(r"(?<=[\w)\]}])[\s,]+and\s+(?=[\w(\[{])", re.ASCII | re.IGNORECASE)
_TITLE = re.compile(
    r"\b(?:(?:shortest|longest|lightest|largest|max(?:imum)?|min(?:imum)?|hamiltonian|euler(?:ian)?|topological"
    r"|independent|spanning|colou?r|closed|chosen|removed|cut|tree|mst|matching|augmenting)\s+)*"
    r"(?:answer|path|walk|route|tour|order(?:ing)?|set|vertices|edges?|arcs?|groups?|flow|weight|length|numbers?|total|cut|sums?|circuit|cycle"
    r"|outputs?|clique|tree|mst|matching|mapping|arrows|cells|triples|sort|partition|classes|matrix|pairs"
    r"|(?:pre|in|post|level)[- ]?order(?:\s+traversal)?)"
    r"(?:\s+(?:to\s+(?:take\s+out|remove|cut)|of\s+the\s+tree|chosen|in\s+order|from\s+top\s+to\s+bottom|from\s+[a-r]\s+to\s+[a-r]))?(?:\s*[:=]\s*|\s+(?:is|are)\s+)"
    r"|\b(?:nodes?|vertex|vertices|gates?)\s+(?=[a-r]\b)|^(?:pre|in|post|level)[- ]?order\s+(?:traversal\s+)?(?=[a-r]+\b)",
    re.IGNORECASE,
)
_COUNTS = (
    r"(?is)(?:(?:the )?(?:{0})\s*(?:[:=]|is\b)?\s*)?(\d{{1,6}})(?:\s+(?:{0}))?\s*[,;.(\n]\s*"
    r"(?:(?:{1})\s*(?:[:=]|is\b)?\s*)?(\d{{1,6}})\b(?:\s+(?:{1}))?\)?"
)
_HEADS = r"(?is)(?:(?:the )?(?:{})\s*(?:is\b|are\b|[:=])?\s*)?(.+?)(?<![\s;,.])[\s;,.]+(?:the )?(?:{})\s*(?:is\b|are\b|[:=])?\s*(.+)"
_LEAD = re.compile(  # what is done with what is named after it, or what that is; the article before a title is no name
    r"^(?:(?:choose|take(?: out)?|cut|remove|delete|drop|the|edges?|arrows?|arcs?|cells?)\b\s*:?\s*)+(?=[(\[{]*[a-r]\b|[a-i][1-9]|[A-R]{2})"
    r"|^an?\s+(?=(?-i:[a-z]+\s+)*(?:clique|groups?|set|matching|cut|tree|path|walk|tour|circuit|cycle|order|choice|flow)\s*(?:[:=]|is\b|are\b))",
    re.IGNORECASE,
)
_CLOSING = re.compile(r"(\D*[a-r)\]}])\s*(?:\s|[(=])\s*\d{1,5}\s*\)?\.?", re.IGNORECASE)  # a size or a sum behind names
_NO = re.compile(  # that there is none, in words
    r"(?:there is )?(?:none|no(?: such)?(?: hamiltonian| euler(?:ian)?| closed)?(?: (?:path|walk|tour|circuit|cycle))?)(?: exists)?\.?"
    r"|(?:it is )?impossible\.?",
    re.IGNORECASE,
)
_WITH = re.compile(  # what an answer that is a choice adds up to, before or behind it
    r"^(?:(?:total|sum)(?:\s+(?:weight|length))?|weight|length|flow)\s+\d{1,5}\s*:\s*"
    r"|(?<![\s,;(])[\s,;(]+(?:with\s+)?(?:(?:total|sum|cost)(?:\s+(?:weight|length|flow))?|weight|length)(?:\s*[:=]|\s+is|\s+of)?\s*\d{1,5}\)?\.?$",
    re.IGNORECASE,
)
_CALLED = re.compile(  # groups with their numbers or colours before them
    r"(?:\b(?:colou?r(?:\s+class)?|group|class|set|part|triple)\s+(?:\d{1,2}|[a-r])|\b[gvc]?\d{1,2}"
    r"|\b(?:red|green|blue|yellow|orange|purple))(?:\s*[:=|]|(?=\s*[({]))\s*",
    re.IGNORECASE,
)
_HUED = re.compile(  # a vertex with its group
    rf"({VERTEX})\s*(?:[:=|]|->|→)?\s*(?:colou?r\s+)?(\d{{1,2}}|red|green|blue|yellow|orange|purple)(?:\s*[,;]\s*|\s+|$)",
    re.IGNORECASE,
)
_MANY = re.compile(r"^\d{1,2}\s+(?:groups|triples)\s*[:=]\s*", re.IGNORECASE)
_BARS = re.compile(r"^[ \t]*\|[ \t]*|[ \t]*\|[ \t]*$", re.MULTILINE)  # at the ends of a table's rows
_POINT = re.compile(r"^\s*[-*•]\s+", re.MULTILINE)  # of a list in lines
_COUNTED = re.compile(r"(?<!\w)(\d{1,2})\s*[:.)]\s+(?=[a-zA-Z({])", re.ASCII)  # what stands before names, from 1 on
_NAMED = {"path", "order", "set", "edges", "arcs", "groups", "flow"}  # parts that begin with a name
_WIRE = re.compile(r"(?:wire\s+)?\b([a-r])(?:\s*(?:[:=|]|->|→)\s*|\s+)(?=\d)", re.ASCII | re.IGNORECASE)
_STOP = re.compile(r"\.(?=\s|$)")  # behind an item, as captions have it
_BEGUN = re.compile(
    r"(\d[\d\s,;]*?)[\s,;]+([a-r(\[{].*)", re.ASCII | re.DOTALL | re.IGNORECASE
)  # numbers and what follows them
_ENDED = re.compile(r"([^\d]*[A-R][)\]]?)[\s,(]+(\d[^,)]*)\)?", re.IGNORECASE)  # a walk with a number behind it
_APART = ";\n:/|"  # what parts the parts of an answer, the first of these that does
_NAME = r"[a-r](?:[^\w\s,;/<]{0,3}(?:[a-r]|\d\d?))?"
_ENTRY = rf"(?:\d+|{_NAME})"
_LISTED = re.compile(
    rf"(\d+)\s*;\s*({_NAME}(?:\s*;\s*{_NAME})+)", re.ASCII | re.IGNORECASE
)  # behind a number, one by one
_SLASHED = re.compile(rf"{_ENTRY}(?:\s*/\s*{_ENTRY})+", re.ASCII | re.IGNORECASE)  # single entries
_RISING = re.compile(r"[a-r](?:\s*<\s*[a-r])+", re.ASCII | re.IGNORECASE)
_QUOTES = str.maketrans("", "", "\"'`*")
_RUN = re.compile(rf"(?<={VERTEX})(?={VERTEX})")
_JOINED = re.compile(rf"(?:{VERTEX}({VERTEX})[\s,]+(?=\1))+{VERTEX}{{2}}")  # a walk edge by edge, as in BC CD
# what is missing between names written in one, as in BACD; capitals alone, as many English words could be spelt with these letters
RUNS = {"path": " ", "order": " ", "set": " ", "groups": " ", "edges": "-", "arcs": "-", "flow": ">"}


def _grouped(text: str) -> str:
    """Groups with `/` between them, also where blanks part groups written in one, or commas groups that have blanks inside."""
    if re.search(r"[/|\n(\[{]", text):
        return text
    if re.search(rf"{VERTEX}{VERTEX}", text):
        return re.sub(GAP, "/", text)
    if re.search(rf"{VERTEX},{VERTEX}", text, re.IGNORECASE):
        return re.sub(r"\s+", "/", text)
    return text.replace(",", "/") if re.search(rf"{VERTEX}[\s-]+{VERTEX}", text, re.IGNORECASE) else text


def _uncalled(text: str) -> str:
    """Groups without what each is called, where that is another name for each."""
    called = [found.strip(" \t\n:=|").lower() for found in _CALLED.findall(text)]
    if len(called) < 2 or len(set(called)) < len(called):
        return text
    return re.sub(r"[\s,;/]*/[\s,;/]*", "/", _CALLED.sub("/", text)).strip("{[/ ")


def _hued(text: str) -> str:
    """Groups, where each vertex has that of its own behind it."""
    named = _HUED.findall(text := text.strip("{} "))
    if len(named) < 2 or _HUED.sub("", text) or len({vertex.upper() for vertex, _ in named}) < len(named):
        return text
    groups: dict[str, list[str]] = {}
    for vertex, hue in named:
        groups.setdefault(hue.lower(), []).append(vertex)
    return "/".join(map(words, groups.values()))


def _unwired(text: str) -> str:
    """Numbers without the names of all wires before them; "" where there are more or fewer than wires."""
    wires = [found[1].upper() for found in _WIRE.finditer(text)]
    if not wires or wires != [chr(65 + i) for i in range(len(wires))]:
        return text
    text = _WIRE.sub(" ", text)
    return text if len(re.findall(r"\d+", text)) == len(wires) else ""


def _untabled(text: str) -> str:
    """Numbers out of a table in which each stands under or beside its own from 1 on; "" of one with two numbers to each row otherwise."""
    rows = [[cell.strip() for cell in row.split("|")] for row in text.split("\n") if row.strip()]
    widths = {len(row) for row in rows}
    if len(rows) < 2 or len(widths) != 1 or 1 in widths or (len(rows) != 2 and widths != {2}):
        return text
    heads, values = zip(*rows, strict=True) if widths == {2} else rows
    if not re.search(r"\d", heads[0] + values[0]):  # what both are
        heads, values = heads[1:], values[1:]
    heads = [re.sub(r"(?i)^(?:colou?r )?", "", head) for head in heads]
    if heads == [str(i) for i in range(1, len(heads) + 1)]:
        return ", ".join(values)
    return "" if all(head.isdecimal() for head in heads) else text


@dataclass(frozen=True)
class Form:
    """What an answer is made of.

    Args:
        parts: kinds, parted by `;` in the text.
        none: `none` is an answer as well.
        vertex: the pattern of a vertex name.
        size: vertices of each group, if that is settled.
        heads: the patterns of what each of two parts may have before it.
        counts: the patterns of what may stand before or behind each of two numbers.
        wires: numbers may have the names of wires before them.

    Example:
        >>> Form(("number", "edges")).read("7; C-A, (B,D)").key, Form(("order",)).read("BACD").key
        ('7 ; A-C B-D', 'B A C D')
    """

    parts: tuple[str, ...]
    none: bool = False
    vertex: str = VERTEX
    size: int = 0
    heads: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    wires: bool = False

    def read(self, text: str) -> Move | None:
        """The answer that `text` spells, in its normal form, or None. Never raises."""
        return _read(self, text) if len(text) <= LONGEST else None

    def write(self, values: tuple[Any, ...] | None) -> Move:
        """The answer with these values; None is `none`."""
        if values is None:
            return Move(NONE)
        key = " ; ".join(KINDS[kind].write(value) for kind, value in zip(self.parts, values, strict=True))
        move = self.read(key)
        return move if move is not None else Move(key, values)


@functools.lru_cache(maxsize=8192)
def _read(form: Form, text: str) -> Move | None:
    said = text
    text = _plain(form, _AND.sub(", ", text.translate(_QUOTES).strip()))
    if _NO.fullmatch(text):
        return Move(NONE) if form.none else None
    parts = _parted(form, text)
    if len(parts) != len(form.parts):
        return None
    if form.vertex == VERTEX and text == text.upper():
        parts = [
            _RUN.sub("-" if kind == "path" and _JOINED.fullmatch(part.strip()) else RUNS.get(kind, ""), part)
            for kind, part in zip(form.parts, parts, strict=True)
        ]
    parts = [part.lower() if form.vertex == CELL else part.upper() for part in parts]
    values = tuple(KINDS[kind].read(part, form.vertex) for kind, part in zip(form.parts, parts, strict=True))
    if form.parts == ("arcs",) and values[0] and twice(said, values[0]):
        return None
    if None in values or (form.size and any(len(group) != form.size for group in values[0])):
        return None
    key = " ; ".join(KINDS[kind].write(value) for kind, value in zip(form.parts, values, strict=True))
    return Move(key, values)


def _plain(form: Form, text: str) -> str:
    """A text without titles, bullets, and numbers from 1 on before what is asked for."""
    text = _POINT.sub("", _BARS.sub("", text)).strip()
    if form.parts == ("groups",):
        text = _uncalled(_MANY.sub("", text))
        text = text if form.size else _hued(text)
    if form.parts == ("path",):
        text = re.sub(r"(?i)(?<=[a-r])\s*=\s*\d{1,5}\.?$", "", text)  # how long it is
    if form.counts and (said := re.fullmatch(r"(\d+)\s*/\s*(\d+)", text)) and int(said[1]) < int(said[2]):
        return ""  # a part of the whole
    if form.heads and (said := re.fullmatch(_HEADS.format(*form.heads), text)):
        return f"{said[1]};{said[2]}"
    if (
        form.counts
        and (said := re.match(_COUNTS.format(*form.counts), text))
        and re.search("[a-z]", said[0], re.IGNORECASE)
    ):
        text = f"{said[1]} {said[2]}{text[said.end() :]}"
    if len(form.parts) == 1 and {"path", "set", "edges", "arcs", "flow"}.issuperset(form.parts):
        text = _LEAD.sub("", _WITH.sub("", text))
    if form.parts in (("set",), ("edges",), ("arcs",)):
        if form.vertex == CELL:
            text = re.sub(r"\s*\(\d{1,5}(?: cells?)?\)\.?$", "", text)
        elif (closed := _CLOSING.fullmatch(text)) and re.search(r"[a-r].*[a-r]", text, re.IGNORECASE):
            text = closed[1]
    title = _TITLE.match(text) if form.parts == ("numbers",) else None  # another one would say what a number is of
    text = (text[title.end() :] if title else text if form.parts == ("numbers",) else _TITLE.sub("", text)).strip()
    if form.parts == ("numbers",):
        text = _untabled(text)
        return _unwired(text) if form.wires else text
    counted = _COUNTED.findall(text) if _NAMED.issuperset(form.parts) else ()
    if len(counted) > 1 and list(counted) == [str(i) for i in range(1, len(counted) + 1)]:
        text = _COUNTED.sub("", text)
    return text


def _parted(form: Form, text: str) -> list[str]:
    """The parts of an answer, without full stops behind their items."""
    text = text.rstrip(".")
    if form.parts == ("order",) and _RISING.fullmatch(text):
        text = text.replace("<", ",")
    if form.vertex == CELL:
        text = re.sub(r"[(\[]\s*([a-i])\s*,\s*([1-9])\s*[)\]]", r"\1\2", text, flags=re.IGNORECASE)
    if form.parts in (("groups",), ("rows",)):
        text = _STOP.sub("/", (text.replace("|", " ") if "\n" in text else text).replace(";", "/"))
        return [_grouped(text) if form.parts == ("groups",) else text]
    if len(form.parts) == 1:
        text = text.replace("/", ",") if _SLASHED.fullmatch(text) else text
        parts = [text.replace(";", ",").replace("|", " ")]
    else:
        parts = next((p for sign in _APART if len(p := text.split(sign)) == len(form.parts)), [])
        if not parts and form.parts[0] == "number" and (said := _LISTED.fullmatch(text)):
            parts = [said[1], said[2].replace(";", ",")]
    if not parts and (said := (_ENDED if form.parts == ("path", "number") else _BEGUN).fullmatch(text)):
        parts = [said[1].replace(";", ","), said[2]]
    # behind a number it may be a label
    return [p if kind == "numbers" else _STOP.sub(",", p) for kind, p in zip(form.parts, parts, strict=bool(parts))]
