"""Charts against relaxation: distances found by lowering numbers until none can be lowered, and routes walked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.worlds.engines.grid.charts import Chart
from quintain.worlds.kernel import Plan

FAR = 10_000


def relaxed(chart: Chart, targets: str) -> dict[tuple[int, int], int]:
    """Distance of every floor cell to the nearest of some signs."""
    open_cells = {divmod(i, chart.width): sign for i, sign in enumerate(chart.cells) if sign != "#"}
    far = {at: 0 if sign in targets else FAR for at, sign in open_cells.items()}
    changed = True
    while changed:
        changed = False
        for y, x in far:
            best = min((far.get(at, FAR) + 1 for at in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1))), default=FAR)
            if best < far[y, x]:
                far[y, x], changed = best, True
    return far


def answer(name: str, chart: Chart) -> str:
    plan = world_of(name).solve(chart, SOLO)
    assert isinstance(plan, Plan)
    return plan.moves[0].key


def earned(name: str, chart: Chart, text: str) -> dict[str, Any]:
    world = world_of(name)
    move = world.read(text, SOLO)
    assert move is not None, text
    return dict(world.step(chart, {SOLO: move}).rewards.get(SOLO, {}))


@pytest.mark.parametrize("level", [0, 4, 8])
@pytest.mark.parametrize("seed", range(6))
def test_distances_are_those_of_relaxation(seed: int, level: int) -> None:
    chart = world_of("GridDistance").start(seed, level)
    far = relaxed(chart, "S")
    rows = [row.split() for row in answer("GridDistance", chart).split(" / ")]
    assert [[str(far[y, x]) if (y, x) in far else "#" for x in range(chart.width)] for y in range(chart.width)] == rows


@pytest.mark.parametrize("level", [0, 4, 8])
@pytest.mark.parametrize("seed", range(6))
def test_a_spread_ends_where_relaxation_says(seed: int, level: int) -> None:
    chart = world_of("SpreadTime").start(seed, level)
    far = relaxed(chart, "S")
    last = max(far.values())
    minutes, _, cells = answer("SpreadTime", chart).partition(" ; ")
    assert int(minutes) == last < FAR
    assert cells.split() == ["abcdefghijklmnop"[x] + str(y + 1) for (y, x), n in sorted(far.items()) if n == last]


@pytest.mark.parametrize("level", [0, 4, 8])
@pytest.mark.parametrize("seed", range(6))
def test_no_route_is_shorter(seed: int, level: int) -> None:
    chart = world_of("MazePlan").start(seed, level)
    steps = answer("MazePlan", chart).split()
    assert len(steps) == relaxed(chart, "G")[divmod(chart.cells.index("P"), chart.width)] <= chart.limit


def test_any_route_within_the_limit_counts() -> None:
    chart = Chart(3, "P..#..G..", 6)
    for text in (
        "r d d l",
        "rddl",
        "right, down, down, left",
        "r 2d l",
        "e s s w",
        "[r, d2, l]",
        "r r d d l l",
        "rd2l",
    ):
        assert earned("MazePlan", chart, text) == {"success": 1.0}, text
    for text in ("d d", "r d d", "r d d l l", "r u"):
        assert earned("MazePlan", chart, text) == {}, text
    world = world_of("MazePlan")
    for text, event in (("r" * 7, "illegal"), ("r d", "ends:b2"), ("r d d l r", "ends:b3"), ("d d", "hit:1")):
        assert world.step(chart, {SOLO: world.read(text, SOLO)}).events == {SOLO: (event,)}
    assert {"illegal", "ends", "hit"} <= {*world.facts.sayings}


def test_partial_credit_is_what_is_declared() -> None:
    chart = Chart(3, "S.#......")
    assert earned("GridDistance", chart, "0 1 # / 1 2 3 / 2 3 4") == {"success": 1.0}
    assert earned("GridDistance", chart, "[[0,1,#],[1,2,3],[2,3,5]]") == {"near": pytest.approx(0.2 * 6 / 7)}
    assert earned("SpreadTime", chart, "4; c3") == {"success": 1.0}
    for text in ("minutes: 4; cells: c3", "Time 4 minutes; last cell c3", "4 minutes: cell c3", "4; 3c"):
        assert earned("SpreadTime", chart, text) == {"success": 1.0}, text
    assert earned("SpreadTime", chart, "5 minutes; c3") == {"near": 0.2}
    assert earned("SpreadTime", chart, "4; c3 and b3") == {}
