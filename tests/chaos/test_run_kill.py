"""A real training run, killed with signal 9 at chosen changes to its disk until it gets through: equal to one that was not."""

from __future__ import annotations

import hashlib
import random
import signal
from pathlib import Path

import pytest

from quintain.ledger import RunDir, audit
from quintain.ledger.doctor import verify
from quintain.runtime import forks
from quintain.runtime.children import begin

pytestmark = pytest.mark.chaos
KILLS = 6
RECIPE = ["tiny", "run.steps=12", "run.checkpoint_every=3", "eval.instances=0"]

# Trains like the command line does, on a disk that kills the process at its N-th change.
DYING = """
import os, signal
import quintain.ledger.rundir as rundir
from quintain.ledger.disk import Disk

class Dying(Disk):
    left, when = 0, ""

def around(name):
    change = getattr(Disk, name)
    def changed(self, *args, **more):
        Dying.left -= 1
        if Dying.left == 0 and Dying.when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        done = change(self, *args, **more)
        if Dying.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return done
    return changed

for name in ("write", "sync", "truncate", "sync_file", "sync_folder", "rename", "remove"):
    setattr(Dying, name, around(name))
rundir.Disk = Dying


def main(words):
    from quintain import cli

    Dying.left, Dying.when = int(words[0]), words[1]
    return cli.main(["train", *words[2:]])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where that program lies, and what it prints."""
    made = tmp_path_factory.mktemp("program")
    (made / "dying.py").write_text(DYING)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(made)
        forks.ready()
        yield made


def train(folder, *words, at=0, when="before"):
    """Start or resume; the exit code. `at=0` never kills."""
    with (folder / "out").open("wb") as out:
        status = begin("dying", str(at), when, *words, log=out).wait(900)
    assert status in (0, -signal.SIGKILL), (folder / "out").read_text()
    return status


def prints(run: Path) -> dict[str, str]:
    """Hashes of weights and optimizer after the last step."""
    with RunDir.open(run) as store:
        newest = store.latest_checkpoint()
    assert newest is not None and newest.step == 12
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(newest.path.glob("*.safetensors"))}


@pytest.fixture(scope="module")
def straight(tmp_path_factory, folder):
    root = tmp_path_factory.mktemp("straight")
    assert train(folder, *RECIPE, f"run.folder={root}") == 0
    with RunDir.open(root / "tiny") as run:
        books = audit(run)
    assert books.ok and books.steps == 12 and not books.pending
    return prints(root / "tiny"), books


@pytest.mark.parametrize("seed", range(2))
def test_a_run_killed_at_disk_changes_ends_like_one_that_was_not(tmp_path, folder, straight, seed):
    rng = random.Random(seed)
    run, kills = tmp_path / "tiny", 0
    while True:
        made = (run / "run.json").exists()
        words = ["--resume", str(run)] if made else [*RECIPE, f"run.folder={tmp_path}"]
        at = rng.randrange(1, 24) if kills < KILLS else 0
        if train(folder, *words, at=at, when=rng.choice(["before", "after"])) == 0:
            break
        kills += 1
        if made:
            assert [f for f in verify(run) if f.level in ("error", "warning")] == []
    assert kills == KILLS
    weights, books = straight
    with RunDir.open(run) as store:
        found = audit(store)
    assert found == books and found.chain == books.chain
    assert prints(run) == weights and set(weights) >= {"weights.safetensors", "optimizer.safetensors"}
