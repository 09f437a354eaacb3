"""When an env that fails is told of, and when it ends the run."""

from __future__ import annotations

import pytest

from quintain.runtime.failures import EveryEpisodeFailed, Failures
from quintain.types import Group, Stop, Task, Trajectory


def group(*stops: Stop) -> Group:
    made = (Trajectory(id=f"0.{i}", nodes=(), stop=s, events=(f"{s}: broken {i}",)) for i, s in enumerate(stops))
    return Group(task=Task(key="a task", env="x"), trajectories=tuple(made))


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


def test_a_step_is_warned_of_from_nine_in_ten_and_once():
    failures = Failures(limit=99)
    failures.see(group(*[Stop.crashed] * 8, Stop.done, Stop.done))
    assert failures.warning() == ""
    failures.see(group(Stop.done, *[Stop.crashed] * 9))
    assert "9 of 10 episodes of this step failed" in failures.warning()
    failures.see(group(Stop.crashed))
    assert failures.warning() == "", "it was said"


def test_prompts_that_leave_no_room_are_failures_too():
    full = Trajectory(id="0.0", nodes=(), stop=Stop.truncated_tokens, events=("full: 43 tokens leave no room",))
    with pytest.raises(EveryEpisodeFailed, match="full: 43 tokens leave no room: mend"):
        Failures(limit=1).see(Group(task=Task(key="a task", env="x"), trajectories=(full,)))


def test_groups_without_episodes_are_no_failure():
    failures = Failures(limit=1)
    failures.see(group())
    assert failures.warning() == ""
