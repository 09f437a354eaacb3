"""Tool calls inside text: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, written and read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from quintain.types import Message, Part, Role, Text, ToolCall

OPEN, CLOSE = "<tool_call>", "</tool_call>"
_CALL = re.compile(re.escape(OPEN) + r"(.*?)(?:" + re.escape(CLOSE) + r"|\Z)", re.DOTALL)


def write(calls: Iterable[ToolCall]) -> str:
    """The text of tool calls, one tagged JSON object a line.

    Example:
        >>> write([ToolCall(name="add", arguments={"a": 1})])
        '<tool_call>\\n{"name": "add", "arguments": {"a": 1}}\\n</tool_call>'
    """
    objects = (json.dumps({"name": c.name, "arguments": dict(c.arguments)}, ensure_ascii=False) for c in calls)
    return "\n".join(f"{OPEN}\n{o}\n{CLOSE}" for o in objects)


def find(text: str) -> tuple[list[ToolCall], list[str]]:
    """The well-formed tool calls of `text` in order, and the bodies of the malformed ones.

    A call is a JSON object with a string `name` and an object `arguments` (or `parameters`; a JSON string of an
    object is read too, and nothing at all means no arguments). The last closing tag may be missing.

    Example:
        >>> find('<tool_call>{"name": "now"}</tool_call> <tool_call>{"name": 3}</tool_call>')
        ([ToolCall(name='now', arguments={}, id='call_0')], ['{"name": 3}'])
    """
    calls: list[ToolCall] = []
    broken: list[str] = []
    for body in _CALL.findall(text):
        call = _read(body, len(calls))
        if call is None:
            broken.append(body.strip())
        else:
            calls.append(call)
    return calls, broken


def _read(body: str, number: int) -> ToolCall | None:
    try:
        data = json.loads(body)
        arguments = data.get("arguments", data.get("parameters", {})) if isinstance(data, dict) else None
        if isinstance(arguments, str):
            arguments = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return None
    if not isinstance(arguments, dict) or not isinstance(data.get("name"), str) or not data["name"]:
        return None
    return ToolCall(name=data["name"], arguments=arguments, id=f"call_{number}")


def said(text: str) -> Message:
    """The assistant message of `text`: the text word for word, and the tool calls read from it as further parts.

    The text part keeps the tags, so that a conversation can be written again exactly as it was said.
    """
    if OPEN not in text:
        return Message(Role.assistant, (Text(text=text),))
    parts: list[Part] = [Text(text=text), *find(text)[0]]
    return Message(Role.assistant, tuple(parts))
