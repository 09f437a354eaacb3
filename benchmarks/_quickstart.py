"""A recipe over seeds: success on 1,000 instances of unseen layouts at T=1 and greedy, after the warm start and at the end; wall
seconds, processor seconds of both processes, seconds to the first reward. Used by the scripts keydoor, sokoban and keydoor_text.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from quintain.ledger import RunDir


class Target(NamedTuple):
    """Success after the warm start at most, at the end at least (mean, worst seed), gain of greedy success, wall seconds."""

    low: float
    high: float
    worst: float
    gain: float
    seconds: int


def train(recipe: str, seed: int, folder: Path, more: Sequence[str] = ()) -> dict[str, float]:
    """One run; its scores and times."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    words = ["train", recipe, f"run.seed={seed}", f"run.folder={folder}", f"run.name={recipe}-{seed}", *more]
    first = 0.0
    with subprocess.Popen([sys.executable, "-m", "quintain", *words], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if not first and "success" in line:
                first = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"seed {seed} failed")
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    with RunDir.open(folder / f"{recipe}-{seed}") as store:
        evals = [dict(e.payload) for e in store.events(["eval"])]
    ends = {
        f"{k}_{when}": evals[i][f"{k}/success"] for k in ("eval", "greedy") for when, i in (("start", 0), ("end", -1))
    }
    return ends | {"wall": wall, "cpu": cpu, "first": first}


def measure(recipe: str, seeds: Sequence[int], target: Target, more: Sequence[str] = ()) -> None:
    """Run the seeds and print the rows."""
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for seed in seeds:
            runs.append(train(recipe, seed, Path(folder), more))
            print(seed, {k: round(v, 3) for k, v in runs[-1].items()}, file=sys.stderr, flush=True)
    print(json.dumps(rows(recipe, list(seeds), target, runs)))


def rows(recipe: str, seeds: list[int], target: Target, runs: list[dict[str, float]]) -> list[dict[str, object]]:
    """What the page shows of the runs."""
    ends = [r["eval_end"] for r in runs]
    mean, starts = sum(ends) / len(ends), max(r["eval_start"] for r in runs)
    gains = min(r["greedy_end"] - r["greedy_start"] for r in runs)
    lifts = min(r["eval_end"] - r["eval_start"] for r in runs)
    wall, first = max(r["wall"] for r in runs), max(r["first"] for r in runs)
    told = "; ".join(
        f"seed {s}: {r['eval_start']:.3f} -> {r['eval_end']:.3f}, greedy {r['greedy_start']:.3f} -> {r['greedy_end']:.3f}, "
        f"{r['wall']:.0f} s wall, {r['cpu']:.0f} CPU s, first reward after {r['first']:.0f} s"
        for s, r in zip(seeds, runs, strict=True)
    )
    good = mean >= target.high and min(ends) >= target.worst and starts <= target.low and lifts >= target.gain
    worst = f" (worst >= {target.worst})" if target.worst else ""
    wanted = f">= {target.high}{worst} from <= {target.low}" if target.high else f"start + {target.gain}"
    out = [
        {
            "name": f"{recipe}: success after training, mean of seeds {seeds}",
            "ours": mean,
            "target": wanted,
            "holds": good,
            "note": told,
        },
        {
            "name": f"{recipe}: wall seconds, slowest seed",
            "ours": wall,
            "target": f"<= {target.seconds}",
            "holds": wall <= target.seconds,
        },
    ]
    if target.gain:
        out.append(
            {
                "name": f"{recipe}: gain of greedy success, smallest",
                "ours": gains,
                "target": f">= {target.gain}",
                "holds": gains >= target.gain,
            }
        )
    if recipe == "keydoor":
        out.append(
            {
                "name": f"{recipe}: seconds to the first reward, slowest",
                "ours": first,
                "target": "<= 20",
                "holds": first <= 20,
            }
        )
    return [row | {"peer": None, "ratio": None} for row in out]
