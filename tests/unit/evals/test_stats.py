"""Scores of an evaluation: an interval is about the number that it stands beside."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from quintain.evals.stats import compared, effective, interval, paired, relative_gain, shares, summary, table
from quintain.rewards.fronts import scalarise
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


def test_an_interval_ends_where_every_try_or_none_succeeded():
    assert {(interval(n, n)[1], interval(0, n)[0]) for n in range(1, 600)} == {(1.0, 0.0)}


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


def test_pass_at_k_is_told_of_powers_of_two_and_of_all_attempts():
    wins = np.arange(15).reshape(5, 3) % 4 == 0
    found = summary(played(wins))["pass"]
    assert list(found) == ["1", "2", "3"] and found["3"] == wins.any(1).mean()
    assert list(summary(played(np.ones((1, 300), dtype=bool)))["pass"])[-2:] == ["256", "300"]


def test_the_seats_of_a_game_are_no_further_attempts():
    def game(i: int, first: int) -> Group:
        runs = tuple(
            Trajectory(id=f"{i}.{k}.{seat}", nodes=(), stop=Stop.done, agent=seat, episode=k, rewards={"success": won})
            for k in range(2)
            for seat, won in (("first", float(first)), ("second", 1.0 - first))
        )
        return Group(task=Task(key=str(i), env="NimDuel"), trajectories=runs, ticket=i)

    found = summary([game(0, 1), game(1, 1), game(2, 0), game(3, 1)])
    assert (found["instances"], found["episodes"], found["success"]) == (4, 8, 0.5)
    assert found["pass"] == {"1": 0.5, "2": 0.5}, "a seat that always loses is not saved by the other"
    assert found["seats"] == {"first": 0.75, "second": 0.25}
    assert found["interval"] == pytest.approx(list(interval(4, 8)))
    assert "success by seat: first 0.750   second 0.250" in table("x", found)
    assert "seats" not in summary(played(np.ones((2, 2), dtype=bool)))


def test_each_level_has_its_success_where_there_are_several():
    groups = [
        replace(g, task=replace(g.task, level=level))
        for g, level in zip(played(np.eye(4)[:, :2] > 0), (3, 0, 3, 0), strict=True)
    ]
    found = summary(groups)
    assert found["levels"] == {"0": 0.25, "3": 0.25} and list(found["levels"]) == ["0", "3"]
    assert "success by level: 0: 0.250   3: 0.250" in table("x", found)
    assert summary([groups[1], groups[3]]).keys() == found.keys() - {"levels"}


def test_games_from_each_seat_are_games_of_their_own():
    rows = tuple(
        Trajectory(id=f"{k}", nodes=(), stop=Stop.done, agent=seat, episode=k, rewards={"success": float(k)})
        for k, seat in enumerate(("X", "O"))
    )
    found = summary([Group(task=Task(key="t", env="Othello"), trajectories=rows)])
    assert (found["episodes"], list(found["seats"].items())) == (2, [("X", 0.0), ("O", 1.0)]), "as the world has them"
    found["against"] = "oracle"
    assert "(each seat of a game is an attempt of its own; oracle plays the others)" in table("x", found)


def test_grades_against_recorded_episodes_are_summed_up():
    exact = [[1, 1, 0, 1], [1, 1], [0]]
    runs = tuple(
        Trajectory(id=str(i), nodes=(), stop=Stop.done, tags={"grades": [{"exact": e} for e in row]})
        for i, row in enumerate(exact)
    )
    found = summary([Group(task=Task(key="t", env="none"), trajectories=runs)])
    assert found["recorded"] == pytest.approx({"progress": 0.5, "success": 1 / 3, "score": 5 / 12})
    assert "on recorded episodes: progress 0.500, success 0.333" in table("x", found)
    longer = summary([Group(task=Task(key="t", env="none", params={"steps": 4}), trajectories=runs[1:2])])
    assert longer["recorded"] == {"progress": 0.5, "success": 0.0, "score": 0.25}, "it stopped before the recording did"
    assert "recorded" not in summary(played(np.ones((1, 1), dtype=bool)))


async def test_several_objectives_have_a_front():
    async def paid(weights: dict[str, float], *rewards: tuple[float, float]) -> Group:
        runs = tuple(
            Trajectory(id=str(i), nodes=(), stop=Stop.done, rewards={"win": a, "cheap": b})
            for i, (a, b) in enumerate(rewards)
        )
        return await scalarise()(Group(task=Task(key="t", env="none", params={"weights": weights}), trajectories=runs))

    fast, safe = {"win": 1.0, "cheap": 0.0}, {"win": 0.0, "cheap": 1.0}
    groups = [await paid(fast, (3.0, 0.0), (1.0, 2.0)), await paid(safe, (0.0, 4.0), (2.0, 2.0))]
    groups.append(await paid({"win": 0.5, "cheap": 0.5}, (1.0, 0.5)))
    front = summary(groups)["front"]
    assert front["objectives"] == ["cheap", "win"] and front["points"] == 3 and front["reference"] == [0.0, 0.0]
    assert front["front"] == [[1.0, 2.0], [3.0, 1.0]] and front["hypervolume"] == 4.0 and front["sparsity"] == 5.0
    assert front["loneliest"] in ([0.0, 1.0], [1.0, 0.0])
    assert "front of cheap, win: 2 of 3 weightings, hypervolume 4 over" in table("x", summary(groups))
    assert "front" not in summary([*groups, await paid({"win": 1.0}, (3.0, 0.0))]), "not the same objectives"


def test_a_gain_over_nothing_is_no_number():
    assert relative_gain(0.2, 0.1) == pytest.approx(-0.5) and math.isnan(relative_gain(0.0, 1.0))


def test_a_comparison_counts_the_instances_in_which_two_players_differ():
    mine, theirs = np.zeros((100, 1), bool), np.zeros((100, 1), bool)
    mine[:40], theirs[30:35] = True, True
    mine[30:32] = False  # 35 won alone, 3 by both, 2 by the other alone
    found = paired(shares(played(mine)), shares(played(theirs)))
    assert (found["instances"], found["better"], found["worse"]) == (100, 35, 2)
    assert found["difference"] == pytest.approx(0.33)
    # With half a pair more each way: 33 / 102, and the deviation sqrt(38 - 33^2 / 102) / 102.
    spread = 1.96 * math.sqrt(38 - 33**2 / 102) / 102
    assert found["interval"] == pytest.approx([33 / 102 - spread, 33 / 102 + spread])
    assert found["p"] == pytest.approx(2 * (1 + 37 + 37 * 18) / 2**37)
    said = compared("b", {**found, "success": 0.05})
    assert said.startswith("over b (success 0.050): gained +0.330  (95 % interval +0.2")
    assert "better in 35 of 100 instances, worse in 2" in said


def test_players_who_are_alike_differ_by_nothing_within_an_interval_that_holds_0():
    same = played(np.ones((4, 2), bool))
    found = paired(shares(same), shares(same))
    assert (found["difference"], found["p"]) == (0.0, 1.0)
    assert found["interval"][0] == -found["interval"][1] < -0.2, "four instances tell little"


def test_instances_that_one_of_two_players_did_not_play_are_left_out_of_both():
    mine, theirs = played(np.ones((3, 2), bool)), played(np.array([[0, 1], [0, 0], [0, 0]], bool))
    found = paired(shares(mine), shares([theirs[0], replace(theirs[1], trajectories=()), theirs[2]]))
    assert (found["instances"], found["difference"], found["better"]) == (2, 0.75, 2)
