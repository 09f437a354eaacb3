"""The crew without any transport: drains, successors that never come up, answers of the dead, refused versions."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from quintain.config import ConfigError, make
from quintain.ledger import RunDir
from quintain.ledger.groups import pack_group
from quintain.loop import Drained
from quintain.runtime import assemble, processes, vouch
from quintain.runtime import crew as crews
from quintain.runtime.testimony import Questions
from quintain.types import Group, Sampling, Task, Weights

TASK = Task(key="a", env="x")
CAST = SimpleNamespace(sampling=Sampling(), seed=0, engines={})


class FakeLink:
    """An actor that a test drives by hand."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_up, self.is_gone, self.ended = asyncio.Event(), asyncio.Event(), False
        self.asked: list[dict] = []
        self.loads: list[int] = []
        self.answers: asyncio.Queue = asyncio.Queue()
        self.loading: asyncio.Queue = asyncio.Queue()

    async def up(self):
        await self.is_up.wait()

    async def gone(self):
        await self.is_gone.wait()

    async def ask(self, message):
        self.asked.append(message)
        answer = await self.answers.get()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def load(self, weights):
        self.loads.append(weights.version)
        return await self.loading.get()

    async def end(self):
        self.ended = True
        return -9

    def log(self):
        return "its last words"


class FakeTransport:
    """Starts links; `auto` brings each up at once."""

    weights = ""

    def __init__(self, auto: bool = True) -> None:
        self.links: list[FakeLink] = []
        self.is_lost = asyncio.Event()
        self.auto = auto

    async def open(self):
        pass

    def start(self, number):
        link = FakeLink(number)
        if self.auto:
            link.is_up.set()
        self.links.append(link)
        return link

    async def lost(self):
        await self.is_lost.wait()
        return crews.GoneError("the whole cluster is gone")

    async def close(self):
        pass

    def remove(self):
        pass


async def until(true) -> None:
    for _ in range(10_000):
        if true():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came true")


def played() -> dict:
    return {"group": pack_group(Group(task=TASK, trajectories=()))}


@pytest.mark.parametrize("up", [False, True])
async def test_a_drain_does_not_wait_for_actors(up):
    transport = FakeTransport(auto=up)
    crew = crews.Crew(transport, 1)
    await crew.start()
    asyncio.get_running_loop().call_later(0.1, crew.leave)
    await asyncio.wait_for(crew.load(Weights(version=1, kind="file", source="")), 5)
    await asyncio.wait_for(crew.load(Weights(version=2, kind="file", source="")), 5)
    assert transport.links[0].loads == [1] * up, "a later version is not even sent"
    await crew.close()
    assert transport.links[0].ended


async def test_a_dead_actor_has_its_groups_played_by_another_under_the_same_keys_and_its_late_answer_is_refused():
    transport, told = FakeTransport(), []
    crew = crews.Crew(transport, 2, told.append)
    await crew.start()
    await until(lambda: all(m.up for m in crew.members.values()))
    playing = asyncio.create_task(crew.rollout(4)(TASK, CAST, 7))
    await until(lambda: transport.links[0].asked)
    transport.links[0].is_gone.set()
    await until(lambda: any(link.asked for link in transport.links[1:]))
    heir = next(link for link in transport.links[1:] if link.asked)
    assert heir.asked == transport.links[0].asked, "the same ticket, seed and task"
    await transport.links[0].answers.put({"group": b"what a zombie still had to say"})
    await heir.answers.put(played())
    assert (await playing).task.key == "a"
    assert told == [{"actor": 0, "status": -9, "tickets": [7]}] and transport.links[0].ended
    await crew.close()


async def test_a_group_that_outlives_three_actors_ends_by_name():
    transport = FakeTransport()
    crew = crews.Crew(transport, 2)
    await crew.start()
    await until(lambda: all(m.up for m in crew.members.values()))
    playing = asyncio.create_task(crew.rollout(1)(TASK, CAST, 9))
    for death in range(crews.DEATHS):
        await until(lambda: any(m.jobs for m in crew.members.values()))
        holder = next(m for m in crew.members.values() if m.jobs)
        holder.finished = 1
        holder.link.is_gone.set()
        await until(lambda n=death: crew.deaths == n + 1)
    with pytest.raises(crews.ActorError, match="3 actors died while they played ticket 9, task a; its last words"):
        await asyncio.wait_for(playing, 5)
    await crew.close()


