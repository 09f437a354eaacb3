"""The chain of waits: from the status of a run to who waits for whom, the cause and what helps."""

from __future__ import annotations

import os
import time

import pytest

from quintain.cli.waits import _actor, _verdict
from quintain.runtime.chain import APART, fold


def wait(kind, who="", on="", since_s=100.0, limit_s=0.0):
    return {"kind": kind, "who": who, "on": on, "since_s": since_s, "limit_s": limit_s}


def told(*waits, **more):
    chain = fold({"step": 7, "waits": list(waits), **more})
    return [str(link) for link in chain.links], chain.cause, chain.fix


def actor(number=1, **more):
    common = {"pid": 4713, "state": "up", "silent_s": 0.2, "waits": [], "lag_s": 0.0, "stack": []}
    return {"number": number, **common, **more}


TAKE = wait("take", 7, [62, 63], 231.0)


def test_a_step_waits_for_an_env_without_a_deadline():
    env = wait("env", [63, 4], "step", 230.0)
    links, cause, fix = told(TAKE, wait("env", [62, 1], "step", 2.0), env, tickets={"63": "KeyDoor level 3, k"})
    assert links == [
        "step 7 waits for tickets 62, 63 to be played, since 3 min 51 s",
        "episode 63.4 (KeyDoor level 3, k) waits for its env to answer `step`, since 3 min 50 s",
    ]
    assert "63.4" in cause and "for ever" in cause and "rollout.options.deadline_s=60" in fix and "RUN" not in fix


def test_an_env_with_a_deadline_is_said_to_end_by_itself():
    links, cause, _ = told(TAKE, wait("env", [63, 4], "step", 20.0, 60.0))
    assert links[1].endswith("since 20 s, given up in 40 s") and "1 min 0 s" in cause


def test_a_server_that_is_away_is_named():
    env, away = wait("env", [63, 4], "reset", 9.0, 60.0), wait("server", "http://127.0.0.1:8000", "", 8.0, 30.0)
    links, cause, fix = told(TAKE, env, away)
    assert links[2] == "the server http://127.0.0.1:8000 is away, and is asked again, since 8 s, given up in 22 s"
    assert cause.startswith("the server http://127.0.0.1:8000 answered before and is away") and "start it again" in fix


def test_a_ticket_of_another_step_is_not_blamed():
    links, _, _ = told(TAKE, wait("env", [70, 0], "step", 230.0), wait("env", [62, 0], "step", 1.0))
    assert "episode 62.0" in links[1]


def test_an_actor_is_looked_into():
    inside = [["env", [62, 0], "step", 90.0, 0.0], ["env", [63, 2], "step", 200.0, 0.0]]
    links, cause, _ = told(TAKE, wait("actor", 63, 1, 210.0), actors=[actor(waits=inside)])
    assert "ticket 63 is played by actor 1 (process 4713)" in links[1]
    assert "episode 63.2 waits for its env" in links[2] and "63.2" in cause


@pytest.mark.parametrize("kind", ["take", "load"])
def test_a_silent_actor_is_named(kind):
    rows = [TAKE, wait("actor", 63, 1, 60.0)]
    if kind == "load":
        rows = [wait("load", 8, "", 60.0), wait("actor load", 8, "actor 1", 60.0, 60.0)]
    links, cause, fix = told(*rows, actors=[actor(silent_s=12.0)], heartbeat_s=30.0)
    assert "actor 1 (process 4713) gives no sign of life, since 12 s, given up in 18 s" in links[-1]
    assert "process 4713 (actor 1) is stopped" in cause and "kill -CONT 4713" in fix


def test_a_held_event_loop_is_named_with_its_line():
    loop = {"lag_s": 42.0, "stack": ["/usr/lib/python3.11/asyncio/base_events.py:1 run", "/home/me/env.py:12 step"]}
    links, cause, _ = told(TAKE, wait("env", [62, 0], "step", 42.0), loop=loop)
    assert links[-1] == "the event loop is held by /home/me/env.py:12 step, since 42 s"
    assert cause.startswith("/home/me/env.py:12 step runs in the main thread")


def test_ranks_in_a_sum_are_no_held_loop():
    links, cause, _ = told(wait("collective", "rank 0", "a sum", 30.0, 120.0), loop={"lag_s": 30.0, "stack": []})
    assert links == ["rank 0 waits for the other ranks in a sum, since 30 s, given up in 1 min 30 s"]
    assert "another rank" in cause


def test_a_stuck_reward_names_its_function_and_line():
    threads = {"reward": ["/lib/python3.11/threading.py:1 run", "/home/me/judge.py:7 score"]}
    rows = [TAKE, wait("reward", 63, "", 50.0), wait("score", 63, "the reward 'judge' of episode 63.1", 49.0)]
    links, cause, _ = told(*rows, threads=threads)
    assert "ticket 63 waits for its reward" in links[1] and "the reward 'judge' of episode 63.1" in links[2]
    assert "/home/me/judge.py:7 score" in cause and "nothing limits" in cause


def test_an_evaluation_counts_its_own_tasks():
    rows = [wait("evaluation", 0), wait("env", [APART + 3, 0], "start", 9.0)]
    links, _, _ = told(*rows)
    assert "evaluation after step 0" in links[0] and "the episode of evaluation task 3" in links[1]


def test_slots_are_named_where_requests_queue():
    _, cause, fix = told(TAKE, wait("engine", [62, 0], "policy"), engine={"running": 8, "waiting": 24})
    assert "8 requests run, 24 wait for a slot" in cause and "engine.slots" in fix


@pytest.mark.parametrize("kind", ["update", "commit", "checkpoint", "build", "warm start", "publish", "learner score"])
def test_every_other_main_wait_has_words(kind):
    links, cause, fix = told(wait(kind, 3))
    assert len(links) == 1 and cause and fix and "waits: " not in links[0]


def test_nothing_waited_for_is_said():
    assert "between two waits" in told()[0][0]


def test_an_actor_of_a_cluster_tells_of_its_pool_alone():
    far = {"number": 1, "state": "up", "pool": "play", "label": "any", "plays": [63], "since_s": 60.0, "finished": 2}
    links, _, _ = told(TAKE, wait("actor", 63, 1, 60.0), actors=[far], heartbeat_s=30.0)
    assert "ticket 63 is played by actor 1 (of pool play)" in links[-1]
    assert _actor(far) == "1: of pool play, up; plays 1 groups, the oldest (ticket 63) since 1 min 0 s"
    status = {
        "rank": 0,
        "time": time.time(),
        "idle_s": 90.0,
        "loop": {"lag_s": 0.0},
        "open": {},
        "actors": [far],
        "step": 7,
    }
    holder = {"pid": os.getpid(), "host": "here"}
    assert _verdict({0: {**status, "waits": [TAKE]}}, {0: holder})[1] is False


def test_a_run_that_begins_has_no_window_to_judge():
    begins = {
        "rank": 0,
        "time": time.time(),
        "idle_s": 1.0,
        "loop": {"lag_s": 0.0},
        "waits": [wait("build", 1)],
        "open": {},
    }
    told, well = _verdict({0: begins}, {0: {"pid": os.getpid(), "host": "here"}})
    assert well and told.startswith("nothing is stuck")
