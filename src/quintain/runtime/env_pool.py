"""Envs in workers, however these are reached: which env is where, spares that are warm, and what happens when a worker dies or hangs."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from quintain.ports import Env, EnvsGone
from quintain.runtime.env_proxy import EnvProxy, WorkerGone
from quintain.types import Task

GRACE_S = 2.0  # after a request was given up, for the worker to say that it heard
EARLY = 3  # deaths in a row before a worker came up, after which no more are started

Schema = Callable[[Task], Any]  # the type of an env's private state, or None
Tell = Callable[[Mapping[str, Any]], None]
Heard = Callable[[Mapping[str, Any]], None]  # takes an answer: the `id` of its message, and what `Host.answer` gave


class Line(Protocol):
    """One env worker as its pool reaches it; on its other end is a `Host`."""

    async def up(self, heard: Heard) -> None:
        """Return once it can be asked; every answer is given to `heard`. Raises WorkerGone where it ends before."""
        ...

    async def send(self, message: Mapping[str, Any]) -> None:
        """Ask something; the end of the line is no error here."""
        ...

    async def gone(self) -> None:
        """Return once it has ended or cannot be reached any more."""
        ...

    def kill(self) -> None:
        """End it: it hangs."""
        ...

    def told(self) -> dict[str, Any]:
        """What the ledger keeps of its end: at least `status` and `log`."""
        ...

    def close(self) -> None:
        """Leave nothing here; the event loop may be ending."""
        ...


class Worker:
    """One worker: its line, the requests that wait for it, and the envs that live in it."""

    def __init__(self, number: int, place: int, line: Line) -> None:
        self.number, self.place, self.line = number, place, line
        self.waiting: dict[int, asyncio.Future[Any]] = {}
        self.envs: set[int] = set()
        self.up = False
        self.gone = False
        self._ids = itertools.count()

    async def call(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a request; one that nobody waits for any more is cancelled over there.

        Raises:
            WorkerGone: the worker ended before it answered.
        """
        if self.gone:
            raise WorkerGone
        number, loop = next(self._ids), asyncio.get_running_loop()
        future = self.waiting[number] = loop.create_future()
        try:
            await self.line.send({"id": number, **message})
            return await future
        except asyncio.CancelledError:
            if number in self.waiting and not self.gone:
                loop.call_later(GRACE_S, self._heard, number)
                await self.line.send({"id": next(self._ids), "do": "cancel", "of": number})
            raise

    def _heard(self, number: int) -> None:
        if number in self.waiting and not self.gone:  # it hangs, and with it all its envs
            self.line.kill()

    def answered(self, message: Mapping[str, Any]) -> None:
        """Hand an answer to whoever waits for it."""
        future = self.waiting.pop(message["id"], None)
        if future is not None and not future.done():
            future.set_result(message)

    def bury(self) -> None:
        """Tell those who wait that nothing will come."""
        self.gone = True
        waiting, self.waiting = self.waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(WorkerGone())


class EnvPool:
    """Makes envs that live in workers; it starts when the first is used and ends with the event loop.

    Use it for envs that take the processor, block, leak or crash, or that need another machine. A worker that dies, or does not
    hear that a request was given up, is replaced, at once where there is a spare; its episodes are played again up to where they
    were.

    Args:
        start: starts the worker of a place (0 to `count + spares - 1`), the first one or the successor of one that died.
        count: workers that hold envs, >= 1.
        spares: further workers that are up and hold none.
        schema: the type of a task's private state, so that it comes back as what it was; None leaves plain data.
        tell: is given a mapping for the ledger when a worker dies.
    """

    def __init__(
        self,
        start: Callable[[int], Line],
        count: int,
        spares: int = 0,
        schema: Schema = lambda task: None,
        tell: Tell = lambda fact: None,
    ) -> None:
        self.start, self.count, self.spares, self.schema, self.tell = start, count, spares, schema, tell
        self.workers: list[Worker] = []
        self.deaths = 0
        self.served: list[float] = []  # seconds from the loss of an env to the first answer of its successor
        self.recoveries: list[float] = []  # the same until its episode goes on
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed: EnvsGone | None = None
        self._early = 0
        self._changed = asyncio.Event()
        self._numbers = itertools.count()

    def __call__(self, task: Task) -> Env:
        """An env for a task; nothing happens before its reset."""
        return EnvProxy(self, next(self._numbers), self.schema(task))

    async def place(self, env: int) -> Worker:
        """The worker with the fewest envs of those in service, which now holds `env` too.

        Raises:
            EnvsGone: workers die before they come up; what is known of the end of one is quoted.
        """
        self._begin()
        while True:
            if self._failed is not None:
                raise self._failed
            up = [w for w in self.workers if w.up and not w.gone]
            up.sort(key=lambda w: not w.envs)  # one that holds envs is no spare, whichever came up first
            if up:
                worker = min(up[: self.count], key=lambda w: (len(w.envs), w.number))
                worker.envs.add(env)
                return worker
            self._changed.clear()
            await self._changed.wait()

    # -- life ------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        if loop is self._loop:
            return
        for worker in self.workers:  # of a loop that has ended
            worker.line.close()
        self.workers, self._loop, self._changed = [], loop, asyncio.Event()
        for place in range(self.count + self.spares):
            self._spawn(place)

    def _spawn(self, place: int) -> None:
        worker = Worker(next(self._numbers), place, self.start(place))
        self.workers.append(worker)
        task = asyncio.create_task(self._follow(worker))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(self, worker: Worker) -> None:
        """From start to end of one worker; with the event loop it is ended."""
        try:
            with contextlib.suppress(WorkerGone):
                await worker.line.up(worker.answered)
                worker.up, self._early = True, 0
                self._changed.set()
                await worker.line.gone()
            self._replace(worker)
        finally:
            worker.bury()
            if worker in self.workers:
                self.workers.remove(worker)
            worker.line.close()

    def _replace(self, worker: Worker) -> None:
        self.deaths += 1
        self._early += not worker.up
        told = worker.line.told()
        self.tell({"worker": worker.number, "episodes": len(worker.envs), **told})
        self.workers.remove(worker)
        if self._early >= EARLY:
            self._failed = EnvsGone(
                f"env workers die before they come up (status {told['status']}); the end of the log of one: {told['log']}"
            )
        else:
            self._spawn(worker.place)  # a spare takes its place; this one is the next spare
        self._changed.set()

    def recovered(self, since: float, whole: bool) -> None:
        """An env that was lost at `since`, on the clock of `time.monotonic`, answers again; `whole`: its episode goes on."""
        (self.recoveries if whole else self.served).append(time.monotonic() - since)
