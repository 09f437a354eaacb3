"""A learner group without a cluster: its proxy over ranks of this process, what travels, and what ends it."""

from __future__ import annotations

import asyncio
import hashlib
import runpy
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from quintain.cli.waits import _rank_of_group
from quintain.config import make
from quintain.learn.checkpoint import CheckpointError
from quintain.learn.forward import LearnerError
from quintain.learn.pack import Demo, pack, pack_demos
from quintain.learn.publish import tensors_of
from quintain.models.fingerprint import fingerprint
from quintain.objectives import ce, token_mean
from quintain.parts import chain
from quintain.runtime import assemble, learner_group, learner_pool, policy
from quintain.runtime import learner_wire as wire
from quintain.runtime.bench import Bench
from quintain.runtime.check import check
from quintain.runtime.learner_calls import Calls
from quintain.runtime.learner_group import GroupLearner
from quintain.runtime.ray_learner import LearnWorker, own_address
from quintain.runtime.transport import LearnerLost
from quintain.types import Group, Image, Sampling

GROUPS = runpy.run_path(str(Path(__file__).parents[1] / "learn" / "rank_worker.py"))["groups"]
OVERRIDES = [
    "env.name=KeyDoor",
    "env.levels=[0]",
    'env.scaffold.style="words"',
    "model.sizes={hidden=16,layers=1,heads=1,kv_heads=1,head_dim=16,ffn=32}",
    "model.context=64",
    "algorithm=ppo",
    "cluster.pools.play.count=1",
    "cluster.pools.learn.label=learner",
    "cluster.pools.learn.count=2",
]
ONE_AT_A_TIME = threading.Lock()


class Local:
    """A rank in a thread of this process: alone with its learner, as `torch.distributed` knows one group a process."""

    def __init__(self, toml: str, *, far: bool = False) -> None:
        self.worker = LearnWorker(toml, 0.0)
        self.far, self.number = far, 0
        self.end: Future[str] = Future()
        self.asked: list[str] = []
        self.held: set[str] = set()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        if left := asyncio.all_tasks(self.loop):  # of requests that their test did not wait for
            for task in left:
                task.cancel()
            self.loop.run_until_complete(asyncio.wait(left))
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        for learner in filter(None, (self.worker.learner, self.worker.teacher)):
            learner.close()
        if self.worker.room:
            shutil.rmtree(self.worker.room, ignore_errors=True)

    def ask(self, verb: str, packed: Any) -> Future[bytes]:
        self.asked.append(verb)
        if verb in self.held:
            return Future()
        given = wire.unpack(packed)
        if verb == "join":
            self.number = given["rank"]
            given |= {"rank": 0, "size": 1}
        if "probe" in given and (self.far or self.number):  # only one may write where all see it
            given["probe"] += ".nowhere"
        if self.far and verb == "load":
            given["folder"] += ".nowhere"
        return asyncio.run_coroutine_threadsafe(self._do(verb, wire.pack(given)), self.loop)

    async def _do(self, verb: str, packed: bytes) -> bytes:
        if verb != "join":
            return await self.worker.do(verb, packed)
        with ONE_AT_A_TIME:  # models of one process draw from one generator
            return await self.worker.do(verb, packed)

    def gone(self) -> Future[str]:
        return self.end

    def told(self) -> dict[str, Any]:
        return {"pool": "learn"}

    def log(self, pid: int) -> str:
        return f"*** SIGSEGV received by {pid}" if self.end.done() else ""


@pytest.fixture(scope="module")
def config():
    return make(overrides=OVERRIDES)


def begin(config: Any, folder: Path, ranks: list[Local]) -> GroupLearner:
    algorithm = assemble.make_algorithm(config)
    group = GroupLearner(algorithm.objective, str(folder / "published"))
    (folder / "published").mkdir(exist_ok=True)
    (folder / "published" / ".seen").touch()
    asyncio.run(group.begin(ranks, "127.0.0.1:9", str(folder / "published" / ".seen")))
    return group


@pytest.fixture
def start(config) -> Iterator[Any]:
    """Starts that many ranks, which are gone after the test."""
    made: list[Local] = []

    def start(count: int, far: bool = False) -> list[Local]:
        made.extend(new := [Local(config.toml(full=True), far=far) for _ in range(count)])
        return new

    yield start
    for rank in made:
        rank.close()


