"""World envs: what a turn costs, what malformed actions do, two seats, pictures, and the life of an episode."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, make_dataclass, replace
from typing import Any

import numpy as np
import pytest

from quintain.envs.scaffold import Scaffold, sentences
from quintain.envs.snapshots import ABOUT, FORMAT, schema_digest, sealed
from quintain.envs.world import BadSnapshot, NoEpisode, Reader, WorldEnv, world, world_of
from quintain.messages import Message
from quintain.ports import SOLO, Env
from quintain.registry import UnknownName, build, names, provenance
from quintain.testing.worlds import task_of
from quintain.types import Stop, Task
from quintain.worlds.engines.board import chess
from quintain.worlds.engines.graph import sheet
from quintain.worlds.engines.grid import merge
from quintain.worlds.kernel import BadSeed, Choices, Facts, Move, Outcome, UnknownLevel, View
from quintain.worlds.knobs import BadKnob, lexicon
from quintain.worlds.noise import Rng
from quintain.worlds.own import BadWorld, check_start
from quintain.worlds.painter import Painter
from quintain.worlds.scene import Scene

TASK = task_of("KeyDoor", 1, 2)


def env_of(**options: Any) -> WorldEnv:
    """A KeyDoor env that has begun."""
    env = WorldEnv(world_of("KeyDoor"), Scaffold.of({"grammar": "word", **options}))
    env.begin(TASK)
    return env


def say(env: WorldEnv, text: str, seat: str = SOLO) -> Any:
    """One turn of one seat."""
    return env.advance({seat: Message.of("assistant", text)})[seat]


def test_every_turn_counts_until_the_budget_is_spent() -> None:
    env = env_of()
    stops = [say(env, text).stop for text in ["up", "nonsense"] * 8]
    assert stops == [None] * 15 + [Stop.truncated_turns]
    with pytest.raises(NoEpisode, match="call reset first"):
        say(env, "up")


def test_a_malformed_action_costs_a_turn_and_the_penalty() -> None:
    env = env_of(penalty=0.1)
    before = env.state
    heard = say(env, "fly")
    assert heard.events == ("malformed",) and heard.reward == {"malformed": -0.1} and heard.action == ""
    assert env.state is before and heard.acts and "can be read" in heard.messages[0].text
    strict = env_of(strict=True)
    heard = say(strict, "fly")
    assert heard.stop is Stop.parse_error and not heard.acts and not heard.reward


def test_success_is_rewarded_once_and_ends_the_episode() -> None:
    env = env_of()
    path = [m.key for m in env.world.solve(env.state, SOLO).moves]
    heard = [say(env, text) for text in path]
    assert [f.reward for f in heard] == [{}] * (len(path) - 1) + [{"success": 1.0}]
    assert heard[-1].stop is Stop.done and [f.action for f in heard] == path


def test_synonyms_have_one_key() -> None:
    assert say(env_of(), "NORTH").action == say(env_of(), "u").action == "up"


def test_pictures_are_raw_and_change_with_the_state() -> None:
    env = env_of(image=96, caption=0, feedback=False)
    one, two, three = (say(env, t).messages[0].images[0].pixels for t in ("left", "right", "left"))
    assert one.dtype == np.uint8 and not np.array_equal(one, two) and np.array_equal(one, three)


def test_the_picture_of_an_ended_episode_is_painted_for_those_who_look(monkeypatch: pytest.MonkeyPatch) -> None:
    painted = []
    monkeypatch.setattr(
        Painter, "paint", lambda self, scene, paint=Painter.paint: painted.append(scene) or paint(self, scene)
    )
    env = env_of(image=96)
    path = [m.key for m in env.world.solve(env.state, SOLO).moves]
    heard = [say(env, text) for text in path]
    assert len(painted) == len(path), "the first state and all but the last"
    last = heard[-1].messages[0].images[0]
    asyncio.run(env.reset(TASK))
    scene = env.world.view(heard[-1].state, SOLO).scene()
    assert np.array_equal(last.pixels, Painter(96).paint(scene)), "another episode has begun since"


def test_members_of_a_group_share_their_start() -> None:
    make = world({"style": "words"})
    one, two = make(TASK), make(TASK)
    assert isinstance(one, Env) and provenance(make) == {"kind": "env", "name": "world", "scaffold": {"style": "words"}}
    first, second = (asyncio.run(env.reset(TASK)) for env in (one, two))
    assert first[SOLO].state is second[SOLO].state
    other = asyncio.run(one.reset(replace(TASK, seed=2)))
    assert other[SOLO].state != first[SOLO].state
    assert asyncio.run(make(TASK).reset(replace(TASK, params={"size": 6})))[SOLO].state.board.width == 6


def test_unknown_worlds_are_named() -> None:
    make = build("env", {"name": "world"})
    with pytest.raises(UnknownName, match="did you mean 'KeyDoor'"):
        make(replace(TASK, env="KeyDor"))


def test_what_readers_remember_is_bounded() -> None:
    reader = Reader(world_of("KeyDoor"), Scaffold(grammar="free"))
    for i in range(5000):
        assert reader.read(Message.of("assistant", f"{i} up"), SOLO) == Move("up")
        reader.start(replace(TASK, level=0, seed=i % 40))
    assert len(reader.known) <= 4096 and len(reader.starts) == 40
    for i in range(1000):
        reader.start(replace(TASK, level=0, seed=i))
        assert len(reader.starts) <= 512, "those of Fetch3D hold 100 kB each"
    assert reader.read(Message.of("assistant", "up" + " " * 5000), SOLO) == Move("up")
    assert all(len(text) <= 200 for text, _ in reader.known)


@pytest.mark.parametrize(
    ("cache", "entry"), [(chess.over, 770), (merge._best, 360), (merge.swept, 280), (sheet._truth, 18_500)]
)
def test_what_worlds_remember_of_positions_stays_at_some_ten_megabytes(cache: Any, entry: int) -> None:
    """The bytes of an entry were measured: a board of 66 numbers, a grid, a line, a graph with what was found out about it."""
    assert cache.cache_info().maxsize * entry < 30e6


@pytest.mark.parametrize("wrong", [{"seed": True}, {"level": True}, {"level": 1.0}, {"seed": 1.0}])
def test_what_is_equal_to_a_seed_or_a_level_is_still_none(wrong: dict[str, Any]) -> None:
    reader = Reader(world_of("KeyDoor"), Scaffold())
    one = replace(TASK, seed=1, level=1)
    assert reader.start(one) is reader.start(one), "kept"
    with pytest.raises((BadSeed, UnknownLevel)):
        reader.start(replace(one, **wrong))


@pytest.mark.parametrize("level", [-1, 3, None, "2"])
def test_captions_have_three_levels(level: Any) -> None:
    view = world_of("KeyDoor").view(world_of("KeyDoor").start(0, 0), SOLO)
    assert view.caption(0) == "" and view.caption(1) != view.caption(2)
    with pytest.raises(UnknownLevel, match=f"there is no caption level {level!r}; they are 0, 1 and 2"):
        view.caption(level)


@pytest.mark.parametrize(
    ("name", "level", "params"),
    [
        *(("KeyDoor", 0, {"size": 9}), ("NimGame", 3, {"tallest": 15}), ("Alquerque", 7, {"columns": 6})),
        *(("CheckersDuel", 3, {"size": 7}), ("GinRummy", 0, {"limit": 7, "slips": 71}), ("KuhnDuel", 5, {"hands": 18})),
    ],
)
def test_with_knobs_a_lexicon_has_the_words_of_their_values(name: str, level: int, params: dict[str, int]) -> None:
    world = world_of(name)
    assert lexicon(world, (level, level), {}) == list(dict.fromkeys(world.words(level)))
    with_knobs, without = ({*lexicon(world, (level,), knobs)} for knobs in (params, {}))
    said = set[str]()
    for seed in range(8):
        state = world.start(seed, level, **params)
        for seat in world.facts.seats:
            view = world.view(state, seat)
            said |= {*view.static(), *view.moving(), *(word for move in view.legal() for word in move.key.split())}
    assert said <= with_knobs and not said <= without
    assert lexicon(world, (level,), {}) == list(dict.fromkeys(world.words(level))), "the world is as it was"


def test_params_of_a_task_that_are_no_knobs_are_named() -> None:
    env = env_of()
    env.begin(task_of("KeyDoor", 1, 2))  # its start is remembered
    for params, told in (([], "list"), ([1], "list"), ("size", "str"), ({1: 2}, "the knob 1")):
        with pytest.raises(BadKnob, match=f"KeyDoor: .*{told}"):
            env.begin(Task(key="t", env="KeyDoor", seed=1, level=2, params=params))  # pyrefly: ignore


def resealed(snapshot: Mapping[str, Any], **held: Any) -> dict[str, Any]:
    """As one of these versions whose states are not ours would make it."""
    kept = {key: value for key, value in snapshot.items() if key not in (*ABOUT, "check")}
    return sealed(snapshot["world"], world_of(snapshot["world"]).schema, {**kept, **held})


def leaves(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Whatever a JSON value holds, with the way to it."""
    yield at, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from leaves(one, (*at, key))


