"""Mine fields against enumeration of every placement: what is certain, what is hidden, and that no guess is needed."""

from __future__ import annotations

import itertools

import pytest

from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.engines.csp.field import CLOSED, MINE, Clues, Field, around, certain, show, unravel
from quintain.worlds.kernel import GenerationError, Outcome, Plan, Unknown, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.suite.logic.mastermines import mastermines

WORLD = mastermines()


def placements(width: int, seen: str, mines: int) -> list[set[int]]:
    """Every placement of the mines that fits what is seen, by trying all."""
    near = around(width, len(seen) // width)
    closed = [c for c, sign in enumerate(seen) if sign == CLOSED]
    struck = {c for c, sign in enumerate(seen) if sign == MINE}
    out = []
    for chosen in itertools.combinations(closed, mines - len(struck)):
        placed = struck.union(chosen)
        if all(sum(o in placed for o in near[c]) == int(s) for c, s in enumerate(seen) if s.isdigit()):
            out.append(placed)
    return out


def somewhere(seed: int, size: int, count: int) -> Field:
    """A random field with some safe cells open, and now and then a mine that was stepped on."""
    rng = Rng("somewhere", seed, size, count)
    mines = tuple(sorted(rng.sample(range(size * size), count)))
    field = Field(size, size, mines, CLOSED * size * size)
    for _ in range(1 + rng.below(6)):
        cell = rng.below(size * size)
        if field.seen[cell] == CLOSED and (cell not in mines or rng.below(4) == 0):
            field = show(field, cell)
    return field


@pytest.mark.parametrize("seed", range(150))
def test_certainty_is_what_holds_in_every_placement(seed: int) -> None:
    size, count = ((4, 4), (4, 6), (3, 3), (4, 2))[seed % 4]
    field = somewhere(seed, size, count)
    found = placements(size, field.seen, count)
    closed = {c for c, sign in enumerate(field.seen) if sign == CLOSED}
    safe = {c for c in closed if not any(c in p for p in found)}
    mined = {c for c in closed if all(c in p for p in found)}
    known = certain(size, size, field.seen, count)
    assert (set(known.safe), set(known.mines)) == (safe, mined)
    quick = certain(size, size, field.seen, count, True)
    assert set(quick.safe) <= safe and bool(quick.safe) == bool(safe)
    simple = Clues(size, size, field.seen, count).simple()
    assert set(simple.safe) <= safe and set(simple.mines) <= mined
    placed = Clues(size, size, field.seen, count).placement()
    struck = {c for c, sign in enumerate(field.seen) if sign == MINE}
    assert placed is not None and struck.union(placed) in found


def test_contradicting_numbers_have_no_placement() -> None:
    assert Clues(3, 1, "2??", 1).placement() is None and Clues(2, 1, "1?", 1).placement() == (1,)


@pytest.mark.parametrize("level", range(10))
def test_no_guess_is_needed_whatever_safe_cells_are_opened(level: int) -> None:
    for seed in range(3):
        rng, state = Rng("safe", level, seed), WORLD.start(seed, level)
        while True:
            plan = WORLD.solve(state, SOLO)
            assert isinstance(plan, Plan) and plan.moves[0] in plan.first
            assert all(m.value[0] * state.width + m.value[1] not in state.mines for m in plan.first)
            lucky = [m for m in WORLD.legal(state, SOLO) if m.value[0] * state.width + m.value[1] not in state.mines]
            outcome = WORLD.step(state, {SOLO: rng.pick(lucky)})
            state = outcome.state
            if outcome.done:
                assert outcome.rewards == {SOLO: {"success": 1.0}}
                break
            assert not outcome.rewards and not outcome.events


def test_what_is_shown_and_advised_does_not_depend_on_hidden_mines() -> None:
    """Move the mines to any other placement that fits: nothing that the player or a demonstration gets may change."""
    moved = 0
    for seed in range(12):
        state = WORLD.start(seed, 0)
        for _ in range(3):
            view, plan = WORLD.view(state, SOLO), WORLD.solve(state, SOLO)
            for other in placements(state.width, state.seen, len(state.mines)):
                twin = Field(state.width, state.height, tuple(sorted(other)), state.seen, state.budget)
                seen = WORLD.view(twin, SOLO)
                for level in (1, 2):
                    assert seen.caption(level) == view.caption(level)
                assert seen.scene() == view.scene() and seen.legal() == view.legal()
                assert seen.static() == view.static() and seen.moving() == view.moving()
                advice = WORLD.solve(twin, SOLO)
                assert isinstance(advice, Plan | Unknown)
                if isinstance(advice, Plan):
                    assert advice.first == plan.first and advice.moves[0] == plan.moves[0]
                moved += twin.mines != state.mines
            outcome = WORLD.step(state, {SOLO: plan.moves[0]})
            state = outcome.state
            if outcome.done:
                break
    assert moved > 20


def test_opening_shows_numbers_and_spreads_over_zeros() -> None:
    field = Field(4, 3, (0,), CLOSED * 12)
    spread = show(field, 11)
    assert spread.seen == "?100110000" + "00" and show(field, 5).seen == "?????1??????"
    assert show(field, 0).seen == "*" + CLOSED * 11
    near = around(4, 3)
    assert near[0] == (1, 4, 5) and len(near[5]) == 8 and len(near[4]) == 5


def test_a_mine_ends_the_game_without_reward() -> None:
    state = WORLD.start(4, 3)
    row, column = divmod(state.mines[0], state.width)
    move = next(m for m in WORLD.legal(state, SOLO) if m.value == (row, column))
    outcome = WORLD.step(state, {SOLO: move})
    assert outcome.done and not outcome.rewards and outcome.events == {SOLO: ("hit",)}
    assert isinstance(WORLD.solve(outcome.state, SOLO), Unsolvable) and WORLD.legal(outcome.state, SOLO) == ()
    rebuilt = WORLD.rebuild(WORLD.caption(outcome.state, SOLO, 2), SOLO)
    assert rebuilt.seen == outcome.state.seen and state.mines[0] in rebuilt.mines


@pytest.mark.parametrize("text", ["open", "z9", "a26"])
def test_open_and_outside_cells_are_illegal(text: str) -> None:
    state = WORLD.start(4, 3)
    cell = state.seen.index("0")
    name = f"{'abcdefgh'[cell % state.width]}{cell // state.width + 1}" if text == "open" else text
    outcome = WORLD.step(state, {SOLO: WORLD.read(name, SOLO)})
    assert outcome.state is state and not outcome.done and outcome.events == {SOLO: ("illegal",)}


def test_cells_are_read_in_several_spellings() -> None:
    assert {WORLD.read(s, SOLO) for s in ("b3", "open b3", "B3", "Open r3c2", "3 2", "probe (3, 2)")} == {
        WORLD.read("b3", SOLO)
    }
    for text in ("", "open", "open b3 now", "b3" * 40, "flag 3"):
        assert WORLD.read(text, SOLO) is None


@pytest.mark.parametrize("text", ["flag b3", "mark b3 as a mine", "B3 is a mine.", "mines: b3", "b3 must be a mine"])
def test_a_cell_that_is_said_to_be_a_mine_is_not_opened(text: str) -> None:
    state = WORLD.start(1, 0)
    move = WORLD.read(text, SOLO)
    assert move and move.key == "flag b3" and move == WORLD.read(move.key, SOLO)
    assert WORLD.step(state, {SOLO: move}) == Outcome(state, events={SOLO: ("illegal",)})


@pytest.mark.parametrize("level", [4, 7, 9])
def test_hard_levels_need_several_numbers_at_once(level: int) -> None:
    for seed in range(4):
        assert unravel(WORLD.start(seed, level)).puzzles >= WORLD.levels[level]["hard"] > 0


def test_the_budget_lasts_for_every_safe_cell() -> None:
    state = WORLD.start(0, 6)
    assert state.budget == WORLD.turns(state) > state.seen.count(CLOSED) - len(state.mines)
    assert f"{state.seen.count(CLOSED) - len(state.mines)} safe cells" in WORLD.caption(state, SOLO, 2)


def test_strange_captions_and_knobs_are_refused() -> None:
    for text in (
        "",
        "3 mines.",
        "3 mines. 1 safe cell is still closed.\na b\n1 ? x",
        "1 mine. 1 safe cell is still closed.\n   a b c\n 1 2 ? ?",
    ):
        with pytest.raises(QuintainError, match="no full caption|no placement"):
            WORLD.rebuild(text, SOLO)
    with pytest.raises(GenerationError, match="1 to 15"):
        WORLD.start(0, 0, mines=16)
