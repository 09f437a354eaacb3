"""The kernel: levels, knobs, choices, differences between states."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from quintain.envs.world import world_of
from quintain.worlds import knobs
from quintain.worlds.kernel import (
    BadChoice,
    Choices,
    GenerationError,
    Move,
    Plan,
    UnknownLevel,
    check_level,
    diff,
    digest,
)
from quintain.worlds.knobs import DRAWS, RARE, BadKnob, check_knobs, overridable, started
from quintain.worlds.noise import Rng


@dataclass(frozen=True)
class Inner:
    cells: tuple[int, ...]


@dataclass(frozen=True)
class Outer:
    board: Inner
    at: int
    keys: tuple[int, ...] = ()


@pytest.mark.parametrize("given", [-3, 10, 99, 2.5, "7", True, None, np.int64(10), np.array([3]), np.True_])
def test_levels_outside_are_refused_with_their_limits(given: object) -> None:
    told = re.escape(f"there is no level {given!r}; levels are the integers 0 to 9")
    with pytest.raises(UnknownLevel, match=told):
        check_level(given)  # type: ignore[arg-type]


def test_a_level_is_any_integer_as_a_seed_is() -> None:
    assert all(type(check_level(given)) is int and check_level(given) == 3 for given in (3, np.int64(3), np.uint8(3)))
    world = world_of("KeyDoor")
    assert world.start(np.int64(1), np.int64(3)) == world.start(1, 3)


LEVELS_OF = [
    {"size": 5, "slip": 0.1, "lead": -1, "of": "ab", "men": "K"},
    {"size": 8, "slip": 0.1, "lead": 0.5, "of": "cd", "men": 4},
]


def test_knobs_override_and_unknown_ones_are_named() -> None:
    assert check_knobs({}, LEVELS_OF, 1) == LEVELS_OF[1]
    assert check_knobs({"size": 6, "lead": 0, "of": "ab", "men": "K"}, LEVELS_OF, 1) == {
        "size": 6,
        "slip": 0.1,
        "lead": 0,
        "of": "ab",
        "men": "K",
    }
    with pytest.raises(BadKnob, match="unknown knob 'siz'; did you mean 'size'"):
        check_knobs({"siz": 7}, LEVELS_OF, 0)
    with pytest.raises(UnknownLevel):
        check_knobs({}, LEVELS_OF, 10)


@pytest.mark.parametrize(
    ("knob", "value", "takes"),
    [
        ("size", 9, "an integer from 5 to 8"),
        ("size", 4, "an integer from 5 to 8"),
        ("size", 6.0, "an integer from 5 to 8"),
        ("size", True, "an integer from 5 to 8"),
        ("size", "two", "an integer from 5 to 8"),
        ("size", None, "an integer from 5 to 8"),
        ("lead", float("nan"), "a number from -1 to 0.5"),
        ("lead", "0", "a number from -1 to 0.5"),
        ("of", "ef", "'ab', 'cd'"),
        ("of", ["ab"], "'ab', 'cd'"),
        ("men", 4.0, "'K', 4"),
    ],
)
def test_values_that_a_knob_does_not_take_are_refused_with_those_that_it_does(
    knob: str, value: object, takes: str
) -> None:
    with pytest.raises(BadKnob, match=re.escape(f"knob {knob}={value!r}: it takes {takes}")):
        check_knobs({knob: value}, LEVELS_OF, 0)


@pytest.mark.parametrize(
    ("values", "takes", "refused"),
    [
        ([(2, 2), (3,)], [([2, 2], (2, 2)), ((3,), (3,)), ([3], (3,))], [[2], [2.0, 2], [[2, 2]], "(3,)", [True]]),
        ([0, 1], [(0, 0), (1, 1), (True, 1), (False, 0)], [0.5, 2, "true"]),
        ([1, 1], [(0, 0), (1, 1)], [-1]),
        ([3, 3], [(3, 3)], [2, True]),
        ([0.0, 1.0], [(0.5, 0.5), (1, 1)], [True, 1.5]),
        ([0.0, 0.0], [(0, 0), (0.0, 0.0)], [1, 0.5]),
        ([False, False], [(True, True), (False, False)], [1, "true"]),
    ],
)
def test_a_knob_takes_lists_for_tuples_and_switches_of_its_own_kind(
    values: list[Any], takes: list[tuple[Any, Any]], refused: list[Any]
) -> None:
    levels = [{"of": value} for value in values]
    for value, known in takes:
        found = check_knobs({"of": value}, levels, 0)["of"]
        assert found == known and type(found) is type(known)
    for value in refused:
        with pytest.raises(BadKnob, match="it takes"):
            check_knobs({"of": value}, levels, 0)


def test_choices_read_names_and_synonyms_in_any_case() -> None:
    choices = Choices("up", "down", synonyms={"u": "up"})
    assert choices.read("up") is choices.read("  U\n") is choices["up"] == Move("up")
    assert [choices.read(t) for t in ("", "upp", "up down", "up\0", " " * 100 + "up")] == [None] * 5


def test_choices_are_words_apart_and_an_unknown_one_is_named() -> None:
    choices = Choices("Left", "right", synonyms={"West": "Left"})
    assert choices.read("left") is choices.read(" LEFT ") is choices.read("west") is choices["Left"] == Move("Left")
    for names, synonyms, said in (
        (("left", "Left"), {}, "two are read alike"),
        ((["left", "right"],), {}, "is no text; write the action words one by one"),
        (("left", "right"), {"west": "lefft"}, "unknown action word 'lefft'; did you mean 'left'?"),
    ):
        with pytest.raises(BadChoice, match=re.escape(said)):
            Choices(*names, synonyms=synonyms)  # pyrefly: ignore
    with pytest.raises(BadChoice, match="unknown action word 'rigth'; did you mean 'right'?"):
        choices["rigth"]


def test_a_difference_names_the_path_and_skips_shared_parts() -> None:
    board = Inner(tuple(range(1000)))
    old = Outer(board, 3, (0, 1))
    assert diff(old, Outer(board, 4, (0, 2))) == {"at": (3, 4), "keys.1": (1, 2)}
    assert diff(old, Outer(Inner((0,)), 3, (0, 1)))["board.cells"][1] == [0]
    assert diff(old, old) == diff(old, Outer(Inner(tuple(range(1000))), 3, (0, 1))) == {}
    assert diff({"a": 1}, {"a": 1, "b": 2}, "root") == {"root": ({"a": 1}, {"a": 1, "b": 2})}


def test_digests_tell_states_apart() -> None:
    one, two = Outer(Inner((1,)), 1), Outer(Inner((1,)), 2)
    assert digest(one) == digest(Outer(Inner((1,)), 1)) != digest(two)


class Endless:
    """A world whose knobs may contradict each other."""

    facts = SimpleNamespace(name="Endless", exact=False)
    levels = ({"size": 5, "walls": 2}, {"size": 9, "walls": 40})

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> list[int]:
        """1, then `walls` different numbers from 1 to `size` squared; fails where one of them is 0."""
        chosen, rng = check_knobs(knobs, self.levels, level), Rng("endless", seed)
        found: set[int] = set()
        while len(found) < chosen["walls"]:
            found.add(rng.below(chosen["size"] ** 2))
        return [1 // (0 not in found), *found]


def test_knobs_that_contradict_each_other_end_in_good_time_and_are_named() -> None:
    world = Endless()
    assert len(world.start(0, 0, walls=3)) == 4
    with pytest.raises(
        GenerationError, match=re.escape("level 0 in the split 'train' has walls=30 (nothing was found in good time)")
    ) as told:
        world.start(0, 0, walls=30)
    assert str(told.value).endswith("those of the level: size=5, walls=2")
    with pytest.raises(
        GenerationError,
        match=re.escape(
            "level 1 in the split 'train' has size=5, walls=25 (its generator stops with ZeroDivisionError: "
        ),
    ):
        world.start(0, 1, size=5, walls=25)
    with pytest.raises(BadKnob):
        world.start(0, 0, walls=41)
    rng = Rng("free")
    assert [rng.uniform() for _ in range(DRAWS + 1)][-1] < 1, "no limit is left behind"


class Slow:
    """A world whose instances take as many draws as a level says, in the split `test` twice as many."""

    facts = SimpleNamespace(name="Slow", exact=False)
    levels = ({"draws": 1}, {"draws": 101}, {"draws": 100 * RARE + 1})

    def __init__(self) -> None:
        self.drawn = 0

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> int:
        chosen, rng = check_knobs(knobs, self.levels, level), Rng("slow", seed)
        for _ in range(chosen["draws"] * (2 if split == "test" else 1)):
            rng.uniform()
            self.drawn += 1
        return chosen["draws"]


def test_what_a_level_sets_itself_is_not_limited_and_rare_splits_may_draw_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knobs, "DRAWS", 100)
    world = Slow()
    assert world.start(0, 1, draws=101) == 101
    assert world.start(0, 0, split="test", draws=100) == 100
    for level, split, draws in ((0, "train", 101), (0, "all", 101), (1, "validation", 102)):
        told = f"no instance of level {level} in the split '{split}' has draws={draws} "
        world.drawn = 0
        with pytest.raises(GenerationError, match=told):
            world.start(0, level, split=split, draws=draws)
        assert world.drawn == 100, "what no layout has is not looked for longer in a tenth of them"
    monkeypatch.setattr(knobs, "RARE", 1)
    with pytest.raises(GenerationError, match="in the split 'test' has draws=99 .nothing was found in good time"):
        world.start(0, 0, split="test", draws=99)


class Walk:
    """A world whose way is as long as its seed says, within the turns of a knob."""

    facts = SimpleNamespace(name="Walk", exact=True, seats=("agent",))
    levels = ({"turns": 40}, {"turns": 1})

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> tuple[int, int]:
        return check_knobs(knobs, self.levels, level)["turns"], 2 + seed % 20

    def turns(self, state: tuple[int, int]) -> int:
        return state[0]

    def solve(self, state: tuple[int, int], seat: str) -> Plan:
        return Plan((Move("on"),) * state[1])


def test_of_instances_with_knobs_of_their_own_one_is_taken_that_can_be_won_in_time() -> None:
    world = Walk()
    assert world.start(9, 0, turns=11) == (11, 11), "as it is"
    found = {world.start(seed, 0, turns=11) for seed in range(40)}
    assert max(length for _, length in found) <= 11 and len(found) > 5
    assert world.start(10, 0, turns=11) == world.start(10, 0, turns=11) != (11, 12)
    with pytest.raises(GenerationError, match="has turns=1 .a way to win takes .* moves and there are 1 turns"):
        world.start(0, 0, turns=1)


def test_what_is_no_knob_and_no_split_is_named() -> None:
    for name in ("level", "seed", "split", "self"):
        with pytest.raises(BadKnob, match=f"Slow: {name}=3 is no knob; give the {name} beside"):
            started(Slow(), 0, 0, "train", {name: 3})
    assert started(Slow(), 0, 0, "train", {"draws": 7}) == 7
    for given, told in (
        ([], "the knobs are .., a list; give a mapping of their names to values"),
        (["draws"], "the knobs are .'draws'., a list"),
        ("draws", "the knobs are 'draws', a str"),
        (None, "the knobs are None, a NoneType"),
        ({1: 2}, "the knob 1 is of the type int; the name of a knob is a text"),
    ):
        with pytest.raises(BadKnob, match=f"Slow: {told}"):
            started(Slow(), 0, 0, "train", given)
    with pytest.raises(GenerationError, match="^unknown split 'tests'; did you mean 'test'"):
        Slow().start(0, 0, split="tests", draws=7)
    nothing: Any = None
    with pytest.raises(GenerationError, match="^unknown split None"):
        Slow().start(0, 0, split=nothing, draws=7)


@pytest.mark.parametrize(("name", "knobs"), [("JugMeasure", {"low": 14, "high": 5}), ("Maze3D", {"most": 20})])
def test_bounds_that_cross_are_refused(name, knobs) -> None:
    low, high = ("low", "high") if "low" in knobs else ("least", "most")
    with pytest.raises(BadKnob, match=rf"knobs {low}=\d+ and {high}=\d+: {low} is at most {high}"):
        world_of(name).start(0, 6, **knobs)


def test_boards_without_a_detour_do_not_stand_in_for_those_that_there_are_none_of() -> None:
    world = world_of("KeyDoor")
    for size in (4, 5):
        with pytest.raises(
            GenerationError, match=f"no board of side {size} was found that takes 36 moves; lower `low`"
        ):
            for seed in range(9):
                world.start(seed, 2, size=size, low=36, high=40)
    plans = [len(world.solve(world.start(seed, 2, low=11), "agent").moves) for seed in range(40)]
    assert sum(n < 11 for n in plans) < 8, "a few ask for no detour"


@pytest.mark.parametrize(("name", "knob", "value"), [("MazeRoute", "size", 8), ("DotsBoxes", "rows", 6)])
def test_sides_that_must_be_odd_are_named(name, knob, value) -> None:
    with pytest.raises(GenerationError, match=rf"has {knob}={value} \(.* must be odd\)"):
        world_of(name).start(0, 3, **{knob: value})


@pytest.mark.parametrize(("name", "size"), [("Binairo", 7), ("MiniSudoku", 5)])
def test_a_page_that_its_rules_leave_empty_is_refused(name, size) -> None:
    with pytest.raises(GenerationError, match=r"\(a page of this size cannot be filled by the rules\)"):
        world_of(name).start(0, 3, size=size)


@pytest.mark.parametrize(
    ("name", "level", "knob", "enough", "lacking", "why"),
    [
        ("Battleship", 9, "shots", 17, 16, "16 shots cannot hit the 17 cells of the ships (5, 4, 3, 3, 2)"),
        ("Game2048", 2, "turns", 26, 16, "16 turns on 3x3 cells bring no 64"),
        ("Game2048", 9, "side", 4, 3, "1300 turns on 3x3 cells bring no 2048"),
        ("Hanabi2", 0, "par", 4, 5, "par 5: 2 colours of 2 ranks, 3 cards each, allow 4 points"),
        ("HoldemFree", 0, "par", 160, 161, "par 161: 4 hands bring 160 chips at most"),
        ("HoldemFreeDuel", 0, "par", 80, 81, "par 81: 4 hands bring 80 chips at most"),
        ("HexBoard", 9, "limit", 60, 59, "a match after 2 rounds can last 60 moves; limit 59 is less"),
        ("PelletMaze", 6, "pellets", 20, 19, "goal 20 of 19 pellets"),
        ("ChainMarbles", 3, "marbles", 20, 21, "21 marbles are too many for a track of 23 cells"),
        ("BlockFall", 5, "height", 9, 8, "3 pieces to come do not fit beside 8 rows; they take 3 each"),
        (
            "NimGame",
            3,
            "most",
            2,
            1,
            "most 1: the number of counters alone says who takes the last one, whatever anybody plays",
        ),
    ],
)
def test_what_no_play_can_win_is_refused_at_once(name, level, knob, enough, lacking, why) -> None:
    world = world_of(name)
    world.start(0, level, **{knob: enough})
    told = f"{name}: no instance of level {level} in the split 'train' has {knob}={lacking} ({why})"
    begun = time.process_time()
    with pytest.raises(GenerationError, match=re.escape(told)):
        world.start(0, level, **{knob: lacking})
    assert time.process_time() - begun < 1
