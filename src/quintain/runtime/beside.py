"""Evaluations that go on while the run trains: they play on a copy of the policy as it was after their step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from quintain.loop import Drained
from quintain.ports import Engine
from quintain.types import Weights
from quintain.waits import waiting

PINNED = "pinned"  # the folder in a checkpoint that holds the weights of an evaluation that was not over
Play = Callable[[int, Callable[[Coroutine[Any, Any, Any]], Awaitable[Any]]], Awaitable[Mapping[str, float]]]


class Beside:
    """One evaluation at a time, on an engine of its own; a further one waits until it is over.

    Args:
        play: evaluates the policy that `engine` holds, as the one after a step.
        engine: holds the copy; nothing else is asked of it.
        weights: what is published after a step, while that is the newest one.
        save: writes the copy that `engine` holds into a folder.
    """

    def __init__(
        self, play: Play, engine: Engine, weights: Callable[[int], Weights], save: Callable[[str], None]
    ) -> None:
        self.play, self.engine, self.weights, self._save = play, engine, weights, save
        self.told: Callable[[int, Mapping[str, float]], None] = lambda step, scores: None
        self.step: int | None = None  # what is evaluated, or was given up
        self._task: asyncio.Task[None] | None = None

    async def begin(self, step: int, folder: str = "") -> None:
        """Take over the weights of now, or those that `folder` holds, and evaluate them; returns once they are copied.

        Raises:
            Drained: the one before was given up; nothing is begun.
        """
        await self.end()
        weights = Weights(version=step, kind="file", source=folder) if folder else self.weights(step)
        with waiting("pin", step):
            await self.engine.load(weights)
        self.step = step
        self._task = asyncio.create_task(self._play(step))

    async def _play(self, step: int) -> None:
        async def go_on(work: Coroutine[Any, Any, Any]) -> Any:
            return await work

        with waiting("evaluation", step, "beside"):
            scores = dict(await self.play(step, go_on))
        self.told(step, scores)
        self.step = None

    async def end(self) -> None:
        """Wait until it is over, if there is one.

        Raises:
            Drained: it was given up.
        """
        if self._task is None:
            return
        await asyncio.wait([self._task])
        task, self._task = self._task, None
        if task.cancelled():
            raise Drained(f"the evaluation after step {self.step} was given up: asked to")
        task.result()

    def check(self) -> None:
        """Raise what it ended with, if that was an error."""
        if self._task is not None and self._task.done() and not self._task.cancelled():
            self._task.result()

    def give_up(self) -> None:
        """End it; what `save` writes lets another run repeat it."""
        if self._task is not None:
            self._task.cancel()

    def save(self, folder: str) -> None:
        """Write the weights of an evaluation that is not over into a checkpoint."""
        if self.step is not None:
            self._save(str(Path(folder) / PINNED))
