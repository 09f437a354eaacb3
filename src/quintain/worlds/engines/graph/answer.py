"""Answers about graphs as typed text: walks, sets of vertices and edges, groups, numbers, and several of these parted by `;`."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from quintain.worlds.kernel import Move

NONE = "none"
LONGEST = 900  # characters of an answer
VERTEX = "[A-R]"
CELL = "[a-i][1-9]"
_DASH = r"\s*(?:--?>?|>|→|–|—)\s*"
_GAP = r"[\s,]+"
_ROW = r"\s*[/|\n]\s*"
_AND = re.compile(r"(?<=[\w)\]}])[\s,]+and\s+(?=[\w(\[{])", re.ASCII | re.IGNORECASE)
_TITLE = re.compile(
    r"\b(?:(?:shortest|longest|lightest|largest|max(?:imum)?|min(?:imum)?|hamiltonian|euler(?:ian)?|topological"
    r"|independent|spanning|colou?r|closed|chosen|removed|cut|tree|mst|matching|augmenting)\s+)*"
    r"(?:answer|path|walk|route|tour|order(?:ing)?|set|vertices|edges?|arcs?|groups?|flow|weight|length|numbers?|total|cut|sums?|circuit|cycle"
    r"|outputs?|clique|tree|mst|matching|mapping|arrows|cells|triples|sort|partition|classes|matrix|pairs"
    r"|(?:pre|in|post|level)[- ]?order(?:\s+traversal)?)"
    r"(?:\s+(?:to\s+(?:take\s+out|remove|cut)|of\s+the\s+tree|chosen|in\s+order|from\s+top\s+to\s+bottom|from\s+[a-r]\s+to\s+[a-r]))?\s*[:=]\s*"
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
    r"|^an?\s+(?=(?-i:[a-z]+\s+)*(?:clique|set|matching|cut|tree|path|walk|tour|choice|flow)\s*[:=])",
    re.IGNORECASE,
)
_CLOSING = re.compile(r"(\D*[a-r)\]}])\s*(?:\s|[(=])\s*\d{1,5}\s*\)?\.?", re.IGNORECASE)  # a size or a sum behind names
_TO = re.compile(r"\b([A-R])\s+TO\s+([A-R])\b")  # an arrow in words
_NO = re.compile(  # that there is none, in words
    r"(?:there is )?(?:none|no(?: such)?(?: hamiltonian| euler(?:ian)?| closed)?(?: (?:path|walk|tour|circuit|cycle))?)(?: exists)?\.?"
    r"|(?:it is )?impossible\.?",
    re.IGNORECASE,
)
_WITH = re.compile(  # what an answer that is a choice adds up to, before or behind it
    r"^(?:(?:total|sum)(?:\s+(?:weight|length))?|weight|length)\s+\d{1,5}\s*:\s*"
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
_LINE = re.compile(r"^\s*(?:row\s+)?([a-r]|\d{1,2}(?=\s*[:.]))(?:\s*[:.=|]\s*|\s+)(?=[\[(]?\s*[01])", re.IGNORECASE)
_BARS = re.compile(r"^[ \t]*\|[ \t]*|[ \t]*\|[ \t]*$", re.MULTILINE)  # at the ends of a table's rows
_POINT = re.compile(r"^\s*[-*•]\s+", re.MULTILINE)  # of a list in lines
_COUNTED = re.compile(r"(?<!\w)(\d{1,2})\s*[:.)]\s+(?=[a-zA-Z({])", re.ASCII)  # what stands before names, from 1 on
_NAMED = {"path", "order", "set", "edges", "arcs", "groups", "flow"}  # parts that begin with a name
_WIRE = re.compile(r"(?:wire\s+)?\b([a-r])(?:\s*(?:[:=|]|->|→)\s*|\s+)(?=\d)", re.ASCII | re.IGNORECASE)
_COUNT = re.compile(  # a number with what it counts, as in `4 islands`
    r"\s*(\d{1,6})(?:\s+(?:[a-z]{3,}(?<!les)s|island|tree|edge|unit|colou?r))?[\s,]*", re.ASCII | re.IGNORECASE
)
_STOP = re.compile(r"\.(?=\s|$)")  # behind an item, as captions have it
_BEGUN = re.compile(
    r"(\d[\d\s,;]*?)[\s,;]+([a-r(\[{].*)", re.ASCII | re.DOTALL | re.IGNORECASE
)  # numbers and what follows them
_ENDED = re.compile(r"([^\d]*[A-R][)\]]?)[\s,(]+(\d[^,)]*)\)?", re.IGNORECASE)  # a walk with a number behind it
_APART = ";\n:/|"  # what parts the parts of an answer, the first of these that does
_ENTRY = r"(?:\d+|[a-r](?:[^\w\s,;/<]{0,3}(?:[a-r]|\d\d?))?)"
_SLASHED = re.compile(rf"{_ENTRY}(?:\s*/\s*{_ENTRY})+", re.ASCII | re.IGNORECASE)  # single entries
_RISING = re.compile(r"[a-r](?:\s*<\s*[a-r])+", re.ASCII | re.IGNORECASE)
_QUOTES = str.maketrans("", "", "\"'`*")
_RUN = re.compile(rf"(?<={VERTEX})(?={VERTEX})")
_JOINED = re.compile(rf"(?:{VERTEX}({VERTEX})[\s,]+(?=\1))+{VERTEX}{{2}}")  # a walk edge by edge, as in BC CD
# what is missing between names written in one, as in BACD; capitals alone, as many English words could be spelt with these letters
RUNS = {"path": " ", "order": " ", "set": " ", "groups": " ", "edges": "-", "arcs": "-", "flow": ">"}


@dataclass(frozen=True, slots=True)
class Kind:
    """One part of an answer: `read` gives its value or None, `write` the normal text of a value."""

    read: Callable[[str, str], Any]
    write: Callable[[Any], str]


def _split(text: str, between: str) -> list[str]:
    return [part for part in re.split(between, text.strip(" \t\n,()[]{}")) if part]


def _tokens(text: str, pattern: str, between: str = _GAP) -> tuple[str, ...] | None:
    parts = _split(text, between)
    return tuple(parts) if parts and all(re.fullmatch(pattern, p, re.ASCII) for p in parts) else None


def _path(text: str, vertex: str) -> tuple[str, ...] | None:
    steps = re.sub(rf"[(\[]\s*({vertex})\s*,\s*({vertex})\s*[)\]]", r"\1-\2", re.sub(r"\s*\(\d{1,4}\)", "", text))
    edges = _tokens(re.sub(_DASH, "-", steps), f"{vertex}-{vertex}")
    if edges and len(edges) > 1:  # edge by edge
        joined = all(a[-1] == b[0] for a, b in itertools.pairwise(edges))
        return (edges[0][0], *(edge[-1] for edge in edges)) if joined else None
    text = re.sub(r"\s*\(\d{1,4}\)\s*$", "", text)  # the length
    found = _tokens(text, vertex, rf"{_DASH}|{_GAP}")
    return found if found and len(found) > 1 else None  # the "a" of a sentence is no walk


def _set(text: str, vertex: str) -> tuple[str, ...] | None:
    found = _tokens(text, vertex, rf"{_DASH}|{_GAP}" if vertex == VERTEX else _GAP)
    if not found:
        return None
    once = found[1:] if len(found) > 1 and found[0] == found[-1] else found  # a round comes back to where it began
    return tuple(sorted(once)) if len(set(once)) == len(once) else None  # what is named twice is in two answers


def _chosen(text: str, vertex: str) -> tuple[str, ...] | None:
    parts = _tokens(re.sub(r"[\s():=]+", " ", text), rf"{vertex}|\d{{1,4}}") or ()
    if parts and len(parts) % 2 == 0 and all(part.isdecimal() for part in parts[1::2]):
        text = " ".join(parts[::2])  # each vertex with its weight, which is not asked for
    return _set(text, vertex)


def _arcs(text: str, vertex: str) -> tuple[tuple[str, str], ...] | None:
    text = re.sub(rf"[(\[{{]\s*({vertex})[\s,]+({vertex})\s*[)\]}}]", r"\1-\2", _TO.sub(r"\1-\2", text))
    parts = _tokens(re.sub(_DASH, "-", re.sub(r"\s*[=:]\s*", " ", text)), rf"{vertex}-{vertex}|\d{{1,4}}") or ()
    if len(parts) % 2 == 0 and all(part.isdecimal() for part in parts[1::2]):
        parts = parts[::2]  # each edge with its weight, which is not asked for
    if not parts or any(part.isdecimal() for part in parts) or len(set(parts)) < len(parts):
        return None
    return tuple(sorted({(a, b) for a, b in (part.split("-") for part in parts)}))


def _twice(text: str, arcs: Iterable[tuple[str, str]]) -> bool:
    """Whether a text has more than one list of arcs, and two arcs that lead to the same vertex."""
    ends = [end for _, end in arcs]
    lists = [part for part in re.split(r"[;\n]|\band\b", text) if len(re.findall(rf"{_DASH}|\bto\b", part)) > 1]
    return len(set(ends)) < len(ends) and len(lists) > 1


def _edges(text: str, vertex: str) -> tuple[tuple[str, str], ...] | None:
    text = re.sub(rf"^\s*({vertex})\s+({vertex})\s*$", r"\1-\2", text)  # a single one
    found = _arcs(re.sub(r"\s*(?:<-+>|↔)\s*", "-", text), vertex)
    return tuple(sorted({(min(e), max(e)) for e in found})) if found else None


def _grouped(text: str) -> str:
    """Groups with `/` between them, also where blanks part groups written in one, or commas groups that have blanks inside."""
    if re.search(r"[/|\n(\[{]", text):
        return text
    if re.search(rf"{VERTEX}{VERTEX}", text):
        return re.sub(_GAP, "/", text)
    if re.search(rf"{VERTEX},{VERTEX}", text, re.IGNORECASE):
        return re.sub(r"\s+", "/", text)
    return text.replace(",", "/") if re.search(rf"{VERTEX}[\s-]+{VERTEX}", text, re.IGNORECASE) else text


def _groups(text: str, vertex: str) -> tuple[tuple[str, ...], ...] | None:
    text = re.sub(r"[})\]]\s*,?\s*[{(\[]", "/", text)
    parts = [_set(part, vertex) for part in re.split(_ROW, text.strip().rstrip("/ "))]
    return None if None in parts else tuple(sorted(part for part in parts if part))


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
    return "/".join(map(_words, groups.values()))


def _map(text: str, vertex: str) -> tuple[tuple[str, str], ...] | None:
    one, two = (r"\d\d?", vertex) if text.lstrip("([ ")[:1].isdecimal() else (vertex, r"\d\d?")
    text = re.sub(rf"[(\[]\s*({one})\s*(?:,|->|→)\s*({two})\s*[)\]]", r"\1=\2", text)
    text = re.sub(rf"({one})(?:\s*(?:=|:|<?->|→|↔|↦)\s*|\s+-\s+|-|\s*)({two})", r"\1=\2", text)
    parts = _tokens(text, rf"{vertex}=\d\d?|\d\d?={vertex}")
    if parts is None:
        return None
    pairs = (part.split("=") for part in parts)
    return tuple(sorted({(b, a) if a.isdecimal() else (a, b) for a, b in pairs}))


def _flow(text: str, vertex: str) -> tuple[tuple[str, str, int], ...] | None:
    text = re.sub(r"[(\[]\s*(\d+)\s*[)\]]", r" \1 ", _TO.sub(r"\1>\2", text))
    text = re.sub(r"\s*[=:]\s*", " ", re.sub(_DASH, ">", text))
    parts = _tokens(text, rf"{vertex}>{vertex}|\d{{1,4}}")
    if parts is None or len(parts) % 2 or not all(">" in p for p in parts[::2]) or any(">" in p for p in parts[1::2]):
        return None
    found = {(p[0], p[-1]): int(n) for p, n in zip(parts[::2], parts[1::2], strict=True)}
    return tuple(sorted((a, b, n) for (a, b), n in found.items() if n)) if len(found) * 2 == len(parts) else None


def _numbers(text: str, vertex: str) -> tuple[int, ...] | None:
    if re.search(r"\d[,;]?\s+\d", text):  # blanks part the numbers, so a comma without one parts thousands
        text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    labelled = r"(?:\bCOLOU?R\s+|\bC)?(\d+)\s*(?:(?:[:=]|->|→)\s*|[.)]\s+)(?=\d)"
    labels = re.findall(labelled, text)
    counted = len(labels) > 1 and labels == [str(i) for i in range(1, len(labels) + 1)]
    found = _tokens(re.sub(labelled, " ", text) if counted else text, r"\d{1,6}")
    if counted and found and len(found) != len(labels):
        return None
    return tuple(map(int, found)) if found and len(found) > 1 else None


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


def _number(text: str, vertex: str) -> int | None:
    found = _COUNT.fullmatch(text)
    return int(found[1]) if found else None


def _bits(text: str, vertex: str) -> tuple[Any, ...] | None:
    if row := re.fullmatch(rf"({vertex}(?:[\s,]*{vertex})*)\s*[:=]\s*([01\s,]+)", text):  # all names, then all bits
        names, bits = re.sub(_GAP, "", row[1]), re.sub(_GAP, "", row[2])
        text = " ".join(map("".join, zip(names, bits, strict=True))) if len(names) == len(bits) else ""
    text = re.sub(r"\b(?:IS|OUTPUTS?|GATES?)\b|\((?:AND|OR|XOR|NAND|NOR|NOT)\)", " ", text)
    named = re.findall(rf"({vertex})([01])", bare := re.sub(r"[\s,.:=>→()-]+", "", text))
    if named and len(dict(named)) * 2 == len(bare):
        return tuple(sorted((name, int(bit)) for name, bit in named))
    text = re.sub(r"[\s,()\[\]{}]+", "", text)
    return tuple(map(int, text)) if len(text) > 1 and not set(text) - {"0", "1"} else None


def _rows(text: str, vertex: str) -> tuple[tuple[int, ...], ...] | None:
    text = re.sub(r"[\])]\s*,?\s*(?=[\[(A-R])", "/", text)
    lines = re.split(_ROW, text.strip(" \t\n{}/"))
    heads = [head[1] for line in lines if (head := _LINE.match(line))]
    if heads and heads in ([chr(65 + i) for i in range(len(heads))], [str(i) for i in range(1, len(heads) + 1)]):
        if lines[0].split() == heads:  # the columns
            lines = lines[1:]
        lines = [_LINE.sub("", line) for line in lines] if len(lines) == len(heads) else []
    parts = [_bits(part, vertex) for part in lines]
    return None if None in parts or len(parts) < 2 else tuple(part for part in parts if part)


def _words(values: Iterable[Any]) -> str:
    return " ".join(map(str, values))


KINDS: dict[str, Kind] = {
    "path": Kind(_path, _words),
    "order": Kind(_path, _words),
    "set": Kind(_chosen, lambda v: _words(sorted(v))),
    "edges": Kind(_edges, lambda v: " ".join(sorted(f"{min(e)}-{max(e)}" for e in v))),
    "arcs": Kind(_arcs, lambda v: " ".join(sorted(f"{a}>{b}" for a, b in v))),
    "groups": Kind(_groups, lambda v: " / ".join(sorted(" ".join(sorted(group)) for group in v))),
    "map": Kind(_map, lambda v: " ".join(f"{a}={b}" for a, b in sorted(v))),
    "flow": Kind(_flow, lambda v: " ".join(f"{a}>{b} {n}" for a, b, n in sorted(v))),
    "number": Kind(_number, str),
    "numbers": Kind(_numbers, _words),
    "bits": Kind(_bits, lambda v: _words(f"{bit[0]}={bit[1]}" if isinstance(bit, tuple) else bit for bit in v)),
    "rows": Kind(_rows, lambda v: " / ".join(_words(row) for row in v)),
}


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
    if form.parts == ("arcs",) and values[0] and _twice(said, values[0]):
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
            text = re.sub(r"\s*\(\d{1,5}\)\.?$", "", text)
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
    if not parts and (said := (_ENDED if form.parts == ("path", "number") else _BEGUN).fullmatch(text)):
        parts = [said[1].replace(";", ","), said[2]]
    # behind a number it may be a label
    return [p if kind == "numbers" else _STOP.sub(",", p) for kind, p in zip(form.parts, parts, strict=bool(parts))]
