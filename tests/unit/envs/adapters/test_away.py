"""Servers that are away for a moment: waited for before an episode begins, and never told a step twice."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from quintain.engines.scripted import Player
from quintain.envs.adapters import away
from quintain.envs.adapters.away import Away, met
from quintain.envs.adapters.game import Shown
from quintain.envs.adapters.peer_env import PeerEnv
from quintain.parts import Cast
from quintain.ports import EpisodeLost
from quintain.registry import build
from quintain.rollouts.episodes import episodes
from quintain.runtime import clock
from quintain.types import Message, Role, Stop, Task, ToolCall
from quintain.waits import waits

pytestmark = pytest.mark.filterwarnings("ignore")  # what peers warn of is theirs
TASK = Task(key="t", env="far", seed=5)


@pytest.fixture(autouse=True)
def unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(away, "_known", set())
    monkeypatch.setattr(away, "_since", {})


def server(there: Callable[[float], bool]) -> Any:
    """One that answers when `there` says so of the virtual time, and counts how often it was asked."""

    async def begin() -> float:
        begin.asked += 1
        now = asyncio.get_running_loop().time()
        if not there(now):
            raise Away("no server answers")
        return now

    begin.asked = 0
    return begin


async def later(seconds: float, begin: Any) -> float:
    await asyncio.sleep(seconds)
    return await met("http://far", begin)


def test_a_server_that_answered_before_is_waited_for() -> None:
    begin = server(lambda now: not 1 < now < 4)

    async def go() -> list[float]:
        return [await later(0, begin), *await asyncio.gather(*(later(2, begin) for _ in range(20)))]

    first, *others = clock.run(go())
    assert first == 0 and all(4 <= other < 6 for other in others) and len(set(others)) > 1
    assert begin.asked < 1 + 20 * 9


def test_a_server_that_never_answered_is_asked_once() -> None:
    begin = server(lambda now: False)
    with pytest.raises(Away, match=r"^no server answers$"):
        clock.run(later(0, begin))
    assert begin.asked == 1


def test_a_server_that_is_gone_for_good_is_waited_for_once_by_all() -> None:
    begin = server(lambda now: now < 1)

    async def go() -> tuple[float, float, int]:
        await later(0, begin)
        clock_of = asyncio.get_running_loop().time
        both = await asyncio.gather(later(2, begin), later(20, begin), return_exceptions=True)
        assert all("it answered before, and has been away for more than 30 s" in str(e) for e in both)
        waited, asked = clock_of(), begin.asked
        with pytest.raises(Away, match="more than 30 s"):
            await later(0, begin)
        return waited, clock_of() - waited, begin.asked - asked

    waited, then, tries = clock.run(go())
    assert 32 <= waited <= 34 and then <= away.FIRST_S and tries == 2


def test_the_wait_is_seen_and_ends_with_the_deadline() -> None:
    begin, seen = server(lambda now: now < 1), []

    async def go() -> None:
        await later(0, begin)
        asking = asyncio.ensure_future(later(2, begin))
        await asyncio.sleep(4)
        seen.extend(w for w in waits() if w.kind == "server")
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled()

    clock.run(go())
    assert [(w.who, w.limit_s) for w in seen] == [("http://far", 30.0)]
    assert not [w for w in waits() if w.kind == "server"]


class Far:
    """A game on a server that loses the connection in the first episode's second step, and is away for three tries after it."""

    seats, ask, remote = ("agent",), "Anything.", True
    log: list[str]

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def server(self, task: Task) -> str:
        return "http://far"

    def start(self, task: Task) -> Shown:
        self.log.append("reset")
        if 1 < self.log.count("reset") < 5:
            raise Away("no server answers")
        return Shown(texts={"agent": "go"}, movers=("agent",))

    def read(self, text: str, seat: str) -> str:
        return text

    def play(self, moves: Any) -> Shown:
        self.log.append(moves["agent"])
        if self.log == ["reset", "go 0", "go 1"]:
            raise EpisodeLost("no answer to step: the connection broke")
        stop = Stop.done if moves["agent"] == "go 2" else None
        return Shown(texts={"agent": "go"}, movers=() if stop else ("agent",), stop=stop)

    def close(self) -> None:
        pass