@pytest.mark.parametrize("name", ["KeyDoor", "LightsOut", "NimDuel"])
def test_a_snapshot_that_was_changed_anywhere_is_refused_before_it_is_read(name: str) -> None:
    env = WorldEnv(world_of(name))
    env.begin(task_of(name, 3, 2))
    good = json.loads(json.dumps(env.snapshot()))
    for at, value in list(leaves(good))[1:]:
        for other in (
            None,
            "a",
            -1,
            10**6,
            10**5000,
            [],
            value[:-1] if isinstance(value, list | str) and value else [1],
        ):
            if type(other) is type(value) and other == value:
                continue
            changed = json.loads(json.dumps(good)) if at else {}
            inside = changed
            for key in at[:-1]:
                inside = inside[key]
            inside[at[-1]] = other
            with pytest.raises(BadSnapshot, match=f"{name}: "):
                env.restore(changed)
    env.restore(good)


def test_the_schema_of_states_is_told_by_the_names_and_types_of_all_fields() -> None:
    def made(inner: Any, outer: Any = None) -> str:
        within = make_dataclass("Inner", [("at", inner)])
        return schema_digest(make_dataclass("State", [("inner", within), ("more", outer or tuple[int, ...])]))

    assert made(int) == made(int)
    told = {made(int), made(str), made(int | None), made(tuple[int, int]), made(tuple[int, ...]), made(int, list[int])}
    assert len(told) == 6
    assert made("Hidden") == made("Hidden") != made("Elsewhere"), "names that only a function knows"
    assert len({schema_digest(world_of(name).schema) for name in ("KeyDoor", "Sokoban", "NimDuel")}) == 3


