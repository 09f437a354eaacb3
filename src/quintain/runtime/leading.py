"""A learner group beside a run: it begins before the first step, and whatever ends it ends the run by name."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from quintain.runtime.learner_group import GroupLearner
from quintain.runtime.run import LocalRun


@contextlib.asynccontextmanager
async def leading(learner: Any, transport: Any, run: LocalRun) -> AsyncIterator[None]:
    """Begin the learner group of a run, and end the run with the group's error, which the ledger keeps.

    Special cases: a learner of this process needs none of that.

    Raises:
        LearnerLost: a rank died or fell silent, also where nobody waited for it.
    """
    if not isinstance(learner, GroupLearner):
        yield
        return
    told: list[Exception] = []

    def tell(error: Exception) -> None:
        if not told:
            told.append(error)
            run.keeper.write(
                run.step, "learner", {"status": f"{type(error).__name__}: {error}", "ranks": learner.told()}
            )
            run.keeper.commit()

    async def watch() -> None:
        error = await learner.over()
        tell(error)
        run.fail(error)

    watching = None
    try:
        await learner.begin(*await transport.learners())
        watching = asyncio.create_task(watch())
        yield
    finally:
        if watching is not None:
            watching.cancel()
        if learner.calls is not None and learner.calls.over.done():
            tell(learner.calls.over.result())
        with contextlib.suppress(asyncio.CancelledError):
            await learner.end()
