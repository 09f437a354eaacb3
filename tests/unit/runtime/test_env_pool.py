"""Envs in worker processes: the same trajectories, deaths, hangs, faults, pictures, and nobody left behind."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

from quintain.codec import encode
from quintain.engines.scripted import Player
from quintain.envs.world import world_of
from quintain.parts import Cast
from quintain.ports import SOLO, Env, EnvsGone
from quintain.registry import build
from quintain.rollouts.episodes import episodes
from quintain.runtime import env_pool, env_process
from quintain.runtime.env_process import Child, local
from quintain.types import Message, Stop, Task

MINE = '''
import asyncio, os, sys, time
import numpy as np
from quintain.ports import EpisodeLost
from quintain.types import Feedback, Image, Message, Stop, Text, Tool

class Mine:
    """What its task's params say goes wrong at turn `at`."""

    def __init__(self, task):
        self.task, self.turn = task, 0

    def said(self, **rest):
        params = self.task.params
        state = {"turn": self.turn, "noise": os.getpid() if params.get("fickle") else 0}
        if params.get("odd"):
            state = object()
        return {"agent": Feedback(messages=(Message.of("user", f"turn {self.turn}"),), state=state, **rest)}

    async def reset(self, task):
        self.turn = 0
        if task.params.get("picture"):
            pixels = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
            tool = Tool(name="look", parameters={"type": "object"})
            message = Message.of("user", "see", Image(pixels=pixels))
            return {"agent": Feedback(messages=(message,), tools=(tool,), state={"grid": pixels, "big": 2**70})}
        return self.said()

    async def step(self, moves):
        self.turn += 1
        fault = self.task.params.get("fault") if self.turn == self.task.params.get("at", 2) else None
        if fault == "raise":
            raise KeyError("lost it")
        if fault == "exit":
            raise SystemExit(3)
        if fault == "garbage":
            os.write(int(sys.argv[1]), bytes([255]) * 64)
        if fault == "die":
            os._exit(9)
        if fault == "die once" and not os.path.exists(self.task.params["mark"]):
            open(self.task.params["mark"], "w").close()
            os._exit(9)
        if fault == "lose once" and not os.path.exists(self.task.params["mark"]):
            open(self.task.params["mark"], "w").close()
            raise EpisodeLost("its server went")
        if fault == "await":
            await asyncio.sleep(600)
        if fault == "block":
            if "mark" in self.task.params:
                open(self.task.params["mark"], "w").close()
            time.sleep(600)
        done = self.turn == 4
        return self.said(reward={"turns": 1.0}, stop=Stop.done if done else None, action=moves["agent"].text)

    async def close(self):
        if self.task.params.get("bad close"):
            raise OSError("stuck")

def make(task):
    if task.params.get("bad factory"):
        raise ValueError("no such thing")
    return Mine(task)