def test_what_is_no_snapshot_of_the_world_is_refused_and_changes_nothing() -> None:
    env, other = env_of(), WorldEnv(world_of("Sokoban"))
    with pytest.raises(NoEpisode, match="Sokoban: no episode was begun; call reset first"):
        other.snapshot()
    other.begin(task_of("Sokoban", 1, 2))
    say(env, "down")
    good = env.snapshot()
    assert (good["format"], good["world"]) == (FORMAT, "KeyDoor") and set(good["state"]) <= set(good["fields"])
    wrong: list[tuple[Any, str]] = [
        (None, "a snapshot is an object, not None"),
        ({"a": 1}, "has the format None, read is 4; give back what snapshot"),
        ({**good, "format": 1}, "has the format 1, read is 4"),
        (
            {"format": FORMAT},
            "lacks version, world, fields, schema, task, state, turn, limit, stop, past, unheard, refused, calls, check",
        ),
        (other.snapshot(), "is of the world 'Sokoban'; restore it in an env of that"),
        ({**good, "fields": ["board", "lives"]}, r"has the fields \['board', 'lives'\], here they are board,"),
        ({**good, "schema": "00"}, "has the schema '00' of Quintain '.*', read is '.*' of '"),
        (
            {**good, "task": {**good["task"], "env": "Sokoban"}},
            "changed since it was made: its task is of the world 'Sokoban'",
        ),
        (
            {**good, "task": {**good["task"], "level": 3}},
            "changed since it was made: its check is '.*', that of what it",
        ),
        (resealed(good, state={"lives": 3}), "cannot be read .InvariantError: .* has no field 'lives'"),
        (resealed(good, state=dict.fromkeys(good["fields"])), "cannot be read"),
        (resealed(good, state=None), "cannot be read"),
        (resealed(good, task=None), "cannot be read .ValueError: there is no task"),
        (resealed(good, turn="soon"), "cannot be read .ValueError"),
        (resealed(good, stop="asleep"), "cannot be read .ValueError"),
    ]
    for snapshot, told in wrong:
        with pytest.raises(BadSnapshot, match=f"KeyDoor: .*{told}"):
            env.restore(snapshot)
        assert env.snapshot() == good and env.movers == {SOLO}
    fresh = WorldEnv(world_of("KeyDoor"), env.scaffold)
    fresh.restore(json.loads(json.dumps(good)))
    assert fresh.snapshot() == good and say(fresh, "up") == say(env, "up")