@pytest.fixture
def ranks(start) -> list[Local]:
    return start(2)


@pytest.fixture
def alone(config):
    """The same learner in this process."""
    stage = assemble.make_stage(config)
    algorithm = assemble.make_algorithm(config)
    model = policy.make_model(config, stage.renderer)
    learner = policy.make_learner(config, model, algorithm.needs, assemble.Ranks())
    yield learner, algorithm
    learner.close()


def credited(groups: tuple[Group, ...]) -> list[Group]:
    """With the returns that a critic learns from."""
    return [replace(g, trajectories=tuple(t.with_value("return", 0.5) for t in g.trajectories)) for g in groups]


def test_a_batch_and_arrays_arrive_as_they_were_sent():
    batch = replace(pack(GROUPS(3)), images=(Image(hash="ab"),))
    there = wire.open_batch(wire.unpack(wire.pack(wire.pack_batch(batch))))
    assert [i.hash for i in there.images] == ["ab"] and there.totals == batch.totals and there.temperature is None
    for name in ("tokens", "mask", "logprobs", "sequence", "position", "group"):
        assert np.array_equal(getattr(there, name), getattr(batch, name))
        assert getattr(there, name).dtype == getattr(batch, name).dtype
    assert there.streams.keys() == batch.streams.keys() and there.tokens.flags.writeable
    assert wire.unpack(wire.pack({"big": 1 << 70, "deep": [[np.float32(1.5)]]})) == {"big": 1 << 70, "deep": [[1.5]]}
    with pytest.raises(TypeError, match="cannot send a set"):
        wire.pack({"x": {1}})


def test_the_group_says_and_does_what_one_learner_does(config, ranks, alone, tmp_path):
    group = begin(config, tmp_path, ranks)
    learner, algorithm = alone
    needs, groups = algorithm.needs - {"digests"}, GROUPS(5)
    group.check(needs)
    one = asyncio.run(learner.score(groups, needs))
    two = asyncio.run(group.score(groups, needs))
    assert [r.asked.count("score") for r in ranks] == [1, 1]
    for a, b in zip(one, two, strict=True):
        assert a.ticket == b.ticket and [t.id for t in a.trajectories] == [t.id for t in b.trajectories]
        for x, y in zip(a.trajectories, b.trajectories, strict=True):
            assert x.streams.keys() == y.streams.keys() and "value" in y.streams
            for name in x.streams:
                assert np.allclose(np.concatenate(x.streams[name]), np.concatenate(y.streams[name]), atol=1e-6)
    batch = pack(credited(one))
    mine = asyncio.run(learner.update(batch, algorithm.objective))
    theirs = asyncio.run(group.update(batch, group.objective))
    assert theirs.keys() == mine.keys() and theirs["loss"] == pytest.approx(mine["loss"]) and mine["updates"] >= 1
    weights = asyncio.run(group.publish())
    assert weights.version == group.version == 1 and weights.kind == "file"
    own = dict(learner.model.named_parameters())
    for name, tensor in tensors_of(weights):
        torch.testing.assert_close(tensor, own[name].detach(), rtol=1e-5, atol=1e-6)
    assert fingerprint(iter(tensors_of(weights))) == dict(weights.fingerprint)
    asyncio.run(group.end())


def test_the_proof_asks_the_first_rank_by_name(config, ranks, alone, tmp_path):
    group = begin(config, tmp_path, ranks)
    weights = asyncio.run(group.show(0))
    here, there = Bench(alone[0]), Bench(group)
    paths = [(1, 2, 3, 4), (5, 6)]

    async def all_of(bench: Bench) -> list[Any]:
        readings = await bench.read(paths, Sampling(top_k=3))
        limit = await bench.limit(1.0, paths, Sampling())
        ahead = await bench.ahead(paths, (1, 1), Sampling())
        suspicion = await bench.suspect(paths, [r.plain for r in readings], [r.plain + 1 for r in readings])
        config = await bench.config({"hidden_size": 17})
        return [
            *(r.low for r in readings),
            *(r.plain for r in ahead),
            limit.value,
            suspicion,
            config,
            await bench.prints(weights),
        ]

    for mine, theirs in zip(asyncio.run(all_of(here)), asyncio.run(all_of(there)), strict=True):
        if isinstance(mine, np.ndarray | float):
            assert mine == pytest.approx(theirs, rel=1e-3, abs=1e-5)
        else:
            assert mine == theirs
    assert asyncio.run(there.differing({}, weights)) == asyncio.run(here.differing({}, weights))
    assert ranks[0].asked.count("examine") > 4 and "examine" not in ranks[1].asked
    with pytest.raises(LearnerError, match="answers only the questions"):
        asyncio.run(group.examine(lambda reader: 1))


