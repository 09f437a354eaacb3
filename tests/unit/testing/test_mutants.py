"""Wrong answers are found even where the right one is short."""

from __future__ import annotations

from quintain.envs.world import world_of
from quintain.testing.mutants import mutants
from quintain.worlds.kernel import Plan
from quintain.worlds.noise import Rng


def test_a_single_digit_has_enough_wrong_answers() -> None:
    """Few numbers are near 4; what is missing comes from random answers."""
    world = world_of("TriangleSum")
    start = world.start(1081, 1)
    plan = world.solve(start, world.facts.seats[0])
    assert isinstance(plan, Plan)
    (answer,) = plan.moves
    assert answer.key == "4"
    wrong = [move.key for move in mutants(world, start, answer, 20, Rng("wrong", "TriangleSum", 1081))]
    assert len(set(wrong)) == 20
    assert "4" not in wrong
