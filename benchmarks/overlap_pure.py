"""Overlapped against synchronous learning on this machine, without modelled delays: benchmarks/workloads/pure.toml."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from _slow import workload

from quintain.ledger import RunDir

P = workload("pure")


def measure(mode: str, seed: int, folder: Path) -> dict[str, float]:
    """Seconds from the first step to the level, seconds of a step, success of the last steps."""
    name = f"{mode}-{seed}"
    words = [
        P["recipe"],
        f"run.seed={seed}",
        f"run.folder={folder}",
        f"run.name={name}",
        *P["overrides"],
        *P["modes"][mode],
    ]
    subprocess.run([sys.executable, "-m", "quintain.cli", "train", *words], check=True, stdout=subprocess.DEVNULL)
    with RunDir.open(folder / name) as store:
        rows = [(e.time, dict(e.payload)) for e in store.events(["metrics"])]
    begin = rows[0][0] - rows[0][1]["seconds"]
    reached = next(
        (
            rows[i][0] - begin
            for i in range(P["steps"] - 1, len(rows))
            if statistics.fmean(r["success"] for _, r in rows[i + 1 - P["steps"] : i + 1]) >= P["level"]
        ),
        float("inf"),
    )
    return {
        "reached": reached,
        "step_s": (rows[-1][0] - begin) / len(rows),
        "success": statistics.fmean(r["success"] for _, r in rows[-P["steps"] :]),
        "lag": max(r["lag_max"] for _, r in rows),
    }


def row(mode: str, runs: Sequence[dict[str, float]], reference: Sequence[dict[str, float]]) -> dict[str, object]:
    """What the page shows of a mode."""
    ours, peer = (statistics.fmean(r["reached"] for r in some) for some in (runs, reference))
    told = "; ".join(
        f"seed {s}: {r['reached']:.0f} s, {r['step_s']:.2f} s a step, success at the end {r['success']:.3f}, lag <= {r['lag']:.0f}"
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
