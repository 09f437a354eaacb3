"""How the text of an action may be spelt: what may stand around it, which words it may begin with, and what alone is no action.

The world alone says what a text means: each spelling is offered to it in turn.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from quintain.envs.speech import SMALL
from quintain.worlds.cells import NESTED
from quintain.worlds.kernel import Move, View

LONG = 400  # characters of an action that may have words around it
_END = re.compile(r"(?<=[^\s.])[.!]$")
_OPEN, _CLOSED = "([{\"'`*“‘", ")]}\"'`*”’"
_GAPS = re.compile(r"[ \t]*,[ \t]*|[ \t]+")
_MARKS = re.compile(r"[()\[\]{}\"'`*“”‘’]+|[-=]*(?:>|→|⇒)|(?<=[a-z])_(?=[a-z])", re.IGNORECASE)
_ROWS = re.compile(r"\n|" + NESTED)  # of a table, which has another meaning without them
_SINGLE = re.compile(r"\[?(?:\[[^\W\d_]+\] ?){2,}\]?")  # words in a bracket each are no rows
_WAYS: dict[str, str] = dict(zip("↑↓←→⬆⬇⬅➡", ("up", "down", "left", "right") * 2, strict=True))
_POINT = re.compile(r"^(?:[-*•]|\d{1,2}[.)])\s+(?=[^\d\s])")  # of a list; before a digit it may be a sign
_DASHES = str.maketrans("–—−", "---")
_UNSEEN = dict.fromkeys(
    (0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFE0F, 0xFEFF)
)  # signs that show nothing, as of an emoji's form
_SEEN_AS = (
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
    | {0xA0: " ", 0x202F: " ", 0x3000: " ", 0x2011: "-"}
    | dict.fromkeys((0x27F6, 0x279C, 0x21A6, 0x279D, 0x2794), "→")
    | _UNSEEN
)
_VERB = re.compile(
    r"(?:so |now |please |i |i ll |i d |let s |we |will |would |want to |choose to )*"  # quotes are gone
    r"(try|go|move|play|push|slide|shift|step|walk|place|put|choose|select|pick|take|give|bid)[ :]+(?!(?<=(?:pick|give) )up\b)",
    re.IGNORECASE,
)
_SPEAKER = re.compile(  # before a verb; what is called I may stand before other words
    r"^(?:so |now |please )*(?:i|we)(?: ll| d| will| would)? (?=[a-z]{3})(?!(?:from|into|onto|then|and|via|with|first)\b)",
    re.IGNORECASE,
)
_HANDLES = {"take", "pick", "put", "place"}  # which some worlds have as actions
_STEPS = {"up", "down", "left", "right", "forward"}
_SMALL = re.compile(r"\b(?:to|onto|into|on|at|the)\W+[a-z]\W*$", re.IGNORECASE)  # before a letter
_FAR = "(?:cell|step|square|tile|space|field)"
_WAY = "(up|down|left|right|north|south|east|west|forward|ahead|wait|stay)"
_ONCE = re.compile(  # a step, and that it is one
    rf"(?:1|one|a|a single) {_FAR} (?:to the )?{_WAY}"
    rf"|{_WAY} (?:by |for )?(?:(?:1|one)(?: (?:{_FAR}|turn|tick|move))?|(?:a|a single) (?:{_FAR}|turn|tick|move))",
    re.IGNORECASE,
)
_ASIDE = {"left": "west", "right": "east"}  # a step to the left, where left alone may be a turn
_FILL = re.compile(r"\b(?:from|to|into|onto|the|and|is|at|cell|square|pit|col(?:umn)?:?)\b:?", re.IGNORECASE)
_LABEL = re.compile(
    r"[\s*_#>]*(?:(?:so|thus|therefore),?\s+)?(?:(?:the|my)\s+)?(?:(?:final|next|best|chosen)\s+)?(?:answer|action|move|solution)[*_]*"
    r"(?:\s+is\s*:?|\s*[:=]|[ \t]*\n)[\s*_]*",
    re.IGNORECASE,
)
_BOXED = re.compile(
    r"[\s$*]*\\(?:boxed|text|mathrm)\{(?:\\(?:text|textbf|mathrm|mathbf)\{)?(.*?)\}{1,2}[\s$.*]*", re.DOTALL
)
_BRACES = re.compile(r"\\\{([^{}\\]*)\\\}")
_GIVEN = re.compile(  # a value, with a name that says nothing of it
    r"\s*(?i:[a-z]|x\w|ans(?:wer)?|sol(?:ution)?|result|res|grid|board|matrix|arr|rows)\s*=\s*(?:np\.array\s*\(\s*)?([\[{(][^=]*[\]})])\s*\)?\.?\s*"
)
_BULLET = re.compile(r"^[ \t]*[-*•][ \t]+(?=\S)", re.MULTILINE)
_LATEX = re.compile(r"(\\(?:long)?rightarrow\b|\\to\b)|(\^\{\\circ\}|\^\\circ\b|\\degree\b)|(\\times\b)|(\\cdot\b)")
_SPELT_OUT = ("->", "°", "×", "·")
_WRAP = re.compile(  # a tag, a fence that may name its language, the signs of mathematics
    r"\s*(?:<(b|strong|i|em|code|answer)>([^<]*)</\1>|```[\w+-]*[ \t]*\r?\n((?:(?!```).)*)```"
    r"|\{\s*\"(?:action|answer|move)\"\s*:\s*\"([^\"{}\\]*)\"\s*\}"
    r"|\\\[((?:(?!\\\[).)*)\\\]|\\\(((?:(?!\\\().)*)\\\)|\${1,2}([^$]*)\${1,2})[.!]?\s*",
    re.DOTALL | re.IGNORECASE,
)
_TABLE = re.compile(
    r"\s*+(?P<head>[^\n|]*+\|[^\n]*+)\n(?P<rule>[ \t|:-]++)\n"
)  # its first row, and the rule below that
_ONES = re.compile(r"\d+|\b[a-z]\b", re.IGNORECASE)  # numbers and single letters
_CELL = re.compile(r"\b([a-z])[ -](\d{1,2})\b", re.IGNORECASE)
_TOLD = re.compile(
    r"\b(?:col(?:umn)?[ :]+([a-z]) (?:and )?row[ :]+(\d{1,2})|row[ :]+(\d{1,2}) (?:and )?col(?:umn)?[ :]+([a-z]))\b",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"^(.*?)\b(?:(to|into|onto)\s+(\S.*?)|(\S+))\s+from\s+(\S.*)$", re.IGNORECASE
)  # where to stands before where from
_OWNED = re.compile(
    r"the|his|her|their|this|that|its|\w+['’]s", re.IGNORECASE
)  # before what is spoken of, and not done
_TWICE = re.compile(r"([^()]+)\(([^()]+)\)[.!]?")  # an action, and in brackets perhaps the same in other words
_DENIED = re.compile(
    r"[^\w<{]*(?:not\b|e\.g\.|for (?:example|instance)\b|(?:wrong|excluded|rejected|illegal|impossible|blocked|candidates|conflicts)\s*:)",
    re.IGNORECASE,
)


def agreed(words: Iterable[str], read: Callable[[str], Move | None]) -> Move | None:
    """The one action that single words name; None where two differ, or a word and the two that it begins: `raise`, in `raise 8`.

    What such a word begins with `to` is the whole of it, as `raise to 8`, where no further number is told.
    What counts where nothing else is said (see `Move.named`) is none among other words.
    """
    said = list(words)
    moves = [move for word in said if (move := read(word)) and not (len(said) > 1 and _abbreviates(word, move))]
    named = {move for move in moves if not move.named}
    named |= {
        move for two in itertools.pairwise(said) if len(named) == 1 and (move := read(" ".join(two))) and not move.named
    }
    if len(named) != 1:
        return None
    told = [
        i
        for i, word in enumerate(said[:-2])
        if said[i + 1].lower() == "to" and said[i + 2].isdigit() and read(word) in named
    ]
    told = [i for i in told if not i or not _OWNED.fullmatch(said[i - 1])]
    full = [(i, move) for i in told if (move := read(" ".join(said[i : i + 3])))]
    if not full:
        return named.pop()
    (at, move), *more = full
    return None if more or any(word.isdigit() for word in said[at + 3 :]) else move


def _abbreviates(word: str, move: Move) -> bool:
    return len(word) == 1 and word.isalpha() and move.key.lower() != word.lower()


def fitting(move: Move, view: View[Any]) -> tuple[str, ...]:
    """Two of the actions that one which is not legal may be a part of, as `raise` is of `raise 8`; one alone for a part of several words.

    A value with a method `fits` says itself what it may mean in a state.
    """
    own, legal, words = getattr(move.value, "fits", None), view.legal(), move.key.count(" ")
    if not own and not move.key.isalpha() and any(m.key.count(" ") == words for m in legal):
        return ()  # with a place in it, one of so many words is whole
    found = [m.key for m in legal if (own(view.state, m.key) if own else f" {move.key} " in f" {m.key} ")]
    return tuple(found[:2]) if len(found) > 1 or words else ()


def spelt(text: str, read: Callable[[str], Move | None]) -> Move | None:
    """The action that the first spelling names which is one.

    None where that leaves out what the world has as an action, as `take u` does, or takes the name of a thing for the letter of a step,
    as in `go to u`; and where a word that is one alone stands among others, as in `I will think`. What is said twice, the second time
    in brackets, is read where it is the same.
    """
    for spelling in spellings(text):
        if (move := read(spelling)) is not None:
            if not isinstance(move, Move):
                return move  # whoever asks says what is wrong with that
            letter = _abbreviates(spelling, move) and _SMALL.search(text)
            verb = move.key in _STEPS and _VERB.match(_fold(_MARKS.sub(" ", text)))
            handles = verb and verb[1].lower() in _HANDLES and "step" not in text.lower() and read("take")
            among = (
                (move.named or spelling.lower() in SMALL)
                and spelling.isalpha()
                and " " in [*_undressed(usual(text.strip()))][-1]
            )
            return None if letter or handles or among else move
    twice = _TWICE.fullmatch(text) if len(text) <= LONG else None
    move = spelt(twice[1], read) if twice else None
    return move if twice and move is not None and move == spelt(twice[2], read) else None


def spellings(text: str) -> Iterator[str]:
    """An action's text as it is, then with less and less beside it.

    Signs that show nothing are left out, and wide ones and hard blanks are the usual ones. First without `answer:` before it and a box of
    LaTeX around it, without the rule and the heading of a table, without a final full stop, with one blank for every gap and comma, out
    of brackets and quotes; then, in texts of one line, without any brackets, quotes and arrows, without the verb it begins with, and
    without the small words between, where from before where to; last, of one step, without that it is one. Worlds read the first that
    they can: each of these means something to some of them. A cell that is told by its column and its row has its name. What begins with
    `not`, `wrong:` or `e.g.` has none: to some it would be a label of the list behind it.

    Example:
        >>> list(spellings("pour  a,b.")), list(spellings('"(a, b)"'))
        (['pour  a,b.', 'pour  a,b', 'pour a b'], ['"(a, b)"', '"(a b)"', 'a b'])
        >>> list(spellings("Move (b2) → c3"))[-2:], list(spellings("go to warm"))
        (['Move b2 c3', 'b2 c3'], ['go to warm', 'to warm', 'warm'])
        >>> list(spellings("move to c3 from b2"))[-1], list(spellings("column b, row 2"))[-1]
        ('b2 c3', 'b2')
    """
    seen = {""}
    for found in () if _DENIED.match(text) else _spelled(text):
        if found not in seen:
            seen.add(found)
            yield found


def _undressed(text: str) -> Iterator[str]:
    """A text out of its tag, fence or signs of mathematics, then without a label or a name before it, a box around it, its points."""
    if wrap := _WRAP.fullmatch(text):  # before any world reads letters of it, as in <b>
        text = wrap[wrap.lastindex or 0].strip()
    yield text
    if label := _LABEL.match(text):
        text = text[label.end() :]
        if label[0].count("**") % 2:
            text = text.rstrip().removesuffix("**")
        yield text
        if wrap := _WRAP.fullmatch(text):
            text = wrap[wrap.lastindex or 0].strip()
            yield text
    if boxed := _BOXED.fullmatch(text):
        yield boxed[1]
    if (given := _GIVEN.fullmatch(text)) and re.search(r"[,\s]", given[1]):
        yield given[1]
    if "\n" in text and len(_BULLET.findall(text)) == text.strip().count("\n") + 1:
        yield _BULLET.sub("", text)


def _spelled(text: str) -> Iterator[str]:
    inner = ""
    for inner in _undressed(usual(text)):
        if not _counts_columns(inner):
            yield inner
    text = inner
    if (table := _TABLE.match(text)) and "--" in table["rule"]:
        rest = text[table.end() :]
        if not _counts_columns(text):
            yield f"{table['head']}\n{rest}"  # as every table of Markdown has such a row, it may belong to the answer
        if not _titles(table["head"], rest):
            return
        text = rest
        yield text
    plain = text.strip()
    if plain[-1:] in (".", "!") and plain[-2:-1] not in ("", " ", ".", "\n", "\t"):  # others end in an empty cell
        plain = plain[:-1]
        yield plain
    folded = _fold(plain)
    yield folded
    if folded[:1] in _OPEN and folded[-1:] in _CLOSED:
        inner = folded.strip(_OPEN + _CLOSED)
        yield inner
        yield _END.sub("", inner)
    if _ROWS.search(plain):
        yield plain.replace("'", "").replace('"', "")
        if _SINGLE.fullmatch(folded):
            yield _fold(re.sub(r"[\[\]]", " ", folded))
        return
    if len(plain) > LONG:
        return
    if _WAYS.keys() >= {*plain} - {" "}:
        yield " ".join(_WAYS[sign] for sign in plain if sign != " ")
        return
    bare = _fold(_MARKS.sub(" ", _POINT.sub("", plain.translate(_DASHES))))
    bare = _END.sub("", bare)
    yield bare
    if "row" in bare.lower():
        bare = _TOLD.sub(lambda cell: f"{cell[1]}{cell[2]}" if cell[1] else f"{cell[4]}{cell[3]}", bare)
        yield bare
    yield _SPEAKER.sub("", bare)
    said = _VERB.sub("", bare, count=1) if _VERB.match(bare) else _SPEAKER.sub("", bare)
    yield said
    for ordered in _in_order(said):
        yield ordered.strip()  # to some worlds what lies between the two belongs to it
        filled = _fold(_FILL.sub(" ", ordered))
        yield filled
        yield _CELL.sub(r"\1\2", filled)
    yield from _once(said)


def _once(said: str) -> Iterator[str]:
    """The way of a text that says it and that it is one step."""
    if once := _ONCE.fullmatch(said):
        way = (once[1] or once[2]).lower()
        yield _ASIDE.get(way, way) if re.search(_FAR, said, re.IGNORECASE) else way


def usual(text: str) -> str:
    r"""A text without signs that show nothing, and with the usual ones for wide ones, hard blanks and those that LaTeX spells out.

    Example:
        >>> usual(r"\{A \to B\}, 60^\circ")
        '{A -> B}, 60°'
    """
    if "\\" in text:
        text = _BRACES.sub(r"{\1}", _LATEX.sub(lambda sign: _SPELT_OUT[(sign.lastindex or 1) - 1], text))
    return text if text.isascii() else text.translate(_SEEN_AS)


def _titles(head: str, rest: str) -> bool:
    """Whether a table says the same without its heading, which may label one row, or columns in an order of their own."""
    labels = _ONES.findall(head)
    return "\n" in rest.strip() and labels == sorted(labels, key=lambda label: (len(label), label.lower()))


def _counts_columns(text: str) -> bool:
    """Whether a text is a table of three columns or more whose heading counts them, over rows that are a square without it.

    Letters count where they are small and what is below has none: vertices have letters too, and the first row may name some.
    """
    table = _TABLE.match(text) if "|" in text else None
    if not table or "--" not in table["rule"]:
        return False
    labels, body = [label.strip("* ") for label in table["head"].strip(" |").split("|")], text[table.end() :].strip()
    rows, count = [row.strip().strip("|").count("|") + 1 for row in body.split("\n")], len(labels)
    numbers, letters = [str(i + 1) for i in range(count)], [chr(97 + i) for i in range(count)]
    return count > 2 and rows == [count] * count and (labels == numbers or (labels == letters and body == body.upper()))


def _in_order(said: str) -> Iterator[str]:
    """A text with the place that is left before the place that is gone to; as it stands too where its order may mean something else."""
    turned = _BACK.match(said) if "from" in said.lower() else None  # few have it, and it takes its time
    if turned and not re.search(r"\b(?:to|into|onto)\b", turned[5], re.IGNORECASE):
        yield f"{turned[1]} {turned[5]} {f'to {turned[3]}' if turned[2] else turned[4]}"
        if turned[2]:
            return
    yield said


def _fold(text: str) -> str:
    """One blank for every gap and comma."""
    return _GAPS.sub(" ", text).strip()
