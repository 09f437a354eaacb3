"""How an action is written in a message: bare text, a tag, JSON, one word, or a tool call.

A grammar takes the action's text out of a message and can write it back; the world alone says what the text means.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from quintain.messages import Message, Role, Text, Tool, ToolCall
from quintain.worlds.cells import NESTED
from quintain.worlds.kernel import Move

TOOL = "act"
LONG = 400  # characters of an action that may have words around it
LONGEST = 20_000  # characters of a message that are looked at, from its end
BRACES = 8  # that are tried for the one that opens an object, as a reason in it may hold some
WHY = {
    "reasoning",
    "reason",
    "thought",
    "thoughts",
    "thinking",
    "explanation",
    "rationale",
    "analysis",
}  # keys beside `action`
_TAG = re.compile(r"<action>((?:(?!</?action>).)*)</action>", re.DOTALL)
_THINKS, _THOUGHT = re.compile(r"<think(?:ing)?>"), re.compile(r"</think(?:ing)?>")
_WORD = re.compile(r"(?:[−–—-](?=\d))?[^\W_]+(?:['’][^\W_]+)*")  # a number with a sign is another one
_END = re.compile(r"(?<=[^\s.])[.!]$")
_PART = re.compile(r"[,;.!?(\n]")
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
    | _UNSEEN
)
_VERB = re.compile(
    r"(?:so |please |i |i'll |let's |we )*(?:try|go|move|play|push|slide|step|walk|place|put|choose|select|pick|take|give|bid)[ :]+",
    re.IGNORECASE,
)
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
    r"[\s*_#>]*(?:(?:so|thus|therefore),?\s+)?(?:(?:the|my)\s+)?(?:(?:final|next)\s+)?(?:answer|action|move|solution)[*_]*"
    r"(?:\s+is\s*:?|\s*[:=]|[ \t]*\n)[\s*_]*",
    re.IGNORECASE,
)
_BOXED = re.compile(
    r"[\s$*]*\\(?:boxed|text|mathrm)\{(?:\\(?:text|textbf|mathrm|mathbf)\{)?(.*?)\}{1,2}[\s$.*]*", re.DOTALL
)
_WRAP = re.compile(  # a tag, a fence that may name its language, the signs of mathematics
    r"\s*(?:<(b|strong|i|em|code|answer)>([^<]*)</\1>|```[\w+-]*[ \t]*\r?\n((?:(?!```).)*)```"
    r"|\\\[((?:(?!\\\[).)*)\\\]|\\\(((?:(?!\\\().)*)\\\)|\${1,2}([^$]*)\${1,2})[.!]?\s*",
    re.DOTALL | re.IGNORECASE,
)
_BLOCKS = (
    ("```", "```"),
    ("\\[", "\\]"),
    ("$$", "$$"),
    ("<answer>", "</answer>"),
)  # in which a last line may stand with its own lines around it
_TABLE = re.compile(
    r"\s*+(?P<head>[^\n|]*+\|[^\n]*+)\n(?P<rule>[ \t|:-]++)\n"
)  # its first row, and the rule below that
_ONES = re.compile(r"\d+|\b[a-z]\b", re.IGNORECASE)  # numbers and single letters
_CELL = re.compile(r"\b([a-z])[ -](\d{1,2})\b", re.IGNORECASE)
_TOLD = re.compile(
    r"\b(?:col(?:umn)? ([a-z]) (?:and )?row (\d{1,2})|row (\d{1,2}) (?:and )?col(?:umn)? ([a-z]))\b", re.IGNORECASE
)
_BACK = re.compile(
    r"^(.*?)\b(?:(to|into|onto)\s+(\S.*?)|(\S+))\s+from\s+(\S.*)$", re.IGNORECASE
)  # where to stands before where from
_DENIED = re.compile(r"[^\w<{]*not\b", re.IGNORECASE)
_PLACE = r"(?:[a-z]?\d{1,3}|[a-z])\b"  # what an answer of many words is made of
_DENIES = r"not|never|cannot|avoid|without|except|instead of|(?:rather|less|more|greater|other) than|(?:all|anything) but|at (?:least|most)"
_WRONG = r"wrong|blocked|illegal|bad|impossible|forbidden|taken|occupied"
_RIGHT = r"allowed|possible|legal|valid|good|right|correct|an option"
_NOT = re.compile(  # what a text denies: after a word that does, before one, struck out, or only compared with
    rf"(?:\b(?:{_DENIES})|n['’]t)[:*]*(?:[ \t]+[\w'’]+){{1,3}}(?:[ \t]+{_PLACE})*"
    rf"|\b(?:{_PLACE}[ \t]+){{0,12}}[\w'’]+[ \t]+(?:is|are|was|were|would be)"
    rf"(?:[ \t]+(?:{_WRONG})|(?:[ \t]+not|n['’]t)[ \t]+(?:{_RIGHT}))\b"
    r"|~~[^~]*~~|[≠¬√][ \t]*\w+|[<>≤≥≈~][ \t]*\d[\w.]*|(?<!\d)\d+(?:\^\S+|[ \t]*%)"
    r"|\b\d+(?:[.,/+*×–-]\d+)+",  # a number that is part of another one, or of a sum
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """`find` yields the candidate texts of a message, best first; `write` makes an action's message; `ask` asks for it.

    `words` yields single words that are tried last: they count where all that are an action are the same one.
    `want` is said after an answer that cannot be read.
    `{answer}` and `{example}` in `ask` stand for the world's own description of an action and an example.
    """

    find: Callable[[Message], Iterator[str]]
    write: Callable[[str], Message]
    ask: str
    tools: bool = False
    want: str = ""
    words: Callable[[Message], Iterator[str]] = lambda message: iter(())


def _spoken(message: Message) -> str:
    """What a message says aloud: what was thought, up to a last `</think>` and from a `<think>` on that was never closed, is no answer."""
    text = message.text
    return _THINKS.split(_THOUGHT.split(text)[-1], maxsplit=1)[0] if "think" in text else text


def _word(message: Message) -> Iterator[str]:
    yield _spoken(message).strip()


def _free(message: Message) -> Iterator[str]:
    """The whole text, then what follows the last `action:`, all of it or up to the first stop, then the last line."""
    text = _spoken(message)[-LONGEST:].strip()
    yield text
    at = text.lower().rfind("action:")
    if at >= 0:
        said = text[at + len("action:") :].strip()
        yield said.rstrip(".")
        yield _PART.split(said, maxsplit=1)[0].strip()
    for opening, closing in _BLOCKS:
        if text.endswith(closing) and (at := text.rfind(opening, 0, -len(closing))) >= 0:
            yield text[at:]
    yield text.rpartition("\n")[2].strip().rstrip(".")


def _words(message: Message) -> Iterator[str]:
    """The words of a text that names no `action:`, but for those that it denies, as in `not go up`."""
    text = _usual(_spoken(message)[-LONGEST // 10 :])
    words = () if "action:" in text.lower() else _WORD.findall(_NOT.sub(" ", text))
    yield from (word for word in words if word.lower() != "or")  # which some worlds read as o right


def agreed(words: Iterable[str], read: Callable[[str], Move | None]) -> Move | None:
    """The one action that single words name; None where two differ, or a word and the two that it begins: `raise`, in `raise 8`.

    What only the state tells to be a move, as `e4` of a pawn (see `Move.named`), is none among other words.
    """
    said = list(words)
    named = {move for word in said if _plain_move(move := read(word))}
    if len(named) == 1:
        named |= {move for two in itertools.pairwise(said) if _plain_move(move := read(" ".join(two)))}
    return named.pop() if len(named) == 1 else None


def _plain_move(move: Move | None) -> bool:
    return move is not None and not move.named


def _tagged(message: Message) -> Iterator[str]:
    found = _TAG.findall(_spoken(message)[-LONGEST:])
    if found:
        yield found[-1].strip()


def _json(message: Message) -> Iterator[str]:
    """The last JSON object with the key `action` that stands in the text."""
    text = _spoken(message)[-LONGEST:]
    at = start = text.rfind('"action"')
    for tried in range(BRACES):
        start = text.rfind("{", 0, start) if start > 0 else -1
        if start < 0:
            return
        with contextlib.suppress(ValueError, RecursionError):
            value, length = json.JSONDecoder().raw_decode(text[start:])
            if start + length > at or (not tried and "action" in value):  # an earlier object is not what was said last
                yield from _value(value)
                return


def spellings(text: str) -> Iterator[str]:
    """An action's text as it is, then with less and less beside it.

    Signs that show nothing are left out, and wide ones and hard blanks are the usual ones. First without `answer:` before it and a box of
    LaTeX around it, without the rule and the heading of a table, without a final full stop, with one blank for every gap and comma, out
    of brackets and quotes; then, in texts of one line, without any brackets, quotes and arrows, without the verb it begins with, and
    without the small words between, where from before where to; last, of one step, without that it is one. Worlds read the first that
    they can: each of these means something to some of them. A cell that is told by its column and its row has its name. What begins with
    `not` has none: to some it would be a label of the list behind it.

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
    """A text out of its tag, fence or signs of mathematics, then without a label before it and a box around it."""
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