@pytest.mark.parametrize("far", [False, True])
def test_weights_and_checkpoints_come_through_the_folder_or_as_bytes(far, config, start, alone, tmp_path):
    ranks = start(2, far)
    group = begin(config, tmp_path, ranks)
    learner, algorithm = alone
    batch = pack(credited(asyncio.run(learner.score(GROUPS(3), algorithm.needs))))
    asyncio.run(group.update(batch, group.objective))
    for _ in range(4):
        weights = asyncio.run(group.publish())
    assert ("fetch" in ranks[0].asked) == far
    assert sorted(p.name for p in (tmp_path / "published").iterdir()) == [".seen", "version-3", "version-4"]
    assert fingerprint(iter(tensors_of(weights))) == dict(weights.fingerprint)
    group.save(str(tmp_path / "saved"))
    assert not [p for p in (tmp_path / "saved").iterdir() if p.name.startswith(".")], "the probe is gone"
    learner.load(str(tmp_path / "saved"))
    assert learner.version == 4 and learner.step == 1, "a learner of this process goes on from it"
    learner.save(str(tmp_path / "own"))
    for name in ("weights.safetensors", "optimizer.safetensors", "value.safetensors"):
        one, two = (hashlib.sha256((tmp_path / f / name).read_bytes()).digest() for f in ("saved", "own"))
        assert one == two, name
    again = begin(config, tmp_path, start(1, far))
    again.load(str(tmp_path / "saved"))
    assert again.step == 1 and again.version == 4, "and so does a group of another size"
    (tmp_path / "own" / "optimizer.safetensors").write_bytes(b"x")
    with pytest.raises(CheckpointError, match="is damaged"):
        again.load(str(tmp_path / "own"))
    assert bool(ranks[0].worker.room) == far
    rooms = [r.worker.room for r in ranks if r.worker.room]
    asyncio.run(group.end())
    assert not any(Path(room).exists() for room in rooms)


def test_the_warm_start_imitates_on_every_rank(config, ranks, tmp_path):
    group = begin(config, tmp_path, ranks)
    teacher = group.teacher(3)
    demos = [Demo((1, 2, k, k), (False, True, True, True)) for k in range(3, 6)]
    losses = [asyncio.run(teacher.update(pack_demos(demos), chain(ce(), token_mean())))["loss"] for _ in range(5)]
    teacher.close()
    assert losses[-1] < losses[0] and all(r.worker.teacher is None for r in ranks)
    assert group.step == 0, "the reinforcement learner has taken no step"


def test_another_objective_than_the_configs_and_an_early_call_are_refused(config, ranks, alone, tmp_path):
    group = begin(config, tmp_path, ranks)
    with pytest.raises(LearnerError, match="objective of the run's config alone"):
        asyncio.run(group.update(pack(GROUPS(1)), chain(ce(), token_mean())))
    with pytest.raises(LearnerError, match="cannot supply 'opinions'"):
        group.check(frozenset({"opinions"}))
    with pytest.raises(LearnerError, match="before it began"):
        GroupLearner(group.objective, "").save(str(tmp_path / "x"))


def test_a_rank_that_dies_ends_every_wait_by_name_also_one_that_blocks(config, ranks, tmp_path):
    group = begin(config, tmp_path, ranks)
    ranks[0].held.add("save")
    threading.Timer(0.05, lambda: ranks[1].end.set_result("it was killed")).start()
    with pytest.raises(
        LearnerLost, match=r"rank 1 of the 2 .*process \d+ on .* is gone: it was killed.*--restarts[^*]*\*\*\* SIGSEGV"
    ):
        group.save(str(tmp_path / "saved"))
    assert str(asyncio.run(group.over())).startswith("rank 1")
    asked = len(ranks[0].asked)
    with pytest.raises(LearnerLost, match="rank 1"):
        asyncio.run(group.publish())
    assert len(ranks[0].asked) == asked, "nobody is asked any more"
    assert {r["state"] for r in group.told()} == {"over"}
    asyncio.run(group.end())


