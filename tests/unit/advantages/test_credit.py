"""Credit beyond one group: streams, priors, pivots, prefixes, calls, opponents, chunks; and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from quintain.advantages import (
    align_calls,
    align_opponents,
    bound,
    combine,
    credit_sets,
    credit_tree,
    credited,
    drop_pivot,
    normalise,
    pay_calls,
    pool,
    prior_fused,
    recall_prior,
    redistribute,
    running,
    share_prefixes,
)
from quintain.advantages.keys import history
from quintain.algorithms import assemble
from quintain.learn.pack import pack
from quintain.objectives import chunk_ratio, sequence_ratio, taper
from quintain.parts import PartError, chain
from quintain.samplers.budget import share_budget
from quintain.testing.cases.episodes import credited as credits
from quintain.testing.cases.episodes import drawn, episode, firsts, group_of, scored
from quintain.types import Group, Terms, Trajectory

TAKEN = normalise(baseline="none", scale="none")


def weights(part, *groups: Group) -> list[float]:
    out, _ = part.apply(groups, part.init())
    return [drawn(t, "weight.rl")[0] for g in out for t in g.trajectories]


def test_a_running_baseline_goes_on_where_it_was_and_in_the_order_of_tickets():
    part = normalise(baseline=running(0.5, key="role"), scale="none")
    first, second = (scored([r], ticket, role=["a"]) for ticket, r in enumerate((1.0, 3.0)))
    (late, early), _ = part.apply((second, first), part.init())
    assert drawn(early.trajectories[0], "advantage") == [1.0] and drawn(late.trajectories[0], "advantage") == [2.5]
    _, state = part.apply((first,), part.init())
    (again,), _ = part.apply((second,), state)
    assert drawn(again.trajectories[0], "advantage") == [2.5]


@pytest.mark.parametrize("form", ["", "as_released"])
def test_seats_that_one_policy_plays_have_a_baseline_each_in_spiral(form):
    part = assemble("spiral", form=form).advantage
    games = [scored([1.0, 0.0], ticket, role=["policy"] * 2, agent=["first", "second"]) for ticket in range(3)]
    out, _ = part.apply(games, part.init())
    gained = [[drawn(t, "advantage")[0] for t in group.trajectories] for group in out]
    assert gained == [[1.0, 0.0], [pytest.approx(0.95), 0.0], [pytest.approx(0.9025), 0.0]]


def test_exactly_one_pivot_leaves_a_group():
    part = chain(normalise(baseline="median", scale="none"), drop_pivot())
    assert weights(part, scored([1.0, 1.0, 1.0]), scored([0.0, 1.0, 2.0])) == [0, 1, 1, 1, 0, 1]
    assert firsts(part, scored([0.0, 1.0, 2.0])) == [-1.5, 0.0, 1.5]


def test_a_prior_is_what_came_before_this_step():
    part = recall_prior("task")
    (fresh,), state = part.apply((scored([1.0, 0.0]),), part.init())
    (known,), _ = part.apply((scored([1.0, 1.0]),), state)
    assert "prior" not in fresh.tags and known.tags["prior"] == 0.5
    given = replace(scored([1.0]), tags={"prior": 0.25})
    assert part.apply((given,), state)[0][0].tags["prior"] == 0.25
    fused = normalise(baseline=prior_fused(), scale="none")
    assert firsts(fused, given) == [0.75], "one reward says less than its noise"
    assert firsts(fused, scored([1.0, 0.0])) == [0.5, -0.5], "without a prior the mean"


def test_a_weighted_sum_and_a_rule_on_a_rule():
    group = scored([1.0, 0.0])
    assert firsts(combine(TAKEN, normalise(scale="none"), weights=[1.0, 2.0]), group) == [2.0, -1.0]
    assert firsts(chain(TAKEN, normalise(unit=credited(), scale="none")), group) == [0.5, -0.5]
    with pytest.raises(PartError, match="2 parts with 1 weights"):
        combine("normalise", "normalise", weights=[1.0])
    with pytest.raises(PartError, match="no stream 'advantage'"):
        credits(pool(key="prompt"), group)


def test_what_branches_share_has_their_mean_once():
    root = episode("root", [2, 1], 1.0)
    fork = episode("fork", [2, 1], 0.0, fork=("root", 1, 0))
    again = episode("again", [2, 1], 0.5, fork=("fork", 0, 1))
    rows = credits(chain(TAKEN, share_prefixes()), group_of(root, fork, again))
    assert rows == [[0.5, 0.5, 1.0], [0.5, 0.5, 0.0], [0.5, 0.5, 0.5]]
    part = chain(TAKEN, share_prefixes(once=True))
    (out,), _ = part.apply((group_of(root, fork, again),), part.init())
    assert [drawn(t, "weight.rl") for t in out.trajectories] == [[1 / 3, 0.5, 1], [1 / 3, 0.5, 1], [1 / 3, 1, 1]]


def test_calls_fill_their_places_and_are_paid_by_the_outcome():
    calls = [episode(f"c{k}", [1], 9.0, call_parent="main") for k in range(3)]
    group = group_of(episode("main", [1], 1.0), *calls)
    for places in (1, 2, 3, 7):
        found = weights(chain(TAKEN, align_calls(places)), group)
        assert found[0] == 1 and sum(found[1:]) == places
        assert max(found[1:]) - min(found[1:]) <= 1
    (out,), _ = pay_calls().apply((group,), None)
    assert [t.reward for t in out.trajectories] == [1.0, 1.0, 1.0, 1.0]
    with pytest.raises(PartError, match="'gone', which is not in its group"):
        pay_calls().apply((group_of(episode("lost", [1], call_parent="gone")),), None)


def test_opponents_of_other_games_and_missing_rounds_count_nothing():
    one = episode("a", [1, 1], 1.0, episode=0, agent="x", turn_rewards=(0.5, 0.5))
    two = episode("b", [1], 2.0, episode=0, agent="y", turn_rewards=(2.0,))
    other = episode("c", [1, 1], 9.0, episode=1, agent="y", turn_rewards=(4.0, 5.0))
    unit = normalise(unit="turn", baseline="none", scale="none")
    rows = credits(chain(unit, align_opponents(1.0, 0.5)), group_of(one, two, other))
    assert rows == [[1.0, 0.5], [2.0], [9.0, 5.0]]
    rows = credits(chain(unit, align_opponents(1.0, 0.5, inclusive=True, limit=0.25)), group_of(one, two, other))
    assert rows == [[1.25, 0.5], [2.25], [9.0, 5.0]]


def test_an_untrained_estimator_leaves_the_outcome_where_it_was():
    one = episode("a", [2, 1], 1.0)
    one = one.with_stream("value", tuple((0.0,) * len(n.tokens) for n in one.nodes))
    unit = normalise(unit="turn", baseline="none", scale="none")
    assert credits(chain(redistribute(beta=0.0), unit), group_of(one)) == [[1.0, 1.0, 1.0]]
    assert credits(chain(redistribute(beta=0.0, close=False), unit), group_of(one)) == [[0.0, 0.0, 0.0]]


def test_messages_are_numbered_and_share_a_ratio():
    group = group_of(*(t for t in _credited(episode("a", [2, 1], 1.0), episode("b", [3], 0.0))))
    turns = pack((group,)).streams["turn"]
    assert turns.tolist() == [0, 0, 1, 1, 2, 3, 4, 4, 5, 5, 5]
    new = torch.tensor([0.2, 0.4, 0.9], dtype=torch.float64, requires_grad=True)
    zero = torch.zeros(3, dtype=torch.float64)
    terms = Terms(
        new=new,
        rollout=zero,
        advantage=torch.tensor([1.0, -1.0, -1.0], dtype=torch.float64),
        mask=torch.ones(3, dtype=torch.bool),
        sequence=torch.zeros(3, dtype=torch.long),
        group=torch.zeros(3, dtype=torch.long),
        turn=torch.tensor([4, 4, 7]),
    )
    found = chunk_ratio("rollout").apply(terms, None)[0]
    assert torch.allclose(found.log_ratio, torch.tensor([0.3, 0.3, 0.9], dtype=torch.float64))
    same = chunk_ratio("rollout").apply(replace(terms, turn=terms.sequence), None)[0].log_ratio
    assert torch.equal(same, sequence_ratio("rollout").apply(terms, None)[0].log_ratio)
    loss = taper(1.5).apply(found, None)[0].loss
    (slope,) = torch.autograd.grad(loss.sum(), [new])
    assert torch.allclose(slope, torch.tensor([-1.0, math.exp(0.3), 1.5], dtype=torch.float64))


def _credited(*trajectories: Trajectory) -> tuple[Trajectory, ...]:
    (out,), _ = TAKEN.apply((group_of(*trajectories),), TAKEN.init())
    return out.trajectories


def test_a_tag_of_strategies_that_no_trajectory_has_is_warned_of_once():
    group = group_of(*(episode(name, [1], float(i), tags={"plan": name}) for i, name in enumerate("ab")))
    part = credit_sets(1, of="plam")
    with pytest.warns(
        UserWarning, match="no trajectory of the step has a tag 'plam', .* there are: plan; set of="
    ) as told:
        for _ in range(2):
            part.apply((group,), part.init())
    assert len(told) == 1
    for of in ("plan", "actions", "tokens"):
        credit_sets(1, of=of).apply((group,), None)  # a warning would be an error
    credit_sets(1, of="plam").apply((), None)


def test_what_cannot_work_is_refused_by_name():
    for make, told in (
        (lambda: history(0), "key history: length is 0"),
        (lambda: bound(0.0), "bound: limit is 0"),
        (lambda: prior_fused(0.0), "prior_fused: noise is 0"),
        (lambda: share_budget([0.5], 9, 2, 8), "cannot share 9"),
        (lambda: running(1.5), "running: decay is 1.5"),
        (lambda: firsts(credit_sets(8), scored([0.0] * 30)), "set `draws`"),
        (
            lambda: firsts(credit_tree(), group_of(episode("a", [1], tags={"leaf_rewards": [1, 2]}))),
            "2 leaf rewards for 1",
        ),
        (lambda: firsts(normalise(baseline=prior_fused()), replace(scored([1.0]), tags={"prior": math.nan})), "is nan"),
    ):
        with pytest.raises(PartError, match=told):
            make()
