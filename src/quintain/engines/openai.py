"""Servers with an OpenAI-compatible API: chat models by messages, open models by tokens."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from quintain.engines.chat import chat, chat_tool, newest, read_call
from quintain.engines.errors import EngineError
from quintain.engines.wire import Manners, Wire
from quintain.registry import register
from quintain.render import toolcalls
from quintain.types import (
    Completion,
    Floats,
    Ints,
    Message,
    Request,
    Sampling,
    Span,
    Tool,
    Weights,
)


class _Remote:
    """What both kinds share: one wire, requests in flight by session, what they used, pause and resume."""

    def __init__(self, wire: Wire, model: str, body: Mapping[str, Any], omit: Collection[str]) -> None:
        self.wire, self.model, self.body, self.omit = wire, model, dict(body), frozenset(omit)
        self.used: Counter[str] = Counter()
        self.flying: dict[str, set[asyncio.Task[dict[str, Any]]]] = {}
        self.given_up: set[asyncio.Task[dict[str, Any]]] = set()
        self.paused: asyncio.Event | None = None

    async def ask(self, path: str, request: Request, payload: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer, or None when the session was aborted meanwhile."""
        if self.paused is not None:
            await self.paused.wait()
        ours = {name: value for name, value in payload.items() if name not in self.omit}
        job = asyncio.ensure_future(self.wire.post(path, {"model": self.model, **ours, **self.body}))
        self.flying.setdefault(request.session, set()).add(job)
        try:
            data = await job
            self.used.update({"requests": 1, **_usage(data)})  # pyrefly: ignore
            return data
        except EngineError as error:
            raise _with_advice(error, ours) from None
        except asyncio.CancelledError:
            if job in self.given_up:
                return None
            job.cancel()
            raise
        finally:
            self.given_up.discard(job)
            left = self.flying.get(request.session, set())
            left.discard(job)
            if not left:
                self.flying.pop(request.session, None)

    def abort(self, session: str) -> None:
        for job in self.flying.get(session, set()):
            self.given_up.add(job)
            job.cancel()

    def pause(self) -> None:
        if self.paused is None:
            self.paused = asyncio.Event()

    def resume(self) -> None:
        if self.paused is not None:
            self.paused.set()
            self.paused = None


ABORTED = Completion(tokens=(), logprobs=(), finish="abort", spans=())


class ChatApi:
    """A model behind `/v1/chat/completions`: it is spoken to in messages and its words are never trained."""

    def __init__(self, remote: _Remote) -> None:
        self._remote = remote

    @property
    def used(self) -> Mapping[str, float]:
        """Sums over all answers: `requests`, what the server says of its use, such as `prompt_tokens`, and, where there were any,
        `cut_answers` (at their token limit) and `refused_answers`.
        """
        return self._remote.used

    async def converse(
        self, messages: Sequence[Message], tools: Sequence[Tool], request: Request, state: Any
    ) -> Completion:
        """The model's answer to a conversation as text; tool calls stand in it as tagged JSON. `state` is not sent.

        Raises:
            EngineError: the server refuses or fails for good, or its answer has no choice.
            TurnRefused: it refuses this conversation, and answers others.
        """
        kept = self._remote.wire.manners.pictures
        shown = newest(messages, kept) if kept else messages
        payload: dict[str, Any] = {"messages": chat(shown)}
        payload |= _sampling(request)
        if tools:
            payload["tools"] = [chat_tool(t) for t in tools]
        data = await self._remote.ask("/chat/completions", request, payload)
        if data is None:
            return ABORTED
        choice = _choice(data, self._remote.wire.url)
        said = choice.get("message")
        if not isinstance(said, Mapping):
            said = {}
        calls = [read_call(c) for c in said.get("tool_calls") or ()]
        text = _text(said.get("content")) or _text(said.get("refusal"))
        if calls:
            text = f"{text}\n{toolcalls.write(calls)}" if text else toolcalls.write(calls)
        finish = "length" if choice.get("finish_reason") == "length" else "stop"
        if finish == "length":
            self._remote.used["cut_answers"] += 1
        elif choice.get("finish_reason") == "content_filter" or said.get("refusal"):
            self._remote.used["refused_answers"] += 1
        return Completion(tokens=(), logprobs=(), finish=finish, spans=(), text=text, usage=_usage(data))

    async def generate(self, request: Request) -> Completion:
        """Refused: a chat model takes no tokens.

        Raises:
            EngineError: always.
        """
        raise EngineError("a chat model takes messages, not tokens: call `converse`, or use openai with tokens=true")

    async def score(self, paths: Sequence[Ints]) -> Sequence[Floats]:
        """Refused: a chat model gives no logprobs of given tokens.

        Raises:
            EngineError: always.
        """
        raise EngineError("a chat model cannot score tokens; use a local engine")

    async def fork(self, session: str, at: int, into: str) -> None:
        """The server keeps nothing between requests."""

    async def abort(self, session: str) -> None:
        """Give up the requests in flight of a session; they return with finish `abort`."""
        self._remote.abort(session)

    async def load(self, weights: Weights) -> None:
        """Refused: the server has weights of its own.

        Raises:
            EngineError: always.
        """
        raise EngineError("this server cannot load our weights; list its role among the frozen ones")

    async def pause(self) -> None:
        """Hold new requests back."""
        self._remote.pause()

    async def resume(self) -> None:
        """Go on after `pause`."""
        self._remote.resume()


