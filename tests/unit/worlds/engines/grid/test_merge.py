"""Sliding numbers: sweeps, new numbers and the end of a game."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.engines.grid.merge import CHOICES, Merge, Sheet, appeared, sweep, swept
from quintain.worlds.kernel import Unsolvable
from quintain.worlds.noise import Noise

WORLD = world_of("Game2048")


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ((0, 0, 0, 0), (0, 0, 0, 0)),
        ((1, 0, 0, 1), (2, 0, 0, 0)),
        ((2, 1, 1, 0), (2, 2, 0, 0)),
        ((1, 1, 1, 0), (2, 1, 0, 0)),
        ((3, 3, 3, 3), (4, 4, 0, 0)),
        ((1, 2, 1, 2), (1, 2, 1, 2)),
    ],
)
def test_a_number_merges_once_a_sweep(line: tuple[int, ...], after: tuple[int, ...]) -> None:
    assert swept(line) == after


BOARDS = st.lists(st.integers(0, 5), min_size=9, max_size=9).map(tuple)


@given(BOARDS)
def test_sweeps_are_turned_images_of_each_other_and_keep_the_sum(cells: tuple[int, ...]) -> None:
    board = np.array(cells).reshape(3, 3)
    total = sum(2**c for c in cells if c)
    for direction, turns in enumerate((1, 3, 0, 2)):  # quarter turns that bring the side to the left
        found = np.array(sweep(cells, 3, direction)).reshape(3, 3)
        left = np.array(sweep(tuple(np.rot90(board, turns).ravel().tolist()), 3, 2)).reshape(3, 3)
        assert (np.rot90(left, -turns) == found).all()
        assert sum(2**c for c in found.ravel().tolist() if c) == total


def test_a_four_appears_one_time_in_ten_anywhere() -> None:
    boards = [appeared((1, 0, 0, 2), Noise(s)) for s in range(4000)]
    values = [b[1] or b[2] for b in boards]
    assert {b[0] for b in boards} == {1} and values.count(2) / 4000 == pytest.approx(0.1, abs=0.02)
    assert sum(b[1] > 0 for b in boards) / 4000 == pytest.approx(0.5, abs=0.03)


def test_how_a_game_goes_on_and_ends() -> None:
    sheet = Sheet(2, 4, 50)
    state = Merge(sheet, (3, 3, 1, 2), Noise(1))
    blocked = WORLD.step(Merge(sheet, (3, 0, 0, 0), Noise(1)), {SOLO: CHOICES["left"]})
    assert blocked.events == {SOLO: ("blocked",)} and blocked.state.noise == Noise(1)
    won = WORLD.step(state, {SOLO: CHOICES["left"]})
    assert won.done and won.rewards == {SOLO: {"success": 1.0}} and won.state.cells == (4, 0, 1, 2)
    full = Merge(sheet, (1, 2, 0, 3), Noise(3))
    ends = [WORLD.step(Merge(sheet, full.cells, Noise(s)), {SOLO: CHOICES["left"]}) for s in range(40)]
    stuck = [o for o in ends if o.done]
    assert stuck and all(o.events == {SOLO: ("stuck",)} and not o.rewards for o in stuck)
    assert WORLD.solve(stuck[0].state, SOLO) == Unsolvable("the episode is over")
    assert all(WORLD.legal(o.state, SOLO) for o in ends if not o.done)


def test_a_caption_that_is_none_is_refused() -> None:
    with pytest.raises(QuintainError, match="no full caption"):
        WORLD.rebuild("Goal: 16\n2 2\n.", SOLO)
