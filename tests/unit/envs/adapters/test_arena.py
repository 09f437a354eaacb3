"""Our worlds as games of TextArena, played through its registry and its wrappers (`make test-peers`)."""

from __future__ import annotations

import copy
import re
import time
from pathlib import Path
from typing import Any

import pytest

ta = pytest.importorskip("textarena")

from quintain.envs.adapters.play import AdapterError, Play  # noqa: E402
from quintain.envs.adapters.shipped import shipped  # noqa: E402
from quintain.envs.adapters.textarena import BRACKETS, Arena, WrongPlayers, register_envs  # noqa: E402
from quintain.envs.world import NoEpisode, world_of  # noqa: E402
from quintain.registry import names  # noqa: E402

Kind = ta.ObservationType
PAGE = Path(__file__).parents[4] / "docs/adapters.md"


def legal(arena: Any, player: int) -> str:
    return arena.play.env.world.view(arena.play.env.state, arena.play.seats[player]).legal()[0].key


def finished(env: Any, arena: Any, seed: int) -> tuple[list[int], list[str], dict[int, float], dict[int, Any]]:
    """Play to the end: who moved, what was shown to them, what they earned, how it ended; and nothing else than the world gives."""
    plain = Play(arena.play.name, arena.play.level, arena.play.env.scaffold, knobs=arena.play.knobs)
    plain.begin(seed)
    env.reset(num_players=len(arena.play.seats), seed=seed)
    players, texts, done = [], [], False
    earned = dict.fromkeys(range(len(plain.seats)), 0.0)
    while not done:
        player, text = env.get_observation()
        players.append(player)
        texts.append(text)
        move = legal(arena, player)
        done, info = env.step(move)
        heard = plain.say({plain.seats[player]: move})
        assert info == {"events": heard[plain.seats[player]].info["events"]}
        earned = {i: earned[i] + heard[seat].reward for i, seat in enumerate(plain.seats)}
    rewards, info = env.close()
    assert rewards == earned
    return players, texts, rewards, info


def test_a_duel_and_a_solo_world_are_played_through_the_registry_and_the_wrappers() -> None:
    assert register_envs() == register_envs()
    raw = ta.make("quintain/NimDuel-v0-raw", level=1)
    assert isinstance(raw, ta.Env) and isinstance(raw, Arena) and raw.env_id == "quintain/NimDuel-v0-raw"
    env = ta.wrappers.ActionFormattingWrapper(ta.wrappers.LLMObservationWrapper(raw))
    players, texts, rewards, info = finished(env, raw, seed=3)
    assert players[:3] == [0, 1, 0] and sorted(rewards.values()) == [0.0, 1.0]
    assert [info[i]["role"] for i in (0, 1)] == ["first", "second"] and info[0]["reason"] == "done"
    assert sum(info[i]["turn_count"] for i in (0, 1)) == len(players) and not info[0]["invalid_move"]
    assert texts[0].startswith("\n[GAME] ") and texts[2].startswith(texts[0]) and "\n[first] [" in texts[2]
    solo = ta.make("quintain/KeyDoor-v0", level=2, size=6)
    assert solo.is_wrapped_with(ta.wrappers.ActionFormattingWrapper)
    players, _, rewards, info = finished(solo, solo.env.env, seed=5)
    assert set(players) == {0} and set(rewards) == {0} and info[0]["turn_count"] == len(players)


