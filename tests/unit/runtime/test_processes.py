"""A process that plays and who asks it: what cannot be sent or read ends the waiting of both sides by name."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from quintain.codec import encode
from quintain.parts import Cast
from quintain.registry import stamp
from quintain.runtime import actor as actors
from quintain.runtime import frames
from quintain.runtime.crew import GoneError
from quintain.runtime.frames import FrameError, receive
from quintain.runtime.processes import Process
from quintain.types import Group, Sampling, Task


class FakeActor:
    """Answers with as many bytes as it is asked for."""

    def __init__(self, config: Any) -> None:
        self.cast = SimpleNamespace(engine=lambda role: None)

    async def do(self, message):
        return {"group": b"x" * message["size"], "env_workers": [{"worker": 3}]}


class FakePulse:
    """Says nothing."""

    def __init__(self, *args: Any) -> None:
        pass

    def start(self) -> None:
        pass


@pytest.fixture
async def pair(tmp_path, monkeypatch):
    """Both ends of a line: the first process's, and `serve` of an actor, here in one process."""
    for name, fake in {"Actor": FakeActor, "Pulse": FakePulse, "settle": lambda: None}.items():
        monkeypatch.setattr(actors, name, fake)
    here = Process(0, cast(Any, SimpleNamespace(poll=lambda: None)), tmp_path / "log")

    async def joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await receive(reader)
        await here.listen(reader, writer)

    connect, lines = asyncio.open_unix_connection, []

    async def connected(path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        lines.append(await connect(path))
        return lines[0]

    monkeypatch.setattr(asyncio, "open_unix_connection", connected)
    server = await asyncio.start_unix_server(joined, path=str(tmp_path / "s"))
    serving = asyncio.create_task(actors.serve(cast(Any, None), 0, str(tmp_path / "s")))
    await asyncio.wait_for(here.up(), 5)
    yield here
    assert here.writer is not None
    here.writer.close()
    assert await asyncio.wait_for(serving, 5) is False
    lines[0][1].close()
    await lines[0][1].wait_closed()
    server.close()


async def test_an_answer_too_large_to_be_sent_is_an_error_that_says_so_and_the_actor_plays_on(pair, monkeypatch):
    monkeypatch.setattr(frames, "LIMIT", 300)
    answer = await asyncio.wait_for(pair.ask({"do": "play", "size": 5_000}), 5)
    assert answer["error"].startswith("FrameError: a message of 5,0"), answer
    assert "above the limit of 300; play smaller groups" in answer["error"]
    assert "group" not in answer and answer["env_workers"] == [{"worker": 3}], "their deaths are told once, so now"
    assert (await asyncio.wait_for(pair.ask({"do": "play", "size": 5}), 5))["group"] == b"xxxxx"


async def test_bytes_that_are_no_message_end_whoever_waits(tmp_path):
    here = Process(2, cast(Any, SimpleNamespace(poll=lambda: None)), tmp_path / "log")
    writes = SimpleNamespace(write=lambda data: None, drain=lambda: asyncio.sleep(0))
    reader = asyncio.StreamReader()
    listening = asyncio.create_task(here.listen(reader, cast(Any, writes)))
    await here.up()
    asked, gone = asyncio.create_task(here.ask({"do": "play"})), asyncio.create_task(here.gone())
    await asyncio.sleep(0)
    reader.feed_data(frames._HEAD.pack(2) + b"\xc1\xc1")
    with pytest.raises(FrameError, match="is not msgpack"):
        await listening
    with pytest.raises(GoneError, match="actor 2 is gone: a message of 2 bytes is not msgpack"):
        await asyncio.wait_for(asked, 5)
    await asyncio.wait_for(gone, 5)
    assert not here.here


def at_once(task, cast, ticket):
    return 3


async def tagged(task, cast, ticket):
    return Group(task=task, trajectories=(), ticket=ticket, tags={"mine": print})


@pytest.mark.parametrize(
    "mine, told", [(at_once, "gave 3, a int, at once"), (tagged, "gave a tag that the books cannot")]
)
async def test_what_a_rollout_of_ones_own_gives_is_looked_at_where_it_plays(mine, told):
    stamp(mine, {"kind": "rollout", "name": "mine"})
    actor = actors.Actor.__new__(actors.Actor)  # without a model
    actor.cast, actor._dead, actor.rollout = (
        Cast(env=cast(Any, None), engines={}, renderers={}),
        [],
        lambda members, options: mine,
    )
    asked = {"task": encode(Task(key="t", env="e")), "sampling": encode(Sampling()), "seed": 0, "ticket": 4}
    answer = await actor.do({"do": "play", "members": 2, "options": {}, **asked})
    assert answer["error"].startswith(f"PartError: the rollout 'mine' {told}")
