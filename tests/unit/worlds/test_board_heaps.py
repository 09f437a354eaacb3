"""Heaps: the theory against plain minimax over every small position, and how moves are written."""

from __future__ import annotations

import dataclasses
import functools
import itertools

import pytest

from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv
from quintain.messages import Message
from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.engines.board.heaps import STEP, heap_game
from quintain.worlds.engines.board.search import choices
from quintain.worlds.kernel import Move, Plan, Unsolvable
from quintain.worlds.knobs import BadKnob
from quintain.worlds.noise import Rng
from quintain.worlds.suite.games.nim_game import nim_duel, nim_game

WORLD, DUEL = nim_game(), nim_duel()


@functools.cache
def mover_wins(heaps: tuple[int, ...], most: int, last_loses: bool) -> bool:
    """By plain minimax over sorted heaps."""
    if not any(heaps):
        return last_loses
    for i, size in enumerate(heaps):
        for n in range(1, min(size, most or size) + 1):
            after = tuple(sorted((*heaps[:i], size - n, *heaps[i + 1 :])))
            if not mover_wins(after, most, last_loses):
                return True
    return False


@pytest.mark.parametrize("most", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("last_loses", [False, True])
def test_the_theory_agrees_with_minimax(most: int, last_loses: bool) -> None:
    game = heap_game(most, last_loses)
    positions = [h for n in (1, 2, 3) for h in itertools.product(range(8), repeat=n)]
    positions += [Rng("heaps", i).sample([0, 1, 1, 2, 2, 3, 3, 4, 5, 6], 4) for i in range(60)]
    for heaps in map(tuple, positions):
        if not any(heaps):
            assert game.worth(heaps) == (1 if last_loses else -1)
            continue
        wins = mover_wins(tuple(sorted(heaps)), most, last_loses)
        assert game.wins(heaps) == wins and game.worth(heaps) is None
        verdict = game.judge(heaps)
        good = {m for m in game.legal(heaps) if not mover_wins(tuple(sorted(game.play(heaps, m))), most, last_loses)}
        assert verdict.worth == (1 if wins else -1)
        assert set(verdict.moves) == (good if wins else set(game.legal(heaps)))


def test_the_ladder_plays_heaps() -> None:
    game = heap_game(0, False)
    assert choices(game, (0, 5), "greedy") == (STEP + 5,) == choices(game, (0, 5), "depth1")
    assert len(choices(game, (2, 5), "greedy")) == 7
    assert set(choices(game, (4, 4, 2), "perfect")) == {2 * STEP + 2}
    assert choices(game, (1, 2), "depth2") == (STEP + 1,)  # anything else lets the other side take the last one
    assert len(choices(game, (2, 2), "perfect")) == 4  # nothing can be won: it hopes for a slip
    misere = heap_game(0, True)
    assert choices(misere, (1, 4), "depth2") == (STEP + 4,)


@pytest.mark.parametrize("level", range(10))
def test_the_oracle_wins_from_every_start_and_the_perfect_opponent_from_every_slip(level: int) -> None:
    slipped = 0
    for seed in range(12):
        state, done, rng = WORLD.start(seed, level), False, Rng("slip", seed)
        other = WORLD.step(state, {SOLO: WORLD.sample(state, SOLO, rng)})
        while not done:
            plan = WORLD.solve(state, SOLO)
            assert isinstance(plan, Plan) and plan.value == 1.0
            state, earned, done, _ = WORLD.step(state, {SOLO: rng.pick(plan.first)})
        assert earned == {SOLO: {"success": 1.0}}
        if other.done or state.setup.opponent != "perfect":
            continue
        answer = WORLD.solve(other.state, SOLO)
        if isinstance(answer, Unsolvable):
            slipped += 1
            game, position = WORLD.look.game(state.setup.options), other.state.position
            assert not game.wins(position)
    assert slipped > 3 or WORLD.levels[level]["opponent"] != "perfect"


def test_hope_against_a_weak_opponent_is_a_probability() -> None:
    state = WORLD.rebuild(
        "You move first; the first player is to move. Who takes the last counter wins.\nA: 1 o\nB: 1 o\nC: 0", SOLO
    )
    assert isinstance(WORLD.solve(state, SOLO), Plan)  # no opponent is known: the value is what best play gives
    weak = dataclasses.replace(state, position=(2, 2, 0), setup=dataclasses.replace(state.setup, opponent="random"))
    plan = WORLD.solve(weak, SOLO)
    assert isinstance(plan, Plan) and plan.proof == "policy" and 0 < plan.value < 1


@pytest.mark.parametrize(
    "text",
    ["A-2", "a-2", "A 2", "a: 2", "A take 2", "take 2 from A", "remove 2 counters from heap a", " 2 from a\n"],
)
def test_moves_are_read_in_several_spellings(text: str) -> None:
    assert WORLD.read(text, SOLO) == Move("A-2", (0, 2))


@pytest.mark.parametrize(
    "text", ["", "A", "2", "A-0", "A-99", "I-2", "A--2", "A=2", "2A", "take A from 2", "A-2" + " " * 80 + "x", "A-²"]
)
def test_other_texts_are_no_move(text: str) -> None:
    assert WORLD.read(text, SOLO) is None


def test_taking_too_many_is_illegal() -> None:
    state = WORLD.start(0, 8)  # at most 5 in a move
    tall = next(i for i, size in enumerate(state.position) if size > 5)
    sign = "ABCDEFGH"[tall]
    for text in (f"{sign}-6", f"{sign}-60", "H-1"):
        outcome = WORLD.step(state, {SOLO: WORLD.read(text, SOLO)})
        assert outcome.state is state and outcome.events == {SOLO: ("illegal",)}
    assert WORLD.step(state, {SOLO: WORLD.read(f"{sign}-5", SOLO)}).events[SOLO] != ("illegal",)


def test_the_last_counter_wins_or_loses() -> None:
    for end, rewards in (("wins", (1.0, 0.0)), ("loses", (0.0, 1.0))):
        head = (
            f"You move second; the second player is to move. Who takes the last counter {end}. A move takes at most 3."
        )
        state = DUEL.rebuild(f"{head}\nA: 2 oo\nB: 0", "second")
        assert state.setup.options == (3, end == "loses") and state.mover == 1
        outcome = DUEL.step(state, {"second": DUEL.read("A-2", "second")})
        assert outcome.done
        earned = [sum(outcome.rewards[s].values()) for s in ("second", "first")]
        assert tuple(earned) == rewards


def test_splits_do_not_look_at_the_order_of_heaps() -> None:
    state = WORLD.start(0, 3)
    turned = WORLD.rebuild(WORLD.caption(state, SOLO, 2), SOLO)
    assert turned.position == state.position and WORLD.look.layout(turned) == WORLD.look.layout(state)
    assert WORLD.look.layout(dataclasses.replace(state, position=state.position[::-1])) == WORLD.look.layout(state)


def test_strange_captions_and_knobs_are_refused() -> None:
    for text in ("", "You move first; the first player is to move. Who takes the last counter wins.\nB: 2 oo"):
        with pytest.raises(QuintainError, match="no full caption"):
            WORLD.rebuild(text, SOLO)
    for knobs in ({"heaps": 9}, {"heaps": 0}, {"tallest": 64}, {"most": -1}):
        with pytest.raises(BadKnob, match="it takes an integer from"):
            WORLD.start(0, 0, **knobs)
        with pytest.raises(QuintainError, match="1 to 8 heaps of at most 63"):
            dataclasses.replace(WORLD, levels=[{**WORLD.levels[0], **knobs}]).start(0, 0)


@pytest.mark.parametrize(
    "text",
    [
        *("A to 2", "heap A to 2", "Reduce heap A to 2 counters", "take A down to 2", "from A to 2"),
        *("A -> 2", "A→2", "heap A => 2", "A becomes 2", "A is 2", "Heap A is left with 2 counters"),
    ],
)
def test_what_a_heap_is_left_with_is_not_what_is_taken(text: str) -> None:
    env = WorldEnv(WORLD, Scaffold(grammar="word"))
    move = env.reader.read(Message.of("assistant", text), SOLO)
    for heaps, taken in (((6, 3, 1), 4), ((3, 3, 1), 1), ((2, 3, 1), 0), ((1, 3, 1), 0)):
        state = dataclasses.replace(WORLD.start(1, 1), position=heaps)
        if taken:
            assert move is not None and WORLD.step(state, {SOLO: move}) == WORLD.step(
                state, {SOLO: Move("A", (0, taken))}
            )
        else:
            assert move is not None and WORLD.step(state, {SOLO: move}).events == {SOLO: ("illegal",)}


def test_no_heap_is_left_with_more_than_it_has() -> None:
    for text in ("B to 63", "B to 60", "H to 0", "C to 60"):
        move = WORLD.read(text, SOLO)
        assert move and WORLD.step(WORLD.start(1, 1), {SOLO: move}).events == {SOLO: ("illegal",)}
    assert WORLD.read("A to 100", SOLO) is None
