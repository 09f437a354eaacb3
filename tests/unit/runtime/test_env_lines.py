"""A pool of envs over another transport than sockets: the worker of a cluster, asked in this process, that dies, comes back, or hangs."""

from __future__ import annotations

import asyncio
import os
import socket
from functools import partial

import pytest

from quintain.config import make
from quintain.ledger import plain
from quintain.ports import SOLO, EnvsGone
from quintain.registry import build
from quintain.runtime import env_pool, ray_envs
from quintain.runtime.env_pool import EnvPool
from quintain.runtime.env_proxy import WorkerGone
from quintain.runtime.ray_envs import AwayError, EnvLines
from quintain.runtime.ray_workers import EnvWorker, PlayWorker
from quintain.types import Message, Task

SPEC = {"part": {"name": "world", "scaffold": {"style": "words"}}}
TASK = Task(key="t", env="KeyDoor", seed=3, level=0)
MOVE = {SOLO: Message.of("assistant", "up")}


class Machine:
    """Where workers are: one by place; a dead one is replaced by an empty one at once."""

    def __init__(self, count: int = 1) -> None:
        self.asks = [Asked(self, place) for place in range(count)]
        self.workers = [EnvWorker() for _ in range(count)]
        self.ends = [asyncio.Event() for _ in range(count)]
        self.hangs, self.away, self.broken = False, 0, ""

    def die(self, place=0, noticed=True):
        self.workers[place] = EnvWorker()
        if noticed:
            self.ends[place].set()
            self.ends[place] = asyncio.Event()

    def lines(self, player=0) -> EnvLines:
        return EnvLines(self.asks, player)


class Asked:
    """Calls a worker of this process."""

    def __init__(self, machine, place) -> None:
        self.machine, self.place = machine, place

    async def __call__(self, name, *args):
        machine, end = self.machine, self.machine.ends[self.place]
        if machine.broken:
            raise WorkerGone(machine.broken)
        if machine.away:
            machine.away -= 1
            raise AwayError("it is being started again")
        calls = [
            asyncio.ensure_future(getattr(machine.workers[self.place], name)(*args)),
            asyncio.ensure_future(end.wait()),
        ]
        try:
            if name == "call" and machine.hangs:
                await end.wait()
            await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
            if end.is_set():
                raise WorkerGone("it died\nand more")
            return calls[0].result()
        finally:
            for call in calls:
                call.cancel()

    def kill(self):
        self.machine.hangs = False
        self.machine.loop.call_soon_threadsafe(self.machine.die, self.place)


def pool(machine: Machine, player: int = 0, **more) -> EnvPool:
    lines = machine.lines(player)
    return EnvPool(partial(lines.start, SPEC), len(lines), **more)


async def until(true) -> None:
    for _ in range(10_000):
        if true():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came true")


@pytest.mark.parametrize("noticed", [True, False])
async def test_an_episode_goes_on_in_the_successor_and_a_snapshot_is_gone_back_to_there(noticed):
    machine, told = Machine(), []
    here, there = build("env", SPEC["part"])(TASK), pool(machine, tell=told.append)
    env = there(TASK)
    assert (await env.reset(TASK))[SOLO].messages == (await here.reset(TASK))[SOLO].messages
    shot, mine = env.snapshot(), here.snapshot()
    await env.step(MOVE), await here.step(MOVE)
    machine.die(noticed=noticed)
    said = (await env.step(MOVE))[SOLO]
    assert said.messages == (await here.step(MOVE))[SOLO].messages and "1 move played again" in said.events[-1]
    why = ("it died", "it died\nand more") if noticed else ("the worker was started again",) * 2
    host = f"{socket.gethostname()}:{os.getpid()}"
    assert told == [{"worker": 1, "episodes": 1, "status": why[0], "host": host, "log": why[1]}] and there.deaths == 1
    env.restore(shot), here.restore(mine)
    assert (await env.step(MOVE))[SOLO].messages == (await here.step(MOVE))[SOLO].messages
    await env.close()


async def test_what_a_dead_player_left_behind_is_closed_when_its_successor_comes_and_nothing_else():
    machine = Machine()
    for player in (0, 1, 10):
        await pool(machine, player)(TASK).reset(TASK)
    host = machine.workers[0]._host
    assert len(host.envs) == 3
    await pool(machine, 1)(TASK).reset(TASK)
    assert sorted(key.split("/")[0] for key in host.envs) == ["0", "1", "10"]


async def test_a_worker_that_hangs_is_ended_and_the_others_in_it_go_on(monkeypatch):
    monkeypatch.setattr(env_pool, "GRACE_S", 0.01)
    machine = Machine()
    machine.loop = asyncio.get_running_loop()
    there = pool(machine)
    one, other = there(TASK), there(TASK)
    await one.reset(TASK), await other.reset(TASK)
    machine.hangs = True
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(one.step(MOVE), 0.01)
    said = (await asyncio.wait_for(other.step(MOVE), 20))[SOLO]
    assert there.deaths == 1 and any(e.startswith("rebuilt") for e in said.events)


async def test_workers_that_never_come_up_end_it_by_name():
    machine = Machine()
    machine.broken = "no luck today"
    there = pool(machine)
    with pytest.raises(EnvsGone, match=r"before they come up \(status no luck today\)"):
        await there(TASK).reset(TASK)
    assert there.deaths == env_pool.EARLY


async def test_a_worker_that_is_being_started_again_is_waited_for(monkeypatch):
    monkeypatch.setattr(ray_envs, "AGAIN_S", 0.0)
    machine = Machine()
    machine.away = 5
    there = pool(machine)
    assert (await there(TASK).reset(TASK))[SOLO].messages and not there.deaths


def test_players_begin_with_different_workers():
    asks = ["a", "b", "c"]
    assert [EnvLines(asks, player).asks[0] for player in range(4)] == ["a", "b", "c", "a"]
    assert len(EnvLines([], 3)) == 0


async def test_an_actor_of_a_cluster_has_its_envs_there_and_tells_of_deaths_with_its_answers():
    machine = Machine(2)
    sizes = "model.sizes={hidden=16, layers=1, heads=1, kv_heads=1, head_dim=16, ffn=32}"
    config = make("tiny", overrides=[sizes, "algorithm.name=reinforce"])
    player = PlayWorker(config.toml(full=True), machine.lines())
    task = {"key": "a", "env": config.env.name, "seed": 1, "level": 0}
    asked = {
        "do": "play",
        "ticket": 1,
        "members": 2,
        "options": {},
        "task": task,
        "sampling": {"max_tokens": 1},
        "seed": 0,
    }
    answer = plain.unpack(await player.do(plain.pack(asked)))
    assert "group" in answer and "env_workers" not in answer and all(w._host is not None for w in machine.workers)
    machine.die(1)
    await until(lambda: machine.workers[1]._host is not None)
    answer = plain.unpack(await player.do(plain.pack(asked)))
    (dead,) = answer["env_workers"]
    assert dead["status"] == "it died" and dead["host"]
    assert "env_workers" not in plain.unpack(await player.do(plain.pack(asked)))
