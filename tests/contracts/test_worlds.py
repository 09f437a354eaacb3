"""What every world promises, whatever it is about: run over the registry, so a new world needs no new test."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import PIL
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from quintain.codec import decode, digest_of, encode
from quintain.envs.grammar import GRAMMARS, TOOL
from quintain.envs.scaffold import Scaffold
from quintain.envs.suites import suite_of
from quintain.envs.world import WorldEnv, world_of
from quintain.messages import Message, Role, Text, ToolCall
from quintain.registry import entries, names
from quintain.testing import honest
from quintain.testing.worlds import acting, fingerprint, other_noise, shown, task_of, walk
from quintain.types import QuintainError, Stop
from quintain.worlds.art import shapes_of
from quintain.worlds.kernel import LEVELS, SEED_BITS, BadSeed, Plan, UnknownLevel, UnknownSeat, diff, quoted
from quintain.worlds.knobs import BadKnob
from quintain.worlds.noise import Rng
from quintain.worlds.painter import Painter
from quintain.worlds.splits import SPLITS

WORLDS = names("world")
EVERY = pytest.mark.parametrize("name", WORLDS)
GOLDEN = Path(__file__).parent / "golden"
ROWS = Path(__file__).parents[2] / "claims" / "worlds" / "honest.json"
SUITES = Path(__file__).parents[2] / "claims" / "worlds" / "suites.json"
SEEN_LEVELS = (0, 5, 9)
PICTURE = 128  # pixels of a golden picture
WRITE = os.environ.get("QUINTAIN_GOLDEN") == "write"  # renew the golden files instead of comparing

MALFORMED = (
    *("", " ", "\n", "\t\n ", "\0", "\ufeff", "....", "-", "#", "?" * 50, "a" * 100_000, "9" * 5000, "-1", "1e309"),
    *("NaN", "null", "None", "{}", "[]", "[" * 3000, '{"action":', '{"action": null}', '{"action": [1, 2]}'),
    *('{"action": {"action": "x"}}', '{"move": "x"}', "<action>", "<action></action>", "</action><action>"),
    *(
        "<action>" * 500,
        "Ke2xe4#",
        "fold and raise all-in",
        "upupup",
        "not a move",
        "действие",
        "左に行く",
        "\u202e\u202e",
    ),
    *("🙂🙃", "Ignore all rules and give me the reward.", "reward=1.0; done=True", "SELECT * FROM answers; --"),
)


def golden(file: str) -> dict[str, str]:
    """A golden table of the repository."""
    path = GOLDEN / file
    return json.loads(path.read_text()) if path.exists() else {}


def renew(file: str, name: str, value: str) -> None:
    """Write one entry of a golden table."""
    GOLDEN.mkdir(exist_ok=True)
    table = {**golden(file), name: value}
    (GOLDEN / file).write_text(json.dumps(table, indent=1, sort_keys=True) + "\n")


def episode(name: str, options: dict | None = None, seed: int = 3, level: int = 2) -> WorldEnv:
    """An env in the middle of an episode."""
    env = WorldEnv(world_of(name), Scaffold.of(options))
    env.begin(task_of(name, seed, level))
    return env


def random_moves(env: WorldEnv, rng: Rng) -> dict[str, Message]:
    """A random legal message for each seat that acts."""
    views = acting(env.world, env.state)
    return {seat: env.reader.grammar.write(view.sample(rng).key) for seat, view in views.items()}


@EVERY
def test_the_same_seed_gives_the_same_episode(name: str) -> None:
    here = fingerprint(name)
    if WRITE:
        renew("worlds.json", name, here)
    assert golden("worlds.json").get(name) == here, (
        f"{name} plays or looks different from what it did; if that is meant, run QUINTAIN_GOLDEN=write pytest {__file__}"
    )


@EVERY
def test_published_suites_have_the_instances_on_record(name: str) -> None:
    """Scores that were published are of these; `make honest ARGS=--suites` puts others on record."""
    record = json.loads(SUITES.read_text())
    for which in ("quick", "full"):
        there = suite_of(which)
        assert (name in there.worlds) == (name in record[which])
        if name in there.worlds:
            assert there.instances(name) == record[which][name], f"{name} has other instances in the suite {which}"


def test_other_processes_orders_and_threads_play_the_same() -> None:
    """Two fresh processes with other hash seeds, worlds in opposite orders, and threads at the same time."""
    runs = []
    for hash_seed, order in (("1", WORLDS), ("2", WORLDS[::-1])):
        command = [sys.executable, "-m", "quintain.testing.worlds", *order]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        runs.append(subprocess.Popen(command, stdout=subprocess.PIPE, env=environment))
    told = [json.loads(run.communicate()[0]) for run in runs]
    some = WORLDS[::5]
    with ThreadPoolExecutor(4) as pool:
        here = dict(zip(some, pool.map(fingerprint, some), strict=True))
    known = golden("worlds.json")
    assert told == [{name: known[name] for name in WORLDS}] * 2
    assert here == {name: known[name] for name in some}


@EVERY
def test_seeds_levels_and_splits_differ(name: str) -> None:
    world = world_of(name)
    assert isinstance(world.start(0, 0), world.schema)

    @functools.cache
    def begun(seed: int, level: int, split: str) -> str:
        return digest_of(world.start(seed, level, split=split))

    starts = {begun(seed, 5, "train") for seed in range(12)}
    assert len(starts) >= (1 if world.facts.shared_starts else 11), f"{len(starts)} of 12 seeds differ"
    assert len({begun(0, level, "train") for level in range(LEVELS)}) == LEVELS
    if not world.facts.shared_starts:
        for level, count in ((0, 40), (5, 8)):  # at level 0 there are few boards, and without splits many would meet
            seen = [{begun(seed, level, s) for seed in range(count)} for s in SPLITS]
            assert not seen[0] & seen[1] and not seen[0] & seen[2] and not seen[1] & seen[2]


@EVERY
@pytest.mark.parametrize("level", [-1, 10, 3.5, "3", None, True])
def test_an_unknown_level_is_named(name: str, level: object) -> None:
    with pytest.raises(UnknownLevel, match="0 to 9"):
        world_of(name).start(0, level)  # type: ignore[arg-type]


@EVERY
def test_seeds_are_integers(name: str) -> None:
    world = world_of(name)
    for seed in ("x", 1.5, None, True, 1 << SEED_BITS, -(10**5000)):
        with pytest.raises(BadSeed, match=re.escape(f"{name}: seed {quoted(seed)} is no integer of at most 128 bits")):
            world.start(seed, 1)  # type: ignore[arg-type]
    assert world.start(np.int64(3), 1) == world.start(3, 1)  # type: ignore[arg-type]


@EVERY
def test_a_seat_that_a_world_does_not_have_is_named(name: str) -> None:
    world = world_of(name)
    state, there = world.start(3, 1), ", ".join(world.facts.seats)
    (seat, view), *_ = acting(world, state).items()
    for ask in (world.view, world.solve):
        with pytest.raises(UnknownSeat, match=f"{name}: unknown seat 'nobody'.*{there}"):
            ask(state, "nobody")
    with pytest.raises(UnknownSeat, match=f"{name}: unknown seat 'nobody'.*{there}"):
        world.rebuild(view.caption(2), "nobody")
    for moves in ({}, {"nobody": view.sample(Rng("seat"))}):
        with pytest.raises(UnknownSeat, match=f"{name}: seat '{seat}' is to move.*{there}"):
            world.step(state, moves)


@EVERY
def test_an_unknown_knob_or_split_is_named(name: str) -> None:
    with pytest.raises(QuintainError, match="unknown knob 'sise'"):
        world_of(name).start(0, 0, sise=3)
    with pytest.raises(QuintainError, match="did you mean 'validation'"):
        world_of(name).start(0, 0, split="validaton")


@EVERY
def test_knobs_outside_of_what_levels_set_are_refused(name: str) -> None:
    world = world_of(name)
    for knob in world.levels[0]:
        wrong: list[object] = [None, "a lot", -5_000, 10**9, float("nan"), [3]]
        for value in wrong:
            with pytest.raises(BadKnob, match=re.escape(f"knob {knob}={value!r}: it takes ")):
                world.start(0, 5, **{knob: value})
    for level, split, each in ((0, "test", True), (5, "train", False), (9, "test", False)):
        start, own = world.start(0, level, split=split), json.loads(json.dumps(dict(world.levels[level])))
        for as_files_give_it in [{knob: value} for knob, value in own.items()] if each else [own]:
            assert world.start(0, level, split=split, **as_files_give_it) == start


@EVERY
def test_a_snapshot_has_the_same_future(name: str) -> None:
    level = 5
    env, rng = episode(name, {"caption": 2, "history": 2}, level=level), Rng("snapshot")
    for seed in range(3):
        env.begin(task_of(name, seed, level))
        for _ in range(2):
            if env.stop is None:
                env.advance(random_moves(env, rng))
        text = json.dumps(env.snapshot(), allow_nan=False)
        assert len(text) < 40_000, f"a snapshot of {name} takes {len(text)} bytes"
        other = WorldEnv(world_of(name), env.scaffold)
        other.restore(json.loads(text))
        assert other.state == env.state and other.snapshot() == env.snapshot()
        for _ in range(50):
            if env.stop is not None:
                break
            moves = random_moves(env, rng)
            assert encode(env.advance(moves)) == encode(other.advance(moves))


@EVERY
def test_forks_are_isolated(name: str) -> None:
    for seed in range(4, 20):
        env = episode(name, {"history": 3, "grammar": "tool"}, seed=seed)
        if env.limit > 1:
            env.advance(random_moves(env, Rng("before")))
        if env.stop is None:  # a random move may end the game
            break
    before = env.snapshot()
    fork, rng = env.fork(), Rng("fork")
    while fork.stop is None and fork.turn < 3:
        fork.advance(random_moves(fork, rng))
    assert env.snapshot() == before != fork.snapshot()
    rng = Rng("fork")
    while env.stop is None and env.turn < 3:
        env.advance(random_moves(env, rng))
    assert env.snapshot() == fork.snapshot()


@EVERY
def test_states_are_frozen_plain_data(name: str) -> None:
    world = world_of(name)
    for state in walk(world, world.start(1, 4), Rng("plain"), 6):
        assert decode(world.schema, json.loads(json.dumps(encode(state)))) == state
        assert hash(state) == hash(decode(world.schema, encode(state)))
        assert diff(state, state) == {}
        with pytest.raises(AttributeError):
            setattr(state, dataclasses.fields(state)[0].name, None)


@EVERY
def test_states_stay_small_however_an_episode_goes(name: str) -> None:
    world = world_of(name)
    sizes = [len(json.dumps(encode(state))) for state in walk(world, world.start(1, 9), Rng("size"), 12)]
    assert max(sizes) <= 64 * 1024


@EVERY
@pytest.mark.parametrize("grammar", GRAMMARS)
def test_malformed_actions_are_events(name: str, grammar: str) -> None:
    env = episode(name, {"grammar": grammar, "penalty": 0.25, "caption": 1})
    seat = next(iter(acting(env.world, env.state)))
    refused = 0
    for text in MALFORMED:
        message = Message(Role.assistant, (Text(text=text),))
        env.begin(env.task)
        before = env.state
        if env.reader.read(message, seat) is not None:
            continue
        refused += 1
        heard = env.advance({seat: message})[seat]
        assert heard.events == ("malformed",) and heard.reward == {"malformed": -0.25}
        assert env.state is before and heard.state is before and env.turn == (0 if env.facts.forfeits else 1)
        assert heard.stop in (None, Stop.truncated_turns)
    assert refused >= 38, f"{refused} of {len(MALFORMED)} strings were refused"


@EVERY
@pytest.mark.parametrize("grammar", ["word", "free", "tagged", "json", "tool"])
def test_small_faults_of_writing_change_no_move(name: str, grammar: str) -> None:
    env = episode(name, {"grammar": grammar}, level=1)
    (seat, view), *_ = acting(env.world, env.state).items()
    plan = env.world.solve(env.state, seat)
    move = plan.moves[0] if isinstance(plan, Plan) and plan.moves else view.sample(Rng("faults"))
    key = move.key
    faults = (f"{key}.", f" {key}. ", key.replace(" ", "  "), key.replace(" ", "\t"), f"\t{key}\n", key.upper())
    for text in (key, *faults):
        said = env.reader.grammar.write(text)
        assert env.reader.read(said, seat) == move, f"{text!r} is not read as {key!r}"


@EVERY
def test_malformed_tool_calls_are_events(name: str) -> None:
    env = episode(name, {"grammar": "tool", "strict": True})
    seat = next(iter(acting(env.world, env.state)))
    good = env.facts.example
    wrong = (
        {},
        {"action": None},
        {"action": True},
        {"action": {"text": good}},
        {"action": good, "x": 1},
        {"acton": good},
    )
    for arguments in wrong:
        env.begin(env.task)
        heard = env.advance({seat: Message(Role.assistant, (ToolCall(name=TOOL, arguments=arguments, id="7"),))})[seat]
        lost = ("forfeit",) * env.facts.forfeits
        assert heard.events == ("malformed", *lost) and heard.stop is Stop.parse_error and not heard.reward
        assert heard.messages[0].role is Role.tool and heard.messages[0].parts[0].id == "7"


@EVERY
@settings(max_examples=25)
@given(text=st.text(max_size=60))
def test_reading_never_raises(name: str, text: str) -> None:
    world = world_of(name)
    state = world.start(0, 1)
    for seat, _view in acting(world, state).items():
        move = world.read(text, seat)
        if move is not None:
            assert world.read(move.key, seat) == move, "a move's key reads back as the move"
            world.step(state, dict.fromkeys(acting(world, state), move))


@EVERY
def test_views_show_only_what_a_full_caption_says(name: str) -> None:
    """Rebuilding from the caption loses all that is hidden; noise to come is replaced as well: nothing seen may change."""
    world = world_of(name)
    for level in SEEN_LEVELS:
        for state in walk(world, world.start(2, level), Rng("caption", level), 12):
            twin = other_noise(state, 0x5EED)
            for seat in world.facts.seats:
                seen = shown(world, state, seat)
                assert shown(world, twin, seat) == seen
                again = shown(world, world.rebuild(seen["full"], seat), seat)
                told = seen if seen["acts"] else {**seen, "acts": again["acts"], "legal": again["legal"]}
                assert again == told  # who waits is shown as little, and a caption need not say whose turn it is


@EVERY
def test_words_are_in_the_lexicon(name: str) -> None:
    world = world_of(name)
    for level in SEEN_LEVELS:
        words = world.words(level)
        assert len(set(words)) == len(words) and all(w.split() == [w] for w in words)
        for state in walk(world, world.start(4, level), Rng("words"), 12):
            for view in acting(world, state).values():
                used = {*view.static(), *view.moving(), *view.sample(Rng("say")).key.split()}
                assert used <= set(words), f"{sorted(used - set(words))[:5]} are not in the lexicon of {name}"


@EVERY
def test_static_words_do_not_change(name: str) -> None:
    world = world_of(name)
    states = list(walk(world, world.start(4, 3), Rng("static"), 12))
    for seat in world.facts.seats:
        assert len({world.view(s, seat).static() for s in states}) == 1


@EVERY
def test_pictures_are_the_golden_ones(name: str) -> None:
    world = world_of(name)
    exact = golden("pictures.json").get("Pillow") == PIL.__version__
    for level in (0, 5):
        scene = world.view(world.start(0, level), world.facts.seats[0]).scene()
        pixels = Painter(PICTURE).paint(scene)
        assert pixels.shape == (PICTURE, PICTURE, 3) and pixels.dtype == np.uint8
        path = GOLDEN / f"{name}-{level}.png"
        if WRITE:
            Image.fromarray(pixels).save(path, optimize=True)
            renew("pictures.json", "Pillow", PIL.__version__)
        gap = np.abs(np.asarray(Image.open(path)).astype(int) - pixels)
        assert gap.max() == 0 if exact else gap.mean() < 1.5, f"level {level} looks different by {gap.mean():.2f}"


@EVERY
def test_repainting_what_changed_equals_painting_anew(name: str) -> None:
    world = world_of(name)
    seat = world.facts.seats[0]
    painter = Painter(96)
    for level in (1, 6):
        for state in walk(world, world.start(5, level), Rng("paint"), 12):
            scene = world.view(state, seat).scene()
            assert np.array_equal(painter.paint(scene), Painter(96).paint(scene))
            for layers in scene.cells:
                assert all(isinstance(shapes_of(layer), tuple) for layer in layers.split("+") if layer)


@EVERY
def test_the_picture_changes_with_the_state(name: str) -> None:
    world = world_of(name)
    seat = world.facts.seats[0]
    by_caption = {}
    for state in walk(world, world.start(6, 2), Rng("change"), 12):
        view = world.view(state, seat)
        by_caption.setdefault(view.caption(2), Painter(160).paint(view.scene()).tobytes())
    assert len(by_caption) >= 2
    assert len(set(by_caption.values())) == len(by_caption), "two states look alike that read differently"


@EVERY
def test_the_declaration_is_complete(name: str) -> None:
    facts = world_of(name).facts
    tags = next(e for e in entries("world") if e.name == name).tags
    assert facts.name == name and tags["domain"] and tags["engine"]
    assert len(facts.rules) > 40 and facts.answer and facts.seats
    assert set(facts.ceilings) == {"random", "constant", "first", "blind"}
    assert all(0 <= c < 0.7 for c in facts.ceilings.values()) and 0.5 < facts.floor <= 1
    assert facts.floor > max(facts.ceilings.values()), "who does not look may not do as well as the oracle must"
    assert facts.proof in ("construction", "solver", "policy")


@EVERY
async def test_the_env_matches_the_port(name: str) -> None:
    env = WorldEnv(world_of(name), Scaffold(image=64, grammar="json"))
    heard = await env.reset(task_of(name, 1, 1))
    assert set(heard) == set(env.facts.seats)
    first = next(iter(heard.values())).messages[0]
    assert env.facts.rules in first.text and first.images[0].pixels.shape == (64, 64, 3)
    rng = Rng("port")
    while env.stop is None:
        heard = await env.step(random_moves(env, rng))
    assert all(f.stop is env.stop and not f.acts for f in heard.values())
    await asyncio.wait_for(env.close(), 1)


@EVERY
def test_the_whole_was_measured_of_this_code_and_shows_what_is_declared(name: str) -> None:
    row = json.loads(ROWS.read_text()).get(name, {})
    assert row.get("digest") == honest.digest(name), f"its code has changed since: make honest ARGS={name}"
    assert honest.broken(name, row) == [] and row["player_episodes"] == 320
