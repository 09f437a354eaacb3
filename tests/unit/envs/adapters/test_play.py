"""What every shape of our worlds stands on, without a peer."""

from __future__ import annotations

import pytest

from quintain.envs.adapters.gem import make as make_gem
from quintain.envs.adapters.play import AdapterError, Play
from quintain.envs.adapters.reasoning_gym import WorldDataset
from quintain.envs.adapters.textarena import Arena, WrongPlayers
from quintain.registry import UnknownName, names
from quintain.worlds.kernel import Plan, UnknownLevel


@pytest.mark.parametrize("world", names("world"))
def test_the_oracle_earns_through_plain_strings_what_it_earns_in_the_world(world: str) -> None:
    play = Play(world, level=1)
    play.begin(seed=3)
    if len(play.seats) > 1 or play.env.facts.proof == "policy":
        return
    plan = play.env.world.solve(play.env.state, "agent")
    assert isinstance(plan, Plan)
    for move in plan.moves:
        heard = play.say({"agent": move.key})["agent"]
    assert (heard.info["rewards"]["success"], heard.terminated, heard.info["legal"]) == (1.0, True, ())


@pytest.mark.parametrize("text", ["", "\x00", "fly", "up" * 5000, "{'a': [", "\ud800"])
def test_whatever_is_said_is_an_event(text: str) -> None:
    play = Play("Sokoban")
    play.begin(seed=0)
    assert play.say({"agent": text})["agent"].info["events"] == ("malformed",)


def test_options_of_an_episode_choose_level_and_split() -> None:
    play = Play("KeyDoor", level=0)
    one = play.begin(5)["agent"].text
    assert play.begin(5, {"level": 3, "options": 1})["agent"].text != one
    assert play.begin(5, {"split": "test"})["agent"].text != one
    assert play.begin(5)["agent"].text == one
    with pytest.raises(UnknownLevel):
        play.begin(5, {"level": 12})


def test_what_cannot_be_had_is_named() -> None:
    with pytest.raises(AdapterError, match="grammar 'tool' wants tool calls"):
        Play("KeyDoor", scaffold={"grammar": "tool"})
    with pytest.raises(UnknownName, match="KeyDoor"):
        Play("KeyDor")
    with pytest.raises(AdapterError, match="MiniSudoku has no fixed list"):
        Play("MiniSudoku").words()
    assert Play("Hanoi").words() == ("ab", "ac", "ba", "bc", "ca", "cb")


def test_a_dataset_repeats_itself_and_scores_by_the_rules() -> None:
    data, again = WorldDataset("MiniSudoku", 2, seed=4, size=5), WorldDataset("MiniSudoku", 2, seed=4, size=5)
    entries = list(data)
    assert entries == [again[i] for i in range(5)] and len({e["question"] for e in entries}) == 5 == len(data)
    assert [data.score_answer(e["answer"], e) for e in entries] == [1.0] * 5
    assert [again.score_answer(entries[0]["answer"], e) for e in entries[1:]] == [0.0] * 4
    assert data.score_answer(None, entries[0]) == data.score_answer("", entries[0]) == 0.0
    assert data[-1] == data[4]
    with pytest.raises(IndexError):
        data[5]
    with pytest.raises(AdapterError, match="Maze3D at level 0 has .* turns, and no plan"):
        WorldDataset("Maze3D")


def test_a_dataset_has_pictures_and_asks_for_whole_plans() -> None:
    data = WorldDataset("KeyDoor", 2, seed=4, size=3, scaffold={"image": 64})
    for entry in data:
        assert entry["image"].shape == (64, 64, 3) and entry["image"].std() > 0
        assert "in their order" in entry["question"] and data.score_answer(entry["answer"], entry) == 1.0
        assert data.score_answer(entry["answer"].partition("\n")[0], entry) == 0.0
    assert "image" not in WorldDataset("KeyDoor", 2, size=1)[0]


def test_an_arena_seats_its_players_in_turn() -> None:
    arena = Arena("TicTacToeDuel", level=0)
    with pytest.raises(WrongPlayers, match="num_players=2"):
        arena.reset(num_players=3)
    arena.reset(num_players=2, seed=1)
    players, done = [], False
    while not done:
        player, text = arena.get_observation()
        players.append(player)
        assert text
        done, _ = arena.step(arena.play.env.world.view(arena.play.env.state, arena.play.seats[player]).legal()[0].key)
    rewards, info = arena.close()
    assert players[:4] in ([0, 1, 0, 1], [1, 0, 1, 0]) and 0 < sum(rewards.values()) <= 1.0
    assert info[0]["turn_count"] == len(players) and not info[0]["invalid_move"]


def test_gem_forks_an_episode() -> None:
    gem = pytest.importorskip("gem")
    from quintain.envs.adapters.gem import register_envs

    assert register_envs("KeyDoor") == register_envs("KeyDoor") == ("quintain:KeyDoor",)
    env = gem.make("quintain:KeyDoor", level=2)
    assert isinstance(env, gem.core.Env)
    env.reset(seed=3)
    env.step("I think that I go up")
    other = env.spawn(same_state=True)
    action = env.sample_random_action()
    assert other.step(action) == env.step(action)
    with pytest.raises(AdapterError, match=r"adapters\.textarena"):
        make_gem("NimDuel")
