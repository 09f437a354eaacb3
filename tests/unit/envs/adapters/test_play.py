"""What every shape of our worlds stands on, without a peer."""

from __future__ import annotations

import importlib.util
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quintain.envs.adapters.gem import make as make_gem
from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.play import AdapterError, Play, Row
from quintain.envs.adapters.reasoning_gym import WorldDataset
from quintain.envs.world import NoEpisode
from quintain.registry import UnknownName, names
from quintain.serve.agentgym import Games
from quintain.worlds.kernel import Plan, UnknownLevel
from quintain.worlds.knobs import BadKnob
from quintain.worlds.noise import Rng
from quintain.worlds.own import solved


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
    assert play.say({"agent": None})["agent"].info["events"] == ("malformed",)


def test_options_of_an_episode_choose_level_and_split() -> None:
    play = Play("KeyDoor", level=0)
    one = play.begin(5)["agent"].text
    assert play.begin(5, {"level": 3})["agent"].text != one
    assert play.begin(5, {"split": "test"})["agent"].text != one
    assert play.begin(5)["agent"].text == one
    wrong = [
        (5, {"levl": 3}, AdapterError, "no option 'levl'; its options are level, split"),
        (5, {"level": 12}, UnknownLevel, "no level 12; levels are the integers 0 to 9"),
        (5, {"level": [1]}, UnknownLevel, r"no level \[1\]"),
        (5, {"split": ["test"]}, AdapterError, r"the split is \['test'\]; it is one of train, validation, test, all"),
        (-1, None, AdapterError, "the seed is -1; it is a whole number from 0"),
        ("5", None, AdapterError, "the seed is '5'"),
        (True, None, AdapterError, "the seed is True"),
        (float("inf"), None, AdapterError, "the seed is inf"),
    ]
    for seed, options, error, told in wrong:
        with pytest.raises(error, match=told):
            play.begin(seed, options)
    assert play.begin(np.int64(5))["agent"].text == one and play.env.task.seed == 5


def test_what_is_heard_after_a_restore_is_of_the_episode_that_came_back() -> None:
    play, other = Play("NimDuel", level=1), Play("NimDuel", level=1)
    opening = play.begin(3)
    other.begin(4)
    again = other.restore(play.env.snapshot())
    assert {seat: heard.text for seat, heard in again.items()} == {seat: heard.text for seat, heard in opening.items()}
    assert {heard.info["seed"] for heard in again.values()} == {3} and again["first"].info == opening["first"].info
    assert play.say({"first": "?"}) == other.say({"first": "?"})


def test_what_cannot_be_had_is_named() -> None:
    with pytest.raises(AdapterError, match="grammar 'tool' wants tool calls"):
        Play("KeyDoor", scaffold={"grammar": "tool"})
    with pytest.raises(UnknownName, match="KeyDoor"):
        Play("KeyDor")
    with pytest.raises(AdapterError, match="MiniSudoku has no fixed list"):
        Play("MiniSudoku").words()
    # its draws are one word each, its discards two
    with pytest.raises(AdapterError, match="GinRummy has no fixed list"):
        Play("GinRummy").words()
    with pytest.raises(BadKnob, match="knob size=99: it takes an integer from"):
        Play("KeyDoor", knobs={"size": 99})
    with pytest.raises(AdapterError, match="the split is 'tset'; it is one of train, validation, test, all"):
        Play("KeyDoor", split="tset")
    with pytest.raises(AdapterError, match="the scaffold is 'caption'; give its options"):
        Play("KeyDoor", scaffold="caption")
    with pytest.raises(AdapterError, match=r"the options of a reset are \[1\]; give a mapping"):
        Play("KeyDoor").begin(1, [1])
    for size in (-1, 2.5, "x"):
        with pytest.raises(AdapterError, match="size is .*; it is a whole number of at least 0"):
            WorldDataset("KeyDoor", size=size)
    assert Play("Hanoi").words() == ("ab", "ac", "ba", "bc", "ca", "cb")


@pytest.mark.parametrize("world", names("world"))
def test_a_list_of_actions_has_each_that_a_random_player_or_the_oracle_takes(world: str) -> None:
    for level in (0, 5):
        play = Play(world, level)
        try:
            words = set(play.words())
        except AdapterError:
            continue
        for seed in range(50, 54):
            heard, rng = play.begin(seed), Rng("played", seed)
            for _ in range(20):
                best = solved(play.env.world, play.env.state, play.movers[0]) if seed % 2 else None
                legal = {seat: heard[seat].info["legal"] for seat in play.movers}
                said = {seat: rng.pick(keys) for seat, keys in legal.items()}
                if isinstance(best, Plan) and best.moves:
                    said[play.movers[0]] = best.moves[0].key
                assert words.issuperset([*said.values(), *(key for keys in legal.values() for key in keys)])
                write = play.env.reader.grammar.write
                heard = play.say({seat: write(key).text for seat, key in said.items()})
                if play.env.stop is not None or not all(heard[seat].info["legal"] for seat in play.movers):
                    break


