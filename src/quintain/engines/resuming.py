"""Interrupts that lose nothing, for engines that can only abort: what was sampled becomes part of the prompt of what is left."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from quintain.ports import Engine
from quintain.types import Completion, Floats, Ints, Request, Span, Weights


class _Call:
    """A request on its way through one or more pieces."""

    __slots__ = ("aborted", "interrupted", "pieces", "request", "tokens", "turn")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.pieces: list[Completion] = []
        self.tokens: Ints = ()
        self.interrupted = False
        self.aborted = False
        self.turn: asyncio.Future[None] | None = None  # while it waits for an interrupt to be over

    @property
    def rank(self) -> tuple[bool, Ints]:
        """What has begun goes first, then the oldest."""
        return (not self.tokens, self.request.key)

    def rest(self) -> Request:
        """What is left to ask for, under the same noise."""
        asked = self.request
        if not self.tokens:
            return asked
        left = replace(asked.sampling, max_tokens=asked.sampling.max_tokens - len(self.tokens))
        drawn = asked.drawn + len(self.tokens)
        return replace(asked, prompt=(*asked.prompt, *self.tokens), sampling=left, drawn=drawn)

    def add(self, piece: Completion) -> None:
        """Take in what an engine gave before it ended or was interrupted."""
        self.pieces.append(piece)
        self.tokens += piece.tokens

    def whole(self, finish: str) -> Completion:
        """All pieces as one; versions that follow one another are one span."""
        if len(self.pieces) == 1:
            return self.pieces[0]
        spans: list[Span] = []
        usage: Counter[str] = Counter()
        at = 0
        for piece in self.pieces:
            for span in piece.spans:
                moved = Span(start=at + span.start, stop=at + span.stop, version=span.version)
                if spans and spans[-1].version == span.version:
                    moved = replace(moved, start=spans.pop().start)
                spans.append(moved)
            at += len(piece.tokens)
            usage.update(piece.usage)  # pyrefly: ignore
        return Completion(
            tokens=self.tokens,
            logprobs=tuple(x for piece in self.pieces for x in piece.logprobs),
            finish=finish,
            spans=tuple(spans),
            top_ids=tuple(x for piece in self.pieces for x in piece.top_ids),
            top_logprobs=tuple(x for piece in self.pieces for x in piece.top_logprobs),
            usage={**usage, "resumed": max(0, len(self.pieces) - 1)},
        )


class ResumingEngine:
    """Matches the `Engine` port around another engine: new weights interrupt its requests, which go on with their prefix.

    Use it where an engine cannot take new weights while requests run, and can give up a request with what it has: `abort` must
    return tokens, logprobs and spans, and `Request.drawn` must shift the sampling noise where samples are to be the same. Nothing
    is lost and nothing is drawn twice: what was interrupted is asked for again before everything else, with its tokens at the end
    of the prompt, so only keys and values are computed again.

    Args:
        inner: the engine that samples.
    """

    def __init__(self, inner: Engine) -> None:
        self.inner = inner
        self._calls: list[_Call] = []  # with the engine, or about to be
        self._waiting: list[_Call] = []
        self._closed = False
        self._empty: asyncio.Future[None] | None = None
        self._loading: asyncio.Future[None] | None = None
        self._counts: Counter[str] = Counter()

    async def generate(self, request: Request) -> Completion:
        """See `Engine.generate`; `usage` has the number of times that it was `resumed`, if it was."""
        call = _Call(request)
        try:
            while True:
                if self._closed:
                    await self._reopened(call)
                if call.aborted:
                    call.add(Completion(tokens=(), logprobs=(), finish="abort", spans=()))
                    return call.whole("abort")
                call.interrupted = False
                piece = await self._ask(call)
                call.add(piece)
                if piece.finish != "abort" or call.aborted or not call.interrupted:
                    return call.whole(piece.finish)
                self._counts["interrupted"] += 1
                self._counts["carried"] += len(call.tokens)
        except asyncio.CancelledError:
            self._counts["discarded"] += len(call.tokens)
            raise

    async def _ask(self, call: _Call) -> Completion:
        self._calls.append(call)
        try:
            return await self.inner.generate(call.rest())
        finally:
            self._calls.remove(call)
            if not self._calls and self._empty is not None and not self._empty.done():
                self._empty.set_result(None)

    async def _reopened(self, call: _Call) -> None:
        call.turn = asyncio.get_running_loop().create_future()
        self._waiting.append(call)
        try:
            await call.turn
        finally:
            if call in self._waiting:
                self._waiting.remove(call)

    async def load(self, weights: Weights) -> None:
        """Interrupt what runs, load, and let it go on before anything else."""
        while self._loading is not None:
            await asyncio.wait([self._loading])
        self._loading = loading = asyncio.get_running_loop().create_future()
        try:
            await self._interrupt()
            await self.inner.load(weights)
        finally:
            self._closed, self._loading = False, None
            for call in sorted(self._waiting, key=lambda call: call.rank):
                if call.turn is not None and not call.turn.done():
                    call.turn.set_result(None)
            loading.set_result(None)

    async def _interrupt(self) -> None:
        """Return once the engine has nothing to do."""
        self._closed = True
        if not self._calls:
            return
        self._empty = asyncio.get_running_loop().create_future()
        for call in self._calls:
            call.interrupted = True
        for session in dict.fromkeys(call.request.session for call in self._calls):
            await self.inner.abort(session)
        if self._calls:  # one that ended by itself meanwhile has ended
            await self._empty

    async def abort(self, session: str) -> None:
        """See `Engine.abort`; what waits for new weights returns what it has."""
        for call in [*self._calls, *self._waiting]:
            if call.request.session == session:
                call.aborted = True
                if call.turn is not None and not call.turn.done():
                    call.turn.set_result(None)
        await self.inner.abort(session)

    async def score(self, paths: Sequence[Ints]) -> Sequence[Floats]:
        """See `Engine.score`."""
        return await self.inner.score(paths)

    async def fork(self, session: str, at: int, into: str) -> None:
        """See `Engine.fork`."""
        await self.inner.fork(session, at, into)

    async def pause(self) -> None:
        """See `Engine.pause`."""
        await self.inner.pause()

    async def resume(self) -> None:
        """See `Engine.resume`."""
        await self.inner.resume()

    def counters(self) -> dict[str, float]:
        """What the inner engine counts, and since the last call: requests interrupted, tokens carried over and discarded."""
        counts, self._counts = self._counts, Counter()
        inner = self.inner.counters() if hasattr(self.inner, "counters") else {}  # pyrefly: ignore
        own = {f"engine_{name}": float(counts[name]) for name in ("interrupted", "carried", "discarded")}
        return {**inner, **{name: inner.get(name, 0.0) + value for name, value in own.items()}}
