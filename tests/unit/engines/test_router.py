import asyncio

import pytest

from quintain.engines.errors import EngineDown, EngineError, VersionMismatch
from quintain.engines.router import Router, router
from quintain.registry import build
from quintain.types import Completion, Request, Sampling, Span, Weights


class Plain:
    """An engine that answers with as many tokens as it is told, unless it is broken; it writes down what it is asked."""

    def __init__(self, tokens=2):
        self.tokens, self.version, self.asked, self.broken, self.going = tokens, 0, [], None, asyncio.Event()
        self.going.set()

    def _note(self, *what):
        self.asked.append(what)
        if self.broken is not None:
            raise self.broken

    async def generate(self, request):
        self._note("generate", request.session)
        await self.going.wait()
        if self.broken is not None:
            raise self.broken
        n = self.tokens
        spans = (Span(start=0, stop=n, version=self.version),)
        return Completion(tokens=(1,) * n, logprobs=(0.0,) * n, finish="length", spans=spans)

    async def score(self, paths):
        self._note("score", len(paths))
        return [(float(path[0]),) * len(path) for path in paths]

    async def fork(self, session, at, into):
        self._note("fork", session, at, into)

    async def abort(self, session):
        self._note("abort", session)

    async def load(self, weights):
        self._note("load", weights.version)
        self.version = weights.version

    async def pause(self):
        self._note("pause")

    async def resume(self):
        self._note("resume")

    async def close(self):
        self._note("close")


def ask(session, prompt=10, tokens=10):
    return Request(session=session, prompt=(1,) * prompt, sampling=Sampling(max_tokens=tokens))


def served(engine):
    return [what[1] for what in engine.asked if what[0] == "generate"]


@pytest.fixture
def three():
    one, two, three = Plain(), Plain(), Plain()
    return Router({"prefill": [one], "decode": [two], "cpu": [three]}), one, two, three


async def test_requests_go_where_they_suit(three):
    route, prefill, decode, cpu = three
    await route.generate(ask("long prompt", prompt=100, tokens=10))
    await route.generate(ask("long answer", prompt=10, tokens=100))
    assert (served(prefill), served(decode), served(cpu)) == (["long prompt"], ["long answer"], [])


async def test_the_length_of_answers_is_learned(three):
    route, prefill, decode, _ = three
    decode.tokens = 1
    for i in range(3):
        await route.generate(ask(f"{i}", prompt=10, tokens=100))
    # an answer was expected to be as long as it may be; those that came are short
    assert served(decode) == ["0"] and served(prefill) == ["1", "2"]


async def test_a_session_stays_where_its_prefix_is(three):
    route, prefill, decode, _ = three
    await route.generate(ask("s", prompt=100, tokens=10))
    await route.generate(ask("s", prompt=103, tokens=1000))
    assert served(prefill) == ["s", "s"] and not served(decode)
    await route.abort("s")
    assert ("abort", "s") in prefill.asked
    await route.generate(ask("s", prompt=103, tokens=2000))
    assert served(decode) == ["s"]


async def test_the_least_loaded_engine_is_taken():
    engines = [Plain() for _ in range(3)]
    for engine in engines:
        engine.going.clear()
    route = Router({"decode": engines})
    jobs = [asyncio.create_task(route.generate(ask(f"{i}", tokens=size))) for i, size in enumerate((500, 20, 30, 40))]
    await asyncio.sleep(0)
    for engine in engines:
        engine.going.set()
    await asyncio.gather(*jobs)
    assert [served(e) for e in engines] == [["0"], ["1", "3"], ["2"]]
    assert all(m.work == 0 for m in route.members)


async def test_a_fork_stays_on_its_engine(three):
    route, prefill, decode, _ = three
    await route.generate(ask("s", prompt=100, tokens=10))
    await route.fork("s", 50, "t")
    await route.generate(ask("t", prompt=50, tokens=1000))
    assert ("fork", "s", 50, "t") in prefill.asked and served(prefill) == ["s", "t"] and not served(decode)
    await route.fork("unknown", 1, "u")


