"""The whole training loop: draw tasks, play groups, score them, learn, publish. Everything else is injected.

`train` is the loop; `Window` is the only queue in it. Both are the same in one
process, over processes, and on a virtual clock.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from quintain.parts import Cast, Gate, Objective, Rollout
from quintain.ports import Learner
from quintain.types import Batch, Group, QuintainError, Ticket


class LagError(QuintainError):
    """A group is older than `max_lag` allows, or a step asked for more refills than `max_refills`."""


class Drained(QuintainError):
    """The run was asked to stop while it waited for groups; the last completed step stands."""


class Run(Protocol):
    """What `train` needs: sizes, parts, ports, and the bookkeeping of one run."""

    window: Window
    rollout: Rollout
    cast: Cast
    learner: Learner
    objective: Objective
    needs: frozenset[str]

    def issue(self, index: int) -> Ticket | None:
        """Draw the task of the ticket that `index` others came before, and write `issued`; None when there are no more.

        Ticket numbers must rise with `index`.
        """
        ...

    async def reward(self, group: Group) -> Group:
        """Score a played group."""
        ...

    def steps(self) -> Iterator[int]:
        """The optimizer steps still to do; ends early when the run drains."""
        ...

    def credit(self, groups: Sequence[Group]) -> Sequence[Group]:
        """Write advantages and apply the late gates."""
        ...

    def pack(self, groups: Sequence[Group]) -> Batch:
        """One flat batch of the groups."""
        ...

    async def record(self, step: int, groups: Sequence[Group], metrics: Mapping[str, float]) -> None:
        """Write the step to the ledger, evaluate and checkpoint when due."""
        ...


async def train(run: Run) -> None:
    """Draw tasks, play groups, score them, learn, publish, until the steps are done or the run drains.

    With `max_lag=0` this is synchronous training: a deterministic function of the run's seed, whoever finishes first, also where
    an early gate drops or refills.

    Raises:
        LagError: a step needed more refills than allowed.
    """
    window = run.window

    async def play(ticket: Ticket) -> None:
        await window.put(ticket, await run.reward(await run.rollout(ticket.task, run.cast, ticket.index)))

    async def produce() -> None:
        async with asyncio.TaskGroup() as actors:
            while ticket := await window.admit(run.issue):  # a slot, then a task, then `issued` in the ledger
                actors.create_task(play(ticket))

    async with running(produce(), window):
        for step in run.steps():
            groups = await window.take()
            groups = run.credit(await run.learner.score(groups, run.needs))  # values, ref, old; advantages; late gates
            metrics = await run.learner.update(run.pack(groups), run.objective)
            await run.cast.load(await run.learner.publish())
            await run.record(step, groups, metrics)
            window.release()


class Window:
    """Tickets in flight and finished groups, in the order in which they are trained.

    Policy version v trains step v, so a ticket admitted under version v may be consumed at steps v, v+1 ... v+max_lag.
    With G = `size` and s the current step, ticket slots 0 .. (s + 1 + max_lag) G - 1 are open, so at most (s + 1) G tickets must be
    consumed by step s: a step that never leaves more of them than later steps can take keeps every group within `max_lag`.
    With `look=0` consumption is in ticket order; else up to `look` tickets beyond the first G may overtake an older one.

    The early gate judges a group when it is finished. With `max_lag=0` it waits until all groups of the step are, and judges them in
    ticket order; the refills that they ask for are then issued together, so nothing depends on who finished first.

    Args:
        size: groups a step, G >= 1.
        max_lag: hard cap on (version at consumption - version at admission), >= 0; 0 is synchronous.
        look: how many tickets beyond the oldest G may be consumed out of order, >= 0.
        gate: early gate on one finished group: keep, drop (the step trains on fewer) or refill (tag `refill`).
        steps: total steps of the run; no ticket is admitted beyond them.
        max_refills: refills allowed in one step.
        start: the first step (a resumed run starts above 0) and `index` the first ticket.
    """

    def __init__(
        self, size: int, max_lag: int = 0, look: int = 0, gate: Gate | None = None, *, steps: int, max_refills: int = 0
    ) -> None:
        if size < 1 or max_lag < 0 or look < 0:
            raise QuintainError(f"a window needs size >= 1, max_lag >= 0, look >= 0; got {size}, {max_lag}, {look}")
        self.size, self.max_lag, self.look, self.gate, self.steps = size, max_lag, look, gate, steps
        self.max_refills = max_refills
        self.step = 0
        self.index = 0  # tickets issued so far
        self.refilled = 0  # slots given back by refills, all steps
        self.gate_state = gate.init() if gate else None
        self.dropped: list[tuple[Ticket, str]] = []  # by the early gate, until the run has written them down
        self._refills = 0
        self._waiting: dict[int, tuple[Ticket, Group | None, bool]] = {}  # index -> ticket, group once finished, judged
        self._again: list[Ticket] = []
        self._changed = asyncio.Condition()
        self._closed = False
        self._dry = False  # the sampler has no more tasks
        self.shared = False  # other ranks may go on when there is nothing to take here: `take` gives none then
        self.over = False  # the step has nothing to consume, and no later one will

    @property
    def pending(self) -> list[Ticket]:
        """Tickets issued and not yet consumed, in order; those that are yet to be played again too."""
        return sorted([*(t for t, _, _ in self._waiting.values()), *self._again], key=lambda t: t.index)

    def restart(self, step: int, index: int, refilled: int, pending: Sequence[Ticket] = ()) -> None:
        """Continue at `step` with `index` the next new ticket; `pending` tickets are played again first, as slots open."""
        self.step, self.index, self.refilled = step, index, refilled
        self._again = list(pending)

    async def admit(self, issue: Callable[[int], Ticket | None]) -> Ticket | None:
        """Wait for an open slot, then issue a ticket into it; None when the run needs no more or is closed.

        Raises:
            LagError: there are no more tasks, so that the gate judges the step, which asks for too many refills.
        """
        async with self._changed:
            await self._changed.wait_for(lambda: self._closed or self._open() or self._complete())
            if self._closed or not self._open():
                return None
            if self._again:
                ticket: Ticket | None = replace(self._again.pop(0), version=self.step)
            else:
                ticket = issue(self.index)
                self.index += ticket is not None
                self._dry = ticket is None
            if ticket is None:
                self._judge()
            else:
                self._waiting[ticket.index] = (ticket, None, False)
            self._changed.notify_all()
            return ticket

    def _open(self) -> bool:
        return self.index - len(self._again) - self.refilled < min(self.step + 1 + self.max_lag, self.steps) * self.size

    def _complete(self) -> bool:  # nothing more to admit, now or later
        return self.step >= self.steps or (
            self.step + 1 + self.max_lag >= self.steps and not self._open() and not self.gate
        )

    async def put(self, ticket: Ticket, group: Group) -> None:
        """Hand in the finished group of a ticket; the early gate answers keep, drop or refill, at once or with the whole step.

        Raises:
            LagError: the step asked for more refills than `max_refills`.
        """
        async with self._changed:
            self._waiting[ticket.index] = (ticket, replace(group, ticket=ticket.index, version=ticket.version), False)
            self._judge()
            self._changed.notify_all()

    def _judge(self) -> None:
        """Let the gate judge what is finished, in ticket order; a synchronous window waits until all that can be is."""
        playing = any(group is None and not judged for _, group, judged in self._waiting.values())
        if self.gate and not self.max_lag and (playing or (self._open() and not self._dry)):
            return
        for index in sorted(self._waiting):
            ticket, group, judged = self._waiting[index]
            if group is None or judged:
                continue
            verdict: Group | None = group
            if self.gate:
                kept, self.gate_state = self.gate.apply((group,), self.gate_state)
                verdict = kept[0] if kept else None
            if verdict is not None and verdict.tags.get("refill"):
                self._refill(ticket)
                continue
            if verdict is None:
                self.dropped.append((ticket, "gate"))
            self._waiting[index] = (ticket, verdict, True)

    def _refill(self, ticket: Ticket) -> None:
        self._refills += 1
        if self._refills > self.max_refills:
            raise LagError(
                f"step {self.step} asked for {self._refills} refills; max_refills is {self.max_refills}: "
                "raise it, or make tasks easier or harder so that groups carry a signal"
            )
        del self._waiting[ticket.index]
        self.refilled += 1
        self.dropped.append((ticket, "refill"))

    async def take(self) -> tuple[Group, ...]:
        """Wait for the G groups of this step, in ticket order; dropped ones are missing from the result.

        Raises:
            Drained: the window was closed, or there are no more tasks; a shared one gives no groups then.
            LagError: a group is older than `max_lag` (an engine or a producer broke the protocol).
        """
        async with self._changed:
            await self._changed.wait_for(lambda: self._closed or self._ready() is not None)
            chosen = [] if self._closed and self.shared else self._ready()  # ranks agree to stop where they next meet
            self.over = not chosen
            if chosen is None or (not self.shared and (self._closed or self.over)):
                raise Drained(f"stopped at step {self.step}: {'no more tasks' if self._dry else 'asked to'}")
            groups = [self._waiting.pop(i)[1] for i in chosen]
        for group in groups:
            if group is not None and self.step - group.oldest > self.max_lag:
                raise LagError(
                    f"ticket {group.ticket} holds tokens of version {group.oldest} at step {self.step}; max_lag is {self.max_lag}"
                )
        return tuple(g for g in groups if g is not None)

    def _ready(self) -> list[int] | None:
        """The tickets to consume now, or None if they are not finished yet.

        A ticket is due at its version + max_lag. Of those due by step d, all but (d - s) G must go now, or a later step could not
        take them all; then the earliest finished ones fill the step.
        """
        order = sorted(self._waiting)
        due = [self._waiting[i][0].version + self.max_lag for i in order]
        finished = [i for i in order[: self.size + self.look] if self._waiting[i][2]]
        chosen: list[int] = []
        for step in sorted(set(due)):
            by_then = sum(d <= step for d in due)
            must = by_then - (step - self.step) * self.size
            early = [i for i in finished if i in order[:by_then] and i not in chosen]
            taken = sum(i in order[:by_then] for i in chosen)
            if must - taken > len(early):
                return None
            chosen += early[: max(0, must - taken)]
        chosen += [i for i in finished if i not in chosen][: self.size - len(chosen)]
        short = self._dry and all(done for _, _, done in self._waiting.values())
        return sorted(chosen) if len(chosen) == self.size or short else None

    def release(self) -> None:
        """The step is done: its slots open for the next version."""
        self.step += 1
        self._refills = 0
        self._wake()

    def close(self) -> None:
        """Stop admitting; `take` does not wait any longer: it raises `Drained`, or gives no groups where it is shared."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        async def notify() -> None:
            async with self._changed:
                self._changed.notify_all()

        with contextlib.suppress(RuntimeError):  # no running loop: nobody waits
            self._waker = asyncio.get_running_loop().create_task(notify())


@contextlib.asynccontextmanager
async def running(producer: Coroutine[Any, Any, None], window: Window) -> AsyncIterator[None]:
    """Run `producer` beside the body; an error of either ends both, and a drain ends quietly."""
    body = asyncio.current_task()
    task = asyncio.create_task(producer)

    def failed(done: asyncio.Task[None]) -> None:
        if not done.cancelled() and done.exception() is not None and body is not None:
            body.cancel()

    task.add_done_callback(failed)
    try:
        yield
    except Drained:
        pass
    except asyncio.CancelledError:
        if not task.done() or task.cancelled() or task.exception() is None:
            raise
        if body is not None:
            body.uncancel()
    finally:
        window.close()
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled() and (error := task.exception()) is not None:
        while isinstance(error, BaseExceptionGroup):  # several groups may fail in the same way: the first one tells it
            error = error.exceptions[0]
        raise error
