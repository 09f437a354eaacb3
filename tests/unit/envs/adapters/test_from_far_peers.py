"""ALE, MiniWorld and TextWorld as envs of ours: a whole episode of each."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import math
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from quintain.envs.adapters import from_gymnasium
from quintain.envs.adapters.game import PeerError
from quintain.envs.adapters.packages import peer
from quintain.registry import build
from quintain.types import Message, Stop, Task

pytestmark = pytest.mark.filterwarnings("ignore")  # what peers warn of is theirs
PAGE = Path(__file__).parents[4] / "docs" / "adapters.md"


def needs(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")


def tagged(text: str) -> dict[str, Message]:
    return {"agent": Message.of("assistant", f"<action>{text}</action>")}


async def begun(spec: dict[str, Any], seed: int = 1, level: int = 0) -> tuple[Any, Any]:
    task = Task(key="t", env=spec["name"], seed=seed, level=level)
    env = build("env", spec)(task)
    try:
        return env, await env.reset(task)
    except PeerError as error:
        if "OpenGL" in str(error):
            pytest.skip(str(error))
        raise


async def test_a_game_of_ale_is_seen_and_played_to_its_end() -> None:
    needs("ale_py")
    env, told = await begun({"name": "gymnasium", "id": "ALE/Breakout-v5", "image": True, "manner": {"turns": 3000}})
    message = told["agent"].messages[0]
    assert "One of: noop, fire, right, left." in message.text and message.images[0].pixels.shape == (210, 160, 3)
    pictures, earned = [message.images[0].pixels], 0.0
    while told["agent"].stop is None:
        told = await env.step(tagged(("fire", "left", "noop", "right")[len(pictures) % 4]))
        pictures.append(told["agent"].messages[0].images[0].pixels)
        earned += told["agent"].reward["reward"]
    assert told["agent"].stop is Stop.done and len(pictures) > 100 and earned == int(earned) >= 0
    assert len({p.tobytes() for p in pictures}) > 50
    await env.close()


@pytest.mark.parametrize(("level", "module", "shape"), [(0, "ale_py", (210, 160, 3)), (1, "miniworld", (600, 800, 3))])
async def test_the_page_of_the_docs_shows_options_that_work(level: int, module: str, shape: tuple[int, ...]) -> None:
    needs(module)
    block = tomllib.loads(re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.S)[1])["env"]
    env, told = await begun({"name": block["name"], **block["params"]}, level=level)
    assert told["agent"].messages[0].images[0].pixels.shape == shape
    await env.close()


async def test_after_an_action_that_cannot_be_read_the_picture_is_there_still() -> None:
    needs("ale_py")
    env, told = await begun({"name": "gymnasium", "id": "ALE/Breakout-v5", "image": True})
    before = told["agent"].messages[0].images[0].pixels
    told = await env.step(tagged("zzz"))
    assert told["agent"].events == ("malformed",) and (told["agent"].messages[0].images[0].pixels == before).all()
    await env.close()


async def test_continuous_actions_of_ale_are_lists() -> None:
    needs("ale_py")
    spec = {"name": "gymnasium", "id": "ALE/Breakout-v5", "image": True, "options": {"continuous": True}}
    env, told = await begun(spec)
    assert "A JSON value of the space Box(" in told["agent"].messages[0].text
    assert (await env.step(tagged("[1, 0, 1]")))["agent"].action == "[1, 0, 1]"
    await env.close()


async def test_a_restored_game_of_ale_goes_on_as_the_first_does() -> None:
    needs("ale_py")
    spec = {"name": "gymnasium", "id": "ALE/Pong-v5", "image": True}
    (env, _), (other, _) = await begun(spec, 4), await begun(spec, 5)
    for action in ("fire", "right", "right", "what"):
        await env.step(tagged(action))
    other.restore(json.loads(json.dumps(env.snapshot())))
    for action in ("left", "noop", "right"):
        one, two = await env.step(tagged(action)), await other.step(tagged(action))
        a, b = (told["agent"].messages[0].images[0].pixels for told in (one, two))
        assert (a == b).all() and one["agent"].reward == two["agent"].reward


async def test_a_room_of_miniworld_is_seen_and_crossed() -> None:
    needs("miniworld")
    size = {"window_width": 128, "window_height": 96}
    spec = {"name": "gymnasium", "id": "MiniWorld-OneRoomS6Fast-v0", "image": True, "options": size}
    env, told = await begun({**spec, "manner": {"win": 0.01}})
    message, room = told["agent"].messages[0], env.game.env.unwrapped
    assert "One of: turn_left, turn_right, move_forward." in message.text
    assert message.images[0].pixels.shape == (96, 128, 3) and message.images[0].pixels.std() > 1
    for _ in range(60):
        east, _, south = room.box.pos - room.agent.pos
        off = (math.atan2(-south, east) - room.agent.dir + math.pi) % (2 * math.pi) - math.pi
        told = await env.step(tagged("move_forward" if abs(off) < 0.2 else "turn_left" if off > 0 else "turn_right"))
        if told["agent"].stop:
            break
    assert told["agent"].stop is Stop.done and told["agent"].reward["success"] == 1.0
    await env.close()


async def test_miniworld_without_opengl_is_named_with_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gymnasium")

    def lacking(module: str) -> Any:
        if module == "miniworld":
            raise ImportError('Library "EGL" not found.')
        return peer(module)

    monkeypatch.setattr(from_gymnasium, "peer", lacking)
    monkeypatch.setenv("DISPLAY", ":0")
    with pytest.raises(PeerError, match="apt install libegl1 libgl1 libglu1-mesa"):
        task = Task(key="t", env="gymnasium", seed=1, level=0)
        await build("env", {"name": "gymnasium", "id": "MiniWorld-OneRoom-v0"})(task).reset(task)


def made(folder: Path) -> tuple[str, Any]:
    """A game of two rooms."""
    textworld = peer("textworld")
    options = textworld.GameOptions()
    options.path, options.seeds = str(folder / "game.z8"), 1
    options.nb_rooms, options.nb_objects, options.quest_length = 2, 3, 2
    return textworld.make(options)


async def test_a_game_of_textworld_is_read_and_won(tmp_path: Path) -> None:
    needs("textworld")
    file, game = made(tmp_path)
    spec = {"name": "textworld", "id": file, "commands": True, "manner": {"turns": 20, "win": float(game.max_score)}}
    env, told = await begun(spec)
    text = told["agent"].messages[0].text
    assert "Welcome to TextWorld!" in text and "$$" not in text and "You can: " in text and "look" in text
    walkthrough = game.metadata["walkthrough"]
    told = await env.step(tagged("sing loudly"))
    told = await env.step(tagged(walkthrough[0]))
    other, _ = await begun(spec)
    other.restore(json.loads(json.dumps(env.snapshot())))
    for command in walkthrough[1:]:
        assert told["agent"].stop is None
        told, again = await env.step(tagged(command)), await other.step(tagged(command))
        assert told == again
    assert told["agent"].stop is Stop.done and told["agent"].reward["success"] == 1.0
    await env.close()


async def test_what_is_for_the_interpreter_of_textworld_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("textworld")
    file, game = made(tmp_path)
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.chdir(room)
    before = len(os.listdir(tmp_path))
    env, told = await begun({"name": "textworld", "id": file})
    for command in (
        "save",
        "SAVE.",
        "me, save",
        "look then save",
        "restore",
        "restart",
        "q",
        "script on",
        "transcript",
        "tw-print",
        "oops save",
    ):
        told = await env.step(tagged(command))
        assert told["agent"].events == ("illegal",) and not told["agent"].reward, command
    assert not os.listdir(room) and len(os.listdir(tmp_path)) == before, "no state that another episode could load"
    for broken in ("go \x10 x", "\x00", "look\x14", "\x7f"):  # some of these end the whole process
        told = await env.step(tagged(broken))
        assert told["agent"].events == ("malformed",), repr(broken)
    told = await env.step(tagged("open type Q safe"))
    assert told["agent"].events == (), "things of a game may be called so"
    for command in game.metadata["walkthrough"]:
        told = await env.step(tagged(command))
    assert told["agent"].stop is Stop.done
    await env.close()


@pytest.mark.parametrize("how", ["junk", "cut", "changed", "its facts", "no facts"])
def test_a_broken_game_of_textworld_is_named_and_ends_no_process(how: str, tmp_path: Path) -> None:
    needs("textworld")
    file, _ = made(tmp_path)
    path, data = Path(file), Path(file).read_bytes()
    if how == "no facts":
        path.with_suffix(".json").unlink()
    elif how == "its facts":
        path = path.with_suffix(".json")
    else:
        path.write_bytes({"junk": b"junk", "cut": data[:-2000], "changed": data[:5000] + b"?" + data[5001:]}[how])
    with pytest.raises(
        PeerError, match="there is no .*json.* beside" if how == "no facts" else "is no game, or a broken one"
    ):
        asyncio.run(begun({"name": "textworld", "id": str(path)}))


async def test_a_game_of_textworld_that_is_not_there_is_named_with_what_makes_it(tmp_path: Path) -> None:
    needs("textworld")
    with pytest.raises(PeerError, match="tw-make tw-simple"):
        await begun({"name": "textworld", "id": str(tmp_path / "none.z8")})
