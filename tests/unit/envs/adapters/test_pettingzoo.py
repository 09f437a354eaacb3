"""Our worlds under PettingZoo's own tests, and PettingZoo's games as envs."""

from __future__ import annotations

import json
import pickle
import warnings
from dataclasses import replace
from typing import Any, ClassVar

import pytest

zoo = pytest.importorskip("pettingzoo")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its tests import games in a way that it has deprecated
    from pettingzoo.test import api_test, parallel_api_test
    from pettingzoo.utils import conversions

import numpy as np  # noqa: E402
from gymnasium import spaces  # noqa: E402

from quintain.envs.adapters.game import PeerError  # noqa: E402
from quintain.envs.adapters.pettingzoo import aec, parallel  # noqa: E402
from quintain.envs.adapters.play import AdapterError  # noqa: E402
from quintain.envs.world import NoEpisode  # noqa: E402
from quintain.registry import UnknownName, build  # noqa: E402
from quintain.types import Message, Stop, Task  # noqa: E402

WORLDS = ("NimDuel", "TicTacToeDuel", "KeyDoor")
OPTIONS: dict[str, dict[str, Any]] = {"text": {}, "image": {"scaffold": {"image": 64}}, "words": {"actions": "words"}}
TASK = Task(key="t", env="pettingzoo", seed=1)
ADVICE = pytest.mark.filterwarnings("ignore::UserWarning:pettingzoo")  # names like player_0, arrays for observations


@ADVICE
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("world", WORLDS)
def test_the_tests_of_pettingzoo_pass(world: str, options: dict[str, Any]) -> None:
    api_test(aec(world, level=1, **options), num_cycles=60)
    parallel_api_test(parallel(world, level=1, **options), num_cycles=60)


def test_a_duel_is_played_to_its_end_turn_by_turn_and_at_once() -> None:
    env = aec("NimDuel", level=1, actions="words")
    env.reset(seed=3)
    order, totals = [], dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        seen, reward, terminated, truncated, _ = env.last()
        totals[agent] += reward
        order.append(agent)
        env.step(None if terminated or truncated else int(seen["action_mask"].argmax()))
    for late in (None, 0):
        with pytest.raises(NoEpisode, match="NimDuel: the episode is over and its agents are gone; call reset first"):
            env.step(late)
    both = parallel("NimDuel", level=1, actions="words")
    seen, _ = both.reset(seed=3)
    earned = dict.fromkeys(both.possible_agents, 0.0)
    while both.agents:
        seen, rewards, _, _, _ = both.step({a: int(seen[a]["action_mask"].argmax()) for a in both.agents})
        earned = {a: earned[a] + rewards[a] for a in earned}
    assert earned == totals and sorted(earned.values()) == [0.0, 1.0] and order[:2] == ["first", "second"]


@pytest.mark.parametrize("shape", [aec, parallel])
def test_a_level_whose_actions_are_not_all_numbered_is_refused(shape: Any) -> None:
    env = shape("NimDuel", level=1, actions="words")
    with pytest.raises(AdapterError, match="NimDuel: actions are numbered as those of level 1, and level 9 has others"):
        env.reset(seed=3, options={"level": 9})
    env.reset(seed=3, options={"level": 0})
    assert env.table.sight("first")["action_mask"].any()
    shape("NimDuel", level=1).reset(seed=3, options={"level": 9})


def test_only_a_world_whose_seats_move_together_says_that_it_can_be_made_parallel() -> None:
    both = conversions.aec_to_parallel(aec("KeyDoor", level=1, actions="words"))
    both.reset(seed=3)
    for _ in range(3):
        both.step(dict.fromkeys(both.agents, 0))
    with pytest.raises(AssertionError, match="is_parallelizable"):
        conversions.aec_to_parallel(aec("NimDuel", level=1, actions="words"))


@pytest.mark.parametrize("shape", [aec, parallel])
def test_an_env_is_pickled_in_the_midst_of_an_episode(shape: Any) -> None:
    env = shape("NimDuel", level=1, actions="words")
    env.reset(seed=3)
    first = int(env.table.sight("first")["action_mask"].argmax())
    env.step(first if shape is aec else {"first": first})
    other = pickle.loads(pickle.dumps(env))
    seen = [it.table.sight("second") for it in (env, other)]
    assert seen[0]["text"] == seen[1]["text"] and (seen[0]["action_mask"] == seen[1]["action_mask"]).all()
    second = int(seen[1]["action_mask"].argmax())
    other.step(second if shape is aec else {"second": second})
    assert (other.table.play.movers, env.table.play.movers) == (
        ("first",),
        ("second",),
    )  # the one that was copied stays


def test_who_is_to_move_and_says_nothing_is_malformed() -> None:
    both = parallel("NimDuel", level=1)
    both.reset(seed=3)
    assert both.step({"second": "A-1"})[4]["first"]["events"] == ("malformed",)