def test_a_list_of_actions_is_whole_or_there_is_none() -> None:
    # stones are one word each, slides two; whole answers are no list, though some are one word of it
    for world in ("TakLite", "TakLiteDuel", "CutMin", "MazePlan"):
        for level in range(10):
            with pytest.raises(AdapterError, match=f"{world} has no fixed list"):
                Play(world, level).words()
    ladder = Play("WordLadder", 9)
    assert {"to able", "to hint", "to done"} <= set(ladder.words()), (
        "also what is not read alone, as it is said for other reasons"
    )
    assert all(ladder.env.world.read(word, "agent").key == word for word in ladder.words())


def test_a_dataset_repeats_itself_and_scores_by_the_rules() -> None:
    data, again = WorldDataset("MiniSudoku", 2, seed=4, size=5), WorldDataset("MiniSudoku", 2, seed=4, size=5)
    entries = list(data)
    assert entries == [again[i] for i in range(5)] and len({e["question"] for e in entries}) == 5 == len(data)
    assert [data.score_answer(e["answer"], e) for e in entries] == [1.0] * 5
    assert [again.score_answer(entries[0]["answer"], e) for e in entries[1:]] == [0.0] * 4
    assert data.score_answer(None, entries[0]) == data.score_answer("", entries[0]) == 0.0
    assert data[-1] == data[4]
    for wrong in ({}, {"metadata": 3}, {"metadata": {"source_index": 1}}, None):
        with pytest.raises(AdapterError, match="has no seed in its metadata; give an entry of this dataset"):
            data.score_answer("x", wrong)
    with pytest.raises(IndexError):
        data[5]
    assert data[np.int64(1)] == entries[1], "as a permutation of NumPy has them"
    assert list(WorldDataset("MiniSudoku", 2, seed=np.int64(4), size=np.int64(5))) == entries
    assert list(pickle.loads(pickle.dumps(data))) == entries, "as workers of a loader that are spawned have it"
    with pytest.raises(AdapterError, match="Maze3D at level 0 has .* turns, and no plan"):
        WorldDataset("Maze3D")


def test_an_entry_is_scored_at_its_own_level_and_split_and_only_by_its_own_world() -> None:
    easy, hard = WorldDataset("KeyDoor", 2, split="test", size=1), WorldDataset("KeyDoor", 5, size=1)
    entry = easy[0]
    assert hard.score_answer(entry["answer"], entry) == 1.0 and hard.score_answer("up", entry) == 0.0
    with pytest.raises(AdapterError, match="the entry is of 'quintain/KeyDoor', this dataset quintain/MiniSudoku"):
        WorldDataset("MiniSudoku").score_answer("x", entry)
    for none in (None, 2, "2"):
        with pytest.raises(AdapterError, match=f"the difficulty of the entry is {none!r}; it is a mapping such as"):
            easy.score_answer("x", {**entry, "metadata": {**entry["metadata"], "difficulty": none}})
    bare = {name: entry["metadata"][name] for name in ("seed", "split")}
    assert easy.score_answer(entry["answer"], {"metadata": bare}) == 1.0, "one that says no level has the dataset's"


def test_a_plan_is_not_asked_for_in_fewer_turns_than_it_has() -> None:
    few = WorldDataset("KeyDoor", 2, size=3, scaffold={"turns": 8})
    for entry in few:
        assert entry["answer"].count("\n") < 8 and few.score_answer(entry["answer"], entry) == 1.0
    with pytest.raises(
        AdapterError, match="none of 1000 instances of KeyDoor can be asked so in the 2 turns of the option turns"
    ):
        WorldDataset("KeyDoor", 2, size=1, scaffold={"turns": 2})[0]


def test_resets_without_a_seed_go_on_from_the_last_that_had_one() -> None:
    one, two, other = Row(), Row(), Row(7)
    first = [one.next() for _ in range(3)]
    assert first == [two.next() for _ in range(3)] and len(set(first)) == 3
    assert first[0] != other.next()
    assert (one.next(7), one.next()) == (7, Row(7).next())
    assert one.next(8) == 8 and one.next() != Row(7).next(), "two envs with seeds of their own do not meet"
    for wrong in (-1, "x", True):
        with pytest.raises(AdapterError, match="the seed is"):
            Row(wrong)


def test_a_dataset_has_pictures_and_asks_for_whole_plans() -> None:
    data = WorldDataset("KeyDoor", 2, seed=4, size=3, scaffold={"image": 64})
    for entry in data:
        assert entry["image"].shape == (64, 64, 3) and entry["image"].std() > 0
        assert "in their order" in entry["question"] and data.score_answer(entry["answer"], entry) == 1.0
        assert data.score_answer(entry["answer"].partition("\n")[0], entry) == 0.0
    assert "image" not in WorldDataset("KeyDoor", 2, size=1)[0]


