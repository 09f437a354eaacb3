"""20 % of the env workers killed with -9 each minute while 64 episodes play: what it costs, and how soon a worker is replaced.

`python benchmarks/env_kills.py` plays benchmarks/workloads/env_kills.toml in real processes and real time: once in peace, once with kills.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import statistics
import time
from pathlib import Path
from typing import Any

from _plain import WORDS
from _slow import workload

from quintain.engines.scripted import ScriptedEngine
from quintain.parts import Cast
from quintain.rollouts.episodes import episodes
from quintain.runtime.env_pool import EnvPool
from quintain.runtime.env_process import local
from quintain.types import Sampling, Stop, Task, Trajectory

W = workload("env_kills")
MOST_LOST, MOST_S = 0.25, 1.0
SPEC = {"user": f"{Path(__file__).parent / '_kill_env.py'}:make"}


async def kill(pool: EnvPool, seconds: float) -> int:
    """Kill workers at seeded times; how many."""
    rng, killed = random.Random(W["seed"]), 0
    count = round(W["kills_per_minute"] * seconds / 60)
    times = sorted(rng.uniform(0.02 * seconds, 0.95 * seconds) for _ in range(count))
    start = time.monotonic()
    for at in times:
        await asyncio.sleep(max(0.0, start + at - time.monotonic()))
        serving = [w for w in pool.workers if w.envs and not w.gone]
        os.kill(rng.choice(serving).line.process.pid, signal.SIGKILL)
        killed += 1
    return killed


async def play(kills: bool) -> dict[str, Any]:
    """Play episodes, `episodes` at a time, for the minutes of the workload; turns a second, and what became of the episodes."""
    pool, rollout = local(SPEC, W["workers"]), episodes(group_size=1, deadline_s=W["deadline_s"])
    engines, renderers = {"policy": ScriptedEngine(WORDS, ["up"])}, {"policy": WORDS}
    cast = Cast(env=pool, engines=engines, renderers=renderers, sampling=Sampling(max_tokens=1))
    params = {k: W[k] for k in ("turns", "env_p50_s", "env_p99_s")}
    await pool(Task(key="warm", env="wait", params=params)).reset(Task(key="warm", env="wait", params=params))
    done: list[Trajectory] = []
    seconds = 60 * W["minutes"]
    until, index = time.monotonic() + seconds, iter(range(10**9))

    async def seat() -> None:
        while time.monotonic() < until:
            number = next(index)
            group = await rollout(Task(key=str(number), env="wait", seed=number, params=params), cast, number)
            if time.monotonic() < until:
                done.extend(group.trajectories)

    killer = asyncio.create_task(kill(pool, seconds)) if kills else None
    await asyncio.gather(*(seat() for _ in range(W["episodes"])))
    whole = [t for t in done if t.stop is Stop.done and t.reward == W["turns"]]
    out = {"rate": len(whole) / seconds, "spoiled": len(done) - len(whole), "killed": await killer if killer else 0}
    rebuilt = sum(e.startswith("rebuilt") for t in done for e in t.events)
    return out | {"rebuilt": rebuilt, "served": pool.served, "recovered": pool.recoveries}


def percentile(values: list[float], share: float) -> float:
    """The value that a share of them does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main() -> None:
    """In peace, then with kills."""
    calm, hit = asyncio.run(play(False)), asyncio.run(play(True))
    lost = 1 - hit["rate"] / calm["rate"]
    note = f"{hit['killed']} kills of {W['workers']} workers in {W['minutes']:g} minutes; {hit['rebuilt']} episodes rebuilt, "
    note += f"{hit['spoiled']} spoiled; {hit['rate']:.2f} against {calm['rate']:.2f} episodes a second"
    row = {
        "name": "20 % of env workers killed a minute: throughput lost",
        "ours": f"{lost:.1%}",
        "peer": None,
        "ratio": None,
    }
    fine = lost <= MOST_LOST and not hit["spoiled"]
    rows = [row | {"target": f"<= {MOST_LOST:.0%}, no episode spoiled", "holds": fine, "note": note}]
    p50, p95 = percentile(hit["served"], 0.5), percentile(hit["served"], 0.95)
    note = f"from the loss of an env to the first answer of its successor, {len(hit['served'])} envs, p50 {p50:.3f} s; until the episode "
    note += f"goes on, its moves played again: median {statistics.median(hit['recovered']):.2f} s, max {max(hit['recovered']):.2f} s"
    row = {
        "name": "env worker replaced, p95",
        "ours": f"{p95:.3f} s",
        "peer": None,
        "ratio": None,
        "target": f"<= {MOST_S:g} s",
    }
    print(json.dumps([*rows, row | {"holds": p95 <= MOST_S, "note": note}]))


if __name__ == "__main__":
    main()
