"""What is timed when the speed of a world is told."""

from __future__ import annotations

import functools
import itertools
import time

import numpy as np
import pytest

from quintain.envs.world import WorldEnv
from quintain.testing.speed import pace
from quintain.types import Task
from quintain.worlds.painter import Painter


def test_a_pace_plays_instances_from_its_seed_on_and_paints_every_observation(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []
    counts = {"told": 0, "painted": 0}
    begin, advance, paint = WorldEnv.begin, WorldEnv.advance, Painter.paint

    def begun(env: WorldEnv, task: Task) -> dict:
        seeds.append(task.seed)
        counts["told"] += 1
        return begin(env, task)

    def advanced(env: WorldEnv, moves: dict) -> dict:
        counts["told"] += 1
        return advance(env, moves)

    def painted(painter: Painter, scene: object) -> np.ndarray:
        counts["painted"] += 1
        return paint(painter, scene)

    monkeypatch.setattr(WorldEnv, "begin", begun)
    monkeypatch.setattr(WorldEnv, "advance", advanced)
    monkeypatch.setattr(Painter, "paint", painted)
    monkeypatch.setattr(time, "process_time", functools.partial(next, itertools.count(0.0, 0.01)))
    assert pace("MiniSudoku", 0, 32, 0.1, seed=700) == pytest.approx(
        50
    )  # a start and a step, each of a tick of the clock
    assert seeds == list(range(700, 705))
    assert counts["painted"] == counts["told"]
