"""MazeEye and MentalMap: all lists of moves tried, and places worked out by dead reckoning from captions alone."""

from __future__ import annotations

import itertools
import re

import pytest

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.worlds.kernel import Plan

EAST_NORTH = ((0, 1), (1, 0), (0, -1), (-1, 0))  # one cell ahead, looking north, east, south, west


@pytest.mark.parametrize("level", [0, 1, 2])
def test_one_list_of_moves_shows_the_frames(level: int) -> None:
    world = world_of("MazeEye")
    for seed in range(4):
        state = world.start(seed, level)
        floor, at, heading = state.frames[0]
        rows = [floor.cells[i : i + floor.width] for i in range(0, len(floor.cells), floor.width)]
        fit = []
        for moves in itertools.product("flr", repeat=(len(state.frames) - 1) * state.every):
            (y, x), way, good = divmod(at, floor.width), heading, True
            for i, move in enumerate(moves, 1):
                if move == "f":
                    y, x = y - EAST_NORTH[way][1], x + EAST_NORTH[way][0]
                    good = 0 <= y < len(rows) and 0 <= x < floor.width and rows[y][x] == "."
                else:
                    way = (way + (1 if move == "r" else 3)) % 4
                if good and i % state.every == 0:
                    there = state.frames[i // state.every]
                    good = floor.sight(y * floor.width + x, way).text == floor.sight(*there[1:]).text
                if not good:
                    break
            if good:
                fit.append(" ".join(moves))
        plan = world.solve(state, SOLO)
        assert isinstance(plan, Plan) and [plan.moves[0].key] == fit
        other = world.read(fit[0].replace("f", "r"), SOLO)
        assert other is not None and not world.step(state, {SOLO: other}).rewards[SOLO]


@pytest.mark.parametrize("level", [1, 4, 7])
def test_places_are_those_that_dead_reckoning_gives(level: int) -> None:
    world = world_of("MentalMap")
    for seed in range(4):
        state = world.start(seed, level)
        plan = world.solve(state, SOLO)
        assert isinstance(plan, Plan)
        x, y, way, seen = 0, 0, 0, dict[str, tuple[int, int]]()
        for move in plan.moves:
            told = world.caption(state, SOLO, 1)
            for name, d, side in re.findall(r"In sight: (\w+ \w+), (\d+) ahead(?:, (\d+ to the \w+))?\.", told):
                across = int(side.split()[0]) * (1 if side.endswith("right") else -1) if side else 0
                (ax, ay), (bx, by) = EAST_NORTH[way], EAST_NORTH[(way + 1) % 4]
                seen[name] = x + int(d) * ax + across * bx, y + int(d) * ay + across * by
            if move.key == "forward":
                x, y = x + EAST_NORTH[way][0], y + EAST_NORTH[way][1]
            elif move.key in ("left", "right"):
                way = (way + (1 if move.key == "right" else 3)) % 4
            if move is not plan.moves[-1]:
                state = world.step(state, {SOLO: move}).state
        said = "; ".join(f"{name} ({a}, {b})" for name, (a, b) in seen.items())
        answer = world.read(said, SOLO)
        assert answer == plan.moves[-1], said
        assert world.step(state, {SOLO: answer}).rewards[SOLO] == {"success": 1.0}
        part = world.read(said.replace(said.split("; ")[0], "blue box 39 39"), SOLO)
        assert part is not None
        earned = sum(world.step(state, {SOLO: part}).rewards.get(SOLO, {}).values())
        assert earned == pytest.approx(1 - 1 / len(seen))
