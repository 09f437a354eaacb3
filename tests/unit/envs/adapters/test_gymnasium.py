"""Our worlds under Gymnasium's own checker."""

from __future__ import annotations

import copy
import functools
import inspect
import json
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from quintain.envs.adapters.gymnasium import make, register_envs  # noqa: E402
from quintain.envs.adapters.play import AdapterError, Play  # noqa: E402
from quintain.envs.adapters.spaces import action_space, observation_space, shown  # noqa: E402
from quintain.envs.world import BadSnapshot, world_of  # noqa: E402
from quintain.registry import entries, names  # noqa: E402
from quintain.worlds.knobs import BadKnob  # noqa: E402

LISTED = ("KeyDoor", "Sokoban", "TicTacToe", "Mastermines", "Game2048", "NimGame", "Hanoi", "FrozenLake")
WORLDS = (*LISTED, "MiniSudoku", "PipeTurn", "Tangram")


@pytest.mark.parametrize(
    "options", [{}, {"scaffold": {"image": 64}}, {"actions": "words"}], ids=["text", "image", "words"]
)
@pytest.mark.parametrize("world", WORLDS)
def test_the_checker_has_nothing_to_say(world: str, options: dict) -> None:
    if world not in LISTED and "actions" in options:
        pytest.skip("its answers are no words of a list")
    check_env(make(world, level=2, **options), skip_render_check=True)


def test_every_registered_id_makes_an_env_that_draws_itself() -> None:
    ids = register_envs()
    shipped = [
        e.name for e in entries("world") if inspect.unwrap(e.make).__module__.startswith("quintain.worlds.suite")
    ]
    assert list(ids) == [f"quintain/{name}-v0" for name in shipped if len(world_of(name).facts.seats) == 1]
    env = gymnasium.make("quintain.envs.adapters.gymnasium:quintain/KeyDoor-v0", level=2, render_mode="rgb_array")
    env.reset(seed=1)
    assert env.render().shape == (256, 256, 3) and env.render().dtype == np.uint8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checker would like one reward a step to be negative
        check_env(env.unwrapped)


BY_ID = "gymnasium.make('quintain.envs.adapters.gymnasium:quintain/KeyDoor-v0', level=2).reset(seed=1)"


@pytest.mark.parametrize(
    "before",
    [
        "import gymnasium",
        "from quintain.envs.adapters.gymnasium import make; import gymnasium",
        "from quintain.envs.adapters.gymnasium import make; make('KeyDoor'); import gymnasium",
    ],
    ids=["first", "later", "used"],
)
def test_an_id_is_known_in_whatever_order_the_modules_are_imported(before: str) -> None:
    subprocess.run([sys.executable, "-c", f"{before}; {BY_ID}"], check=True, timeout=120)


@pytest.mark.parametrize("world", names("world"))
def test_the_spaces_hold_what_a_world_shows_and_what_it_is_told(world: str) -> None:
    for level in (0, 5, 9):
        play = Play(world, level, {"history": 3})
        sees, acts = observation_space(play), action_space(play, "text")[0]
        heard = play.begin(level)
        said = {seat: play.best() if seat == play.seats[0] else "" for seat in play.movers}
        if said.get(play.seats[0]):
            assert acts.contains(said[play.seats[0]]), (level, said)
        for told in (heard, play.say(said)):
            assert all(sees.contains(shown(one)) for one in told.values()), (level, told)


def test_a_seed_is_an_instance_and_no_seed_another_each_time() -> None:
    env = make("KeyDoor", level=2, actions="words")
    one, info = env.reset(seed=5)
    assert info["seed"] == 5 and env.reset(seed=5)[0] == one
    texts = {env.reset()[0]["text"] for _ in range(5)}
    assert len(texts) == 5
    env.reset(seed=5)
    assert texts == {env.reset()[0]["text"] for _ in range(5)}


def test_masks_and_numbers_say_what_may_be_done() -> None:
    env = make("KeyDoor", level=2, actions="words")
    _, info = env.reset(seed=3)
    assert info["action_mask"].tolist() == [int(w in info["legal"]) for w in ("up", "down", "left", "right")]
    assert env.action_masks().tolist() == [bool(legal) for legal in info["action_mask"]]
    with pytest.raises(AdapterError, match="KeyDoor are texts and have no mask; make it with actions='words'"):
        make("KeyDoor").action_masks()
    for wrong in (17, -1, "up", None, 0.5, [0]):
        assert env.step(wrong)[4]["events"] == ("malformed",)
    assert env.step(np.int64(info["action_mask"].argmax()))[4]["events"] == ()
    tagged = make("KeyDoor", level=2, actions="words", scaffold={"grammar": "tagged"})
    tagged.reset(seed=3)
    assert tagged.step(0)[4]["events"] != ("malformed",)


