"""When an env that fails is told of, and when it ends the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from quintain.learn.ranks import Ranks
from quintain.runtime.evaluate import Evaluator
from quintain.runtime.failures import DEAD, EveryEpisodeFailed, Failures, Standstill, refuse_failures, too_few
from quintain.types import Group, Stop, Task, Trajectory


def group(*stops: Stop) -> Group:
    made = (Trajectory(id=f"0.{i}", nodes=(), stop=s, events=(f"{s}: broken {i}",)) for i, s in enumerate(stops))
    return Group(task=Task(key="a task", env="x"), trajectories=tuple(made))


def test_the_cause_that_is_told_is_of_the_step_itself():
    failures = Failures(limit=9)
    failures.see(group(Stop.crashed, Stop.done, Stop.done))
    assert failures.warning() == ""
    failures.see(group(Stop.done, Stop.timeout))
    assert (
        failures.warning() == "1 of 2 episodes of this step failed; the first was 0.1, task a task: timeout: broken 1"
    )


def test_the_run_ends_at_the_limit_and_the_first_cause_is_quoted():
    failures = Failures(limit=3)
    failures.see(group(Stop.crashed, Stop.timeout))
    failures.see(group(Stop.timeout))
    with pytest.raises(
        EveryEpisodeFailed, match=r"first 3 groups .* first was 0\.0, task a task: crashed: broken 0: mend"
    ):
        failures.see(group(Stop.crashed))


def test_one_episode_that_gets_through_keeps_the_run_alive():
    failures = Failures(limit=2)
    for stops in ((Stop.crashed, Stop.done), (Stop.crashed,), (Stop.crashed,)):
        failures.see(group(*stops))
    failures.check()


def test_where_others_play_too_the_run_ends_when_nobody_gets_through():
    def with_another(healthy: bool):
        other = {"episodes": 2.0, "failed": 2.0 - healthy, "healthy": float(healthy), "groups": 2.0, "limit": 2.0}
        other["unscored"] = 0.0
        return lambda own: {name: value + other[name] for name, value in own.items()}

    failures = Failures(limit=2, alone=False)
    for _ in range(3):
        failures.see(group(Stop.crashed, Stop.crashed))
    assert "7 of 8 episodes" in failures.warning(with_another(healthy=True))
    failures.see(group(Stop.crashed))
    failures.warning(with_another(healthy=True))
    failures = Failures(limit=2, alone=False)
    failures.see(group(Stop.crashed))
    assert "3 of 3 episodes" in failures.warning(with_another(healthy=False)), "together they have not played enough"
    failures.see(group(Stop.crashed))
    with pytest.raises(EveryEpisodeFailed, match="broken 0: mend"):
        failures.warning(with_another(healthy=False))


def test_a_step_is_warned_of_from_half_and_from_nine_in_ten_and_once_of_each():
    failures = Failures(limit=99)
    failures.see(group(*[Stop.crashed] * 4, *[Stop.done] * 6))
    assert failures.warning() == ""
    for told in ("5 of 10 episodes of this step failed; the first was 0.0, task a task: crashed: broken 0", ""):
        failures.see(group(*[Stop.crashed] * 5, *[Stop.done] * 5))
        assert failures.warning() == told
    failures.see(group(Stop.done, *[Stop.crashed] * 9))
    assert "9 of 10 episodes of this step failed" in failures.warning()
    failures.see(group(Stop.crashed))
    assert failures.warning() == "", "it was said"


def scored(unscored: int, of: int = 10, why: str = "URLError: refused") -> Group:
    events = [(f"reward_error: {why}",) if i < unscored else () for i in range(of)]
    rows = tuple(Trajectory(id=f"0.{i}", nodes=(), stop=Stop.done, events=e) for i, e in enumerate(events))
    return Group(task=Task(key="a task", env="x"), trajectories=rows)


def test_a_reward_that_fails_is_told_of_the_first_time_and_on_half_of_a_step():
    failures = Failures(limit=99)
    first = (
        "have reward.on_error, as their reward failed; the first was 0.0, task a task: reward_error: URLError: refused"
    )
    told = (
        (0, ""),
        (1, f"1 of 10 episodes of this step {first}"),
        (4, ""),
        (5, f"5 of 10 episodes of this step {first}"),
        (9, ""),
    )
    for unscored, said in told:
        failures.see(scored(unscored))
        assert failures.warning() == said
    assert failures.warning() == "", "a step without episodes"


def test_the_cause_of_rewards_that_fail_is_of_the_step_itself():
    failures = Failures(limit=9)
    failures.see(scored(1))
    assert "URLError" in failures.warning()
    failures.see(scored(5, why="TimeoutError: late"))
    assert "the first was 0.0, task a task: reward_error: TimeoutError: late" in failures.warning()


def test_a_run_whose_env_goes_amid_it_ends():
    failures = Failures(limit=2)
    failures.see(group(Stop.crashed, Stop.done))
    failures.warning()
    for step in range(2 * DEAD - 1):
        failures.see(group(Stop.crashed if step != DEAD - 1 else Stop.done))
        failures.warning()
    failures.warning()  # a step without episodes says nothing
    failures.see(Group(task=Task(key="late", env="x"), trajectories=group(Stop.timeout).trajectories))
    with pytest.raises(
        EveryEpisodeFailed, match=rf"last {DEAD} steps failed.* first was 0\.0, task a task: crashed: broken 0: mend"
    ):
        failures.warning()


def test_prompts_that_leave_no_room_are_failures_too():
    full = Trajectory(id="0.0", nodes=(), stop=Stop.truncated_tokens, events=("full: 43 tokens leave no room",))
    with pytest.raises(EveryEpisodeFailed, match="full: 43 tokens leave no room: mend"):
        Failures(limit=1).see(Group(task=Task(key="a task", env="x"), trajectories=(full,)))


def test_groups_without_episodes_are_no_failure():
    failures = Failures(limit=1)
    failures.see(group())
    assert failures.warning() == ""


IDLE = {"tokens": 0.0, "grad_norm": 0.0, "groups_played": 8.0, "turns": 4.0, "reward": 0.0, "solved_some": 0.0}


@pytest.mark.parametrize(
    ("row", "cause", "fix"),
    [
        ({}, "left out every one of 80 groups", "a lower level"),
        (
            {"malformed": 4.0, "episodes": 8.0, "answers_cut": 17.0},
            "most answers are cut",
            "set rollout.max_tokens higher",
        ),
        (
            {"malformed": 4.0, "episodes": 8.0, "answers_cut": 15.0},
            "cannot be read as an action",
            "warm_start.steps=50",
        ),
        ({"malformed": 4.0}, "cannot be read as an action", "warm_start.steps=50"),
        ({"reward": 1.0, "solved_some": 1.0}, "tell its episodes apart no more", "a higher level"),
        ({"episodes": 32.0, "unscored": 32.0}, "nothing scores the answers that the agent gives", "reward=exact"),
        ({"tokens": 99.0}, "all advantages are 0", "rollout.group_size"),
        ({"groups_trained": 8.0}, "all advantages are 0", "rollout.group_size"),
        ({"groups_withheld": 8.0}, "80 of 80 groups came too late", "run.max_lag"),
    ],
)
def test_steps_that_train_nothing_are_told_of_once_with_the_cause_and_a_fix(row, cause, fix):
    watch = Standstill(100, folder=Path("runs/my run"))
    said = [watch.warning(IDLE | row) for _ in range(30)]
    assert [bool(s) for s in said] == [i == 9 for i in range(30)]
    assert said[9].startswith("the last 10 steps trained nothing") and cause in said[9] and fix in said[9]
    assert "`quintain show" not in said[9] or "`quintain show 'runs/my run'`" in said[9]


def test_a_step_that_trains_begins_the_count_anew_and_a_short_run_is_told_of_at_its_end():
    watch = Standstill(100)
    rows = (
        [IDLE] * 9 + [{**IDLE, "tokens": 5.0, "grad_norm": 0.1}] + [IDLE] * 9 + [{**IDLE, "skipped": 1.0}] + [IDLE] * 9
    )
    assert not any(map(watch.warning, rows)) and watch.warning(IDLE)
    short = Standstill(3)
    assert [bool(short.warning(IDLE)) for _ in range(3)] == [False, False, True]
    resumed = Standstill(7)
    assert not resumed.warning(IDLE) and resumed.warning(IDLE, step=6).startswith("the last 2 steps trained nothing")
    assert Standstill(7).warning(IDLE, step=6).startswith("the last step trained nothing: ")
    some = Standstill(7)
    assert not some.warning({**IDLE, "tokens": 5.0, "grad_norm": 0.1}) and not some.warning(IDLE, step=6)


def test_steps_whose_episodes_failed_say_nothing_of_the_tasks():
    """They are told of by `Failures`: what was idle before and after them counts on."""
    for outage in ({"stop/crashed": 0.7, "stop/timeout": 0.25}, {"turns": 0.0, "stop/truncated_tokens": 1.0}):
        down = {**IDLE, **outage}
        short = Standstill(3)
        assert [short.warning(down, step) for step in range(3)] == ["", "", ""]
        watch = Standstill(100)
        assert not any(map(watch.warning, [IDLE] * 9 + [down] * 9)) and watch.warning(IDLE).startswith(
            "the last 10 steps"
        )
        assert not watch.warning(down), "once"
        late = Standstill(3)
        said = [late.warning(row, step) for step, row in enumerate((down, IDLE, down))]
        assert said[:2] == ["", ""] and said[2].startswith("the last step trained nothing")
    assert Standstill(1).warning({**IDLE, "stop/truncated_tokens": 1.0}), "they were played"


def test_steps_whose_rewards_failed_say_nothing_of_the_tasks():
    failures = Failures(limit=99)
    watch = Standstill(3, failures)

    def said(unscored: int, step: int) -> str:
        failures.see(scored(unscored))
        failures.warning()
        return watch.warning(IDLE, step)

    assert [said(unscored, step) for step, unscored in enumerate((10, 5, 10))] == ["", "", ""]
    assert said(4, 2).startswith("the last step trained nothing")


def test_an_evaluation_fails_where_no_rank_had_an_episode_that_got_through():
    def with_another(failed: int):
        return lambda own: {"episodes": own["episodes"] + 2, "failed": own["failed"] + failed}

    crashed = [group(Stop.crashed, Stop.crashed)]
    with pytest.raises(
        EveryEpisodeFailed, match=r"every one of 4 episodes .* first was task a task: crashed: broken 0"
    ):
        refuse_failures(crashed, with_another(failed=2))
    assert refuse_failures(crashed, with_another(failed=1)).startswith("3 of 4 episodes failed")
    with pytest.raises(EveryEpisodeFailed, match="nothing to sum up: mend"):
        refuse_failures([], with_another(failed=2))
    assert refuse_failures([]) == refuse_failures([group(Stop.done)], with_another(failed=2)) == ""


async def evaluated(rollout: Any) -> tuple[list[float], list[str]]:
    """The success of three evaluations of a run, and what it warns of."""

    async def straight(playing: Any) -> Any:
        return await playing

    async def as_it_is(group: Group) -> Group:
        return group

    said: list[str] = []
    drawn = [Task(key=str(i), env="e") for i in range(4)]
    given = {"rollouts": [rollout], "reward": as_it_is, "ranks": Ranks(), "greedy": False, "say": said.append}
    evaluator = Evaluator(tasks=drawn, cast=None, short=4, long=4, last=2, rollout="mine", **given)  # pyrefly: ignore
    found = [(await evaluator(step, straight))["eval/success"] for step in range(3)]
    return found, [text for text in said if text.startswith("WARNING")]


async def test_an_evaluation_of_a_run_tells_of_episodes_that_failed():
    async def half(task: Task, cast: Any, ticket: int) -> Group:
        stop = Stop.crashed if task.key == "2" else Stop.done
        one = Trajectory(id="a", nodes=(), stop=stop, rewards={"win": 1.0}, events=("crashed: no disk",))
        return Group(task=task, ticket=ticket, trajectories=(one,))

    assert (await evaluated(half))[1] == [
        "WARNING: eval: 1 of 4 episodes failed, and count with what they had earned; the first was task 2: crashed: no disk"
    ] * 3


async def test_a_rollout_that_gives_too_few_is_told_of_in_evaluations_once():
    async def every_other(task: Task, cast: Any, ticket: int) -> Group:
        one = Trajectory(id="a", nodes=(), stop=Stop.done, rewards={"win": 1.0})
        return Group(task=task, ticket=ticket, trajectories=(one,) * (int(task.key) % 2))

    found, said = await evaluated(every_other)
    whole = [Group(task=Task(key="0", env="e"), trajectories=(Trajectory(id="a", nodes=(), stop=Stop.done),))]
    assert found == [1.0] * 3 and said == [
        "WARNING: eval: the rollout 'mine' gave fewer trajectories than it was asked for (1 a task) in 2 of 4 groups (the first: 0 of task "
        "0); scores are over those that it gave"
    ]
    assert too_few(whole, "mine", 1) == "" and "(4 a task) in 1 of 1 groups" in too_few(whole, "mine", 4)
