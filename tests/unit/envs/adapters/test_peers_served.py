"""Peers that run servers, models or programs of their own, played for real: OpenEnv, MCP, Inspect, verifiers (`make test-peers`)."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import itertools
import json
import random
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from quintain.envs.adapters import from_openenv, from_verifiers
from quintain.envs.adapters.away import Away
from quintain.envs.adapters.game import PeerError
from quintain.envs.adapters.play import AdapterError, Play
from quintain.envs.suites import suite_of
from quintain.envs.world import world_of
from quintain.ports import EpisodeLost
from quintain.registry import build
from quintain.types import Message, QuintainError, Role, Stop, Task, ToolCall
from quintain.worlds.knobs import BadKnob

pytestmark = pytest.mark.filterwarnings("ignore")  # what peers warn of is theirs
SHOWN = {"caption": 2, "grammar": "tagged"}


def plan(world: str, seed: int, level: int, split: str = "train") -> list[str]:
    made = world_of(world)
    return [move.key for move in made.solve(made.start(seed, level, split=split), "agent").moves]


def oracle(messages: list[dict[str, Any]], split: str) -> str:
    """What the oracle would say next in a conversation about KeyDoor at level 2, found by its opening."""
    texts = [m["content"] if isinstance(m["content"], str) else m["content"][0]["text"] for m in messages]
    for seed in range(20):
        play = Play("KeyDoor", 2, SHOWN, split)
        if play.begin(seed)["agent"].text in texts:
            for message, text in zip(messages, texts, strict=True):
                if message["role"] == "assistant":
                    play.say({"agent": text})
            return play.best()
    raise AssertionError("no such opening")


@pytest.fixture
def imported() -> Iterator[None]:
    drawn = random.getstate()  # OpenEnv's import and the pings of its sockets draw from the global state
    pytest.importorskip("openenv.core")
    yield
    random.setstate(drawn)


@pytest.fixture
def openenv(imported: None) -> Iterator[str]:
    import uvicorn

    from quintain.envs.adapters.openenv import app

    server = uvicorn.Server(uvicorn.Config(app("KeyDoor", 2, scaffold={"image": 64}), port=0, log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    until = time.monotonic() + 60
    while not server.started and time.monotonic() < until:
        thread.join(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(30)


def asked(url: str, **body: Any) -> dict[str, Any]:
    request = Request(url, json.dumps(body).encode() if body else None, {"Content-Type": "application/json"})
    with urlopen(request, timeout=30) as answer:
        return json.load(answer)


async def test_openenv_there_and_back(openenv: str) -> None:
    assert asked(f"{openenv}/schema")["action"]["required"] == ["action"]
    assert asked(f"{openenv}/metadata")["name"] == "KeyDoor"
    moves = plan("KeyDoor", 5, 2)
    last = asked(f"{openenv}/step", action={"action": moves[-1]}, seed=5, before=moves[:-1])
    assert last["done"] and last["reward"] == 1.0
    fields = {"text": "text", "image": "image"}
    envs = [build("env", {"name": "openenv", "url": openenv, "fields": fields})(None) for _ in range(2)]
    for env, seed in zip(envs, (5, 6), strict=True):  # two sessions at once
        told = (await env.reset(Task(key="t", env="openenv", seed=seed)))["agent"]
        assert Play("KeyDoor", 2, {"grammar": "free"}).begin(seed)["agent"].text in told.messages[0].text
        assert told.messages[0].images[0].pixels.shape == (64, 64, 3)
    for move, other in itertools.zip_longest(moves, plan("KeyDoor", 6, 2)):
        for env, said in zip(envs, (move, other), strict=True):
            told = await env.step({"agent": Message.of("assistant", said)}) if said else told
            assert not said or not env.stop or told["agent"].reward == {"reward": 1.0}
    assert [env.stop for env in envs] == [Stop.done, Stop.done]
    for env in envs:
        await env.close()
    for wrong, said in (
        ({"text": "txet"}, "no field 'txet' for fields.text; it has .*text"),
        ({"image": "img"}, "no field 'img' for fields.image"),
        ({"action": "acton"}, "no field 'acton' for fields.action; it has .*action"),
    ):
        env = build("env", {"name": "openenv", "url": openenv, "fields": wrong})(None)
        for _ in range(2):  # the second time too
            with pytest.raises(PeerError, match=said):
                await env.reset(Task(key="t", env="openenv", seed=1))
        await env.close()
    for wrong, said in (
        ({"wait_s": -1}, "wait_s is -1"),
        ({"wait_s": "x"}, "wait_s is 'x'"),
        ({"options": {"seed": 9}}, "the option seed is set by the task"),
    ):
        with pytest.raises(PeerError, match=said):
            build("env", {"name": "openenv", "url": openenv, **wrong})
    lost = build("env", {"name": "openenv", "url": "http://127.0.0.1:9", "wait_s": 2})(None)
    with pytest.raises(Away, match="no OpenEnv server answers"):
        await lost.reset(Task(key="t", env="openenv", seed=1))


ACT = {"action": {"action": "up"}}


@pytest.mark.parametrize(
    ("path", "body", "status", "told"),
    [
        ("reset", {"level": 99}, 400, "no level 99; levels are the integers 0 to 9"),
        ("reset", {"level": "x"}, 400, "no level 'x'"),
        ("reset", {"level": None}, 400, "no level None"),
        ("reset", {"split": "bogus"}, 400, "one of train, validation, test"),
        ("reset", {"levl": 1}, 400, "no option 'levl'; its options are level, split"),
        ("reset", {"seed": "x"}, 422, "seed"),
        ("reset", {"seed": float("nan")}, 422, "finite number"),  # no JSON, and Python's parser takes it
        ("reset", {"seed": "\ud800"}, 422, "valid string"),
        ("reset", {"seed": 2**63}, 400, "the seed is"),
        ("step", ACT, 400, "name seed and before"),
        ("step", {**ACT, "seed": 1, "level": 77}, 400, "no level 77"),
        ("step", {**ACT, "seed": "x"}, 400, "the seed is 'x'"),
        ("step", {**ACT, "seed": 1, "before": 5}, 400, "before is 5; it is a list of texts"),
        ("step", {**ACT, "seed": 1, "before": "updown"}, 400, "before is 'updown'"),
        ("step", {**ACT, "seed": 1, "before": [1, None]}, 400, r"before is [1, None]"),
        ("step", {**ACT, "seed": 1, "before": ["fly"] * 99}, 400, "of 99 actions in before"),
        ("step", {"action": {"action": 5}, "seed": 1}, 422, "action"),
    ],
)
def test_openenv_is_asked_what_it_does_not_have(
    openenv: str, path: str, body: dict[str, Any], status: int, told: str
) -> None:
    with pytest.raises(HTTPError) as refused:
        asked(f"{openenv}/{path}", **body)
    assert refused.value.code == status and told in json.dumps(json.load(refused.value), ensure_ascii=False)


async def test_a_session_of_openenv_goes_on_after_what_it_refuses(openenv: str) -> None:
    from websockets.asyncio.client import connect

    async with connect(f"{openenv.replace('http', 'ws', 1)}/ws") as link:

        async def tell(kind: str, text: str = "") -> dict[str, Any]:
            data = f', "data": {text}' if text else ""
            await link.send(f'{{"type": "{kind}"{data}}}')
            return json.loads(await asyncio.wait_for(link.recv(), 30))

        early = await tell("step", '{"action": "up"}')
        assert early["type"] == "error" and "call reset first" in early["data"]["message"]
        for seed in ('"x"', "1e400", "-1", "true"):
            said = await tell("reset", f'{{"seed": {seed}}}')
            assert said["type"] == "error" and "the seed is" in said["data"]["message"]
            assert (await tell("state"))["data"]["episode_id"] is None
        said = await tell("reset", '{"seed": 1, "episode_id": 5}')
        assert "episode_id is 5; it is a text" in said["data"]["message"]
        assert (await tell("reset", '{"seed": 1}'))["data"]["observation"]["legal"]
        assert (await tell("reset", '{"seed": 1, "level": 99}'))["type"] == "error"
        assert (await tell("state"))["data"]["seed"] == 1
        assert (await tell("step", '{"action": "down"}'))["type"] == "observation"


async def test_openenv_has_room_for_the_episodes_of_a_step(openenv: str) -> None:
    """A step of `keydoor_text` has 128; those that found no room crashed, and half of its groups were dropped."""
    from websockets.asyncio.client import connect

    async with contextlib.AsyncExitStack() as held:
        links = [await held.enter_async_context(connect(f"{openenv.replace('http', 'ws', 1)}/ws")) for _ in range(128)]
        for link in links:
            await link.send('{"type": "reset", "data": {}}')
        told = [json.loads(await asyncio.wait_for(link.recv(), 30)) for link in links]
    assert {one["type"] for one in told} == {"observation"}
    assert len({one["data"]["observation"]["text"] for one in told}) > 120, "no seed was named: instances of their own"


async def test_a_client_of_openenv_that_vanishes_is_no_failure(imported: None) -> None:
    from quintain.envs.adapters.openenv import app

    heard, told = iter(("connect", "disconnect")), []

    async def receive() -> dict[str, Any]:
        return {"type": f"websocket.{next(heard)}", "code": 1006}

    async def send(message: dict[str, Any]) -> None:
        told.append(message["type"])
        if message["type"] == "websocket.close":
            raise OSError("nobody is there")

    scope = {"type": "websocket", "scheme": "ws", "path": "/ws", "headers": [], "query_string": b"", "subprotocols": []}
    await app("KeyDoor", 2)(scope, receive, send)
    assert told == ["websocket.accept", "websocket.close"]


def test_openenv_names_the_server_that_does_not_answer(imported: None) -> None:
    from websockets.exceptions import ConnectionClosedError

    late = " in wait_s=2.5 seconds; mend the server, or wait longer"
    gone = ConnectionClosedError(None, None)
    for error, kind, told in ((gone, EpisodeLost, ": ConnectionClosedError"), (TimeoutError(), PeerError, late)):
        game = from_openenv.OpenEnvGame("http://127.0.0.1:9", {"action": "move"}, {}, 2.5)
        game.url, game.client = "http://127.0.0.1:9", SimpleNamespace(step=Mock(side_effect=error))
        with pytest.raises(kind, match=f"http://127.0.0.1:9 does not answer step{re.escape(told)}"):
            game.play({"agent": {"move": "up"}})


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"hello": 1}, "answers without an observation: {}; its schema has text"),
        ({"observation": "up"}, "answers without an observation: 'up'; its schema has text"),
        ({"observation": {"text": "more"}, "reward": "lots"}, "gives reward='lots'; a reward is a finite number"),
    ],
)
def test_openenv_refuses_an_answer_that_is_none(imported: None, answer: dict[str, Any], told: str) -> None:
    client = importlib.import_module("openenv.core").GenericEnvClient("http://127.0.0.1:9")
    game = from_openenv.OpenEnvGame("http://127.0.0.1:9", {"action": "move"}, {}, 2.0)
    game.url, game.client = "http://127.0.0.1:9", SimpleNamespace(step=lambda action: client._parse_result(answer))
    game.shows = ["text"]
    with pytest.raises(PeerError, match=f"http://127.0.0.1:9 {re.escape(told)}"):
        game.play({"agent": {"move": "up"}})


def test_openenv_says_at_once_what_cannot_be_served(imported: None) -> None:
    from quintain.envs.adapters.openenv import app, make

    with pytest.raises(AdapterError, match="NimDuel has the seats"):
        make("NimDuel")
    with pytest.raises(BadKnob, match="knob size=99: it takes an integer from"):
        app("KeyDoor", 1, size=99)


OWN = """
import io
from PIL import Image as Pillow
from mcp.server.mcpserver import Image, MCPServer
server = MCPServer("count")
total = []
@server.tool()
def add(number: int) -> dict:
    "Add a number."
    total.append(number)
    return {"reward": 0.25, "over": sum(total) >= 5, "total": sum(total)}