def test_who_misses_another_rank_is_not_the_one_that_is_named(config, ranks, tmp_path, monkeypatch):
    group = begin(config, tmp_path, ranks)

    async def missing(version: int | None) -> dict[str, Any]:
        from quintain.learn.ranks import RankError

        raise RankError("another rank ended")

    monkeypatch.setattr(ranks[0].worker, "_publish", missing)
    ranks[1].held.add("publish")
    waiting = group._calls.everyone("publish", version=None)
    ranks[1].end.set_result("killed by signal 9")
    with pytest.raises(LearnerLost, match="rank 1 .* killed by signal 9"):
        waiting.result(20)


def test_a_crash_is_a_loss_and_a_named_error_stays_one(config, ranks, tmp_path, monkeypatch):
    group = begin(config, tmp_path, ranks)

    async def crash(**given: Any) -> dict[str, Any]:
        raise MemoryError("no more")

    monkeypatch.setattr(ranks[1].worker, "_update", crash)
    with pytest.raises(LearnerLost, match="rank 1 .* MemoryError: no more"):
        asyncio.run(group.taught(pack(GROUPS(1))))
    monkeypatch.undo()
    other = begin(config, tmp_path, ranks)
    with pytest.raises(LearnerError, match="no stream"):
        asyncio.run(other.update(pack(GROUPS(1)), other.objective))


def test_a_group_that_does_not_come_up_is_named(config, ranks, tmp_path, monkeypatch):
    monkeypatch.setattr(learner_group, "JOIN_S", 0.05)
    ranks[1].held.add("meet")
    with pytest.raises(LearnerLost, match="did not come up in"):
        begin(config, tmp_path, ranks)


@pytest.mark.parametrize(
    ("overrides", "what"),
    [
        (["cluster.pools.other.label=learner"], "cluster.pools learn and other both have the label learner"),
        (["cluster.pools.learn.gpus=2"], "computes on one GPU of its own"),
        (["cluster.pools.learn.gpus=0.5"], "computes on one GPU of its own"),
        (["learner.device=cuda"], "its ranks see no GPU; set cluster.pools.learn.gpus=1"),
        (["learner.device=cpu", "cluster.pools.learn.gpus=1"], "which nobody would use"),
        (
            ["cluster.pools.learn.count=1", "learner.shard=full"],
            "cluster.pools.learn.count is 1: there is nobody to share",
        ),
        (["cluster.pools.play.label=learner", "cluster.pools.learn.label=cpu"], "no pool of cluster.pools plays"),
        (["cluster.pools.learn.cpus=0"], "asks for no resource at all"),
        (["runtime.processes=2"], "set runtime.processes=1"),
    ],
)
def test_a_wrong_learner_pool_is_refused_by_name(overrides, what):
    with pytest.raises(Exception, match=what) as caught:
        check(make(overrides=[*OVERRIDES, *overrides]))
    assert type(caught.value).__name__ == "ConfigError"


def test_a_learner_pool_counts_as_the_processes_that_learn(config):
    check(config)
    assert learner_pool.learning(config) == 2 and learner_pool.learning(make("tiny")) == 1
    check(make(overrides=[*OVERRIDES, "learner.shard=full"]))
    assert learner_pool.learner_pool(make(overrides=[*OVERRIDES, "cluster.pools={}"])) is None


def test_the_doctor_shows_the_ranks_and_what_they_do(config, ranks, tmp_path):
    group = begin(config, tmp_path, ranks)
    ranks[1].held.add("publish")
    waiting = group._calls.everyone("publish", version=0)
    first, second = group.told()
    assert second["doing"] == "publish" and second["pool"] == "learn" and first["device"] == "cpu"
    assert _rank_of_group(second).startswith("rank 1 of pool learn: process") and "publish since" in _rank_of_group(
        second
    )
    ranks[1].end.set_result("over")
    with pytest.raises(LearnerLost):
        waiting.result(10)
    assert own_address("127.0.0.1:9") == "127.0.0.1"


def test_a_cause_that_is_a_sentence_has_one_full_stop():
    gone: Future[str] = Future()
    rank: Any = SimpleNamespace(told=dict, gone=lambda: gone)
    calls = Calls([rank])
    calls.watch()
    gone.set_result("The actor died before it finished this task.")
    assert " finished this task. The others cannot go on" in str(calls.over.result(0))
