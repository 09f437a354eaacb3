"""How well environments are used where episodes are very uneven: an environment that is free takes the next episode, against batches
that wait for their slowest and for the learner.

An environment is in use from the reset to the end of an episode. `python benchmarks/gui.py` plays benchmarks/workloads/gui.toml on the
virtual clock, and a short piece of it on the wall clock.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
from typing import Any

from _plain import Loop
from _slow import now, workload

from quintain.loop import train
from quintain.runtime import clock

W = workload("gui")
TARGET = 5.0


def mode_of(name: str, scale: float) -> dict[str, Any]:
    """A mode of the workload, as `Loop` reads it."""
    mode, profile = W["modes"][name], W["profile"]
    plan = {"group_size": mode["group_size"], "slots": profile["envs"], "deadline_s": profile["deadline_s"] * scale}
    return {**mode, "rollout": plan}


def scaled(scale: float) -> dict[str, Any]:
    """The profile with all its seconds scaled."""
    return {k: v * scale if k.endswith("_s") else v for k, v in W["profile"].items()}


async def play(name: str, seed: int, steps: int, scale: float = 1.0) -> dict[str, float]:
    """Shares of the time in which an environment was in use and at work, and episodes trained per (modelled) minute."""
    run, start = Loop(scaled(scale), mode_of(name, scale), seed, steps), now()
    await train(run)
    end = run.ends[-1]
    whole = (end - start) * W["profile"]["envs"]
    trained = steps * W["modes"][name]["groups"] * W["modes"][name]["group_size"]
    used, at_work = run.marks[-1]
    return {"used": used / whole, "at_work": at_work / whole, "rate": trained / (end - start) * 60 * scale}


def main() -> None:
    """All seeds, both modes."""
    runs = {m: [clock.run(play(m, seed, W["steps"])) for seed in W["seeds"]] for m in W["modes"]}
    wall = {m: asyncio.run(play(m, **W["wall"])) for m in W["modes"]}
    mean = {m: {k: statistics.fmean(r[k] for r in rows) for k in rows[0]} for m, rows in runs.items()}
    ratios = [s["used"] / b["used"] for s, b in zip(runs["stream"], runs["batch"], strict=True)]
    ratio, rate = statistics.fmean(ratios), mean["stream"]["rate"] / mean["batch"]["rate"]
    print({"runs": runs, "wall": wall}, file=sys.stderr)
    note = (
        f"share of the time that an environment is in use, {len(ratios)} seeds ({min(ratios):.2f} to {max(ratios):.2f}); "
        f"episodes trained a minute {mean['stream']['rate']:.0f} against {mean['batch']['rate']:.0f} ({rate:.1f}x); virtual clock; on "
        f"the wall clock, {W['wall']['steps']} steps at {W['wall']['scale']} of the time: "
        f"{wall['stream']['used']:.0%} against {wall['batch']['used']:.0%}"
    )
    row = {"name": "GUI-like envs: in use, streaming against our batch-wise mode", "target": f">= {TARGET:g}x"}
    row |= {"ours": f"{mean['stream']['used']:.1%}", "peer": f"{mean['batch']['used']:.1%}", "ratio": round(ratio, 2)}
    print(json.dumps({**row, "holds": ratio >= TARGET, "note": note}))


if __name__ == "__main__":
    main()