@pytest.mark.parametrize("shape", [aec, parallel])
def test_an_agent_or_option_that_is_not_there_is_named(shape: Any) -> None:
    env = shape("NimDuel", level=1)
    calls = [env.observation_space, env.action_space]
    if shape is aec:
        with pytest.raises(NoEpisode, match="NimDuel: no episode was begun; call reset first"):
            env.observe("first")
        with pytest.raises(NoEpisode, match="call reset first"):
            env.step("A-1")
        with pytest.raises(NoEpisode, match="call reset first"):
            env.last()
        calls.append(env.observe)
    with pytest.raises(AdapterError, match="no option 'levl'; its options are level, split"):
        env.reset(seed=0, options={"levl": 3})
    with pytest.raises(AdapterError, match="the seed is -1"):
        env.reset(seed=-1)
    env.reset(seed=3)
    if shape is parallel:
        calls.append(lambda name: env.step({name: "A-1"}))
        with pytest.raises(
            AdapterError, match="actions are None; give them by agent: {'first': '...', 'second': '...'}"
        ):
            env.step(None)
    for call in calls:
        with pytest.raises(AdapterError, match="NimDuel has no agent 'third'; its agents are first, second"):
            call("third")
    assert env.table.play.env.turn == 0, "nobody is charged for it"


def said(env: Any, text: str) -> dict[str, Message]:
    return {seat: Message.of("assistant", f"<action>{text}</action>") for seat in env.movers}


@pytest.mark.filterwarnings("ignore")  # of pygame, which some of its games draw with
async def test_a_classic_game_by_turns_with_illegal_and_malformed_moves() -> None:
    pytest.importorskip("pygame")
    make = build("env", {"name": "pettingzoo", "id": "classic/tictactoe-v3", "manner": {"penalty": 0.1}})
    env = make(TASK)
    told = await env.reset(TASK)
    assert [told[s].acts for s in ("player_1", "player_2")] == [True, False] and "You may: 0, 1" in told[
        "player_1"
    ].messages[0].text
    told = await env.step(said(env, "4"))
    told = await env.step(said(env, "4"))
    assert told["player_2"].events == ("illegal",) and dict(told["player_2"].reward) == {"malformed": -0.1}
    assert (await env.step(said(env, "ten")))["player_2"].events == ("malformed",)
    snapshot = json.loads(json.dumps(env.snapshot()))
    other = make(TASK)
    other.restore(snapshot)
    for move in ("0", "3", "1", "5"):
        told, again = await env.step(said(env, move)), await other.step(said(other, move))
        assert told == again
    assert told["player_1"].stop is Stop.done
    assert [dict(told[s].reward) for s in ("player_1", "player_2")] == [{"reward": 1.0}, {"reward": -1.0}]


@pytest.mark.filterwarnings("ignore")
async def test_all_agents_at_once() -> None:
    pytest.importorskip("pygame")
    spec = {"name": "pettingzoo", "id": "classic/rps-v2", "parallel": True, "options": {"max_cycles": 2}}
    task = Task(key="t", env="pettingzoo")
    env = build("env", {**spec, "actions": ["rock", "paper", "scissors"]})(task)
    told = await env.reset(task)
    assert all(f.acts for f in told.values())

    def both(*words: str) -> dict[str, Message]:
        return {s: Message.of("assistant", f"<action>{w}</action>") for s, w in zip(told, words, strict=True)}

    told = await env.step(both("mud", "paper"))
    assert [f.events for f in told.values()] == [("malformed",), ("held",)] and all(f.acts for f in told.values())
    assert "yours was not; the turn is spent." in told["player_1"].messages[0].text
    assert "yours" not in told["player_0"].messages[0].text
    told = await env.step(both("rock", "paper"))
    assert {s: f.reward["reward"] for s, f in told.items()} == {"player_0": -1.0, "player_1": 1.0}
    told = await env.step(said(env, "rock"))
    assert {f.stop for f in told.values()} == {Stop.truncated_turns}


class Uneven(zoo.ParallelEnv):
    """Seats with one action, two and three."""

    metadata: ClassVar = {"name": "uneven"}

    def __init__(self, render_mode: Any = None) -> None:
        self.possible_agents, self.agents = ["a", "b", "c"], []

    def observation_space(self, agent: str) -> Any:
        return spaces.Discrete(9)

    def action_space(self, agent: str) -> Any:
        return spaces.Discrete(1 + self.possible_agents.index(agent))

    def reset(self, seed: Any = None, options: Any = None) -> Any:
        self.agents = list(self.possible_agents)
        return dict.fromkeys(self.agents, 0), {}

    def step(self, actions: Any) -> Any:
        rewards, self.agents = {seat: float(number) for seat, number in actions.items()}, []
        over = dict.fromkeys(rewards, True)
        return dict.fromkeys(rewards, 0), rewards, over, dict.fromkeys(rewards, False), {}


