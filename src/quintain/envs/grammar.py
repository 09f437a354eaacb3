"""How an action is written in a message: bare text, a tag, JSON, one word, or a tool call.

A grammar takes the action's text out of a message and can write it back; the world alone says what the text means.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from quintain.envs.speech import telling
from quintain.envs.spelling import usual
from quintain.messages import Message, Role, Text, Tool, ToolCall

TOOL = "act"
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
    "justification",
    "why",
    "plan",
    "observation",
    "comment",
    "note",
    "confidence",
}  # keys beside `action`
_TAG = re.compile(r"<action>((?:(?!</?action>).)*)</action>", re.DOTALL | re.IGNORECASE)
_THINKS, _THOUGHT = (
    re.compile(rf"(?i:<{close}(?:seed:)?think(?:ing)?>)|\[{close}THINK\]|◁{close}think▷") for close in ("", "/")
)  # as different models write it
_REASONS = re.compile(r"<(thoughts?|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_ACTION = re.compile(r'"action"\s*:', re.IGNORECASE)
_PART = re.compile(r"[,;.!?(\n]|[ \t](?=(?:because|since|so that|in order|as (?:it|the|this|that|i))\b)", re.IGNORECASE)
_BLOCKS = (
    ("```", "```"),
    ("\\[", "\\]"),
    ("$$", "$$"),
    ("<answer>", "</answer>"),
)  # in which a last line may stand with its own lines around it
_LISTED = re.compile(  # a last line that is a point of a list, behind one of a word or two
    r"(?:^|\n)[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+[*_]*[A-Za-z-]+(?: [A-Za-z-]+)?[*_.]*[ \t]*\n[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t][^\n]*$"
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
    """What a message says aloud: what was thought, up to a last `</think>` and from a `<think>` on that was never closed, is no answer.

    Nor is what stands in `<reasoning>` or `<thought>`, unless there is nothing else.
    """
    said = _THINKS.split(_THOUGHT.split(message.text)[-1], maxsplit=1)[0]
    rest = _REASONS.sub("", said) if "</" in said else said
    return rest if rest.strip() else said


def _word(message: Message) -> Iterator[str]:
    yield _spoken(message).strip()


def _free(message: Message) -> Iterator[str]:
    """The whole text, then what follows the last `action:`, all of it or up to the first stop, then the last line.

    The last point of a list of moves is none: what is to be done now is the first.
    """
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
    if not _LISTED.search(text):
        yield text.rpartition("\n")[2].strip().rstrip(".")


def _words(message: Message) -> Iterator[str]:
    """The words of a text that names no `action:`, but for those that it asks, supposes or denies, as in `not go up`."""
    text = usual(_spoken(message)[-LONGEST // 10 :])
    if "action:" not in text.lower():
        yield from telling(text)


def _tagged(message: Message) -> Iterator[str]:
    found = _TAG.findall(_spoken(message)[-LONGEST:])
    if found:
        yield found[-1].strip()


def _json(message: Message) -> Iterator[str]:
    """The last JSON object with the key `action` that stands in the text, not one within such an object; none if one holds several."""
    text = _spoken(message)[-LONGEST:]
    *_, at = (0, *(found.start() for found in _ACTION.finditer(text)))
    start, said = at, None
    for tried in range(BRACES):
        start = text.rfind("{", 0, start) if start > 0 else -1
        if start < 0:
            break
        with contextlib.suppress(ValueError, RecursionError):
            value, length = json.JSONDecoder().raw_decode(text[start:])
            end = start + length
            # an earlier object is not what was said last, but for one behind which `action` is only spoken of
            if _holds(value) and (end > at or (not tried and text[end:].lstrip()[:1] not in (",", "}"))):
                said = value
            elif end > at and len(_ACTION.findall(text, start, end)) > 1:
                return
    yield from _value(said)


def _holds(value: object) -> bool:
    return isinstance(value, dict) and "action" in map(str.lower, value)


def _value(arguments: object) -> Iterator[str]:
    """What stands for `action`, alone or beside why it was chosen."""
    given = arguments.items() if isinstance(arguments, dict) else ()
    said = [(key.lower(), value) for key, value in given if value is not None]
    if [key for key, _ in said if key not in WHY] == ["action"]:
        action = dict(said)["action"]
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
