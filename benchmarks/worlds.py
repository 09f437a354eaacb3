"""Sokoban per core: steps/s through `Env.step` (parse, world step, full caption, Feedback, resets included), with and without
a 256 px picture, and instances/s at 10x10. One process, one thread; processor seconds, so a busy machine does not flatter or hurt.
"""

from __future__ import annotations

import asyncio
import json
import time

from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.ports import SOLO
from quintain.types import Message, Task
from quintain.worlds.noise import Rng

STEPS = 60_000
LEVEL = 4
MOVES = [Message.of("assistant", m) for m in ("up", "down", "left", "right")]


async def play(env: WorldEnv, steps: int, tasks: list[Task]) -> float:
    """Steps per processor second of a random player, resets included."""
    noise = [Rng("bench", i).below(4) for i in range(4096)]
    at, number = 0, 0
    start = time.process_time()
    await env.reset(tasks[0])
    for i in range(steps):
        feedback = (await env.step({SOLO: MOVES[noise[i & 4095]]}))[SOLO]
        if feedback.stop is not None:
            number += 1
            at = number % len(tasks)
            await env.reset(tasks[at])
    return steps / (time.process_time() - start)


def generate(count: int, side: int) -> float:
    """Fresh instances per processor second on boards of `side` x `side` cells."""
    world = world_of("Sokoban")
    level = next(i for i in range(10) if side_of(world, i) >= side)
    start = time.process_time()
    for seed in range(count):
        world.start(seed, level)
    return count / (time.process_time() - start)


def side_of(world: object, level: int) -> int:
    """The side of the boards of a level, from its caption."""
    state = world.start(0, level)  # type: ignore[attr-defined]
    lines = world.view(state, SOLO).caption(2).splitlines()  # type: ignore[attr-defined]
    return max(len(line.split()) for line in lines)


def main() -> None:
    """Measure three times each and take the median."""
    tasks = [Task(key=str(s), env="Sokoban", seed=s, level=LEVEL) for s in range(256)]
    world = world_of("Sokoban")
    plain = WorldEnv(world, Scaffold(grammar="word"))
    drawn = WorldEnv(world, Scaffold(grammar="word", image=256))
    text = sorted(asyncio.run(play(plain, STEPS, tasks)) for _ in range(3))[1]
    picture = sorted(asyncio.run(play(drawn, STEPS // 3, tasks)) for _ in range(3))[1]
    made = sorted(generate(400, 10) for _ in range(3))[1]
    rows = [
        ("Sokoban steps/s per core, text", text, 100_000),
        ("Sokoban steps/s per core, 256 px picture", picture, 20_000),
        ("Sokoban instances/s per core at 10x10", made, 900),
    ]
    print(
        json.dumps(
            [
                {"name": n, "ours": v, "peer": None, "ratio": None, "target": f">= {t:,}", "holds": v >= t}
                for n, v, t in rows
            ]
        )
    )


if __name__ == "__main__":
    main()
