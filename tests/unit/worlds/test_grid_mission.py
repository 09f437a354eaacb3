"""Errands: the rules and the missions read anew from captions, and the planner against an exhaustive search with them."""

from __future__ import annotations

import re
from collections import deque
from typing import NamedTuple

import pytest

from quintain.ports import SOLO
from quintain.worlds.engines.grid.mission import CHOICES, HELD
from quintain.worlds.engines.grid.mission_plan import _route
from quintain.worlds.kernel import Plan
from quintain.worlds.noise import Rng
from quintain.worlds.suite.spatial.missions import mission_room, unlock_pick

WORLDS = {"mission_room": mission_room(), "unlock_pick": unlock_pick()}
STEP = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
Cell = tuple[int, int]


class Home(NamedTuple):
    """What a caption says: floor, where things lie, doors and their status, what is held, what is left to do."""

    floor: frozenset[Cell]
    here: Cell
    things: frozenset[tuple[str, Cell]]
    doors: frozenset[tuple[str, Cell, str]]
    held: str
    todo: tuple[str, ...]


def read(caption: str) -> Home:
    rows = [line.split(" ") for line in caption.split("\n") if re.fullmatch(r"\S( \S)*", line)]
    cells = {(y, x): sign for y, row in enumerate(rows) for x, sign in enumerate(row)}
    here = next(c for c, sign in cells.items() if sign == "P")
    stand = re.search(r"You stand on (.)", caption)
    cells[here] = stand[1] if stand else "."
    names = dict(part.split(" ", 1) for part in re.search(r"Legend: (.*)\.", caption)[1].split("; "))
    things = frozenset((names[s], c) for c, s in cells.items() if s.islower())
    doors = frozenset((*names[s].split(", "), c) for c, s in cells.items() if s.isupper())
    held = re.search(r"You hold (?:the )?(.*)\.", caption)[1]
    tasks = re.search(r"Mission: (.*)\.", caption)[1].split(", then ")
    done = int(re.search(r"Done: (\d+)", caption)[1])
    floor = frozenset(c for c, s in cells.items() if s != "#")
    return Home(floor, here, things, frozenset((n, c, s) for n, s, c in doors), held, tuple(tasks[done:]))


def met(home: Home, task: str) -> bool:
    where = dict(home.things)
    if task.startswith("put"):
        one, two = re.fullmatch(r"put the (.*) next to the (.*)", task).groups()
        if one not in where or two not in where:
            return False
        return sum(abs(a - b) for a, b in zip(where[one], where[two], strict=True)) == 1
    name = task.split(" the ")[1]
    if task.startswith("open"):
        return any(n == name and status == "open" for n, _, status in home.doors)
    return home.held == name if task.startswith("fetch") else where.get(name) == home.here


def after(home: Home, name: str) -> Home:
    """One turn by the letter of the rules."""
    here, lying = home.here, {c: n for n, c in home.things}
    doors = {c: (n, status) for n, c, status in home.doors}
    if name == "take" and here in lying:
        things = home.things - {(lying[here], here)} | ({(home.held, here)} if home.held != "nothing" else set())
        home = home._replace(things=things, held=lying[here])
    elif name == "drop" and home.held != "nothing" and here not in lying and here not in doors:
        home = home._replace(things=home.things | {(home.held, here)}, held="nothing")
    elif name in STEP and (there := (here[0] + STEP[name][0], here[1] + STEP[name][1])) in home.floor:
        what, status = doors.get(there, ("", "open"))
        if status == "open":
            home = home._replace(here=there)
        elif status == "shut" or home.held == what.replace("door", "key"):
            home = home._replace(doors=home.doors - {(what, there, status)} | {(what, there, "open")})
    while home.todo and met(home, home.todo[0]):
        home = home._replace(todo=home.todo[1:])
    return home


def least(home: Home, limit: int) -> int:
    """Fewest moves to the end of the mission, by breadth-first search; 0 if more than `limit` states are met."""
    seen, waiting = {home}, deque([(home, 0)])
    while waiting and len(seen) < limit:
        now, turns = waiting.popleft()
        for name in (*STEP, "take", "drop"):
            then = after(now, name)
            if not then.todo:
                return turns + 1
            if then not in seen:
                seen.add(then)
                waiting.append((then, turns + 1))
    return 0


@pytest.mark.parametrize("name", WORLDS)
def test_plans_end_missions_and_are_hardly_longer_than_the_shortest(name: str) -> None:
    world, ways, best = WORLDS[name], 0, 0
    for level in (0, 1, 2, 5, 8):
        for seed in range(4):
            state = world.start(seed, level)
            for turn in range(6):
                state = world.step(state, {SOLO: world.sample(state, SOLO, Rng("astray", seed, turn))}).state
            plan, home = world.solve(state, SOLO), read(world.caption(state, SOLO, 2))
            assert isinstance(plan, Plan) or not home.todo
            for move in plan.moves if isinstance(plan, Plan) else ():
                assert home.todo
                state, home = world.step(state, {SOLO: move}).state, after(home, move.key)
                assert read(world.caption(state, SOLO, 2)) == home or not home.todo
            assert not home.todo
            found = least(read(world.caption(world.start(seed, level), SOLO, 2)), 8_000) if level < 2 else 0
            if found:
                length = len(world.solve(world.start(seed, level), SOLO).moves)
                assert length >= found
                ways, best = ways + length, best + found
    assert 0 < best <= ways <= 1.1 * best


def test_actions_and_the_order_of_tasks():
    world = WORLDS["mission_room"]
    lines = (
        "Mission: fetch the green ball, then put the green ball next to the blue box.\nDone: 0 of 2.\nYou hold nothing."
    )
    state = world.rebuild(f"P h . a\n. . . .\n{lines}\nLegend: P you; a blue box; h green ball.", SOLO)
    for name, done, events in (
        ("drop", 0, "illegal"),
        ("right", 0, ""),
        ("take", 1, "done"),
        ("right", 1, ""),
        ("drop", 2, ""),
    ):
        outcome = world.step(state, {SOLO: CHOICES[name]})
        state = outcome.state
        assert state.done == done and outcome.events == ({SOLO: (events,)} if events else {})
    assert outcome.done and outcome.rewards == {SOLO: {"success": 1.0}}


def test_a_locked_door_asks_for_its_key():
    world = WORLDS["unlock_pick"]
    tail = "Mission: fetch the blue box.\nDone: 0 of 1.\nYou hold nothing.\nLegend: P you; s blue key; a blue box; H blue door, locked."
    state = world.rebuild(f"P s H a\n{tail}", SOLO)
    assert [m.key for m in world.solve(state, SOLO).moves] == ["right", "take", "right", "right", "right", "take"]
    shut = world.step(world.step(state, {SOLO: CHOICES["right"]}).state, {SOLO: CHOICES["right"]})
    assert shut.events == {SOLO: ("illegal",)}


def test_what_is_held_lies_nowhere_so_that_no_way_leads_there():
    state = WORLDS["mission_room"].start(0, 0)
    assert _route(state, [HELD]) is None
    there = next(
        c for c, sign in enumerate(state.board.cells) if sign == "." and c not in (state.at, *state.board.doors)
    )
    way = _route(state, [there])
    assert way is not None and way == _route(state, [HELD, there])
