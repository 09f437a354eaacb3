"""vLLM behind the Engine port: token in, token out, with weights swapped under requests that go on.

The server is a process of its own, in this environment or another; nothing of vLLM is imported here.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quintain.engines.errors import EngineDown, EngineError, VersionMismatch
from quintain.engines.vllm_flight import ABORT, COLDEST, GENERATE, Flight, parameters, paths_of
from quintain.engines.vllm_host import PAUSES, Host
from quintain.engines.vllm_http import Gone, Link, Refused
from quintain.engines.vllm_server import Server, Settings, interpreter
from quintain.registry import register
from quintain.types import Completion, Floats, Ints, Request, Sampling, Weights

LONGEST_NAP_S = 0.25


class VllmEngine:
    """Matches the `Engine` port with a vLLM server (0.32 or newer).

    The server starts with the first call that needs it, with the weights that are newest then. Versions are stamped
    by the server's own scheduler, token by token. `load` pauses it between two steps, swaps the weights, drops every
    key and value that the old ones computed, and lets the requests in flight go on: their paths are computed again under
    the new weights, so each span's logprobs are those of a full forward. A server that dies is started again with the
    newest weights, and its requests are sent again with what they had got; when this process dies, the server does too.

    Args:
        host: the server and its weights.
        context: tokens of the longest path, >= 2.
        vocab: size of the vocabulary; ids beyond it are refused here, because they would end the server. 0 does not check.
    """

    def __init__(self, host: Host, context: int, vocab: int = 0) -> None:
        self.host, self.context, self.vocab = host, context, vocab
        self._sent_again = self._dropped = 0
        self._flights: dict[str, set[Flight]] = {}
        self._ids = (f"{os.urandom(4).hex()}-{number}" for number in itertools.count())

    @property
    def version(self) -> int:
        """The policy version that was loaded last."""
        return self.host.version

    @property
    def server(self) -> Server | None:
        """The server of our own; None when there is a URL."""
        return self.host.server

    @property
    def stats(self) -> dict[str, int]:
        """Servers started anew, requests sent again, and tokens of theirs that were dropped because their version was unknown."""
        return {"restarts": self.host.restarts, "sent_again": self._sent_again, "dropped_tokens": self._dropped}

    async def generate(self, request: Request) -> Completion:
        """Sample a continuation of `request.prompt`; the server keeps what prefixes share.

        Returns:
            At most `max_tokens` tokens; finish is `length` also when the path reaches the context (with no token at all if
            the prompt fills it), `abort` after `abort(session)`.

        Raises:
            EngineError: the request cannot be served; `EngineDown` when servers die under it.
            VersionMismatch: the server stamps a version that was never loaded.

        Special cases: temperature 0 gives logprobs of 0. With `min_p` the cut comes before those of `top_k` and `top_p`.
        """
        self._check(request)
        flight = Flight(request, min(request.sampling.max_tokens, self.context - len(request.prompt)))
        if flight.limit <= 0:
            return Completion(tokens=(), logprobs=(), finish="length", spans=())
        self._flights.setdefault(request.session, set()).add(flight)
        try:
            while not flight.finish:
                await self._attempt(flight)
        finally:
            mates = self._flights[request.session]
            mates.discard(flight)
            if not mates:
                del self._flights[request.session]
        self.host.early = 0
        return flight.completion()

    def _check(self, request: Request) -> None:
        cold, what = request.sampling.temperature, ""
        if not request.prompt or request.images:
            what = "images, but this engine takes tokens only" if request.images else "an empty prompt"
        elif 0 < cold < COLDEST:
            what = f"temperature {cold}, which vLLM would raise to {COLDEST}: set 0, or at least {COLDEST}"
        if what:
            raise EngineError(f"the request of session {request.session!r} has {what}")
        self._check_ids(request.prompt)

    def _check_ids(self, ids: Ints) -> None:
        if ids and self.vocab and (min(ids) < 0 or max(ids) >= self.vocab):
            bad = next(t for t in ids if not 0 <= t < self.vocab)
            raise EngineError(
                f"token id {bad} lies outside the model's vocabulary of {self.vocab}; is it the right tokenizer?"
            )

    async def _attempt(self, flight: Flight) -> None:
        """Send a request, or what is left of it, and take what comes."""
        link = await self.host.up()
        if flight.given_up:
            flight.finish = "abort"
            return
        version, flight.adapter = self.host.version, self.host.adapter
        body = flight.begin(next(self._ids)) | self.host.model
        try:
            async with contextlib.aclosing(link.events(GENERATE, body)) as events:
                async for event in events:
                    flight.take(event, self.host.known)
        except (Gone, Refused) as error:
            if not await self.host.dying(link, error):
                raise
            self._dropped += flight.cut(version)
            if not flight.finish:
                await self._again(flight, link, error)
            return
        if not flight.finish and not flight.moving:
            raise EngineError(f"{link.address}: a stream ended without a finish reason")

    async def _again(self, flight: Flight, link: Link, error: Exception) -> None:
        """The server died under a request, which is sent again."""
        flight.deaths += 1
        if flight.deaths >= self.host.settings.deaths:
            raise EngineDown(f"{flight.deaths} servers died under one request; {self.host.said()}") from error
        self._sent_again += 1
        await self.host.revive(link, error)

    async def score(self, paths: Sequence[Ints]) -> Sequence[Floats]:
        """The logprobs [T] of the tokens of each path [T] at temperature 1 under the loaded weights; the first is 0.

        Raises:
            EngineError: a path is above the context or holds an id outside the vocabulary, or the engine is paused.
            VersionMismatch: the server computed them with another version.
        """
        if self.host.paused:
            raise EngineError("the engine is paused: vLLM scores only while it runs; score after `resume`")
        for path in paths:
            self._check_ids(path)
            if len(path) > self.context:
                raise EngineError(f"a path of {len(path)} tokens is above the engine's context of {self.context}")
        return await asyncio.gather(*[self._score(path) for path in paths])

    async def _score(self, path: Ints) -> Floats:
        if len(path) < 2:
            return (0.0,) * len(path)
        sampling = parameters(Request(session="", prompt=path, sampling=Sampling(max_tokens=1)), 0)
        sampling |= {"max_tokens": 1, "prompt_logprobs": 0, "logprobs": None}
        for _ in range(self.host.settings.deaths):
            link, version = await self.host.up(), self.host.version
            body = {
                "request_id": next(self._ids),
                "token_ids": list(path),
                "sampling_params": sampling,
                **self.host.model,
            }
            try:
                answer = await link.read("POST", GENERATE, body)
            except (Gone, Refused) as error:
                if not await self.host.dying(link, error):
                    raise
                await self.host.revive(link, error)
                continue
            for span in answer["choices"][0].get("weight_versions") or ():
                if not version <= self.host.known.get(span["version"], -1) <= self.host.version:
                    raise VersionMismatch(
                        f"vLLM scored with version {span['version']!r}; loaded is {self.host.version}"
                    )
            return paths_of(answer, path)
        raise EngineDown(f"{self.host.settings.deaths} servers died over one path; {self.host.said()}")

    async def fork(self, session: str, at: int, into: str) -> None:
        """Nothing is to be done: the server's prefix cache shares what two sessions have in common.

        Raises:
            EngineError: `into` is `session` or has a request in flight, or `at` is negative.
        """
        if into == session or at < 0 or self._flights.get(into):
            raise EngineError(f"cannot fork {session!r} at {at} into {into!r}: it must be another session that is idle")

    async def abort(self, session: str) -> None:
        """End a session; its requests return what they have. Unknown sessions are ignored."""
        flights = list(self._flights.get(session, ()))
        for flight in flights:
            flight.given_up = True
        await self._end(lambda: [f for f in flights if not f.finish])

    async def _end(self, unwanted: Callable[[], list[Flight]]) -> None:
        """Ask the server to end attempts until none is left that is unwanted."""
        nap = 0.01
        while left := [f"generate-tokens-{f.id}" for f in unwanted() if f.id]:
            link = await self.host.up()
            with contextlib.suppress(Gone):  # it has freed them; they notice by themselves
                await link.ask("POST", ABORT, {"request_ids": left})
            await asyncio.sleep(nap)  # a request may not have reached the server yet
            nap = min(2 * nap, LONGEST_NAP_S)

    async def load(self, weights: Weights) -> None:
        """Generate with `weights` from the next token on; requests in flight go on under them.

        Args:
            weights: `file` (a model folder), `lora` (an adapter's folder), or `pointer` (a live model, which travels as
                `engine.options.sync` says).

        Raises:
            WeightsRefused: they do not fit; the next token comes from the old ones.
            VersionMismatch: the server does not hold them afterwards.
            EngineError: the server cannot take them.
        """

        def swapping() -> None:
            for flight in itertools.chain.from_iterable(self._flights.values()):
                flight.swap(self.host.version)

        def elsewhere() -> list[Flight]:
            flights = [
                f for some in self._flights.values() for f in some if not f.finish and f.adapter != weights.version
            ]
            for flight in flights:
                flight.moving = True
            return flights

        await self.host.load(weights, swapping, lambda: self._end(elsewhere))

    async def pause(self) -> None:
        """Stop emitting tokens once the running step is over; requests wait."""
        await self.host.pause()

    async def resume(self) -> None:
        """Go on after `pause`."""
        await self.host.resume()

    async def close(self) -> None:
        """End the server with all of its children; requests in flight fail."""
        await self.host.close()


@register("engine", "vllm", apart=True)
def vllm(model: Any, *, slots: int = 256, context: int = 0, update: str = "in_flight", **options: Any) -> VllmEngine:
    """vLLM (0.32 or newer) as the engine of a run: a server of its own, or one that runs already.

    Args:
        model: a local Hugging Face folder, or a live model.
        slots: sequences in a batch, unless `max_num_seqs` says otherwise.
        context: tokens of the longest path; the model's own limit when 0.
        update: new weights come between two tokens (`in_flight`) or once running requests are over (`drain`).
        **options: the fields of `Settings`: `python`, `url`, `dtype`, `sync`, `args`...

    Raises:
        UnknownName: an option that does not exist.
        EngineError: an option out of range.
        MissingExtra: vLLM is not installed here, and `python` names no other environment.
    """
    if update not in PAUSES:
        raise EngineError(f"engine.update is {update!r}; vLLM can do {' and '.join(PAUSES)}")
    settings = Settings.of({"update": update, **options})
    model = os.path.abspath(model) if isinstance(model, str | Path) else model  # the server has a folder of its own
    if not settings.max_num_seqs:
        settings = replace(settings, max_num_seqs=slots)
    if not settings.url:
        interpreter(settings)
    vocab, longest = _sizes(model)
    if context > longest > 0:
        raise EngineError(f"context is {context}; the model's is {longest}")
    return VllmEngine(Host(model, settings, context or longest), context or longest, vocab)


def _sizes(model: Any) -> tuple[int, int]:
    """Size of the vocabulary and longest context of a folder or a live model."""
    if isinstance(model, str | Path):
        whole: Mapping[str, Any] = json.loads((Path(model) / "config.json").read_text())
        inner = whole.get("text_config", whole)
        return int(inner.get("vocab_size", 0)), int(inner.get("max_position_embeddings", 0))
    from quintain.models import context_limit, text_config

    return int(text_config(model).vocab_size), context_limit(model)
