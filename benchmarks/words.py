"""The recipe `words` in the worlds of the suite `quick`, two of each domain, at level 1: held-out success before and after GRPO.

`python benchmarks/words.py World...` plays some of them only, `--seeds 0` one seed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import mean

from _quickstart import train

from quintain.envs.suites import suite_of

SEEDS = (0, 1)
GAIN = 0.1  # mean over worlds and seeds of success at the end less success after the warm start
LOW = 0.05  # success below which most groups have none, so that there is nothing to learn from
FEW = 2  # worlds that may end below what they had after the warm start


def main() -> None:
    """Train, one run after the other, and print the rows."""
    parser = argparse.ArgumentParser(allow_abbrev=False, description=__doc__)
    parser.add_argument("worlds", nargs="*", default=list(suite_of("quick").worlds))
    parser.add_argument("--seeds", nargs="*", type=int, default=SEEDS)
    given = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in given.seeds:
            for name in given.worlds:
                run = train("words", seed, Path(folder) / name, [f"world={name}"])
                found.setdefault(name, []).append(run)
                print(name, seed, {k: round(v, 3) for k, v in run.items()}, file=sys.stderr, flush=True)
    print(json.dumps(rows(found, list(given.seeds))))


def rows(found: dict[str, list[dict[str, float]]], seeds: list[int]) -> list[dict[str, object]]:
    """What the page shows: the mean over worlds and seeds, each world, and the seconds of a run."""
    ends = {k: {name: mean(r[k] for r in runs) for name, runs in found.items()} for k in ("eval_start", "eval_end")}
    gain = mean(ends["eval_end"].values()) - mean(ends["eval_start"].values())
    lost = [name for name in found if ends["eval_end"][name] < ends["eval_start"][name]]
    low = [name for name in found if ends["eval_start"][name] < LOW]
    gains = {name: ends["eval_end"][name] - ends["eval_start"][name] for name in found}
    parts = {"below": [gains[n] for n in low], "above": [gains[n] for n in found if n not in low]}
    split = ", ".join(f"{len(few)} worlds that begin {k} {LOW} gain {mean(few):.3f}" for k, few in parts.items() if few)
    told = "; ".join(
        f"{name} "
        + ", ".join(f"{r['eval_start']:.2f} -> {r['eval_end']:.2f} (greedy {r['greedy_end']:.2f})" for r in runs)
        for name, runs in found.items()
    )
    walls = [r["wall"] for runs in found.values() for r in runs]
    name = f"words: held-out success in {len(found)} worlds at level 1"
    return [
        {
            "name": f"{name}, gain over the warm start, mean of seeds {seeds}",
            "ours": gain,
            "target": f">= {GAIN}, and at most {FEW} worlds lose",
            "holds": gain >= GAIN and len(lost) <= FEW,
            "note": f"mean {mean(ends['eval_start'].values()):.2f} -> {mean(ends['eval_end'].values()):.2f}; {split}: where few groups "
            f"have a success there is little to learn from (next: imitate longer there); {told}",
            "peer": None,
            "ratio": None,
        },
        {
            "name": "words: wall seconds of a run on one core, slowest",
            "ours": max(walls),
            "target": "<= 600",
            "holds": max(walls) <= 600,
            "note": f"median {sorted(walls)[len(walls) // 2]:.0f} s",
            "peer": None,
            "ratio": None,
        },
    ]


if __name__ == "__main__":
    main()