@pytest.mark.parametrize("name", names("world"))
def test_a_snapshot_is_shown_as_it_was_left(name: str) -> None:
    env, other = (WorldEnv(world_of(name), Scaffold.of({"grammar": "word", "history": 2})) for _ in range(2))
    env.begin(task_of(name, 3, 1))
    for again in (True, False):
        other.restore(json.loads(json.dumps(env.snapshot())))
        assert (other.seen(), other.movers, other.limit) == (env.seen(), env.movers, env.limit)
        if again:
            env.advance({seat: Message.of("assistant", "?") for seat in env.movers})


@dataclass(frozen=True)
class Pot:
    """The state of a tiny game for two: who took what, and a card that only `left` may see."""

    card: int
    taken: tuple[int, ...] = ()


class TakeTurns:
    """Two seats take one or two chips in turn; whoever takes the fifth wins."""

    facts = Facts(
        name="TakeTurns",
        rules="Take one or two.",
        answer="One of: one, two.",
        example="one",
        seats=("left", "right"),
        sayings={"illegal": "Not that."},
    )
    schema = Pot
    choices = Choices("one", "two")

    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Pot:
        return Pot(seed % 7)

    def view(self, state: Pot, seat: str) -> View[Pot]:
        return View(self, state, seat, acts=self.facts.seats[len(state.taken) % 2] == seat)

    def step(self, state: Pot, moves: Mapping[str, Move]) -> Outcome[Pot]:
        (seat, move), total = next(iter(moves.items())), sum(state.taken)
        chips = 1 if move.key == "one" else 2
        if total + chips > 5:
            return Outcome(state, events={seat: ("illegal",)})
        new = Pot(state.card, (*state.taken, chips))
        return Outcome(new, {seat: {"success": 1.0}} if total + chips == 5 else {}, total + chips == 5)

    def read(self, text: str, seat: str) -> Move | None:
        return self.choices.read(text)

    def turns(self, state: Pot) -> int:
        return 20

    def caption(self, state: Pot, seat: str, level: int) -> str:
        return f"{sum(state.taken)} gone" + (f", card {state.card}" if seat == "left" else "")

    def legal(self, state: Pot, seat: str) -> tuple[Move, ...]:
        return self.choices.moves

    def sample(self, state: Pot, seat: str, rng: Rng) -> Move:
        return rng.pick(self.choices.moves)

    def scene(self, state: Pot, seat: str) -> Scene:
        return Scene(width=1, height=1)


@pytest.mark.parametrize(
    ("held", "named"),
    [
        ([1], "list"),
        ((1, {"a": 2}), "dict"),
        (Pot(1, (set(),)), "set"),  # pyrefly: ignore
        (bytearray(2), "bytearray"),
        (np.zeros(2), "ndarray"),
    ],
)
def test_a_first_state_that_a_step_could_change_for_the_whole_group_is_refused(held, named, monkeypatch) -> None:
    monkeypatch.setattr(TakeTurns, "start", lambda *a, **k: Pot(1, held))
    with pytest.raises(BadWorld, match=f"TakeTurns: `start` gave a state whose `taken` holds a {named}, .*replace"):
        WorldEnv(TakeTurns()).begin(Task(key="demo", env="TakeTurns", seed=1))
    fixed = np.zeros(2)
    fixed.setflags(write=False)
    check_start(TakeTurns(), Pot(1, (frozenset(), b"", fixed)))  # pyrefly: ignore


DUELS = pytest.mark.parametrize("name", [name for name in names("world") if len(world_of(name).facts.seats) > 1])


