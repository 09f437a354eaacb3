"""Env workers of a cluster as an actor that plays reaches them: a line for each. Nothing here knows Ray."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from quintain.ledger import plain
from quintain.runtime.env_pool import Heard, Line
from quintain.runtime.env_proxy import WorkerGone
from quintain.runtime.ray_gate import aside, first_line

AGAIN_S = 0.2  # between two looks at a worker that Ray is starting again


class AwayError(WorkerGone):
    """The worker cannot be reached now; it is being started again."""


class Ask(Protocol):
    """An `EnvWorker` wherever it is."""

    async def __call__(self, name: str, *args: Any) -> Any:
        """Call a method; raises WorkerGone with the reason where the worker ends before it answers, AwayError where it may come back."""
        ...

    def kill(self) -> None:
        """End it, so that it is started again; may block."""
        ...


class EnvLines:
    """What an actor gets of the env workers; the cluster carries it there.

    Args:
        asks: the workers.
        player: the number of the actor that plays; its successor has the same, so that what it left in the workers is closed.
    """

    def __init__(self, asks: Sequence[Ask], player: int) -> None:
        turn = player % max(1, len(asks))  # else all players begin with the same worker
        self.asks, self.player = [*asks[turn:], *asks[:turn]], player

    def __len__(self) -> int:
        return len(self.asks)

    def start(self, spec: Mapping[str, Any], place: int) -> Line:
        """A line to the worker of a place, which makes envs as `spec` says."""
        return EnvLine(self.asks[place], spec, self.player)


class EnvLine:
    """One env worker; matches `env_pool.Line`. A worker that died is started again by the cluster; that is another line."""

    def __init__(self, ask: Ask, spec: Mapping[str, Any], player: int) -> None:
        self.ask, self.spec = ask, spec
        self.whose = f"{player}/{secrets.token_hex(8)}/"  # the keys of our envs begin with it
        self.host = ""
        self._heard: Heard = lambda message: None
        self._over, self._why = asyncio.Event(), ""
        self._calls: set[asyncio.Future[Any]] = set()

    async def up(self, heard: Heard) -> None:
        """Wait until it is there, also while it is started again, and say which envs it is to make."""
        self._heard = heard
        while not self.host:
            try:
                self.host = await self.ask("join", self.whose, plain.pack(dict(self.spec)))
            except AwayError:
                await asyncio.sleep(AGAIN_S)
            except WorkerGone as error:
                self._end(error)
                raise
        self._follow(self._stay())

    def _follow(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    async def _stay(self) -> None:
        try:
            await self.ask("stay")  # it never returns: it fails with the worker
        except WorkerGone as error:
            self._end(error)

    async def send(self, message: Mapping[str, Any]) -> None:
        """Begin a call; its answer is heard when it comes."""
        self._follow(self._call(message))

    async def _call(self, message: Mapping[str, Any]) -> None:
        named = {k: f"{self.whose}{message[k]}" for k in ("id", "of", "env") if k in message}
        try:
            answer = plain.unpack(await self.ask("call", plain.pack({**message, **named})))
        except WorkerGone as error:
            return self._end(error)
        if "gone" in answer:  # it died and is back already, without our envs
            return self._end("the worker was started again")
        self._heard({**answer, "id": message["id"]})

    def _end(self, why: object) -> None:
        self._why = self._why or str(why).strip()
        self._over.set()

    async def gone(self) -> None:
        """Wait for its end."""
        await self._over.wait()

    def kill(self) -> None:
        """End it and have it started again; envs of other actors in it are played again as well."""
        self._follow(aside(self.ask.kill))

    def told(self) -> dict[str, Any]:
        """What is said of its end, and which process it was."""
        return {"status": first_line(self._why) or "ended", "host": self.host, "log": self._why[-2000:]}

    def close(self) -> None:
        """Wait for no answer any more."""
        for call in self._calls:
            call.cancel()
