"""PackBoxes and Tangram: covers checked point by point, and against a search that knows nothing of quarters."""

from __future__ import annotations

import itertools
import pickle

import pytest

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.worlds.engines.geometry.pieces import Kit, by_first, cover
from quintain.worlds.kernel import Plan

INSIDE = {
    "#": lambda u, v: True,
    ".": lambda u, v: False,
    "◤": lambda u, v: u + v < 1,
    "◢": lambda u, v: u + v > 1,
    "◥": lambda u, v: u > v,
    "◣": lambda u, v: u < v,
}


def points(rows: tuple[str, ...]) -> set[tuple[float, float]]:
    """Sample points of the plane that rows of signs cover."""
    return {
        (round(x + u, 2), round(y + v, 2))
        for (y, row), u, v in itertools.product(enumerate(rows), (0.2, 0.4, 0.75), (0.1, 0.5, 0.85))
        for x, sign in enumerate(row)
        if INSIDE[sign](u, v)
    }


def spun(rows: tuple[str, ...]) -> tuple[str, ...]:
    """Rows of signs after a quarter turn to the right."""
    turn = str.maketrans("◤◥◢◣", "◥◢◣◤")
    return tuple("".join(column[::-1]).translate(turn) for column in zip(*rows, strict=True))


@pytest.mark.parametrize("name", ["PackBoxes", "Tangram"])
def test_a_plan_covers_each_point_once(name: str) -> None:
    world = world_of(name)
    for level, seed in itertools.product((1, 4, 7), range(4)):
        state = world.start(seed, level)
        plan = world.solve(state, SOLO)
        assert isinstance(plan, Plan)
        found: list[tuple[float, float]] = []
        for move in plan.moves:
            piece, (x, y, turns) = move.value
            rows = state.kit.pieces[piece]
            for _ in range(turns):
                rows = spun(rows)
            found += [(round(a + x, 2), round(b + y, 2)) for a, b in points(rows)]
        assert len(found) == len(set(found)) and set(found) == points(state.kit.goal)


def can_fill(free: frozenset, pieces: list[list[frozenset]]) -> bool:
    """Whether pieces, each in all its turns, fill a set of cells: piece by piece, at every offset."""
    if not pieces:
        return not free
    for shape in pieces[0]:
        for dx, dy in itertools.product(range(5), repeat=2):
            put = frozenset((x + dx, y + dy) for x, y in shape)
            if put <= free and can_fill(free - put, pieces[1:]):
                return True
    return False


def test_covers_exist_where_trying_all_finds_them() -> None:
    board, seen = ("####", "####", "####"), set()
    free = frozenset((x, y) for x in range(4) for y in range(3))
    shapes = (
        ("####",),
        ("##", "##"),
        ("###", "#.."),
        ("##.", ".##"),
        ("###", ".#."),
        ("#.", "##"),
        ("#####",),
        ("###",),
    )
    for three in itertools.combinations_with_replacement(shapes, 3):
        kit = Kit(board, three, 4)
        found, _ = cover(kit, kit.bits, frozenset(range(3)), 10_000)
        sets = []
        for rows in three:
            turns = []
            for _ in range(4):
                turns.append(frozenset((x, y) for y, row in enumerate(rows) for x, s in enumerate(row) if s == "#"))
                rows = spun(rows)
            sets.append(turns)
        truth = sum(len(t[0]) for t in sets) == 12 and can_fill(free, sets)
        assert (found is not None) == truth, three
        seen.add(truth)
    assert seen == {True, False}


def test_pieces_are_taken_back_when_they_must_be() -> None:
    world = world_of("PackBoxes")
    state = world.start(3, 4)
    for _ in range(3):
        state = world.step(state, {SOLO: next(m for m in world.legal(state, SOLO) if "take" not in m.key)}).state
    plan = world.solve(state, SOLO)
    assert isinstance(plan, Plan)
    for move in plan.moves:
        assert world.step(state, {SOLO: move}).events.get(SOLO, ()) != ("illegal",)
        state = world.step(state, {SOLO: move}).state
    assert all(state.places)


@pytest.mark.parametrize("name", ["PackBoxes", "Tangram"])
def test_kits_that_caches_and_starts_keep_by_the_thousand_stay_small(name: str) -> None:
    """Tables of all places are some hundred kB each: a kit that keeps them on itself keeps them as long as anything that names it."""
    world = world_of(name)
    state = world.start(3, 9)
    view = world.view(state, SOLO)
    moves, plan = view.legal(), world.solve(state, SOLO)
    assert view.caption() and isinstance(plan, Plan) and len(moves) > 100
    kit = world.step(state, {SOLO: plan.moves[0]}).state.kit
    assert len(pickle.dumps(vars(kit))) < 5_000, {name: len(pickle.dumps(value)) for name, value in vars(kit).items()}
    assert by_first.cache_info().maxsize <= 64


@pytest.mark.parametrize("name", ["PackBoxes", "Tangram"])
def test_a_turn_that_changes_nothing_is_not_told(name: str) -> None:
    world, told = world_of(name), dict[str, set[str]]()
    for seed in range(12):
        state = world.start(seed, 3)
        for move in world.legal(state, SOLO):
            view = world.view(world.step(state, {SOLO: move}).state, SOLO)
            told.setdefault(str((seed, move.key[0], view.caption().rpartition("\n")[0])), set()).add(view.caption())
    assert {len(captions) for captions in told.values()} == {1}, "what is filled by one piece is told in one way"