@DUELS
def test_who_cannot_play_forfeits_and_nobody_can_spoil_a_match_that_is_won(name: str) -> None:
    """Refused answers take none of the turns that both need; forks and restored envs have counted them."""
    env = WorldEnv(world_of(name), Scaffold(penalty=0.25))
    heard = env.begin(task_of(name, 1, 2))
    (seat,) = env.movers
    (other,) = set(env.facts.seats) - {seat}
    for wrong in range(3):
        assert env.turn == 0 and env.stop is None and "\n" in heard[seat].messages[0].text
        copy = WorldEnv(env.world, env.scaffold)
        copy.restore(json.loads(json.dumps(env.snapshot())))
        moves = {seat: Message.of("assistant", "?")}
        assert copy.advance(moves) == env.fork().advance(moves)
        heard = env.advance(moves)
        assert heard[seat].reward == {"malformed": -0.25}
        told = f"answer again, as the third such answer loses the match (bad answer {wrong + 1} of 3)."
        assert (told in heard[seat].messages[0].text) == (wrong < 2)
    assert heard[seat].events == ("malformed", "forfeit") and heard[other].events == ("walkover",)
    assert heard[other].reward == {"success": 1.0} and {f.stop for f in heard.values()} == {Stop.done}
    assert (
        "You have lost the match." in heard[seat].messages[0].text and "you have won" in heard[other].messages[0].text
    )
    strict = WorldEnv(env.world, Scaffold.of({"style": "words"}))
    strict.begin(task_of(name, 1, 2))
    heard = strict.advance(moves)
    assert heard[other].reward == {"success": 1.0} and not heard[seat].reward and strict.stop is Stop.parse_error
    assert heard[seat].stop is Stop.parse_error and heard[other].stop is Stop.done, (
        "who won has said nothing unreadable"
    )


def test_bad_answers_are_counted_for_each_seat_over_the_whole_match() -> None:
    env = WorldEnv(world_of("NimDuel"), Scaffold())
    env.begin(task_of("NimDuel", 1, 5))
    for count in (1, 2):
        for _ in env.facts.seats:
            (seat,) = env.movers
            heard = env.advance({seat: Message.of("assistant", "?")})[seat]
            assert f"(bad answer {count} of 3)" in heard.messages[0].text
            right = env.world.view(env.state, seat).legal()[0].key
            env.advance({seat: Message.of("assistant", f"<action>{right}</action>")})


@pytest.mark.parametrize(
    ("name", "seed", "level", "text", "told"),
    [
        ("HoldemFreeDuel", 1, 5, "raise", "'raise 4' or 'raise 5'"),
        ("ChessDuel", 17, 6, "Nc3", "'e2 c3' or 'b1 c3'"),
        ("ChessDuel", 0, 2, "queen", "'d1 c1' or 'd1 d2'"),
        ("WildTTTDuel", 1, 5, "b2", "'b2 o' or 'b2 x'"),
        ("SantoriniDuel", 1, 5, "b3 c3", "'c3 b3 c3'"),
        ("SantoriniDuel", 1, 5, "a1 b1 c1", ""),
        ("HoldemFreeDuel", 1, 5, "raise 1", ""),
        ("ChessDuel", 0, 2, "Qa8", ""),
        ("PackBoxes", 1, 5, "A f1", ""),  # as it lies it does not fit there; that says all
    ],
)
def test_a_part_of_an_action_is_told_what_it_may_be(name: str, seed: int, level: int, text: str, told: str) -> None:
    env = WorldEnv(world_of(name), Scaffold())
    env.begin(task_of(name, seed, level))
    (seat,) = env.movers
    heard = env.advance({seat: Message.of("assistant", f"<action>{text}</action>")})[seat]
    assert heard.events == ("illegal",)
    said = heard.messages[0].text
    assert said.startswith(f"That does not say the whole action, which may be {told};") if told else "whole" not in said


def test_of_several_others_the_one_that_forfeits_is_named() -> None:
    three = TakeTurns()
    three.facts = replace(three.facts, seats=("left", "right", "third"))
    env = WorldEnv(three, Scaffold(grammar="word", strict=True))  # pyrefly: ignore
    env.begin(Task(key="t", env="TakeTurns", seed=3))
    heard = env.advance({"left": Message.of("assistant", "?")})
    for seat in ("right", "third"):
        assert "could not be played: left. You have won" in heard[seat].messages[0].text
        assert heard[seat].stop is Stop.done and heard[seat].reward == {"success": 1.0}
    assert heard["left"].stop is Stop.parse_error