@server.tool()
def greet(name: str, self: str = "") -> str:
    "Greet somebody."
    return f"hello {name}{self}"
@server.tool()
def draw(size: int) -> Image:
    "Draw."
    picture = io.BytesIO()
    Pillow.new("RGB", (size, 3), "red").save(picture, format="PNG")
    return Image(data=picture.getvalue(), format="png")
server.run()
"""


def call(name: str, /, **arguments: Any) -> dict[str, Message]:
    return {"agent": Message(Role.assistant, (ToolCall(name=name, arguments=arguments, id="1"),))}


async def test_tools_of_an_mcp_server_of_somebody_else(tmp_path) -> None:
    pytest.importorskip("mcp.client")
    (tmp_path / "server.py").write_text(OWN)
    spec = {"name": "mcp", "server": [sys.executable, str(tmp_path / "server.py")], "limits": {"penalty": -0.5}}
    env = build("env", spec)(None)
    task = Task(key="t", env="mcp", messages=(Message.of("user", "Reach five."),))
    for _ in range(2):  # a process of its own for every episode
        told = (await env.reset(task))["agent"]
        assert [tool.name for tool in told.tools] == ["add", "greet", "draw"] and told.messages[0].text == "Reach five."
        told = (await env.step(call("add", number="two")))["agent"]
        assert told.events == ("tool_error:add",) and told.reward == {"malformed": -0.5}
        told = (await env.step(call("greet", name="Bob", self="!")))["agent"]
        assert told.events == ("tool:greet",) and told.messages[0].text == "hello Bob!" and not told.reward
        told = (await env.step(call("draw", size=5)))["agent"]
        assert told.messages[0].images[0].pixels.shape == (3, 5, 3) and told.messages[0].text == ""
        told = (await env.step(call("add", number=2)))["agent"]
        assert not told.messages[0].images
        assert told.reward == {"reward": 0.25} and told.stop is None and '"total": 2' in told.messages[0].text
        told = (await env.step(call("add", number=3)))["agent"]
        assert told.reward == {"reward": 0.25} and told.stop is Stop.done and not told.acts
    with pytest.raises(PeerError, match="cannot go back"):
        env.restore(env.snapshot())
    await env.close()


LEAVES = """
import json, os, sys, time
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("leave", "sleep")]
for asked in map(json.loads, sys.stdin):
    if asked["method"] == "tools/call":
        os._exit(1) if asked["params"]["name"] == "leave" else time.sleep(60)
    info = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
    if said := {"initialize": info, "tools/list": {"tools": TOOLS}}.get(asked["method"]):
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}), flush=True)
    elif "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "?"}}), flush=True)
