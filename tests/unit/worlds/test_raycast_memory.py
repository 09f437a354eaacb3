"""MazeEye and MentalMap: all lists of moves tried on what captions say, and places worked out by dead reckoning from captions alone."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.worlds.engines.raycast.floor import Floor
from quintain.worlds.engines.raycast.strip import Strip, StripGame, moved, walks
from quintain.worlds.kernel import Plan
from quintain.worlds.noise import Rng
from quintain.worlds.painter import painted
from quintain.worlds.splits import SPLITS

EAST_NORTH = ((0, 1), (1, 0), (0, -1), (-1, 0))  # one cell ahead, looking north, east, south, west


def maps_of(caption: str) -> list[dict[tuple[int, int], str]]:
    """What each frame of a caption says: the signs of cells by how far ahead and to the right they are."""
    blocks = re.split(r"\nframe \d+\n", caption)[1:]
    rows = [[line.split() for line in block.splitlines()] for block in blocks]
    return [
        {(len(r) - 1 - y, x - len(line) // 2): sign for y, line in enumerate(r) for x, sign in enumerate(line)}
        for r in rows
    ]


def fits(maps: list[dict[tuple[int, int], str]], every: int, moves: tuple[str, ...]) -> bool:
    """Whether some maze shows the frames along the moves: each cell is told to be one thing only."""
    x, y, way, told = 0, 0, 0, dict[tuple[int, int], str]()
    for i in range(len(moves) + 1):
        news = {(0, 0): "^", **(maps[i // every] if i % every == 0 else {})}
        (ax, ay), (bx, by) = EAST_NORTH[way], EAST_NORTH[(way + 1) % 4]
        for (d, side), sign in news.items():
            what = sign.replace("^", ".")
            if what != "?" and told.setdefault((x + d * ax + side * bx, y + d * ay + side * by), what) != what:
                return False
        if i < len(moves) and moves[i] == "f":
            x, y = x + ax, y + ay
        elif i < len(moves):
            way = (way + (1 if moves[i] == "r" else 3)) % 4
    return True


@pytest.mark.parametrize(("level", "seeds"), [(0, 30), (1, 20), (2, 3)])
def test_one_list_of_moves_shows_the_frames_whatever_the_maze(level: int, seeds: int) -> None:
    world = world_of("MazeEye")
    for seed in range(seeds):
        state = world.start(seed, level)
        maps = maps_of(world.caption(state, SOLO, 2))
        tried = itertools.product("flr", repeat=(len(maps) - 1) * state.every)
        fit = [" ".join(moves) for moves in tried if fits(maps, state.every, moves)]
        plan = world.solve(state, SOLO)
        assert isinstance(plan, Plan) and [plan.moves[0].key] == fit, f"seed {seed}"
        assert world.step(state, {SOLO: plan.moves[0]}).rewards[SOLO] == {"success": 1.0}
        for wrong in (fit[0].replace("f", "r"), fit[0] + " f", fit[0][:-2], "f " * 40):
            other = world.read(wrong, SOLO)
            assert other is not None and not world.step(state, {SOLO: other}).rewards[SOLO]


def test_all_moves_that_show_the_frames_in_some_maze_are_right() -> None:
    """In the middle of a corridor, both ways look the same: such frames are never asked, and are judged by what they show."""
    world, hall = world_of("MazeEye"), Floor(5, 1, ".....")
    state = Strip(((hall, 2, 0), (hall, 2, 1)), 1)
    assert walks(state) == ("l", "r")
    for said, right in (("l", True), ("r", True), ("f", False), ("r r", False)):
        move = world.read(said, SOLO)
        assert move is not None and bool(world.step(state, {SOLO: move}).rewards[SOLO]) == right
    assert walks(Strip(((hall, 2, 0), (hall, 0, 2)), 1)) == ()


@pytest.mark.parametrize("level", [0, 3, 6])
def test_another_maze_with_the_same_frames_takes_the_same_answer(level: int) -> None:
    """Cells that no frame shows and no move enters are drawn anew."""
    world, differ = world_of("MazeEye"), 0
    for seed in range(6):
        state, rng = world.start(seed, level), Rng("another", seed)
        plan = world.solve(state, SOLO)
        assert isinstance(plan, Plan)
        floor, at, heading = state.frames[0]
        known = {at}.union(*(seen_by(floor, *pose) for _, *pose in state.frames))
        for move in plan.moves[0].value:
            at, heading = moved(floor, (at, heading), move) or (-1, -1)
            known.add(at)
        cells = "".join(sign if i in known else rng.pick("#.") for i, sign in enumerate(floor.cells))
        other = Floor(floor.width, floor.height, cells)
        twin = Strip(tuple((other, *pose) for _, *pose in state.frames), state.every)
        assert world.caption(twin, SOLO, 2) == world.caption(state, SOLO, 2)
        assert world.scene(twin, SOLO) == world.scene(state, SOLO)
        assert world.solve(twin, SOLO) == plan and world.step(twin, {SOLO: plan.moves[0]}).rewards[SOLO]
        differ += cells != floor.cells
    assert differ >= 4


def seen_by(floor: Floor, at: int, heading: int) -> set[int]:
    """The cells of a floor that a frame shows."""
    sight, out = floor.sight(at, heading), set()
    (ax, ay), (bx, by) = EAST_NORTH[heading], EAST_NORTH[(heading + 1) % 4]
    for d, side in (*sight.open, *sight.walls):
        x, y = at % floor.width + d * ax + side * bx, at // floor.width - d * ay - side * by
        if 0 <= x < floor.width and 0 <= y < floor.height:
            out.add(y * floor.width + x)
    return out


def mirrored(state: Strip) -> Strip:
    """The same walk in the maze with left and right exchanged."""
    floor = state.frames[0][0]
    wide = floor.width
    rows = [floor.cells[i : i + wide][::-1] for i in range(0, len(floor.cells), wide)]
    other = Floor(wide, floor.height, "".join(rows))
    frames = [(other, at - at % wide + wide - 1 - at % wide, -heading % 4) for _, at, heading in state.frames]
    return Strip(tuple(frames), state.every)


@pytest.mark.parametrize("level", [0, 2, 5])
def test_splits_share_no_strip_mirrored_or_not(level: int) -> None:
    world, game, shown = world_of("MazeEye"), StripGame(), list[set[str]]()
    for split in SPLITS:
        states = [world.start(seed, level, split=split) for seed in range(25)]
        images = [mirrored(state) for state in states]
        for state, image in zip(states, images, strict=True):
            assert game.layout(image) == game.layout(state)
            signs = walks(state)[0]
            assert walks(image) == (signs.translate(str.maketrans("lr", "rl")),)
        shown.append({world.caption(state, SOLO, 2) for state in (*states, *images)})
    assert not shown[0] & shown[1] and not shown[0] & shown[2] and not shown[1] & shown[2]


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
        first = said.split("; ")[0]
        other = f"{first.partition(' (')[0]} 39 39"
        assert world.read(f"{said}; {first}", SOLO) == answer and world.read(f"{said}; {other}", SOLO) is None
        part = world.read(said.replace(first, other), SOLO)
        assert part is not None
        earned = sum(world.step(state, {SOLO: part}).rewards.get(SOLO, {}).values())
        assert earned == pytest.approx(1 - 1 / len(seen))


def test_a_far_passage_is_seen_among_ten_frames() -> None:
    def picture(opening: int) -> np.ndarray:
        rows = [f"###{'.' if 0 < row < 11 else '#'}{'.' if row == 10 - opening else '#'}##" for row in range(12)]
        frame = (Floor(7, 12, "".join(rows)), 10 * 7 + 3, 0)
        return painted(StripGame().scene(Strip((frame,) * 10, 2), 0), 256).astype(int)

    wall = picture(20)
    assert min(np.abs(picture(cells) - wall).max() for cells in range(1, 8)) > 30
