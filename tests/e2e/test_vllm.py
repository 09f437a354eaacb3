"""The vLLM engine against a real server (CPU build). Run by `make test-vllm` in an environment of its own."""

import asyncio
import inspect
import os
import signal
from pathlib import Path

import pytest
import pytest_asyncio

from quintain.engines.torch import TorchEngine
from quintain.engines.vllm import vllm
from quintain.engines.vllm_http import Link, Refused
from quintain.models import build_model, load_model, save_model
from quintain.types import Request, Sampling, Weights

pytestmark = pytest.mark.vllm

SIZES = {"vocab": 96, "context": 1024, "hidden": 64, "layers": 2, "heads": 2, "kv_heads": 2, "head_dim": 32, "ffn": 128}
SAME = 1e-5  # both sides compute in fp32
LONG = 300  # tokens: a server whose steps rest has not made them all before this process sees some and acts


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Three versions of a model."""
    place = tmp_path_factory.mktemp("models")
    for version in range(3):
        save_model(build_model("qwen3", seed=version, **SIZES), place / str(version))
    return [str(place / str(version)) for version in range(3)]


@pytest.fixture(scope="module")
def oracles(folders):
    """What a full forward says under each version."""
    return [TorchEngine(load_model(folder)) for folder in folders]


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """While this file exists, servers hold their steps after the first of them."""
    return tmp_path_factory.mktemp("pace") / "held"


@pytest.fixture(scope="module")
def paced(held):
    """Options of servers whose steps rest, so that tests can act in the middle of a request."""
    room = {"PYTHONPATH": str(Path(__file__).parent), "STEP_PACE": str(held)}
    return {"env": room, "args": ["--logits-processors", "step_pace:StepPace"]}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(folders, paced, tmp_path_factory):
    log = tmp_path_factory.mktemp("logs") / "server.log"
    made = vllm(folders[0], slots=16, context=SIZES["context"], log=str(log), **paced)
    yield made
    await made.close()
    assert not made.host.room.exists()


def request(session, tokens=200, seed=0, **more):
    return Request(session=session, prompt=(1, 2, 3), sampling=Sampling(max_tokens=tokens, **more), key=(seed, 1))


async def flying(engine, session, tokens):
    """Wait until the request of a session has got some tokens."""
    async with asyncio.timeout(120):
        while not any(len(f.tokens) >= tokens for f in engine._flights.get(session, ())):  # noqa: ASYNC110
            await asyncio.sleep(0.002)


async def full(oracle, got):
    return (await oracle.score([(1, 2, 3, *got.tokens)]))[0][3:]


def gap(some, others):
    assert len(some) == len(others)
    return max(abs(a - b) for a, b in zip(some, others, strict=True))


async def fresh(engine, folders, version):
    await engine.load(Weights(version=version, kind="file", source=folders[version]))


@pytest.mark.asyncio(loop_scope="module")
async def test_logprobs_and_scores_are_those_of_the_model(engine, folders, oracles):
    await fresh(engine, folders, 0)
    got = await engine.generate(request("a", tokens=40, top_logprobs=4))
    assert got.finish == "length" and [s.version for s in got.spans] == [0]
    assert gap(got.logprobs, await full(oracles[0], got)) < SAME
    paths = [(5,), (7, 8, 9), tuple(range(90)), (1,) * 256]
    for mine, theirs in zip(await engine.score(paths), await oracles[0].score(paths), strict=True):
        assert gap(mine, theirs) < SAME


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "cuts", [{"temperature": 0.7}, {"top_k": 5}, {"top_p": 0.6}, {"min_p": 0.5}, {"temperature": 0.0}]
)
async def test_logprobs_are_of_the_distribution_that_was_sampled_from(engine, folders, oracles, cuts):
    await fresh(engine, folders, 0)
    mine = await engine.generate(request("c", tokens=1, top_logprobs=8, **cuts))
    theirs = await oracles[0].generate(request("", tokens=1, top_logprobs=8, **cuts))
    assert dict(zip(mine.top_ids[0], mine.top_logprobs[0], strict=True)) == pytest.approx(
        dict(zip(theirs.top_ids[0], theirs.top_logprobs[0], strict=True)), abs=SAME
    )
    if mine.tokens[0] in mine.top_ids[0]:
        assert mine.logprobs[0] == mine.top_logprobs[0][mine.top_ids[0].index(mine.tokens[0])]


@pytest.mark.asyncio(loop_scope="module")
async def test_the_same_key_gives_the_same_tokens(engine, folders):
    await fresh(engine, folders, 0)
    one = await engine.generate(request("d", tokens=30, seed=5))
    same, other = await asyncio.gather(
        engine.generate(request("e", tokens=30, seed=5)), engine.generate(request("f", tokens=30, seed=6))
    )
    assert one.tokens == same.tokens != other.tokens
    stopped = await engine.generate(request("d", tokens=30, seed=5, stop=(one.tokens[4],)))
    first = one.tokens.index(one.tokens[4])
    assert stopped.tokens == one.tokens[: first + 1] and stopped.finish == "stop"


@pytest.mark.asyncio(loop_scope="module")
async def test_each_span_is_a_full_forward_under_its_own_weights(engine, folders, oracles):
    await fresh(engine, folders, 0)
    job = asyncio.create_task(engine.generate(request("swap", tokens=LONG)))
    await flying(engine, "swap", 20)
    await fresh(engine, folders, 1)
    await flying(engine, "swap", 60)
    await fresh(engine, folders, 2)
    got = await job
    assert [s.version for s in got.spans] == [0, 1, 2] and len(got.tokens) == LONG
    for span in got.spans:
        mine = got.logprobs[span.start : span.stop]
        for version, oracle in enumerate(oracles):
            told = gap(mine, (await full(oracle, got))[span.start : span.stop])
            assert (told < SAME) == (version == span.version), (span, version, told)


@pytest.mark.asyncio(loop_scope="module")
async def test_an_abort_returns_what_is_there_and_frees_the_rest(engine, folders, oracles):
    await fresh(engine, folders, 1)
    job, other = (
        asyncio.create_task(engine.generate(request(name, seed=9, tokens=LONG))) for name in ("gone", "stays")
    )
    await flying(engine, "gone", 10)
    await engine.abort("gone")
    got = await job
    assert got.finish == "abort" and 10 <= len(got.tokens) < LONG and got.spans[-1].stop == len(got.tokens)
    assert gap(got.logprobs, await full(oracles[1], got)) < SAME
    assert len((await other).tokens) == LONG


@pytest.mark.asyncio(loop_scope="module")
async def test_a_request_survives_pause_load_resume(engine, folders, oracles):
    await fresh(engine, folders, 0)
    job = asyncio.create_task(engine.generate(request("held", tokens=LONG)))
    await flying(engine, "held", 10)
    await engine.pause()
    await fresh(engine, folders, 2)
    await asyncio.sleep(0.3)  # what would come, has come
    before = len(next(iter(engine._flights["held"])).tokens)
    waiting = asyncio.create_task(engine.generate(request("new", tokens=3)))
    await asyncio.sleep(0.3)
    assert len(next(iter(engine._flights["held"])).tokens) == before and not waiting.done()
    await engine.resume()
    got = await job
    assert [s.version for s in got.spans] == [0, 2] and got.spans[0].stop == before
    assert gap(got.logprobs[before:], (await full(oracles[2], got))[before:]) < SAME
    assert [s.version for s in (await waiting).spans] == [2]


@pytest.mark.asyncio(loop_scope="module")
async def test_only_the_key_opens_the_door(engine, folders):
    await fresh(engine, folders, 0)
    link = await engine.host.up()
    with pytest.raises(Refused, match="401"):
        await Link(link.address, "wrong").ask("POST", "/inference/v1/generate", {})
    assert link.address.startswith("unix:") and os.stat(engine.host.room).st_mode & 0o077 == 0


@pytest.mark.asyncio(loop_scope="module")
async def test_a_killed_server_is_replaced_with_the_newest_weights(engine, folders, oracles, held):
    await fresh(engine, folders, 1)
    held.touch()
    job = asyncio.create_task(engine.generate(request("killed", tokens=LONG)))
    await flying(engine, "killed", 30)
    dead, before = engine.server.pid, engine.stats["restarts"]
    os.kill(dead, signal.SIGKILL)
    held.unlink()
    got = await job
    assert len(got.tokens) == LONG and [s.version for s in got.spans] == [1]
    assert gap(got.logprobs, await full(oracles[1], got)) < SAME
    assert engine.stats["restarts"] == before + 1 and engine.server.pid != dead


def test_the_trainer_side_of_vllm_is_as_we_call_it():
    from vllm.distributed.weight_transfer.base import VLLMWeightSyncClient
    from vllm.distributed.weight_transfer.ipc_engine import IPCTrainerInitInfo, IPCTrainerWeightTransferEngine
    from vllm.distributed.weight_transfer.nccl_engine import NCCLTrainerInitInfo, NCCLTrainerWeightTransferEngine

    from quintain.engines.vllm_transfer import Client

    assert isinstance(Client(print), VLLMWeightSyncClient)
    assert NCCLTrainerInitInfo("127.0.0.1", 1, 2, rank=0).is_sender and IPCTrainerInitInfo(rank=0, packed=True).packed
    for engine in (IPCTrainerWeightTransferEngine, NCCLTrainerWeightTransferEngine):
        assert {"client", "source"} <= inspect.signature(engine.trainer_init).parameters.keys()


@pytest.mark.asyncio(loop_scope="module")
async def test_adapters_travel_alone(paced):
    from quintain.learn.lora import add_lora

    model = add_lora(build_model("qwen3", seed=4, **SIZES), r=4)
    engine = vllm(model, slots=8, context=SIZES["context"], sync="lora", lora_rank=8, **paced)
    try:
        await engine.load(Weights(version=0, kind="pointer", source=model))
        for version in (1, 2):
            for name, weight in model.named_parameters():
                if "lora_B" in name:
                    weight.data.add_(0.05 * version)
            job = asyncio.create_task(engine.generate(request("lora", tokens=LONG)))
            await flying(engine, "lora", 10)
            await engine.pause()
            await engine.load(Weights(version=version, kind="pointer", source=model))
            await engine.resume()
            got = await job
            assert [s.version for s in got.spans] == [version - 1, version]
            last = got.spans[-1].start
            assert gap(got.logprobs[last:], (await full(TorchEngine(model), got))[last:]) < SAME
    finally:
        await engine.close()
