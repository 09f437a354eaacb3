"""A request for the policy's words, and the digests by which its conversation is found again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

from quintain.render import toolcalls
from quintain.types import Ints, Message, QuintainError, Role, Text, Tool, ToolCall, ToolResult


class AskError(QuintainError):
    """A request that the policy cannot answer: `param` names the field, `code` the reason."""

    def __init__(self, text: str, param: str = "", code: str = "") -> None:
        super().__init__(text)
        self.param, self.code = param, code


class EpisodeOver(QuintainError):
    """The episode has ended: nothing more is answered or written down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A request: `messages`, or the tokens `prompt` in their place. None means that the client leaves it to the policy's side."""

    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()
    prompt: Ints = ()
    count: int = 1
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    top_logprobs: int = 0
    stop: tuple[str, ...] = ()
    stop_ids: Ints = ()
    seed: int | None = None


def shown(message: Message, tools: bool, turn: int) -> tuple[str, tuple[ToolCall, ...]]:
    """What a client sees of a message: with tools on offer the text before the first call, and the calls."""
    calls = message.tool_calls if tools else ()
    if not calls:
        return message.text, ()
    text = message.text.partition(toolcalls.OPEN)[0].strip()
    return text, tuple(replace(call, id=f"call_{turn}_{i}") for i, call in enumerate(calls))


def digests(ask: Ask) -> list[bytes]:
    """A digest of the tools and the first k messages, for each k from 1."""
    offered = [[t.name, t.description, t.parameters] for t in ask.tools]
    key = hashlib.blake2b(json.dumps(offered, sort_keys=True).encode(), digest_size=16).digest()
    keys = []
    for message in ask.messages:
        key = after(key, message)
        keys.append(key)
    return keys


def after(key: bytes, message: Message) -> bytes:
    """The digest of a conversation `key` and one more message; a call's id and outer white space of an answer do not count."""
    mark: list[Any] = [str(message.role), message.name]
    if message.role is Role.assistant:
        mark += ["".join(p.text for p in message.parts if isinstance(p, Text)).strip()]
        mark += [[c.name, dict(c.arguments)] for c in message.tool_calls]
    else:
        for part in message.parts:
            if isinstance(part, Text | ToolResult):
                mark.append([type(part).__name__, part.text])
            else:  # a picture: by its pixels
                pixels = getattr(part, "pixels", None)
                data = b"" if pixels is None else pixels.tobytes()
                mark.append(["picture", getattr(part, "hash", ""), hashlib.blake2b(data, digest_size=16).hexdigest()])
    told = json.dumps(mark, sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(key + told.encode(), digest_size=16).digest()