async def test_a_dead_engine_loses_its_sessions_to_another(three):
    route, prefill, decode, cpu = three
    await route.generate(ask("s", prompt=100, tokens=10))
    prefill.broken = EngineDown("it burned")
    done = await route.generate(ask("s", prompt=100, tokens=10))
    assert done.finish == "length" and served(decode) == ["s"] and route.moved == 1
    decode.broken = ConnectionResetError("cable")
    await route.generate(ask("s", prompt=100, tokens=10))
    assert served(cpu) == ["s"]
    cpu.broken = EngineDown("flood")
    with pytest.raises(EngineDown, match=r"prefill0: EngineDown: it burned; decode0: .*cable; cpu0: .*flood"):
        await route.generate(ask("s"))
    for engine in (prefill, decode, cpu):
        engine.broken = None
    await route.load(Weights(version=1, kind="pointer"))  # they serve again
    await route.generate(ask("s", prompt=100, tokens=10))
    assert served(prefill)[-1] == "s"


async def test_a_refusal_is_no_death(three):
    route, prefill, _, _ = three
    prefill.broken = EngineError("no pictures")
    with pytest.raises(EngineError, match="no pictures"):
        await route.generate(ask("s", prompt=100))
    assert not any(m.down for m in route.members) and all(m.work == 0 for m in route.members)


async def test_every_engine_loads_and_is_checked(three):
    route, prefill, decode, cpu = three
    decode.broken = EngineDown("gone")
    await route.load(Weights(version=3, kind="pointer"))
    assert (prefill.version, cpu.version, route.version) == (3, 3, 3) and [m.down for m in route.members].count("") == 2

    async def lazy(weights):
        pass

    cpu.load = lazy
    with pytest.raises(VersionMismatch, match="cpu0 holds version 3 after version 4"):
        await route.load(Weights(version=4, kind="pointer"))
    del cpu.load
    for engine in (prefill, decode, cpu):
        engine.broken = EngineDown("all gone")
    with pytest.raises(EngineDown, match="every engine"):
        await route.load(Weights(version=5, kind="pointer"))


async def test_pause_and_resume_reach_all(three):
    route, *engines = three
    await route.pause()
    await route.resume()
    await route.close()
    assert all(engine.asked == [("pause",), ("resume",), ("close",)] for engine in engines)


async def test_scores_are_shared_out_in_order():
    engines = [Plain() for _ in range(2)]
    route = Router({"prefill": engines, "decode": [Plain()]})
    paths = [(i,) * 3 for i in range(5)]
    assert [s[0] for s in await route.score(paths)] == [0, 1, 2, 3, 4]
    assert [e.asked for e in engines] == [[("score", 3)], [("score", 2)]]
    engines[0].broken = EngineDown("gone")
    assert [s[0] for s in await route.score(paths)] == [0, 1, 2, 3, 4]


def test_options_are_checked():
    for wrong in ({}, {"decode": []}):
        with pytest.raises(EngineError, match="at least one engine"):
            Router(wrong)
    with pytest.raises(EngineError, match="threshold"):
        Router({"decode": [Plain()]}, threshold=1.0)
    for table in ({"count": 2}, {"name": "torch", "count": 0}):
        with pytest.raises(EngineError, match=r"pools\.decode"):
            router(None, pools={"decode": [table]})


async def test_a_router_of_a_config_runs_a_model():
    pytest.importorskip("torch")
    from quintain.models import build_model

    sizes = {
        "vocab": 32,
        "context": 64,
        "hidden": 32,
        "layers": 1,
        "heads": 2,
        "kv_heads": 2,
        "head_dim": 16,
        "ffn": 64,
    }
    model, newer = (build_model("qwen3", seed=seed, **sizes) for seed in (0, 1))
    pools = {"prefill": [{"name": "torch", "slots": 4}], "decode": [{"name": "torch", "count": 2}]}
    route = build("engine", {"name": "router", "model": model, "slots": 8, "context": 64, "pools": pools})
    assert [m.name for m in route.members] == ["prefill0", "decode0", "decode1"]
    await route.load(Weights(version=2, kind="pointer", source=newer))
    alone = build("engine", {"name": "torch", "model": newer})
    mine, theirs = await route.generate(ask("s")), await alone.generate(ask("s"))
    assert mine.tokens == theirs.tokens and mine.spans[0].version == 2
    assert await route.score([(1, 2, 3)]) == await alone.score([(1, 2, 3)])
