"""Answers of the policy in the form of the OpenAI API, whole or as a stream of chunks."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

from quintain.ports import Renderer
from quintain.rollouts.recorder import Said
from quintain.serve.schema import Wanted
from quintain.types import Ints

_PIECE = re.compile(r"\S*\s*")
NEVER = -9999.0  # the logprob of a token that the sampling has cut out: JSON has no infinity


def chat_reply(model: str, wanted: Wanted, answers: Sequence[Said], renderer: Renderer) -> dict[str, Any]:
    """The body of a chat completion."""
    choices = []
    for index, said in enumerate(answers):
        message: dict[str, Any] = {"role": "assistant", "content": said.text or (None if said.calls else "")}
        if said.calls:
            message["tool_calls"] = _calls(said)
        choice: dict[str, Any] = {"index": index, "message": message, "finish_reason": _finish(said)}
        choice["logprobs"] = None if wanted.tops is None else {"content": _chat_logprobs(said, wanted.tops, renderer)}
        if wanted.ids:
            choice["token_ids"] = list(said.completion.tokens)
        choices.append(choice)
    return _head("chat.completion", model, answers) | {"choices": choices, **_given(wanted, answers)}


def chat_chunks(model: str, wanted: Wanted, answers: Sequence[Said], renderer: Renderer) -> tuple[dict[str, Any], ...]:
    """The same answer as chunks: role, text piece by piece, tool calls, how it ended, and the usage where it is asked for."""
    whole = chat_reply(model, wanted, answers, renderer)
    head = {
        **{k: whole[k] for k in ("id", "created", "model", "system_fingerprint")},
        "object": "chat.completion.chunk",
    }
    out: list[dict[str, Any]] = []

    def tell(index: int, delta: Mapping[str, Any], **more: Any) -> None:
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": None, **more}
        out.append({**head, "choices": [choice], **({"usage": None} if wanted.usage else {})})

    for choice in whole["choices"]:
        index, message = choice["index"], choice["message"]
        tell(index, {"role": "assistant", "content": ""})
        for piece in _PIECE.findall(message["content"] or ""):
            if piece:
                tell(index, {"content": piece})
        for number, call in enumerate(message.get("tool_calls", ())):
            tell(index, {"tool_calls": [{"index": number, **call}]})
        ids = {"token_ids": choice["token_ids"]} if wanted.ids else {}
        tell(index, {}, finish_reason=choice["finish_reason"], logprobs=choice["logprobs"], **ids)
    if wanted.usage:
        out.append({**head, "choices": [], "usage": whole["usage"]})
    return tuple(out)


def text_reply(model: str, wanted: Wanted, answers: Sequence[Said], renderer: Renderer) -> dict[str, Any]:
    """The body of a text completion."""
    choices = []
    for index, said in enumerate(answers):
        choice: dict[str, Any] = {"index": index, "text": said.text, "finish_reason": _finish(said)}
        choice["logprobs"] = None if wanted.tops is None else _text_logprobs(said, wanted, renderer)
        if wanted.ids:
            choice["token_ids"] = list(said.completion.tokens)
        choices.append(choice)
    return _head("text_completion", model, answers) | {"choices": choices, **_given(wanted, answers)}


def text_chunks(model: str, wanted: Wanted, answers: Sequence[Said], renderer: Renderer) -> tuple[dict[str, Any], ...]:
    """The same answer as chunks, one a choice."""
    whole = text_reply(model, wanted, answers, renderer)
    usage = whole.pop("usage")
    chunks = [{**whole, "choices": [choice]} for choice in whole["choices"]]
    return (*chunks, *([{**whole, "choices": [], "usage": usage}] if wanted.usage else []))


def _head(kind: str, model: str, answers: Sequence[Said]) -> dict[str, Any]:
    prompt, spoken = len(answers[0].prompt), sum(len(a.completion.tokens) for a in answers)
    versions = [s.version for a in answers for s in a.completion.spans]
    return {
        "id": ("chatcmpl-" if kind.startswith("chat") else "cmpl-") + secrets.token_hex(12),
        "object": kind,
        "created": int(time.time()),
        "model": model,
        "system_fingerprint": f"version-{max(versions, default=0)}",
        "usage": {"prompt_tokens": prompt, "completion_tokens": spoken, "total_tokens": prompt + spoken},
    }


def _given(wanted: Wanted, answers: Sequence[Said]) -> dict[str, Any]:
    return {"prompt_token_ids": list(answers[0].prompt)} if wanted.ids else {}


def _finish(said: Said) -> str:
    if said.calls:
        return "tool_calls"
    return "length" if said.completion.finish == "length" else "stop"


def _calls(said: Said) -> list[dict[str, Any]]:
    def call(name: str, arguments: Mapping[str, Any]) -> dict[str, str]:
        return {"name": name, "arguments": json.dumps(dict(arguments), ensure_ascii=False)}

    return [{"id": c.id, "type": "function", "function": call(c.name, c.arguments)} for c in said.calls]


def _chat_logprobs(said: Said, tops: int, renderer: Renderer) -> list[dict[str, Any]]:
    def told(token: int, logprob: float) -> dict[str, Any]:
        text = renderer.text((token,))
        return {"token": text, "logprob": max(logprob, NEVER), "bytes": list(text.encode(errors="replace"))}

    c = said.completion
    rows = []
    for i, (token, logprob) in enumerate(zip(c.tokens, c.logprobs, strict=True)):
        best = list(zip(c.top_ids[i], c.top_logprobs[i], strict=True))[:tops] if c.top_ids else []
        rows.append({**told(token, logprob), "top_logprobs": [told(t, p) for t, p in best]})
    return rows


def _text_logprobs(said: Said, wanted: Wanted, renderer: Renderer) -> dict[str, Any]:
    c, tops = said.completion, wanted.tops or 0

    def name(token: int) -> str:
        return f"token_id:{token}" if wanted.named_ids else renderer.text((token,))

    offsets = [len(renderer.text(c.tokens[:i])) for i in range(len(c.tokens))]
    rows = [
        dict(zip(map(name, ids), [max(p, NEVER) for p in row], strict=True))
        for ids, row in zip(c.top_ids, c.top_logprobs, strict=True)
    ]
    return {
        "tokens": [name(t) for t in c.tokens],
        "token_logprobs": list(c.logprobs),
        "top_logprobs": [dict(list(row.items())[:tops]) for row in rows] if tops and rows else None,
        "text_offset": offsets,
    }


def scored_prompt(prompt: Ints, logprobs: Sequence[float]) -> list[Any]:
    """Logprobs of the prompt's own tokens, null for the first, which nothing predicts."""
    return [None, *({str(t): {"logprob": p}} for t, p in zip(prompt[1:], logprobs[1:], strict=True))]
