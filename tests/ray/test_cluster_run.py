"""Runs over a real Ray, each in a process of its own: they end with their books closed, whatever dies, and leave nobody behind."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from quintain.ledger import RunDir, audit
from quintain.runtime import forks
from quintain.runtime.children import begin

pytestmark = [pytest.mark.ray, pytest.mark.slow]

TINY = """
[run]
name = "over"
steps = {steps}
groups_per_step = 4
checkpoint_every = 1
max_lag = 1
imports = {imports}
[env]
name = "KeyDoor"
levels = [0]
scaffold = {{ style = "words" }}
[model]
sizes = {{ hidden = 16, layers = 1, heads = 1, kv_heads = 1, head_dim = 16, ffn = 32 }}
context = 128
[rollout]
group_size = 2
max_tokens = 1
[eval]
instances = 0
[cluster]
local_cpus = 4
{cluster}
[cluster.pools.play]
label = "any"
count = {play}
{pools}
"""
DEADLINE_S = 240


def write(
    folder: Path, *, steps: int = 3, cluster: str = "", pools: str = "", imports: tuple[str, ...] = (), play: int = 1
) -> Path:
    """A file of a run with `play` actors that play: each takes seconds of a core to start."""
    path = folder / "run.toml"
    path.write_text(TINY.format(steps=steps, cluster=cluster, pools=pools, imports=list(imports), play=play))
    return path


class Quintain:
    """`quintain ARGUMENTS` in a folder, split off from a fork server that has imported PyTorch, as the ranks of a run are."""

    def __init__(self, folder: Path, *arguments: str, **more: str) -> None:
        self.out = folder / f"said-{secrets.token_hex(4)}"
        forks.ready()
        with pytest.MonkeyPatch.context() as patch, self.out.open("wb") as log:
            for name in [name for name in os.environ if name.startswith("RAY_")]:
                patch.delenv(name)
            for name, value in {"HOME": str(folder), **more}.items():
                patch.setenv(name, value)
            patch.chdir(folder)
            self.process = begin("quintain.cli", *arguments, log=log)
        self.pid, self.poll, self.kill, self.send_signal = (
            getattr(self.process, name) for name in ("pid", "poll", "kill", "send_signal")
        )


start = Quintain


def finish(process: Quintain) -> tuple[int, str]:
    try:
        status = process.process.wait(DEADLINE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return status, process.out.read_text()


def until(true: Callable[[], object], process: Quintain) -> None:
    limit = time.monotonic() + DEADLINE_S
    while not true():
        assert process.poll() is None and time.monotonic() < limit, "the run ended, or hangs"
        threading.Event().wait(0.05)


def below(process: Quintain) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def left(processes: list[psutil.Process]) -> list[psutil.Process]:
    return psutil.wait_procs(processes, timeout=20)[1]


def named(process: Quintain, name: str) -> list[psutil.Process]:
    found = []
    for child in below(process):
        try:
            if " ".join(child.cmdline()).startswith(name) or child.name() == name:
                found.append(child)
        except psutil.Error:
            pass
    return found


def closed(run: Path, steps: int) -> list[dict]:
    """The books are closed: every ticket was trained or dropped, each once. Gives what was told of actors."""
    with RunDir.open(run) as store:
        books = audit(store)
        told = [e.payload for e in store.events(["actor"])]
        assert books.ok and books.issued == 4 * steps and not books.pending
        assert books.trained + books.dropped == books.issued and len(list(store.metrics())) == steps
    return told


def test_a_run_over_ray_with_rewards_as_tasks_and_envs_in_workers_closes_its_books_and_leaves_nobody(tmp_path):
    pools = '[cluster.pools.envs]\nlabel = "cpu"\ncpus = 0.5'
    write(tmp_path, cluster="reward_tasks = 2\nreward_cpus = 0.5", pools=pools, play=2)
    process = start(tmp_path, "train", "run.toml")
    until(lambda: len(named(process, "ray::PlayWorker")) == 2, process)
    ours = below(process)
    rooms = {p.environ().get("RAY_AUTH_TOKEN_PATH", "") for p in named(process, "ray::PlayWorker")}
    (token,) = (Path(room) for room in rooms)
    assert token.stat().st_mode & 0o777 == 0o600 and token.parent.stat().st_mode & 0o777 == 0o700
    status, said = finish(process)
    assert status == 0, said
    assert not closed(tmp_path / "runs" / "over", 3), "nobody died"
    assert not left(ours) and not token.parent.exists()
    assert not (tmp_path / ".ray").exists(), "no token in the home folder"
    with RunDir.open(tmp_path / "runs" / "over") as store:
        groups = [g for step in range(3) for g in store.packed(step=step)]
        assert max(row.newest for g in groups for row in g.rows) > 0, "actors play with what was published"
        assert all(row.stop != "crashed" for g in groups for row in g.rows)


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_a_killed_or_silent_rollout_worker_is_replaced_and_its_groups_are_played_again(how, tmp_path):
    write(tmp_path, steps=30, play=2)
    process = start(tmp_path, "train", "run.toml", "runtime.heartbeat_s=2")
    run = tmp_path / "runs" / "over"
    until(lambda: list((run / "checkpoints").glob("step-00000[1-9]*")), process)
    victim = next(iter(named(process, "ray::PlayWorker")))
    victim.kill() if how == "killed" else victim.suspend()
    status, said = finish(process)
    assert status == 0, said
    (told,) = closed(run, 30)
    assert told["actor"] in (0, 1) and told["pool"] == "play" and told["label"] == "any"
    assert ("silent for 2 s" in told["status"]) == (how == "stopped")
    assert not left([victim])


def test_a_killed_driver_takes_its_actors_along_and_a_resumed_run_closes_the_books(tmp_path):
    write(tmp_path, steps=20)
    process = start(tmp_path, "train", "run.toml")
    run = tmp_path / "runs" / "over"
    until(lambda: list((run / "checkpoints").glob("step-00000[2-9]*")), process)
    ours = below(process)
    assert len([p for p in ours if p.name().startswith("ray")]) > 2
    raylet = named(process, "raylet")[0]
    room = Path(raylet.environ()["RAY_AUTH_TOKEN_PATH"]).parent
    process.kill()
    process.process.wait()
    assert not left(ours), "actors, raylet and GCS die with the first process"
    assert not room.exists(), "nor does the token outlive it"
    status, said = finish(start(tmp_path, "train", "--resume", str(run)))
    assert status == 0 and "resumed at step" in said, said
    closed(run, 20)


def test_a_killed_gcs_is_a_named_error_and_the_ledger_is_whole(tmp_path):
    write(tmp_path, steps=2000)
    process = start(tmp_path, "train", "run.toml")
    run = tmp_path / "runs" / "over"
    until(lambda: list((run / "checkpoints").glob("step-00000[1-9]*")), process)
    ours = below(process)
    (gcs,) = named(process, "gcs_server")
    gcs.kill()
    status, said = finish(process)
    assert status == 1 and "ClusterError: the cluster at" in said and "train --resume" in said, said
    assert not left(ours)
    with RunDir.open(run) as store:
        books = audit(store)
    assert books.ok and books.issued > 4
    config = (run / "config.toml").read_text()
    done = len(list((run / "checkpoints").glob("step-*")))
    assert done and "steps = 2000" in config


def test_sigterm_drains_a_run_over_ray(tmp_path):
    write(tmp_path, steps=2000)
    process = start(tmp_path, "train", "run.toml")
    run = tmp_path / "runs" / "over"
    until(lambda: list((run / "checkpoints").glob("step-00000[1-9]*")), process)
    ours = below(process)
    process.send_signal(signal.SIGTERM)
    status, said = finish(process)
    assert status == 75 and "continue with: quintain train --resume" in said, said
    assert not left(ours)


SCORES = """
import os, signal
def once(text, task):
    flag = os.path.join({folder!r}, "scored")
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return 1.0 if "a" in text else 0.0
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("idempotent", [True, False])
def test_a_scoring_whose_worker_dies_is_repeated_only_where_that_is_declared(idempotent, joined, tmp_path):
    (tmp_path / "mine.py").write_text(SCORES.format(folder=str(tmp_path)))
    write(tmp_path, cluster=f"{joined}\nreward_tasks = 1")
    spec = f'{{name = "{tmp_path}/mine.py:once", idempotent = {str(idempotent).lower()}}}'
    status, said = finish(start(tmp_path, "train", "run.toml", f"reward={spec}"))
    if not idempotent:
        assert status == 1 and "LostRewardError" in said and "reward.idempotent=true" in said, said
        return
    assert status == 0, said
    (told,) = closed(tmp_path / "runs" / "over", 3)
    assert told["attempt"] == 1 and told["tickets"], "the loss is in the ledger"