def _spelled(text: str) -> Iterator[str]:
    inner = ""
    for inner in _undressed(_usual(text)):
        yield inner
    text = inner
    if (table := _TABLE.match(text)) and "--" in table["rule"]:
        rest = text[table.end() :]
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
    said = _VERB.sub("", bare, count=1) if _VERB.match(bare) else bare
    yield said
    for ordered in _in_order(said):
        yield ordered.strip()  # to some worlds what lies between the two belongs to it
        filled = _fold(_FILL.sub(" ", ordered))
        yield filled
        yield _CELL.sub(r"\1\2", filled)
    if once := _ONCE.fullmatch(said):
        way = (once[1] or once[2]).lower()
        yield _ASIDE.get(way, way) if re.search(_FAR, said, re.IGNORECASE) else way


def _usual(text: str) -> str:
    """A text without signs that show nothing, and with the usual ones for wide ones and hard blanks."""
    return text if text.isascii() else text.translate(_SEEN_AS)


def _titles(head: str, rest: str) -> bool:
    """Whether a table says the same without its heading, which may label one row, or columns in an order of their own."""
    labels = _ONES.findall(head)
    return "\n" in rest.strip() and labels == sorted(labels, key=lambda label: (len(label), label.lower()))


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


def _value(arguments: object) -> Iterator[str]:
    """What stands for `action`, alone or beside why it was chosen."""
    if isinstance(arguments, dict) and "action" in arguments and arguments.keys() - {"action"} <= WHY:
        action = arguments["action"]
        if isinstance(action, str):
            yield action.strip()
        elif isinstance(action, int | float | list) and not isinstance(action, bool):
            with contextlib.suppress(RecursionError, ValueError):  # nested too deep, or too many digits
                if isinstance(action, list) and any(isinstance(part, str) and " " in part for part in action):
                    yield " / ".join(map(str, action))  # rows
                yield json.dumps(action, ensure_ascii=False)  # worlds read lists as texts with brackets, peers as JSON


