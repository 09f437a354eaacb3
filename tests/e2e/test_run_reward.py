"""Whole runs with a reward function of one's own that hangs, exits, or takes its time."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "quintain.cli", "train", "tiny", "eval.instances=0", "warm_start.steps=0"]


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "my.py"
    path.write_text(
        "import pathlib, sys, time\n"
        "def hang(trajectory):\n"
        "    pathlib.Path(__file__).with_name('hangs').touch()\n"
        "    time.sleep(1e5)\n"
        "def leave(trajectory):\n"
        "    sys.exit(0)\n"
    )
    return path


@pytest.mark.slow
def test_a_run_whose_reward_hangs_still_drains(file):
    folder, hangs = file.parent, file.with_name("hangs")
    command = [*COMMAND, f"run.folder={folder}", f"reward={file}:hang"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            end = time.monotonic() + 60
            while not hangs.exists() and time.monotonic() < end and process.poll() is None:
                time.sleep(0.05)
            assert hangs.exists()
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=15) == 75
        finally:
            process.kill()
        assert process.stdout is not None and "stopped at step 0" in process.stdout.read()


@pytest.mark.slow
def test_a_reward_that_exits_ends_the_run_with_an_error(file):
    command = [*COMMAND, f"run.folder={file.parent}", f"reward={file}:leave"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "reward 'leave' failed on trajectory" in done.stderr
    assert "SystemExit: 0" in done.stderr
