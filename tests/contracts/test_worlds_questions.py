"""Every world can be asked about in one question, and what its oracle answers to that earns all."""

from __future__ import annotations

from typing import Any

import pytest
from tests.looks import look

from quintain.envs.adapters.play import Play
from quintain.envs.asking import ASKS
from quintain.envs.world import world_of
from quintain.registry import names
from quintain.worlds.kernel import LEVELS, Plan, Unknown, World

pytestmark = pytest.mark.worlds


def at_once(world: World[Any]) -> bool:
    """Whether a world is one question and one answer."""
    return len(world.facts.seats) == 1 and world.turns(world.start(1, 2)) == 1


LONGEST = 1500  # signs of a reason
ONCE = [name for name in names("world") if at_once(world_of(name))]


@pytest.mark.parametrize("name", names("world"))
def test_a_world_is_a_question_with_an_answer_that_can_be_checked(name: str) -> None:
    """Of the whole plan, of all moves, or of the last one: at a level that turns with every commit."""
    play, level = Play(name), look() % LEVELS
    fit = {asks: ask for asks, ask in ASKS.items() if not ask.unfit(play, [level])}
    assert fit, f"{name} at level {level} has no question"
    for asks, ask in fit.items():
        posed = 0
        for seed in range(look(), look() + 60):  # of the words that are guessed a third ends in a move that is sure
            told = play.begin(seed, {"level": level})
            heard = ask.pose(play, told[play.movers[0]])
            if heard is None:
                continue
            posed += 1
            seat = play.movers[0]
            assert seat == play.seats[0] or asks == "moves"
            before, best = play.env.fork(), ask.best(play)
            assert heard.text.strip() and best, f"{asks} at level {level} seed {seed}"
            assert ask.grade(play, best) == 1.0, f"{asks} at level {level} seed {seed}: {best!r} does not earn all"
            play.env = before
            assert ask.grade(play, None) == 0.0, f"{asks} at level {level} seed {seed}: nothing earns something"
            if posed == 2:
                break
        assert posed, f"{asks} at level {level}: no instance has the question"


@pytest.mark.parametrize("name", ONCE)
def test_an_answer_given_at_once_has_a_reason_that_stands_on_what_is_shown(name: str) -> None:
    """One line about this instance and no other, the same from the caption alone; at a level that turns with every commit."""
    world, level = world_of(name), look() % LEVELS
    seat, said = world.facts.seats[0], dict[str, str]()
    for seed in range(look(), look() + 6):
        state = world.start(seed, level)
        plan = world.solve(state, seat)
        shown = world.solve(world.rebuild(world.view(state, seat).caption(2), seat), seat)
        assert isinstance(plan, Plan) and isinstance(shown, Plan | Unknown)
        where = f"level {level} seed {seed}: {plan.because!r}"
        if isinstance(
            shown, Plan
        ):  # it may be another of several right answers, or too far for a search without the generator's own
            assert plan.because == shown.because or plan.moves != shown.moves, where
        else:
            assert plan.proof == "construction", where
        assert plan.because.isprintable() and plan.because.endswith(".") and len(plan.because) <= LONGEST, where
        said.setdefault(plan.because, plan.moves[0].key)
    assert len(said) >= len(set(said.values())) > 1, f"one reason for several answers: {said}"
