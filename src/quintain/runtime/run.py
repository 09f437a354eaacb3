"""One run: the bookkeeping around `loop.train` (tickets, parts' states, ledger, checkpoints, evaluation)."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from quintain import codec
from quintain.loop import Drained, Window
from quintain.parts import Advantage, Cast, Objective, Reward, Rollout, Sampler
from quintain.ports import Learner, Sink
from quintain.runtime import measure
from quintain.runtime.failures import STEPS, Failures
from quintain.runtime.keeper import Keeper
from quintain.types import Batch, Group, Ticket, Weights

Result = TypeVar("Result")
Guard = Callable[
    [Coroutine[Any, Any, Any]], Awaitable[Any]
]  # gives the result, or gives the work up when the run drains
Evaluate = Callable[[int, Guard], Awaitable[Mapping[str, float]]]


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
        self.unplayed = False  # an evaluation was given up
        self.others: Callable[[], None] = lambda: None  # asks the other ranks to drain too; called from any thread
        self.leave: Callable[[], None] = lambda: None  # nobody waits for actors any more; called in the loop
        self._loop: asyncio.AbstractEventLoop | None = None  # where the run goes on, set when it starts
        self._work: asyncio.Task[Any] | None = None  # what a drain gives up
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
            if self.asked():
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
        if self.asked() or not self.keeper.any_rank(not self.window.over):
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
        finished, self._finished = sorted(self._finished, key=lambda g: g.ticket), []  # whoever was done first
        for group in finished:
            self.sampler_state = self.parts.sampler.observe(self.sampler_state, group)
        row = self.keeper.reduce(measure.played(finished, groups, step)) | dict(metrics)
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

    # -- evaluation ------------------------------------------------------------------------------------------------

    async def evaluate(self, step: int) -> Mapping[str, float]:
        """Evaluate the policy as it is and write the result.

        Special cases: {} when the run has no evaluation, or drains before the end of it; then nothing of it is written.
        """
        if self.parts.evaluate is None:
            return {}
        try:
            scores = dict(await self.parts.evaluate(step, self.unless_asked))
        except Drained:
            self.unplayed = True
            return {}
        self.keeper.evaluated(step, scores)
        for sink in self.sinks:
            sink.write(step, scores)
        return scores

    def owes(self) -> bool:
        """Whether an evaluation of this step is due that the ledger does not hold; every rank gets the same answer."""
        if self.parts.evaluate is None:
            return False
        due = self.step in (0, self.plan.steps)
        due = due or bool(self.plan.eval_every and self.step % self.plan.eval_every == 0)
        return self.keeper.any_rank(due and self.keeper.first and not self.keeper.scored(self.step))

    # -- draining --------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The run goes on in the event loop that runs now, where a drain reaches what it waits for."""
        self._loop = asyncio.get_running_loop()
        if self.draining:  # before it began
            self._halt()

    def drain(self) -> None:
        """Finish the update in progress, give up waiting for groups, actors or an evaluation, and let `train` return.

        All ranks are told, and agree where they next meet: `steps`, `credit`, or the end of an evaluation. Any thread may
        call it, at any time.
        """
        self.draining = True
        self.others()
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._halt)

    def _halt(self) -> None:
        self.leave()
        self.window.close()
        if self._work is not None:
            self._work.cancel()

    def asked(self) -> bool:
        """Whether any rank is asked to stop; every rank gets the same answer."""
        self.draining = self.keeper.any_rank(self.draining)
        return self.draining

    async def unless_asked(self, work: Coroutine[Any, Any, Result]) -> Result:
        """What `work` gives, once every rank has its own.

        Raises:
            Drained: on every rank, where one was asked to stop before.
        """
        self._work = task = asyncio.ensure_future(work)
        if self.draining:
            task.cancel()
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
            self._work = None
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
        if self.asked():
            raise Drained(f"stopped after step {self.step}: asked to")
        return task.result()

    # -- state -----------------------------------------------------------------------------------------------------

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
