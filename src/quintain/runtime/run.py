"""One run: the bookkeeping around `loop.train` (tickets, parts' states, ledger, checkpoints, evaluation)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from quintain import codec
from quintain.loop import Drained, Window
from quintain.parts import Advantage, Cast, Objective, Reward, Rollout, Sampler
from quintain.ports import Learner, Sink
from quintain.runtime import measure
from quintain.runtime.failures import STEPS, Failures
from quintain.runtime.keeper import Keeper
from quintain.types import Batch, Group, Ticket, Weights

Evaluate = Callable[[int], Awaitable[Mapping[str, float]]]


@dataclass(kw_only=True, slots=True)
class Parts:
    """What is played and learned with: everything of a run that is made from its config."""

    rollout: Rollout
    reward: Reward
    sampler: Sampler
    advantage: Advantage
    objective: Objective
    learner: Learner
    cast: Cast
    pack: Callable[[Sequence[Group]], Batch]
    evaluate: Evaluate | None = None


@dataclass(kw_only=True, slots=True)
class Plan:
    """The counts of a run: total steps, steps between evaluations (0 is never) and between checkpoints (0 is at the end)."""

    steps: int
    eval_every: int = 0
    checkpoint_every: int = 0


@dataclass(kw_only=True, slots=True)
class Clock:
    """Where the wall time of a step went, in seconds: laps between calls of `lap`."""

    at: float = field(default_factory=time.perf_counter)
    laps: dict[str, float] = field(default_factory=dict)

    def lap(self, name: str) -> None:
        """Book the time since the last lap under `name`."""
        now = time.perf_counter()
        self.laps[name] = self.laps.get(name, 0.0) + now - self.at
        self.at = now

    def restart(self) -> dict[str, float]:
        """The laps so far; the next ones start from here."""
        laps, self.laps, self.at = self.laps, {}, time.perf_counter()
        return laps


class Timed:
    """The learner of a run, with its phases booked on a clock."""

    def __init__(self, learner: Learner, clock: Clock) -> None:
        self.learner, self.clock = learner, clock

    async def score(self, groups: Sequence[Group], needs: frozenset[str]) -> tuple[Group, ...]:
        """The time until now went to playing."""
        self.clock.lap("rollout")
        return await self.learner.score(groups, needs)

    async def update(self, batch: Batch, objective: Objective) -> Mapping[str, float]:
        """The optimizer steps."""
        metrics = await self.learner.update(batch, objective)
        self.clock.lap("update")
        return metrics

    async def publish(self) -> Weights:
        """The new version."""
        return await self.learner.publish()

    def save(self, folder: str) -> None:
        """See `Learner.save`."""
        self.learner.save(folder)

    def load(self, folder: str) -> None:
        """See `Learner.load`."""
        self.learner.load(folder)


class LocalRun:
    """A run in this process (one rank of it, when there are several): matches `loop.Run`.

    The state at a step boundary (sampler, part states, counters, ledger offset) is small; it is captured after every step,
    so that a run that drains in mid-step checkpoints the last boundary and a resumed one replays the interrupted step.
    """

    def __init__(self, parts: Parts, window: Window, plan: Plan, keeper: Keeper, sinks: Sequence[Sink] = ()) -> None:
        self.parts, self.window, self.plan, self.keeper, self.sinks = parts, window, plan, keeper, list(sinks)
        window.shared = not keeper.alone
        self.clock = Clock()
        self.rollout, self.cast, self.objective = parts.rollout, parts.cast, parts.objective
        self.learner: Learner = Timed(parts.learner, self.clock)
        self.needs = parts.objective.needs | parts.advantage.needs
        self.sampler_state = parts.sampler.init()
        self.advantage_state = parts.advantage.init()
        self.draining = False
        self.loop: asyncio.AbstractEventLoop | None = None  # where the run goes on, set when it starts
        self.step = 0
        self.say: Callable[[str], None] = lambda text: None  # what a person should read
        self.failures = Failures(window.size * max(1, min(STEPS, plan.steps)))
        self._skipped = 0  # quarantined batches already written
        self._finished: list[Group] = []  # since the last step, those that a gate dropped too

    # -- what loop.train calls -------------------------------------------------------------------------------------

    def issue(self, index: int) -> Ticket | None:
        """Draw the next task, write `issued`."""
        task, self.sampler_state = self.parts.sampler.draw(self.sampler_state)
        if task is None:
            return None
        ticket = Ticket(index=self.keeper.number(index), task=task, version=self.window.step)
        self.keeper.issued(self.window.step, ticket)
        return ticket

    def steps(self) -> Iterator[int]:
        """The steps from the window's on, until the last one or a drain."""
        for step in range(self.window.step, self.plan.steps):
            self.draining = self.keeper.any_rank(self.draining)
            if self.draining:
                return
            self.clock.restart()
            yield step

    async def reward(self, group: Group) -> Group:
        """Score a played group and write it to the ledger.

        Raises:
            EveryEpisodeFailed: every episode of the first steps did.
        """
        group = await self.parts.reward(group)
        self.keeper.played(self.window.step, group)
        self._finished.append(group)
        self.failures.see(group)
        return group

    def credit(self, groups: Sequence[Group]) -> Sequence[Group]:
        """Advantages over the groups of the step together; what a gate left out is counted.

        Raises:
            Drained: a rank was asked to stop, or none has tasks left.
        """
        self.clock.lap("score")
        self.draining = self.keeper.any_rank(self.draining)
        if self.draining or not self.keeper.any_rank(not self.window.over):
            why = "asked to" if self.draining else "no more tasks"
            raise Drained(f"stopped before step {self.window.step} was trained: {why}")
        self.clock.lap("wait")
        credited, self.advantage_state = self.parts.advantage.apply(tuple(groups), self.advantage_state)
        gone = {g.ticket for g in groups} - {g.ticket for g in credited}
        early, self.window.dropped = self.window.dropped, []  # also those that the gate dropped during the last step
        self.keeper.dropped(self.window.step, dict.fromkeys(gone, "advantage") | {t.index: w for t, w in early})
        self.clock.lap("credit")
        return credited

    def pack(self, groups: Sequence[Group]) -> Batch:
        """One flat batch."""
        self.keeper.training(groups)
        batch = self.parts.pack(groups)
        self.clock.lap("pack")
        return batch

    async def record(self, step: int, groups: Sequence[Group], metrics: Mapping[str, float]) -> None:
        """Write the step, observe it, evaluate and checkpoint when due."""
        self.clock.lap("publish")
        finished, self._finished = self._finished, []
        for group in finished:
            self.sampler_state = self.parts.sampler.observe(self.sampler_state, group)
        played = measure.played(finished, step) | {"groups_trained": float(len(groups))}
        row = self.keeper.reduce(played) | dict(metrics)
        row |= measure.timing(self.clock.restart(), row)
        self.keeper.trained(step, row)
        if warning := self.failures.warning():
            self.keeper.write(step, "warning", {"what": warning})
            self.say(f"WARNING: {warning}")
        for skipped in getattr(self.parts.learner, "quarantined", [])[self._skipped :]:
            self.keeper.write(step, "warning", {"what": "a batch was skipped", **skipped})
            self._skipped += 1
        for sink in self.sinks:
            sink.write(step, row)
        self.step = step + 1
        last = self.step == self.plan.steps
        self.capture()
        if self.plan.eval_every and self.step % self.plan.eval_every == 0 and not last:
            await self.evaluate(self.step)
        if last or (self.plan.checkpoint_every and self.step % self.plan.checkpoint_every == 0):
            self.checkpoint()
        else:
            self.keeper.commit()
        self.clock.restart()

    # -- evaluation and state --------------------------------------------------------------------------------------

    async def evaluate(self, step: int) -> Mapping[str, float]:
        """Evaluate the policy as it is and write the result; {} when the run has no evaluation."""
        if self.parts.evaluate is None:
            return {}
        scores = dict(await self.parts.evaluate(step))
        self.keeper.evaluated(step, scores)
        for sink in self.sinks:
            sink.write(step, scores)
        return scores

    def drain(self) -> None:
        """Finish the update in progress, give up waiting for groups, and let `train` return.

        Several ranks agree on it in `credit`; a rank alone stops waiting at once. Any thread may call it.
        """
        self.draining = True
        if self.keeper.alone and self.loop is not None:
            self.loop.call_soon_threadsafe(self.window.close)

    def capture(self) -> None:
        """Remember the boundary after `self.step` steps."""
        counters = {"step": self.step, "index": self.window.index, "refilled": self.window.refilled}
        states = {"sampler": self.sampler_state, "advantage": self.advantage_state, "gate": self.window.gate_state}
        pending = [codec.encode(t) for t in self.window.pending]
        self.keeper.boundary(codec.encode({**counters, **states, "pending": pending}))

    def checkpoint(self) -> None:
        """Save the learner and the last boundary together, durably."""
        self.keeper.checkpoint(self.step, self.learner.save)

    def restore(self, step: int | None = None) -> bool:
        """Continue from the checkpoint of `step` (None: the newest): learner, states, counters, pending tickets.

        False when there is none. What does not fit is an error that leaves the ledger as it was.
        """
        boundary = self.keeper.restore(self.learner.load, step)
        if boundary is None:
            return False
        self.sampler_state, self.advantage_state = boundary["sampler"], boundary["advantage"]
        self.window.gate_state = boundary["gate"]
        pending = [codec.decode(Ticket, t) for t in boundary["pending"]]
        self.step = boundary["step"]
        self.window.restart(boundary["step"], boundary["index"], boundary["refilled"], pending)
        self.capture()
        return True
