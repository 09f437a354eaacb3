import asyncio
import gc
import math
import sys
import threading
import time

import pytest

from quintain.parts import BadReward
from quintain.registry import UnknownName, build
from quintain.rewards.env import RewardError
from quintain.rewards.function import function
from quintain.types import Group, Kind, Node, QuintainError, Role, Stop, Task, Trajectory

FILE = """
import asyncio

def score(text, answer, bonus=0.0):
    return float(text == answer) + bonus

async def slowly(completion, **rest):
    await asyncio.sleep(0)
    return {"length": len(completion), "columns": len(rest)}

def broken(text):
    return 1 / (len(text) - 1)

constant = 3
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "my.py"
    path.write_text(FILE)
    return path


def group_of(*texts):
    made = []
    for i, text in enumerate(texts):
        system = Node.given(None, (), role=Role.system, kind=Kind.prompt, text="rules")
        asked = Node.given(0, (1,), kind=Kind.prompt, text="1 + 1?")
        said = Node.given(1, (), role=Role.assistant, kind=Kind.external, text=text)
        made.append(Trajectory(id=f"0.{i}", nodes=(system, asked, said), stop=Stop.done, rewards={"env": 0.25}))
    task = Task(key="row", env="data", params={"answer": "2", "source": "made"})
    return Group(task=task, trajectories=tuple(made))


async def test_a_function_in_a_file_scores_by_the_names_of_its_parameters(file):
    part = build("reward", {"name": "function", "path": f"{file}:score"})
    scored = await part(group_of("2", "3"))
    assert [dict(t.rewards) for t in scored.trajectories] == [{"env": 0.25, "score": 1.0}, {"env": 0.25, "score": 0.0}]
    more = await function(f"{file}:score", label="right", options={"bonus": 0.5})(group_of("2"))
    assert dict(more.trajectories[0].rewards) == {"env": 0.25, "right": 1.5}


async def test_async_functions_dicts_and_everything_by_kwargs(file):
    scored = await function(f"{file}:slowly")(group_of("abc"))
    named = dict(scored.trajectories[0].rewards)
    assert named["length"] == 3 and named["columns"] == 8  # answer source text messages prompt task trajectory group


async def test_what_a_function_can_ask_for():
    seen: dict = {}

    def look(completion, prompt, messages, task, trajectory, group, source):
        seen.update(locals())
        return True

    group = group_of("2")
    value = (await function(look)(group)).trajectories[0].rewards["look"]
    assert value == 1.0 and type(value) is float
    assert seen["completion"] == "2" and seen["prompt"] == "1 + 1?" and seen["source"] == "made"
    assert [m["role"] for m in seen["messages"]] == ["system", "user", "assistant"] and seen["task"] is group.task
    assert seen["trajectory"] is group.trajectories[0] and seen["group"] is group


async def test_a_failing_function_stops_the_run_or_gives_the_declared_value(file):
    with pytest.raises(
        RewardError,
        match=r"'broken' failed on trajectory 0\.1 \(task row\): ZeroDivisionError.* \(.*my\.py:12\); .*reward\.on_error",
    ):
        await function(f"{file}:broken")(group_of("22", "2"))
    scored = await function(f"{file}:broken", on_error=-1.0)(group_of("22", "2"))
    assert [t.rewards["broken"] for t in scored.trajectories] == [1.0, -1.0]
    assert scored.trajectories[1].events == ("reward_error: ZeroDivisionError: division by zero",)
    assert scored.trajectories[0].events == ()


async def test_values_that_are_no_numbers_are_refused():
    for value in (math.nan, math.inf):
        with pytest.raises(BadReward, match="reward 'f' of trajectory"):
            await function(lambda text, v=value: v, label="f")(group_of("x"))
        scored = await function(lambda text, v=value: v, label="f", on_error=0.0)(group_of("x"))
        assert scored.trajectories[0].rewards["f"] == 0.0 and scored.trajectories[0].events
    for value in (None, "high", [1.0]):
        with pytest.raises(RewardError, match=r"(TypeError|ValueError)"):
            await function(lambda text, v=value: v, label="f")(group_of("x"))


async def test_late_functions_fail():
    async def forever(text):
        await asyncio.Event().wait()

    with pytest.raises(RewardError, match="took longer than timeout_s; mend"):
        await function(forever, timeout_s=0.01)(group_of("x"))


async def test_a_sync_function_that_hangs_is_left_behind_and_the_next_call_gets_a_thread():
    free, threads = threading.Event(), []

    def score(text):
        threads.append(threading.current_thread())
        if text == "hang":
            free.wait(30)
        return float(text.isdigit())

    with pytest.raises(RewardError, match=r"failed on trajectory 0\.0 \(task row\): took longer than timeout_s"):
        await asyncio.wait_for(function(score, timeout_s=0.05)(group_of("hang")), 5)
    part = function(score, timeout_s=0.2, on_error=-1.0)
    scored = await asyncio.wait_for(part(group_of("1", "hang", "2", "hang", "3")), 5)
    assert [t.rewards["score"] for t in scored.trajectories] == [1.0, -1.0, 1.0, -1.0, 1.0]
    assert scored.trajectories[1].events == ("reward_error: took longer than timeout_s",)
    stuck, went_on = [threads[0], threads[2], threads[4]], [threads[1], threads[3], threads[5]]
    assert all(t.daemon and t.is_alive() for t in stuck) and stuck[1:] == went_on[:2] and went_on[2] not in stuck
    free.set()
    for thread in stuck:
        thread.join(5)
        assert not thread.is_alive(), "a thread that was left behind takes no other call"
    assert (await part(group_of("4"))).rewards == (1.25,) and threads[-1] is went_on[2]


async def test_the_time_of_a_function_begins_with_its_call_and_not_in_the_queue():
    scored = await function(lambda text: time.sleep(0.1) or 1.0, label="f", timeout_s=1.5)(
        group_of(*"abcdefghijklmnopqr")
    )
    assert [t.rewards["f"] for t in scored.trajectories] == [1.0] * 18


async def test_calls_that_were_given_up_are_left_out_and_hold_up_nobody():
    free, begun, seen, loop = threading.Event(), asyncio.Event(), [], asyncio.get_running_loop()

    def score(text):
        seen.append(text)
        loop.call_soon_threadsafe(begun.set)
        return float(free.wait(30) if text == "hang" else True)

    part = function(score, label="f", timeout_s=0.2)
    given_up = asyncio.create_task(part(group_of("hang", "queued")))
    await begun.wait()
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    scored = await asyncio.wait_for(part(group_of("1")), 5)
    assert scored.trajectories[0].rewards["f"] == 1.0 and seen == ["hang", "1"]
    free.set()


async def test_the_thread_goes_when_the_reward_does():
    threads = []
    part = function(lambda text: threads.append(threading.current_thread()) or 1.0, label="f")
    await part(group_of("x"))
    del part
    gc.collect()
    threads[0].join(5)
    assert not threads[0].is_alive()


async def test_a_function_that_exits_has_failed():
    async def leave_later(text):
        await asyncio.sleep(0)
        sys.exit(3)

    for score, thread in ((lambda text: sys.exit(3), True), (lambda text: sys.exit(3), False), (leave_later, True)):
        with pytest.raises(
            RewardError, match=r"'f' failed on trajectory 0\.0 \(task row\): SystemExit: 3 \(.*\); mend"
        ):
            await asyncio.wait_for(function(score, label="f", thread=thread)(group_of("x")), 5)
        scored = await asyncio.wait_for(function(score, label="f", thread=thread, on_error=0.5)(group_of("x")), 5)
        assert scored.trajectories[0].rewards["f"] == 0.5
        assert scored.trajectories[0].events == ("reward_error: SystemExit: 3",)


async def test_a_slow_function_holds_up_nothing_else():
    free, begun, loop = threading.Event(), asyncio.Event(), asyncio.get_running_loop()

    def score(text):
        loop.call_soon_threadsafe(begun.set)
        return float(free.wait(30))

    job = asyncio.create_task(function(score, label="slow")(group_of("x")))
    await begun.wait()
    assert not job.done()
    free.set()
    assert (await job).trajectories[0].rewards["slow"] == 1.0


async def test_a_function_scores_one_trajectory_after_the_other_in_order():
    seen, inside = [], []

    def score(text):
        inside.append(text)
        time.sleep(0.001)
        seen.append((text, len(inside), threading.current_thread() is threading.main_thread()))
        inside.remove(text)
        return float(text)

    parts = [group_of("1", "2", "3"), group_of("4", "5")]
    done = await asyncio.gather(*map(function(score), parts))
    assert seen == [(t, 1, False) for t in "12345"]
    assert [t.rewards["score"] for g in done for t in g.trajectories] == [1.0, 2.0, 3.0, 4.0, 5.0]
    await function(score, thread=False)(group_of("6"))
    assert seen[-1] == ("6", 1, True)


async def test_whatever_a_function_raises_is_its_failure():
    with pytest.raises(RewardError, match="failed on trajectory 0.0 .*StopIteration"):
        await asyncio.wait_for(function(lambda text: next(iter(())), label="f")(group_of("x")), 5)


async def test_objects_with_an_async_call_are_awaited():
    class Judge:
        async def __call__(self, text):
            return float(threading.current_thread() is threading.main_thread())

    for judge in (Judge(), lambda text: Judge()(text)):
        scored = await function(judge, label="judge")(group_of("x"))
        assert scored.trajectories[0].rewards["judge"] == 1.0


async def test_unknown_arguments_files_and_names(file, tmp_path):
    with pytest.raises(RewardError, match="'anwser'; did you mean 'answer'"):
        await function(lambda anwser: 1.0, on_error=0.0)(group_of("x"))
    with pytest.raises(UnknownName, match="did you mean 'score'"):
        function(f"{file}:scor")
    with pytest.raises(UnknownName, match=r"there is no file .*mi\.py; did you mean my\.py"):
        function(f"{tmp_path}/mi.py:score")
    with pytest.raises(UnknownName, match="names no object"):
        function("my.score")
    with pytest.raises(UnknownName, match=r"my\.py is a file, and one function of it is wanted: .*my\.py:score or"):
        function(str(file))
    with pytest.raises(UnknownName, match="'nowhere' cannot be imported"):
        function("nowhere:score")
    with pytest.raises(RewardError, match="is a int; a reward is a function"):
        function(f"{file}:constant")
    bad = tmp_path / "bad.py"
    bad.write_text("x = 1\ny = x / 0\n")
    with pytest.raises(QuintainError, match=r"bad\.py:2: ZeroDivisionError"):
        function(f"{bad}:y")
    bad.write_text("def f(:\n")
    with pytest.raises(QuintainError, match=r"bad\.py:1: SyntaxError"):
        function(f"{bad}:f")


async def test_two_files_of_the_same_name_are_two_modules(tmp_path):
    values = []
    for folder, value in (("a", 1.0), ("b", 2.0)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "my.py").write_text(f"def score(text):\n    return {value}\n")
        values.append(
            (await function(f"{tmp_path / folder}/my.py:score")(group_of("x"))).trajectories[0].rewards["score"]
        )
    assert values == [1.0, 2.0]
