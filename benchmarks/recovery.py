"""Seconds from kill -9 to work: of an actor until the one in its place has finished a group (with a spare that is up), of the first
process until the next optimizer step (with `--restarts`), and from SIGTERM to the end of all processes while the run is busy.

A small model on CPU, 2 actors, max_lag 2; 8 kills of an actor, 5 of the first process, 5 SIGTERMs.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from quintain.runtime.watch import read_live

ACTORS, FIRSTS, TERMS, SEED = 8, 5, 5, 0


@contextlib.contextmanager
def begin(folder: Path, *words: str) -> Iterator[subprocess.Popen]:
    """A run that goes on until the body is left, however it is left."""
    recipe = [
        "tiny", "run.steps=1000000", "run.checkpoint_every=5", "eval.instances=0", "run.record=none", "runtime.actors=2",
        "run.max_lag=2", "runtime.spares=1", f"run.folder={folder}",
    ]  # fmt: skip
    command = [sys.executable, "-m", "quintain", "train", *recipe, *words]
    with (folder / "out.txt").open("a") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            yield process
        finally:
            process.terminate()


def status(folder: Path) -> dict:
    """What the run says of itself."""
    return {"step": 0, "actors": [], "pid": 0} | (read_live(folder / "tiny") or {})


def until(true, seconds: float = 300.0) -> None:
    """Wait for a condition, by a clock that is finer than the status."""
    end = time.perf_counter() + seconds
    while not true():
        if time.perf_counter() > end:
            raise SystemExit("the run did not recover within five minutes")
        time.sleep(0.02)


def whole(folder: Path) -> bool:
    """Both actors have finished groups and the spare is up."""
    states = [(a["state"], a["finished"]) for a in status(folder)["actors"]]
    return sum(s == "up" and n > 0 for s, n in states) == 2 and any(s == "spare" for s, _ in states)


def of_actors(folder: Path) -> list[float]:
    """Until an actor that had finished no group before has: the spare that took the place. The status is up to 1 s late."""
    rng, took = random.Random(SEED), []
    for _ in range(ACTORS):
        until(lambda: whole(folder))
        time.sleep(rng.uniform(0.0, 1.0))
        actors = status(folder)["actors"]
        spare = next(a["pid"] for a in actors if a["state"] == "spare")
        os.kill(rng.choice([a["pid"] for a in actors if a["state"] == "up"]), signal.SIGKILL)
        since = time.perf_counter()
        until(lambda s=spare: any(a["pid"] == s and a["finished"] for a in status(folder)["actors"]))
        took.append(time.perf_counter() - since)
    return took


def steps(folder: Path) -> int:
    """Lines of finished steps that were printed."""
    return (folder / "out.txt").read_text().count("  step ")


def of_first(folder: Path) -> list[float]:
    """Until the next step is printed."""
    rng, took = random.Random(SEED), []
    for _ in range(FIRSTS):
        until(lambda: whole(folder))
        time.sleep(8.0 + rng.uniform(0.0, 2.0))  # the process that stands by has imported all
        os.kill(status(folder)["pid"], signal.SIGKILL)
        since, before = time.perf_counter(), steps(folder)
        until(lambda n=before: steps(folder) > n)
        took.append(time.perf_counter() - since)
    return took


def of_ends(folder: Path) -> tuple[list[float], int]:
    """From SIGTERM until no process of the run is left, and how many outlived the first one."""
    rng, took, orphans = random.Random(SEED), [], 0
    for _ in range(TERMS):
        with begin(folder, "run.name=tiny", "--fresh") as process:
            until(lambda p=process: status(folder)["pid"] == p.pid and whole(folder))
            time.sleep(rng.uniform(0.0, 2.0))
            children = psutil.Process(process.pid).children(recursive=True)
            since = time.perf_counter()
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            took.append(time.perf_counter() - since)
            orphans += len(psutil.wait_procs(children, timeout=1)[1])
    return took, orphans


def row(name: str, seconds: list[float], target: float, more: str = "") -> dict:
    """A row of the page: the 95th percentile, which is the largest of a few."""
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    note = f"p50 {statistics.median(ordered):.1f} s, p95 {p95:.1f} s, {len(ordered)} times{more}"
    return {
        "name": name,
        "ours": p95,
        "peer": None,
        "ratio": None,
        "target": f"<= {target:g} s",
        "holds": p95 <= target,
        "note": note,
    }


def main() -> None:
    """Measure all three."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with begin(folder, "--restarts", "50") as process:
            actors, first = of_actors(folder), of_first(folder)
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        ends, orphans = of_ends(folder)
    last = row("SIGTERM to the end of all processes, p95 s", ends, 10, f"; orphans {orphans}")
    rows = [
        row("actor killed to a group of the one in its place, p95 s", actors, 5, "; runtime.spares=1"),
        row("first process killed to the next step, p95 s", first, 10, "; --restarts"),
        last | {"holds": last["holds"] and not orphans},
    ]
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
