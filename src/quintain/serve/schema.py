"""Bodies of the OpenAI API to requests of the policy. What would change the answer and cannot be done is refused by name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from quintain.rollouts.asked import Ask
from quintain.serve.call import Limits, Refusal
from quintain.serve.fields import Fields
from quintain.serve.picture import picture_of
from quintain.types import Ints, Message, Part, Role, Text, Tool, ToolCall, ToolResult

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
NAME = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
LONGEST = 1 << 20  # tokens of a prompt, tokens of an answer: the context decides
MESSAGES, TOOLS, STOPS, TOPS = 4096, 256, 16, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the endpoint knows of its policy. With `any_model` every name will do, as an unchanged agent asks for its own."""

    model: str
    size: int
    encode: Callable[[str], Ints] | None = None  # plain text as token ids
    any_model: bool = False
    pictures: bool = False
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A request and the form of its answer: `tops` logprobs beside each token, None for no logprobs at all."""

    ask: Ask
    stream: bool = False
    usage: bool = False
    tops: int | None = None
    ids: bool = False
    named_ids: bool = False
    scored: bool = False


def check_model(body: Fields, facts: Facts) -> None:
    """Refuse a model that is not here.

    Raises:
        Refusal: 400 without a name, 404 for another one.
    """
    name = body.text("model", facts.model if facts.any_model else None, 256)
    if name != facts.model and not facts.any_model:
        raise Refusal(404, f"the model {name!r} is not here; there is {facts.model!r}", "model", "model_not_found")


def read_chat(body: Fields, facts: Facts) -> Wanted:
    """The body of `/v1/chat/completions`.

    Raises:
        Refusal: a field is missing, wrong, or asks for what this policy cannot do.
    """
    check_model(body, facts)
    _refuse_others(body)
    found = body.each("messages", MESSAGES)
    if not found:
        wrong = "missing" if "messages" not in body.data else "empty" if body.has("messages") else "null"
        why = f"is {wrong}; it must be a list of at least one message"
        raise body.refuse("messages", why, "invalid_type" if wrong == "null" else "missing_required_parameter")
    messages = tuple(_message(m, facts) for m in found)
    if messages[-1].role is Role.assistant:
        raise body.refuse("messages", "ends with the assistant; the last message must be of user, tool or system")
    tops = body.whole("top_logprobs", 0, TOPS)
    if tops and not body.flag("logprobs"):
        raise body.refuse("top_logprobs", "needs logprobs=true")
    tokens = "max_completion_tokens" if body.has("max_completion_tokens") else "max_tokens"
    ask = Ask(
        messages=messages,
        tools=_tools(body),
        max_tokens=body.whole(tokens, 1, LONGEST),
        top_logprobs=tops or 0,
        **_sampling(body, facts),
    )
    return Wanted(
        ask=ask,
        stream=body.flag("stream"),
        usage=body.inner("stream_options").flag("include_usage"),
        tops=(tops or 0) if body.flag("logprobs") else None,
        ids=body.flag("return_token_ids"),
    )


def read_completion(body: Fields, facts: Facts) -> Wanted:
    """The body of `/v1/completions`.

    Raises:
        Refusal: a field is missing, wrong, or asks for what this policy cannot do.
    """
    check_model(body, facts)
    _refuse_others(body)
    for name in ("suffix", "echo"):
        if body.data.get(name):
            raise body.refuse(name, "is not supported; leave it out", "unsupported_parameter")
    if body.has("best_of"):
        raise body.refuse("best_of", "is not supported; use n", "unsupported_parameter")
    tops = body.whole("logprobs", 0, TOPS)
    ask = Ask(
        prompt=_prompt(body, facts),
        max_tokens=body.whole("max_tokens", 1, LONGEST) or 16,
        top_logprobs=tops or 0,
        stop_ids=body.ids("stop_token_ids", facts.size, 256),
        **_sampling(body, facts),
    )
    return Wanted(
        ask=ask,
        stream=body.flag("stream"),
        usage=body.inner("stream_options").flag("include_usage"),
        tops=tops,
        ids=body.flag("return_token_ids"),
        named_ids=body.flag("return_tokens_as_token_ids"),
        scored=body.whole("prompt_logprobs", 0, TOPS) is not None,
    )


def _prompt(body: Fields, facts: Facts) -> tuple[int, ...]:
    value = body.data.get("prompt")
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list | str):
        body = Fields({"prompt": value[0]})  # a batch of one
        value = value[0]
    if isinstance(value, list):
        prompt = body.ids("prompt", facts.size, LONGEST)
    else:
        text = body.text("prompt", None, facts.limits.text, "a string or a list of token ids")
        if facts.encode is None:
            raise body.refuse("prompt", "must be a list of token ids: this policy has no plain text")
        prompt = facts.encode(text)
    if not prompt:
        raise body.refuse("prompt", "is empty; send text or token ids")
    return prompt


def _sampling(body: Fields, facts: Facts) -> dict[str, Any]:
    top_k = body.whole("top_k", -1, LONGEST)
    stops = (
        [body.data["stop"]]
        if isinstance(body.data.get("stop"), str)
        else body.array("stop", STOPS, "a string or a list of them")
    )
    stop = tuple(Fields({"stop": s}).text("stop", None, 1000) for s in stops)
    if "" in stop:
        raise body.refuse("stop", "holds an empty string")
    return {
        "count": body.whole("n", 1, facts.limits.choices) or 1,
        "temperature": body.number("temperature", 0, 2),
        "top_p": body.number("top_p", 0, 1, open_low=True),
        "top_k": None if top_k is None else max(0, top_k),
        "min_p": body.number("min_p", 0, 0.999),
        "seed": body.whole("seed", -(1 << 63), (1 << 63) - 1),
        "stop": stop,
    }


def _refuse_others(body: Fields) -> None:
    """Fields that the API knows and this policy cannot obey; those that change nothing are let be."""
    for name in ("frequency_penalty", "presence_penalty"):
        if body.number(name, -2, 2):
            raise body.refuse(name, "is not supported; leave it at 0", "unsupported_parameter")
    if body.inner("logit_bias").data:
        raise body.refuse("logit_bias", "is not supported; leave it out", "unsupported_parameter")
    if body.inner("response_format").text("type", "text") != "text":
        raise body.refuse(
            "response_format", "must be of type text: answers are not constrained", "unsupported_parameter"
        )
    if any(m != "text" for m in body.array("modalities", 8)):
        raise body.refuse("modalities", "must be ['text']", "unsupported_parameter")
    for name in ("functions", "function_call", "audio"):
        if body.has(name):
            raise body.refuse(name, "is not supported; use tools" if "func" in name else "is not supported")


def _tools(body: Fields) -> tuple[Tool, ...]:
    choice = body.data.get("tool_choice")
    if choice not in (None, "auto", "none"):
        raise body.refuse(
            "tool_choice", "must be auto or none: the policy is not forced to call", "unsupported_parameter"
        )
    tools = tuple(_tool(t) for t in body.each("tools", TOOLS))
    return () if choice == "none" else tools


def _tool(item: Fields) -> Tool:
    if item.text("type") != "function":
        raise item.refuse("type", "must be 'function'")
    function = item.inner("function")
    name = function.text("name", None, 128)
    if not NAME.fullmatch(name):
        raise function.refuse("name", "must be 1 to 128 letters, digits, or one of _ . : -")
    parameters = function.inner("parameters").data
    _writable(function, "parameters", parameters)
    return Tool(name=name, description=function.text("description", ""), parameters=parameters)


def _writable(item: Fields, name: str, value: Any) -> None:
    """Refuse what a template could not write: half characters, depth beyond reason."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise item.refuse(name, "cannot be written as JSON in UTF-8") from None