class TokenApi:
    """A model behind `/v1/completions`, token in and token out, for servers that return token ids (vLLM does).

    The server's logprobs are recorded as they are: let it report those of the distribution that it samples from (vLLM:
    `--logprobs-mode processed_logprobs`), or use temperature 1 without cuts. Without ids in the answer the text alone
    is kept, as an external node. Its tokens are stamped with policy version 0.
    """

    def __init__(self, remote: _Remote) -> None:
        self._remote = remote

    async def generate(self, request: Request) -> Completion:
        """A continuation of the prompt's tokens.

        Raises:
            EngineError: the server refuses or fails for good, or ids and logprobs do not match.
        """
        if request.images:
            raise EngineError("token mode cannot send pictures; use a chat model")
        sampling = request.sampling
        payload: dict[str, Any] = {"prompt": list(request.prompt), "logprobs": max(sampling.top_logprobs, 1)}
        payload |= _sampling(request)
        payload |= {"return_token_ids": True, "return_tokens_as_token_ids": True, "stop_token_ids": list(sampling.stop)}
        data = await self._remote.ask("/completions", request, payload)
        if data is None:
            return ABORTED
        choice = _choice(data, self._remote.wire.url)
        finish = "length" if choice.get("finish_reason") == "length" else "stop"
        held = choice.get("logprobs") or {}
        tokens, logprobs = _ids(choice, held), held.get("token_logprobs")
        if tokens is None or logprobs is None:
            text = choice.get("text") or ""
            return Completion(tokens=(), logprobs=(), finish=finish, spans=(), text=text, usage=_usage(data))
        if len(tokens) != len(logprobs):
            raise EngineError(f"{self._remote.wire.url}: {len(tokens)} token ids with {len(logprobs)} logprobs")
        spans = (Span(start=0, stop=len(tokens), version=0),) if tokens else ()
        top_ids, top = _top(held, sampling)
        return Completion(
            tokens=tokens,
            logprobs=tuple(float(p) for p in logprobs),
            finish=finish,
            spans=spans,
            top_ids=top_ids,
            top_logprobs=top,
            usage=_usage(data),
        )

    async def score(self, paths: Sequence[Ints]) -> Sequence[Floats]:
        """Logprobs of given paths, through the server's `prompt_logprobs`.

        Raises:
            EngineError: the server does not return them.
        """
        return await asyncio.gather(*(self._score(path) for path in paths))

    async def _score(self, path: Ints) -> Floats:
        payload = {"prompt": list(path), "max_tokens": 1, "temperature": 1.0, "prompt_logprobs": 1}
        request = Request(session="", prompt=path, sampling=Sampling(max_tokens=1))
        data = await self._remote.ask("/completions", request, payload)
        rows = _choice(data or {}, self._remote.wire.url).get("prompt_logprobs")
        if not isinstance(rows, list) or len(rows) != len(path):
            raise EngineError(f"{self._remote.wire.url} returns no prompt_logprobs; it cannot score paths")
        found = [float(row[str(t)]["logprob"]) for t, row in zip(path[1:], rows[1:], strict=True)]
        return (0.0, *found)

    async def fork(self, session: str, at: int, into: str) -> None:
        """The server shares prefixes by itself."""

    async def abort(self, session: str) -> None:
        """Give up the requests in flight of a session; they return with finish `abort`."""
        self._remote.abort(session)

    async def load(self, weights: Weights) -> None:
        """Refused: this engine has no way to send weights.

        Raises:
            EngineError: always.
        """
        raise EngineError("this server cannot load our weights; list its role among the frozen ones")

    async def pause(self) -> None:
        """Hold new requests back."""
        self._remote.pause()

    async def resume(self) -> None:
        """Go on after `pause`."""
        self._remote.resume()


