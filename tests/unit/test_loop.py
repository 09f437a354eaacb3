"""The loop on scripted parts: the exact lag bound, order, gate verdicts, determinism, draining, errors."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintain.loop import Drained, LagError, Window, train
from quintain.parts import PartError, Transform
from quintain.types import (
    Completion,
    Group,
    Node,
    QuintainError,
    Span,
    Stop,
    Task,
    Ticket,
    Trajectory,
    Weights,
)


class Script:
    """A run whose groups take random numbers of event-loop turns, and whose learner only counts versions."""

    def __init__(self, window: Window, seed: int = 0, tasks: int = 10**6, reward=lambda i: float(i % 3)) -> None:
        self.window, self.rng, self.tasks, self.rewards = window, random.Random(seed), tasks, reward
        self.cast = self.learner = self
        self.objective, self.needs = None, frozenset()
        self.version, self.taken, self.batches, self.drain_at = 0, [], [], None
        self.fail_at = None

    def issue(self, index):
        return (
            Ticket(index=index, task=Task(key=str(index), env="x"), version=self.version)
            if index < self.tasks
            else None
        )

    async def rollout(self, task, cast, index):
        version = self.version
        for _ in range(self.rng.randrange(40)):
            await asyncio.sleep(0)
        if index == self.fail_at:
            raise ValueError("broken rollout")
        one = Trajectory(id=f"{index}", nodes=(), stop=Stop.done, rewards={"success": self.rewards(index)})
        return Group(task=task, trajectories=(one,), ticket=index, version=version)

    async def reward(self, group):
        return group

    def steps(self):
        return iter(range(self.window.step, self.window.steps))

    async def score(self, groups, needs):
        return groups

    def credit(self, groups):
        return groups

    def pack(self, groups):
        return groups

    async def update(self, batch, objective):
        await asyncio.sleep(0)
        self.batches.append([g.ticket for g in batch])
        self.taken.append([(g.ticket, self.version - g.version) for g in batch])
        return {}

    async def publish(self):
        return Weights(version=self.version + 1, kind="pointer")

    async def load(self, weights):
        self.version = weights.version

    async def record(self, step, groups, metrics):
        if step == self.drain_at:
            self.window.close()


def gate(verdict):
    def apply(groups, state):
        (group,) = groups
        answer = verdict(group.ticket)
        if answer == "drop":
            return (), state + 1
        return (replace(group, tags={"refill": True}) if answer == "refill" else group,), state

    return Transform(lambda: 0, apply)


def play(script: Script) -> Script:
    asyncio.run(asyncio.wait_for(train(script), 20))
    return script


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.integers(0, 4), st.integers(0, 8), st.integers(1, 12), st.integers(0, 999))
def test_lag_never_exceeds_the_bound_and_every_ticket_is_trained_once(size, max_lag, look, steps, seed):
    run = play(Script(Window(size, max_lag, look, steps=steps), seed))
    assert max(lag for step in run.taken for _, lag in step) <= max_lag
    assert sorted(t for step in run.batches for t in step) == list(range(size * steps))
    assert all(len(step) == size for step in run.batches)
    if look == 0:
        assert run.batches == [list(range(i * size, i * size + size)) for i in range(steps)]


def test_the_lag_bound_is_reached():
    run = play(Script(Window(2, 3, 0, steps=12)))
    assert max(lag for step in run.taken for _, lag in step) == 3


def test_look_lets_a_late_group_wait_but_not_beyond_its_deadline():
    run = play(Script(Window(2, 2, 6, steps=20), seed=3))
    flat = [t for step in run.batches for t in step]
    assert flat != sorted(flat), "nothing was taken out of order: look does nothing"
    for step, tickets in enumerate(run.batches):
        assert max(tickets) - min(t for later in run.batches[step:] for t in later) < 2 + 6


def test_dropped_groups_leave_the_step_smaller_and_refills_are_replaced():
    verdicts = {1: "drop", 2: "refill", 5: "refill"}
    window = Window(3, 0, 0, gate(lambda i: verdicts.get(i, "keep")), steps=3, max_refills=5)
    run = play(Script(window))
    assert run.batches == [[0, 3], [4, 6, 7], [8, 9, 10]]
    assert window.gate_state == 1 and window.refilled == 2


def test_too_many_refills_are_a_named_error():
    with pytest.raises(LagError, match="max_refills is 4"):
        play(Script(Window(2, 0, 0, gate(lambda i: "refill"), steps=2, max_refills=4)))


def test_refills_may_repeat_in_every_step_up_to_the_limit():
    window = Window(2, 1, 0, gate(lambda i: "refill" if i % 2 else "keep"), steps=6, max_refills=9)
    run = play(Script(window))
    assert [len(b) for b in run.batches] == [2] * 6
    assert all(t % 2 == 0 for b in run.batches for t in b)


def test_a_synchronous_run_does_not_depend_on_who_finishes_first():
    one, two = (play(Script(Window(4, steps=5), seed)).batches for seed in (1, 2))
    assert one == two


def history(finished):
    """A gate that remembers the order in which it saw tickets, and whose verdicts depend on it."""

    def apply(groups, state):
        (group,) = groups
        answer = random.Random(hash((state, group.ticket))).choice(["keep", "keep", "drop", "refill"])
        state = (*state, (group.ticket, len(finished)))
        if answer == "drop":
            return (), state
        return (replace(group, tags={"refill": True}) if answer == "refill" else group,), state

    return Transform(lambda: (), apply)


def outcome(size, steps, tasks, seed, again=()):
    """What a synchronous run with a gate did: draws with the number of groups finished by then, steps, drops, the gate."""
    issued, finished = [], []
    window = Window(size, 0, 0, history(finished), steps=steps, max_refills=10**6)
    window.restart(0, len(again), again)
    script = Script(window, seed, tasks)
    draw = script.issue

    async def reward(group):
        finished.append(group.ticket)
        return group

    def issue(index):
        issued.append((index, len(finished)))
        return draw(index)

    script.issue, script.reward = issue, reward
    play(script)
    return issued, script.taken, window.dropped, window.gate_state, window.index, window.refilled, sorted(finished)


@settings(max_examples=150, deadline=None)
@given(
    *(st.integers(1, 5), st.integers(1, 6), st.integers(1, 40), st.integers(0, 3)),
    *(st.integers(0, 999), st.integers(1000, 1999)),
)
def test_a_synchronous_run_with_a_gate_does_not_depend_on_who_finishes_first(size, steps, tasks, left, one, two):
    again = [Ticket(index=i, task=Task(key=str(i), env="x")) for i in range(min(left, size))]
    first = outcome(size, steps, tasks, one, again)
    assert first == outcome(size, steps, tasks, two, again)
    _, taken, dropped, seen, index, _, finished = first
    assert [t for t, _ in seen] == finished == list(range(index)), "each was judged once, in ticket order"
    out = {t.index for t, _ in dropped}
    assert sorted([*out, *(t for step in taken for t, _ in step)]) == list(range(index)) and len(out) == len(dropped)
    assert index >= tasks or len(taken) == steps


def test_refills_of_a_synchronous_step_are_issued_together():
    verdicts = {0: "refill", 2: "refill", 4: "refill"}
    window, seen = Window(4, 0, 0, gate(lambda i: verdicts.get(i, "keep")), steps=1, max_refills=5), []
    script = Script(window)
    draw, finished = script.issue, []

    async def reward(group):
        finished.append(group.ticket)
        return group

    script.reward = reward
    script.issue = lambda index: seen.append(len(finished)) or draw(index)
    assert play(script).batches == [[1, 3, 5, 6]]
    assert seen == [0, 0, 0, 0, 4, 4, 6] and [t.index for t, _ in window.dropped] == [0, 2, 4]


def test_an_overlapped_run_judges_at_once():
    window = Window(2, 1, 0, gate(lambda i: "drop" if i == 1 else "keep"), steps=4)

    async def steps():
        tickets = [await window.admit(Script(window).issue) for _ in range(4)]
        await window.put(tickets[1], Group(task=tickets[1].task, trajectories=()))
        return [(t.index, why) for t, why in window.dropped]

    assert asyncio.run(steps()) == [(1, "gate")]


@pytest.mark.parametrize("tasks", [2, 3])
def test_what_a_synchronous_window_holds_is_judged_when_there_are_no_more_tasks(tasks):
    window = Window(3, 0, 0, gate(lambda i: "drop" if i == 1 else "keep"), steps=2)

    async def steps():
        script = Script(window, tasks=tasks)
        tickets = [await window.admit(script.issue) for _ in range(2)]
        for ticket in tickets[::-1]:
            await window.put(ticket, Group(task=ticket.task, trajectories=()))
        assert not window.dropped, "a slot is open, and nobody knows yet that there is no task for it"
        third = await window.admit(script.issue)
        if third is None:
            return [g.ticket for g in await window.take()]
        assert not window.dropped
        await window.put(third, Group(task=third.task, trajectories=()))
        return [g.ticket for g in await window.take()]

    assert asyncio.run(asyncio.wait_for(steps(), 5)) == [0, 2][: tasks - 1]
    assert [t.index for t, _ in window.dropped] == [1]


def test_too_many_refills_are_the_same_error_when_there_are_no_more_tasks():
    window = Window(3, 0, 0, gate(lambda i: "refill"), steps=2, max_refills=1)
    admit = window.admit

    async def late(issue):  # the draw that finds nothing comes after the groups have finished
        for _ in range(100 * (window.index == 2)):
            await asyncio.sleep(0)
        return await admit(issue)

    window.admit = late
    with pytest.raises(LagError, match="max_refills is 1"):
        play(Script(window, tasks=2))


def test_a_window_that_is_closed_while_it_holds_groups_keeps_them_pending():
    window = Window(2, 0, 0, gate(lambda i: "drop"), steps=2)

    async def steps():
        tickets = [await window.admit(Script(window).issue) for _ in range(2)]
        await window.put(tickets[1], Group(task=tickets[1].task, trajectories=()))
        waiting = asyncio.create_task(window.take())
        await asyncio.sleep(0)
        window.close()
        with pytest.raises(Drained):
            await waiting
        return [t.index for t in window.pending]

    assert asyncio.run(asyncio.wait_for(steps(), 5)) == [0, 1]
    assert window.gate_state == 0 and not window.dropped


def test_a_run_ends_when_the_tasks_do_and_trains_the_rest():
    run = play(Script(Window(4, steps=10), tasks=10))
    assert [len(b) for b in run.batches] == [4, 4, 2]


def test_a_shared_window_gives_nothing_where_its_own_tasks_end():
    window = Window(4, steps=10)
    window.shared = True
    script, seen = Script(window, tasks=6), []

    def credit(groups):
        seen.append((len(groups), window.over))
        if len(seen) == 4:
            raise Drained("no rank has tasks left")
        return groups

    script.credit = credit
    assert [len(b) for b in play(script).batches] == [4, 2, 0]
    assert seen == [(4, False), (2, False), (0, True), (0, True)]


def test_a_shared_window_that_is_closed_gives_nothing_so_that_ranks_meet():
    window = Window(2, steps=9)
    window.shared = True
    script, met = Script(window), []
    script.drain_at = 3

    def credit(groups):
        if window.over:
            met.append(groups)
            raise Drained("all ranks agree")
        return groups

    script.credit = credit
    assert [len(b) for b in play(script).batches] == [2] * 4 and met == [()]


def test_drain_ends_the_run_at_a_step_boundary():
    script = Script(Window(2, 1, steps=50))
    script.drain_at = 4
    assert len(play(script).batches) == 5


def test_an_error_in_a_rollout_ends_the_run_with_that_error():
    script = Script(Window(2, steps=5))
    script.fail_at = 5
    with pytest.raises(ValueError, match="broken rollout"):
        play(script)


def test_rollouts_that_fail_together_end_the_run_with_one_of_their_errors():
    script = Script(Window(3, steps=5))

    async def broken(task, cast, index):
        raise QuintainError(f"no use in {index}")

    script.rollout = broken
    with pytest.raises(QuintainError, match="no use in 0"):
        play(script)


def test_tokens_older_than_the_bound_are_refused():
    script = Script(Window(1, 1, steps=6))
    original = script.rollout

    async def stale(task, cast, index):
        said = Completion(tokens=(1,), logprobs=(0.0,), finish="stop", spans=(Span(start=0, stop=1, version=0),))
        old = Trajectory(id="old", nodes=(Node.sampled(None, said),), stop=Stop.done)
        return replace(await original(task, cast, index), trajectories=(old,))

    script.rollout = stale
    with pytest.raises(LagError, match="max_lag is 1"):
        play(script)


def test_pending_tickets_are_played_first_after_a_restart():
    window = Window(2, 1, steps=4)
    script = Script(window)
    script.version = 2
    window.restart(2, 6, [Ticket(index=4, task=Task(key="4", env="x")), Ticket(index=5, task=Task(key="5", env="x"))])
    assert play(script).batches == [[4, 5], [6, 7]]


def test_more_pending_tickets_than_a_smaller_window_has_room_for_are_played_step_by_step():
    window = Window(2, 0, steps=5)
    script = Script(window)
    script.version = 2
    pending = [Ticket(index=i, task=Task(key=str(i), env="x")) for i in (4, 5, 6, 7, 8)]
    window.restart(2, 9, pending)
    assert window.pending == pending, "a checkpoint that is saved before they are played does not forget them"
    assert play(script).batches == [[4, 5], [6, 7], [8, 9]]
    assert all(lag == 0 for step in script.taken for _, lag in step)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 3), st.integers(0, 4)), min_size=2, max_size=4),
    st.integers(0, 999),
)
def test_a_run_goes_on_with_another_size_of_its_steps_and_does_so_again(lives, seed):
    trained, step, index, pending = [], 0, 0, []
    for number, (size, max_lag, look) in enumerate(lives):
        window = Window(size, max_lag, look, gate(lambda i: "drop" if i % 7 == 3 else "keep"), steps=step + 5)
        window.restart(step, index, pending)
        script = Script(window, seed)
        script.version, script.drain_at = step, None if number + 1 == len(lives) else step + 2
        play(script)
        assert len(script.batches) == (5 if script.drain_at is None else 3)
        assert all(lag <= max_lag for taken in script.taken for _, lag in taken)
        gone = {t.index for t, _ in window.dropped}
        trained += [t for batch in script.batches for t in batch] + sorted(gone)
        step, index, pending = window.step, window.index, window.pending
    left = {t.index for t in pending}
    assert len(trained) == len(set(trained)) and set(trained) | left == set(range(index))
    assert not left & set(trained)


def test_a_window_without_room_is_refused():
    with pytest.raises(QuintainError, match="size >= 1"):
        Window(0, steps=1)


@pytest.mark.parametrize(
    "made, told",
    [(None, "gave None, a NoneType"), (Group(task=Task(key="x", env="x"), trajectories=(), ticket=7), "of ticket 7")],
)
def test_a_rollout_that_gives_no_group_of_its_ticket_is_refused_before_it_is_in_the_books(made, told):
    script, seen = Script(Window(1, steps=1)), []

    async def rollout(task, cast, index):
        return made

    async def reward(group):
        seen.append(group)
        return group

    script.rollout, script.reward = rollout, reward
    with pytest.raises(PartError, match=rf"{told}; it should give a Group with ticket=0"):
        play(script)
    assert not seen