class Masked(Uneven):
    """Says in `info` what is forbidden: nobody may do what has the highest number, where there is another."""

    metadata: ClassVar = {"name": "masked", "is_parallelizable": True}

    def reset(self, seed: Any = None, options: Any = None) -> Any:
        seen, _ = super().reset()
        sizes = {seat: int(self.action_space(seat).n) for seat in self.agents}
        return seen, {s: {"action_mask": np.arange(size) < max(1, size - 1)} for s, size in sizes.items()}


@ADVICE
@pytest.mark.parametrize("parallel", [True, False])
async def test_a_mask_may_be_in_the_info_of_an_agent(parallel: bool) -> None:
    if parallel:
        zoo.register("parallel", "own/masked-v0", entry_point=Masked)
    else:
        zoo.register("aec", "own/masked-v0", entry_point=lambda **options: conversions.parallel_to_aec(Masked()))
    env = build("env", {"name": "pettingzoo", "id": "own/masked-v0", "parallel": parallel})(TASK)
    told = await env.reset(TASK)
    assert [told[seat].messages[0].text.split("\n")[-1] for seat in "abc"] == [
        "You may: 0.",
        "You may: 0.",
        "You may: 0, 1.",
    ]
    moves = {"a": "0", "b": "0", "c": "2"} if parallel else {"a": "0"}
    told = await env.step({s: Message.of("assistant", f"<action>{move}</action>") for s, move in moves.items()})
    if not parallel:
        told = await env.step({"b": Message.of("assistant", "<action>1</action>")})
    assert told["c" if parallel else "b"].events == ("illegal",)


async def test_each_seat_is_told_its_own_actions() -> None:
    zoo.register("parallel", "own/uneven-v0", entry_point=Uneven)
    spec = {"name": "pettingzoo", "id": "own/uneven-v0"}
    asked = {"a": "One of: 0.", "b": "One of: 0, 1.", "c": "One of: 0, 1, 2."}
    told = await build("env", spec)(TASK).reset(TASK)
    assert all(sentence in told[seat].messages[0].text for seat, sentence in asked.items())
    told = await build("env", {**spec, "manner": {"grammar": "tool"}})(TASK).reset(TASK)
    assert {s: f.tools[0].parameters["properties"]["action"]["description"] for s, f in told.items()} == asked
    env = build("env", {**spec, "actions": {"b": ["no", "yes"], "c": ["x", "y", "z"]}})(TASK)
    told = await env.reset(TASK)
    assert "One of: 0." in told["a"].messages[0].text and "One of: no, yes." in told["b"].messages[0].text
    moves = {"a": "0", "b": "yes", "c": "z"}
    told = await env.step({s: Message.of("assistant", f"<action>{move}</action>") for s, move in moves.items()})
    assert [dict(f.reward) for f in told.values()] == [{"reward": 0.0}, {"reward": 1.0}, {"reward": 2.0}]
    env = build("env", {**spec, "actions": ["no", "yes"]})(TASK)
    for _ in range(2):
        with pytest.raises(
            PeerError, match=r"a: there are 2 words for 1 actions .* actions is \{a: \[...\], b: \[...\]"
        ):
            await env.reset(TASK)
    with pytest.raises(UnknownName, match="unknown seat 'd'"):
        await build("env", {**spec, "actions": {"d": ["no"]}})(TASK).reset(TASK)


async def test_a_module_is_imported_first_and_levels_may_have_either_form(tmp_path: Any, monkeypatch: Any) -> None:
    (tmp_path / "own_zoo.py").write_text(
        f"import pettingzoo\nfrom {__name__} import Uneven\npettingzoo.register('parallel', 'own/late-v0', entry_point=Uneven)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    env = build("env", {"name": "pettingzoo", "id": ["own_zoo:own/late_v0", "classic/tictactoe_v3"]})(TASK)
    assert all(f.acts for f in (await env.reset(TASK)).values())
    with pytest.raises(PeerError, match="No module named 'no_zoo'; before the colon stands a module"):
        await build("env", {"name": "pettingzoo", "id": "no_zoo:own/late-v0"})(TASK).reset(TASK)
    pytest.importorskip("pygame")
    told = await env.reset(replace(TASK, level=1))  # it has no parallel form
    assert {seat: f.acts for seat, f in told.items()} == {"player_1": True, "player_2": False}


async def test_what_pettingzoo_does_not_have_is_named() -> None:
    pytest.importorskip("pygame")
    with pytest.raises(PeerError, match="odd number"):
        await build("env", {"name": "pettingzoo", "id": "classic/rps-v2", "options": {"num_actions": 4}})(TASK).reset(
            TASK
        )
    with pytest.raises(UnknownName, match="did you mean 'classic/tictactoe-v3'"):
        await build("env", {"name": "pettingzoo", "id": "classic/tictacto-v3"})(TASK).reset(TASK)
    with pytest.raises(UnknownName, match="unknown parallel environment of PettingZoo"):
        await build("env", {"name": "pettingzoo", "id": "classic/tictactoe-v3", "parallel": True})(TASK).reset(TASK)
