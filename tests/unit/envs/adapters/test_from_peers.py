"""Environments of others as envs of ours, played for real: MiniGrid, toy text, classic control, reasoning-gym, OpenSpiel..."""

from __future__ import annotations

import importlib.util
import json
import random
import sys
from typing import Any

import numpy as np
import pytest

from quintain.envs.adapters.actions import Actions
from quintain.envs.adapters.game import ILLEGAL, Manner, PeerError, Shown
from quintain.envs.adapters.look import described, plain
from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.peer_env import PeerEnv
from quintain.envs.world import NoEpisode
from quintain.registry import MissingExtra, UnknownName, build
from quintain.types import Message, Stop, Task

pytestmark = pytest.mark.filterwarnings("ignore")  # what peers warn of is theirs


def tagged(text: str) -> dict[str, Message]:
    return {"agent": Message.of("assistant", f"<action>{text}</action>")}


async def begun(spec: dict[str, Any], seed: int = 1, level: int = 0) -> tuple[Any, Any]:
    task = Task(key="t", env=spec["name"], seed=seed, level=level)
    env = build("env", spec)(task)
    return env, await env.reset(task)


class Dice:
    """A game that draws from the global states, as some peers do."""

    ask, seats = "A number.", ("agent",)

    def start(self, task: Task) -> Shown:
        return Shown(texts={"agent": "begin"}, movers=("agent",))

    def read(self, text: str, seat: str) -> Any:
        return text if text.isdigit() else None

    def play(self, moves: Any) -> Shown:
        drawn = random.random() + np.random.random()
        return Shown(texts={"agent": f"{drawn}"}, movers=("agent",), rewards={"agent": {"reward": 0.75}})

    def close(self) -> None: ...


async def test_envs_of_one_process_draw_apart_and_are_restored_exactly() -> None:
    task = Task(key="t", env="dice", seed=9)
    one, two = PeerEnv(Dice(), Manner(turns=3, win=1.5)), PeerEnv(Dice(), Manner(turns=3, win=1.5))
    await one.reset(task)
    await two.reset(task)
    first = await one.step(tagged("1"))
    assert first == await two.step(tagged("1"))
    await two.step(tagged("x"))
    snapshot = json.loads(json.dumps(one.snapshot()))
    one.restore(snapshot)
    assert one.snapshot() == snapshot
    await one.step(tagged("1"))
    last = await one.step(tagged("x"))
    assert last["agent"].stop is Stop.truncated_turns and last["agent"].events == ("malformed",)
    assert dict(last["agent"].reward) == {"reward": -1.0, "success": 1.0}, "the sum stays 0.75 + 0.75"
    assert last["agent"].messages[0].text.startswith("That is not an action that can be read; the episode is over.")
    with pytest.raises(NoEpisode):
        await one.step(tagged("1"))
    snapshot["shown"] = {"agent": "something else"}
    with pytest.raises(PeerError, match="does not repeat itself"):
        two.restore(snapshot)


async def test_minigrid_is_told_in_words_and_solved() -> None:
    pytest.importorskip("minigrid")
    spec = {"name": "gymnasium", "id": ["MiniGrid-Empty-5x5-v0", "MiniGrid-DoorKey-5x5-v0"], "manner": {"win": 0.01}}
    env, told = await begun(spec)
    text = told["agent"].messages[0].text
    assert "get to the green goal square" in text and "You face east." in text and "a goal" in text
    for action in ("forward", "forward", "right", "forward", "forward"):
        assert told["agent"].stop is None
        told = await env.step(tagged(action))
    reward = told["agent"].reward
    assert told["agent"].stop is Stop.done and reward["success"] == 1.0 and 0.9 < sum(reward.values()) < 1.0
    await env.close()
    env, told = await begun({**spec, "image": True}, level=1)
    message = told["agent"].messages[0]
    assert "locked yellow door" in message.text and message.images[0].pixels.shape == (160, 160, 3)
    told = await env.step(tagged("sing"))
    assert told["agent"].events == ("malformed",) and not told["agent"].reward
    with pytest.raises(PeerError, match="level 2 is asked for, and there are 2"):
        await begun(spec, level=2)