async def test_a_refused_version_ends_the_load_and_a_successor_gets_the_newest():
    transport = FakeTransport()
    crew = crews.Crew(transport, 1)
    await crew.start()
    transport.links[0].loading.put_nowait({"loaded": 1})
    await crew.load(Weights(version=1, kind="file", source=""))
    transport.links[0].is_gone.set()
    await until(lambda: len(transport.links) == 2 and transport.links[1].loads == [1])
    assert not crew.members[0].up, "it is given no group before it has the weights"
    transport.links[1].loading.put_nowait({"loaded": 1})
    await until(lambda: crew.members[0].up)
    transport.links[1].loading.put_nowait({"loaded": 2, "error": "no such tensor"})
    with pytest.raises(crews.ActorError, match="refuses version 2: no such tensor"):
        await crew.load(Weights(version=2, kind="file", source=""))
    await crew.close()


async def test_an_actor_that_is_silent_is_named_with_its_log_whatever_it_was_asked(monkeypatch):
    transport = FakeTransport()
    crew = crews.Crew(transport, 1)
    await crew.start()
    await until(lambda: crew.members[0].up)
    monkeypatch.setattr(crews, "LOAD_S", 0.05)
    with pytest.raises(crews.ActorError, match="actor 0 did not answer to the proof of its weights .*its last words"):
        await asyncio.wait_for(vouch.testimonies(crew, Questions()), 5)
    with pytest.raises(crews.ActorError, match="actor 0 did not answer to version 1 in 0 s; its last words"):
        await asyncio.wait_for(crew.load(Weights(version=1, kind="file", source="")), 5)
    transport.links[0].answers.put_nowait({"error": "no such verb"})
    with pytest.raises(crews.ActorError, match="actor 0 refuses the proof of its weights: no such verb"):
        await asyncio.wait_for(vouch.testimonies(crew, Questions()), 5)
    crew.leave()
    with pytest.raises(Drained, match="before the verdict"):
        await asyncio.wait_for(vouch.testimonies(crew, Questions()), 5)
    await crew.close()


@pytest.mark.parametrize("hangs", [False, True])
async def test_a_successor_that_never_comes_up_is_noticed(hangs, monkeypatch):
    transport, told = FakeTransport(), []
    crew = crews.Crew(transport, 1, told.append)
    await crew.start()
    await until(lambda: crew.members[0].up)
    monkeypatch.setattr(crews, "START_S", 0.1)
    job = asyncio.create_task(crew.rollout(1)(TASK, CAST, 7))
    await until(lambda: transport.links[0].asked)

    async def never(self):
        if hangs:
            await asyncio.Event().wait()
        raise crews.GoneError("gone")

    monkeypatch.setattr(FakeLink, "up", never)
    transport.links[0].is_gone.set()
    with pytest.raises(crews.ActorError, match="actors die before they finish a group"):
        await asyncio.wait_for(job, 20)
    with pytest.raises(crews.ActorError, match="actors die"):
        await crew.rollout(1)(TASK, CAST, 8)
    assert len(transport.links) == crew.deaths == len(told) == crews.DEATHS and told[0]["tickets"] == [7]
    await crew.close()


async def test_an_answer_that_cannot_be_read_fails_its_group():
    transport = FakeTransport()
    crew = crews.Crew(transport, 1)
    await crew.start()
    await until(lambda: crew.members[0].up)
    transport.links[0].answers.put_nowait({"group": b"no group at all"})
    with pytest.raises(crews.ActorError, match="no group"):
        await asyncio.wait_for(crew.rollout(1)(TASK, CAST, 1), 5)
    await crew.close()


async def test_a_lost_transport_fails_who_plays_who_waits_and_who_comes_with_its_own_error():
    transport = FakeTransport()
    crew = crews.Crew(transport, 1)
    await crew.start()
    await until(lambda: crew.members[0].up)
    playing = asyncio.create_task(crew.rollout(1)(TASK, CAST, 1))
    await until(lambda: transport.links[0].asked)
    transport.is_lost.set()
    for work in (playing, crew.rollout(1)(TASK, CAST, 2), crew.load(Weights(version=1, kind="file", source=""))):
        with pytest.raises(crews.GoneError, match="the whole cluster"):
            await asyncio.wait_for(work, 5)
    transport.links[0].is_gone.set()
    await until(lambda: transport.links[0].ended)
    await crew.close()
    assert len(transport.links) == 1, "no successor is started where none can be"


