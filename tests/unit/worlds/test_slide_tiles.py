"""Sliding tiles: the rules, scrambles, and the oracle against the distances of all boards of a size."""

from __future__ import annotations

from collections import deque

import pytest

from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.engines.slide import tiles, tiles_solve
from quintain.worlds.engines.slide.tiles import CHOICES, Frame, Slid, layout_of, slid, solvable
from quintain.worlds.kernel import Plan, Unknown, Unsolvable
from quintain.worlds.knobs import BadKnob
from quintain.worlds.noise import Rng
from quintain.worlds.splits import split_of, symmetries
from quintain.worlds.suite.puzzles.fifteen_tiles import fifteen_tiles

WORLD = fifteen_tiles()


def distances(width: int, height: int) -> dict[tuple[int, ...], int]:
    """Every board from which the goal can be reached -> the least number of slides."""
    frame = Frame(width, height)
    out, waiting = {frame.goal: 0}, deque([frame.goal])
    while waiting:
        here = waiting.popleft()
        gap = here.index(0)
        for sources in frame.sources:
            if sources[gap] >= 0:
                after = slid(here, gap, sources[gap])
                if after not in out:
                    out[after] = out[here] + 1
                    waiting.append(after)
    return out


def played(state: Slid, plan: Plan):
    for move in plan.moves:
        outcome = WORLD.step(state, {SOLO: move})
        assert not outcome.events
        state = outcome.state
    return outcome


def test_a_move_names_where_the_tile_goes():
    state = Slid(Frame(3, 2), (1, 0, 2, 4, 5, 3))
    after = {m.key: WORLD.step(state, {SOLO: m}).state.tiles for m in WORLD.legal(state, SOLO)}
    assert after == {"up": (1, 5, 2, 4, 0, 3), "left": (1, 2, 0, 4, 5, 3), "right": (0, 1, 2, 4, 5, 3)}
    outcome = WORLD.step(state, {SOLO: CHOICES["down"]})
    assert outcome.state is state and outcome.events == {SOLO: ("illegal",)} and not outcome.rewards


def test_the_last_slide_wins():
    outcome = WORLD.step(Slid(Frame(3, 2), (1, 2, 0, 4, 5, 3)), {SOLO: CHOICES["up"]})
    assert outcome.done and outcome.rewards == {SOLO: {"success": 1.0}}
    assert isinstance(WORLD.solve(outcome.state, SOLO), Unsolvable)


@pytest.mark.parametrize("width, height", [(3, 2), (2, 3), (2, 2)])
def test_the_oracle_is_exact_on_every_board_of_a_size(width: int, height: int):
    truth = distances(width, height)
    for board, least in truth.items():
        if least:
            answer = WORLD.solve(Slid(Frame(width, height), board), SOLO)
            assert isinstance(answer, Plan) and len(answer.moves) == least
    rng = Rng("tiles", width)
    for _ in range(50):
        board = list(range(width * height))
        rng.shuffle(board)
        state = Slid(Frame(width, height), tuple(board))
        assert solvable(state) == (tuple(board) in truth)
        if tuple(board) not in truth:
            assert "odd" in WORLD.solve(state, SOLO).reason


def test_walking_distance_never_exceeds_the_slides_left():
    below = 0
    for board, least in distances(4, 2).items():
        v, h = tiles_solve._numbers(board, 4, 2)
        estimate = tiles_solve.walking(2, 4).distance[v] + tiles_solve.walking(4, 2).distance[h]
        assert estimate <= least and (estimate == 0) == (least == 0) and (estimate - least) % 2 == 0
        below += estimate < least
    assert below > 0


def test_the_tables_of_a_four_by_four_board_are_complete():
    table = tiles_solve.walking(4, 4)
    assert len(table.distance) == len(table.after) == 24_964 and max(table.distance) == 35


def test_a_hasty_plan_is_a_plan(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tiles_solve.shortest_plan, "__defaults__", (1,))
    for level in (4, 7):
        state = WORLD.start(5, level)
        answer = WORLD.solve(state, SOLO)
        assert isinstance(answer, Plan) and played(state, answer).done and len(answer.moves) <= WORLD.turns(state)
    monkeypatch.setattr(tiles_solve, "HASTES", ((2, 3), (6, 4)))
    assert WORLD.solve(WORLD.start(5, 7), SOLO) == Unknown(2 + 3 + 4)


@pytest.mark.parametrize("level", range(10))
def test_scrambles_can_be_solved_and_lie_far_enough(level: int):
    for seed in range(10):
        state = WORLD.start(seed, level)
        assert solvable(state) and state.tiles != state.frame.goal
        assert sorted(state.tiles) == list(range(len(state.tiles)))
        width = state.frame.width
        way = (
            abs(c // width - (t - 1) // width) + abs(c % width - (t - 1) % width)
            for c, t in enumerate(state.tiles)
            if t
        )
        assert sum(way) >= WORLD.levels[level]["far"]


def test_images_of_a_board_are_one_layout():
    state = WORLD.start(3, 2)
    for turned in symmetries(3, 3):
        assert layout_of(Slid(state.frame, tuple(state.tiles[i] for i in turned))) == layout_of(state)
    mirrored = [0] * 9
    for cell, tile in enumerate(state.tiles):
        mirrored[cell % 3 * 3 + cell // 3] = tile and (tile - 1) % 3 * 3 + (tile - 1) // 3 + 1
    assert layout_of(Slid(state.frame, tuple(mirrored))) == layout_of(state)
    assert len(WORLD.solve(Slid(state.frame, tuple(mirrored)), SOLO).moves) == len(WORLD.solve(state, SOLO).moves)
    kinds = {layout_of(WORLD.start(seed, 2)) for seed in range(30)}
    assert len(kinds) > 25


@pytest.mark.parametrize("level", [0, 4])
def test_splits_are_kept_apart(level: int):
    for split in ("train", "validation", "test"):
        assert {split_of(layout_of(WORLD.start(seed, level, split=split))) for seed in range(12)} == {split}


def test_captions_and_words():
    state = Slid(Frame(4, 3), (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 0, 10))
    text = WORLD.caption(state, SOLO, 2)
    assert text == " 1  2  3  4\n 5  6  7  8\n 9 11  . 10" and WORLD.rebuild(text, SOLO).tiles == state.tiles
    assert WORLD.caption(state, SOLO, 1) == "9 of 11 tiles are in place. The gap is at row 3, column 3."
    assert WORLD.moving(state, SOLO)[-3:] == ("11:21", "0:22", "10:23")
    assert WORLD.scene(state, SOLO).cells[-3:] == ("number-11", "well", "number-10")
    for wrong in ("", "1 2\n3", "1 2\n3 3", "1 x\n2 ."):
        with pytest.raises(QuintainError, match="no full caption"):
            WORLD.rebuild(wrong, SOLO)


def test_sides_are_checked():
    with pytest.raises(BadKnob, match="3 to 4"):
        WORLD.start(0, 0, width=5)


def test_synonyms():
    assert WORLD.read(" North ", SOLO) == WORLD.read("u", SOLO) == tiles.CHOICES["up"]
    assert WORLD.read("7", SOLO) is None


def test_a_plan_fits_into_the_turns_where_the_shortest_takes_too_long_to_find():
    state = WORLD.start(976003, 6)
    assert tiles_solve.shortest_plan(state.tiles, 4, 4).plan is None, "else another instance is wanted here"
    plan = WORLD.solve(state, SOLO)
    assert len(plan.moves) <= WORLD.turns(state) and played(state, plan).done
