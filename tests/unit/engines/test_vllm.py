import asyncio
import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.programs import ended

from quintain.engines.errors import EngineDown, EngineError, VersionMismatch
from quintain.engines.vllm import VllmEngine, vllm
from quintain.engines.vllm_http import Gone, Link, Refused
from quintain.engines.vllm_server import Settings, command, environment
from quintain.engines.vllm_transfer import Client, Sender
from quintain.engines.vllm_weights import WeightsRefused, check_like, shapes
from quintain.registry import MissingExtra, UnknownName
from quintain.testing.vllm_server import FakeVllm, token
from quintain.types import Request, Sampling, Weights

PATH = (1, 2, 3)


def folder_of(place, rows=4, name="w"):
    """A model folder with one tensor, written without torch."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "config.json").write_text(json.dumps({"vocab_size": 64, "max_position_embeddings": 64}))
    header = json.dumps({name: {"dtype": "F32", "shape": [rows, 2], "data_offsets": [0, rows * 8]}}).encode()
    (place / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * rows * 8)
    return str(place)


def request(session="a", tokens=8, **more):
    return Request(session=session, prompt=PATH, sampling=Sampling(max_tokens=tokens, **more), key=(0, 1))


@contextlib.asynccontextmanager
async def remote(tmp_path, gate=None, key="", **options):
    """An engine in front of a fake server in this loop."""
    fake = FakeVllm(key, gate)
    url = await fake.listen()
    engine = vllm(folder_of(tmp_path / "model"), url=url, **options)
    try:
        yield engine, fake
    finally:
        await engine.close()
        await fake.close()


class Gate:
    """Lets each request have as many tokens as `allowed`."""

    def __init__(self, allowed):
        self.allowed, self.given, self.moved = allowed, {}, asyncio.Condition()

    async def __call__(self, body):
        name = body["request_id"]
        async with self.moved:
            await self.moved.wait_for(lambda: self.given.get(name, 0) < self.allowed)
            self.given[name] = self.given.get(name, 0) + 1

    async def let(self, allowed):
        async with self.moved:
            self.allowed = allowed
            self.moved.notify_all()


async def until(true):
    async with asyncio.timeout(20):
        for _ in iter(true, True):
            await asyncio.sleep(0.002)


def flight(engine):
    return next(iter(next(iter(engine._flights.values()))))


async def test_tokens_come_with_logprobs_and_versions(tmp_path):
    async with remote(tmp_path) as (engine, fake):
        got = await engine.generate(request(tokens=5, top_logprobs=2))
        sent = next(body for path, body in fake.calls if path == "/inference/v1/generate")
        assert sent["token_ids"] == [1, 2, 3] and sent["sampling_params"]["ignore_eos"]
        assert sent["sampling_params"]["logprobs"] == 3
        expected = [token(sent["sampling_params"]["seed"], 3 + i, 0) for i in range(5)]
        assert list(zip(got.tokens, got.logprobs, strict=True)) == expected
        assert got.finish == "length" and [(s.start, s.stop, s.version) for s in got.spans] == [(0, 5, 0)]
        # best first; what was cut is not there
        assert got.top_ids[0] == ((got.tokens[0] + 1) % 64, got.tokens[0]) and got.top_logprobs[0][0] == -0.5


async def test_noise_is_a_function_of_the_key(tmp_path):
    async with remote(tmp_path) as (engine, _):
        one, same = await asyncio.gather(*[engine.generate(request(tokens=5)) for _ in range(2)])
        other = await engine.generate(Request(session="", prompt=PATH, sampling=Sampling(max_tokens=5), key=(0, 2)))
        assert one == same and one.tokens != other.tokens


async def test_stop_tokens_end_and_stay(tmp_path):
    async with remote(tmp_path) as (engine, _):
        free = await engine.generate(request(tokens=6))
        got = await engine.generate(request(tokens=6, stop=(free.tokens[2],)))
        assert got.tokens == free.tokens[:3] and got.finish == "stop"


async def test_greedy_was_certain(tmp_path):
    async with remote(tmp_path) as (engine, _):
        got = await engine.generate(request(tokens=2, temperature=0.0, top_logprobs=4))
        assert got.logprobs == (0.0, 0.0) and got.top_ids == tuple((t,) for t in got.tokens)


async def test_the_context_ends_a_path(tmp_path):
    async with remote(tmp_path, context=5) as (engine, fake):
        got = await engine.generate(request(tokens=50))
        assert (len(got.tokens), got.finish) == (2, "length")
        full = await engine.generate(Request(session="", prompt=(1,) * 5, sampling=Sampling()))
        assert (full.tokens, full.finish) == ((), "length")
        assert sum(path == "/inference/v1/generate" for path, _ in fake.calls) == 1


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"prompt": ()}, "empty prompt"),
        ({"prompt": (1, 64)}, "token id 64"),
        ({"prompt": (1,), "sampling": Sampling(temperature=0.001)}, "temperature 0.001"),
    ],
)
async def test_what_would_harm_the_server_is_refused_here(tmp_path, wrong, told):
    async with remote(tmp_path) as (engine, fake):
        with pytest.raises(EngineError, match=told):
            await engine.generate(Request(**{"session": "a", "sampling": Sampling(), **wrong}))
        assert not fake.calls


async def test_score_reads_prompt_logprobs(tmp_path):
    async with remote(tmp_path) as (engine, _):
        await engine.load(Weights(version=2, kind="file", source=folder_of(tmp_path / "v2")))
        long, short, none = await engine.score([(5, 6, 7), (5,), ()])
        assert long == (0.0, token(0, 1, 2)[1], token(0, 2, 2)[1]) and short == (0.0,) and none == ()
        with pytest.raises(EngineError, match="65 tokens"):
            await engine.score([(1,) * 65])


async def test_score_notices_another_version(tmp_path):
    async with remote(tmp_path) as (engine, fake):
        await engine.load(Weights(version=3, kind="file", source=folder_of(tmp_path / "v3")))
        fake.version = "2"  # behind our back
        with pytest.raises(VersionMismatch, match="loaded is 3"):
            await engine.score([PATH])


async def test_abort_returns_what_is_there(tmp_path):
    gate = Gate(3)
    async with remote(tmp_path, gate) as (engine, fake):
        job = asyncio.create_task(engine.generate(request("s")))
        other = asyncio.create_task(engine.generate(request("t")))
        await until(lambda: sum(gate.given.values()) == 6 and len(next(iter(engine._flights["s"])).tokens) == 3)
        ending = asyncio.create_task(engine.abort("s"))
        await until(lambda: bool(fake.aborted))
        await gate.let(100)
        got = await job
        await ending
        assert got.finish == "abort" and len(got.tokens) == 3 and got.spans[-1].stop == 3
        assert (await other).finish == "length"
        await engine.abort("unknown")


async def test_a_cancelled_caller_frees_its_request(tmp_path):
    gate = Gate(2)
    async with remote(tmp_path, gate) as (engine, fake):
        job = asyncio.create_task(engine.generate(request()))
        await until(lambda: bool(fake.running and engine._flights) and len(flight(engine).tokens) == 2)
        job.cancel()
        await gate.let(100)
        with contextlib.suppress(asyncio.CancelledError):
            await job
        await until(lambda: not fake.running)
        assert not engine._flights


async def test_weights_are_swapped_under_a_request(tmp_path):
    gate = Gate(3)
    async with remote(tmp_path, gate) as (engine, fake):
        job = asyncio.create_task(engine.generate(request()))
        await until(lambda: bool(engine._flights) and len(flight(engine).tokens) == 3)
        source = folder_of(tmp_path / "v7")
        await engine.load(Weights(version=7, kind="file", source=source))
        await gate.let(100)
        got = await job
        assert [(s.start, s.stop, s.version) for s in got.spans] == [(0, 3, 0), (3, 8, 7)]
        for span in got.spans:  # the logprob of each token tells which version it came from
            assert {round(-p) - 1 for p in got.logprobs[span.start : span.stop]} == {span.version}
        told = [path.partition("?")[0] for path, _ in fake.calls]
        order = [
            "/pause",
            "/collective_rpc",
            "/update_weight_version",
            "/weight_info",
            "/reset_prefix_cache",
            "/resume",
        ]
        assert [path for path in told if path in order] == order
        reload = next(body for path, body in fake.calls if path == "/collective_rpc")
        assert reload == {"method": "reload_weights", "kwargs": {"weights_path": source}}


async def test_a_drain_lets_running_requests_end(tmp_path):
    async with remote(tmp_path, update="drain") as (engine, fake):
        await engine.load(Weights(version=1, kind="file", source=folder_of(tmp_path / "v1")))
        assert any(path.startswith("/pause") and "mode=wait" in path for path, _ in fake.calls)
    with pytest.raises(EngineError, match="pinned"):
        vllm(folder_of(tmp_path / "model"), url="http://127.0.0.1:1", update="pinned")


async def test_a_pause_holds_through_a_load(tmp_path):
    gate = Gate(2)
    async with remote(tmp_path, gate) as (engine, fake):
        job = asyncio.create_task(engine.generate(request()))
        await until(lambda: bool(engine._flights) and len(flight(engine).tokens) == 2)
        await engine.pause()
        await engine.load(Weights(version=1, kind="file", source=folder_of(tmp_path / "v1")))
        assert not fake.going.is_set()
        with pytest.raises(EngineError, match="paused"):
            await engine.score([PATH])
        await gate.let(100)
        await engine.resume()
        assert [s.version for s in (await job).spans] == [0, 1]


async def test_a_version_that_does_not_arrive_is_named(tmp_path, monkeypatch):
    async with remote(tmp_path) as (engine, fake):
        monkeypatch.setattr(fake, "_control", lambda path, body: {"weight_version": "4"})
        with pytest.raises(VersionMismatch, match="'4' after version 5"):
            await engine.load(Weights(version=5, kind="file", source=folder_of(tmp_path / "v5")))


async def test_an_unknown_stamp_is_refused(tmp_path):
    async with remote(tmp_path) as (engine, fake):
        fake.version = "99"
        with pytest.raises(VersionMismatch, match="'99'"):
            await engine.generate(request())


async def test_weights_that_do_not_fit_change_nothing(tmp_path):
    async with remote(tmp_path) as (engine, fake):
        await engine.load(Weights(version=1, kind="file", source=folder_of(tmp_path / "v1")))
        before = len(fake.calls)
        for wrong in (folder_of(tmp_path / "v2", rows=5), folder_of(tmp_path / "v3", name="other"), str(tmp_path)):
            with pytest.raises(WeightsRefused):
                await engine.load(Weights(version=2, kind="file", source=wrong))
        with pytest.raises(WeightsRefused, match="adapter"):
            await engine.load(Weights(version=2, kind="lora", source=folder_of(tmp_path / "v4")))
        with pytest.raises(WeightsRefused, match="broadcast"):
            await engine.load(Weights(version=2, kind="broadcast"))
        assert len(fake.calls) == before and engine.version == 1


async def test_a_server_without_its_control_routes_is_named(tmp_path):
    async with remote(tmp_path) as (engine, fake):
        fake.refuse = {"/pause": 404}
        with pytest.raises(WeightsRefused, match="VLLM_SERVER_DEV_MODE"):
            await engine.load(Weights(version=1, kind="file", source=folder_of(tmp_path / "v1")))


async def test_an_adapter_is_named_in_requests(tmp_path):
    async with remote(tmp_path, sync="lora") as (engine, fake):
        adapter = Path(folder_of(tmp_path / "a1"))
        (adapter / "adapter_config.json").write_text("{}")
        await engine.load(Weights(version=1, kind="lora", source=str(adapter)))
        await engine.generate(request(tokens=1))
        loaded = next(body for path, body in fake.calls if path == "/v1/load_lora_adapter")
        assert loaded == {"lora_name": "policy-lora-1", "lora_path": str(adapter)}
        assert fake.calls[-1][1]["model"] == "policy-lora-1"


async def test_requests_move_to_a_new_adapter(tmp_path):
    gate = Gate(3)
    async with remote(tmp_path, gate, sync="lora") as (engine, fake):
        for version in (1, 2):
            adapter = Path(folder_of(tmp_path / f"a{version}"))
            (adapter / "adapter_config.json").write_text("{}")
        await engine.load(Weights(version=1, kind="lora", source=str(tmp_path / "a1")))
        job = asyncio.create_task(engine.generate(request()))
        await until(lambda: bool(engine._flights) and len(flight(engine).tokens) == 3)
        swap = asyncio.create_task(engine.load(Weights(version=2, kind="lora", source=str(tmp_path / "a2"))))
        await until(lambda: bool(fake.aborted))
        await gate.let(100)
        await swap
        got = await job
        assert [(s.start, s.stop, s.version) for s in got.spans] == [(0, 3, 1), (3, 8, 2)] and got.finish == "length"
        named = [body["model"] for path, body in fake.calls if path == "/inference/v1/generate"]
        assert named == ["policy-lora-1", "policy-lora-2"]
        assert ("/v1/unload_lora_adapter", {"lora_name": "policy-lora-1"}) in fake.calls


async def test_a_wrong_key_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("THE_KEY", "wrong")
    async with remote(tmp_path, key="right", key_env="THE_KEY") as (engine, _):
        with pytest.raises(Refused, match="401.*Unauthorized"):
            await engine.generate(request())


async def test_a_server_of_others_that_is_gone_is_not_started_again(tmp_path):
    engine = vllm(folder_of(tmp_path / "model"), url="http://127.0.0.1:9")
    with pytest.raises(EngineDown, match="127.0.0.1:9"):
        await engine.generate(request())
    await engine.close()
    with pytest.raises(EngineError, match="no address"):
        Link("ftp://somewhere")


async def test_fork_needs_another_idle_session(tmp_path):
    async with remote(tmp_path) as (engine, _):
        await engine.fork("a", 2, "b")
        for wrong in (("a", 1, "a"), ("a", -1, "b")):
            with pytest.raises(EngineError, match="cannot fork"):
                await engine.fork(*wrong)


def test_an_engine_that_never_ran_leaves_no_folder(tmp_path):
    engine = vllm(folder_of(tmp_path / "m"), url="http://x")
    room = engine.host.room
    assert room.is_dir()
    del engine
    gc.collect()
    assert not room.exists()


def test_options_are_checked(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for wrong, told in (
        ({"dtyp": 1}, UnknownName),
        ({"sync": "post"}, EngineError),
        ({"gpu_memory_utilization": 2.0}, EngineError),
        ({"python": "no-such-python"}, EngineError),
        ({}, MissingExtra),
    ):
        with pytest.raises(told):
            vllm(folder_of(tmp_path / "m"), **wrong)
    with pytest.raises(EngineError, match="context is 99"):
        vllm(folder_of(tmp_path / "m"), url="http://x", context=99)


def test_the_command_says_what_was_asked():
    settings = Settings(python=sys.executable, max_num_seqs=7, sync="nccl", eager=False, args=("--x", "1"))
    line = command(settings, "/m", "/s", 31)
    at = {name: line[i + 1] for i, name in enumerate(line[:-1]) if name.startswith("--")}
    assert at["--max-model-len"] == "32" and at["--max-num-seqs"] == "7" and at["--x"] == "1"
    assert (
        at["--logprobs-mode"] == "processed_logprobs"
        and json.loads(at["--weight-transfer-config"])["backend"] == "nccl"
    )
    assert "--enforce-eager" not in line and "--enable-lora" not in line
    env = environment(settings, Path("/r"), "secret")
    assert env["HF_HUB_OFFLINE"] == "1" and env["VLLM_API_KEY"] == "secret" and "secret" not in line


def test_damaged_files_are_noticed(tmp_path):
    good = Path(folder_of(tmp_path / "good"))
    assert shapes(good) == {"w": (4, 2)}
    check_like(good, {"w": (4, 2)})
    whole = (good / "model.safetensors").read_bytes()
    (good / "model.safetensors").write_bytes(whole[:-4])
    with pytest.raises(WeightsRefused, match="cut off"):
        shapes(good)


def test_a_transfer_calls_the_routes_in_order():
    calls = []
    client = Client(lambda path, body: calls.append((path, body)))
    client.init_weight_transfer_engine({"a": 1})
    client.start_weight_update()
    client.finish_weight_update("7")
    client.shutdown_weight_transfer_engine()
    assert [path for path, _ in calls] == [
        "/init_weight_transfer_engine",
        "/start_weight_update",
        "/finish_weight_update",
        "/shutdown_weight_transfer_engine",
    ]
    assert calls[0][1] == {"init_info": {"a": 1}}


class OnGpu:
    """A model that says that it is on a GPU."""

    def parameters(self):
        return [SimpleNamespace(device=SimpleNamespace(type="cuda"))]


def trainer_of_vllm(monkeypatch, backend):
    """Modules in place of vLLM's, whose trainer side calls its client as the real one does."""

    class Trainer:
        def __init__(self, client):
            self.client = client

        @classmethod
        def trainer_init(cls, info, client, source):
            client.init_weight_transfer_engine({"info": info})
            return cls(client)

        def send_weights(self):
            self.client.start_weight_update()
            self.client.update_weights({"names": ["w"]})
            self.client.finish_weight_update()

        def shutdown(self):
            self.closed = True

    def info(*place, rank, packed=True):
        return [*place, rank]

    names = {"ModuleSource": lambda model: model, "_json_safe_update_payload": lambda update: update}
    for prefix in ("IPC", "NCCL"):
        names |= {f"{prefix}TrainerInitInfo": info, f"{prefix}TrainerWeightTransferEngine": Trainer}
    for name in ("", ".distributed", *(f".distributed.weight_transfer{n}" for n in ("", ".base", ".clients"))):
        monkeypatch.setitem(sys.modules, f"vllm{name}", SimpleNamespace(**names))
    for name in ("ipc_engine", "nccl_engine"):
        monkeypatch.setitem(sys.modules, f"vllm.distributed.weight_transfer.{name}", SimpleNamespace(**names))