def test_who_was_read_while_another_was_not_hears_that_nothing_was_played(monkeypatch) -> None:
    monkeypatch.setattr(TakeTurns, "view", lambda self, state, seat: View(self, state, seat))  # both move at once
    env = WorldEnv(TakeTurns(), Scaffold(grammar="word", penalty=0.25))
    env.begin(Task(key="t", env="TakeTurns", seed=3))
    before, said = env.state, {"left": Message.of("assistant", "?"), "right": Message.of("assistant", "one")}
    heard = env.advance(said)
    assert env.state is before and heard["left"].events == ("malformed",) and heard["right"].events == ("held",)
    assert heard["left"].reward == {"malformed": -0.25} and not heard["right"].reward
    assert "yours was not played" in heard["right"].messages[0].text
    assert "yours" not in heard["left"].messages[0].text


def test_who_plays_together_shares_the_turns_that_are_wasted() -> None:
    pair = TakeTurns()
    pair.facts = replace(pair.facts, contest=False)
    env = WorldEnv(pair, Scaffold(grammar="word", turns=4))  # pyrefly: ignore
    env.begin(Task(key="t", env="TakeTurns", seed=3))
    heard = [env.advance({"left": Message.of("assistant", "?")}) for _ in range(4)][-1]
    assert heard["left"].events == ("malformed",) and not heard["right"].events and not heard["right"].reward
    assert env.turn == 4 and env.stop is Stop.truncated_turns


def test_two_seats_take_turns_and_see_their_own_side() -> None:
    env = WorldEnv(TakeTurns(), Scaffold(grammar="word", rules=False, penalty=0.5))  # pyrefly: ignore
    heard = env.begin(Task(key="t", env="TakeTurns", seed=3))
    assert heard["left"].acts and not heard["right"].acts
    assert heard["left"].messages[0].text == "0 gone, card 3" and heard["right"].messages[0].text == "0 gone"
    with pytest.raises(NoEpisode, match=r"\['left'\] are to move, not \['right'\]"):
        env.advance({"right": Message.of("assistant", "two")})
    heard = env.advance({"left": Message.of("assistant", "two")})
    assert not heard["left"].acts and not heard["left"].messages and heard["left"].action == "two"
    assert heard["right"].acts and heard["right"].messages[0].text == "2 gone" and heard["right"].action == ""
    heard = env.advance({"right": Message.of("assistant", "three")})
    assert heard["right"].events == ("malformed",) and heard["right"].acts and not heard["left"].events
    env.advance({"right": Message.of("assistant", "two")})
    heard = env.advance({"left": Message.of("assistant", "two")})
    assert heard["left"].events == ("illegal",) and heard["left"].reward == {"malformed": -0.5} and heard["left"].acts
    heard = env.advance({"left": Message.of("assistant", "one")})
    assert heard["left"].reward == {"success": 1.0} and heard["right"].reward == {}
    assert {f.stop for f in heard.values()} == {Stop.done} and heard["right"].messages[0].text == "5 gone"
    assert env.snapshot()["state"] == {"card": 3, "taken": [2, 2, 1]}


@DUELS
def test_a_seat_is_told_all_that_happened_to_it_also_while_the_others_moved(name: str) -> None:
    """Forks and restored envs know what has not been told yet."""
    env = WorldEnv(world_of(name), Scaffold(rules=False))
    facts, waits = env.facts, dict.fromkeys(env.facts.seats, "")
    env.begin(task_of(name, 1, 2))
    for turn in range(60):
        rng = Rng("told", turn)
        answers = {seat: f"<action>{env.world.view(env.state, seat).sample(rng).key}</action>" for seat in env.movers}
        answers = answers if turn % 5 else dict.fromkeys(env.movers, "?")
        ways = [env.fork(), WorldEnv(env.world, env.scaffold), env]
        ways[1].restore(json.loads(json.dumps(env.snapshot())))
        all_heard = [
            way.advance({seat: Message.of("assistant", text) for seat, text in answers.items()}) for way in ways
        ]
        heard = all_heard[-1]
        assert all_heard == [heard] * 3
        for seat, said in heard.items():
            waits[seat] = f"{waits[seat]} {sentences(said.events, facts, env.stop, env.refused.get(seat, 0))}".strip()
            if said.messages:
                assert said.messages[0].text.startswith(waits[seat]), (seat, waits[seat])
                waits[seat] = ""
        if env.stop is not None:
            break
    assert not any(waits.values()) or env.stop is None
