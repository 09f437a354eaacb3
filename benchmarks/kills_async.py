"""100 kills -9 at seeded random moments of every role of an asynchronous run (2 actors, max_lag 2, a reward in a process of its own):
prompts lost, prompts trained twice, the hash chain, and groups trained beyond the bound on lag.

A supervisor (`--restarts`) goes on with the run after the first process was killed. Victims are drawn 1:3:2 among first process,
actors and reward worker; a kill comes 0 to 3 s after the one before. Every other kill of the first process waits until the run has
taken a step since the last one, so kills meet start-up as well as rollouts, updates and saves.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil

from quintain.ledger import RunDir, audit
from quintain.ledger.doctor import verify
from quintain.runtime.watch import read_live

KILLS, SEED, LAG, LIMIT_S = 100, 0, 2, 900.0
ROLES = ("first", "actor", "actor", "actor", "reward", "reward")
REWARD = '''
import multiprocessing.connection, os, subprocess, sys

CHILD = "import sys\\nfor line in sys.stdin:\\n print(0.0, flush=True)"
worker = None


def score(task):
    """Asked of a process of its own, which is started again when it is gone."""
    global worker
    for _ in range(3):
        if worker is None or worker.poll() is not None:
            worker = subprocess.Popen([sys.executable, "-c", CHILD, "quintain-reward"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            worker.stdin.write(b"?\\n")
            worker.stdin.flush()
            return float(worker.stdout.readline())
        except (OSError, ValueError):
            worker.kill()
            worker.wait()
    raise RuntimeError("no reward worker stays alive")
'''


def command(folder: Path, *words: str) -> list[str]:
    """The command line of the run."""
    recipe = [
        "tiny", "run.steps=1000000", "run.checkpoint_every=3", "eval.instances=0", "run.record=none", "runtime.actors=2",
        f"run.max_lag={LAG}", "runtime.spares=1", f"reward={folder / 'reward.py'}:score", f"run.folder={folder}",
    ]  # fmt: skip
    return [sys.executable, "-m", "quintain", "train", *recipe, *words]


def victims(supervisor: psutil.Process, role: str) -> list[psutil.Process]:
    """The living processes of a role."""
    found = []
    for process in supervisor.children(recursive=True):
        try:
            line, parent = " ".join(process.cmdline()), process.parent()
        except psutil.Error:
            continue
        if role == "actor" and "quintain.runtime.actor" in line:
            found.append(process)
        if role == "reward" and "quintain-reward" in line:
            found.append(process)
        if role == "first" and parent == supervisor and (process.children() or "quintain.cli.standby" not in line):
            found.append(process)
    return found


def step_of(run: Path) -> tuple[int, int]:
    """The process that runs and its step, as it says itself."""
    said = read_live(run) or {}
    return said.get("pid", 0), said.get("step") or 0


def goes_on(run: Path, steps: int, seconds: float) -> None:
    """Wait until one process has taken so many steps, or for so long."""
    end, since = time.perf_counter() + seconds, step_of(run)
    while time.perf_counter() < end:
        now = step_of(run)
        if now[0] == since[0] and now[1] >= since[1] + steps:
            return
        since = since if now[0] == since[0] else now
        time.sleep(0.1)


def attack(supervisor: psutil.Process, run: Path, began: float) -> Counter:
    """Kill until there were enough; how many of each role."""
    rng, hits = random.Random(SEED), Counter()
    while sum(hits.values()) < KILLS and time.perf_counter() - began < LIMIT_S and supervisor.is_running():
        role, wait = rng.choice(ROLES), rng.uniform(0.0, 3.0)
        time.sleep(wait)
        if role == "first" and hits[role] % 2:
            goes_on(run, 1, 30.0)
        alive = victims(supervisor, role)
        if not alive:
            continue
        try:
            os.kill(rng.choice(alive).pid, signal.SIGKILL)
            hits[role] += 1
        except ProcessLookupError:
            continue
        print(f"kill {sum(hits.values())}: {role}", file=sys.stderr, flush=True)
    return hits


def main() -> None:
    """Attack, let it drain, and check the books."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "reward.py").write_text(REWARD)
        words = command(folder, "--restarts", "50")
        with (folder / "out.txt").open("w") as out, subprocess.Popen(words, stdout=out, stderr=out) as process:
            supervisor = psutil.Process(process.pid)
            while not list(folder.glob("tiny/checkpoints/step-*")):
                time.sleep(0.1)
            hits = attack(supervisor, folder / "tiny", began)
            goes_on(folder / "tiny", 3, 90.0)  # one more stretch in peace
            process.send_signal(signal.SIGTERM)
            status = process.wait(60)
        run = folder / "tiny"
        with RunDir.open(run) as store:
            books, rows = audit(store), [m for _, m in store.metrics()]
        errors = [f for f in verify(run) if f.level == "error"]
        late = sum(m["lag_max"] > LAG for m in rows)
    bad = len(books.lost) + len(books.duplicated) + late + len(errors)
    good = sum(hits.values()) == KILLS and books.ok and not bad and status == 75
    note = f"{dict(sorted(hits.items()))}; lost {len(books.lost)}, trained twice {len(books.duplicated)}, steps beyond max_lag {late}, "
    note += f"errors in the ledger {len(errors)}; {len(rows)} steps, {books.trained} groups trained; status {status}; "
    note += f"{time.perf_counter() - began:.0f} s"
    row = {
        "name": "100 kills -9 of every role, asynchronous: lost, doubled, stale",
        "ours": bad,
        "peer": None,
        "ratio": None,
    }
    print(json.dumps(row | {"target": "0", "holds": good, "note": note}))


if __name__ == "__main__":
    main()
