"""Guards and blocks: moved anew, one by one, from the picture that the caption gives, and the oracle against a search with them."""

from __future__ import annotations

from collections import deque

import pytest

from quintain.ports import SOLO
from quintain.worlds.engines.grid.patrol import CHOICES
from quintain.worlds.kernel import Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.suite.spatial.patrols import moving_walls, patrol_guard

WORLDS = {"patrol_guard": (patrol_guard(), 3), "moving_walls": (moving_walls(), 0)}
STEP = {"^": (-1, 0), "v": (1, 0), "<": (0, -1), ">": (0, 1)}
BACK = {"^": "v", "v": "^", "<": ">", ">": "<"}
MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1), "wait": (0, 0)}
Cell = tuple[int, int]
Thing = tuple[Cell, str]


def plus(cell: Cell, step: Cell, times: int = 1) -> Cell:
    return cell[0] + step[0] * times, cell[1] + step[1] * times


def read(caption: str) -> tuple[dict[Cell, str], Cell, frozenset[Thing]]:
    lines = caption.split("\n")
    rows = [line.split(" ") for line in lines if "stand" not in line]
    cells = {(y, x): sign for y, row in enumerate(rows) for x, sign in enumerate(row)}
    here = next(c for c, sign in cells.items() if sign == "P")
    cells[here] = lines[-1][-1] if "stand" in lines[-1] else "."
    return cells, here, frozenset((c, sign) for c, sign in cells.items() if sign in STEP)


def onward(cells: dict[Cell, str], thing: Thing) -> Thing:
    """One cell on; a thing that has come to the end of its track has turned round."""
    (cell, way), line = thing, "|!" if thing[1] in "^v" else "-="
    there = plus(cell, STEP[way])
    more = cells.get(plus(there, STEP[way]), "#")
    return there, way if more in line or (more in STEP and (more in "^v") == (way in "^v")) else BACK[way]


def caught(cells: dict[Cell, str], things: frozenset[Thing], here: Cell, sight: int) -> bool:
    for cell, way in things:
        for far in range(sight + 1):
            there = plus(cell, STEP[way], far)
            if cells.get(there, "#") == "#":
                break
            if there == here:
                return True
    return False


def least(caption: str, sight: int) -> int:
    """Fewest turns to the goal, by breadth-first search over all that moves."""
    cells, here, things = read(caption)
    seen, waiting = {(here, things)}, deque([(here, things, 0)])
    while waiting:
        here, things, turns = waiting.popleft()
        moved = frozenset(onward(cells, thing) for thing in things)
        for step in MOVES.values():
            there = plus(here, step)
            if cells.get(there, "#") == "#" or any(cell == there for cell, _ in things):
                continue
            if cells[there] == "G":
                return turns + 1
            if (there, moved) not in seen and not caught(cells, moved, there, sight):
                seen.add((there, moved))
                waiting.append((there, moved, turns + 1))
    return -1


@pytest.mark.parametrize("name", WORLDS)
def test_plans_are_the_shortest_when_everything_is_moved_by_hand(name: str) -> None:
    world, sight = WORLDS[name]
    for level in (0, 2, 4):
        for seed in range(5):
            state = world.start(seed, level)
            for turn in range(4):
                plan, found = world.solve(state, SOLO), least(world.caption(state, SOLO, 2), sight)
                assert found == (len(plan.moves) if isinstance(plan, Plan) else -1)
                after = world.step(state, {SOLO: world.sample(state, SOLO, Rng("astray", seed, turn))})
                if after.done:
                    break
                state = after.state


def board(name: str, *rows: str):
    return WORLDS[name][0].rebuild("\n".join(" ".join(row) for row in rows), SOLO)


def test_guards_see_three_cells_and_not_through_walls():
    state = board("patrol_guard", ">-====..", "......PG")
    world = WORLDS["patrol_guard"][0]
    seen = world.step(board("patrol_guard", "...", ">-=", "P.G"), {SOLO: CHOICES["up"]})
    assert seen.events == {SOLO: ("illegal",)}, "nobody steps onto a guard"
    lost = world.step(board("patrol_guard", ">-=", ".P.", "..G"), {SOLO: CHOICES["up"]})
    assert lost.done and not lost.rewards and lost.events == {SOLO: ("caught",)}
    assert world.step(state, {SOLO: CHOICES["right"]}).rewards == {SOLO: {"success": 1.0}}
    hidden = world.step(board("patrol_guard", ">-=#..", "....P.", "...G.."), {SOLO: CHOICES["up"]})
    assert not hidden.done and hidden.state.at == 4


def test_blocks_hit_and_the_way_may_be_lost():
    world = WORLDS["moving_walls"][0]
    hit = world.step(board("moving_walls", ">--", ".P.", "G.."), {SOLO: CHOICES["up"]})
    assert hit.done and not hit.rewards
    assert isinstance(world.solve(board("moving_walls", "P#>--", "##..G"), SOLO), Unsolvable)
