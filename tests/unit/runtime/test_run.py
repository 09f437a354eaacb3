"""What the ranks of a run agree on: when to drain, and when no rank has tasks left."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from quintain.loop import Drained, Window
from quintain.parts import Transform
from quintain.runtime.keeper import Keeper
from quintain.runtime.run import LocalRun, Plan


class Other:
    """Two ranks, of which the other one says the same to every question."""

    rank, size = 0, 2

    def __init__(self, says: bool) -> None:
        self.says = says

    def largest(self, values):
        return {name: max(value, float(self.says)) for name, value in values.items()}


def run_beside(other_says: bool) -> LocalRun:
    nothing = Transform(lambda: None, lambda groups, state: (groups, state), frozenset())
    part = SimpleNamespace(init=lambda: None)
    given = dict.fromkeys(("rollout", "reward", "learner", "cast", "pack", "evaluate"))
    parts = SimpleNamespace(**given, sampler=part, advantage=nothing, objective=nothing)
    keeper = Keeper(SimpleNamespace(append=lambda *events: None), Other(other_says))
    return LocalRun(parts, Window(2, steps=5), Plan(steps=5), keeper)


def test_a_rank_ends_at_a_step_boundary_when_another_one_was_asked_to():
    run = run_beside(True)
    assert list(run.steps()) == [] and run.draining
    assert list(run_beside(False).steps()) == [0, 1, 2, 3, 4]


def test_a_rank_that_was_asked_to_ends_where_the_others_learn_of_it():
    run = run_beside(False)
    run.drain()
    with pytest.raises(Drained, match="asked to"):
        run.credit(())


@pytest.mark.parametrize("over", [True, False])
def test_a_rank_without_tasks_goes_on_until_no_rank_has_any(over):
    run = run_beside(False)
    run.window.over = over
    if not over:
        assert run.credit(()) == ()
        return
    with pytest.raises(Drained, match="no more tasks"):
        run.credit(())


def test_a_rank_without_tasks_takes_part_while_another_has_some():
    run = run_beside(False)
    run.window.over = True
    answers = iter([False, True])  # nobody drains, the other one has tasks
    run.keeper.any_rank = lambda flag: next(answers)
    assert run.credit(()) == () and run.window.shared
