"""Draws, scenarios, gauges, and one engine replica against closed forms."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from quintain.registry import UnknownName
from quintain.runtime import clock
from quintain.simulate import draws, settings
from quintain.simulate.draws import DrawError
from quintain.simulate.levers import LEVERS, turned
from quintain.simulate.meter import Gauge, Meter
from quintain.simulate.replica import Job, Lost, Replica
from quintain.simulate.settings import EnginePart, EnginesPart, ScenarioError


def test_a_lognormal_has_the_quantiles_that_it_is_told() -> None:
    draw, rng = draws.make({"p50": 2.0, "p99": 20.0}), Random(3)
    values = sorted(draw(rng) for _ in range(20_000))
    assert values[10_000] == pytest.approx(2.0, rel=0.05)
    assert values[19_800] == pytest.approx(20.0, rel=0.15)


def test_draws_are_clipped_and_replayed() -> None:
    rng = Random(0)
    assert max(draws.make({"p50": 2.0, "p99": 20.0, "max": 5.0})(rng) for _ in range(500)) == 5.0
    assert {draws.make({"values": [1, 7]})(rng) for _ in range(50)} == {1.0, 7.0}
    assert draws.mean({"mean": 3.0}) == pytest.approx(3.0, rel=0.1)


@pytest.mark.parametrize(
    "spec",
    [{}, {"p50": 1}, {"p50": 3, "p99": 1}, {"low": 2, "high": 1}, {"values": []}, {"mean": 1, "min": 3, "max": 2}],
)
def test_a_distribution_without_meaning_is_refused(spec: dict) -> None:
    with pytest.raises(DrawError):
        draws.make(spec)


def test_the_generator_of_a_key_is_its_own() -> None:
    keys = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)]
    assert len({draws.generator(*k).random() for k in keys}) == 4
    assert draws.generator(5, 6).random() == draws.generator(5, 6).random()


@pytest.mark.parametrize(
    ("override", "error", "words"),
    [
        ("run.max_lagg=1", UnknownName, r"did you mean 'max_lag'\? \(in run\)"),
        ("engines.big.slotts=1", UnknownName, r"did you mean 'slots'\? \(in engines.big\)"),
        ("env.step_s=slow", ScenarioError, "env.step_s is 'slow': input should be a valid number"),
        ("run.max_lag=-1", ScenarioError, "greater than or equal to 0"),
        ("env.step_s={p50=1}", ScenarioError, "a distribution is a number"),
        ("engine.update=sometimes", ScenarioError, "in_flight"),
        ("nonsense", ScenarioError, "key=value, such as run.max_lag=2"),
        ("=1", ScenarioError, "key=value"),
    ],
)
def test_a_wrong_key_or_value_is_named(override: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        settings.make({}, [override])


def test_a_missing_or_broken_file_is_named(tmp_path) -> None:
    with pytest.raises(ScenarioError, match="there is no file"):
        settings.read(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("run = [")
    with pytest.raises(ScenarioError, match="is not TOML"):
        settings.read(tmp_path / "bad.toml")


def test_every_lever_turns_something_and_nothing_else() -> None:
    tree = {
        "env": {"count": 8, "errors": 0.1, "step_s": {"p50": 1, "p99": 4}, "reset_s": 1.0},
        "task": {"t": {"turns": 4, "turn_tokens": {"p50": 10, "p99": 90}}},
        "engines": {"e": {"prefill_tokens_s": 100.0}},
        "reward": {"workers": 4, "seconds": 1.0},
        "learner": {"gpu_token_s": 1e-3},
        "engine": {"sync_s": 1.0},
        "failures": {"gpu_per_day": 1.0},
    }
    scenario = settings.make(tree)
    for lever in LEVERS:
        for factor in (0.5, 2.0):
            assert turned(scenario, lever, factor) is not None, lever.name
    assert turned(settings.make({}), next(x for x in LEVERS if x.name == "rewards"), 2.0) is None


def test_a_gauge_integrates() -> None:
    async def main() -> tuple[float, float]:
        gauge = Gauge(asyncio.get_running_loop())
        gauge.set(2)
        await asyncio.sleep(3)
        gauge.add(1)
        await asyncio.sleep(4)
        return gauge.total(), gauge.value

    assert clock.run(main()) == (2 * 3 + 3 * 4, 3)


def replica(options: dict | None = None, **spec) -> Replica:
    meter = Meter(asyncio.get_running_loop())
    return Replica(EnginesPart(**{"token_s": 0.1, "slots": 2, **spec}), EnginePart(**(options or {})), meter, 0)


async def finish(engine: Replica, tokens: float, context: float = 0.0, order: int = 0) -> float:
    await engine.submit(Job(tokens, context, context, order, None))
    return engine.loop.time()


def test_requests_share_the_pace_of_a_replica() -> None:
    async def main() -> list[float]:
        engine = replica(token_active_s=0.1)
        return await asyncio.gather(finish(engine, 10), finish(engine, 20))

    # together a token takes 0.1 + 2 * 0.1 s; alone 0.2 s: 10 tokens in 3 s, the other 10 in 2 s
    assert clock.run(main()) == pytest.approx([3.0, 5.0])


def test_requests_beyond_the_slots_wait_and_old_ones_may_go_first() -> None:
    async def main(queue: str) -> list[float]:
        engine = replica({"queue": queue}, slots=1)
        jobs = [finish(engine, 10, order=o) for o in (5, 9, 7)]
        return await asyncio.gather(*jobs)

    assert clock.run(main("fifo")) == pytest.approx([1.0, 2.0, 3.0])
    assert clock.run(main("oldest")) == pytest.approx([1.0, 3.0, 2.0])


def test_context_must_fit_and_a_prefill_holds_decoding_up() -> None:
    async def main() -> list[float]:
        engine = replica(kv_tokens=100, prefill_tokens_s=50.0)
        return await asyncio.gather(finish(engine, 10, 50), finish(engine, 10, 50))

    # 50 + 10 tokens of context twice do not fit into 100: one after the other, each 1 s of prefill and 1 s of tokens
    assert clock.run(main()) == pytest.approx([2.0, 4.0])

    async def beside(interference: float) -> list[float]:
        engine = replica(prefill_tokens_s=50.0, interference=interference)
        first = asyncio.create_task(finish(engine, 20))
        await asyncio.sleep(1)
        return [await finish(engine, 10, 50), await first]

    assert clock.run(beside(1.0)) == pytest.approx([3.0, 3.0])  # the first stands still from second 1 to 2
    assert clock.run(beside(0.0)) == pytest.approx([3.0, 2.0])


@pytest.mark.parametrize(("update", "done"), [("in_flight", 3.0), ("drain", 2.0), ("pinned", 2.0)])
def test_how_new_weights_arrive(update: str, done: float) -> None:
    async def main() -> tuple[float, int, float, int]:
        engine = replica({"update": update, "sync_s": 1.0})
        job = Job(20, 0, 0, 0, None)
        running = engine.submit(job)
        await asyncio.sleep(1)
        load = asyncio.create_task(engine.update(7, False))
        await asyncio.sleep(0.5)
        late = Job(5, 0, 0, 0, None)
        then = engine.submit(late)
        await running
        ended = engine.loop.time()
        await then
        await load
        return ended, job.version, engine.loop.time(), late.version

    ended, version, _, late = clock.run(main())
    assert ended == pytest.approx(done) and version == 0
    assert late == (
        0 if update == "pinned" else 7
    )  # a pinned replica goes on with what it has until the new weights are there


def test_a_cache_that_is_computed_anew_holds_the_replica_up_but_not_the_learner() -> None:
    async def main() -> tuple[float, float]:
        engine = replica({"recompute": True, "sync_s": 1.0}, prefill_tokens_s=10.0)
        running = asyncio.create_task(finish(engine, 20, 10))  # 1 s of prefill, then 10 tokens a second
        await asyncio.sleep(2)
        await engine.update(1, False)
        loaded = engine.loop.time()
        return loaded, await running

    # 10 tokens of context and 10 said: 2 s anew, after the 1 s of the update
    assert clock.run(main()) == pytest.approx((3.0, 6.0))


def test_two_pinned_versions_cost_two_passes() -> None:
    async def main() -> list[float]:
        engine = replica({"update": "pinned"})
        return await asyncio.gather(*(asyncio.shield(engine.submit(Job(10, 0, 0, 0, v))) for v in (1, 2))) and [
            engine.loop.time()
        ]

    assert clock.run(main()) == pytest.approx([2.0])


def test_a_fall_tells_how_much_was_said_and_a_release_goes_on() -> None:
    async def main() -> tuple[float, float]:
        engine = replica()
        running = engine.submit(Job(20, 0, 0, 0, None))
        await asyncio.sleep(1)
        engine.fall("down")
        with pytest.raises(Lost) as lost:
            await running
        waits = asyncio.create_task(finish(engine, 10))
        await asyncio.sleep(5)
        engine.release("down")
        return lost.value.tokens, await waits

    assert clock.run(main()) == pytest.approx((10.0, 7.0))


def test_a_request_that_is_taken_back_frees_its_slot() -> None:
    async def main() -> tuple[float, float]:
        engine = replica(slots=1)
        job = Job(100, 0, 0, 0, None)
        engine.submit(job)
        waits = asyncio.create_task(finish(engine, 10))
        await asyncio.sleep(1)
        return engine.drop(job), await waits

    assert clock.run(main()) == pytest.approx((10.0, 2.0))
