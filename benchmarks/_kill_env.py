"""The env of env_kills.py: answers after a time that its task's seed and the turn determine, and counts its turns."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping

import numpy as np

from quintain.ports import SOLO
from quintain.types import Feedback, Message, Stop, Task


class Waiter:
    """One episode of `turns` answers."""

    def __init__(self, task: Task) -> None:
        self.task, self.turn = task, 0

    async def answer(self, **rest: object) -> Mapping[str, Feedback]:
        """Wait, then say which turn it is."""
        p = self.task.params
        draw = np.random.Generator(np.random.PCG64([self.task.seed, self.turn]))
        await asyncio.sleep(
            p["env_p50_s"] * math.exp(draw.standard_normal() * math.log(p["env_p99_s"] / p["env_p50_s"]) / 2.326)
        )
        said = Feedback(messages=(Message.of("user", "see"),), state={"turn": self.turn}, **rest)
        return {SOLO: said}

    async def reset(self, task: Task) -> Mapping[str, Feedback]:
        """See `Env.reset`."""
        return await self.answer()

    async def step(self, moves: Mapping[str, Message]) -> Mapping[str, Feedback]:
        """See `Env.step`."""
        self.turn += 1
        done = self.turn == self.task.params["turns"]
        return await self.answer(reward={"turns": 1.0}, stop=Stop.done if done else None)

    async def close(self) -> None:
        """See `Env.close`."""


def make(task: Task) -> Waiter:
    """The env of a task."""
    return Waiter(task)
