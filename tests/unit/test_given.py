"""What parts of one's own give is looked at where it enters the run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quintain.given import given_by, next_of, seen_by, whole, written
from quintain.parts import PartError, remembered, stateless
from quintain.registry import stamp
from quintain.samplers.blends import mixture
from quintain.samplers.worlds import worlds
from quintain.types import Group, Stop, Task, Trajectory

TASK = Task(key="t", env="KeyDoor")
GROUP = Group(task=TASK, trajectories=())


class Mine:
    def __init__(self, drawn=None, seen=None) -> None:
        self.drawn, self.seen = drawn, seen
        stamp(self, {"kind": "sampler", "name": "mine"})

    def init(self):
        return {}

    def draw(self, state):
        return self.drawn

    def observe(self, state, group):
        return self.seen


@pytest.mark.parametrize("drawn", [TASK, "KeyDoor", ("KeyDoor", {}), None])
def test_a_sampler_that_draws_no_pair_of_a_task_and_a_state_is_named(drawn):
    for sampler in (Mine(drawn), mixture(Mine(drawn))):
        with pytest.raises(
            PartError, match=r"the sampler 'mine': draw\(state\) gave .*; it should give a pair: a Task"
        ):
            next_of(sampler, sampler.init())


def test_a_sampler_that_forgets_its_state_is_named():
    for sampler in (Mine(), mixture(Mine())):
        with pytest.raises(PartError, match=r"'mine': observe\(state, group\) gave None"):
            seen_by(sampler, sampler.init(), GROUP)
    assert seen_by(Mine(), None, GROUP) is None, "it has none"


def test_a_sampler_that_lacks_a_method_is_named():
    lacking = Mine()
    lacking.observe = None
    assert whole(worlds("KeyDoor"))
    for make in (whole, mixture):
        with pytest.raises(PartError, match=r"the sampler 'mine' has no method observe\(state, group\), .* its state"):
            make(lacking)


ONE = Trajectory(id="0.0", nodes=(), stop=Stop.done)


@pytest.mark.parametrize(
    "made, told",
    [
        (Group(task=TASK, trajectories=(ONE, ONE)), "2 trajectories of the id '0.0', .*; give each one of its own"),
        (
            Group(task=TASK, trajectories=(), tags={"mine": object()}),
            "tag that the books cannot keep: {'mine': <object",
        ),
        (Group(task=TASK, trajectories=(replace(ONE, tags={"mine": print}),)), "tag that the books cannot keep"),
    ],
)
async def test_a_group_that_the_books_cannot_keep_is_refused(made, told):
    async def mine(task, cast, ticket):
        return made

    stamp(mine, {"kind": "rollout", "name": "mine"})
    with pytest.raises(PartError, match=f"the rollout 'mine' gave a.*{told}"):
        await given_by(mine, mine(TASK, None, 0), 0)


async def test_a_rollout_or_reward_that_is_not_async_is_told():
    def mine(group):
        return group

    stamp(mine, {"kind": "reward", "name": "mine"})
    with pytest.raises(PartError, match="the reward 'mine' gave Group.*, at once; .* write `async def`"):
        await given_by(mine, mine(GROUP), 0)


@pytest.mark.parametrize("state", [{0: 1}, {"levels": [{3: 0.5}]}])
def test_a_state_whose_keys_are_no_words_is_refused_as_they_would_come_back_as_words(state):
    class Remembers:
        def state(self):
            return state

        async def __call__(self, task, cast, ticket): ...

    part, credit = Remembers(), stateless(lambda groups: groups)
    stamp(part, {"kind": "rollout", "name": "mine"})
    stamp(credit, {"kind": "advantage", "name": "mine"})
    for look in (lambda: remembered(part), lambda: written(credit, state)):
        with pytest.raises(
            PartError, match=r"the (rollout|advantage) 'mine': its state.* would come back as '[03]'; use words"
        ):
            look()