def _message(item: Fields, facts: Facts) -> Message:
    role = ROLES.get(item.text("role"))
    if role is None:
        raise item.refuse("role", f"is {item.data['role']!r}; roles are {', '.join(ROLES)}")
    name = item.text("name", "", 256)
    if role == "tool":
        text = "".join(p.text for p in _content(item, facts) if isinstance(p, Text))
        return Message(Role.tool, (ToolResult(text=text, id=item.text("tool_call_id", None, 256)),), name)
    calls = _calls(item) if role == "assistant" else ()
    if not item.has("content") and (role != "assistant" or not calls):
        raise item.refuse("content", "is missing", "missing_required_parameter")
    parts = _content(item, facts)
    if calls:
        parts = [p for p in parts if not isinstance(p, Text) or p.text]
    return Message(Role(role), (*parts, *calls), name)


def _content(item: Fields, facts: Facts) -> list[Part]:
    value = item.data.get("content")
    if value is None:
        return []
    if isinstance(value, str):
        return [Text(text=item.text("content", None, facts.limits.text))]
    parts = [_part(p, facts) for p in item.each("content", 1024, "a string or a list of parts")]
    texts = [p.text for p in parts if isinstance(p, Text)]
    return [Text(text="".join(texts))] if len(texts) == len(parts) else parts


def _part(item: Fields, facts: Facts) -> Part:
    kind = item.text("type")
    if kind == "text":
        return Text(text=item.text("text", None, facts.limits.text))
    if kind != "image_url":
        raise item.refuse("type", f"is {kind!r}; this endpoint takes text{' and image_url' * facts.pictures}")
    if not facts.pictures:
        raise item.refuse("type", "is 'image_url', but this policy takes text only", "unsupported_parameter")
    url = item.inner("image_url")
    return picture_of(url.text("url", None, facts.limits.body_bytes), url)


def _calls(item: Fields) -> tuple[ToolCall, ...]:
    return tuple(_call(c) for c in item.each("tool_calls", TOOLS))


def _call(item: Fields) -> ToolCall:
    function = item.inner("function")
    try:
        arguments = json.loads(function.text("arguments", "{}", 1 << 20) or "{}")
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, Mapping):
        raise function.refuse("arguments", "is not the JSON of an object")
    _writable(function, "arguments", arguments)
    return ToolCall(name=function.text("name", None, 256), arguments=arguments, id=item.text("id", "", 256))
