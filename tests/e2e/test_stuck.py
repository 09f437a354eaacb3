"""Runs in which something never answers: each is named, on the terminal, in the ledger and by `quintain doctor`."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import psutil
import pytest
from tests.e2e.runs import begin

from quintain.cli import main
from quintain.ledger import RunDir, audit
from quintain.runtime.children import Started
from quintain.runtime.watch import STALLED, read_live

QUIET = ["eval.instances=0", "run.steps=6", "run.checkpoint_every=2"]
STUCK = '''
import asyncio, time
from pathlib import Path
from quintain.envs.world import WorldEnv

here, calls, step = Path(__file__).parent, 0, WorldEnv.step


async def slow(self, moves):
    """The world's own answer; none at all once the file `stuck` is there."""
    if (here / "stuck").exists():
        HANG
    return await step(self, moves)


WorldEnv.step = slow
'''
REWARD = """
import asyncio, time
from pathlib import Path


def sync(task):
    while (Path(__file__).parent / "stuck").exists():
        time.sleep(0.05)
    return 0.0


async def wait(task):
    while (Path(__file__).parent / "stuck").exists():
        await asyncio.sleep(0.05)
    return 0.0
"""


def until(true, process, seconds=90.0):
    end = time.monotonic() + seconds
    while not true():
        assert process.poll() is None and time.monotonic() < end, "it never came true"
        time.sleep(0.05)


def stuck(folder: Path, *more: str, hang: str = "") -> Started:
    """A run that gets stuck once the file `stuck` is there."""
    words = [*QUIET, f"run.folder={folder}", *more]
    (folder / "reward.py").write_text(REWARD)
    if hang:
        (folder / "env.py").write_text(STUCK.replace("HANG", hang))
        words.append(f'run.imports=["{folder / "env.py"}"]')
    return begin(folder / "out.txt", "train", "tiny", *words)


def stuck_at(folder: Path, process: Started) -> None:
    """Let it take a checkpoint after its first steps, then get stuck."""
    until(lambda: list((folder / "tiny" / "checkpoints").glob("step-00000[2-9]*")), process)
    (folder / "stuck").touch()


CASES = {
    "env": ("await asyncio.Event().wait()", ["rollout.options.deadline_s=0"], "waits for its env to answer `step`"),
    "blocked": ("while True: time.sleep(0.1)", ["rollout.options.deadline_s=0"], "env.py:"),
    "reward": ("", ["reward=REWARD:wait"], "the reward 'wait'"),
    "thread": ("", ['reward={name="function", path="REWARD:sync", timeout_s=0}'], "reward.py:"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_what_never_answers_is_named_and_ends_the_run_where_that_is_asked_for(case, tmp_path, capsys):
    hang, more, named = CASES[case]
    more = [m.replace("REWARD", str(tmp_path / "reward.py")) for m in more]
    limits = ["runtime.stall_s=3", "runtime.stall_fatal_s=6", "run.steps=100000"]
    process = stuck(tmp_path, *limits, *more, hang=hang)
    try:
        stuck_at(tmp_path, process)
        assert process.wait(60) == STALLED
    finally:
        process.kill()
    told = (tmp_path / "out.txt").read_text()
    assert "STALL: nothing has moved for 3 s" in told and "StallError" in told and named in told
    with RunDir.open(tmp_path / "tiny") as store:
        stalls = [e.payload for e in store.events(["stall"])]
        newest = store.latest_checkpoint()
        assert stalls and named in json.dumps([dict(s) for s in stalls]) and newest is not None and audit(store).ok
    assert read_live(tmp_path / "tiny")["state"] == "failed"
    assert main(["doctor", str(tmp_path / "tiny")]) == 0
    assert "it ended with StallError" in capsys.readouterr().out
    (tmp_path / "stuck").unlink()
    assert main(["train", "--resume", str(tmp_path / "tiny"), f"run.steps={newest.step + 1}"]) == 0


@pytest.mark.slow
def test_a_stopped_actor_is_named_by_doctor_then_replaced_and_what_it_says_later_is_refused(tmp_path, capsys):
    words = ["runtime.actors=2", "run.max_lag=2", "runtime.heartbeat_s=8", "run.steps=100000"]
    process, run = stuck(tmp_path, *words), tmp_path / "tiny"
    try:
        until(lambda: list((run / "checkpoints").glob("step-00000[2-9]*")), process)
        stopped = read_live(run)["actors"][0]["pid"]
        os.kill(stopped, signal.SIGSTOP)
        until(lambda: any(a["pid"] == stopped and a["silent_s"] > 5.5 for a in read_live(run)["actors"]), process)
        capsys.readouterr()
        assert main(["doctor", str(run)]) == 1
        told = capsys.readouterr().out
        assert f"actor 0 (process {stopped}) gives no sign of life" in told
        assert told.splitlines()[-1].startswith("likely") and f"kill -CONT {stopped}" in told.splitlines()[-1]
        until(lambda: all(a["pid"] != stopped for a in read_live(run)["actors"]), process)
        step = read_live(run)["step"]
        until(lambda: read_live(run)["step"] > step + 2, process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 75
    finally:
        process.kill()
    with RunDir.open(run) as store:
        deaths = [e.payload for e in store.events(["actor"])]
        assert deaths[0]["actor"] == 0 and deaths[0]["silent_s"] >= 8 and audit(store).ok


@pytest.mark.slow
def test_a_living_run_of_two_ranks_is_told_of_and_a_killed_one_too(tmp_path, capsys):
    process, run = stuck(tmp_path, "runtime.processes=2", "run.steps=100000"), tmp_path / "tiny"
    try:
        until(lambda: list((run / "checkpoints").glob("step-00000[2-9]*")), process)
        until(lambda: read_live(run, 1) is not None, process)
        capsys.readouterr()
        assert main(["doctor", str(run), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["status"]["size"] == 2 and found["rank 1"] and found["status"]["pid"] == process.pid
        os.kill(read_live(run, 1)["pid"], signal.SIGSTOP)
        until(lambda: any(w["kind"] == "collective" and w["since_s"] > 2 for w in read_live(run)["waits"]), process)
        time.sleep(5.5)  # until the status of the stopped rank is old
        assert main(["doctor", str(run)]) == 1
        last = capsys.readouterr().out.splitlines()[-1]
        assert "was stopped by a signal" in last and str(read_live(run, 1)["pid"]) in last
    finally:
        other = psutil.Process(read_live(run, 1)["pid"])
        other.kill()
        process.kill()
        process.wait()
        other.wait(30)  # no child of ours: it may end a little after it was killed
    main(["doctor", str(run)])
    told = capsys.readouterr().out
    assert "it was cut off while" in told and "quintain train --resume" in told
