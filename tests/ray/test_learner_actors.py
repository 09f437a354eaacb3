"""Runs whose learner is a group of actors: equal to a learner in the first process, and none of them lost to a death."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file
from tests.ray.test_cluster_run import closed, finish, left, named, start, until, write

from quintain import config as configs
from quintain.ledger import RunDir
from quintain.runtime.cluster import environment

pytestmark = [pytest.mark.ray, pytest.mark.slow]

LEARNERS = '[cluster.pools.learn]\nlabel = "learner"\ncount = 2\ncpus = 0.5'
REWARD = "def score(text, task):\n    return float(sum(map(ord, text)) % 5)\n"
DEEPER = ["model.sizes.layers=2", "algorithm=ppo", "warm_start.steps=4", "learner.lr=2e-4", "warm_start.lr=2e-4"]


def learn(folder: Path, *overrides: str, steps: int = 3, cluster: str = "") -> list[str]:
    """The words of a synchronous run whose rewards differ, so that there is something to learn."""
    folder.mkdir(exist_ok=True)
    (folder / "mine.py").write_text(REWARD)
    write(folder, steps=steps, pools=LEARNERS, cluster=cluster)
    reward = f'reward={{name="{folder}/mine.py:score", idempotent=true}}'
    return [
        "train",
        "run.toml",
        reward,
        "run.max_lag=0",
        "run.keep_checkpoints=99",
        *overrides,
    ]


def told(run: Path) -> tuple[list[dict], dict[str, torch.Tensor]]:
    """The metrics of the steps, and the weights after the last one."""
    with RunDir.open(run) as store:
        rows = [dict(row) for _, row in store.metrics()]
    first, *_, last = sorted((run / "checkpoints").glob("step-*"))
    before, after = (load_file(one / "weights.safetensors") for one in (first, last))
    assert all((after[name] - before[name]).abs().max() > 1e-4 for name in after), "every tensor has moved"
    return rows, after


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> tuple[list[dict], dict[str, torch.Tensor]]:
    """The run with a learner and an engine in the first process."""
    folder = tmp_path_factory.mktemp("alone")
    words = learn(folder, "cluster.pools={}", *DEEPER)
    status, said = finish(start(folder, *words))
    assert status == 0, said
    return told(folder / "runs" / "over")


@pytest.mark.parametrize("shard", ["none", "full"])
def test_two_learner_actors_take_the_steps_of_the_first_process(shard, alone, joined, tmp_path):
    words = learn(tmp_path, *DEEPER, f"learner.shard={shard}", "eval.instances=2", cluster=joined)
    status, said = finish(start(tmp_path, *words))
    assert status == 0 and "warm start: loss" in said, said
    rows, weights = told(tmp_path / "runs" / "over")
    assert len(rows) == len(alone[0]) == 3
    for mine, whole in zip(rows, alone[0], strict=True):
        assert whole["grad_norm"] > 0 and whole["reward"] > 0
        for key in ("loss", "grad_norm", "entropy", "reward", "tokens", "updates", "lr", "mismatch_mean", "value_loss"):
            if key in whole:
                assert mine[key] == pytest.approx(whole[key], rel=1e-5, abs=1e-5), key
        assert math.isfinite(mine["canary_gap_max"])
    assert weights.keys() == alone[1].keys()
    for name, tensor in alone[1].items():
        torch.testing.assert_close(weights[name], tensor, rtol=1e-5, atol=1e-5)
    with RunDir.open(tmp_path / "runs" / "over") as store:
        assert len(list(store.events(["eval"]))) == 2, "actors that learn change nothing about evaluations"


def test_a_killed_learner_actor_ends_the_run_by_name_and_others_go_on_from_its_checkpoint(tmp_path):
    run = tmp_path / "runs" / "over"
    process = start(tmp_path, *learn(tmp_path, "run.max_lag=1", steps=2000))
    until(lambda: list((run / "checkpoints").glob("step-00000[2-9]*")), process)
    victim = named(process, "ray::LearnWorker")[0]
    status, seen = finish(start(tmp_path, "doctor", str(run)))
    assert "rank 1 of pool learn: process" in seen and "of pool play, up" in seen and "Traceback" not in seen, seen
    victim.send_signal(signal.SIGSEGV)  # as a crash in native code: the last that it wrote says so
    status, said = finish(process)
    assert status == 1 and "LearnerLost: rank" in said and f"process {victim.pid}" in said, said
    assert "go on with: quintain train --resume runs/over\n" in said, said
    assert "The last that it wrote:" in said and "SIGSEGV" in said.partition("The last that it wrote:")[2], said
    assert not left([victim])
    with RunDir.open(run) as store:
        (lost,) = [e.payload for e in store.events(["learner"])]
    assert "LearnerLost" in lost["status"] and [r["rank"] for r in lost["ranks"]] == [0, 1]
    done = len(list((run / "checkpoints").glob("step-*"))) + 2
    words = ["train", "--resume", str(run), "cluster.pools.learn.count=3", f"run.steps={done}"]
    status, said = finish(start(tmp_path, *words))
    assert status == 0 and "resumed at step" in said, said
    status, said = finish(start(tmp_path, "train", "--resume", str(run), "cluster.pools={}", f"run.steps={done + 2}"))
    assert status == 0 and f"resumed at step {done}" in said, said
    closed(run, done + 2)


def test_a_run_with_restarts_goes_on_by_itself_after_a_silent_learner_actor(tmp_path):
    run = tmp_path / "runs" / "over"
    words = learn(tmp_path, "--restarts", "2", "runtime.heartbeat_s=5", "learner.shard=full", steps=12)
    process = start(tmp_path, *words)
    until(lambda: list((run / "checkpoints").glob("step-00000[2-9]*")), process)
    victim = named(process, "ray::LearnWorker")[-1]
    victim.suspend()
    status, said = finish(process)
    assert status == 0 and "silent for 5 s" in said and "restart 1 of 2" in said and "resumed at step" in said, said
    assert not left([victim])
    closed(run, 12)


def test_why_a_silent_rank_ended_is_told_before_its_death_can_be(tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    from quintain.runtime.ray import RayRank

    call = SimpleNamespace(remote=lambda: object(), options=lambda **_: call)
    rank = RayRank(SimpleNamespace(pool="learn"), 0.01, SimpleNamespace(stay=call, beat=call), tmp_path)
    monkeypatch.setattr(ray, "wait", lambda calls, timeout: ([], calls))
    seen: list[bool] = []
    monkeypatch.setattr(ray, "kill", lambda handle, no_restart: seen.append(gone.done()))
    gone: Future[str] = Future()
    rank._look(gone)
    assert gone.result() == "silent for 0.01 s" and seen == [True]


async def test_ray_is_left_once_nobody_looks_for_the_end_of_a_rank_any_more(tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    from quintain.runtime import ray as over

    ended, left_with = threading.Event(), []
    looks = threading.Thread(target=ended.wait, name=over.LOOKS)
    looks.start()
    cluster = over.Cluster(configs.make(overrides=["cluster.pools.play.count=1"]), tmp_path, tmp_path, None)
    cluster._group = "places"
    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    monkeypatch.setattr(over, "remove_placement_group", lambda group: ended.set())  # which ends the actors
    monkeypatch.setattr(ray, "shutdown", lambda: left_with.append(looks.is_alive()))
    await cluster.close()
    assert left_with == [False]


def test_nothing_that_is_asked_of_ray_late_starts_or_joins_another_one():
    pytest.importorskip("ray")
    code = "import ray\ntry:\n    ray.get_actor('a')\nexcept ray.exceptions.RaySystemError:\n    print(ray.is_initialized())"
    env = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")} | environment(None)
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "False\n"