@register("engine", "openai", example={"url": "http://127.0.0.1:8000", "model": "m", "key_env": ""})
def openai(
    url: str,
    model: str,
    key_env: str = "OPENAI_API_KEY",
    tokens: bool = False,
    manners: Mapping[str, Any] | None = None,
    body: Mapping[str, Any] | None = None,
    omit: Sequence[str] = (),
) -> ChatApi | TokenApi:
    """A model behind an OpenAI-compatible URL: an opponent, a judge, an API model to evaluate, a server of your own.

    Args:
        url: base of the API, such as `http://127.0.0.1:8000/v1`.
        model: the model's name there.
        key_env: environment variable with the API key; empty for servers without one.
        tokens: speak in token ids through `/v1/completions` instead of chat messages.
        manners: `timeout_s` (120), `retries` (4), `concurrency` (32), `wait_s` (0.5, doubled after each failure), `pictures` (0: all).
        body: further fields of each request, such as `{"max_completion_tokens": 512}`; they win over ours.
        omit: fields of ours that the server refuses and that are not sent: `max_tokens`, `temperature`, `top_p`, `seed`.

    Raises:
        EngineError: the URL or the key is missing or wrong, or `omit` names what is not sent.
    """
    for name, value in {"manners": manners, "body": body}.items():
        if value is not None and not isinstance(value, Mapping):
            raise EngineError(f"openai: {name} is a table, such as {name}.{TABLES[name]}, not {value!r}")
    if unknown_ := set(manners or {}) - set(Manners.__dataclass_fields__):
        raise EngineError(
            f"openai: unknown manners {sorted(unknown_)}; there are {', '.join(Manners.__dataclass_fields__)}"
        )
    if isinstance(omit, str) or (strange := [name for name in omit if name not in FIELDS]):
        told = repr(omit) if isinstance(omit, str) else ", ".join(map(repr, strange))
        raise EngineError(f"openai: omit is a list of fields among {', '.join(FIELDS)}, not {told}")
    remote = _Remote(Wire(url, key_env, Manners(**(manners or {}))), model, body or {}, omit)
    return TokenApi(remote) if tokens else ChatApi(remote)


TABLES = {"manners": "retries=8", "body": "max_completion_tokens=512"}
FIELDS = ("max_tokens", "temperature", "top_p", "seed", "top_k", "min_p")  # that each request may have


def _sampling(request: Request) -> dict[str, Any]:
    """Standard fields always, others only when they differ from their defaults: strict servers refuse unknown ones."""
    s = request.sampling
    seed = hashlib.blake2b(repr(request.key).encode(), digest_size=4).digest()
    out: dict[str, Any] = {"max_tokens": s.max_tokens, "temperature": s.temperature, "top_p": s.top_p}
    out["seed"] = int.from_bytes(seed, "big") >> 1
    if s.top_k:
        out["top_k"] = s.top_k
    if s.min_p:
        out["min_p"] = s.min_p
    return out


# what servers say of pictures that a model does not take, in as many words as there are servers
_BLIND = re.compile(r"HTTP (?:4(?:00|15|22)|(?:404|5\d\d).*(?:image|multimodal|vision|mmproj))", re.I | re.S)


def _with_advice(error: EngineError, sent: Mapping[str, Any]) -> EngineError:
    """An error that names what the server does not take, fields of ours or pictures, with the way to leave it out; others as they are."""
    if any(isinstance(told["content"], list) for told in sent.get("messages", ())) and _BLIND.search(str(error)):
        return EngineError(
            f"{error}; for a model that reads text only, leave out env.scaffold.image (of worlds) or env.params.image (of other envs)"
        )
    named = [name for name in FIELDS if name in sent and re.search(rf"\b{name}\b", str(error))]
    if not named or not re.search(r"HTTP 4(00|22)", str(error)):
        return error
    instead = " engine.options.body.max_completion_tokens=4096" if "max_tokens" in named else ""
    return EngineError(f'{error}; to leave it out, say engine.name=openai "engine.options.omit={named}"{instead}')


def _choice(data: Mapping[str, Any], url: str) -> Mapping[str, Any]:
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise EngineError(f"{url}: the answer holds no choice: {json.dumps(data)[:200]}")
    return choices[0]


def _text(content: Any) -> str:
    """What was said: a text, or the texts among parts (some servers give their reasoning as parts of another type)."""
    if isinstance(content, list):
        return "".join(str(p.get("text") or "") for p in content if isinstance(p, dict) and p.get("type") == "text")
    return str(content or "")


def _usage(data: Mapping[str, Any]) -> dict[str, float]:
    held = data.get("usage")
    numbers = held.items() if isinstance(held, Mapping) else ()
    return {k: float(v) for k, v in numbers if isinstance(v, int | float) and math.isfinite(v)}


def _ids(choice: Mapping[str, Any], held: Mapping[str, Any]) -> Ints | None:
    if isinstance(choice.get("token_ids"), list):
        return tuple(int(t) for t in choice["token_ids"])
    named = held.get("tokens") or ()
    if named and all(isinstance(t, str) and t.startswith("token_id:") for t in named):
        return tuple(int(t.removeprefix("token_id:")) for t in named)
    return None


def _top(held: Mapping[str, Any], sampling: Sampling) -> tuple[tuple[Ints, ...], tuple[Floats, ...]]:
    rows = held.get("top_logprobs")
    if not sampling.top_logprobs or not rows or not all(k.startswith("token_id:") for row in rows for k in row):
        return (), ()
    ordered = [sorted(row.items(), key=lambda item: -item[1])[: sampling.top_logprobs] for row in rows]
    ids = tuple(tuple(int(k.removeprefix("token_id:")) for k, _ in row) for row in ordered)
    return ids, tuple(tuple(float(v) for _, v in row) for row in ordered)
