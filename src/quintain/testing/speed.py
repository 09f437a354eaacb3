"""How many steps a second of one core a world makes through its env, as its users have it: `paces` measures, nothing is promised."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.messages import Image
from quintain.testing.worlds import acting, task_of
from quintain.types import Feedback, Task
from quintain.worlds.noise import Rng

FULL = {"caption": 2, "rules": False, "grammar": "word"}  # what a step is measured with
LEVEL = 5


def paces(name: str, seconds: float = 0.4, side: int = 256, level: int = LEVEL) -> dict[str, float]:
    """Steps a second of processor time, random legal moves, resets and full captions included.

    Args:
        name: of the world.
        seconds: of processor time for each figure.
        side: of the picture, in pixels.
        level: of the instances.

    Returns:
        `text` without a picture, `picture` with one, and `resets` without.
    """
    text, resets = _pace(name, Scaffold.of(FULL), seconds, task_of(name, 0, level))
    picture, _ = _pace(
        name, Scaffold.of({**FULL, "image": side}), seconds, task_of(name, 1 << 20, level)
    )  # starts may be kept
    return {"text": text, "picture": picture, "resets": resets}


def pace(name: str, level: int, side: int = 0, seconds: float = 0.4, seed: int = 0) -> float:
    """Steps a second of one level, with a picture of every observation or without.

    Args:
        name: of the world.
        level: of the instances.
        side: of the pictures, in pixels; 0 for none. The one that ends an episode is painted too.
        seconds: of processor time.
        seed: of the first instance, which those that follow count up from; instances that were played before are faster.

    Returns:
        Steps a second of processor time, resets and full captions included.
    """
    return _pace(name, Scaffold.of({**FULL, "image": side}), seconds, task_of(name, seed, level), ends=True)[0]


def _pace(name: str, scaffold: Scaffold, seconds: float, first: Task, ends: bool = False) -> tuple[float, float]:
    """Steps and resets a second; what a player needs to choose its move is not counted. With `ends` last pictures are painted."""
    env, rng, clock = WorldEnv(world_of(name), scaffold), Rng("pace"), time.process_time
    spent = began = 0.0
    steps = resets = 0
    while spent < seconds or not resets:
        task = replace(first, seed=first.seed + resets)
        resets += 1
        at = clock()
        env.begin(task)
        spent, began = spent + clock() - at, began + clock() - at
        while env.stop is None and spent < seconds:
            moves = _random_moves(env, rng)
            at = clock()
            said = env.advance(moves)
            if ends and env.stop is not None:
                _paint(said)
            spent, steps = spent + clock() - at, steps + 1
    return steps / spent, resets / began


def _paint(said: Mapping[str, Feedback]) -> None:
    """Look at the pictures, as the last ones of an episode are painted only then."""
    for part in (part for told in said.values() for message in told.messages for part in message.parts):
        if isinstance(part, Image):
            _ = part.pixels


def _random_moves(env: WorldEnv, rng: Rng) -> dict[str, Any]:
    views = acting(env.world, env.state)
    return {seat: env.reader.grammar.write(view.sample(rng).key) for seat, view in views.items()}