async def test_an_episode_whose_server_went_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(away, "FIRST_S", 0.0)
    log: list[str] = []
    act = Player(lambda messages, state, request: f"<action>go {request.key[3]}</action>")
    cast = Cast(env=lambda task: PeerEnv(Far(log)), engines={"policy": act}, renderers={})
    (t,) = (await episodes(group_size=1)(TASK, cast, 7)).trajectories
    assert t.stop is Stop.done and t.events[0] == "retry 1: crashed: no answer to step: the connection broke"
    assert log == ["reset", "go 0", "go 1", *["reset"] * 4, "go 0", "go 1", "go 2"]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def openenv() -> Iterator[Callable[[int], Any]]:
    drawn = random.getstate()  # OpenEnv's import and the pings of its sockets draw from the global state
    pytest.importorskip("openenv.core")
    import uvicorn

    from quintain.envs.adapters.openenv import app

    ended: list[Callable[[], None]] = []

    def up(port: int) -> Callable[[], None]:
        config = uvicorn.Config(app("KeyDoor", 2), port=port, log_level="critical", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        until = time.monotonic() + 60
        while not server.started and time.monotonic() < until:
            thread.join(0.05)

        def down() -> None:
            server.should_exit = True
            thread.join(60)

        ended.append(down)
        return down

    yield up
    for down in ended:
        down()
    random.setstate(drawn)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(away, "LONGEST_S", 600.0)  # a server comes up as slowly as the machine is


async def until_away() -> None:
    async with asyncio.timeout(60):
        while not [w for w in waits() if w.kind == "server"]:  # noqa: ASYNC110  # another thread decides
            await asyncio.sleep(0.01)


async def test_an_openenv_server_that_is_started_again_goes_on(openenv: Callable[[int], Any], patient: None) -> None:
    port, said = free_port(), {"agent": Message.of("assistant", "up")}
    env, other = (build("env", {"name": "openenv", "url": f"http://127.0.0.1:{port}"})(None) for _ in range(2))
    with pytest.raises(Away, match="no OpenEnv server answers"):
        await env.reset(TASK)
    down = openenv(port)
    first = await env.reset(TASK)
    await env.step(said)
    await asyncio.to_thread(down)
    with pytest.raises(EpisodeLost, match="does not answer step"):
        await env.step(said)
    again = asyncio.ensure_future(other.reset(TASK))
    await until_away()
    openenv(port)
    assert (await again)["agent"].messages == first["agent"].messages
    await env.close()
    await other.close()


HTTP = """
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("far", log_level="CRITICAL")
@server.tool()
def new_game() -> str:
    return "go"
@server.tool()
def up() -> str:
    return "up"
server.run(transport="streamable-http", port=int(sys.argv[1]))
"""


@pytest.mark.parametrize("opening", [{"name": "new_game"}, {}])
async def test_an_mcp_server_behind_a_url_that_is_started_again_goes_on(opening: Any, patient: None, tmp_path) -> None:
    """What no opening begins anew may have been heard, and stays a fault."""
    pytest.importorskip("mcp.client")
    (tmp_path / "server.py").write_text(HTTP)
    port = free_port()

    def start() -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, str(tmp_path / "server.py"), str(port)], stderr=subprocess.DEVNULL)
        while process.poll() is None:
            try:
                urlopen(f"http://127.0.0.1:{port}/mcp", timeout=10)
            except HTTPError:
                break
            except OSError:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.05)
        return process

    task = Task(key="t", env="mcp", messages=(Message.of("user", "Go."),))
    env = build("env", {"name": "mcp", "server": f"http://127.0.0.1:{port}/mcp", "opening": opening})(None)
    with pytest.raises(Away, match="no MCP server"):
        await env.reset(task)
    process = await asyncio.to_thread(start)
    try:
        first = await env.reset(task)
        process.kill()
        process.wait()
        with pytest.raises(EpisodeLost if opening else Away, match="has gone, or does not answer up"):
            await env.step({"agent": Message(Role.assistant, (ToolCall(name="up", arguments={}, id="1"),))})
        again = asyncio.ensure_future(env.reset(task))
        await until_away()
        process = await asyncio.to_thread(start)
        assert (await again)["agent"].messages == first["agent"].messages
        await env.close()
    finally:
        process.kill()
        process.wait()