@pytest.mark.parametrize("scaffold", [{"image": 256, "caption": 0}, {"image": 256}])
def test_a_picture_is_refused_where_the_player_would_not_see_it(scaffold: dict[str, int]) -> None:
    told = (
        "the scaffold has image=256, and {} shows texts alone; leave image out, with caption=1 or 2, or play it through"
    )
    with pytest.raises(AdapterError, match=told.format("GEM")):
        make_gem("KeyDoor", scaffold=scaffold)
    with pytest.raises(AdapterError, match=told.format("a game here")):
        Games(lambda: Play("KeyDoor", scaffold=scaffold))


@pytest.mark.parametrize("warns", ["was = 1 is 'a'", "import warnings\nwarnings.warn('soon gone', DeprecationWarning)"])
def test_a_library_that_warns_of_its_code_is_imported_whole(
    warns: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stale_peer.py").write_text(f"{warns}\nwhole = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert peer("stale_peer").whole
            with pytest.raises(DeprecationWarning):  # ours are errors still
                warnings.warn("of ours", DeprecationWarning, stacklevel=1)
    finally:
        sys.modules.pop("stale_peer", None)


@pytest.fixture
def gem() -> Any:
    if not importlib.util.find_spec("gem"):
        pytest.skip("gem is not installed")
    return peer("gem")  # whose import draws from the global random state


def test_gem_forks_an_episode(gem: Any) -> None:
    from quintain.envs.adapters.gem import register_envs

    assert register_envs("KeyDoor") == register_envs("KeyDoor") == ("quintain:KeyDoor",)
    env = gem.make("quintain:KeyDoor", level=2)
    assert isinstance(env, gem.core.Env)
    for early in (env.sample_random_action, lambda: env.spawn(same_state=True)):
        with pytest.raises(NoEpisode, match="no episode was begun; call reset first"):
            early()
    said = []
    for _ in range(8):
        env.reset(seed=3)
        said.append(env.sample_random_action())
    assert len(set(said)) > 1, "nor does a random player play the same game for ever"
    env.step("I think that I go up")
    other = env.spawn(same_state=True)
    action = env.sample_random_action()
    assert other.step(action) == env.step(action) and other.step(action)[4]["seed"] == 3
    with pytest.raises(AdapterError, match=r"adapters\.textarena"):
        make_gem("NimDuel")


def test_gem_makes_vectors_whose_envs_play_instances_of_their_own(gem: Any) -> None:
    from quintain.envs.adapters.gem import register_envs

    (name,) = register_envs("KeyDoor")
    env = gem.make_vec([name] * 3, level=2)
    first, _ = env.reset()
    again, _ = gem.make_vec([name] * 3, level=2).reset()
    other, _ = gem.make_vec([name] * 3, level=2, seed=50).reset()
    assert first == again and len({*first, *other}) == 6
    env.reset(seed=1)
    assert len({made.reset()[1]["seed"] for made in env.envs}) == 3, (
        "nor do they meet where episodes follow by themselves"
    )
    assert gem.make(name, seed=4).spawn().reset() == gem.make(name, seed=4).reset()
    with pytest.raises(AdapterError, match="the seed is -3"):
        gem.make(name, seed=-3)


@pytest.mark.parametrize(
    ("module", "made", "own"),
    [
        ("gymnasium", "make", "render_mode"),
        ("pettingzoo", "aec", "actions"),
        ("pettingzoo", "parallel", "actions"),
        ("gem", "make", "seed"),
        ("textarena", "Arena", "split"),
        ("openenv", "make", "split"),
    ],
)
def test_a_misspelt_option_of_whatever_shape_is_told_with_options_and_knobs(module: str, made: str, own: str) -> None:
    # gem and openenv look for their libraries later
    if module not in ("gem", "openenv") and not importlib.util.find_spec(module):
        pytest.skip(f"{module} is not installed")
    make = getattr(importlib.import_module(f"quintain.envs.adapters.{module}"), made)
    told = [
        (
            {own[::-1]: 1},
            rf"unknown option or knob '{own[::-1]}'.* options are level, .*{own}.*, knobs of KeyDoor size, ",
        ),
        ({f"{own}s" if own != "actions" else "action": 1}, f"did you mean {own}\\?"),
        ({"captoin": 1}, r"did you mean scaffold=\{'caption': \.\.\.\}"),
        ({"caption": 1}, r"caption is an option of the scaffold; write scaffold=\{'caption': 1\}"),
        ({"sise": 6}, r"did you mean size\?"),
    ]
    for given, why in told:
        with pytest.raises(BadKnob, match=why):
            make("KeyDoor", **given)
    if own != "seed":
        with pytest.raises(BadKnob, match=r"chosen by the reset, as in reset\(seed=1\)"):
            make("KeyDoor", seed=1)