async def test_a_restored_minigrid_goes_on_as_the_first_does() -> None:
    pytest.importorskip("minigrid")
    spec = {"name": "gymnasium", "id": "MiniGrid-DoorKey-6x6-v0"}
    env, _ = await begun(spec, seed=4)
    for action in ("left", "forward", "pickup", "what"):
        await env.step(tagged(action))
    other, _ = await begun(spec, seed=5)
    other.restore(json.loads(json.dumps(env.snapshot())))
    for action in ("right", "toggle", "forward"):
        assert await env.step(tagged(action)) == await other.step(tagged(action))


async def test_toy_text_and_boxes() -> None:
    pytest.importorskip("gymnasium")
    lake = {"name": "gymnasium", "id": "FrozenLake-v1", "options": {"is_slippery": False}}
    env, told = await begun({**lake, "actions": ["left", "down", "right", "up"]})
    assert told["agent"].messages[0].text.endswith("[S]FFF\nFHFH\nFFFH\nHFFG")
    for action in ("down", "down", "RIGHT", "right", "down", "right"):
        told = await env.step(tagged(action))
    assert (told["agent"].stop, dict(told["agent"].reward)) == (Stop.done, {"reward": 1.0})
    env, told = await begun({"name": "gymnasium", "id": "Pendulum-v1", "manner": {"turns": 4}})
    events = [(await env.step(tagged(a)))["agent"].events for a in ("[0.5]", "[9]", "0.5", "[NaN")]
    assert events == [(), ("illegal",), ("malformed",), ("malformed",)]
    env, _ = await begun({"name": "gymnasium", "id": "Pendulum-v1", "manner": {"grammar": "json"}})
    assert (await env.step({"agent": Message.of("assistant", '{"action": [0.5]}')}))["agent"].events == ()
    wrong = (await env.step({"agent": Message.of("assistant", '{"action": {"x": 0.5}}')}))["agent"].messages[0].text
    assert "the turn is spent. What is wanted is " in wrong.partition("\n")[0]
    env = build("env", {**lake, "actions": ["left", "right"]})(Task(key="t", env="gymnasium"))
    for _ in range(2):
        with pytest.raises(PeerError, match="2 words for 4 actions"):
            await env.reset(Task(key="t", env="gymnasium"))
    with pytest.raises(PeerError, match="cannot make 'NoSuch-v7'"):
        await begun({"name": "gymnasium", "id": "NoSuch-v7"})
    with pytest.raises(UnknownName, match="grammar"):
        build("env", {**lake, "manner": {"grammar": "jsn"}})


def spaces() -> Any:
    return pytest.importorskip("gymnasium").spaces


SPELLED: list[tuple[str, str, Any]] = [  # a space, a text, and what is played: None where it cannot be read, ILLEGAL
    ("MultiDiscrete([3, 4])", "[2, 3]", [2, 3]),
    ("MultiDiscrete([3, 4])", "[2.0, 1]", [2, 1]),
    ("MultiDiscrete([3, 4])", "[2.7, 1.2]", None),
    ("MultiDiscrete([3, 4])", '["1", "2"]', None),
    ("MultiDiscrete([3, 4])", "[true, 1]", None),
    ("MultiDiscrete([3, 4])", "[1]", None),
    ("MultiDiscrete([3, 4])", "[3, 0]", ILLEGAL),
    ("MultiDiscrete([[3, 4], [5, 6]])", "[[2, 3], [4, 5]]", [[2, 3], [4, 5]]),
    ("MultiDiscrete([[3, 4], [5, 6]])", "[[2, 3], 4]", None),
    ("MultiBinary(2)", "[0, 1]", [0, 1]),
    ("MultiBinary(2)", "[0.9, 1]", None),
    ("MultiBinary(2)", "[300, 1]", ILLEGAL),
    ("Box(-1, 1, (1,))", "[0.5]", [0.5]),
    ("Box(-1, 1, (1,))", "[1]", [1.0]),
    ("Box(-1, 1, (1,))", '["0.5"]', None),
    ("Box(-1, 1, (1,))", "[false]", None),
    ("Box(-1, 1, (1,))", "[null]", None),
    ("Box(-np.inf, np.inf, (1,))", "[Infinity]", None),
    ("Box(-np.inf, np.inf, (1,))", "[1e300]", ILLEGAL),
    ("Box(0, 9, (), np.int64)", "4.5", None),
    ("Box(0, 9, (), np.int64)", "4", 4),
    ("Dict(a=spaces.Discrete(2, start=1), b=spaces.Box(0, 1, (1,)))", '{"b": [0.5], "a": 2}', {"a": 2, "b": [0.5]}),
    ("Dict(a=spaces.Discrete(2))", '{"a": 2}', ILLEGAL),
    ("Dict(a=spaces.Discrete(2))", '{"a": 1.5}', None),
    ("Dict(a=spaces.Discrete(2))", '{"a": 1, "b": 1}', None),
    ("Dict(a=spaces.Discrete(2))", "{}", None),
    ("Dict(a=spaces.Discrete(2))", "[1]", None),
    ("Tuple((spaces.Discrete(2), spaces.Dict(t=spaces.Text(3))))", '[1, {"t": "ab"}]', [1, {"t": "ab"}]),
    ("Tuple((spaces.Discrete(2), spaces.Text(3)))", "[1, 2]", None),
    ("Tuple((spaces.Discrete(2), spaces.Text(3)))", '[1, "abcd"]', ILLEGAL),
    ("Tuple((spaces.Discrete(2), spaces.Discrete(3)))", "[1]", None),
    ("Tuple((spaces.Discrete(2), spaces.Discrete(3)))", '{"0": 1, "1": 2}', None),
]