"""  # without a library, which takes seconds to import


@pytest.mark.parametrize("tool", ["leave", "sleep"])
async def test_an_mcp_server_that_goes_ends_the_episode(tool: str, tmp_path) -> None:
    """The policy is not to blame, and would only learn not to call."""
    pytest.importorskip("mcp.client")
    (tmp_path / "server.py").write_text(LEAVES)
    limits = {"penalty": -0.5, "wait_s": 20 if tool == "leave" else 3}
    env = build("env", {"name": "mcp", "server": [sys.executable, str(tmp_path / "server.py")], "limits": limits})(None)
    await env.reset(Task(key="t", env="mcp", messages=(Message.of("user", "Go."),)))
    with pytest.raises(PeerError, match=f"has gone, or does not answer {tool}"):
        await env.step(call(tool))
    await env.close()


PAYS = """
import sys
from mcp.server.mcpserver import MCPServer
if sys.argv[1] == "mute":
    sys.exit(not sys.stdin.read())  # it hears all, until nobody speaks any more, and says nothing
server = MCPServer("pays")
@server.tool()
def pay() -> dict:
    return {
        "nan": {"reward": float("nan")},
        "huge": {"reward": 10**400},
        "text": {"reward": "1.0"},
        "true": {"reward": True},
        "over": {"reward": None, "over": "yes"},
    }[sys.argv[1]]
