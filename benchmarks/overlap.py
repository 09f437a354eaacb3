"""Workload W: what overlapping gains where the world is slow. Our own modes, from batch-synchronous to a lag of four versions.

`python benchmarks/overlap.py` plays all of benchmarks/workloads/w.toml on the virtual clock, where real work takes no time and modelled
seconds take theirs, and two modes on the wall clock beside it. `python benchmarks/overlap.py wall async 3` runs one mode and seed alone
and prints what it measured.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from _slow import Busy, SlowEngine, SlowEnvs, SlowLearner, now, workload

from quintain import config as configs
from quintain.learn.precision import set_threads
from quintain.learn.ranks import Ranks
from quintain.ledger import RunDir
from quintain.loop import train
from quintain.runtime import clock
from quintain.runtime.assemble import open_run, warm_start
from quintain.runtime.timed import Timed
from quintain.types import Group, Weights

W = workload("w")
Runs = dict[str, list[dict[str, float]]]


def config_of(mode: str, seed: int, steps: int) -> configs.Config:
    """The config of the workload in a mode."""
    trees = [W["config"], W["modes"][mode], {"run": {"seed": seed, "steps": steps}}]
    return configs.make(*trees, {"rollout": {"options": {"deadline_s": 0.0}}})  # the slow env keeps its own deadline


async def drive(config: configs.Config, folder: Path, seed: int, stop_at: int) -> dict[str, Any]:
    """Train in the slow world for `stop_at` steps; when each step ended, and what it was trained on."""
    slow, busy = W["slow"], Busy()
    with RunDir.create(folder / "run", config.toml(full=True), record="none") as store:
        opened = open_run(config, store, Ranks())
        run = opened.run
        envs = SlowEnvs(run.cast.env, slow, seed, busy)
        run.cast = replace(
            run.cast, env=envs, engines={"policy": SlowEngine(run.cast.engines["policy"], slow, seed, busy)}
        )
        run.learner = Timed(SlowLearner(run.parts.learner, slow, busy), run.clock)
        ends, seen, lags = [], [], []
        record = run.record

        async def noted(step: int, groups: Sequence[Group], metrics: Mapping[str, float]) -> None:
            finished = [t for g in run._finished for t in g.trajectories]
            seen.append([float(t.rewards.get("success", t.reward) >= 1) for t in finished])
            lags.extend(step - g.oldest for g in groups)
            await record(step, groups, metrics)
            ends.append(now())
            if len(ends) == stop_at:
                run.drain()

        run.record = noted
        run.begin()
        await warm_start(config, opened, lambda text: None)
        busy.seconds.clear()
        start, wall = now(), time.perf_counter()
        await run.cast.load(Weights(version=0, kind="pointer", source=opened.model))
        await train(run)
    return {
        "start": start,
        "ends": ends,
        "success": seen,
        "lag_max": max(lags),
        "lag_mean": statistics.fmean(lags),
        "busy": dict(busy.seconds),
        "wall": time.perf_counter() - wall,
    }


def measure(mode: str, seed: int, on: str, learn: bool = False) -> dict[str, float]:
    """Trajectories a second between two step ends, utilisation of each role, lag; with `learn` success and time of a whole run."""
    lag = W["modes"][mode]["run"]["max_lag"]
    stop = W["learn_steps"] if learn else W["skip"] + W["steps"]
    config = config_of(mode, seed, stop if learn else stop + lag + 1)
    with tempfile.TemporaryDirectory() as folder:
        work = drive(config, Path(folder), seed, stop)
        told = clock.run(work) if on == "virtual" else asyncio.run(work)
    first, seconds = (told["start"], told["ends"][-1] - told["start"]) if learn else (0.0, 0.0)
    if not learn:
        first = told["ends"][W["skip"] - 1]
        seconds = told["ends"][-1] - first
    episodes = (
        config.run.groups_per_step * config.rollout.group_size * (len(told["ends"]) - (0 if learn else W["skip"]))
    )
    whole, slow = told["ends"][-1] - told["start"], W["slow"]
    last = [s for step in told["success"][-W["window"] :] for s in step]
    return {
        "rate": episodes / seconds,
        "step_s": seconds / (len(told["ends"]) - (0 if learn else W["skip"])),
        "seconds": whole,
        "success": statistics.fmean(last),
        "env_use": told["busy"]["env"] / whole / slow["envs"],
        "slot_use": told["busy"]["slot"] / whole / slow["engines"] / slow["slots"],
        "learner_use": told["busy"]["learner"] / whole,
        "lag_max": told["lag_max"],
        "lag_mean": told["lag_mean"],
        "wall": told["wall"],
    }


def spread(values: Sequence[float]) -> str:
    """Mean and range."""
    return f"{statistics.fmean(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def rows(
    found: Runs,
    learnt: Runs,
    walls: Runs,
) -> list[dict[str, Any]]:
    """What the page shows."""
    base = [r["rate"] for r in found["sync"]]
    out: list[dict[str, Any]] = []
    for mode, runs in found.items():
        like = f"sync_{mode.partition('_')[2]}"  # the reference with the same batch and redundancy
        peer = [r["rate"] for r in found[like]] if mode.startswith("async_") else base
        ratios = [a / b for a, b in zip([r["rate"] for r in runs], peer, strict=True)]
        note = (
            f"{len(runs)} seeds, virtual clock; trajectories/s {spread([r['rate'] for r in runs])}; ratio {spread(ratios)}; "
            f"in use: environments {spread([r['env_use'] for r in runs])}, slots {spread([r['slot_use'] for r in runs])}, "
            f"learner {spread([r['learner_use'] for r in runs])}; lag at most {max(r['lag_max'] for r in runs):.0f}, "
            f"mean {statistics.fmean(r['lag_mean'] for r in runs):.2f}"
        )
        target = ">= 2.5x" if mode == "async" else None
        ratio = statistics.fmean(ratios)
        out.append(
            {
                "name": f"workload W, {mode}: trajectories/s against batch-synchronous",
                "ours": statistics.fmean(r["rate"] for r in runs),
                "peer": statistics.fmean(peer),
                "ratio": ratio,
                "target": target,
                "holds": ratio >= 2.5 if target else None,
                "note": note,
            }
        )
    return out + wall_rows(found, walls) + [learnt_row(learnt)]


def wall_rows(found: Runs, walls: Runs) -> list[dict[str, Any]]:
    """The wall clock against the virtual one."""
    out: list[dict[str, Any]] = []
    for mode, runs in walls.items():
        gaps = [r["rate"] / v["rate"] for r, v in zip(runs, found[mode])]
        out.append(
            {
                "name": f"workload W, {mode}, wall clock: trajectories/s against the virtual clock",
                "ours": statistics.fmean(r["rate"] for r in runs),
                "peer": statistics.fmean(v["rate"] for _, v in zip(runs, found[mode])),
                "ratio": statistics.fmean(gaps),
                "target": None,
                "holds": None,
                "note": f"{len(runs)} seeds; ratio wall / virtual {spread(gaps)}",
            }
        )
    return out


def learnt_row(learnt: Runs) -> dict[str, Any]:
    """Success at the end of whole runs."""
    ends = {mode: [r["success"] for r in runs] for mode, runs in learnt.items()}
    gap = statistics.fmean(ends["async"]) - statistics.fmean(ends["sync"])
    seconds = {mode: statistics.fmean(r["seconds"] for r in runs) for mode, runs in learnt.items()}
    return {
        "name": f"workload W: success after {W['learn_steps']} steps, async",
        "ours": statistics.fmean(ends["async"]),
        "peer": statistics.fmean(ends["sync"]),
        "ratio": None,
        "target": "within 0.02 of batch-synchronous",
        "holds": gap >= -0.02,
        "note": f"seeds {W['learn_seeds']}, last {W['window']} steps of training; async {spread(ends['async'])} in "
        f"{seconds['async']:.0f} modelled s, sync {spread(ends['sync'])} in {seconds['sync']:.0f} s",
    }


def main() -> None:
    """Everything, or one mode and seed."""
    set_threads(1)
    if len(sys.argv) > 1:
        on, mode, seed = sys.argv[1:4]
        print(json.dumps(measure(mode, int(seed), on, learn="learn" in sys.argv)))
        return
    found: Runs = {}
    for mode in W["modes"]:
        found[mode] = [measure(mode, seed, "virtual") for seed in W["seeds"]]
        print(mode, [round(r["rate"], 2) for r in found[mode]], file=sys.stderr, flush=True)
    learnt = {m: [measure(m, s, "virtual", learn=True) for s in W["learn_seeds"]] for m in ("sync", "async")}
    print({m: [round(r["success"], 3) for r in v] for m, v in learnt.items()}, file=sys.stderr, flush=True)
    walls = {m: [measure(m, s, "wall") for s in W["wall_seeds"]] for m in ("sync", "async")}
    print(json.dumps(rows(found, learnt, walls)))


if __name__ == "__main__":
    main()
