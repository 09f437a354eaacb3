"""Interrupted requests of an engine that can only abort: the same tokens as if nothing had been, nothing lost, oldest first."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintain.engines.resuming import ResumingEngine
from quintain.engines.torch import TorchEngine
from quintain.models import build_model
from quintain.ports import Engine
from quintain.types import Completion, Request, Sampling, Span, Weights

VOCAB = 60


def ask(session, prompt, max_tokens=6, key=(0,), **more):
    return Request(session=session, prompt=tuple(prompt), sampling=Sampling(max_tokens=max_tokens, **more), key=key)


class Abortable:
    """Samples one token a loop turn, a function of key and index; it can only abort, and refuses weights while it works."""

    def __init__(self, slots=10**6):
        self.version, self.jobs, self.slots, self.asked, self.drawn = 0, {}, asyncio.Semaphore(slots), [], []

    async def generate(self, request):
        self.asked.append(request)
        flag = self.jobs.setdefault(request.session, [False])
        tokens = []
        try:
            async with self.slots:
                while len(tokens) < request.sampling.max_tokens and not flag[0]:
                    index = request.drawn + len(tokens)
                    self.drawn.append((request.key, index))
                    tokens.append((7 * request.key[1] + 3 * index) % 50)
                    if tokens[-1] in request.sampling.stop:
                        return self.done(tokens, "stop")
                    await asyncio.sleep(0)
        finally:
            self.jobs.pop(request.session, None)
        return self.done(tokens, "abort" if len(tokens) < request.sampling.max_tokens else "length")

    def done(self, tokens, finish):
        spans = (Span(start=0, stop=len(tokens), version=self.version),) if tokens else ()
        n, usage = len(tokens), {"generated": len(tokens)}
        return Completion(tokens=tuple(tokens), logprobs=(-1.0,) * n, finish=finish, spans=spans, usage=usage)

    async def abort(self, session):
        if session in self.jobs:
            self.jobs[session][0] = True

    async def load(self, weights):
        assert not self.jobs, "requests run"
        await asyncio.sleep(0)
        self.version = weights.version

    async def score(self, paths):
        return [(0.0,) * len(p) for p in paths]

    async def fork(self, session, at, into):
        pass

    async def pause(self):
        pass

    async def resume(self):
        pass


def load(version):
    return Weights(version=version, kind="pointer")


async def test_it_is_an_engine_and_gives_the_same_as_an_engine_that_was_never_interrupted():
    sizes = {"vocab": VOCAB, "hidden": 32, "layers": 2, "heads": 4, "kv_heads": 2, "ffn": 48, "context": 256}
    model = build_model("qwen3", seed=0, **sizes)
    asked = [ask(f"s{i}", range(5 + i), 30, (0, i, 0, 0, 0), top_logprobs=2) for i in range(5)]
    whole = await asyncio.gather(*map(TorchEngine(model, inline=True).generate, asked))
    inner = TorchEngine(model, inline=True)
    engine = ResumingEngine(inner)
    assert isinstance(engine, Engine)
    tasks = [asyncio.create_task(engine.generate(request)) for request in asked]
    for step in (10, 60, 100):
        while inner.stats.generated < step:  # noqa: ASYNC110
            await asyncio.sleep(0)
        await engine.load(Weights(version=inner.version + 1, kind="pointer", source=model))
    for one, other in zip(whole, await asyncio.gather(*tasks), strict=True):
        assert (one.tokens, one.finish, one.top_ids) == (other.tokens, other.finish, other.top_ids)
        assert max(abs(a - b) for a, b in zip(one.logprobs, other.logprobs, strict=True)) < 2e-5
        assert [s.version for s in other.spans] == [0, 1, 2, 3] and other.usage["resumed"] == 3
    counted = engine.counters()
    assert inner.stats.generated == 150 and counted["engine_carried"] >= 150 and counted["engine_discarded"] == 0
    assert engine.counters()["engine_interrupted"] == 0


async def test_what_was_interrupted_goes_first_and_then_the_oldest():
    inner = Abortable(slots=1)
    engine = ResumingEngine(inner)
    running = [asyncio.create_task(engine.generate(ask("a", (1,), 20, (0, 5))))]
    for _ in range(6):
        await asyncio.sleep(0)
    running += [asyncio.create_task(engine.generate(ask(f"n{i}", (1,), 2, (0, i)))) for i in (7, 3)]
    await asyncio.sleep(0)
    loading = asyncio.create_task(engine.load(load(1)))
    await asyncio.sleep(0)
    running.append(asyncio.create_task(engine.generate(ask("new", (1,), 2, (0, 1)))))
    await loading
    await asyncio.gather(*running)
    again = [r.session for r in inner.asked[3:]]
    assert again == ["a", "new", "n3", "n7"]
    assert [s.version for s in running[0].result().spans] == [0, 1] and len(running[0].result().tokens) == 20


async def test_an_abort_meanwhile_returns_what_there_is():
    inner = Abortable()
    engine = ResumingEngine(inner)
    slow = asyncio.Event()
    take = inner.load

    async def late(weights):
        await slow.wait()
        await take(weights)

    inner.load = late
    running = asyncio.create_task(engine.generate(ask("a", (1,), 20, (0, 5))))
    for _ in range(6):
        await asyncio.sleep(0)
    loading = asyncio.create_task(engine.load(load(1)))
    for _ in range(6):
        await asyncio.sleep(0)
    assert not running.done()
    await engine.abort("a")
    completion = await running
    assert completion.finish == "abort" and 0 < len(completion.tokens) < 20 and completion.spans[-1].version == 0
    slow.set()
    await loading
    assert (await engine.generate(ask("b", (1,), 3, (0, 1)))).spans[0].version == 1


async def test_a_load_that_fails_lets_requests_go_on():
    inner = Abortable()
    engine = ResumingEngine(inner)

    async def refuse(weights):
        raise ValueError("they do not fit")

    inner.load = refuse
    running = asyncio.create_task(engine.generate(ask("a", (1,), 20, (0, 5))))
    for _ in range(6):
        await asyncio.sleep(0)
    with pytest.raises(ValueError, match="do not fit"):
        await engine.load(load(1))
    completion = await running
    assert len(completion.tokens) == 20 and [(s.start, s.stop, s.version) for s in completion.spans] == [(0, 20, 0)]


async def schedule(seed, slots):
    rng, inner = random.Random(seed), Abortable(slots)
    engine = ResumingEngine(inner)

    async def episode(i):
        for _ in range(rng.randrange(40)):
            await asyncio.sleep(0)
        limit, stop = rng.randrange(1, 25), (rng.randrange(50),)
        completion = await engine.generate(ask(f"s{i}", (1, 2), limit, (0, i), stop=stop))
        wanted = [(7 * i + 3 * k) % 50 for k in range(limit)]
        if stop[0] in wanted:
            wanted = wanted[: wanted.index(stop[0]) + 1]
        assert list(completion.tokens) == wanted[: len(completion.tokens)]
        if completion.finish != "abort":
            assert len(completion.tokens) == len(wanted)
            assert completion.finish == ("stop" if wanted[-1] == stop[0] else "length")
        return completion

    playing = [asyncio.create_task(episode(i)) for i in range(12)]
    while not all(task.done() for task in playing):
        for _ in range(rng.randrange(1, 12)):
            await asyncio.sleep(0)
        if rng.random() < 0.8:
            await engine.load(load(inner.version + 1))
        else:
            await engine.abort(f"s{rng.randrange(12)}")
    return inner, [task.result() for task in playing], engine.counters()


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_nothing_is_lost_or_drawn_twice_whenever_weights_come(seed, slots):
    inner, said, counted = asyncio.run(asyncio.wait_for(schedule(seed, slots), 20))
    assert len(set(inner.drawn)) == len(inner.drawn) == sum(len(c.tokens) for c in said)
    assert counted["engine_discarded"] == 0
