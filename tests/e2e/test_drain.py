"""The first SIGTERM, wherever it finds a run: orderly ended within 10 seconds, status 75, and going on loses nothing."""

from __future__ import annotations

import functools
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.runs import begin, prints

from quintain.cli import main
from quintain.ledger import RunDir, audit
from quintain.runtime import launch

QUIET = ["eval.instances=0", "run.steps=6", "run.checkpoint_every=2"]
STEP = 8 * 4  # episodes of a step of the recipe
REWARD = '''
import asyncio
import sys
from pathlib import Path

calls = 0
MEANT = Path(sys.argv[0]).match(PROCESS)


async def score(task):
    """Nothing on top of the env's reward; after AFTER calls in tasks of SPLIT it never comes, as long as `wait` is there."""
    global calls
    calls += task.split == SPLIT
    here = Path(__file__).parent
    if MEANT and task.split == SPLIT and calls > AFTER and (here / "wait").exists():
        (here / "waiting").touch()
        await asyncio.sleep(3600)
    return 0.0
'''


def command(folder: Path, *more: str, after: int = 0, split: str = "train", process: str = "*") -> list[str]:
    """The words of a run in `folder` whose reward stops coming, in processes whose program matches `process`."""
    values = {"AFTER": after, "SPLIT": split, "PROCESS": process}
    text = REWARD
    for name, value in values.items():
        text = text.replace(name, repr(value))
    (folder / "reward.py").write_text(text)
    (folder / "wait").touch()
    return ["train", "tiny", *QUIET, f"run.folder={folder}", f"reward={folder / 'reward.py'}:score", *more]


def asked_to_stop(folder: Path, words: list[str], when: Callable[[str], bool]) -> tuple[int, float]:
    """The status of a run that gets a SIGTERM once `when` holds for what it has printed, and the seconds it took to leave."""
    process = begin(folder / "out.txt", *words)
    try:
        until = time.monotonic() + 90
        while not when((folder / "out.txt").read_text()):
            assert process.poll() is None and time.monotonic() < until, (folder / "out.txt").read_text()
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        since = time.monotonic()
        return process.wait(timeout=30), time.monotonic() - since
    finally:
        process.kill()


def drains(folder: Path, words: list[str], when: Callable[[str], bool] | None = None) -> Path:
    """The folder of a run that was asked to stop and did as it should; its rewards come again."""
    waits = when or (lambda printed: (folder / "waiting").exists())
    status, seconds = asked_to_stop(folder, words, waits)
    told = (folder / "out.txt").read_text()
    assert status == 75 and seconds < 10, f"status {status} after {seconds:.1f} s\n{told}"
    assert "continue with: quintain train --resume" in told
    with RunDir.open(folder / "tiny") as store:
        ends = [(e.actor, e.payload["reason"]) for e in store.events(["stopped"])]
        assert ends and {reason for _, reason in ends} == {"drained"}
        assert len(ends) == len({actor for actor, _ in ends}) == (2 if "runtime.processes=2" in words else 1)
    (folder / "wait").unlink()
    return folder / "tiny"


def whole(folder: Path) -> bool:
    """Whether every ticket of a finished run was trained or dropped, once.

    A group that the gate drops before its step leaves an empty place, which a run that goes on fills anew.
    """
    with RunDir.open(folder) as store:
        books, rows, newest = audit(store), list(store.metrics()), store.latest_checkpoint()
        ranks = len({e.actor for e in store.events(["issued"])})
    assert newest is not None
    tickets = newest.notes["boundary"]["index"] * ranks
    return (
        books.ok and books.issued == books.trained + books.dropped == tickets and [s for s, _ in rows] == list(range(6))
    )


def evals(folder: Path) -> list[tuple[int, dict[str, float]]]:
    with RunDir.open(folder) as store:
        return [(e.step, dict(e.payload)) for e in store.events(["eval"])]


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> Callable[..., Path]:
    """The same run, not disturbed; nobody changes its folder, so tests of one setting share it."""

    @functools.cache
    def run(*more: str) -> Path:
        folder = tmp_path_factory.mktemp("straight")
        words = command(folder, *more)
        (folder / "wait").unlink()
        assert main(words) == 0
        return folder / "tiny"

    return run


@pytest.mark.slow
def test_a_run_that_waits_for_groups_resumes_to_the_same_weights(tmp_path, straight):
    folder = drains(tmp_path, command(tmp_path, after=2 * STEP + 5))
    with RunDir.open(folder) as store:
        assert [step for step, _ in store.metrics()] == [0, 1]
    assert main(["train", "--resume", str(folder)]) == 0
    assert prints(folder) == prints(straight()) and whole(folder)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_a_warm_start_begins_anew(processes, tmp_path, capsys, straight):
    own = [f"runtime.processes={processes}"]
    words = command(tmp_path, *own, "warm_start.steps=100000")
    folder = drains(tmp_path, words, lambda printed: "warm start: " in printed)
    assert "nothing of it is kept" in (tmp_path / "out.txt").read_text()
    assert main(["doctor", str(folder)]) == 0
    assert main(["train", "--resume", str(folder), "warm_start.steps=60"]) == 0
    assert "warm start: loss" in capsys.readouterr().out
    assert prints(folder) == prints(straight(*own)) and whole(folder)


