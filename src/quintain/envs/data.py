"""Tasks of one turn: the opening comes from the task, the policy answers, a reward part judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from quintain.ports import SOLO, Env
from quintain.registry import register
from quintain.types import Feedback, Message, QuintainError, Stop, Task


class NoOpening(QuintainError):
    """A task for an env that shows the task's own messages has none."""


class DataEnv:
    """Shows the messages of the task and ends with the first answer.

    Example:
        >>> import asyncio
        >>> env = DataEnv()
        >>> task = Task(key="q", env="data", messages=(Message.of("user", "1 + 1?"),))
        >>> asyncio.run(env.reset(task))["agent"].messages[0].text
        '1 + 1?'
        >>> asyncio.run(env.step({"agent": Message.of("assistant", "2")}))["agent"].stop
        <Stop.done: 'done'>
    """

    def __init__(self) -> None:
        self.said: list[str] = []

    async def reset(self, task: Task) -> Mapping[str, Feedback]:
        """The task's opening messages.

        Raises:
            NoOpening: there are none.
        """
        if not task.messages:
            raise NoOpening(f"task {task.key} has no messages; draw data tasks with the sampler `dataset`")
        self.said = []
        return {SOLO: Feedback(messages=task.messages, state={"said": []})}

    async def step(self, moves: Mapping[str, Message]) -> Mapping[str, Feedback]:
        """The end: whatever was said is the answer."""
        self.said.append(moves[SOLO].text)
        return {SOLO: Feedback(stop=Stop.done, acts=False, action=moves[SOLO].text, state={"said": list(self.said)})}

    def snapshot(self) -> Any:
        """What was said so far."""
        return {"said": list(self.said)}

    def restore(self, snapshot: Any) -> None:
        """Go back to a snapshot."""
        self.said = list(snapshot["said"])

    async def close(self) -> None:
        """There is nothing to free."""


@register("env", "data")
def data() -> Callable[[Task], Env]:
    """Single-turn tasks: prompts with or without a known answer. Rewards come from a reward part."""
    return lambda task: DataEnv()