async def test_what_an_actor_tells_of_its_env_workers_is_passed_on_with_its_answer():
    transport, died = FakeTransport(), []
    crew = crews.Crew(transport, 1)
    crew.env_died = died.append
    await crew.start()
    await until(lambda: crew.members[0].up)
    transport.links[0].answers.put_nowait({**played(), "env_workers": [{"worker": 3, "status": -9}]})
    assert (await crew.rollout(1)(TASK, CAST, 5)).task.key == "a"
    assert died == [{"actor": 0, "worker": 3, "status": -9}]
    await crew.close()


def test_a_run_that_is_refused_leaves_nothing_in_shared_memory(tmp_path, monkeypatch):
    rooms, names = [], itertools.count()

    def room() -> Path:
        rooms.append(Path(tempfile.mkdtemp(dir=tmp_path, prefix=str(next(names)))))
        return rooms[-1]

    monkeypatch.setattr(processes, "make_room", room)
    config = make("tiny", overrides=["runtime.actors=1", "runtime.processes=2"])
    RunDir.create(tmp_path / "run", config.toml(full=True)).close()
    with pytest.raises(ConfigError, match="actors play for one process"):
        assemble.play(config, tmp_path / "run")
    assert not any(room.exists() for room in rooms)


async def test_an_actor_that_is_killed_while_it_starts_is_replaced_and_the_run_waits_for_its_heir(monkeypatch):
    transport, first = FakeTransport(auto=False), []

    async def up(self):
        if not first:
            first.append(self)
            raise crews.GoneError("killed")
        await self.is_up.wait()

    monkeypatch.setattr(FakeLink, "up", up)
    crew = crews.Crew(transport, 1)
    await crew.start()
    ready = asyncio.create_task(crew.ready())
    await until(lambda: len(transport.links) == 2)
    assert not ready.done()
    transport.links[1].is_up.set()
    await asyncio.wait_for(ready, 5)
    assert crew.members[0].up and crew.deaths == 1
    await crew.close()


async def test_a_spare_takes_the_place_of_a_dead_actor_and_is_replaced_itself():
    transport, told = FakeTransport(), []
    crew = crews.Crew(transport, 1, told.append, spares=1)
    await crew.start()
    await until(lambda: crew.members[0].up)
    transport.links[0].answers.put_nowait(played())
    assert len(transport.links) == 1, "it takes no processor time from those that come up"
    await crew.rollout(1)(TASK, CAST, 6)
    await until(lambda: len(crew.members) == 2 and crew.members[1].here)
    assert [m["state"] for m in crew.told()] == ["up", "spare"]
    playing = asyncio.create_task(crew.rollout(1)(TASK, CAST, 7))
    await until(lambda: len(transport.links[0].asked) == 2)
    assert not transport.links[1].asked
    transport.links[0].is_gone.set()
    await until(lambda: transport.links[1].asked)
    transport.links[1].answers.put_nowait(played())
    assert (await asyncio.wait_for(playing, 5)).task.key == "a"
    await until(lambda: crew.members[0].here)
    assert [(m["number"], m["state"]) for m in sorted(crew.told(), key=lambda m: m["number"])] == [
        (0, "spare"),
        (1, "up"),
    ]
    transport.links[2].is_gone.set()
    await until(lambda: len(transport.links) == 4 and crew.members[0].here)
    assert [t["actor"] for t in told] == [0, 0] and told[1]["tickets"] == []
    await crew.close()


async def test_an_actor_is_buried_once_whoever_tells_of_its_death():
    transport, told = FakeTransport(), []
    crew = crews.Crew(transport, 1, told.append)
    await crew.start()
    await until(lambda: crew.members[0].up)
    dead = crew.members[0]
    playing = asyncio.create_task(crew.rollout(1)(TASK, CAST, 7))
    await until(lambda: dead.jobs)
    await asyncio.gather(crew._buried(dead), crew._buried(dead))
    await crew._buried(dead)
    await until(lambda: len(transport.links) > 1 and transport.links[-1].asked)
    assert (crew.deaths, len(told), len(transport.links)) == (1, 1, 2), "one death, one heir"
    transport.links[1].answers.put_nowait(played())
    assert (await asyncio.wait_for(playing, 5)).task.key == "a"
    await crew.close()
