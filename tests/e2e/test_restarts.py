"""`quintain train --restarts N`: a run that is killed goes on by itself, one that ends with an explained error does not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from quintain.cli.restarts import Supervisor
from quintain.cli.train import without
from quintain.ledger import RunDir, audit
from quintain.runtime import forks
from quintain.runtime.watch import read_live


def begin(folder: Path, *words: str) -> subprocess.Popen:
    base = [sys.executable, "-m", "quintain", "train", "tiny", f"run.folder={folder}", "eval.instances=0", *words]
    with (folder / "out.txt").open("w") as out:
        return subprocess.Popen(base, stdout=out, stderr=out)


def until(true, process, seconds=90.0):
    end = time.monotonic() + seconds
    while not true():
        assert process.poll() is None and time.monotonic() < end, "it never came true"
        time.sleep(0.05)


@pytest.mark.slow
def test_a_killed_run_goes_on_and_a_signal_to_the_supervisor_drains_it(tmp_path):
    run = tmp_path / "tiny"
    process = begin(tmp_path, "run.steps=100000", "run.checkpoint_every=2", "--restarts", "2")
    try:
        until(lambda: list((run / "checkpoints").glob("step-00000[2-9]*")), process)
        first = read_live(run)["pid"]
        os.kill(first, signal.SIGKILL)
        until(lambda: (read_live(run) or {}).get("pid") != first and (read_live(run) or {}).get("step"), process)
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 75
    finally:
        process.kill()
    _, alive = psutil.wait_procs(children, timeout=5)
    assert not alive, "nobody is left behind"
    assert "was ended by SIGKILL; going on" in (tmp_path / "out.txt").read_text()
    with RunDir.open(run) as store:
        assert audit(store).ok


@pytest.mark.slow
def test_a_run_ends_with_its_supervisor(tmp_path):
    run = tmp_path / "tiny"
    process = begin(tmp_path, "run.steps=100000", "run.checkpoint_every=2", "--restarts", "2")
    until(lambda: list((run / "checkpoints").glob("step-00000[2-9]*")), process)
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) == 2, "the run and the process that stands by"
    process.kill()
    process.wait()
    _, alive = psutil.wait_procs(children, timeout=20)
    assert not alive


@pytest.mark.slow
@pytest.mark.skipif(not forks.possible(), reason="processes are not forked here")
def test_actors_of_a_run_that_goes_on_come_from_a_server_that_was_ready(tmp_path):
    run = tmp_path / "tiny"
    process = begin(
        tmp_path, "run.steps=100000", "run.checkpoint_every=2", "runtime.actors=1", "run.max_lag=2", "--restarts", "2"
    )

    def servers() -> list[int]:
        """Fork servers below the process that stands by."""
        first = (read_live(run) or {}).get("pid")
        waiting = [p for p in psutil.Process(process.pid).children() if p.pid != first]
        return [c.pid for p in waiting for c in p.children() if any("forks.main" in w for w in c.cmdline())]

    def actors() -> list[int]:
        return [a["pid"] for a in (read_live(run) or {}).get("actors", []) if a["state"] == "up" and a["finished"]]

    try:
        until(lambda: list((run / "checkpoints").glob("step-00000[2-9]*")) and servers() and actors(), process)
        (server,), old = servers(), actors()
        os.kill(read_live(run)["pid"], signal.SIGKILL)
        until(lambda: actors() and actors() != old, process)
        assert psutil.Process(actors()[0]).ppid() == server
    finally:
        process.terminate()
        process.wait(20)


@pytest.mark.slow
def test_an_error_that_was_explained_is_final(tmp_path):
    process = begin(tmp_path, "runtime.actors=1", "runtime.processes=2", "--restarts", "5")
    assert process.wait(60) == 1
    told = (tmp_path / "out.txt").read_text()
    assert "runtime.processes=1" in told and "going on" not in told


@pytest.mark.parametrize(
    ("statuses", "steps", "result"),
    [
        ([-9, -11, 0], [1, 2, 3], 0),
        ([-9] * 9, [4, 4, 4, 4, 4, 4, 4], 137),
        ([-9, -9, -9, -9, 0], [1, 2, 3, 4, 5], 0),
        ([75], [1], 75),
        ([2], [1], 2),
        ([76, 0], [1, 1], 0),
    ],
)
def test_deaths_in_a_row_are_limited_and_a_new_checkpoint_begins_the_count_anew(
    statuses, steps, result, tmp_path, monkeypatch
):
    supervisor, starts, slept = Supervisor([], 2), iter(statuses), []
    at = iter(steps)

    def once(self):
        self.folder = tmp_path
        (tmp_path / "checkpoints" / f"step-{next(at, steps[-1]):08d}").mkdir(parents=True, exist_ok=True)
        return next(starts)

    monkeypatch.setattr(Supervisor, "_once", once)
    monkeypatch.setattr("quintain.cli.restarts.time.sleep", slept.append)
    assert supervisor.run() == result
    if result == 137:
        assert slept == [0.0, 1.0], "the first at once, then with more and more patience"


def test_the_option_is_taken_out_of_the_words_wherever_it_stands():
    assert without(["--restarts", "3", "tiny", "a=1"], "--restarts") == ["tiny", "a=1"]
