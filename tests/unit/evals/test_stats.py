"""Scores of an evaluation: an interval is about the number that it stands beside."""

from __future__ import annotations

import math

import numpy as np
import pytest

from quintain.evals.stats import effective, interval, summary
from quintain.types import Group, Stop, Task, Trajectory


def played(wins: np.ndarray) -> list[Group]:
    """Groups of `wins` [instances, tries]."""
    return [
        Group(
            task=Task(key=f"t{i}", env="none"),
            trajectories=tuple(
                Trajectory(id=f"{i}.{k}", nodes=(), stop=Stop.done, rewards={"success": float(w)})
                for k, w in enumerate(row)
            ),
            ticket=i,
        )
        for i, row in enumerate(wins)
    ]


def width(found: dict) -> float:
    return found["interval"][1] - found["interval"][0]


def test_the_interval_of_several_tries_is_about_their_mean():
    wins = np.zeros((200, 4), dtype=bool)
    wins[:, 1:] = True  # every first try fails
    found = summary(played(wins))
    assert found["success"] == 0.75 and found["interval"][0] < 0.75 < found["interval"][1]


def test_tries_count_as_many_as_they_are_worth():
    rng = np.random.default_rng(0)
    independent = summary(played(rng.random((300, 4)) < 0.6))
    alike = summary(played(np.repeat(rng.random((300, 1)) < 0.6, 4, axis=1)))
    once = summary(played(rng.random((300, 1)) < 0.6))
    assert width(alike) == pytest.approx(width(once), rel=0.1), "four equal tries are worth one"
    assert width(independent) == pytest.approx(width(once) / 2, rel=0.15), "four independent ones are worth four"
    assert alike["reward_error"] == pytest.approx(math.sqrt(0.6 * 0.4 / 300), rel=0.1)
    assert independent["reward_error"] == pytest.approx(math.sqrt(0.6 * 0.4 / 1200), rel=0.15)


@pytest.mark.parametrize("wins", [np.ones((5, 3), dtype=bool), np.zeros((5, 3), dtype=bool)])
def test_equal_outcomes_are_worth_one_try_an_instance(wins):
    assert summary(played(wins))["interval"] == list(interval(5.0 * wins[0, 0], 5.0))


def test_one_try_an_instance_is_the_plain_interval():
    wins = np.arange(40)[:, None] % 3 > 0
    assert summary(played(wins))["interval"] == pytest.approx(list(interval(int(wins.sum()), 40)))
    assert effective([], 0.0, 0) == 0.0 and summary([])["interval"] == [0.0, 1.0]
