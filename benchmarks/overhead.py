"""What the controller itself costs: 2,000 concurrent episodes through the real loop, window, rollout and ledger, with an engine that
answers at once and an env whose answers take a modelled time; env steps/s, and how late the next action is asked for.

Capacity: answers take 0.1 s, which would allow 20,000 steps/s; what is reached is what the controller can do.
Lateness: answers take 0.5 to 0.83 s, so that 2,000 episodes ask for 3,000 steps/s; from "the answer is ready" to "the next action
has been asked for", per step, at least while no other process uses the cores.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from quintain import config as configs
from quintain.engines.scripted import ScriptedEngine
from quintain.ledger import RunDir
from quintain.loop import Window, train
from quintain.runtime.assemble import make_algorithm
from quintain.runtime.keeper import Keeper
from quintain.runtime.memory import settle
from quintain.runtime.playing import make_cast, make_reward, make_rollout
from quintain.runtime.run import LocalRun, Parts, Plan
from quintain.runtime.stage import make_stage
from quintain.runtime.watch import Watch, attach
from quintain.types import Weights

EPISODES, GROUP, SEED = 2000, 8, 0
STEPS = 4  # of the loop; a step is 1,000 episodes, two are in flight
CAPACITY_S, LATE_S = (0.1, 0.1), (0.5, 0.83)


class Slow:
    """An env whose answers are ready after a seeded time; notes when the next question comes."""

    lates: ClassVar[list[float]] = []
    seconds: ClassVar[Counter[int]] = Counter()  # questions in each
    steps = 0
    rng = random.Random(SEED)
    span = CAPACITY_S

    def __init__(self, inner) -> None:
        self.inner, self.ready = inner, 0.0

    async def reset(self, task):
        return await self._answer(self.inner.reset(task))

    async def step(self, moves):
        now = time.perf_counter()
        Slow.lates.append(now - self.ready)
        Slow.seconds[int(now)] += 1
        return await self._answer(self.inner.step(moves))

    async def _answer(self, work):
        asked, wait = time.perf_counter(), Slow.rng.uniform(*Slow.span)
        await asyncio.sleep(wait)
        said = await work
        Slow.steps += 1
        self.ready = asked + wait
        return said

    async def snapshot(self):
        return await self.inner.snapshot()

    async def restore(self, state):
        await self.inner.restore(state)

    async def close(self):
        await self.inner.close()


class Idle:
    """A learner that learns nothing, at once."""

    step = 0

    async def score(self, groups, needs):
        return tuple(groups)

    async def update(self, batch, objective):
        return {}

    async def publish(self):
        Idle.step += 1
        return Weights(version=Idle.step, kind="pointer", source=None)

    def save(self, folder):
        (Path(folder) / "nothing").write_text("")

    def load(self, folder):
        pass


class Alone:
    """The only rank."""

    rank, size = 0, 1


def run_of(config, folder: Path) -> LocalRun:
    """A run of the real parts, but for learner, engine and the time that its envs take."""
    stage, rng = make_stage(config), random.Random(SEED)
    engine = ScriptedEngine(stage.renderer, lambda request: rng.choice(("up", "down", "left", "right")))
    cast = make_cast(config, stage, engine)
    inner = cast.env
    cast = replace(cast, env=lambda task: Slow(inner(task)))
    algorithm = make_algorithm(config)
    parts = Parts(
        rollout=make_rollout(config, GROUP),
        reward=make_reward(config),
        sampler=stage.sampler("train", SEED, (0, 1)),
        advantage=algorithm.advantage,
        objective=algorithm.objective,
        learner=Idle(),
        cast=cast,
        pack=lambda groups: None,
    )
    window = Window(EPISODES // GROUP // 2, 1, steps=STEPS)
    store = RunDir.create(folder, config.toml(full=True))
    return LocalRun(parts, window, Plan(steps=STEPS), Keeper(store, Alone()))


def play(config, span: tuple[float, float]) -> tuple[float, float, list[float]]:
    """Steps per second, steps per second of processor time, and the sorted latenesses in seconds of one run."""
    Slow.lates, Slow.seconds, Slow.steps, Slow.span, Idle.step = [], Counter(), 0, span, 0
    with tempfile.TemporaryDirectory() as folder:
        run = run_of(config, Path(folder) / "run")
        watch = Watch(Path(folder) / "run")

        async def main() -> float:
            run.begin()
            attach(watch, run, None, print)
            watch.clock.start()
            watch.start()
            run.capture()
            settle()
            start = time.perf_counter()
            await train(run)
            watch.close()
            return time.perf_counter() - start

        before = time.process_time()
        seconds = asyncio.run(main())
        busy = time.process_time() - before
        run.keeper.store.close()
    return Slow.steps / seconds, Slow.steps / busy, sorted(Slow.lates)


def main() -> None:
    """Play both settings and print a row for each figure."""
    config = configs.make("keydoor", overrides=["env.scaffold.strict=false", "rollout.options.deadline_s=60"])
    idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rate, could, _ = play(config, CAPACITY_S)
    offered, _, lates = play(config, LATE_S)
    p50, p95, p99 = (1000 * lates[int(len(lates) * q)] for q in (0.5, 0.95, 0.99))
    most = max(Slow.seconds.values())
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = f"p50 {p50:.2f} ms, p95 {p95:.2f} ms, largest {1000 * lates[-1]:.0f} ms; {len(lates):,} steps, {offered:,.0f} a second with "
    told += f"the beginnings and ends of two waves, {most:,} in the busiest second"
    common = {"peer": None, "ratio": None}
    rows = [
        {"name": "2,000 episodes: env steps/s through the controller", "ours": rate, "target": ">= 3,000", **common}
        | {
            "holds": rate >= 3000,
            "note": f"answers take 0.1 s; ledger written; {could:,.0f} a second of processor time",
        },
        {"name": "2,000 episodes: answer ready to next action asked, p99 ms", "ours": p99, "target": "<= 5", **common}
        | {"holds": p99 <= 5, "note": told},
        {"name": "controller memory, idle, MB", "ours": idle, "target": "shown", **common}
        | {"holds": True, "note": f"{rss:.0f} MB at most with 2,000 episodes and their ledger; torch is imported"},
    ]
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
