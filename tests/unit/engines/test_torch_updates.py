"""New weights while requests run: drain, in flight, pinned, interrupted; who goes first; nothing lost or drawn twice."""

from __future__ import annotations

import asyncio
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from quintain.engines.torch import EngineError, TorchEngine, Updates
from quintain.engines.torch_run import Done
from quintain.engines.torch_sample import Drawn, noise_key
from quintain.engines.torch_weights import WeightsError
from quintain.models import build_model
from quintain.ports import Engine
from quintain.registry import build
from quintain.types import Request, Sampling, Weights

VOCAB = 60


def make_model(seed=0):
    sizes = {"vocab": VOCAB, "hidden": 32, "layers": 2, "heads": 4, "kv_heads": 2, "ffn": 48, "context": 256}
    model = build_model("qwen3", seed=seed, **sizes)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(4)
    return model


def ask(session, prompt, max_tokens=6, key=(0,), **more):
    return Request(session=session, prompt=tuple(prompt), sampling=Sampling(max_tokens=max_tokens, **more), key=key)


def prompt_of(i, length=None):
    return tuple((7 * i + 3 * j * j) % VOCAB for j in range(length or 5 + i % 7))


def weights(version, seed=None):
    return Weights(version=version, kind="pointer", source=make_model(version if seed is None else seed))


@pytest.fixture(params=[True, False], ids=["inline", "thread"])
def engine(request, device):
    return lambda *updates, slots=8, **more: TorchEngine(
        make_model().to(device), slots=slots, inline=request.param, updates=Updates(*updates), **more
    )


async def until(engine, condition):
    while not condition(engine.stats):  # noqa: ASYNC110
        await asyncio.sleep(0)


def versions(completion):
    return [span.version for span in completion.spans]


class Machine:
    """A model of a model: every token is a function of its noise key and index; it notes what it was asked for."""

    device, parameters, context, vocab = torch.device("cpu"), 0, 10**6, VOCAB

    def __init__(self):
        self.version, self.older, self.most, self.drawn, self.log = 0, {}, 0, [], []

    async def step(self, work):
        await asyncio.sleep(0)
        version = work.version if work.version in self.older else self.version
        self.log.append([work.noise[i] for i in range(len(work.noise))])
        self.drawn += list(zip(work.noise, work.indices, strict=True))
        tokens = [(noise + 31 * index) % VOCAB for noise, index in zip(work.noise, work.indices, strict=True)]
        return Done(Drawn(tokens, [-1.0] * len(tokens), [()] * len(tokens), [()] * len(tokens)), version, 0.0, 0.0)

    async def load(self, weights, keep=False):
        await asyncio.sleep(0)
        if keep:
            self.older[self.version] = True
        self.version = weights.version
        self.most = max(self.most, 1 + len(self.older))

    def forget(self, version):
        self.older.pop(version, None)

    def copy(self, sources, targets, tokens):
        pass

    def check_ids(self, ids):
        pass


# -- drain ---------------------------------------------------------------------------------------------------------


async def test_drain_lets_running_requests_end_and_none_start(engine):
    port = engine("drain", slots=2)
    running = [asyncio.create_task(port.generate(ask(f"r{i}", prompt_of(i), 20, (0, i)))) for i in range(2)]
    await until(port, lambda stats: stats.generated > 4)
    behind = asyncio.create_task(port.generate(ask("b", prompt_of(3), 4, (0, 3))))
    loading = asyncio.create_task(port.load(weights(1)))
    assert [versions(c) for c in await asyncio.gather(*running)] == [[0], [0]]
    assert not behind.done()
    await loading
    assert versions(await behind) == [1]
    counted = port.counters()
    assert counted["engine_drained_s"] > 0 == port.counters()["engine_drained_s"]


async def test_drain_needs_an_engine_that_goes_on(engine):
    port = engine("drain")
    running = asyncio.create_task(port.generate(ask("a", prompt_of(1), 50)))
    await until(port, lambda stats: stats.generated > 2)
    await port.pause()
    with pytest.raises(EngineError, match="resume it first"):
        await port.load(weights(1))
    await port.resume()
    assert versions(await running) == [0]
    await port.load(weights(1))
    assert port.version == 1


