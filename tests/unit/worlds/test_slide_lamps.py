"""Lamps: the rules, and the linear algebra against trying every set of presses."""

from __future__ import annotations

import functools

import pytest

from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.engines.slide.lamps import CHOICES, Lamps, Panel, bits_of, fewest, name_of, switch, wiring
from quintain.worlds.kernel import Plan, Unsolvable
from quintain.worlds.knobs import BadKnob
from quintain.worlds.splits import canonical, split_of
from quintain.worlds.suite.puzzles.lights_out import lights_out

WORLD = lights_out()


def every_way(width: int, height: int) -> dict[int, list[int]]:
    """Lit lamps -> all sets of presses that darken them, by trying every set."""
    masks = [sum(1 << c for c in cells) for cells in wiring(width, height).switched]
    lit = [0]
    for mask in masks:
        lit += [other ^ mask for other in lit]
    out: dict[int, list[int]] = {}
    for presses, lamps in enumerate(lit):
        out.setdefault(lamps, []).append(presses)
    return out


def test_a_press_switches_a_lamp_and_its_neighbours():
    state = Lamps(Panel(3, 3), "o" * 9)
    lamps = {name: WORLD.step(state, {SOLO: CHOICES[name]}).state.lamps for name in ("a1", "b2", "c2")}
    assert lamps == {"a1": "..o.ooooo", "b2": "o.o...o.o", "c2": "oo.o..oo."}


def test_the_last_lamp_wins():
    state = Lamps(Panel(3, 2), ".o.ooo")
    outcome = WORLD.step(state, {SOLO: CHOICES["b2"]})
    assert outcome.done and outcome.rewards == {SOLO: {"success": 1.0}}
    assert isinstance(WORLD.solve(outcome.state, SOLO), Unsolvable)
    assert not WORLD.step(state, {SOLO: CHOICES["a1"]}).done


def test_a_lamp_off_the_board_is_illegal():
    state = Lamps(Panel(3, 2), "o.....")
    outcome = WORLD.step(state, {SOLO: CHOICES["a3"]})
    assert outcome.state is state and outcome.events == {SOLO: ("illegal",)}
    assert [m.key for m in WORLD.legal(state, SOLO)] == ["a1", "b1", "c1", "a2", "b2", "c2"]


@pytest.mark.parametrize("width, height", [(3, 3), (4, 3), (3, 2), (4, 2), (4, 4)])
def test_the_oracle_finds_the_fewest_presses(width: int, height: int):
    ways, n = every_way(width, height), width * height
    step = 1 if n < 12 else 37
    for lit in range(1, 1 << n, step):
        lamps = "".join("o" if lit >> c & 1 else "." for c in range(n))
        assert bits_of(lamps) == lit
        found = fewest(Panel(width, height), lamps)
        if lit not in ways:
            assert found is None
            continue
        least = min(presses.bit_count() for presses in ways[lit])
        best = [presses for presses in ways[lit] if presses.bit_count() == least]
        assert found is not None and found[0] in best and found[1] == functools.reduce(int.__or__, best)


def test_lamps_that_no_presses_darken_are_unsolvable():
    answer = WORLD.solve(Lamps(Panel(4, 4), "o" + "." * 15), SOLO)
    assert isinstance(answer, Unsolvable) and "presses" in answer.reason


@pytest.mark.parametrize("level", range(10))
def test_plans_have_the_length_of_the_level(level: int):
    low, high = WORLD.levels[level]["low"], WORLD.levels[level]["high"]
    for seed in range(8):
        state = WORLD.start(seed, level)
        plan = WORLD.solve(state, SOLO)
        assert isinstance(plan, Plan) and low <= len(plan.moves) <= high and len(plan.moves) <= WORLD.turns(state)
        assert set(plan.moves) <= set(plan.first)
        for move in plan.moves:
            outcome = WORLD.step(state, {SOLO: move})
            state = outcome.state
        assert outcome.done


def test_boards_that_fewer_presses_darken_are_drawn_again():
    for seed in range(12):
        state = WORLD.start(seed, 2, low=13, high=13)
        assert len(WORLD.solve(state, SOLO).moves) == 13


def test_each_best_first_press_leaves_one_fewer():
    state = next(s for s in (WORLD.start(seed, 1) for seed in range(99)) if len(WORLD.solve(s, SOLO).first) > 4)
    plan = WORLD.solve(state, SOLO)
    for move in WORLD.legal(state, SOLO):
        left = len(WORLD.solve(WORLD.step(state, {SOLO: move}).state, SOLO).moves)
        assert (left == len(plan.moves) - 1) == (move in plan.first)


@pytest.mark.parametrize("level", [0, 3, 9])
def test_splits_share_no_pattern_however_turned(level: int):
    for split in ("train", "validation", "test"):
        states = [WORLD.start(seed, level, split=split) for seed in range(15)]
        side = states[0].panel.width
        assert {split_of(canonical(s.lamps, side, side)) for s in states} == {split}


def test_captions_words_and_pictures():
    state = Lamps(Panel(3, 2), "o..oo.")
    text = WORLD.caption(state, SOLO, 2)
    assert text == "  a b c\n1 o . .\n2 o o ." and WORLD.rebuild(text, SOLO) == state
    assert WORLD.caption(state, SOLO, 1) == "3 of 6 lamps are lit."
    assert WORLD.moving(state, SOLO) == ("oa1", ".b1", ".c1", "oa2", "ob2", ".c2")
    scene = WORLD.scene(state, SOLO)
    assert scene.cells[0] == scene.cells[3] == "panel+lamp-lit" != scene.cells[1] and len(scene.shapes) == 5
    for wrong in ("", "  a b c\n1 o .", "  a b\n1 o x"):
        with pytest.raises(QuintainError, match="no full caption"):
            WORLD.rebuild(wrong, SOLO)


@pytest.mark.parametrize(
    "text",
    ["b3", " B3 ", "press b3", "b 3", "3b", "3 b", "(b, 3)", "row 3, column 2", "row 3 column 2", "Column B, row 3"],
)
def test_one_lamp_has_many_spellings(text: str):
    assert WORLD.read(text, SOLO) == CHOICES[name_of(2, 1)]


def test_sides_are_checked():
    with pytest.raises(BadKnob, match="4 to 9"):
        WORLD.start(0, 0, width=12)
    assert switch("o.", (1,)) == "oo"
