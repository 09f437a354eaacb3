"""What is timed when the speed of a world is told."""

from __future__ import annotations

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
    assert pace("MiniSudoku", 0, 32, 0.05, seed=700) > 0
    assert seeds == list(range(700, 700 + len(seeds))) and len(seeds) > 1
    assert counts["painted"] == counts["told"]
