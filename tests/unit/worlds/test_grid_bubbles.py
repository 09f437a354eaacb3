"""Bubbles against plain geometry: centres in the plane, touching by distance, shots that fly in a straight line between walls."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import pytest

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.worlds.engines.grid.bubbles import Bubbles, _lost, lands, line_of, proven, shots, stuck, touching
from quintain.worlds.kernel import Plan, Unknown
from quintain.worlds.noise import Rng

RISE = math.sqrt(3) / 2  # between rows of touching bubbles


def centre(cell: int, width: int) -> tuple[float, float]:
    y, x = divmod(cell, width)
    return 0.5 + x + 0.5 * (y % 2), 0.5 + RISE * y


def random_heap(seed: int) -> tuple[str, int]:
    rng = Rng("bubbles", seed)
    width = 3 + rng.below(4)
    return "".join(rng.pick("RBY.") for _ in range(3 * width)) + "." * (2 * width), width


def after_shot(cells: str, width: int, at: int, sign: str) -> str:
    """The heap after a bubble has stuck, by components of graphs of touching bubbles."""
    heap = {i: s for i, s in enumerate(cells) if s != "."} | {at: sign}
    pairs = [(a, b) for a in heap for b in heap if a < b and math.dist(centre(a, width), centre(b, width)) < 1.01]
    same = nx.Graph([p for p in pairs if heap[p[0]] == heap[p[1]]])
    same.add_nodes_from(heap)
    burst = nx.node_connected_component(same, at)
    if len(burst) >= 3:
        left = nx.Graph([p for p in pairs if not burst & set(p)])
        left.add_nodes_from(set(heap) - burst)
        hung = [c for c in nx.connected_components(left) if min(c) < width]
        heap = {i: heap[i] for part in hung for i in part}
    return "".join(heap.get(i, ".") for i in range(len(cells)))


@pytest.mark.parametrize("seed", range(20))
def test_groups_burst_and_the_loose_fall(seed: int) -> None:
    cells, width = random_heap(seed)
    for move, at in shots(cells, width):
        for sign in "RBY":
            assert stuck(cells, width, at, sign) == after_shot(cells, width, at, sign), move.key


@pytest.mark.parametrize(("width", "height"), [(3, 5), (4, 6), (6, 7)])
def test_a_shot_flies_straight_and_is_turned_back_by_the_walls(width: int, height: int) -> None:
    for column in range(width):
        for way in (-1, 1):
            line = line_of(width, height, column, way)
            x0, _ = centre(line[0], width)
            assert line[0] == (height - 1) * width + column
            for i, cell in enumerate(line):
                far = (x0 - 0.5 + 0.5 * way * i) % (2 * width - 1)  # unfolded between the walls of the centres
                assert centre(cell, width)[0] - 0.5 == pytest.approx(min(far, 2 * width - 1 - far))
            near = touching(width, height)
            assert all(b in near[a] for a, b in itertools.pairwise(line))


def test_cells_touch_at_one_diameter() -> None:
    near = touching(5, 4)
    for a in range(20):
        assert set(near[a]) == {b for b in range(20) if b != a and math.dist(centre(a, 5), centre(b, 5)) < 1.01}


def test_a_shot_stops_below_what_is_in_its_way() -> None:
    assert lands("RRRR" + "...." * 3, 4, 0, 1) == 5  # from a4 over b3 to b2
    assert lands("...." * 2 + "RRRR" + "....", 4, 0, 1) == -1


def fewest(cells: str, width: int, queue: str) -> bool:
    """Whether some shots clear the heap, trying every one."""
    if not cells.strip("."):
        return True
    return bool(queue) and any(
        fewest(after_shot(cells, width, at, queue[0]), width, queue[1:]) for at in {c for _, c in shots(cells, width)}
    )


@pytest.mark.parametrize("seed", range(3))
def test_proofs_agree_with_trying_every_shot(seed: int) -> None:
    start: Bubbles = world_of("BubbleShot").start(seed, 0)
    for queue in (start.queue, start.queue[:2], start.queue[::-1]):
        assert (proven(start.cells, start.width, queue)[0] is not None) == fewest(start.cells, start.width, queue)


def test_plans_clear_the_heap_with_the_bubbles_in_order() -> None:
    world = world_of("BubbleShot")
    for seed in range(6):
        state = world.start(seed, 5)
        plan = world.solve(state, SOLO)
        assert isinstance(plan, Plan) and len(plan.moves) <= len(state.queue)
        cells = state.cells
        for move, sign in zip(plan.moves, state.queue, strict=False):
            cells = after_shot(cells, state.width, dict(shots(cells, state.width))[move], sign)
        assert not cells.strip(".")


def test_too_few_bubbles_of_a_colour_at_the_ceiling_are_seen_at_once() -> None:
    heaps = {
        ("R......", "GR"): True,  # two more are needed
        ("R......", "RR"): False,
        ("R......", "GG"): True,
        ("RR...RR", "RG"): True,  # no bubble touches both groups
        ("RR...RR", "RR"): False,
        ("RR.RR..", "R"): False,
    }
    assert {(row, queue): _lost(row + "." * 14, 7, queue) for row, queue in heaps} == heaps
    world = world_of("BubbleShot")
    for level in range(10):
        state = world.start(1, level)
        answer = world.solve(state, SOLO)
        assert isinstance(answer, Plan)
        for move in answer.moves:
            assert not _lost(state.cells, state.width, state.queue), "what can be cleared is not lost"
            state = world.step(state, {SOLO: move}).state


def test_after_stray_shots_the_oracle_seldom_gives_up() -> None:
    world, answers = world_of("BubbleShot"), []
    for seed, shot in itertools.product(range(20), (1, 3)):
        state, rng = world.start(seed, 5), Rng("stray", seed, shot)
        for _ in range(shot):
            state = world.step(state, {SOLO: world.sample(state, SOLO, rng)}).state
        answers.append(world.solve(state, SOLO))
    assert sum(isinstance(answer, Unknown) for answer in answers) <= 1


def test_a_shot_is_read_in_many_spellings() -> None:
    world = world_of("BubbleShot")
    said = {world.read(text, SOLO) for text in ("c left", "C L", "shoot from c to the left", "c<", "c-left", "left c")}
    assert len(said) == 1 and None not in said
    assert world.read("c up", SOLO) is None
