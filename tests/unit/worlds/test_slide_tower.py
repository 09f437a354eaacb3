"""Discs on pegs: the rules, and the recursion against waves over all arrangements."""

from __future__ import annotations

import dataclasses
import itertools
from collections import deque

import pytest

from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.engines.slide import tower_solve
from quintain.worlds.engines.slide.tower import CHOICES, Discs, Rack, layout_of
from quintain.worlds.engines.slide.tower_solve import plan_of
from quintain.worlds.kernel import GenerationError, Plan, Unsolvable
from quintain.worlds.knobs import BadKnob
from quintain.worlds.splits import split_of
from quintain.worlds.suite.puzzles.hanoi import hanoi

WORLD = hanoi()


def after_all(at: str, pegs: str) -> dict[str, str]:
    """Legal move -> the arrangement after it."""
    state = Discs(Rack(len(pegs), ""), at)
    return {m.key: WORLD.step(state, {SOLO: m}).state.at for m in WORLD.legal(state, SOLO)}


def distances(goal: str, pegs: str) -> dict[str, int]:
    out, waiting = {goal: 0}, deque([goal])
    while waiting:
        here = waiting.popleft()
        for after in after_all(here, pegs).values():
            if after not in out:
                out[after] = out[here] + 1
                waiting.append(after)
    return out


def check(at: str, goal: str, pegs: str) -> int:
    """Play the plan by the rules and return its length."""
    plan, _ = plan_of(at, goal, pegs)
    for move in plan:
        at = after_all(at, pegs)[move]
    assert at == goal
    return len(plan)


def test_a_disc_never_lies_on_a_smaller_one():
    assert after_all("aab", "abc") == {"ab": "bab", "ac": "cab", "bc": "aac"}
    state = Discs(Rack(3, "ccc"), "aab")
    for name in ("ba", "ca", "ad", "db"):
        outcome = WORLD.step(state, {SOLO: CHOICES[name]})
        assert outcome.state is state and outcome.events == {SOLO: ("illegal",)}


def test_the_goal_wins():
    outcome = WORLD.step(Discs(Rack(3, "cbb"), "abb"), {SOLO: CHOICES["ac"]})
    assert outcome.done and outcome.rewards == {SOLO: {"success": 1.0}}
    assert isinstance(WORLD.solve(outcome.state, SOLO), Unsolvable)


@pytest.mark.parametrize("discs", [1, 2, 3])
def test_plans_are_shortest_between_all_arrangements(discs: int):
    every = ["".join(a) for a in itertools.product("abc", repeat=discs)]
    for goal in every:
        truth = distances(goal, "abc")
        assert len(truth) == len(every)
        for at in every:
            if at == goal:
                continue
            assert check(at, goal, "abc") == truth[at]
            best = {m for m, after in after_all(at, "abc").items() if truth[after] == truth[at] - 1}
            assert set(plan_of(at, goal, "abc")[1]) == best


@pytest.mark.parametrize("goal", ["abca", "caab", "bbac", "aaaa", "cbaba"])
def test_plans_are_shortest_to_some_arrangements_of_more_discs(goal: str):
    truth = distances(goal, "abc")
    for at, least in truth.items():
        if least:
            plan, first = plan_of(at, goal, "abc")
            assert len(plan) == least
            assert set(first) == {m for m, a in after_all(at, "abc").items() if truth[a] == least - 1}


def test_the_largest_disc_sometimes_moves_twice():
    plan, _ = plan_of("ccca", "aaac", "abc")
    largest, at = [], "ccca"
    for move in plan:
        after = after_all(at, "abc")[move]
        largest += [move] if after[-1] != at[-1] else []
        at = after
    assert largest == ["ab", "bc"] and len(plan) == distances("aaac", "abc")["ccca"]


def test_the_tower_takes_two_to_the_power_less_one():
    for discs in range(1, 10):
        assert check("a" * discs, "c" * discs, "abc") == 2**discs - 1


@pytest.mark.parametrize("pegs, goal", [("abcd", "dddd"), ("abcd", "acbd"), ("abcde", "eba")])
def test_more_pegs_are_searched(pegs: str, goal: str):
    truth = distances(goal, pegs)
    for at, least in itertools.islice(truth.items(), 0, None, 5):
        assert check(at, goal, pegs) == least


