"""A world behind MCP: what its tools answer, and MCP's own client as a caller."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from quintain import registry
from quintain.cli import main
from quintain.cli.templates import WORLD
from quintain.envs.adapters.play import AdapterError, Play
from quintain.serve.mcp import BadCall, WorldTools, answered, serve
from quintain.worlds.kernel import GenerationError


def ask(tools: WorldTools, method: str, **params: Any) -> dict[str, Any]:
    return answered(tools, json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}))


def test_a_game_is_played_by_its_tools() -> None:
    tools = WorldTools(Play("KeyDoor", 2, {"image": 64}), seed=1)
    plan = tools.play.env.world.solve(tools.play.env.state, "agent")
    for move in plan.moves:
        result = ask(tools, "tools/call", name=move.key)["result"]
    assert (
        result["structuredContent"]["over"] and result["structuredContent"]["reward"] == 1.0 and not result["isError"]
    )
    assert Image.open(io.BytesIO(base64.b64decode(result["content"][1]["data"]))).size == (64, 64)
    assert ask(tools, "tools/call", name="up")["result"]["isError"]
    seen = ask(tools, "tools/call", name="look")["result"]
    assert seen["structuredContent"] == {"reward": 0.0, "over": True, "events": [], "legal": []}, "it is earned once"
    assert seen["content"] == result["content"]
    again = ask(tools, "tools/call", name="new_game", arguments={"seed": 1})["result"]
    assert again["content"][0]["text"] == Play("KeyDoor", 2).begin(1)["agent"].text


def test_actions_without_a_list_are_an_argument() -> None:
    tools = WorldTools(Play("MiniSudoku"))
    assert [t["name"] for t in tools.listed()] == ["new_game", "look", "act"]
    said = ask(tools, "tools/call", name="act", arguments={"action": "no idea"})["result"]
    assert said["structuredContent"]["events"] == ["malformed"] and not said["isError"]
    text = said["content"][0]["text"]
    assert said["structuredContent"]["over"] and "the episode is over" in text and "nothing happened" not in text
    with pytest.raises(AdapterError, match="NimDuel has the seats"):
        WorldTools(Play("NimDuel"))
    with pytest.raises(BadCall, match="seed is -1"):
        tools.call("new_game", {"seed": -1})


@pytest.mark.parametrize(
    ("word", "listed"),
    [
        ("look", ["new_game", "look", "act"]),
        ("new_game", ["new_game", "look", "act"]),
        ("go left!", ["new_game", "look", "act"]),
        ("act", ["new_game", "look", "act", "right"]),
    ],
)
def test_an_action_of_a_world_of_ones_own_can_be_played_whatever_its_name(
    word: str, listed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    file, name = tmp_path / "walk.py", f"Walk{word.encode().hex()}"  # a name stays that of the first world that had it
    file.write_text(WORLD.code.replace("left", word).replace("TITLE", name).replace("NAME", "walk"))
    registry.import_file(file)
    games = (WorldTools(Play(name), seed) for seed in range(20))
    tools = next(game for game in games if game.play.best() == word)
    assert [tool["name"] for tool in tools.listed()] == listed
    for move in tools.play.env.world.solve(tools.play.env.state, "agent").moves:
        call = {"name": move.key} if "right" in listed else {"name": "act", "arguments": {"action": move.key}}
        said = ask(tools, "tools/call", **call)["result"]
    assert said["structuredContent"]["reward"] == 1.0


def test_the_game_after_the_last_seed_is_that_of_the_first() -> None:
    tools = WorldTools(Play("KeyDoor", 2))
    ask(tools, "tools/call", name="new_game", arguments={"seed": 2**63 - 1})
    again = ask(tools, "tools/call", name="new_game")["result"]
    assert again["content"][0]["text"] == Play("KeyDoor", 2).begin(0)["agent"].text


def test_a_game_that_cannot_be_made_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = WorldTools(Play("KeyDoor", 2))

    def none(seed: int) -> Any:
        raise GenerationError("no instance has these knobs")

    monkeypatch.setattr(tools.play, "begin", none)
    reply = ask(tools, "tools/call", name="new_game")["result"]
    assert reply["isError"] and "no instance has these knobs" in reply["content"][0]["text"]


def test_bytes_that_are_no_text_do_not_end_the_server() -> None:
    lines = b'\xff\xfe\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    words = [sys.executable, "-m", "quintain", "offer", "mcp", "EmptyRoom"]
    env = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(words, input=lines, capture_output=True, env=env, timeout=60)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and said[0]["error"]["code"] == -32700 and said[1]["result"] == {}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{", -32700),
        ("[]", -32600),
        ("{}", -32600),
        ("[" * 99_999, -32700),
        ('{"id":1,"method":"x"}', -32601),
        ('{"id":1,"method":"tools/call","params":[1]}', -32602),
        ('{"id":1,"method":"tools/call"}', -32602),
        ('{"id":NaN,"method":"ping"}', -32700),
        ('{"id":1,"method":"tools/call","params":{"name":"up","arguments":{"a":-Infinity}}}', -32700),
        ('{"id":1e400,"method":"ping"}', -32600),
        ('{"id":[1],"method":"ping"}', -32600),
    ],
)
def test_what_is_no_request_is_answered(line: str, code: int) -> None:
    reply = answered(WorldTools(Play("EmptyRoom")), line)
    assert reply["error"]["code"] == code and json.dumps(reply, allow_nan=False)


def test_notifications_are_not_answered_and_a_wrong_world_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    tools = WorldTools(Play("EmptyRoom"))
    assert answered(tools, '{"jsonrpc":"2.0","method":"notifications/initialized"}') is None
    assert ask(tools, "ping")["result"] == {}
    assert ask(tools, "initialize", protocolVersion="1999-01-01")["result"]["protocolVersion"] == "2025-11-25"
    assert ask(tools, "initialize", protocolVersion="2024-11-05")["result"]["protocolVersion"] == "2024-11-05"
    assert main(["offer", "mcp", "KeyDor"]) == 1 and "KeyDoor" in capsys.readouterr().err
    out = io.StringIO()
    serve(tools, io.StringIO('\n{"id":1,"method":"tools/list"}\n'), out)
    assert '"up"' in out.getvalue() and out.getvalue().count("\n") == 1


@pytest.mark.filterwarnings("ignore")
async def test_the_client_of_mcp_plays() -> None:
    mcp = pytest.importorskip("mcp")
    arguments = ["-m", "quintain", "offer", "mcp", "KeyDoor", "--level", "2", "--image", "64"]
    paths = os.pathsep.join(p for p in sys.path if p)
    server = mcp.StdioServerParameters(command=sys.executable, args=arguments, env={**os.environ, "PYTHONPATH": paths})
    async with mcp.stdio_client(server) as (read, write), mcp.ClientSession(read, write) as session:
        await session.initialize()
        names = [tool.name for tool in (await session.list_tools()).tools]
        assert names == ["new_game", "look", "up", "down", "left", "right"]
        result = await session.call_tool("new_game", {"seed": 3})
        assert [c.type for c in result.content] == ["text", "image"]
        legal = result.model_dump(by_alias=True)["structuredContent"]["legal"]
        result = await session.call_tool(legal[0], {})
        assert not result.model_dump(by_alias=True)["structuredContent"]["over"]