@pytest.mark.parametrize("backend", ["nccl", "ipc"])
async def test_weights_from_gpu_to_gpu_take_the_routes_in_order(tmp_path, monkeypatch, backend):
    trainer_of_vllm(monkeypatch, backend)
    gate = Gate(3)
    async with remote(tmp_path, gate, sync=backend) as (engine, fake):
        job = asyncio.create_task(engine.generate(request()))
        await until(lambda: bool(engine._flights) and len(flight(engine).tokens) == 3)
        model = OnGpu()
        for version in (1, 2):
            await engine.load(Weights(version=version, kind="pointer", source=model))
        await gate.let(100)
        assert [(s.start, s.version) for s in (await job).spans] == [(0, 0), (3, 2)]
        told = [path.partition("?")[0] for path, _ in fake.calls if not path.startswith("/inference")]
        update = ["/start_weight_update", "/update_weights", "/finish_weight_update"]
        after = ["/update_weight_version", "/weight_info", "/reset_prefix_cache", "/resume"]
        meeting = ["/get_world_size", "/init_weight_transfer_engine"]
        assert told == ["/pause", *meeting, *update, *after, "/pause", *update, *after]
        met = next(body for path, body in fake.calls if path == "/init_weight_transfer_engine")
        assert met["init_info"]["info"][-1] == 0 and (backend == "ipc" or met["init_info"]["info"][2] == 2)


