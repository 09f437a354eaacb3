"""The whole training loop: draw tasks, play groups, score them, learn, publish. Everything else is injected.

`train` is the loop; `Window` is the only queue in it. Both are the same in one
process, over processes, and on a virtual clock.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Protocol

from quintain.given import given_by
from quintain.parts import Cast, Objective, Rollout
from quintain.ports import Learner
from quintain.types import Batch, Group, Ticket
from quintain.waits import waiting
from quintain.window import WITHHELD, Drained, Window
from quintain.window import LagError as LagError
from quintain.window import OverLimit as OverLimit


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
        """Write advantages and apply the late gates; groups tagged `withheld` are among them and count in baselines."""
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
        group = await given_by(run.rollout, run.rollout(ticket.task, run.cast, ticket.index), ticket.index)
        await window.put(ticket, await run.reward(group))

    async def produce() -> None:
        async with asyncio.TaskGroup() as actors:
            while ticket := await window.admit(run.issue):  # a slot, then a task, then `issued` in the ledger
                actors.create_task(play(ticket))

    async with running(produce(), window):
        for step in run.steps():
            groups = await window.take()
            groups = run.credit(await run.learner.score(groups, run.needs))  # values, ref, old; advantages; late gates
            groups = [g for g in groups if not g.tags.get(WITHHELD)]  # too old: seen by the baseline, never trained
            metrics = await run.learner.update(run.pack(groups), run.objective)
            with waiting("load", step + 1):
                await run.cast.load(await run.learner.publish())
            await run.record(step, groups, metrics)
            window.release()


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