def test_observations_are_messages_of_the_librarys_kinds_and_only_ones_own() -> None:
    arena = Arena("NimDuel", level=1)
    arena.reset(num_players=2, seed=3)
    player, said = arena.get_observation()
    assert player == 0 and [(who, kind) for who, _, kind in said] == [(-1, Kind.PROMPT), (-1, Kind.GAME_BOARD)]
    assert said[1][1] == arena.get_board_str() and said[1][1] not in said[0][1] and arena.get_observation()[1] == []
    assert arena.step("no idea") == (False, {"events": ("malformed",)}) and arena.state.turn == 0
    assert arena.state.game_info[0]["invalid_move"] and arena.state.game_state["seed"] == 3
    assert (0, "no idea", Kind.PLAYER_ACTION) in arena.state.observations[0]
    assert all(who == -1 for who, _, _ in arena.state.observations[1]), "nobody is told what another wrote"
    again = copy.deepcopy(arena)
    assert again.get_observation()[0] == arena.get_observation()[0] and isinstance(again, ta.Env)
    move = legal(arena, arena.state.current_player_id)
    assert again.step(f"I think [{move}]") == arena.step(move) and again.play.env.state == arena.play.env.state


def test_an_action_in_brackets_is_found_in_a_time_that_grows_as_the_text_does() -> None:
    assert [len(BRACKETS.findall(text.rstrip())) for text in ("go [up] .", "[up]", "[up] x", "[[up]]")] == [1, 1, 0, 0]
    began = time.process_time()
    for text in ("[up]" + " " * 200_000 + "x", "[up] . " * 30_000 + "x", "[" * 200_000):
        assert BRACKETS.search(text) is None
    assert time.process_time() - began < 20, (
        "a text of 16,000 characters took a second, and four times that each time it doubled"
    )


@pytest.mark.parametrize("wrapper", ["GameBoardObservationWrapper", "GameMessagesObservationWrapper"])
def test_wrappers_that_go_by_kinds_find_them(wrapper: str) -> None:
    env = getattr(ta.wrappers, wrapper)(Arena("KeyDoor", level=2))
    env.reset(num_players=1, seed=5)
    first = env.get_observation()[1]
    env.step(legal(env.env, 0))
    assert env.env.get_board_str() in env.get_observation()[1] != first


def test_the_librarys_picture_of_a_game_has_board_and_players(capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    env = ta.wrappers.SimpleRenderWrapper(ta.make(register_envs()[register_envs().index("quintain/NimDuel-v0")]))
    env.reset(num_players=2, seed=3)
    assert env.state.num_players == 2 and env.player_names[1] == "second"
    env.step("pass")
    assert "pass" in capsys.readouterr().out


def test_every_shipped_world_has_ids_and_the_ones_of_one_seat_are_told_apart() -> None:
    ids = register_envs()
    assert ids[::2] == tuple(f"quintain/{name}-v0" for name in shipped()) and len(shipped()) > 200
    assert set(shipped()) <= set(names("world")), "and files of users may have registered more"
    one = {name for name in shipped() if len(world_of(name).facts.seats) == 1}
    assert set(shipped(seated=False)) == one


def test_what_an_arena_cannot_do_is_named() -> None:
    arena = Arena("TicTacToeDuel", level=0)
    with pytest.raises(WrongPlayers, match="num_players=2"):
        arena.reset(num_players=3)
    for early in (arena.get_observation, arena.close, arena.get_board_str, lambda: arena.step("A1")):
        with pytest.raises(NoEpisode, match="TicTacToeDuel: .* call reset"):
            early()
    _, _, rewards, _ = finished(arena, arena, seed=1)
    assert 0 < sum(rewards.values()) <= 1.0
    with pytest.raises(NoEpisode, match="the episode is over"):
        arena.step("A1")


def test_the_page_shows_code_that_runs() -> None:
    (block,) = (text for text in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S) if "textarena" in text)
    said: dict[str, Any] = {}
    exec(compile(block, PAGE.name, "exec"), said)
    assert (said["player"], said["done"]) == (0, False) and "[GAME]" in said["text"]


def test_a_picture_is_refused_as_no_player_would_see_it() -> None:
    for scaffold in ({"image": 256, "caption": 0}, {"image": 256}):
        with pytest.raises(
            AdapterError, match="the scaffold has image=256, and TextArena shows texts alone; leave image out"
        ):
            Arena("KeyDoor", scaffold=scaffold)
