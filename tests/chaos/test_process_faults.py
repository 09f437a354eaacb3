"""Faults in real processes: the tiny recipe with two actors and an env worker, each role killed, stopped, hung or starved.

One plan is in force in all processes of a run. What ends the run is resumed; the books must be closed in the end, the ledger
sound, nobody left alive, nothing left in shared memory, and nothing trained beyond the lag.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from tests.e2e.runs import forking

from quintain import faults
from quintain.faults import POINTS, Fault
from quintain.ledger import RunDir, audit
from quintain.ledger.doctor import verify
from quintain.runtime import forks
from quintain.runtime.children import begin

pytestmark = pytest.mark.chaos
LAG, STEPS, HEARTBEAT_S, STOPPED_S, RUNS = 2, 14, 3, 5.0, 4
RECIPE = [
    *("tiny", f"run.steps={STEPS}", "run.checkpoint_every=3", "eval.instances=0", "warm_start.steps=0"),
    *("algorithm.name=reinforce", "run.groups_per_step=4", f"run.max_lag={LAG}", "runtime.actors=2", "env.workers=1"),
    *(f"runtime.heartbeat_s={HEARTBEAT_S}", "run.record=none"),
]
FIRST = ["publish.before_file", "publish.after_file"]
PLANS = {
    "first": FIRST,
    "crew": ["crew.hand_out", "crew.send", "crew.receive"],
    "actor": ["actor.play", "actor.load"],
    "env": ["env.answer"],
}


def faults_of(points: list[str]) -> list[Fault]:
    """Every action of every point, at hits that rise, so that they come one after another."""
    out = []
    for point in points:
        every = 5 if point == "env.answer" else 1 if point.startswith(("publish", "actor.load")) else 2
        for i, action in enumerate(sorted(POINTS[point], key=lambda a: (a != "delay", a))):
            seconds = {"delay": 0.2, "hang": 3.0}.get(action, 0.0)
            out.append(Fault(point=point, action=action, hit=1 + every * (1 + i), seconds=seconds))
    return out


def ours(plan: Path) -> list[psutil.Process]:
    """The living processes that the plan is in force in, but for the fork server of the test."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(faults.VARIABLE) == str(plan) and process.status() != psutil.STATUS_ZOMBIE:
                found += [process] if forks.PROGRAM not in process.cmdline() else []
    return found


class Attack:
    """Runs a command under a plan: continues what is stopped, and remembers the rooms in shared memory."""

    def __init__(self, plan: Path) -> None:
        self.plan, self.rooms = plan, set[Path]()
        self.continued: set[int] = set()
        self.stopped: dict[int, float] = {}

    def once(self, *words: str) -> int:
        """The exit code of one start."""
        log = self.plan.with_name("log")
        with log.open("ab") as out:
            process = begin("quintain.cli", "train", *words, log=out)
            until = time.monotonic() + 240
            while process.poll() is None:
                assert time.monotonic() < until, log.read_text()[-3000:]
                self._look()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.5)
        self._all_gone()
        return process.returncode

    def _look(self) -> None:
        for process in ours(self.plan):
            with contextlib.suppress(psutil.Error):
                line = [word for word in process.cmdline() if word]
                if "quintain.runtime.actor" in line:
                    self.rooms.add(Path(line[-1]).parent)
                if process.status() == psutil.STATUS_STOPPED:
                    since = self.stopped.setdefault(process.pid, time.monotonic())
                    if time.monotonic() - since > STOPPED_S:
                        process.send_signal(signal.SIGCONT)
                        self.stopped.pop(process.pid)

    def _all_gone(self) -> None:
        until = time.monotonic() + 30  # a process that computes sees the end of its socket when it is done
        while left := ours(self.plan):
            assert time.monotonic() < until, f"left alive: {[p.cmdline() for p in left]}"
            self._look()
            time.sleep(0.2)


def check(run: Path) -> None:
    with RunDir.open(run) as store:
        books, rows = audit(store), [m for _, m in store.metrics()]
    assert books.ok and not books.pending and books.steps == STEPS, str(books)
    assert books.trained + books.dropped == books.issued
    assert max(m["lag_max"] for m in rows) <= LAG
    assert [f for f in verify(run) if f.level in ("error", "warning")] == []


@pytest.mark.parametrize("name", PLANS)
def test_every_action_in_every_role(tmp_path, name, monkeypatch):
    plan = tmp_path / "plan.json"
    these = faults_of(PLANS[name])
    faults.write(plan, these)
    monkeypatch.setenv(faults.VARIABLE, str(plan))
    with forking():
        attack(plan, these, name)


def attack(plan: Path, these: list[Fault], name: str) -> None:
    """Runs under a plan, resumed as often as they end, until every fault of it has struck."""
    on = Attack(plan)
    for number in range(RUNS):
        folder = plan.with_name(str(number))
        folder.mkdir()
        run, words, ends = folder / "tiny", [*RECIPE, f"run.folder={folder}"], 0
        while on.once(*words) != 0:
            ends += 1
            assert ends <= len(these), plan.with_name("log").read_text()[-3000:]
            if (run / "run.json").exists():
                words = ["--resume", str(run)]
                assert [f for f in verify(run) if f.level in ("error", "warning")] == []
        check(run)
        if len(faults.struck(plan)) == len(these):
            break
    struck = {(s.fault.point, s.fault.action) for s in faults.struck(plan)}
    print(f"{name}: {len(struck)} of {len(these)} faults in {number + 1} runs")
    assert struck == {(f.point, f.action) for f in these}
    assert on.rooms and [room for room in on.rooms if room.exists()] == []


def test_every_point_is_attacked_somewhere():
    here = {p for points in PLANS.values() for p in points}
    assert here | {n for n in POINTS if n.split(".")[0] in ("ledger", "checkpoint", "reward", "window", "learner", "run")} == set(
        POINTS
    )  # fmt: skip