async def test_a_transfer_needs_a_gpu(tmp_path):
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(2, 2)
    with pytest.raises(EngineError, match="sync=file"):
        Sender(model, "nccl", 1, print)
    async with remote(tmp_path, sync="nccl") as (engine, _):
        await engine.host.up()
        with pytest.raises(EngineError, match="GPU to GPU"):
            await engine.load(Weights(version=1, kind="pointer", source=model))


# -- a server process of its own ---------------------------------------------------------------------------------------


@pytest.fixture
def python(tmp_path):
    """An interpreter whose vLLM is the fake one."""
    script = tmp_path / "python"
    call = "import sys; from quintain.testing.vllm_server import serve; serve(sys.argv[1:])"
    words = f'exec {sys.executable} -c "{call}" "${{@:3}}"'
    script.write_text(f"#!/bin/bash\nexport PYTHONPATH={Path('src').absolute()}:$PYTHONPATH\n{words}\n")
    script.chmod(0o700)
    return str(script)


async def test_a_server_that_dies_is_replaced_and_its_requests_go_on(tmp_path, python):
    hold = tmp_path / "hold"
    hold.touch()
    options = {"python": python, "env": {"FAKE_VLLM_HOLD": str(hold)}, "log": str(tmp_path / "log")}
    engine = vllm(folder_of(tmp_path / "model"), **options)
    try:
        await engine.load(Weights(version=4, kind="file", source=folder_of(tmp_path / "v4")))
        job = asyncio.create_task(engine.generate(request()))
        await until(lambda: bool(engine._flights) and len(flight(engine).tokens) == 3)
        first = list(flight(engine).tokens)
        os.kill(engine.server.pid, signal.SIGKILL)
        hold.unlink()
        got = await job
        assert list(got.tokens[:3]) == first and len(got.tokens) == 8 and got.finish == "length"
        assert [(s.start, s.stop, s.version) for s in got.spans] == [(0, 8, 4)]
        assert engine.stats == {"restarts": 1, "sent_again": 1, "dropped_tokens": 0}
        served = [line for line in (tmp_path / "log").read_text().splitlines() if line.startswith("serving")]
        assert served == [f"serving {tmp_path / 'v4'}"] * 2  # the newest weights, from the start
    finally:
        await engine.close()
    assert not engine.host.room.exists()
    with pytest.raises(EngineError, match="closed"):
        await engine.generate(request())


