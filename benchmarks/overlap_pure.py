"""Overlapped against synchronous learning on this machine, without modelled delays: benchmarks/workloads/pure.toml."""

from __future__ import annotations

import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from _slow import workload

from quintain.ledger import RunDir

P = workload("pure")


def rows_of(run: Path) -> list[tuple[float, dict[str, float]]]:
    """When the steps of a run ended and what they showed."""
    with RunDir.open(run) as store:
        return [(e.time, dict(e.payload)) for e in store.events(["metrics"])]


def reaches(rows: Sequence[tuple[float, dict[str, float]]]) -> int:
    """The first step at which the mean of the last ones is at the level; -1 where there is none."""
    size = P["steps"]
    for i in range(size - 1, len(rows)):
        if statistics.fmean(r["success"] for _, r in rows[i + 1 - size : i + 1]) >= P["level"]:
            return i
    return -1


def measure(mode: str, seed: int, folder: Path) -> dict[str, float]:
    """Seconds and steps from the first step to the level, seconds of a step, the largest lag. The run is drained at the level."""
    run = folder / f"{mode}-{seed}"
    words = [
        P["recipe"],
        f"run.seed={seed}",
        f"run.folder={folder}",
        f"run.name={run.name}",
        *P["overrides"],
        *P["modes"][mode],
    ]
    process = subprocess.Popen([sys.executable, "-m", "quintain", "train", *words], stdout=subprocess.DEVNULL)
    while process.poll() is None:
        time.sleep(2)
        if (run / "run.json").exists() and reaches(rows_of(run)) >= 0:
            process.send_signal(signal.SIGINT)
            process.wait()
    rows = rows_of(run)
    last = reaches(rows)
    begin = rows[0][0] - rows[0][1]["seconds"]
    return {
        "reached": rows[last][0] - begin if last >= 0 else float("inf"),
        "steps": last + 1 if last >= 0 else float("inf"),
        "step_s": (rows[-1][0] - begin) / len(rows),
        "lag": max(r["lag_max"] for _, r in rows),
    }


def row(mode: str, runs: Sequence[dict[str, float]], reference: Sequence[dict[str, float]]) -> dict[str, object]:
    """What the page shows of a mode."""
    ours, peer = (statistics.fmean(r["reached"] for r in some) for some in (runs, reference))
    told = "; ".join(
        f"seed {s}: {r['reached']:.0f} s, {r['steps']:.0f} steps of {r['step_s']:.2f} s, lag <= {r['lag']:.0f}"
        for s, r in zip(P["seeds"], runs, strict=True)
    )
    return {
        "name": f"KeyDoor to {P['level']} success, {mode.replace('_', ' ')}: seconds against two synchronous ranks",
        "ours": ours,
        "peer": peer,
        "ratio": peer / ours,
        "target": None,
        "holds": None,
        "note": told,
    }


def main() -> None:
    """All modes and seeds, seed by seed, so that a change of the machine's load meets all modes."""
    found: dict[str, list[dict[str, float]]] = {mode: [] for mode in P["modes"]}
    with tempfile.TemporaryDirectory() as folder:
        for seed in P["seeds"]:
            for mode, runs in found.items():
                runs.append(measure(mode, seed, Path(folder)))
                print(mode, seed, {k: round(v, 2) for k, v in runs[-1].items()}, file=sys.stderr, flush=True)
    print(json.dumps([row(mode, runs, found["synchronous_two_ranks"]) for mode, runs in found.items()]))


if __name__ == "__main__":
    main()
