"""Pieces that swap and mirrors that are placed: the rules, and the oracles against plain search."""

from __future__ import annotations

import itertools

import pytest

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.testing.worlds import shortest
from quintain.types import QuintainError
from quintain.worlds.engines.geometry.mirror_place import Box, Mirrors
from quintain.worlds.engines.geometry.mirrors import entry, trace
from quintain.worlds.engines.geometry.swap import Board, Tiles
from quintain.worlds.kernel import Plan, Unsolvable
from quintain.worlds.palette import rgb


def played(name: str, state):
    """The last outcome of the oracle's plan, and the plan."""
    world = world_of(name)
    plan, outcome = world.solve(state, SOLO), None
    assert isinstance(plan, Plan) and len(plan.moves) <= world.turns(state)
    for move in plan.moves:
        outcome = world.step(state, {SOLO: move})
        state = outcome.state
    return outcome, plan


def test_tiles_need_a_swap_less_than_each_cycle_is_long():
    world = world_of("HueOrder")
    for seed, level in itertools.product(range(3), (0, 3, 6, 9)):
        state = world.start(seed, level)
        outcome, plan = played("HueOrder", state)
        assert outcome.done and outcome.state.pieces == state.board.goal
        left, cycles = set(range(len(state.pieces))), 0
        while left:
            cycles += 1
            at = left.pop()
            while (at := state.board.goal.index(state.pieces[at])) in left:
                left.remove(at)
        assert len(plan.moves) == len(state.pieces) - cycles == world.levels[level]["swaps"]


def test_one_order_of_the_tiles_is_right():
    world = world_of("HueOrder")
    board = world.start(4, 0).board
    inner = [i for i in range(9) if i not in board.fixed]
    right = []
    for order in itertools.permutations(inner):
        pieces = list(board.goal)
        for i, j in zip(inner, order, strict=True):
            pieces[i] = board.goal[j]
        right += [tuple(pieces)] if world.right(Tiles(board, tuple(pieces))) else []
    assert right == [board.goal]


def test_shades_and_mixtures_differ():
    colors = {rgb(f"h{h}s{s}") for h in range(24) for s in range(8)}
    assert len(colors) == 192
    assert rgb("mix804") == (236, 20, 128)


def test_ribbons_go_on_and_do_not_leave_the_picture():
    world = world_of("JigsawSwap")
    whole = Tiles(Board(2, 1, ()), ("-r--", "---r"))
    assert world.right(whole) and isinstance(world.solve(whole, SOLO), Unsolvable) and world.legal(whole, SOLO) == ()
    for wrong in (("-r--", "---g"), ("---r", "-r--"), ("gr--", "---r"), ("-r--", "-g-r")):
        assert not world.right(Tiles(Board(2, 1, ()), wrong))
    mixed = Tiles(Board(2, 1, (), whole.pieces), ("r---", "---r"))
    assert [m.key for m in world.solve(mixed, SOLO).moves] == ["turn a1"]
    turned = world.step(mixed, {SOLO: world.read("turn a1", SOLO)})
    assert turned.done and turned.state.pieces == whole.pieces


@pytest.mark.parametrize("name", ["JigsawSwap", "MirrorPlace"])
@pytest.mark.parametrize("level", [0, 4, 7, 9])
def test_plans_reach_their_end(name: str, level: int):
    for seed in range(4):
        outcome, _ = played(name, world_of(name).start(seed, level))
        assert outcome.done and outcome.rewards == {SOLO: {"success": 1.0}}


def test_no_fewer_mirrors_do():
    world = world_of("MirrorPlace")
    for seed, level in ((1, 0), (2, 0), (3, 1), (4, 1), (5, 1)):
        state = world.start(seed, level)
        assert shortest(world, state, SOLO, 40_000) == len(world.solve(state, SOLO).moves)
        for move in world.legal(state, SOLO)[::9]:
            after = world.step(state, {SOLO: move}).state
            answer = world.solve(after, SOLO)
            assert not isinstance(answer, Plan) or shortest(world, after, SOLO, 40_000) in (len(answer.moves), None)


def test_rays_can_be_gone_backwards_and_stop_at_walls():
    cells = "/..\\" + "..../" + "..\\" + "...."
    for gate in range(1, 17):
        way = trace(cells, 4, gate)
        back = trace(cells, 4, way.gate)
        assert back.gate == gate and back.cells == way.cells[::-1] and back.turns == way.turns
    assert trace("....#...........", 4, 15) == ((), 0, 0)
    assert [entry(g, 2) for g in (1, 3, 5, 7)] == [(0, 0, 2), (0, 1, 3), (1, 1, 0), (1, 0, 1)]


def test_a_wall_or_the_same_sign_is_illegal():
    world = world_of("MirrorPlace")
    state = Mirrors(Box(4, "#" + "." * 15, 15, 2), "#" + "." * 15)
    for text in ("a1 /", "b1 off", "e1 /"):
        outcome = world.step(state, {SOLO: world.read(text, SOLO)})
        assert outcome.state is state and outcome.events == {SOLO: ("illegal",)}


@pytest.mark.parametrize("name", ["JigsawSwap", "MirrorPlace", "HueOrder"])
def test_what_is_no_caption_is_told(name: str):
    with pytest.raises(QuintainError, match="no full caption"):
        world_of(name).rebuild("a1", SOLO)
