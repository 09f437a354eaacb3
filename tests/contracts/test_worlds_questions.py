"""Every world can be asked about in one question, and what its oracle answers to that earns all."""

from __future__ import annotations

import pytest
from tests.looks import look

from quintain.envs.adapters.play import Play
from quintain.envs.asking import ASKS
from quintain.registry import names
from quintain.worlds.kernel import LEVELS

pytestmark = pytest.mark.worlds


@pytest.mark.parametrize("name", names("world"))
def test_a_world_is_a_question_with_an_answer_that_can_be_checked(name: str) -> None:
    """Of the whole plan, of all moves, or of the last one: at a level that turns with every commit."""
    play, level = Play(name), look() % LEVELS
    fit = {asks: ask for asks, ask in ASKS.items() if not ask.unfit(play, [level])}
    assert fit, f"{name} at level {level} has no question"
    for asks, ask in fit.items():
        posed = 0
        for seed in range(look(), look() + 6):
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