# -- in flight -----------------------------------------------------------------------------------------------------


async def test_in_flight_requests_go_on_with_the_new_weights(engine):
    port = engine()
    running = asyncio.create_task(port.generate(ask("a", prompt_of(1), 40)))
    await until(port, lambda stats: stats.generated > 4)
    await port.load(weights(1))
    completion = await running
    assert versions(completion) == [0, 1] and len(completion.tokens) == 40


# -- interrupted ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refresh", [False, True])
async def test_an_interrupted_request_goes_on_as_if_nothing_had_been(engine, refresh):
    asked = [ask(f"s{i}", prompt_of(i), 30, (0, i)) for i in range(5)]
    whole = await asyncio.gather(*map(engine(slots=3).generate, asked))
    port = engine("in_flight", "pause", slots=3, refresh=refresh)
    tasks = [asyncio.create_task(port.generate(request)) for request in asked]
    for step in (10, 40, 70):
        await until(port, lambda stats, step=step: stats.generated > step)
        await port.load(Weights(version=port.version + 1, kind="pointer", source=make_model()))  # equal weights
    for one, other in zip(whole, await asyncio.gather(*tasks), strict=True):
        assert one.tokens == other.tokens and one.finish == other.finish
        assert max(abs(a - b) for a, b in zip(one.logprobs, other.logprobs, strict=True)) < 2e-5
    counted = port.counters()
    assert counted["engine_interrupted"] >= 6 and counted["engine_carried"] > 30 and not counted["engine_discarded"]
    assert port.stats.generated == 150, "no token was drawn twice"


async def test_interrupted_requests_go_first_and_can_be_aborted(engine):
    port = engine("in_flight", "pause", slots=1)
    old = asyncio.create_task(port.generate(ask("old", prompt_of(1), 30, (0, 5))))
    await until(port, lambda stats: stats.generated > 4)
    ended = []
    old.add_done_callback(lambda _: ended.append("old"))
    older = asyncio.create_task(port.generate(ask("older", prompt_of(2), 3, (0, 1))))
    older.add_done_callback(lambda _: ended.append("older"))
    await port.load(weights(1))
    await asyncio.gather(old, older)
    assert ended == ["old", "older"] and versions(old.result()) == [0, 1]
    cut = asyncio.create_task(port.generate(ask("cut", prompt_of(1), 90, (0, 5))))
    await until(port, lambda stats: stats.generated > 40)
    loading = asyncio.create_task(port.load(weights(2)))
    await port.abort("cut")
    await loading
    completion = await cut
    assert completion.finish == "abort" and 0 < len(completion.tokens) < 90


async def test_an_interrupted_request_whose_slot_was_taken_still_goes_first():
    machine, gate = Machine(), asyncio.Event()
    take = machine.load

    async def late(weights, keep=False):
        await gate.wait()
        await take(weights, keep)

    machine.load = late
    port = TorchEngine(machine, slots=2, inline=True, updates=Updates("in_flight", "pause"))
    await port.generate(ask("source", (1, 2, 3), 2, (0, 0)))
    ended = []
    old = asyncio.create_task(port.generate(ask("old", (1,), 30, (0, 9))))
    old.add_done_callback(lambda _: ended.append("old"))
    await until(port, lambda stats: stats.running == 1 and stats.generated > 5)
    loading = asyncio.create_task(port.load(Weights(version=1, kind="pointer")))
    for _ in range(10):
        await asyncio.sleep(0)
    forking = asyncio.create_task(port.fork("source", 2, "branch"))
    behind = [asyncio.create_task(port.generate(ask(f"b{i}", (1,), 40, (0, i)))) for i in (1, 2, 3)]
    for task in behind:
        task.add_done_callback(lambda _: ended.append("behind"))
    await asyncio.sleep(0)
    assert "old" not in port._jobs.seats.sessions, "the branch took its slot"
    gate.set()
    await asyncio.gather(loading, forking, old, *behind)
    assert ended[0] == "old" and len(machine.drawn) == len(set(machine.drawn))


