"""Ways over maps: the rules read anew from the rules text, and every oracle's plan against a search with them."""

from __future__ import annotations

from collections import deque

import pytest

from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.directions import CHOICES
from quintain.worlds.engines.grid.ways import distances
from quintain.worlds.kernel import Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.suite.spatial.fog_map import fog_map
from quintain.worlds.suite.spatial.patrols import patrol_guard
from quintain.worlds.suite.spatial.ways import conveyor_floor, four_rooms, lava_gap, multi_room, teleport_hall

MAPS = {make.__name__: make() for make in (four_rooms, lava_gap, multi_room, teleport_hall, conveyor_floor)}
STEP = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
BELT = {"^": "up", "v": "down", "<": "left", ">": "right"}


def cells_of(caption: str) -> dict[tuple[int, int], str]:
    rows = [line.split(" ") for line in caption.split("\n") if "stand" not in line]
    return {(y, x): sign for y, row in enumerate(rows) for x, sign in enumerate(row)}


def walked(cells: dict, here: tuple, opened: frozenset, name: str) -> tuple[tuple, frozenset]:
    """One turn by the letter of the rules."""
    there = (here[0] + STEP[name][0], here[1] + STEP[name][1])
    if cells.get(there, "#") == "#":
        return here, opened
    if cells[there] == "D" and there not in opened:
        return here, opened | {there}
    while cells[there] in BELT:
        step = STEP[BELT[cells[there]]]
        ahead = (there[0] + step[0], there[1] + step[1])
        if cells.get(ahead, "#") == "#":
            break
        there = ahead
    if cells[there].islower() and cells[there] != "v":
        (there,) = [c for c, sign in cells.items() if sign == cells[there] and c != there]
    return there, opened


def least(caption: str) -> int:
    """Fewest turns to the goal, by breadth-first search."""
    cells = cells_of(caption)
    begin = next(c for c, sign in cells.items() if sign == "P")
    cells[begin] = caption[-1] if "stand" in caption else "."
    seen, waiting = {(begin, frozenset())}, deque([(begin, frozenset(), 0)])
    while waiting:
        here, opened, turns = waiting.popleft()
        for name in STEP:
            after = walked(cells, here, opened, name)
            if cells[after[0]] == "G":
                return turns + 1
            if after not in seen and cells[after[0]] != "L":
                seen.add(after)
                waiting.append((*after, turns + 1))
    return -1


def board(name: str, *rows: str):
    return MAPS[name].rebuild("\n".join(" ".join(row) for row in rows), SOLO)


def go(name: str, state, *moves: str):
    for move in moves:
        outcome = MAPS[name].step(state, {SOLO: CHOICES[move]})
        state = outcome.state
    return outcome


@pytest.mark.parametrize("name", MAPS)
def test_plans_are_the_shortest_by_the_rules_text(name: str) -> None:
    world = MAPS[name]
    for level in (0, 2, 4):
        for seed in range(6):
            state = world.start(seed, level)
            for turn in range(4):
                plan, found = world.solve(state, SOLO), least(world.caption(state, SOLO, 2))
                assert found == (len(plan.moves) if isinstance(plan, Plan) else -1)
                after = world.step(state, {SOLO: world.sample(state, SOLO, Rng("astray", seed, turn))})
                if after.done:
                    break
                state = after.state


@pytest.mark.parametrize("name", ["lava_gap", "multi_room", "teleport_hall", "conveyor_floor"])
def test_distances_of_every_cell_are_the_fewest_turns_by_the_rules_text(name: str) -> None:
    """Also through doors that stand one behind the other, which take a turn more each."""
    world, rng = MAPS[name], Rng("any map", name)
    signs = {"lava_gap": "...L", "multi_room": "..D#", "teleport_hall": "..#", "conveyor_floor": "..v>#"}[name]
    for _ in range(30):
        cells = [rng.pick(signs) for _ in range(20)]
        free = [c for c, sign in enumerate(cells) if sign == "."]
        goal, *others = rng.sample(free, min(len(free), 5))
        cells[goal] = "G"
        if name == "teleport_hall" and len(others) == 4:
            for cell, sign in zip(others, "aabb", strict=True):
                cells[cell] = sign
        for at in (c for c, sign in enumerate(cells) if sign == "."):
            signs_here = [*cells[:at], "P", *cells[at + 1 :]]
            caption = "\n".join(" ".join(signs_here[i : i + 5]) for i in range(0, 20, 5))
            state = world.rebuild(caption, SOLO)
            assert max(distances(state.board, state.opened)[at], -1) == least(caption), caption