@pytest.mark.parametrize(("space", "text", "played"), SPELLED)
def test_a_value_of_another_type_is_no_action(space: str, text: str, played: Any) -> None:
    actions = Actions(eval(f"spaces.{space}", {"spaces": spaces(), "np": np}))
    found = actions.read(text)
    if played is None or played is ILLEGAL:
        assert found is played
    else:
        value = actions.value(json.loads(json.dumps(found)))
        assert actions.space.contains(value) and plain(value) == played


def test_spaces_whose_actions_cannot_be_written_are_refused() -> None:
    known = spaces()
    for space in (known.Sequence(known.Discrete(2)), known.OneOf((known.Discrete(2), known.Text(3)))):
        for whole in (space, known.Tuple((known.Discrete(2), known.Dict(a=space)))):
            with pytest.raises(PeerError, match=rf"actions of the space {type(space).__name__}\(.* cannot be written"):
                Actions(whole)
    assert Actions(known.Dict(a=known.Discrete(2))).ask.endswith(
        "Dict('a': Discrete(2)) (Dict: an object, Tuple: a list)."
    )


class Broken(Dice):
    """A game that pays what is no number."""

    def play(self, moves: Any) -> Shown:
        return Shown(texts={"agent": ""}, movers=("agent",), rewards={"agent": {"reward": float("nan")}})


async def test_a_reward_that_is_no_finite_number_is_named() -> None:
    env = PeerEnv(Broken())
    await env.reset(Task(key="t", env="broken", seed=1))
    with pytest.raises(
        PeerError, match=r"Broken gives agent the rewards \{'reward': nan\}; a reward is a finite number"
    ):
        await env.step(tagged("1"))


class Slides(Dice):
    """A game with a picture at its start alone."""

    def start(self, task: Task) -> Shown:
        return Shown(texts={"agent": "begin"}, movers=("agent",), images={"agent": np.zeros((2, 2, 3), np.uint8)})


async def test_a_picture_is_shown_again_with_its_own_text_only() -> None:
    env = PeerEnv(Slides(), Manner(turns=9))
    await env.reset(Task(key="t", env="slides", seed=1))
    assert [len((await env.step(tagged(a)))["agent"].messages[0].images) for a in ("x", "1", "x")] == [1, 0, 0]


def test_a_large_array_is_no_text() -> None:
    with pytest.raises(PeerError, match=r"an array \[210, 160, 3\].*set image=true"):
        described(np.zeros((210, 160, 3)))
    sign = {"obs": np.zeros((60, 80, 3)), "goal": np.int64(0)}
    assert described(sign, pictured=True) == '{"goal": 0}' and described({"obs": sign["obs"]}, pictured=True) == ""
    assert described(sign) == '{"obs": "array [60, 80, 3]", "goal": 0}'
    assert described(np.zeros((210, 160, 3)), pictured=True) == "" and described(np.int64(3)) == "3"


