"""MetroTrip and RouteMap: quickest ways by trying all rides, directions by walking over the text of the map."""

from __future__ import annotations

import itertools

import pytest

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.worlds.engines.graph.metro import Metro, far, quickest
from quintain.worlds.kernel import Plan, Unsolvable

STEP = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
ROUND = list(STEP)
ORDER = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6}


def least(metro: Metro, start: int, goal: int) -> int:
    """The fewest minutes by Bellman's rounds over all pairs of stops of a line."""
    cost = {stop: 0 if stop == start else 10**6 for stop in range(len(metro.at))}
    for _ in cost:
        for line, (wait, ride) in zip(metro.lines, metro.pace, strict=True):
            for i, j in itertools.permutations(range(len(line)), 2):
                cost[line[j]] = min(cost[line[j]], cost[line[i]] + wait + abs(i - j) * ride)
    return cost[goal]


def test_the_quickest_way_takes_what_all_rides_say() -> None:
    world = world_of("MetroTrip")
    for level, seed in itertools.product((0, 3, 6), range(5)):
        state = world.start(seed, level)
        metro = state.metro
        for start in range(len(metro.at)):
            if start != metro.goal:
                assert quickest(metro, metro.goal)[start][0] == least(metro, start, metro.goal)
        best = [
            (goal, *quickest(metro, goal)[at][:2], at) for goal in range(len(metro.at)) for at in quickest(metro, goal)
        ]
        assert far(metro, 2) == sorted([pair for pair in best if pair[2] >= 2])
        assert state.left == least(metro, state.at, metro.goal) + (4 if level == 0 else 0)


def test_a_minute_too_few_is_told() -> None:
    world = world_of("MetroTrip")
    state = world.start(1, 5)
    assert isinstance(world.solve(state, SOLO), Plan)
    late = type(state)(state.metro, state.at, state.left - 1)
    assert isinstance(world.solve(late, SOLO), Unsolvable)
    ride = world.solve(state, SOLO).moves[0]
    short = world.step(type(state)(state.metro, state.at, 1), {SOLO: ride})
    assert short.done and short.events == {SOLO: ("late",)} and (short.state.at, short.state.left) == (state.at, 0)
    assert "in 1 minute." in world.caption(type(state)(state.metro, state.at, 1), SOLO, 1)


def follow(caption: str) -> tuple[int, int, int]:
    """Row and column of the corner where the directions of a full caption lead, from its text alone, and the blocks of the walk."""
    head, told, _, *rows = caption.split("\n")
    signs = [row[2:].split(" ") for row in rows]

    def street(y: int, x: int, way: str) -> bool:
        y, x = y + STEP[way][0], x + STEP[way][1]
        return 0 <= y < len(signs) and 0 <= x < len(signs[0]) and signs[y][x] in "|-"

    name = head.split()[1].rstrip(".")
    y, x, way, blocks = 2 * (int(name[1:]) - 1), 2 * "abcdefg".index(name[0]), "", 0
    for leg in told.removeprefix("Directions: ").rstrip(".").split(". "):
        turn, _, where = leg.partition(", to ")
        word = turn.split()[1]
        way = word if word in STEP else ROUND[(ROUND.index(way) + (1 if word == "right" else 3)) % 4]
        sides = [ROUND[(ROUND.index(way) + k) % 4] for k in (1, 3)]
        passed = 0
        while street(y, x, way):
            y, x, blocks = y + 2 * STEP[way][0], x + 2 * STEP[way][1], blocks + 1
            passed += any(street(y, x, side) for side in sides)
            if where == f"place {signs[y][x]}" or passed == ORDER.get(where.split()[1], 99):
                break
    return y // 2, x // 2, blocks


@pytest.mark.parametrize("level", [0, 2, 3, 5, 8])
def test_directions_lead_where_the_text_says_within_the_turns(level: int) -> None:
    world, ends = world_of("RouteMap"), set()
    for seed in range(12):
        state = world.start(seed, level)
        plan = world.solve(state, SOLO)
        assert isinstance(plan, Plan)
        for move in plan.moves[:-1]:
            state = world.step(state, {SOLO: move}).state
        *end, blocks = follow(world.caption(world.start(seed, level), SOLO, 2))
        assert divmod(state.at, state.town.width) == tuple(end) and world.turns(state) > blocks + 2
        ends.add(state.at)
    assert len(ends) > 3


def test_a_shortest_walk_that_meets_a_vertex_twice_is_worth_something_and_a_longest_nothing() -> None:
    shortest, longest = world_of("ShortestWalk"), world_of("LongestWalk")
    state = shortest.start(7, 3)
    worth = [
        sum(shortest.step(state, {SOLO: shortest.read(w, SOLO)}).rewards.get(SOLO, {}).values())
        for w in ("C G C E A F", "C A F")
    ]
    assert 0 < worth[0] < worth[1] < 0.2
    said = [shortest.step(state, {SOLO: shortest.read(w, SOLO)}).events for w in ("C A F", "C F C")]
    assert said == [{SOLO: ("partial",)}, {SOLO: ("wrong",)}] and "not the best" in shortest.facts.sayings["partial"]
    state = longest.start(7, 3)
    plan = longest.solve(state, SOLO)
    walk = plan.moves[0].key.split()
    twice = [walk[0], walk[1], *walk]
    assert not longest.step(state, {SOLO: longest.read(" ".join(twice), SOLO)}).rewards.get(SOLO)
