"""Kill -9 at chosen changes to the disk: nothing acknowledged is lost, the resumed run equals the uninterrupted one."""

from __future__ import annotations

import os
import random
import signal

import pytest

from quintain.ledger import RunDir, audit
from quintain.ledger.doctor import verify

pytestmark = pytest.mark.chaos
STEPS = 14


@pytest.fixture(scope="module")
def straight(memory_folder, toy, cache_disk):
    """An uninterrupted run: its final weights and accounts."""
    home = memory_folder / "straight"
    weights = toy(home, STEPS, cache_disk())
    with RunDir.open(home) as run:
        return weights, audit(run)


def live(home, toy, disk, log):
    """Train in a forked process that appends its acknowledgements to the file `log`; gives its exit code."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            with open(log, "a", buffering=1) as acks:
                weights = toy(home, STEPS, disk, lambda line: print(line, file=acks))
                print("weights", weights, file=acks)
            code = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def check_acknowledged(home, log):
    """What the killed process had acknowledged is there."""
    if not (home / "run.json").exists():
        assert not log.exists() or log.read_text() == ""
        return
    acks = [line.split() for line in log.read_text().splitlines()]
    with RunDir.open(home) as run:
        assert run.offset >= max((int(n) for word, n in acks if word == "offset"), default=0)
        saved = [int(n) for word, n in acks if word == "saved"]
        assert not saved or run.latest_checkpoint().step >= saved[-1]
        assert audit(run).ok
    assert [f for f in verify(home) if f.level in ("error", "warning")] == []


@pytest.mark.parametrize("seed", range(8))
def test_a_run_killed_again_and_again_ends_like_one_that_was_not(place, toy, cache_disk, killing_disk, straight, seed):
    rng = random.Random(seed)
    home, log = place / "run", place / "acks"
    log.touch()
    kills = 0
    while kills < 30:
        code = live(home, toy, killing_disk(rng.randrange(1, 45), rng.choice(["before", "half", "after"])), log)
        assert code in (-signal.SIGKILL, 0)
        check_acknowledged(home, log)
        if code == 0:
            break
        kills += 1
    else:
        assert live(home, toy, cache_disk(), log) == 0
    assert kills >= 5
    weights, accounts = straight
    assert log.read_text().splitlines()[-1] == f"weights {weights}"
    with RunDir.open(home) as run:
        assert audit(run) == accounts


@pytest.mark.parametrize("when", ["before", "half", "after"])
def test_a_kill_at_every_single_change_to_the_disk(place, toy, cache_disk, killing_disk, straight, when):
    """Every operation of a run once, from making the folder to its last commit."""
    weights, accounts = straight
    at = 1
    while True:
        home, log = place / f"run{at}", place / f"acks{at}"
        log.touch()
        code = live(home, toy, killing_disk(at, when), log)
        check_acknowledged(home, log)
        if code == 0:
            break
        assert code == -signal.SIGKILL
        assert live(home, toy, cache_disk(), log) == 0
        check_acknowledged(home, log)
        assert log.read_text().splitlines()[-1] == f"weights {weights}"
        with RunDir.open(home) as run:
            assert audit(run) == accounts
        at += 3 if when != "half" else 2
    assert at > 100