async def test_datasets_of_reasoning_gym() -> None:
    if importlib.util.find_spec("reasoning_gym") is None:
        pytest.skip("reasoning-gym is not installed")
    reasoning_gym = peer("reasoning_gym")
    spec = {"name": "reasoning_gym", "id": "leg_counting", "config": [{"max_animals": 3}, {"max_animals": 9}]}
    env, told = await begun(spec, seed=11)
    entry = reasoning_gym.create_dataset("leg_counting", max_animals=3, seed=11, size=1)[0]
    assert entry["question"] in told["agent"].messages[0].text
    told = await env.step(tagged(entry["answer"]))
    assert (told["agent"].stop, dict(told["agent"].reward)) == (Stop.done, {"success": 1.0})
    env, _ = await begun(spec, seed=11)
    told = await env.step({"agent": Message.of("assistant", "no tags")})
    assert told["agent"].events == ("malformed",) and told["agent"].stop is Stop.truncated_turns
    with pytest.raises(UnknownName, match="leg_counting"):
        await begun({"name": "reasoning_gym", "id": "leg_countin"})
    with pytest.raises(PeerError, match="cannot be made of"):
        await begun({"name": "reasoning_gym", "id": "leg_counting", "config": {"legs": 3}})


@pytest.mark.parametrize("game", ["tic_tac_toe", "kuhn_poker", "matrix_rps", "leduc_poker"])
async def test_games_of_open_spiel(game: str) -> None:
    pytest.importorskip("pyspiel")
    env, told = await begun({"name": "open_spiel", "id": game, "manner": {"turns": 40}})
    other, _ = await begun({"name": "open_spiel", "id": game, "manner": {"turns": 40}})
    told = await env.step({s: Message.of("assistant", "<action>castle</action>") for s in env.movers})
    other.restore(env.snapshot())
    total = 0.0
    while env.movers:
        moves = {
            s: Message.of("assistant", f"<action>{min(env.game._legal(env.game.seats.index(s)))}</action>")
            for s in env.movers
        }
        told, again = await env.step(moves), await other.step(moves)
        assert told == again
        total += sum(f.reward["reward"] for f in told.values())
    assert all(f.stop is Stop.done for f in told.values()) and total == 0.0


async def test_actions_of_open_spiel_that_differ_in_case_are_told_apart() -> None:
    pytest.importorskip("pyspiel")

    async def opened() -> tuple[Any, Any]:
        env, told = await begun({"name": "open_spiel", "id": "chess"})
        for move in ("b3", "d5", "e3", "c5", "Be2", "c4", "a3", "h6"):
            (seat,) = env.movers
            told = await env.step({seat: tagged(move)["agent"]})
        return env, told

    for said, after in (("bxc4", "2P5"), ("Bxc4", "2B5")):
        env, told = await opened()
        (seat,) = env.movers
        assert ", bxc4," in told[seat].messages[0].text and ", Bxc4," in told[seat].messages[0].text
        await env.step({seat: tagged(said)["agent"]})
        assert after in str(env.game.state), "the pawn or the bishop, as is written"
    env, _ = await opened()
    told = await env.step({seat: tagged("BXC4")["agent"]})
    assert told[seat].events == ("malformed",), "either could be meant"
    told = await env.step({seat: tagged("nF3")["agent"]})
    assert told[seat].events == (), "one only"
    with pytest.raises(PeerError, match="mean-field game"):
        await begun({"name": "open_spiel", "id": "mfg_crowd_modelling"})
    with pytest.raises(PeerError, match="OpenSpiel cannot play 'crossword'"):
        await begun({"name": "open_spiel", "id": "crossword"})


def no_reset(size: int) -> Any:
    """An environment that says nothing of what it lacks."""
    spaces = peer("gymnasium").spaces

    class NoReset(peer("gymnasium").Env):
        action_space = observation_space = spaces.Discrete(2)

        def reset(self, **_: Any) -> Any:
            raise AssertionError

    return NoReset()