async def test_tokens_of_unknown_version_are_dropped_and_counted(tmp_path, python):
    hold = tmp_path / "hold"
    hold.touch()
    engine = vllm(folder_of(tmp_path / "model"), python=python, env={"FAKE_VLLM_HOLD": str(hold)})
    try:
        job = asyncio.create_task(engine.generate(request()))
        await until(lambda: bool(engine._flights) and len(flight(engine).tokens) == 3)
        plane = flight(engine)
        plane.swap(0)
        plane.sure = 2  # the third token came while weights were swapped
        os.kill(engine.server.pid, signal.SIGKILL)
        hold.unlink()  # not before, or the one that is killed might say all that is left first
        got = await job
        assert len(got.tokens) == 8 and engine.stats["dropped_tokens"] == 1
    finally:
        await engine.close()


async def test_a_server_that_never_serves_is_quoted(tmp_path, python):
    empty = tmp_path / "empty"
    empty.mkdir()
    engine = VllmEngine(vllm(folder_of(tmp_path / "model"), python=python).host, 8)
    engine.host._model = str(empty)
    with pytest.raises(EngineDown, match="FileError: .* holds no config.json") as caught:
        await engine.generate(request())
    assert "OSError" not in str(caught.value).partition("the end of its log")[0], "a warning is no cause"
    await engine.close()