def test_numbered_actions_are_all_of_the_level_that_is_played() -> None:
    env = make("KeyDoor", level=2, actions="words")
    assert env.reset(seed=3, options={"level": 9})[1]["action_mask"].any(), "it has the same actions"
    low, high = (make("CopsRobber", level=level, actions="words") for level in (0, 9))
    low.reset(seed=1)
    high.reset(seed=1)
    before, told = (
        low.snapshot(),
        "CopsRobber: actions are numbered as those of level 0, and level 9 has others .*; make",
    )
    with pytest.raises(AdapterError, match=told):
        low.reset(seed=3, options={"level": 9})
    with pytest.raises(AdapterError, match=told):
        low.restore(high.snapshot())
    assert low.snapshot() == before, "the episode under way goes on"
    assert high.reset(seed=3, options={"level": 9})[1]["action_mask"].any()
    assert make("CopsRobber").reset(seed=3, options={"level": 9})[1]["legal"], "texts say all"
    plain, wide = make("LightsOut", actions="words"), make("LightsOut", actions="words", width=5)
    for env in (plain, wide):
        env.reset(seed=1)
    with pytest.raises(AdapterError, match=r"of level 0, and level 0 width=5 has others \(e1\)"):
        plain.restore(json.loads(json.dumps(wide.snapshot())))
    assert wide.restore(plain.snapshot()) is None and wide.action_masks().any()
    with pytest.raises(AdapterError, match="numbered as those of level 0"):
        copy.deepcopy(low).reset(seed=3, options={"level": 9})


def test_an_episode_goes_on_elsewhere_from_its_snapshot() -> None:
    one, two = make("Game2048", level=2), make("Game2048", level=2)
    one.reset(seed=1)
    one.step("up")
    two.restore(json.loads(json.dumps(one.snapshot())))
    for action in ("left", "down", "left"):
        assert one.step(action) == two.step(action)
    again = make("KeyDoor", level=2, render_mode="ansi")
    again.reset(seed=1)
    shown, saved = again.render(), again.snapshot()
    again.reset(seed=5)
    with pytest.raises(BadSnapshot, match=r"KeyDoor: .* is of the world 'Game2048'"):
        again.restore(one.snapshot())
    assert again.render() != shown and again.step("down")[4]["seed"] == 5
    again.restore(saved)
    assert again.render() == shown and again.step("down")[4]["seed"] == 1


def test_a_turn_limit_truncates_and_one_question_ends() -> None:
    env = make("KeyDoor", level=0)
    env.reset(seed=1)
    ends = [env.step("fly")[2:4] for _ in range(env.play.env.limit)]
    assert ends[-1] == (False, True) and set(ends[:-1]) == {(False, False)}
    once = make("MiniSudoku")
    once.reset(seed=1)
    assert once.step("fly")[2:4] == (True, False)


def test_vectors_of_them_step_together() -> None:
    envs = gymnasium.vector.SyncVectorEnv(
        [lambda: make("KeyDoor", level=2, actions="words", scaffold={"image": 32})] * 3
    )
    seen, _ = envs.reset(seed=[1, 2, 3])
    assert seen["image"].shape == (3, 32, 32, 3) and len(set(seen["text"])) == 3
    assert envs.step(np.array([0, 1, 2]))[1].shape == (3,)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_processes_show_the_texts_of_every_step(context: str) -> None:
    """Gymnasium reads shared memory once, before the first reset; arrays follow it, a tuple of texts would stay empty."""
    options = {"level": 2, "actions": "words", "scaffold": {"image": 32}}
    envs = gymnasium.vector.AsyncVectorEnv([functools.partial(make, "KeyDoor", **options)] * 2, context=context)
    here = [make("KeyDoor", **options) for _ in range(2)]
    try:
        seen, _ = envs.reset(seed=[5, 6])
        assert seen["text"] == tuple(env.reset(seed=5 + i)[0]["text"] for i, env in enumerate(here))
        later = envs.step(np.array([0, 3]))[0]
        assert later["text"] == tuple(env.step(a)[0]["text"] for env, a in zip(here, (0, 3)))
        assert isinstance(seen["text"], tuple) and seen["text"] != later["text"]  # what was given stays as it was
    finally:
        envs.close()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
def test_a_copy_goes_on_alone_from_where_the_episode_is(copied: Callable[[Any], Any]) -> None:
    fresh = copied(make("KeyDoor", level=2, size=6))
    assert fresh.reset(seed=4)[0] == make("KeyDoor", level=2, size=6).reset(seed=4)[0]
    env = make("KeyDoor", level=2, actions="words", scaffold={"image": 32}, render_mode="ansi")
    env.reset(seed=1)
    env.step(0)
    other = copied(env)
    assert other.observation_space == env.observation_space and other.render() == env.render()
    for action in (3, 3, 1):
        one, two = env.step(action), other.step(action)
        assert one[0]["text"] == two[0]["text"] and (one[0]["image"] == two[0]["image"]).all() and one[1:4] == two[1:4]
    other.step(0)
    assert env.reset()[1]["seed"] == other.reset()[1]["seed"]


def test_what_does_not_fit_is_named() -> None:
    register_envs()
    for name, by in (("NimDuel", make), ("quintain/NimDuel-v0", gymnasium.make)):
        with pytest.raises(AdapterError, match=r"NimDuel has the seats .*adapters\.pettingzoo\.aec\('NimDuel'\)"):
            by(name)
    with pytest.raises(AdapterError, match="actions is 'keys'; it is one of text, words"):
        make("KeyDoor", actions="keys")
    with pytest.raises(AdapterError, match="no option 'levl'; its options are level, split"):
        make("KeyDoor").reset(seed=0, options={"levl": 3})
    with pytest.raises(AdapterError, match="render_mode is 'human'"):
        make("KeyDoor", render_mode="human")
    with pytest.raises(BadKnob, match="knob size=100: it takes an integer from"):
        make("KeyDoor", size=100)
