"""The kinds of parts of an answer about a graph: walks, sets, edges, groups, numbers and rows, as typed text and as values."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

VERTEX = "[A-R]"
_DASH = r"\s*(?:--?>?|>|→|–|—)\s*"
GAP = r"[\s,]+"
_ROW = r"\s*[/|\n]\s*"
_TO = re.compile(r"\b([A-R])\s+TO\s+([A-R])\b")  # an arrow in words
_LINE = re.compile(r"^\s*(?:row\s+)?([a-r]|\d{1,2}(?=\s*[:.]))(?:\s*[:.=|]\s*|\s+)(?=[\[(]?\s*[01])", re.IGNORECASE)
_COUNT = re.compile(  # a number with what it counts, as in `4 islands`
    r"\s*(\d{1,6})(?:\s+(?:[a-z]{3,}(?<!les)s|island|tree|edge|unit|colou?r))?[\s,]*", re.ASCII | re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Kind:
    """One part of an answer: `read` gives its value or None, `write` the normal text of a value."""

    read: Callable[[str, str], Any]
    write: Callable[[Any], str]


def _split(text: str, between: str) -> list[str]:
    return [part for part in re.split(between, text.strip(" \t\n,()[]{}")) if part]


def _tokens(text: str, pattern: str, between: str = GAP) -> tuple[str, ...] | None:
    parts = _split(text, between)
    return tuple(parts) if parts and all(re.fullmatch(pattern, p, re.ASCII) for p in parts) else None


def _path(text: str, vertex: str) -> tuple[str, ...] | None:
    steps = re.sub(rf"[(\[]\s*({vertex})\s*,\s*({vertex})\s*[)\]]", r"\1-\2", re.sub(r"\s*\(\d{1,4}\)", "", text))
    edges = _tokens(re.sub(_DASH, "-", steps), f"{vertex}-{vertex}")
    if edges and len(edges) > 1:  # edge by edge
        joined = all(a[-1] == b[0] for a, b in itertools.pairwise(edges))
        return (edges[0][0], *(edge[-1] for edge in edges)) if joined else None
    text = re.sub(r"\s*\(\d{1,4}\)\s*$", "", text)  # the length
    found = _tokens(text, vertex, rf"{_DASH}|{GAP}")
    return found if found and len(found) > 1 else None  # the "a" of a sentence is no walk


def _set(text: str, vertex: str) -> tuple[str, ...] | None:
    found = _tokens(text, vertex, rf"{_DASH}|{GAP}" if vertex == VERTEX else GAP)
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


def twice(text: str, arcs: Iterable[tuple[str, str]]) -> bool:
    """Whether a text has more than one list of arcs, and two arcs that lead to the same vertex."""
    ends = [end for _, end in arcs]
    lists = [part for part in re.split(r"[;\n]|\band\b", text) if len(re.findall(rf"{_DASH}|\bto\b", part)) > 1]
    return len(set(ends)) < len(ends) and len(lists) > 1


def _edges(text: str, vertex: str) -> tuple[tuple[str, str], ...] | None:
    text = re.sub(rf"^\s*({vertex})\s+({vertex})\s*$", r"\1-\2", text)  # a single one
    found = _arcs(re.sub(r"\s*(?:<-+>|↔)\s*", "-", text), vertex)
    return tuple(sorted({(min(e), max(e)) for e in found})) if found else None


def _groups(text: str, vertex: str) -> tuple[tuple[str, ...], ...] | None:
    text = re.sub(r"[})\]]\s*,?\s*[{(\[]", "/", text)
    parts = [_set(part, vertex) for part in re.split(_ROW, text.strip().rstrip("/ "))]
    return None if None in parts else tuple(sorted(part for part in parts if part))


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


def _number(text: str, vertex: str) -> int | None:
    found = _COUNT.fullmatch(text)
    return int(found[1]) if found else None


def _bits(text: str, vertex: str) -> tuple[Any, ...] | None:
    if row := re.fullmatch(rf"({vertex}(?:[\s,]*{vertex})*)\s*[:=]\s*([01\s,]+)", text):  # all names, then all bits
        names, bits = re.sub(GAP, "", row[1]), re.sub(GAP, "", row[2])
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


def words(values: Iterable[Any]) -> str:
    """The values with a blank between each two."""
    return " ".join(map(str, values))


KINDS: dict[str, Kind] = {
    "path": Kind(_path, words),
    "order": Kind(_path, words),
    "set": Kind(_chosen, lambda v: words(sorted(v))),
    "edges": Kind(_edges, lambda v: " ".join(sorted(f"{min(e)}-{max(e)}" for e in v))),
    "arcs": Kind(_arcs, lambda v: " ".join(sorted(f"{a}>{b}" for a, b in v))),
    "groups": Kind(_groups, lambda v: " / ".join(sorted(" ".join(sorted(group)) for group in v))),
    "map": Kind(_map, lambda v: " ".join(f"{a}={b}" for a, b in sorted(v))),
    "flow": Kind(_flow, lambda v: " ".join(f"{a}>{b} {n}" for a, b, n in sorted(v))),
    "number": Kind(_number, str),
    "numbers": Kind(_numbers, words),
    "bits": Kind(_bits, lambda v: words(f"{bit[0]}={bit[1]}" if isinstance(bit, tuple) else bit for bit in v)),
    "rows": Kind(_rows, lambda v: " / ".join(words(row) for row in v)),
}