server.run()
"""


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("nan", "pay gives reward=nan; a reward is a finite number: mend the server, or set rewards.reward"),
        ("huge", "pay gives reward=1000.*; a reward is a finite number"),
        ("text", "pay gives reward='1.0'; a reward is a finite number"),
        ("true", "pay gives reward=True; a reward is a finite number"),
        ("over", "pay gives over='yes'; it is true or false"),
        ("mute", "no answer in limits.wait_s=3 seconds"),
    ],
)
async def test_an_mcp_server_that_says_no_reward_or_nothing_is_named(how: str, told: str, tmp_path) -> None:
    pytest.importorskip("mcp.client")
    (tmp_path / "server.py").write_text(PAYS)
    limits = {"wait_s": 3 if how == "mute" else 20}
    spec = {"name": "mcp", "server": [sys.executable, str(tmp_path / "server.py"), how], "limits": limits}
    env = build("env", spec)(None)
    with pytest.raises(PeerError, match=told):
        await env.reset(Task(key="t", env="mcp", messages=(Message.of("user", "Earn."),)))
        await env.step(call("pay"))
    await env.close()


async def test_our_own_mcp_server_is_an_environment(tmp_path) -> None:
    pytest.importorskip("mcp.client")
    command = [sys.executable, "-c", "from quintain.cli import main; main()", "offer", "mcp", "KeyDoor", "--level", "2"]
    opening = {"name": "new_game", "arguments": {"seed": "{seed}"}}
    env = build("env", {"name": "mcp", "server": command, "opening": opening, "limits": {"turns": 60}})(None)
    told = (await env.reset(Task(key="t", env="mcp", seed=3)))["agent"]
    assert "new_game" not in [tool.name for tool in told.tools]
    assert told.messages[0].text == Play("KeyDoor", 2).begin(3)["agent"].text
    for move in plan("KeyDoor", 3, 2):
        told = (await env.step(call(move)))["agent"]
    assert told.reward == {"reward": 1.0} and told.stop is Stop.done
    await env.close()
    for wrong, said in (
        ({"server": ["no-such-program"]}, "no MCP server"),
        ({"server": command, "only": ["fly"]}, "has no tool fly; it has"),
        (
            {"server": command, "opening": {"name": "new_game", "arguments": {"sed": 1}}},
            "opens no episode: new_game says",
        ),
    ):
        env = build("env", {"name": "mcp", "opening": opening, **wrong})(None)
        with pytest.raises(PeerError, match=said):
            await env.reset(Task(key="t", env="mcp", seed=3))
        await env.close()
    for strange in ("new_game", {"nam": "new_game"}, {"name": "new_game", "args": {}}):
        with pytest.raises(PeerError, match="it is a mapping of name and"):
            build("env", {"name": "mcp", "server": command, "opening": strange})
    for wrong, said in (
        ({"limits": {"turns": "8"}}, "limits.turns is '8'; it is a whole number"),
        ({"limits": {"wait_s": "9"}}, "limits.wait_s is '9'; it is a finite number"),
        ({"rewards": {"over": 1}}, "rewards.over is 1; it is a text"),
        ({"only": "move"}, "only is 'move'; it is a list of words"),
        ({"server": 8000}, "server is 8000; it is a URL or a list of words"),
    ):
        with pytest.raises(PeerError, match=said):
            build("env", {"name": "mcp", "server": command, **wrong})


async def test_pictures_of_our_own_mcp_server_come_with_every_result() -> None:
    pytest.importorskip("mcp.client")
    words = ["offer", "mcp", "KeyDoor", "--level", "2", "--image", "64"]
    command = [sys.executable, "-c", "from quintain.cli import main; main()", *words]
    env = build("env", {"name": "mcp", "server": command, "opening": {"name": "new_game"}})(None)
    told = (await env.reset(Task(key="t", env="mcp", seed=3)))["agent"]
    first = told.messages[0].images[0].pixels
    told = (await env.step(call(plan("KeyDoor", 0, 2)[0])))["agent"]
    assert told.messages[0].images[0].pixels.shape == first.shape == (64, 64, 3) and told.messages[0].text
    await env.close()


@pytest.fixture
def inspect() -> Iterator[Any]:
    """Inspect, which draws from the global generator when it is used first."""
    state = random.getstate()
    yield pytest.importorskip("inspect_ai")
    random.setstate(state)


def test_inspect_plays_the_fixed_instances(inspect, tmp_path) -> None:
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from quintain.envs.adapters.inspect_ai import task

    def answer(messages: list[Any], *_: Any, **__: Any) -> Any:
        said = ModelOutput.from_content("m", oracle([{"role": m.role, "content": m.text} for m in messages], "test"))
        said.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return said

    made = task(worlds=["KeyDoor"], levels=[2], scaffold={"caption": 2}, limit=4)
    log = inspect.eval(
        made, model=get_model("mockllm/model", custom_outputs=answer), log_dir=str(tmp_path), display="none"
    )
    (score,) = {s.scorer for s in log[0].results.scores}
    means = {s.name: s.metrics["mean"].value for s in log[0].results.scores}
    assert log[0].status == "success" and score == "quintain_reward" and means == {"reward": 1.0, "success": 1.0}
    assert all(s.metrics["grouped_KeyDoor"].value == 1.0 for s in log[0].results.scores)
    assert [s.id for s in log[0].samples] == [f"KeyDoor/2/test/{seed}" for seed in range(4)]
    for sample in log[0].samples:
        assert sample.messages[-1].role == "user" and sample.messages[-2].text == sample.output.completion, (
            "how it ended"
        )
    made, said = task(worlds=["KeyDoor"], levels=[2], scaffold={"caption": 2}, limit=1), len(log[0].samples[0].messages)
    model = get_model("mockllm/model", custom_outputs=answer)
    tight = inspect.eval(made, model=model, log_dir=str(tmp_path), display="none", message_limit=said - 1)
    assert tight[0].samples[0].limit is None and len(tight[0].samples[0].messages) == said - 1
    assert not any(sample.target for sample in made.dataset), "what the oracle would do belongs in no log"
    for wrong, told in (
        ({"levels": []}, "levels is .*; name at least one"),
        ({"limit": -3}, "limit is -3; it is the most"),
        ({"levels": 3}, "levels is 3; it is a list"),
        ({"levels": [1, 1]}, "levels is .*, each once"),
        ({"worlds": "KeyDoor"}, "worlds is 'KeyDoor'; it is a list"),
        ({"worlds": (), "levels": [5]}, r"levels is \[5\], and the suite 'quick' is played at 2; name worlds"),
        ({"worlds": ["KeyDoor", "KeyDoor"]}, "worlds is .*, each once"),
    ):
        with pytest.raises(AdapterError, match=told):
            task(**{"worlds": ["KeyDoor"], **wrong})
    quick = suite_of("quick")
    assert len(task("quick").dataset) == sum(len(quick.tasks(world)) for world in quick.worlds)


def test_inspect_scores_what_was_earned_before_a_limit_of_its_own(inspect, tmp_path) -> None:
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from quintain.envs.adapters.inspect_ai import task

    said = ModelOutput.from_content("m", "nonsense")
    said.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it asks the network for a tokenizer
    model = get_model("mockllm/model", custom_outputs=lambda *_, **__: said)
    made = task(worlds=["KeyDoor"], levels=[0], scaffold={"penalty": 0.5}, limit=1)
    log = inspect.eval(made, model=model, log_dir=str(tmp_path), display="none", message_limit=8)
    (score,) = log[0].samples[0].scores.values()
    turns = score.metadata["turns"]
    assert log[0].samples[0].limit.type == "message" and 0 < turns == score.metadata["malformed"]
    assert score.value["reward"] == -0.5 * turns


class Endpoint(BaseHTTPRequestHandler):
    """An OpenAI-compatible endpoint whose model is the oracle."""

    def log_message(self, *_: Any) -> None: ...

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        base = {"id": "1", "created": 1, "model": "m"}
        said, usage = (
            oracle(asked["messages"], "train"),
            {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        )
        if asked.get("stream"):
            base["object"] = "chat.completion.chunk"
            deltas = [({"role": "assistant", "content": said}, None), ({}, "stop")]
            chunks = [{**base, "choices": [{"index": 0, "delta": d, "finish_reason": f}]} for d, f in deltas]
            lines = [json.dumps(c) for c in (*chunks, {**base, "choices": [], "usage": usage})] + ["[DONE]"]
            kind, body = "text/event-stream", "".join(f"data: {line}\n\n" for line in lines)
        else:
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
            kind, body = (
                "application/json",
                json.dumps({**base, "object": "chat.completion", "choices": [choice], "usage": usage}),
            )
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())


@pytest.fixture(scope="module")
def verifiers() -> None:
    """Imported before a test begins: what it imports draws from the global random state as it loads."""
    pytest.importorskip("verifiers.v1")


@pytest.mark.usefixtures("verifiers")
def test_verifiers_there_and_back(tmp_path) -> None:
    if shutil.which("uv") is None:
        pytest.skip("verifiers runs its chat in a script of uv's")
    from quintain.envs.adapters.from_verifiers import agent, write

    block = {"taskset": {"id": "quintain-worlds", "worlds": ["KeyDoor"], "count": 3}}
    assert write(block, tmp_path / "tasks.jsonl") == 3
    rows = [json.loads(line) for line in (tmp_path / "tasks.jsonl").read_text().splitlines()]
    assert [row["index"] for row in rows] == [0, 1, 2]
    assert rows[1]["prompt"] == Play("KeyDoor", 2, SHOWN).begin(1)["agent"].text
    for more, said in (
        ({"count": -1}, "count is -1; it is at least 1, or 0 to go on for ever"),
        ({"levels": [], "count": 0}, r"levels \[\]; name at least one of each"),
        ({"worlds": []}, r"worlds is \[\], levels"),
        ({"worlds": ["keydoor"]}, "unknown world or suite 'keydoor'; did you mean 'KeyDoor'"),
    ):
        with pytest.raises(QuintainError, match=said):
            write({"taskset": {"id": "quintain-worlds", "worlds": ["KeyDoor"], **more}}, tmp_path / "none.jsonl")
    with pytest.raises(PeerError, match="count is -1; it is a whole number of at least 1"):
        write(block, tmp_path / "none.jsonl", -1)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        play = agent(block)
        url = f"http://127.0.0.1:{server.server_port}/v1"

        async def both() -> list[dict[str, Any]]:
            return await asyncio.gather(*(play(url, f"key{i}", "m", i) for i in (0, 2)))

        assert asyncio.run(both()) == [{"rewards": {"success": 1.0}}] * 2
        with pytest.raises(PeerError, match="has 3 tasks, and 3 is asked for"):
            asyncio.run(play(url, "key", "m", 3))
    finally:
        server.shutdown()
        server.server_close()
    with pytest.raises(PeerError, match="verifiers has no environment 'no-such'"):
        agent("no-such")


def test_episodes_of_verifiers_that_run_at_once_share_its_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every agent has a thread and a loop of its own, and a lock that is waited for in two loops is an error."""
    lock, told = asyncio.Lock(), SimpleNamespace(score=0.5, weight=2.0)

    class Made:
        taskset = ("first", "second")

        @contextlib.asynccontextmanager
        async def serving(self) -> Any:
            async with lock:
                await asyncio.sleep(0.2)
            yield

        async def run_episode(self, task: str, context: Any) -> Any:
            return SimpleNamespace(traces=[SimpleNamespace(errors=[], rewards={task: told})], errors=[])

    kinds = ("EvalClientConfig", "ModelContext", "SamplingConfig")
    monkeypatch.setattr(from_verifiers, "_made", lambda env: Made())
    monkeypatch.setattr(from_verifiers, "peer", lambda name: SimpleNamespace(**dict.fromkeys(kinds, SimpleNamespace)))
    play = from_verifiers.agent("an-env")
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(asyncio.run, asyncio.wait_for(play("http://x/v1", f"key{i}", "m", i), 10)) for i in (0, 1)]
    assert [job.result() for job in jobs] == [{"rewards": {"first": 1.0}}, {"rewards": {"second": 1.0}}]
