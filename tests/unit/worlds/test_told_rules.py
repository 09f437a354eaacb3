"""What rules say of turns, of ways that are barred, and of what is forbidden, as the worlds have it."""

from __future__ import annotations

import pytest

from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.ports import SOLO
from quintain.types import Message, Task

ARCADE = (
    *("BeatTap", "SnakeRun", "PelletMaze", "SkyDodge", "LaneCross", "BrickBounce", "BlockFall", "ChainMarbles"),
    *("InvaderRow", "JumpRunner", "PaddleDuel"),
)


def told(name: str) -> str:
    return " ".join(world_of(name).facts.rules.split())


@pytest.mark.parametrize("name", ARCADE)
def test_the_counter_of_turns_counts_moves_and_the_rules_say_so(name: str) -> None:
    env = WorldEnv(world_of(name), Scaffold())
    env.begin(Task(key="t", env=name, seed=1, level=1))
    before = env.state
    env.advance({SOLO: Message.of("assistant", "foo")})
    assert env.turn == 1 and env.state == before
    assert "An answer that cannot be read or is not allowed does not lower it" in told(name)


@pytest.mark.parametrize("name", ["MovingWalls", "PatrolGuard"])
def test_nothing_moves_when_a_step_cannot_be_made_and_the_rules_say_so(name: str) -> None:
    world = world_of(name)
    state, barred = next(
        (state, move)
        for state in (world.start(seed, 1) for seed in range(99))
        for move in (world.read(key, SOLO) for key in ("up", "down", "left", "right"))
        if move not in world.legal(state, SOLO)
    )
    assert world.step(state, {SOLO: barred}).state == state
    assert world.step(state, {SOLO: world.read("wait", SOLO)}).state != state
    assert "that takes a turn in which nothing moves" in told(name)


@pytest.mark.parametrize("name", ["Tsumego", "GoBoard", "GoDuel"])
def test_what_is_forbidden_is_told_of_a_group(name: str) -> None:
    assert "A stone that takes nothing and whose group would be left without a free neighbour is forbidden." in told(
        name
    )


@pytest.mark.parametrize(
    "name, text",
    [
        ("ThreeRooms3D", "All other things are in the way."),
        ("PlaceNext3D", "No other thing can be taken, and all things are in the way."),
        ("JumpRunner", "nothing once ground above you, or the upper edge of the map, has stopped you"),
    ],
)
def test_what_bars_a_way_is_told(name: str, text: str) -> None:
    assert text in told(name)