def test_belts_carry_to_their_end_and_against_walls():
    state = board("conveyor_floor", "P>>v", "#..v", "G..#")
    assert go("conveyor_floor", state, "right").state.at == 7
    assert "You stand on v" in MAPS["conveyor_floor"].caption(go("conveyor_floor", state, "right").state, SOLO, 2)
    assert go("conveyor_floor", state, "right", "left").state.at == 6
    assert go("conveyor_floor", state, "right", "up").events == {SOLO: ("illegal",)}


def test_portals_doors_and_lava():
    state = board("teleport_hall", "Pa#aG")
    assert go("teleport_hall", state, "right").state.at == 3 and go("teleport_hall", state, "right", "right").done
    state = board("multi_room", "P.DG")
    assert go("multi_room", state, "right", "right").state.at == 1
    assert go("multi_room", state, "right", "right", "right", "right").rewards == {SOLO: {"success": 1.0}}
    lost = go("lava_gap", board("lava_gap", "PLG"), "right")
    assert lost.done and not lost.rewards and lost.events == {SOLO: ("burned",)}
    assert isinstance(MAPS["lava_gap"].solve(board("lava_gap", "PLG"), SOLO), Unsolvable)
    with pytest.raises(QuintainError, match="no full caption"):
        board("lava_gap", "..G")


def test_the_explorer_knows_only_what_it_has_seen_and_finds_the_goal():
    world = fog_map()
    for level, seed in ((0, 1), (3, 2), (6, 3)):
        state, turns = world.start(seed, level), 0
        while state.board.cells[state.at] != "G":
            plan = world.solve(state, SOLO)
            blank = world.rebuild(world.caption(state, SOLO, 2), SOLO)
            assert isinstance(plan, Plan) and world.solve(blank, SOLO) == plan
            state, turns = world.step(state, {SOLO: plan.moves[0]}).state, turns + 1
            side, (y, x) = state.board.width, divmod(state.at, state.board.width)
            near = [c for c in range(side * side) if abs(c // side - y) <= state.radius >= abs(c % side - x)]
            assert all(state.known[c] == state.board.cells[c] for c in near)
        assert turns <= world.turns(state) and state.known.count("?") > 0
    shut = "\n".join(("P # .", "# # .", ". . ?", "You see 1 cell far; 1 cell is unknown."))
    assert isinstance(world.solve(world.rebuild(shut, SOLO), SOLO), Unsolvable)


def test_where_belts_lead_every_step_back_nothing_is_legal() -> None:
    world = conveyor_floor()
    state = world.rebuild("P <\n^ G", "agent")
    assert world.view(state, "agent").legal() == ()
    for word in ("up", "down", "left", "right"):
        outcome = world.step(state, {"agent": world.read(word, "agent")})
        assert outcome.state == state and outcome.events == {"agent": ("illegal",)}
    assert (
        isinstance(world.solve(state, "agent"), Unsolvable) and "end where you stand" in world.facts.sayings["illegal"]
    )


def test_a_belt_that_no_step_leads_off_ends_the_walk() -> None:
    world = conveyor_floor()
    state = world.rebuild(". < P\n^ . G", SOLO)
    outcome = world.step(state, {SOLO: world.read("left", SOLO)})
    assert outcome.done and not outcome.rewards and outcome.events == {SOLO: ("stuck",)}
    assert isinstance(world.solve(outcome.state, SOLO), Unsolvable) and not world.view(outcome.state, SOLO).legal()


def test_the_brief_caption_of_guards_names_every_cell_in_sight() -> None:
    world, tracks = patrol_guard(), 0
    for seed in range(5):
        view = world.view(world.start(seed, 0), SOLO)
        rows = [line.split() for line in view.caption(2).split("\n") if "stand" not in line]
        seen = [(y, x, s) for y, row in enumerate(rows, 1) for x, s in enumerate(row, 1) if s in "+=!"]
        told = [line for line in view.caption(1).split("\n") if "in sight:" in line.lower()]
        assert sum(line.count("row ") for line in told) == len(seen)
        assert all(any(f"row {y}, column {x}" in line for line in told) for y, x, _ in seen)
        tracks += sum(s in "=!" for _, _, s in seen)
    assert tracks
