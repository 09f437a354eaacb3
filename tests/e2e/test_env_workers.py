"""Runs whose envs live in worker processes: alone, with ranks, with actors; one worker is killed on the way."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import psutil
import pytest

from quintain import config as configs
from quintain.cli.train import run
from quintain.ledger import RunDir, audit

MAIN = "quintain.runtime.env_worker"


def workers() -> list[psutil.Process]:
    """Those of this process and its children."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if MAIN in process.cmdline():
                found.append(process)
        except psutil.Error:
            continue
    return found


def start(folder: Path, *overrides: str) -> Path:
    quiet = ["eval.instances=0", "warm_start.steps=0", "env.workers=2", "algorithm.name=reinforce"]
    config = configs.make("tiny", overrides=[*quiet, f"run.folder={folder}", *overrides])
    path = folder / config.run.name
    RunDir.create(path, config.toml(full=True)).close()
    assert run(config, path, resume=False) == 0
    return path


@pytest.mark.slow
def test_a_run_survives_the_death_of_an_env_worker(tmp_path):
    killed: list[int] = []

    def kill_one(stop: threading.Event) -> None:
        while not stop.wait(0.05) and not killed:
            if list((tmp_path / "tiny" / "checkpoints").glob("step-000002*")) and (found := workers()):
                os.kill(found[0].pid, signal.SIGKILL)
                killed.append(found[0].pid)

    stop = threading.Event()
    killer = threading.Thread(target=kill_one, args=(stop,))
    killer.start()
    try:
        path = start(tmp_path, "run.steps=16", "run.checkpoint_every=2")
    finally:
        stop.set()
        killer.join()
    with RunDir.open(path) as store:
        books, rows = audit(store), [m for _, m in store.metrics()]
        told = [e.payload for e in store.events(["env_worker"])]
    assert killed and books.ok and not books.pending and books.issued == 16 * 8 and len(rows) == 16
    assert told[0]["status"] == -signal.SIGKILL and rows[-1]["env_deaths"] >= 1
    assert not any(r.get("stop/crashed") for r in rows), "no episode was lost"
    assert not workers()


@pytest.mark.slow
@pytest.mark.parametrize("more", [["runtime.processes=2"], ["runtime.actors=1", "run.max_lag=1"]])
def test_ranks_and_actors_have_workers_of_their_own(tmp_path, more):
    path = start(tmp_path, "run.steps=3", *more)
    with RunDir.open(path) as store:
        books, rows = audit(store), [m for _, m in store.metrics()]
    assert books.ok and books.trained + books.dropped == books.issued == 24 and len(rows) == 3
    assert not any(r.get("stop/crashed") for r in rows) and not workers()