async def test_servers_that_die_again_and_again_end_the_run(tmp_path, python):
    hold = tmp_path / "hold"
    hold.touch()
    engine = vllm(folder_of(tmp_path / "model"), python=python, deaths=2, env={"FAKE_VLLM_HOLD": str(hold)})
    job = asyncio.create_task(engine.generate(request()))
    try:
        for start in (1, 2):
            await until(lambda n=start: bool(engine._flights) and len(flight(engine).tokens) == 3 * n)
            os.kill(engine.server.pid, signal.SIGKILL)
        with pytest.raises(EngineDown, match="died"):
            await job
    finally:
        await engine.close()


def test_nothing_is_left_when_the_run_is_killed(tmp_path, python):
    code = f"""
import asyncio, os, signal
from quintain.engines.vllm import vllm
from quintain.types import Request, Sampling
async def main():
    engine = vllm({folder_of(tmp_path / "model")!r}, python={python!r})
    await engine.generate(Request(session="", prompt=(1,), sampling=Sampling(max_tokens=2)))
    print(engine.server.pid, engine.server._guard.pid, engine.host.room, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr
    server, guard, room = done.stdout.split()
    for pid in map(int, (server, guard)):
        assert ended(pid), f"{pid} outlives its run"
    assert not Path(room).exists()


async def test_a_stream_that_breaks_off_is_gone():
    async def cut(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n")
        writer.close()

    server = await asyncio.start_server(cut, "127.0.0.1", 0)
    link = Link(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    with pytest.raises(Gone):
        async for _ in link.events("/x", {}):
            pass
    server.close()
