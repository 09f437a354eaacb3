"""Credit for tests, on groups."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quintain.parts import PartError
from quintain.rewards.verified import credit_tests
from quintain.testing.cases.episodes import credited, episode, group_of


def test_a_turn_is_credited_by_what_it_passes_and_the_run_by_its_end() -> None:
    won = episode("a", [2, 1], 1.0, tags={"tests": [[1, 0], [1, 1]]})
    lost = episode("b", [1], 0.0, tags={"tests": [[0, 0]]})
    part = credit_tests(alpha=0.0, sigma=1e-3, beta=2.0, gamma=0.5)
    out = credited(part, group_of(won, lost))  # both tests weigh 1 / (1 + 1e-6); the mean of turns is 1
    assert out[0] == pytest.approx([0.125 + 0, 0.125 + 0, 0.125 + 2], abs=1e-5)
    assert out[1] == pytest.approx([-0.125 - 2], abs=1e-5)


def test_turns_without_tests_earn_nothing_and_other_tests_are_refused() -> None:
    bare, one = episode("a", [1], 0.0), episode("b", [1], 0.0, tags={"tests": [[1]]})
    out = credited(credit_tests(beta=1.0), group_of(bare, one))
    assert out[0][0] == -out[1][0] < 0
    with pytest.raises(PartError, match="other numbers of tests"):
        credited(credit_tests(), group_of(replace(bare, tags={"tests": [[1, 0]]}), one))
