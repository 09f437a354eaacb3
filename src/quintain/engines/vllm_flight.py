"""One request on its way through a vLLM server: what is sent, what has come back, and under which version."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from quintain.engines.errors import EngineError, VersionMismatch
from quintain.types import Completion, Floats, Ints, Request, Span

GENERATE, ABORT = "/inference/v1/generate", "/inference/v1/abort_requests"
FINISHES = ("stop", "length", "abort")
CUT = -9999.0  # what the server says for a probability of 0
COLDEST = 0.01  # the server warms temperatures between 0 and this


@dataclass(slots=True, eq=False)
class Flight:
    """A request, and what the attempts to serve it have given so far.

    `id` names the attempt that runs, which began after `base` tokens; `sure` is how many tokens of it are known to be of
    the version `old` because they had come before a swap.
    """

    request: Request
    limit: int
    id: str = ""
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    tops: list[tuple[Ints, Floats]] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)  # of the tokens before `base`
    base: int = 0
    sure: int | None = None
    old: int = 0
    finish: str = ""
    given_up: bool = False
    adapter: int | None = None  # the version of the adapter that this attempt names, which all of its tokens come from
    moving: bool = False  # this attempt is ended so that the next one names another adapter
    deaths: int = 0
    usage: dict[str, float] = field(default_factory=dict)

    def begin(self, id: str) -> dict[str, Any]:
        """The body of the next attempt: the prompt and every token so far."""
        self.id, self.base, self.sure, self.moving = id, len(self.tokens), None, False
        sampling = parameters(self.request, self.base) | {"max_tokens": self.limit - self.base}
        prompt = [*self.request.prompt, *self.tokens]
        options = {"stream_options": {"include_usage": True}, "sampling_params": sampling}
        return {"request_id": id, "token_ids": prompt, "stream": True, **options}

    def take(self, event: Mapping[str, Any], known: Mapping[str, int]) -> None:
        """Add what one event of the stream says; `known` maps the server's names of versions to their numbers.

        Raises:
            EngineError: tokens without logprobs, or an end that is none.
            VersionMismatch: a version that was never loaded.
        """
        for name in ("prompt_tokens", "completion_tokens"):
            self.usage[name] = float((event.get("usage") or {}).get(name, self.usage.get(name, 0.0)))
        for choice in event.get("choices") or ():
            ids = choice.get("token_ids") or ()
            rows = (choice.get("logprobs") or {}).get("content") or ()
            if len(rows) != len(ids):
                raise EngineError(f"vLLM sent {len(ids)} tokens with {len(rows)} logprobs")
            self.tokens += ids
            greedy, most = self.request.sampling.temperature == 0, self.request.sampling.top_logprobs
            for row in rows:
                self.logprobs.append(0.0 if greedy else float(row["logprob"]))
                if most:
                    self.tops.append(_top(row, most, greedy))
            if finish := choice.get("finish_reason"):
                if finish not in FINISHES:
                    raise EngineError(f"vLLM ended a request for the reason {finish!r}")
                self._stamp(choice.get("weight_versions") or (), known)
                if finish in FINISHES[:2] or self.given_up or not self.moving:
                    self.finish = finish

    def _stamp(self, said: Any, known: Mapping[str, int]) -> None:
        for part in said:
            if part["version"] not in known:
                raise VersionMismatch(
                    f"vLLM stamped tokens with the version {part['version']!r}; loaded were {', '.join(known)}"
                )
            version = known[part["version"]] if self.adapter is None else self.adapter
            self._add(self.base + part["start"], self.base + part["end"], version)
        done = self.spans[-1].stop if self.spans else 0
        if done != len(self.tokens):
            raise VersionMismatch(
                f"vLLM stamped {done} of {len(self.tokens)} tokens with a version; is it 0.32 or newer?"
            )

    def _add(self, start: int, stop: int, version: int) -> None:
        if stop <= start:
            return
        last = self.spans[-1] if self.spans else None
        if last is not None and last.version == version:
            self.spans[-1] = Span(start=last.start, stop=stop, version=version)
        else:
            self.spans.append(Span(start=start, stop=stop, version=version))

    def swap(self, old: int) -> None:
        """The server is about to get another version: what has come so far is of the version `old`."""
        if self.sure is None:
            self.sure, self.old = len(self.tokens), old

    def cut(self, version: int) -> int:
        """The attempt ended without an end: keep the tokens whose version is certain; how many were dropped."""
        kept, stamp = (len(self.tokens), version) if self.sure is None else (self.sure, self.old)
        if self.adapter is not None:
            kept, stamp = len(self.tokens), self.adapter
        dropped = len(self.tokens) - kept
        del self.tokens[kept:], self.logprobs[kept:], self.tops[kept:]
        self._add(self.base, kept, stamp)
        self.base, self.sure = kept, None
        if self.tokens and self.tokens[-1] in self.request.sampling.stop:
            self.finish = "stop"  # the end alone was lost
        elif kept >= self.limit:
            self.finish = "length"
        elif self.given_up:
            self.finish = "abort"
        return dropped

    def completion(self) -> Completion:
        """What the caller gets."""
        return Completion(
            tokens=tuple(self.tokens),
            logprobs=tuple(self.logprobs),
            finish=self.finish,
            spans=tuple(self.spans),
            top_ids=tuple(ids for ids, _ in self.tops),
            top_logprobs=tuple(values for _, values in self.tops),
            usage=self.usage,
        )


def parameters(request: Request, done: int) -> dict[str, Any]:
    """The sampling parameters of a request of which `done` tokens are there; its noise is a function of its key and of `done`."""
    s = request.sampling
    digest = hashlib.blake2b(repr((*request.key, "at", done) if done else request.key).encode(), digest_size=8).digest()
    out: dict[str, Any] = {"temperature": s.temperature, "top_p": s.top_p, "top_k": s.top_k, "min_p": s.min_p}
    out |= {"seed": int.from_bytes(digest, "big") >> 1, "stop_token_ids": list(s.stop), "ignore_eos": True}
    # one more than asked for: the sampled token takes a place among them
    return out | {"logprobs": s.top_logprobs + 1 if s.top_logprobs else 0, "detokenize": False}


def _top(row: Mapping[str, Any], count: int, greedy: bool) -> tuple[Ints, Floats]:
    """The likeliest ids of a token's distribution and their logprobs, best first, without those that were cut."""
    if greedy:
        return (int(row["token_id"]),), (0.0,)
    pairs = {int(t["token_id"]): float(t["logprob"]) for t in row.get("top_logprobs") or ()}
    best = sorted(((i, p) for i, p in pairs.items() if p > CUT), key=lambda pair: -pair[1])[:count]
    return tuple(i for i, _ in best), tuple(p for _, p in best)


def paths_of(answer: Mapping[str, Any], path: Ints) -> Floats:
    """The logprobs of a path's tokens in the answer to a request for prompt logprobs; the first is 0.

    Raises:
        EngineError: the answer lacks them.
    """
    rows = answer.get("prompt_logprobs")
    if not isinstance(rows, list) or len(rows) != len(path):
        raise EngineError("vLLM returned no prompt logprobs for a path; it cannot score")
    return (0.0, *(float(row[str(token)]["logprob"]) for row, token in zip(rows[1:], path[1:], strict=True)))
