"""A person at the terminal as an engine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

from quintain.engines.errors import EngineError
from quintain.registry import register
from quintain.types import Completion, Floats, Ints, Message, Request, Role, Tool, Weights


class Human:
    """Shows each new message and asks for the move: play a world yourself, or against a policy.

    Args:
        show: prints one message's text.
        ask: asks for a line; runs in a thread of its own, so other episodes go on.
    """

    def __init__(self, show: Callable[[str], None] = print, ask: Callable[[str], str] = input) -> None:
        self.show, self.ask = show, ask
        self._seen: dict[str, int] = {}

    async def converse(
        self, messages: Sequence[Message], tools: Sequence[Tool], request: Request, state: Any
    ) -> Completion:
        """What the person typed; an ended input (Ctrl-D) gives the episode up with finish `abort`."""
        for message in messages[self._seen.get(request.session, 0) :]:
            if message.role is not Role.assistant:
                self.show(message.text)
        if tools and not self._seen.get(request.session):
            self.show("tools: " + ", ".join(t.name for t in tools))
        self._seen[request.session] = len(messages)
        line = await self._line("> ")
        if line is None:
            return Completion(tokens=(), logprobs=(), finish="abort", spans=())
        return Completion(tokens=(), logprobs=(), finish="stop", spans=(), text=line)

    async def _line(self, prompt: str) -> str | None:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str | None] = loop.create_future()

        def settle(line: str | None) -> None:
            if not answer.done():
                answer.set_result(line)

        def read() -> None:
            try:
                line: str | None = self.ask(prompt)
            except (EOFError, OSError):
                line = None
            loop.call_soon_threadsafe(settle, line)

        threading.Thread(target=read, daemon=True, name="quintain-human").start()
        return await answer

    async def generate(self, request: Request) -> Completion:
        """Refused: people speak in messages.

        Raises:
            EngineError: always.
        """
        raise EngineError("a person has no tokens: call `converse` with messages, as the rollout `episodes` does")

    async def score(self, paths: Sequence[Ints]) -> Sequence[Floats]:
        """Refused: a person has no logprobs.

        Raises:
            EngineError: always.
        """
        raise EngineError("a person cannot score paths")

    async def fork(self, session: str, at: int, into: str) -> None:
        """What was shown stays shown."""
        self._seen[into] = self._seen.get(session, 0)

    async def abort(self, session: str) -> None:
        """Forget a session."""
        self._seen.pop(session, None)

    async def load(self, weights: Weights) -> None:
        """A person does not load weights."""

    async def pause(self) -> None:
        """Nothing runs between moves."""

    async def resume(self) -> None:
        """Nothing runs between moves."""


@register("engine", "human")
def human() -> Human:
    """A person at the terminal."""
    return Human()