@pytest.mark.slow
def test_a_run_that_is_stopped_before_it_begins_begins_with_the_resume(tmp_path, monkeypatch, capsys):
    starts = launch._start

    def stopped(*given):
        child = starts(*given)
        os.kill(child.process.pid, signal.SIGSTOP)  # so that the ranks do not meet, however busy the machine is
        signal.raise_signal(signal.SIGTERM)
        return child

    with monkeypatch.context() as patch:
        patch.setattr(launch, "_start", stopped)
        assert main(command(tmp_path, "runtime.processes=2")) == 75
    told = capsys.readouterr().out
    assert "nothing had begun" in told and "continue with: quintain train --resume" in told
    with RunDir.open(tmp_path / "tiny") as store:
        assert [(e.actor, e.payload["reason"]) for e in store.events(["stopped"])] == [("rank0", "drained")]
    (tmp_path / "wait").unlink()
    assert main(["train", "--resume", str(tmp_path / "tiny")]) == 0 and whole(tmp_path / "tiny")


@pytest.mark.slow
@pytest.mark.parametrize(("after", "step", "before"), [(30, 0, []), (140, 3, [0]), (190, 6, [0, 3])])
def test_an_evaluation_is_given_up_and_played_again(after, step, before, tmp_path, straight):
    own = ["eval.instances=50", "eval.every=3"]  # 100 episodes at both ends, 50 between
    folder = drains(tmp_path, command(tmp_path, *own, after=after, split="test"))
    assert [s for s, _ in evals(folder)] == before, "no partial score is written"
    with RunDir.open(folder) as store:
        assert len(list(store.metrics())) == step
    assert main(["train", "--resume", str(folder)]) == 0
    other = straight(*own)
    assert evals(folder) == evals(other) and [s for s, _ in evals(folder)] == [0, 3, 6]
    assert prints(folder) == prints(other) and whole(folder)


@pytest.mark.slow
def test_an_evaluation_beside_training_is_given_up_and_played_again_with_its_weights(tmp_path, straight):
    own = ["eval.instances=50", "eval.every=3", "eval.beside=true"]
    folder = drains(tmp_path, command(tmp_path, *own, after=140, split="test"))  # in the midst of that of step 3
    assert [s for s, _ in evals(folder)] == [0], "no partial score is written"
    with RunDir.open(folder) as store:
        newest = store.latest_checkpoint()
        assert newest is not None and newest.step >= 3 and newest.notes["boundary"]["beside"] == 3
        assert (newest.path / "pinned").is_dir()
    assert main(["train", "--resume", str(folder)]) == 0
    other = straight(*own)
    plain = straight(*own[:2])
    assert dict(evals(folder)) == dict(evals(other)) == dict(evals(plain)), (
        "it is the policy of its step that is played"
    )
    assert prints(folder) == prints(other) == prints(plain) and whole(folder)
    with RunDir.open(folder) as store:
        newest = store.latest_checkpoint()
        assert (
            newest is not None and newest.notes["boundary"]["beside"] is None and not (newest.path / "pinned").exists()
        )


@pytest.mark.slow
def test_actors_evaluate_beside_training(tmp_path):
    own = ["runtime.actors=2", "run.max_lag=1", "eval.instances=50", "eval.every=2", "eval.beside=true"]
    folder = drains(tmp_path, command(tmp_path, *own, after=140, split="test"))
    assert [s for s, _ in evals(folder)] == [0]
    assert main(["train", "--resume", str(folder)]) == 0 and whole(folder)
    assert sorted(s for s, _ in evals(folder)) == [0, 2, 4, 6]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("split", "process"), [("train", "*"), ("train", "rank.py"), ("test", "*"), ("test", "rank.py")]
)
def test_two_processes_agree_to_stop_while_they_wait(split, process, tmp_path, straight):
    own = ["runtime.processes=2", "eval.instances=50"]
    after = STEP + 5 if split == "train" else 30  # of each process
    words = command(tmp_path, *own, after=after, split=split, process=process)
    folder = drains(tmp_path, words)
    with RunDir.open(folder) as store:
        assert len(list(store.metrics())) == (2 if split == "train" else 0)
    assert main(["train", "--resume", str(folder)]) == 0
    other = straight(*own)
    assert prints(folder) == prints(other) and evals(folder) == evals(other) and whole(folder)


@pytest.mark.slow
@pytest.mark.parametrize("when", ["waits", "starts"])
def test_a_run_with_actors_drains(when, tmp_path):
    own = ["runtime.actors=1", "run.max_lag=1", "warm_start.steps=1"]
    begun = (lambda printed: "warm start: loss" in printed) if when == "starts" else None
    folder = drains(tmp_path, command(tmp_path, *own, after=STEP + 5), begun)
    assert main(["train", "--resume", str(folder)]) == 0 and whole(folder)
