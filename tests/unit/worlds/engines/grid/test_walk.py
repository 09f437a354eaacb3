"""Walkers on hand-drawn boards: rules, distances and chances checked against what they must be."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.testing.worlds import first_player, play, task_of
from quintain.types import QuintainError
from quintain.worlds.engines.grid.board import HELD, LYING, USED, Board, Walk, chances, distances
from quintain.worlds.engines.grid.look import full_caption, parse_caption
from quintain.worlds.engines.grid.walk import CHOICES
from quintain.worlds.kernel import Plan, Unsolvable
from quintain.worlds.noise import Noise, Rng

WORLD = world_of("KeyDoor")
ROOM = """\
P . # G
a . A .
. . # .
You hold nothing."""


def go(state: Walk, *names: str) -> tuple[Walk, list[str], bool]:
    """Take steps; the last state, all events, and whether it is over."""
    events, done = [], False
    for name in names:
        outcome = WORLD.step(state, {SOLO: CHOICES[name]})
        state, done = outcome.state, outcome.done
        events += outcome.events.get(SOLO, ())
    return state, events, done


def test_the_rules_of_keys_and_doors() -> None:
    start = parse_caption(ROOM)
    assert go(start, "up", "right", "right")[1] == ["blocked", "blocked"]
    locked, events, _ = go(start, "right", "down", "right")
    assert events == ["locked:A"] and locked.at == 5
    end, events, done = go(start, "down", "right", "right", "right", "up")
    assert events == ["took:a", "opened:A"] and done and end.keys == (USED,)
    assert full_caption(go(start, "down", "right", "right", "right")[0]).splitlines()[1] == ". . ' P"
    assert full_caption(go(start, "down", "right", "right")[0]).splitlines()[1] == ". . p ."
    assert full_caption(end).splitlines()[0] == ". . # *"


def test_a_caption_says_what_is_held() -> None:
    held = go(parse_caption(ROOM), "down")[0]
    assert full_caption(held).endswith("You hold: a.") and held.keys == (HELD,)
    assert parse_caption(full_caption(held)).keys == (HELD,)
    with pytest.raises(QuintainError, match="no full caption"):
        parse_caption("nothing to see")


def test_distances_count_the_way_over_the_key() -> None:
    start = parse_caption(ROOM)
    table = distances(start.board)
    assert table[(USED,)] == (5, 4, -2, -2, 4, 3, 2, 1, 5, 4, -2, 2)
    assert [table[(HELD,)][c] for c in (0, 1, 4, 5, 8)] == [5, 4, 4, 3, 5]
    assert [table[(LYING,)][c] for c in (0, 1, 5, 8)] == [5, 6, 5, 5]
    plan = WORLD.solve(start, SOLO)
    assert isinstance(plan, Plan) and [m.key for m in plan.moves] == ["down", "right", "right", "right", "up"]
    assert [m.key for m in plan.first] == ["down"]


def test_a_walled_off_goal_is_unsolvable() -> None:
    walled = parse_caption("P # G")
    assert WORLD.solve(walled, SOLO) == Unsolvable("the goal cannot be reached")
    assert isinstance(WORLD.solve(parse_caption(". . *"), SOLO), Unsolvable)


def test_chances_on_one_line_of_ice() -> None:
    """On a board one cell high a slip stays in place, so the chance is a binomial tail."""
    table = chances(Board(4, 1, "...G", slip=0.25, budget=5))
    for turns in range(6):
        tail = sum(math.comb(turns, k) * 0.75**k * 0.25 ** (turns - k) for k in range(3, turns + 1))
        assert table[turns][0] == pytest.approx(tail)


def test_the_lake_oracle_is_as_good_as_its_estimate() -> None:
    world = world_of("FrozenLake")
    start = world.start(3, 5)
    chance = start.board.odds[start.board.budget][start.at]
    won = []
    for seed in range(400):
        state = Walk(start.board, start.at, (), Noise(seed))
        for _ in range(start.board.budget):
            plan = world.solve(state, SOLO)
            if not isinstance(plan, Plan):
                break
            outcome = world.step(state, {SOLO: plan.moves[0]})
            state = outcome.state
            if outcome.done:
                won.append(bool(outcome.rewards))
                break
    assert sum(won) / 400 == pytest.approx(chance, abs=0.04)


def test_slips_happen_as_often_as_declared_and_go_sideways() -> None:
    board = Board(3, 3, "......O.G", slip=0.3, budget=9)
    ends = [world_of("FrozenLake").step(Walk(board, 4, (), Noise(s)), {SOLO: CHOICES["up"]}) for s in range(3000)]
    at = np.bincount([o.state.at for o in ends], minlength=9) / 3000
    assert at[1] == pytest.approx(0.7, abs=0.03) and at[3] == pytest.approx(0.15, abs=0.02) == at[5]
    assert all((o.events == {SOLO: ("slipped",)}) == (o.state.at != 1) for o in ends)


def test_a_lake_tells_how_slippery_it_is_and_when_the_goal_is_reached() -> None:
    world = world_of("FrozenLake")
    state = world.start(1, 4)
    for level in (1, 2):
        assert "Slips: 14 in 100 steps." in world.caption(state, SOLO, level).split("\n")
    again = world.rebuild(world.caption(state, SOLO, 2), SOLO)
    assert again.board.slip == state.board.slip and "slip14" in world.static(state, SOLO) and "slip14" in world.words(4)
    assert [run.text for run in world.scene(state, SOLO).shapes] == ["Slips: 14 in 100 steps."]
    end = world.step(Walk(Board(3, 1, "O.G", slip=1e-9, budget=9), 1, (), Noise(1)), {SOLO: CHOICES["right"]})
    assert end.done and end.events == {SOLO: ("home",)}


def test_the_quick_start_board_is_as_hard_as_declared() -> None:
    """Random play 0.008, greedy play by distance 0.033, plans of 5 to 12 moves, 16 turns."""
    rng = Rng("players")
    starts = [WORLD.start(seed, 2, split="all") for seed in range(400)]
    plans = [WORLD.solve(s, SOLO) for s in starts]
    lengths = [len(p.moves) for p in plans if isinstance(p, Plan)]
    assert 8.2 < statistics.mean(lengths) < 9.0 and max(lengths) <= 13
    assert {WORLD.turns(s) for s in starts} == {16} and {s.board.width for s in starts} == {5}
    assert statistics.mean(_random_wins(s, rng) for s in starts for _ in range(12)) == pytest.approx(0.0085, abs=0.004)
    assert statistics.mean(_greedy_wins(s, rng) for s in starts) == pytest.approx(0.035, abs=0.03)


def _random_wins(state: Walk, rng: Rng) -> bool:
    for _ in range(16):
        outcome = WORLD.step(state, {SOLO: rng.pick(CHOICES.moves)})
        state = outcome.state
        if outcome.done:
            return True
    return False


def _greedy_wins(state: Walk, rng: Rng) -> bool:
    """Steps that come nearer to the key, then to the goal, and no others."""
    board = state.board

    def gap(at: int) -> int:
        to = board.keys[0] if state.keys[0] == LYING else board.cells.index("G")
        return abs(at // 5 - to // 5) + abs(at % 5 - to % 5)

    for _ in range(16):
        outcomes = [WORLD.step(state, {SOLO: move}) for move in CHOICES.moves]
        nearer = [o for o in outcomes if gap(o.state.at) < gap(state.at)]
        if not nearer:
            return False
        outcome = rng.pick(nearer)
        state = outcome.state
        if outcome.done:
            return True
    return False


@pytest.mark.parametrize("knobs", [{"size": 2}, {"walls": 30}, {"size": "big"}, {"doors": 5}])
def test_knobs_without_a_board_are_an_error(knobs: dict) -> None:
    with pytest.raises(
        QuintainError,
        match="knob (size|doors)=.*: it takes an integer|KeyDoor: no instance of level 2 in the split .train. has walls=30",
    ):
        WORLD.start(0, 2, **knobs)


def test_turn_budgets_end_episodes() -> None:
    played = play(task_of("MazeRoute", 1, 3), first_player)
    assert len(played.moves) == WORLD.turns(played.states[0]) and played.reward == 0