'''


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    return {"user": f"{tmp_path / 'mine.py'}:make"}


def task(**params):
    return Task(key="t", env="mine", params=params)


def cast(env, act=lambda messages, state, request: f"go {request.key[3]}"):
    return Cast(env=env, engines={"policy": Player(act)}, renderers={})


async def play(env, task, act=None, **plan):
    return await episodes(**{"group_size": 2, "digests": True, "states": True, **plan})(
        task, cast(env, *filter(None, [act])), 3
    )


def plain(group):
    """Everything of a group but how long it took."""
    rows = encode(group)["trajectories"]
    for row in rows:
        for node in row["nodes"]:
            node.pop("seconds", None)
    return rows


def pids(pool):
    return [w.line.process.pid for w in pool.workers]


async def until(true):
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110  # another process decides
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("name", ["KeyDoor", "Sokoban", "TicTacToe", "Game2048"])
def test_worlds_give_the_same_trajectories_as_in_this_process(name):
    spec = {"part": {"name": "world", "scaffold": {"caption": 1, "image": 32, "grammar": "word"}}}
    world, asked = world_of(name), Task(key="w", env=name, seed=4, level=1)

    def act(messages, state, request):
        assert isinstance(state, world.schema), "players see states as they are"
        legal = [m for s in world.facts.seats for m in world.view(state, s).legal() if world.view(state, s).acts]
        return legal[sum(request.key) % len(legal)].key if legal else "nothing"

    here = asyncio.run(play(build("env", spec["part"]), asked, act, max_turns=12))
    pool = local(spec, 2, lambda task: world_of(task.env).schema)
    there = asyncio.run(play(pool, asked, act, max_turns=12))
    assert plain(here) == plain(there) and here.trajectories[0].states == there.trajectories[0].states
    assert any(here.trajectories[0].actions) and isinstance(pool(asked), Env)


def test_pictures_arrays_tools_and_large_numbers_survive(mine):
    async def go():
        env = local(mine, 1)(task())
        said = (await env.reset(task(picture=1)))[SOLO]
        odd = await local(mine, 1)(task()).reset(task())
        return said, odd

    said, _ = asyncio.run(go())
    image = said.messages[0].images[0]
    assert image.pixels.dtype == np.uint8 and image.pixels.tolist() == np.arange(12).reshape(2, 2, 3).tolist()
    assert said.tools[0].name == "look" and said.state["big"] == 2**70 and said.state["grid"]["shape"] == [2, 2, 3]


@pytest.mark.parametrize("fault", [{"fault": "raise"}, {"bad factory": 1}, {"bad close": 1}, {"odd": 1}, {}])
def test_faults_are_told_as_in_this_process(mine, fault):
    from quintain.runtime.env_host import make_envs

    plan = {"digests": False, "states": False}
    here = asyncio.run(play(make_envs(mine), task(**fault), **plan))
    there = asyncio.run(play(local(mine, 1), task(**fault), **plan))
    assert plain(here) == plain(there)
    assert there.trajectories[0].stop is (Stop.crashed if {"fault", "bad factory"} & set(fault) else Stop.done)


def test_an_env_that_exits_ends_its_own_episode_only(mine):
    pool = local(mine, 1)
    group = asyncio.run(play(pool, task(fault="exit")))
    told = {text.partition(":")[2] for t in group.trajectories for text in t.events}
    assert len(told) == 1 and re.fullmatch(r" SystemExit: 3 \(.*mine\.py:\d+\)", *told) and pool.deaths == 0


def test_an_episode_goes_on_where_it_was_when_its_worker_is_killed(mine):
    async def go():
        told = []
        pool = local(mine, 1, tell=told.append)
        env = pool(task())
        await env.reset(task())
        move = {SOLO: Message.of("assistant", "go")}
        await env.step(move)
        await until(lambda: sum(w.up for w in pool.workers) == 2)
        holder = env.worker
        (spare,) = [w for w in pool.workers if w is not holder]
        os.kill(holder.line.process.pid, signal.SIGKILL)
        await until(lambda: pool.deaths)
        said = (await env.step(move))[SOLO]
        assert said.messages[0].text == "turn 2" and said.events[0].endswith("1 move played again")
        assert env.worker is spare and len(pool.workers) == 2 and told[0]["status"] == -signal.SIGKILL
        said = (await env.step(move))[SOLO]
        assert said.events == () and len(pool.recoveries) == 1
        shot = env.snapshot()
        said = (await env.step(move))[SOLO]
        assert said.stop is Stop.done
        env.restore(shot)
        assert (await env.step(move))[SOLO] == said, "back to three moves, and one more"
        await env.close()

    asyncio.run(go())


def test_a_request_under_way_is_asked_again_elsewhere(mine, tmp_path):
    group = asyncio.run(play(local(mine, 2), task(fault="die once", mark=str(tmp_path / "mark")), group_size=1))
    (t,) = group.trajectories
    assert t.stop is Stop.done and t.reward == 4.0 and [e[:7] for e in t.events] == ["rebuilt"]


def test_an_episode_that_the_env_itself_lost_is_played_again_from_the_start(mine, tmp_path):
    asked = task(fault="lose once", mark=str(tmp_path / "mark"))
    (t,) = asyncio.run(play(local(mine, 1), asked, group_size=1)).trajectories
    assert t.stop is Stop.done and t.reward == 4.0 and t.events == ("retry 1: crashed: its server went",)


def test_what_does_not_come_out_the_same_is_played_again_from_the_start(mine, tmp_path):
    asked = task(fault="die once", mark=str(tmp_path / "mark"), fickle=1)
    (t,) = asyncio.run(play(local(mine, 1), asked, group_size=1)).trajectories
    assert t.stop is Stop.done and t.reward == 4.0
    assert t.events[0].startswith("retry 1: crashed: its env worker died, and move 0 does not come out the same")


@pytest.mark.parametrize("rounds", range(5))
def test_a_worker_that_comes_up_just_when_its_pool_ends_is_not_waited_for(monkeypatch, rounds):
    """Whatever round of the event loop the end falls into: the answer is there, and whoever waited for it has not gone on."""

    async def go():
        ready = asyncio.get_running_loop().create_future()

        async def opened(sock):
            return None, None

        async def received(reader):
            return await ready

        async def sent(writer, message):
            return None

        monkeypatch.setattr(env_process.asyncio, "open_unix_connection", opened)
        monkeypatch.setattr(env_process, "receive", received)
        monkeypatch.setattr(env_process, "send", sent)
        child = object.__new__(Child)
        child.spec, child._end = {}, None
        rising = asyncio.create_task(child.up(lambda message: None))
        for _ in range(5):
            await asyncio.sleep(0)
        ready.set_result({"id": 0})
        for _ in range(rounds):
            await asyncio.sleep(0)
        heard = rising.cancel()
        await asyncio.wait([rising])
        assert rising.cancelled() == heard, "a cancellation that was taken is one"

    asyncio.run(go())


@pytest.mark.parametrize("fault", ["die", "garbage"])
def test_an_env_that_kills_its_workers_is_to_blame_itself(mine, fault):
    pool = local(mine, 2)
    (t,) = asyncio.run(play(pool, task(fault=fault), group_size=1)).trajectories
    assert t.stop is Stop.crashed and t.events == ("crashed: WorkersDied: 3 env workers died over this episode",)
    assert pool.deaths == 3


def test_an_env_that_awaits_too_long_costs_nobody_else(mine):
    pool = local(mine, 1)
    (t,) = asyncio.run(play(pool, task(fault="await"), group_size=1, deadline_s=0.2)).trajectories
    assert t.stop is Stop.timeout and pool.deaths == 0


def test_a_worker_that_hangs_is_killed_and_the_others_go_on(mine, monkeypatch):
    monkeypatch.setattr(env_pool, "GRACE_S", 0.1)
    pool = local(mine, 1)

    async def go():
        rollout = episodes(group_size=1, deadline_s=2.0)  # not over before its env blocks, on a busy machine
        other = pool(task())
        await other.reset(task())
        before, worker = pool.deaths, other.worker  # one that was slow to come up may have died, on a busy machine
        group = await rollout(task(fault="block"), cast(pool), 0)
        await until(lambda: pool.deaths > before and worker.gone)
        said = (await other.step({SOLO: Message.of("assistant", "go")}))[SOLO]
        return group.trajectories[0], said

    t, said = asyncio.run(go())
    assert t.stop is Stop.timeout and said.messages[0].text == "turn 1" and "rebuilt" in said.events[0]


def test_a_worker_that_holds_envs_is_no_spare_when_an_earlier_one_comes_up():
    class Late:
        """A worker that comes up when it is told to, and then does nothing."""

        def __init__(self, place):
            self.ready = asyncio.Event()
            lines.append(self)

        async def up(self, heard):
            await self.ready.wait()

        async def gone(self):
            await asyncio.Event().wait()

        def close(self):
            pass

    async def go():
        pool = env_pool.EnvPool(Late, 1, 1)
        first = asyncio.create_task(pool.place(0))
        await asyncio.sleep(0)
        lines[1].ready.set()
        holder = await first
        lines[0].ready.set()
        await until(lambda: all(w.up for w in pool.workers))
        assert await pool.place(1) is holder and holder.place == 1

    lines = []
    asyncio.run(go())


def test_workers_that_never_come_up_end_the_run_with_their_words(tmp_path):
    (tmp_path / "broken.py").write_text("raise SystemExit('no luck today')")
    with pytest.raises(EnvsGone, match="no luck today"):
        asyncio.run(play(local({"user": f"{tmp_path / 'broken.py'}:make"}, 2), task()))


def test_nobody_is_left_behind_by_the_event_loop(mine):
    pool, seen = local(mine, 2), []

    async def go():
        await pool(task()).reset(task())
        seen.extend(pids(pool))

    asyncio.run(go())
    asyncio.run(go())  # a second loop starts anew
    assert len(set(seen)) == 6 and not any(psutil.pid_exists(p) for p in seen) and not pool.workers


@pytest.mark.chaos
@pytest.mark.parametrize("blocked", [False, True])
def test_nobody_is_left_behind_by_a_parent_that_is_killed(mine, blocked, tmp_path):
    fault = {"fault": "block", "at": 1, "mark": str(tmp_path / "mark")} if blocked else {}
    code = f"""
import asyncio, os
from quintain.ports import SOLO
from quintain.runtime.env_process import local
from quintain.types import Message, Task
async def go():
    pool, asked = local({mine!r}, 2), Task(key="t", env="mine", params={fault!r})
    env = pool(asked)
    await env.reset(asked)
    job = asyncio.create_task(env.step({{SOLO: Message.of("assistant", "go")}}))
    while not job.done() and not os.path.exists(asked.params.get("mark", "")):  # the step is done, or blocks its worker
        await asyncio.sleep(0.01)
    print(*[w.line.process.pid for w in pool.workers], flush=True)
    await asyncio.sleep(600)
asyncio.run(go())
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        found = [psutil.Process(int(p)) for p in parent.stdout.readline().split()]
        parent.kill()
    assert len(found) == 3
    psutil.wait_procs(found, timeout=20)
    assert not any(p.is_running() for p in found)


def test_a_worker_imports_no_torch():
    code = """
import sys
from quintain.runtime import env_host, env_worker
env_host.make_envs({"part": {"name": "world", "scaffold": {}}})
sys.exit("torch" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_worker_whose_parent_is_another_one_ends(mine):
    ours, theirs = __import__("socket").socketpair()
    with ours, theirs:
        command = [sys.executable, "-m", "quintain.runtime.env_worker", str(theirs.fileno()), "1"]
        begin = time.monotonic()
        assert subprocess.run(command, pass_fds=[theirs.fileno()], check=False, timeout=60).returncode == 0
        assert time.monotonic() - begin < 60
