"""The window against a model that sorts everything on every call; what comes too late; memory while nobody learns."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintain.loop import Drained, LagError, OverLimit, Window, train
from quintain.parts import PartError, Transform
from quintain.registry import stamp
from quintain.runtime import clock
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
from quintain.window import WITHHELD


class Model:
    """What the window is meant to do, as plainly as it can be said: every question looks at all tickets."""

    def __init__(self, size, max_lag, look, gate, steps):
        self.size, self.max_lag, self.look, self.gate, self.steps = size, max_lag, look, gate, steps
        self.step = self.index = self.refilled = 0
        self.gate_state = gate.init() if gate else None
        self.dropped, self.waiting, self.again, self.dry = [], {}, [], False

    def open(self):
        limit = min(self.step + 1 + self.max_lag, self.steps) * self.size
        return self.index - len(self.again) - self.refilled < limit

    def admit(self, issue):
        if not self.open():
            return None
        if self.again:
            ticket = replace(self.again.pop(0), version=self.step)
        else:
            ticket = issue(self.index)
            self.index += ticket is not None
            self.dry = ticket is None
        if ticket is None:
            self.judge()
        else:
            self.waiting[ticket.index] = (ticket, None, False)
        return ticket

    def put(self, ticket, group):
        self.waiting[ticket.index] = (ticket, replace(group, ticket=ticket.index, version=ticket.version), False)
        self.judge()

    def judge(self):
        playing = any(group is None and not judged for _, group, judged in self.waiting.values())
        if self.gate and not self.max_lag and (playing or (self.open() and not self.dry)):
            return
        for index in sorted(self.waiting):
            ticket, group, judged = self.waiting[index]
            if group is None or judged:
                continue
            verdict = group
            if self.gate:
                kept, self.gate_state = self.gate.apply((group,), self.gate_state)
                verdict = kept[0] if kept else None
            if verdict is not None and verdict.tags.get("refill"):
                del self.waiting[index]
                self.refilled += 1
                self.dropped.append((ticket.index, "refill"))
                continue
            if verdict is None:
                self.dropped.append((ticket.index, "gate"))
            self.waiting[index] = (ticket, verdict, True)

    def take(self):
        chosen = self.ready()
        if not chosen:
            return None
        groups = [self.waiting.pop(i)[1] for i in chosen]
        return [g.ticket for g in groups if g is not None]

    def ready(self):
        order = sorted(self.waiting)
        due = [self.waiting[i][0].version + self.max_lag for i in order]
        finished = [i for i in order[: self.size + self.look] if self.waiting[i][2]]
        chosen = []
        for step in sorted(set(due)):
            by_then = sum(d <= step for d in due)
            must = by_then - (step - self.step) * self.size
            early = [i for i in finished if i in order[:by_then] and i not in chosen]
            taken = sum(i in order[:by_then] for i in chosen)
            if must - taken > len(early):
                return None
            chosen += early[: max(0, must - taken)]
        chosen += [i for i in finished if i not in chosen][: self.size - len(chosen)]
        short = self.dry and all(done for _, _, done in self.waiting.values())
        return sorted(chosen) if len(chosen) == self.size or short else None


def moody(seed):
    """A gate whose verdicts depend on all that it has seen."""

    def apply(groups, state):
        (group,) = groups
        answer = random.Random(f"{seed} {state} {group.ticket}").choice(["keep", "keep", "keep", "drop", "refill"])
        state = state * 31 % 9973 + group.ticket
        if answer == "drop":
            return (), state
        return (replace(group, tags={"refill": True}) if answer == "refill" else group,), state

    return Transform(lambda: 0, apply)


async def at_once(asked):
    """What a call gives without waiting for anybody; None if it waits."""
    task = asyncio.ensure_future(asked)
    for _ in range(3):
        await asyncio.sleep(0)
    if not task.done():
        task.cancel()
        await asyncio.wait([task])
        return None
    try:
        return task.result()
    except Drained:
        return None


async def compare(sizes, gated, tasks, left, seed):
    size, max_lag, look, steps = sizes
    rng = random.Random(seed)
    gate = moody(seed) if gated else None
    window = Window(size, max_lag, look, gate, steps=steps, max_refills=10**6)
    model = Model(size, max_lag, look, gate, steps)
    again = [Ticket(index=i, task=Task(key=str(i), env="x")) for i in range(left)]
    window.restart(0, left, again)
    model.index, model.again = left, list(again)

    def issue(index):
        return Ticket(index=index, task=Task(key=str(index), env="x"), version=model.step) if index < tasks else None

    playing, taken, idle = [], 0, 0
    while model.step < steps and idle < 40:
        act = rng.choice(["admit", "admit", "put", "put", "take"])
        if act == "admit":
            mine, its = await at_once(window.admit(issue)), model.admit(issue)
            assert mine == its
            if mine:
                playing.append(mine)
        elif act == "put" and playing:
            ticket = playing.pop(rng.randrange(len(playing)))
            group = Group(task=ticket.task, trajectories=())
            await window.put(ticket, group)
            model.put(ticket, group)
            its = ticket
        else:
            its = model.take() if act == "take" else None
            mine = await at_once(window.take()) if act == "take" else None
            assert (None if mine is None else [g.ticket for g in mine]) == its
            if its is not None:
                taken += len(its)
                window.release()
                model.step += 1
        idle = 0 if its is not None else idle + 1
        assert [(t.index, why) for t, why in window.dropped] == model.dropped
        assert (window.index, window.refilled, window.gate_state) == (model.index, model.refilled, model.gate_state)
        assert window.unfinished == sorted(t.index for t in playing)
    return taken


@settings(max_examples=300, deadline=None)
@given(
    st.tuples(st.integers(1, 4), st.integers(0, 3), st.integers(0, 6), st.integers(1, 8)),
    *(st.booleans(), st.integers(0, 60), st.integers(0, 6), st.integers(0, 10**6)),
)
def test_the_window_does_what_its_model_does(sizes, gated, tasks, left, seed):
    asyncio.run(compare(sizes, gated, tasks, left, seed))


class Script:
    """A run whose groups take random numbers of event-loop turns, with an engine that stamps the version of each token."""

    def __init__(self, window, seed=0, slowness=40, tasks=10**6):
        self.window, self.rng, self.slowness, self.tasks = window, random.Random(seed), slowness, tasks
        self.cast = self.learner = self
        self.objective, self.needs = None, frozenset()
        self.version, self.trained, self.seen, self.issued = 0, [], [], []

    def issue(self, index):
        if index >= self.tasks:
            return None
        self.issued.append(index)
        return Ticket(index=index, task=Task(key=str(index), env="x"), version=self.window.step)

    async def rollout(self, task, cast, index):
        for _ in range(self.rng.randrange(self.slowness)):  # in line for a slot: no token yet
            await asyncio.sleep(0)
        versions = []
        for _ in range(self.rng.randrange(1, 4)):
            versions.append(self.version)
            for _ in range(self.rng.randrange(self.slowness)):
                await asyncio.sleep(0)
        spans = tuple(Span(start=i, stop=i + 1, version=v) for i, v in enumerate(versions))
        n = len(versions)
        said = Completion(tokens=(1,) * n, logprobs=(0.0,) * n, finish="stop", spans=spans)
        one = Trajectory(id=f"{index}", nodes=(Node.sampled(None, said),), stop=Stop.done, rewards={"r": 1.0})
        return Group(task=task, trajectories=(one,), ticket=index)

    async def reward(self, group):
        return group

    def steps(self):
        return iter(range(self.window.step, self.window.steps))

    async def score(self, groups, needs):
        return groups

    def credit(self, groups):
        self.seen += [g.ticket for g in groups if g.tags.get(WITHHELD)]
        return groups

    def pack(self, groups):
        return groups

    async def update(self, batch, objective):
        for _ in range(self.rng.randrange(self.slowness)):
            await asyncio.sleep(0)
        self.trained.append([(g.ticket, self.window.step - g.oldest) for g in batch])
        return {}

    async def publish(self):
        return Weights(version=self.version + 1, kind="pointer")

    async def load(self, weights):
        self.version = weights.version

    async def record(self, step, groups, metrics):
        pass


def play(script):
    asyncio.run(asyncio.wait_for(train(script), 20))
    return script


@settings(max_examples=150, deadline=None)
@given(
    *(st.integers(1, 4), st.integers(1, 3), st.integers(0, 6), st.integers(1, 12), st.integers(0, 12)),
    *(st.sampled_from(["withhold", "refill"]), st.integers(0, 999)),
)
def test_nothing_over_the_limit_is_trained_and_every_ticket_is_accounted_for(
    size, max_lag, look, steps, ahead, policy, seed
):
    window = Window(size, max_lag, look, steps=steps, over=OverLimit(policy, ahead))
    run = play(Script(window, seed))
    assert all(lag <= max_lag for step in run.trained for _, lag in step)
    assert [len(step) for step in run.trained] == [size] * steps, "fresh tickets took the places"
    trained = [t for step in run.trained for t, _ in step]
    gone = [t.index for t, _ in window.dropped]
    assert sorted([*trained, *gone]) == run.issued, "each was trained or dropped, once, and none is left over"
    assert {why for _, why in window.dropped} <= {WITHHELD if policy == "withhold" else "lag"}
    assert set(run.seen) <= set(gone) and (policy == "withhold" or not run.seen)
    assert len(run.seen) == len(set(run.seen)), "the baseline sees it once"


@pytest.mark.parametrize(("policy", "key"), [("withhold", "groups_withheld"), ("refill", "groups_refilled_for_lag")])
def test_what_comes_too_late_is_counted_and_shown_to_the_baseline_or_not(policy, key):
    window = Window(2, 1, 4, steps=30, over=OverLimit(policy, 8))
    run = play(Script(window, seed=5))
    counts = window.counts()
    assert counts[key] == len(window.dropped) > 5
    assert counts["groups_withheld"] + counts["groups_refilled_for_lag"] == counts[key]
    seen = [t.index for t, _ in window.dropped] if policy == "withhold" else []
    assert set(run.seen) <= set(seen) and len(run.seen) >= len(seen) - 8, "all but those of the last step"
    assert window.counts()[key] == 0, "counted once"


def test_engines_that_may_run_ahead_wait_less():
    def waited(over):
        window = Window(2, 1, 0, steps=40, over=over)

        class Slow(Script):  # the learner is the slower one
            async def update(self, batch, objective):
                for _ in range(200):
                    await asyncio.sleep(0)
                return await super().update(batch, objective)

        run = Slow(window, slowness=10)
        most = [0]
        issue = run.issue
        run.issue = lambda index: most.append(len(window.unfinished) + window.held) or issue(index)
        play(run)
        return max(most)

    assert waited(OverLimit()) < 4 <= 4 + 5 < waited(OverLimit("refill", 8)) <= 4 + 8


def test_a_ticket_that_finishes_within_the_limit_after_all_is_trained():
    window = Window(1, 1, 2, steps=6, over=OverLimit("withhold", 2))

    async def steps():
        script = Script(window)
        slow, *quick = [await window.admit(script.issue) for _ in range(4)]
        for ticket in quick:
            await window.put(ticket, Group(task=ticket.task, trajectories=()))
        for _ in range(2):
            await window.take()
            window.release()
        said = Completion(tokens=(1,), logprobs=(0.0,), finish="stop", spans=(Span(start=0, stop=1, version=2),))
        one = Trajectory(id="0", nodes=(Node.sampled(None, said),), stop=Stop.done)
        await window.put(slow, Group(task=slow.task, trajectories=(one,)))  # begun at version 2, admitted at version 0
        return [(g.ticket, WITHHELD in g.tags) for g in await window.take()]

    assert asyncio.run(asyncio.wait_for(steps(), 5)) == [(3, True), (0, False)]
    assert window.concluded == [1, 2, 3, 0], "nobody waits any more for one that is withheld"


def test_a_learner_that_is_stuck_stops_the_producers_and_what_waits_is_bounded():
    for over, most in ((OverLimit(), 3 * 4), (OverLimit("refill", 5), 3 * 4 + 5)):
        window = Window(4, 2, 3, steps=10**6, over=over)
        run = Script(window, slowness=3)
        stuck = asyncio.Event()

        async def update(batch, objective, stuck=stuck):
            stuck.set()
            await asyncio.Event().wait()

        async def watch(run=run, update=update, stuck=stuck):
            run.update = update
            training = asyncio.create_task(train(run))
            await stuck.wait()
            sizes = []
            for _ in range(4):
                for _ in range(1000):
                    await asyncio.sleep(0)
                sizes.append(sum(len(repr(place.group)) for place in run.window._places.values()))
            training.cancel()
            await asyncio.wait([training])
            return sizes

        sizes = asyncio.run(asyncio.wait_for(watch(), 20))
        assert len(set(sizes)) == 1 and 0 < sizes[0] < (most - 4) * 2000, "bytes that wait do not grow either"
        assert len(run.issued) == most, "the four that are trained, and a bound that no waiting moves"
        assert window.held == most - 4 and window.counts()["groups_waiting_max"] <= most


def test_a_restart_gives_the_places_of_dropped_groups_away():
    drop = Transform(lambda: None, lambda groups, state: ((), state))
    window = Window(2, 2, 0, drop, steps=9)

    async def steps():
        tickets = [await window.admit(Script(window).issue) for _ in range(5)]
        for ticket in tickets[2:4]:
            await window.put(ticket, Group(task=ticket.task, trajectories=()))

    asyncio.run(steps())
    assert [t.index for t in window.pending] == [0, 1, 4], "dropped ones are written down and never played again"
    other = Window(2, 2, 0, steps=3)
    other.restart(0, window.index, window.pending)
    run = play(Script(other))
    assert sorted(t for step in run.trained for t, _ in step) == [0, 1, 4, 5, 6, 7]


def test_admission_that_waits_is_counted_in_seconds_of_the_loop():
    window = Window(1, steps=3)

    async def steps():
        script = Script(window)
        await window.admit(script.issue)
        waiting = asyncio.create_task(window.admit(script.issue))
        await asyncio.sleep(3.0)  # of the virtual clock
        window.close()
        assert await waiting is None

    clock.run(steps())
    assert window.counts()["seconds_admission_waited"] == 3.0


@pytest.mark.parametrize("lag", [0, 1])
def test_many_slots_that_open_at_once_leave_the_loop_a_turn_between_two_tickets(lag):
    window, turns = Window(8, lag, steps=3), []

    async def steps():
        script, loop = Script(window), asyncio.get_running_loop()
        for _ in range(8):
            loop.call_soon(turns.append, window.index)
            await window.admit(script.issue)
        return list(turns)

    assert asyncio.run(steps()) == (list(range(8)) if lag else []), (
        "with no lag all of a step begin together, whatever else is ready"
    )


@pytest.mark.parametrize(
    ("lag", "over", "match"),
    [(1, OverLimit("hope"), "hope"), (1, OverLimit("wait", 2), "ahead is 2"), (0, OverLimit("refill", 2), "max_lag=0")],
)
def test_a_policy_that_cannot_work_is_refused(lag, over, match):
    with pytest.raises(QuintainError, match=match):
        Window(2, lag, steps=1, over=over)


def test_an_exact_window_refuses_what_breaks_the_protocol():
    window = Window(1, 1, steps=6)
    script = Script(window)
    rollout = script.rollout

    async def stale(task, cast, index):
        script.version, now = 0, script.version
        try:
            return await rollout(task, cast, index)
        finally:
            script.version = now

    script.rollout = stale
    script.slowness = 1
    with pytest.raises(LagError, match="max_lag is 1"):
        play(script)


def test_a_gate_that_gives_its_group_twice_is_named():
    twice = Transform(lambda: None, lambda groups, state: (groups + groups, state))
    stamp(twice, {"kind": "gate", "name": "twice"})
    with pytest.raises(PartError, match="the gate 'twice' gave 2 groups for one; it should give that one, or none"):
        play(Script(Window(1, 0, 0, twice, steps=1)))


def test_a_ticket_is_concluded_by_its_step_however_early_it_was_dropped():
    drop = Transform(lambda: None, lambda groups, state: ((), state))
    window = Window(2, 1, 0, drop, steps=9)

    async def steps():
        tickets = [await window.admit(Script(window).issue) for _ in range(4)]
        for ticket in (tickets[2], tickets[0], tickets[1]):
            await window.put(ticket, Group(task=ticket.task, trajectories=()))
        assert window.concluded == [], "judged, and of no step yet"
        await window.take()
        assert window.concluded == [0, 1]
        window.release()
        await window.put(tickets[3], Group(task=tickets[3].task, trajectories=()))
        await window.take()
        assert window.concluded == [0, 1, 2, 3]

    asyncio.run(steps())
