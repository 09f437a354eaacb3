"""An env in another process, seen from here: it remembers the moves, so that its episode can be rebuilt elsewhere."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from quintain.codec import decode, digest_of, encode
from quintain.ports import EpisodeLost
from quintain.types import BadStop, Feedback, Message, QuintainError, Task

DEATHS = 3  # workers that may die over one episode


class WorkerGone(Exception):
    """The process that held an env ended before it answered."""


class WorkersDied(QuintainError):
    """One worker after the other died while it played this episode: the env is to blame."""


class EnvFault(Exception):
    """What an env raised over there; its class has the name of the original, `user_line` is what `registry.line_of` said of it there."""

    user_line = ""


class Holder(Protocol):
    """A worker as an env sees it."""

    gone: bool
    envs: set[int]

    async def call(self, message: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request."""
        ...


class Pool(Protocol):
    """The workers as an env sees them."""

    async def place(self, env: int) -> Holder:
        """A worker that now holds the env."""
        ...

    def recovered(self, since: float, whole: bool) -> None:
        """Count a recovery."""
        ...


@functools.cache
def _fault(name: str) -> type[EnvFault]:
    return type(name, (EnvFault,), {})


class EnvProxy:
    """Matches `ports.Env`. A snapshot is the task and the moves so far; going back to it plays them again.

    Args:
        pool: where the workers are.
        number: of this env, unlike all others of the pool.
        schema: the type of its private state, or None to leave it as plain data.
    """

    def __init__(self, pool: Pool, number: int, schema: Any = None) -> None:
        self.pool, self.number, self.schema = pool, number, schema
        self.worker: Holder | None = None
        self.task: Any = None
        self.moves: list[dict[str, Any]] = []
        self.prints: list[str] = []  # of each answer; "" where there is nothing to compare
        self.deaths = 0
        self.lost_at = 0.0  # when the worker died, until the episode goes on

    async def reset(self, task: Task) -> Mapping[str, Feedback]:
        """Start the episode of a task, on the worker that holds this env or on one with room."""
        self.task, self.moves, self.prints = encode(task), [], []
        return self._heard(await self._ask({"do": "reset", "task": self.task}))

    async def step(self, moves: Mapping[str, Message]) -> Mapping[str, Feedback]:
        """Apply moves.

        Raises:
            EpisodeLost: the env lost it, or its worker died and what was played again did not come out the same.
            WorkersDied: three workers died over it.
            EnvFault: the env raised; the class has the name of what it raised.
        """
        said = {seat: encode(message) for seat, message in moves.items()}
        answer = await self._ask({"do": "step", "moves": said})
        self.moves.append(said)
        return self._heard(answer)

    def snapshot(self) -> Any:
        """The task and the moves."""
        return {"task": self.task, "moves": list(self.moves)}

    def restore(self, snapshot: Any) -> None:
        """Go back to a snapshot; it is played again with the next step."""
        self.task, self.moves = snapshot["task"], list(snapshot["moves"])
        self.prints = [""] * (len(self.moves) + 1)
        self._leave()

    async def close(self) -> None:
        """Close the env where it lives, if it still does."""
        worker = self.worker
        self._leave()
        if worker is not None and not worker.gone:
            try:
                self._said(await worker.call({"do": "close", "env": self.number}))
            except WorkerGone:
                return

    def _leave(self) -> None:
        if self.worker is not None:
            self.worker.envs.discard(self.number)
            self.worker = None

    async def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        while True:
            try:
                if self.worker is None or self.worker.gone:
                    await self._settle(fresh=message["do"] == "reset")
                assert self.worker is not None
                return self._said(await self.worker.call({"env": self.number, **message}))
            except WorkerGone:
                self.lost_at = self.lost_at or time.monotonic()
                self._leave()
                self.deaths += 1
                if self.deaths >= DEATHS:
                    raise WorkersDied(f"{self.deaths} env workers died over this episode") from None

    async def _settle(self, fresh: bool) -> None:
        """Find a worker, and play there what was played so far."""
        if self.worker is not None:  # it died while nobody asked anything of this env
            self.lost_at = self.lost_at or time.monotonic()
            self._leave()
        worker = self.worker = await self.pool.place(self.number)
        if fresh:
            return
        again = [{"do": "reset", "task": self.task}, *({"do": "step", "moves": m} for m in self.moves)]
        for at, message in enumerate(again):
            try:
                answer = self._said(await worker.call({"env": self.number, **message}))
                if self.lost_at and not at:
                    self.pool.recovered(self.lost_at, whole=False)
            except EnvFault as error:
                raise EpisodeLost(
                    f"its env worker died, and move {at} fails when it is played again: {error}"
                ) from None
            if self.prints[at] not in ("", _print(answer)):
                raise EpisodeLost(
                    f"its env worker died, and move {at} does not come out the same when it is played again"
                )

    def _said(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        if "error" in answer:
            name, text = answer["error"]
            if name == BadStop.__name__:
                raise BadStop(text)
            if name == EpisodeLost.__name__:
                raise EpisodeLost(text)
            fault = _fault(name)(text)
            fault.user_line = answer["line"]
            raise fault
        return answer["said"]

    def _heard(self, answer: dict[str, Any]) -> dict[str, Feedback]:
        self.prints.append(_print(answer))
        out = {seat: decode(Feedback, said) for seat, said in answer.items()}
        if self.schema is not None:
            out = {seat: replace(f, state=decode(self.schema, f.state)) for seat, f in out.items()}
        if self.lost_at and out:
            self.pool.recovered(self.lost_at, whole=True)
            self.lost_at = 0.0
            first, again = next(iter(out)), max(0, len(self.moves) - 1)
            event = f"rebuilt: on another env worker, {again} {'move' if again == 1 else 'moves'} played again"
            out[first] = replace(out[first], events=(*out[first].events, event))
        return out


def _print(answer: Mapping[str, Any]) -> str:
    """The digest of the states that an answer gives, or of what it says where it gives none."""
    states = {seat: said["state"] for seat, said in answer.items() if said.get("state") is not None}
    return digest_of(states or answer)