# -- pinned --------------------------------------------------------------------------------------------------------


async def test_a_pinned_session_keeps_its_version_until_it_is_aborted(engine):
    old = TorchEngine(make_model(), inline=True)
    port = engine("pinned", "run", 3)
    first = prompt_of(1)
    said = await port.generate(ask("a", first, 3, (0, 1)))
    await port.load(weights(1))
    second = (*first, *said.tokens, 5, 6)
    both = await asyncio.gather(
        port.generate(ask("a", second, 12, (0, 1))), port.generate(ask("b", second, 12, (0, 1)))
    )
    assert [versions(c) for c in both] == [[0], [1]]
    assert both[0].tokens == (await old.generate(ask("", second, 12, (0, 1)))).tokens != both[1].tokens
    assert port.stats.versions == 2 and both[0].usage["reused"] == len(first) + 2
    await port.fork("a", 4, "c")
    await port.abort("a")
    assert versions(await port.generate(ask("c", second, 2))) == [0], "a branch is the same episode"
    await port.abort("c")
    assert port.stats.versions == 1
    assert versions(await port.generate(ask("a", first, 2))) == [1]


async def test_pinned_versions_are_bounded_and_the_oldest_sessions_move_on(engine):
    port = engine("pinned", "run", 2)
    for version in range(4):
        await port.generate(ask(f"s{version}", prompt_of(version), 2))
        await port.load(weights(version + 1))
        assert port.stats.versions <= 2
    assert port.counters()["engine_moved"] == 6
    assert versions(await port.generate(ask("s0", prompt_of(0), 2))) == [3]
    single = engine("pinned", "run", 1)
    running = asyncio.create_task(single.generate(ask("a", prompt_of(1), 40)))
    await until(single, lambda stats: stats.generated > 4)
    await single.load(weights(1))
    assert versions(await running) == [0, 1] and single.stats.versions == 1


async def test_weights_that_a_learner_changes_in_place_cannot_be_pinned():
    model = make_model()
    port = TorchEngine(model, inline=True, updates=Updates("pinned"))
    await port.generate(ask("a", prompt_of(1)))
    with pytest.raises(WeightsError, match="copy of the model"):
        await port.load(Weights(version=1, kind="pointer", source=model))
    await port.abort("a")
    await port.load(Weights(version=1, kind="pointer", source=model))
    assert port.version == 1


# -- all of them on random schedules -------------------------------------------------------------------------------


async def schedule(updates, slots, seed, rough=True):
    """Episodes of several turns, loads, aborts and departures at random; what each session was told."""
    rng, machine = random.Random(seed), Machine()
    port = TorchEngine(machine, slots=slots, inline=True, updates=updates)
    turns, lost = {}, []

    async def episode(i):
        path, session = prompt_of(i), f"s{i}"
        turns[session] = []
        for turn in range(rng.randrange(1, 4)):
            for _ in range(rng.randrange(30)):
                await asyncio.sleep(0)
            limit = rng.randrange(1, 12)
            completion = await port.generate(ask(session, path, limit, (0, i, 0, turn, 0)))
            turns[session].append((completion, limit, noise_key((0, i, 0, turn, 0))))
            path = (*path, *completion.tokens, 1, 2)
        await port.abort(session)

    async def disturb(playing):
        while not all(task.done() for task in playing):
            for _ in range(rng.randrange(25)):
                await asyncio.sleep(0)
            act = rng.random()
            if act < 0.7 or not rough:
                await port.load(Weights(version=port.version + 1, kind="pointer"))
            elif act < 0.85:
                await port.abort(f"s{rng.randrange(len(playing))}")
            else:
                task = rng.choice(playing)
                lost.append(task)
                task.cancel()

    playing = [asyncio.create_task(episode(i)) for i in range(10)]
    await asyncio.wait_for(disturb(playing), 20)
    await asyncio.gather(*playing, return_exceptions=True)
    for i in range(10):
        await port.abort(f"s{i}")
    for _ in range(20):
        await asyncio.sleep(0)
    return port, machine, turns, lost


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(["in_flight", "drain", "pinned"]),
    *(st.sampled_from(["run", "pause"]), st.integers(1, 4), st.integers(1, 5), st.integers(0, 10**6)),
)
def test_spans_are_true_and_no_token_is_lost_or_drawn_twice(update, during, held, slots, seed):
    port, machine, turns, lost = asyncio.run(schedule(Updates(update, during, held), slots, seed))
    assert len(set(machine.drawn)) == len(machine.drawn), "a token was drawn twice"
    told = 0
    for said in turns.values():
        for completion, limit, noise in said:
            told += len(completion.tokens)
            assert completion.tokens == tuple((noise + 31 * i) % VOCAB for i in range(len(completion.tokens)))
            assert versions(completion) == sorted(set(versions(completion)))
            assert completion.finish == "abort" or len(completion.tokens) == limit
            assert update != "drain" or len(completion.spans) <= 1
    stats = port.stats
    assert len(machine.drawn) == told + stats.discarded or (lost and len(machine.drawn) > told + stats.discarded)
    assert lost or not stats.discarded
    assert machine.most <= (held if update == "pinned" else 1) and not machine.older, "copies of weights stay"
    assert stats.running == stats.waiting == stats.sessions == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(0, 10**6))