def _tool(message: Message) -> Iterator[str]:
    calls = message.tool_calls
    if len(calls) == 1 and calls[0].name == TOOL:
        yield from _value(dict(calls[0].arguments))


def _said(text: str) -> Message:
    return Message(Role.assistant, (Text(text=text),))


def _called(action: str) -> Message:
    return Message(Role.assistant, (ToolCall(name=TOOL, arguments={"action": action}, id="call_0"),))


def act_tool(answer: str) -> Tool:
    """The one tool of the `tool` grammar; `answer` describes its argument."""
    action = {"type": "string", "description": answer}
    schema = {"type": "object", "properties": {"action": action}, "required": ["action"], "additionalProperties": False}
    return Tool(name=TOOL, description="Take one action in the world.", parameters=schema)


GRAMMARS: dict[str, Grammar] = {
    "word": Grammar(find=_word, write=_said, ask="Reply with the action alone. {answer} Example: {example}"),
    "free": Grammar(
        find=_free,
        words=_words,
        write=_said,
        ask="You may think first; end with the action on a line of its own. {answer}",
    ),
    "tagged": Grammar(
        find=_tagged,
        write=lambda a: _said(f"<action>{a}</action>"),
        ask="You may think first; then give one action in tags. {answer} Example: <action>{example}</action>",
    ),
    "json": Grammar(
        find=_json,
        write=lambda a: _said(json.dumps({"action": a})),
        ask='You may think first; then give one action as JSON. {answer} Example: {{"action": "{example}"}}',
        want='What is wanted is {"action": ...} with a text, a number or a list.',
    ),
    "tool": Grammar(
        find=_tool,
        write=_called,
        ask="Act with the tool `act`, one call a turn. {answer}",
        tools=True,
        want=f"What is wanted is one call of `{TOOL}` whose `action` is a text, a number or a list.",
    ),
}
