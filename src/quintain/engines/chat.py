"""Conversations in the form of the chat API: messages, tools and calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quintain.engines.errors import EngineError
from quintain.messages import png_of
from quintain.render import toolcalls
from quintain.types import Image, Message, Role, Text, Tool, ToolCall, ToolResult

SILENCE = "(no answer)"  # stands for an empty answer in a conversation, as many servers refuse one without text
UNSEEN = "\n(a picture was here)"  # stands for those that are not sent again


def chat_turns(message: Message) -> list[dict[str, Any]]:
    """A message in the form of the chat API: tool calls and results in their own fields, pictures as data URLs."""
    results = [p for p in message.parts if isinstance(p, ToolResult)]
    turns: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": r.id, "content": r.text} if r.id else {"role": "user", "content": r.text}
        for r in results
    ]
    calls = message.tool_calls
    text = "".join(p.text for p in message.parts if isinstance(p, Text))
    if calls:
        text = text.partition(toolcalls.OPEN)[0].strip()
    pictures = [{"type": "image_url", "image_url": {"url": _data_url(i)}} for i in message.images]
    if text or calls or pictures or not turns:
        silent = message.role is Role.assistant and not calls and not text.strip()
        role = "user" if turns and pictures else str(message.role)  # what a tool answers is text
        turn: dict[str, Any] = {"role": role, "content": SILENCE if silent else text}
        if pictures:
            turn["content"] = [*([{"type": "text", "text": text}] if text else []), *pictures]
        if calls and message.role is Role.assistant:
            turn["tool_calls"] = [_as_call(c) for c in calls]
        turns.append(turn)
    return turns


def chat(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """A conversation in the form of the chat API. Each call has an id of its own, which what answers it has too."""
    turns, made, ids = [], 0, dict[str, str]()  # `ids`: those of the last turn with calls
    for told in (turn for message in messages for turn in chat_turns(message)):
        if calls := told.get("tool_calls"):
            ids = {}
        for call in calls or ():
            ids[call["id"]], call["id"] = f"call_{made}", f"call_{made}"
            made += 1
        if answered := told.get("tool_call_id"):
            told["tool_call_id"] = ids.get(answered, answered)
        turns.append(told)
    return _alternating(turns)


def chat_tool(tool: Tool) -> dict[str, Any]:
    """A tool in the form of the chat API."""
    parameters = dict(tool.parameters) or {"type": "object", "properties": {}}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _as_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json.dumps(dict(call.arguments), ensure_ascii=False)}
    return {"id": call.id, "type": "function", "function": function}


def _alternating(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages to the user that follow each other as one: many chat templates refuse two, as of a seat that moves second."""
    joined: list[dict[str, Any]] = []
    for told in messages:
        if joined and joined[-1]["role"] == told["role"] == "user":
            parts = joined.pop()["content"], told["content"]
            if all(isinstance(part, str) for part in parts):
                told = {**told, "content": "\n".join(parts)}
            else:
                first, then = ([{"type": "text", "text": p}] if isinstance(p, str) else p for p in parts)
                told = {**told, "content": [*first, {"type": "text", "text": "\n"}, *then]}
        joined.append(told)
    return joined


def _data_url(image: Image) -> str:
    if image.pixels is None:
        raise EngineError(f"the picture {image.hash!r} is known by its hash only; its pixels are needed to send it")
    return "data:image/png;base64," + png_of(image.pixels)


def newest(messages: Sequence[Message], kept: int) -> list[Message]:
    """Messages of which only the last `kept` with pictures have them still.

    Example:
        >>> seen = [Message.of("user", text, Image(hash=text)) for text in ("one", "two")]
        >>> [(message.text, len(message.images)) for message in newest(seen, 1)]
        [('one\\n(a picture was here)', 0), ('two', 1)]
    """
    out = []
    for message in reversed(messages):
        if message.images and kept <= 0:
            parts = tuple(Text(text=UNSEEN) if isinstance(part, Image) else part for part in message.parts)
            message = replace(message, parts=parts)
        elif message.images:
            kept -= 1
        out.append(message)
    return out[::-1]


def read_call(data: Mapping[str, Any]) -> ToolCall:
    """A call as a server answers it; arguments that are no JSON object are kept as `malformed`."""
    function = data.get("function") or {}
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except ValueError:
        arguments = {"malformed": function.get("arguments")}
    fitting = arguments if isinstance(arguments, dict) else {"malformed": arguments}
    return ToolCall(name=str(function.get("name", "")), arguments=fitting, id=str(data.get("id", "")))
