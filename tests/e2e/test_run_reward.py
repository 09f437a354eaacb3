"""Whole runs with a reward function of one's own that takes its time, hangs, or exits."""

from __future__ import annotations

import hashlib
import signal
import time
from pathlib import Path

import pytest
from tests.e2e.runs import begin, start

from quintain import config as configs
from quintain.cli.train import run
from quintain.ledger import RunDir
from quintain.rewards.env import RewardError

WORDS = ["train", "tiny", "eval.instances=0", "warm_start.steps=0"]


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "my.py"
    path.write_text(
        "import asyncio, pathlib, random, sys, time\n"
        "def hang(trajectory):\n"
        "    pathlib.Path(__file__).with_name('hangs').touch()\n"
        "    time.sleep(1e5)\n"
        "def leave(trajectory):\n"
        "    sys.exit(0)\n"
        "def sleepy(trajectory):\n"
        "    time.sleep(random.SystemRandom().random() * 0.004)\n"
        "    return trajectory.reward\n"
        "async def waiting(trajectory):\n"
        "    await asyncio.sleep(random.SystemRandom().random() * 0.02)\n"
        "    return trajectory.reward\n"
    )
    return path


def trained(folder: Path, file: Path, name: str) -> tuple[dict[str, str], list[str]]:
    """Weights and optimizer after a run with refills whose reward is slow at random, and what became of its tickets."""
    given = ["algorithm.name=dapo", "algorithm.options={}", "algorithm.gate=[]", "run.max_refills=1000"]
    more = ["eval.instances=0", "run.steps=4", f"run.folder={folder}", f"reward={file}:{name}"]
    config = configs.make("tiny", overrides=[*given, *more])
    RunDir.create(folder / "tiny", config.toml(full=True)).close()
    assert run(config, folder / "tiny", resume=False) == 0
    with RunDir.open(folder / "tiny") as store:
        newest = store.latest_checkpoint()
        became = [str(dict(e.payload)) for e in store.events(["dropped", "trained"])]
    assert newest is not None and newest.step == 4
    files = sorted(p for p in newest.path.iterdir() if p.suffix == ".safetensors")
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in files}, became


@pytest.mark.parametrize("name", ["sleepy", "waiting"])
def test_a_synchronous_run_with_refills_is_a_function_of_its_seed_however_long_rewards_take(file, name):
    one, two = (trained(file.parent / folder, file, name) for folder in ("one", "two"))
    assert set(one[0]) == {"weights.safetensors", "optimizer.safetensors"}
    assert sum("refill" in ticket for ticket in one[1]) >= 4, "too few refills to show anything"
    assert one == two


def test_refills_without_end_are_blamed_on_the_reward_where_it_fails(file):
    refilling = ["algorithm.name=dapo", "algorithm.options={}", "algorithm.gate=[]", "eval.instances=0"]
    with pytest.raises(RewardError, match="episodes of this step .* reward_error: .*: mend the reward"):
        start(file.parent, *refilling, f"reward={file}:leave", "reward.on_error=0", "warm_start.steps=0")


@pytest.mark.slow
def test_a_run_whose_reward_hangs_still_drains(file):
    folder, hangs = file.parent, file.with_name("hangs")
    process = begin(folder / "out.txt", *WORDS, f"run.folder={folder}", f"reward={file}:hang")
    try:
        end = time.monotonic() + 60
        while not hangs.exists() and time.monotonic() < end and process.poll() is None:
            time.sleep(0.05)
        assert hangs.exists()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=15) == 75
    finally:
        process.kill()
    assert "stopped at step 0" in (folder / "out.txt").read_text()


@pytest.mark.slow
def test_a_reward_that_exits_ends_the_run_with_an_error(file):
    out = file.with_name("out.txt")
    assert begin(out, *WORDS, f"run.folder={file.parent}", f"reward={file}:leave").wait(60) == 1
    assert "reward 'leave' failed on trajectory" in out.read_text() and "SystemExit: 0" in out.read_text()