def test_more_pegs_have_a_plan_where_the_search_gives_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tower_solve, "SEARCH_NODES", 3)
    assert check("aaaaaa", "dddddd", "abcd") >= 17
    assert check("abcdba", "dcbabb", "abcd") > 0
    monkeypatch.undo()
    assert check("aaaaaa", "dddddd", "abcd") == 17


@pytest.mark.parametrize("level", range(10))
def test_plans_have_the_length_of_the_level(level: int):
    knobs = WORLD.levels[level]
    for seed in range(8):
        state = WORLD.start(seed, level)
        plan = WORLD.solve(state, SOLO)
        assert isinstance(plan, Plan) and knobs["low"] <= len(plan.moves) <= knobs["high"]
        assert len(plan.moves) + 2 <= WORLD.turns(state) and plan.moves[0] in plan.first


def test_the_old_puzzle_is_a_knob_away():
    state = WORLD.start(1, 4, tower=1, low=2, high=200)
    assert len(set(state.rack.goal)) == 1 and state.rack.pegs == 3
    wider = dataclasses.replace(WORLD, levels=[{**WORLD.levels[4], "tower": 1, "pegs": 4, "low": 1, "high": 99}] * 5)
    assert wider.start(1, 4).rack.pegs == 4
    for knobs, told in (({"pegs": 2}, "3 to 5 pegs"), ({"discs": 10}, "2 to 9 discs")):
        with pytest.raises(BadKnob):
            WORLD.start(0, 0, **knobs)
        with pytest.raises(GenerationError, match=told):
            dataclasses.replace(WORLD, levels=[{**WORLD.levels[0], **knobs}]).start(0, 0)


def test_renamed_pegs_and_the_way_back_are_one_layout():
    state = Discs(Rack(3, "bca"), "abb")
    for names in itertools.permutations("abc"):
        new = str.maketrans("abc", "".join(names))
        for at, goal in ((state.at, state.rack.goal), (state.rack.goal, state.at)):
            assert layout_of(Discs(Rack(3, goal.translate(new)), at.translate(new))) == layout_of(state)
    assert layout_of(Discs(Rack(3, "bca"), "aba")) != layout_of(state)


@pytest.mark.parametrize("level", [0, 1, 5])
def test_splits_are_kept_apart(level: int):
    for split in ("train", "validation", "test"):
        states = [WORLD.start(seed, level, split=split) for seed in range(15)]
        assert {split_of(layout_of(s)) for s in states} == {split}
        assert len({layout_of(s) for s in states}) > 2


def test_captions_words_and_pictures():
    state = Discs(Rack(3, "cab"), "aac")
    text = WORLD.caption(state, SOLO, 2)
    assert text == "a: 2 1\nb: -\nc: 3\ngoal a: 2\ngoal b: 3\ngoal c: 1" and WORLD.rebuild(text, SOLO) == state
    assert WORLD.caption(state, SOLO, 1) == "1 of 3 discs are in place. On top: a 1, b -, c 3."
    assert WORLD.static(state, SOLO) == ("T1c", "T2a", "T3b") and WORLD.moving(state, SOLO) == ("1a", "2a", "3c")
    other = Discs(state.rack, "bac")
    assert WORLD.scene(other, SOLO) != WORLD.scene(state, SOLO) == WORLD.scene(Discs(state.rack, "aac"), SOLO)
    for wrong in ("", "a: 2 1\nb: -", "a: 1\nc: -\ngoal a: 1\ngoal c: -"):
        with pytest.raises(QuintainError, match="no full caption"):
            WORLD.rebuild(wrong, SOLO)


@pytest.mark.parametrize(
    "text",
    ["ac", "A C", "a->c", "a -> c", "a to c", "move a to c", "move a c", "from 1 to 3", "peg 1 -> peg 3", "a, c"],
)
def test_one_move_has_many_spellings(text: str):
    assert WORLD.read(text, SOLO) == CHOICES["ac"]
    assert WORLD.read("aa", SOLO) is None
