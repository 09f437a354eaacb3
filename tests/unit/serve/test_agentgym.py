"""A world behind HTTP, asked as AgentGym's clients ask."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from quintain.cli import main
from quintain.envs.adapters.play import AdapterError, Play
from quintain.serve.agentgym import Games
from quintain.serve.http import Server


@pytest.fixture
async def web():
    server = Server(Games(lambda: Play("KeyDoor", 2), token="sesame", most=3))
    await server.start()
    headers = {"Authorization": "Bearer sesame"}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", headers=headers) as client:
        yield client
    await server.stop()


async def test_two_games_are_played_apart(web: httpx.AsyncClient) -> None:
    one = (await web.post("/create", json={})).json()
    two = (await web.post("/create", json={})).json()
    assert (
        one["id"] != two["id"]
        and one["observation"] != two["observation"]
        and (one["reward"], one["done"]) == (0, False)
    )
    told = (await web.post("/reset", json={"id": one["id"], "data_idx": 5})).json()
    play = Play("KeyDoor", 2)
    assert told["observation"] == play.begin(5)["agent"].text
    for move in play.env.world.solve(play.env.state, "agent").moves:
        legal = (await web.get("/available_actions", params={"id": one["id"]})).json()["available_actions"]
        assert move.key in legal
        told = (await web.post("/step", json={"id": one["id"], "action": move.key})).json()
    assert (told["done"], told["reward"], told["score"]) == (True, 1.0, 1.0)
    assert (await web.get(f"/observation?id={two['id']}")).json()["observation"] == two["observation"]
    assert (await web.post("/step", json={"id": two["id"], "action": "fly"})).json()["events"] == ["malformed"]
    assert (await web.post("/step", json={"id": one["id"], "action": "up"})).status_code == 409
    assert (await web.post("/reset", json={"id": one["id"], "data_idx": 5})).json()["score"] == 0.0
    assert (await web.post("/close", json={"id": one["id"]})).json() == {"closed": True}
    assert (await web.post("/step", json={"id": one["id"], "action": "up"})).status_code == 404


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/step", {"id": 99, "action": "up"}, 404),
        ("/step", {"action": "up"}, 404),
        ("/step", {"id": "0", "action": "up"}, 400),
        ("/step", {"id": 0, "action": ["up"]}, 400),
        ("/step", {"id": 0}, 400),
        ("/reset", {"id": 0, "data_idx": -1}, 400),
        ("/nowhere", {"id": 0}, 404),
        ("/create", [], 400),
        ("/create", {"level": 5}, 400),
        ("/reset", {"id": 0, "level": 5}, 400),
        ("/step", {"id": 0, "action": "up", "seed": 1}, 400),
    ],
)
async def test_what_is_wrong_is_named(web: httpx.AsyncClient, path: str, body: Any, status: int) -> None:
    await web.post("/create", json={})
    answer = await web.post(path, json=body)
    assert answer.status_code == status and answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/zzz", "there is no GET /zzz; there are POST /create, /reset, /step, /close and GET /observation, /avail"),
        ("/create", "there is no GET /create; there are POST /create"),
        ("/observation?id=abc", "there is no game 'abc'; call /create"),
        ("/observation?id=77", "there is no game 77; call /create"),
        ("/observation", "no game is named; give the id that /create answered with"),
    ],
)
async def test_what_is_not_there_is_named_by_its_own_name(web: httpx.AsyncClient, path: str, told: str) -> None:
    answer = await web.get(path)
    assert answer.status_code == 404 and answer.json()["error"]["message"].startswith(told)
    assert (await web.post("/zzz", json={})).json()["error"]["message"].startswith("there is no POST /zzz; there are")


async def test_who_may_ask_and_how_many_games_there_are(web: httpx.AsyncClient) -> None:
    assert (await web.get("/", headers={"Authorization": "Bearer wrong"})).status_code == 401
    assert (await web.delete("/")).status_code == 405
    for _ in range(5):
        await web.post("/create", json={})
    assert (await web.get("/")).json() == {"environment": "KeyDoor", "games": 3}
    assert (await web.get("/observation?id=0")).status_code == (await web.get("/observation?id=x")).status_code == 404


async def test_a_game_that_is_asked_about_stays(web: httpx.AsyncClient) -> None:
    kept, lost = [(await web.post("/create", json={})).json()["id"] for _ in range(2)]
    for _ in range(5):
        assert (await web.get("/observation", params={"id": kept})).status_code == 200
        await web.post("/create", json={})
    assert (await web.get("/observation", params={"id": lost})).status_code == 404


def test_a_world_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["offer", "http", "KeyDor"]) == 1 and "KeyDoor" in capsys.readouterr().err
    with pytest.raises(AdapterError, match="NimDuel has several seats"):
        Games(lambda: Play("NimDuel"))