def test_a_pinned_episode_has_one_version_where_enough_are_held(slots, seed):
    port, _, turns, _ = asyncio.run(schedule(Updates("pinned", "run", 10**6), slots, seed, rough=False))
    assert all(len({v for c, *_ in said for v in versions(c)}) == 1 for said in turns.values())
    assert port.stats.moved == 0


# -- who goes first ------------------------------------------------------------------------------------------------


async def order_of(keys, slots=1):
    machine = Machine()
    port = TorchEngine(machine, slots=slots, inline=True)
    first = asyncio.create_task(port.generate(ask("first", (1,), 30, (0, 0))))
    await until(port, lambda stats: stats.generated > 3)
    ended = []
    for key in keys:
        task = asyncio.create_task(port.generate(ask(f"{key}", (1,), 2, key)))
        task.add_done_callback(lambda _, key=key: ended.append(key))
        for _ in range(8):
            await asyncio.sleep(0)
    await first
    while len(ended) < len(keys):  # noqa: ASYNC110
        await asyncio.sleep(0)
    return ended


async def test_older_tickets_go_first_and_episodes_that_have_begun_before_new_ones():
    keys = [(0, 7, 0, 0, 0), (0, 3, 1, 0, 0), (0, 9, 0, 4, 0), (0, 3, 2, 5, 0), (0, 3, 0, 0, 0)]
    assert await order_of(keys) == [keys[3], keys[4], keys[1], keys[0], keys[2]]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3), st.integers(0, 10**6))
def test_no_old_ticket_starves_while_young_ones_keep_coming(slots, seed):
    async def play():
        rng, machine = random.Random(seed), Machine()
        port = TorchEngine(machine, slots=slots, inline=True)
        flood = []

        async def young(i):
            for turn in range(3):
                await port.generate(ask(f"y{i}", (1,) * (turn + 1), rng.randrange(1, 6), (0, 100 + i, 0, turn, 0)))
            await port.abort(f"y{i}")
            flood.append(asyncio.create_task(young(i + 50)))

        flood += [asyncio.create_task(young(i)) for i in range(12)]
        await until(port, lambda stats: stats.generated > 20)
        began = port.stats.generated
        await port.generate(ask("old", (2,), 5, (0, 3, 0, 0, 0)))
        waited = port.stats.generated - began
        for task in flood:
            task.cancel()
        await asyncio.gather(*flood, return_exceptions=True)
        return waited

    assert asyncio.run(asyncio.wait_for(play(), 20)) <= slots * (3 * 5 + 5 + 5)


# -- the rest ------------------------------------------------------------------------------------------------------


def test_what_is_asked_for_is_checked_and_built():
    for bad in (("hope",), ("drain", "hope"), ("pinned", "run", 0)):
        with pytest.raises(EngineError):
            Updates(*bad).checked()
    made = build("engine", {"name": "torch", "model": make_model(), "update": "pinned", "versions": 3})
    assert isinstance(made, Engine)