async def test_what_is_given_to_a_peer_in_the_wrong_shape_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gymnasium")
    cart = {"name": "gymnasium", "id": "CartPole-v1"}
    gym = peer("gymnasium")
    monkeypatch.setitem(gym.registry, "NoReset-v0", gym.envs.registration.EnvSpec("NoReset-v0", no_reset))
    wrong = [
        ({**cart, "options": {"foo": 1}}, "cannot make 'CartPole-v1' of .*foo"),
        (
            {**cart, "id": "FrozenLake-v1", "options": {"map_name": "9x9"}},
            "'FrozenLake-v1' of .*map_name.*: KeyError: '9x9'$",
        ),
        (
            {**cart, "id": "NoReset-v0", "options": {"size": 1}},
            r"cannot reset 'NoReset-v0' of \{'size': 1\}: AssertionError$",
        ),
        ({**cart, "options": [1]}, r"the options of an environment are \[1\]; give them by name"),
        ({**cart, "id": "nope:Nope-v0"}, "cannot make 'nope:Nope-v0': "),
        ({**cart, "id": 5}, "named by 5; give its name"),
        ({**cart, "id": []}, "there are 0 environments; set at least one"),
        ({**cart, "actions": ["a", "A"]}, "the words a, A are not all different in small letters"),
        ({**cart, "manner": {"turns": 2.5}}, "turns is 2.5, at least 1"),
        ({**cart, "manner": {"penalty": float("nan")}}, "penalty is nan, at least 0"),
        ({**cart, "manner": {"win": "x"}}, "win is 'x'"),
        ({**cart, "actions": "ab"}, "actions is 'ab'; it is a list of words"),
        ({**cart, "image": "yes"}, "image is 'yes'; it is true or false"),
    ]
    for name, key, value, form in (
        ("pettingzoo", "actions", 5, "a list of words"),
        ("pettingzoo", "parallel", 1, "true or false"),
        ("textworld", "commands", "no", "true or false"),
        ("textarena", "players", "2", "a whole number"),
        ("open_spiel", "scale", "2", "a finite number"),
    ):
        if importlib.util.find_spec(name if name != "open_spiel" else "pyspiel"):
            wrong.append(({"name": name, "id": "x", key: value}, f"{key} is {value!r}; it is {form}"))
    if importlib.util.find_spec("pettingzoo"):
        seats = {"name": "pettingzoo", "id": "x", "actions": {"player_0": "abc"}}
        wrong.append((seats, "actions.player_0 is 'abc'; it is a list of words"))
    if importlib.util.find_spec("reasoning_gym"):
        legs = {"name": "reasoning_gym", "id": "leg_counting"}
        wrong += [
            ({**legs, "config": "x"}, "options of an environment are 'x'; give them by name"),
            ({**legs, "config": {"seed": 3}}, "the option seed is set by the task; leave it out"),
        ]
    for spec, told in wrong:
        with pytest.raises(PeerError, match=told):
            await begun(spec)


async def test_games_of_textarena_and_gem() -> None:
    pytest.importorskip("textarena")
    env, _ = await begun({"name": "textarena", "id": "TicTacToe-v0"})
    for text in ("[4]", "[0]", "[3]", "[1]", "[5]"):
        told = await env.step({s: Message.of("assistant", text) for s in env.movers})
    assert [f.reward["reward"] for f in told.values()] == [1.0, -1.0]
    pytest.importorskip("gem")
    spec = {"name": "gem", "id": "game:GuessTheNumber-v0-easy"}
    env, _ = await begun(spec, seed=1)
    other, _ = await begun(spec, seed=2)
    other.restore(env.snapshot())
    told = await env.step({"agent": Message.of("assistant", r"\boxed{2}")})
    assert told == await other.step({"agent": Message.of("assistant", r"\boxed{2}")})


def test_a_package_that_is_missing_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "minigrid", raising=False)
    with pytest.raises(MissingExtra, match=r"pip install 'quintain\[adapters\]'"):
        peer("minigrid")
    with pytest.raises(MissingExtra, match="pip install no_such_peer"):
        peer("no_such_peer.inner")
