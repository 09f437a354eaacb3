"""The quick start over seeds 0-4: `quintain train keydoor run.seed=S`, success on 1,000 instances of unseen layouts at T=1 and
greedy, after the warm start and at the end; wall seconds, processor seconds of both processes, seconds to the first reward.

    python benchmarks/quickstart.py [RECIPE] [SEED...]
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from quintain.ledger import RunDir

TARGETS = {"keydoor": (0.35, 0.85, 0.80, 0.25, 180), "sokoban": (0.30, 0.80, 0.0, 0.0, 180)}


def train(recipe: str, seed: int, folder: Path) -> dict[str, float]:
    """One run; its scores and times."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    words = ["train", recipe, f"run.seed={seed}", f"run.folder={folder}", f"run.name={recipe}-{seed}"]
    first = 0.0
    with subprocess.Popen([sys.executable, "-m", "quintain.cli", *words], stdout=subprocess.PIPE, text=True) as process:
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


def main() -> None:
    """Run the seeds and print the rows."""
    words = sys.argv[1:]
    recipe = words.pop(0) if words and not words[0].isdigit() else "keydoor"
    seeds = [int(w) for w in words] or list(range(5))
    low, high, worst, gain, limit = TARGETS[recipe]
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for seed in seeds:
            runs.append(train(recipe, seed, Path(folder)))
            print(seed, {k: round(v, 3) for k, v in runs[-1].items()}, file=sys.stderr, flush=True)
    ends = [r["eval_end"] for r in runs]
    mean = sum(ends) / len(ends)
    starts = max(r["eval_start"] for r in runs)
    gains = min(r["greedy_end"] - r["greedy_start"] for r in runs)
    wall = max(r["wall"] for r in runs)
    table = "; ".join(
        f"seed {s}: {r['eval_start']:.3f} -> {r['eval_end']:.3f}, greedy {r['greedy_start']:.3f} -> {r['greedy_end']:.3f}, "
        f"{r['wall']:.0f} s wall, {r['cpu']:.0f} CPU s, first reward after {r['first']:.0f} s"
        for s, r in zip(seeds, runs, strict=True)
    )
    good = mean >= high and min(ends) >= worst and starts <= low
    rows = [
        {
            "name": f"{recipe}: success after training, mean of seeds {seeds}",
            "ours": mean,
            "target": f">= {high} (worst >= {worst}) from <= {low}",
            "holds": good,
            "note": table,
        },
        {
            "name": f"{recipe}: wall seconds, slowest seed",
            "ours": wall,
            "target": f"<= {limit}",
            "holds": wall <= limit,
        },
        {
            "name": f"{recipe}: seconds to the first reward",
            "ours": max(r["first"] for r in runs),
            "target": "<= 20",
            "holds": max(r["first"] for r in runs) <= 20,
        },
        {
            "name": f"{recipe}: gain of greedy success, smallest",
            "ours": gains,
            "target": f">= {gain}",
            "holds": gains >= gain,
        },
    ]
    print(json.dumps([row | {"peer": None, "ratio": None} for row in rows]))


if __name__ == "__main__":
    main()
