"""A thread that calls functions which are not ours, and that may be left behind when one of them never returns."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any


class _Call:
    """One call: waiting, begun, and then finished by the thread or abandoned by the caller, whichever is first."""

    def __init__(self, function: Callable[[], Any], timeout_s: float, late: Callable[[], None]) -> None:
        self.function, self.timeout_s, self.late = function, timeout_s, late
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self._lock = threading.Lock()
        self._over = False
        self._timer: asyncio.TimerHandle | None = None

    def run(self) -> bool:
        """In the thread: call the function; False when the caller gave up meanwhile and another thread took over."""
        if self.future.cancelled():
            return True
        self._tell(self._begin)
        value, error = None, None
        try:
            value = self.function()
        except BaseException as caught:  # the caller's to deal with; this thread goes on
            error = caught
        if not self._first():
            return False
        self._tell(self._end, value, error)
        return True

    def _first(self) -> bool:
        with self._lock:
            before, self._over = self._over, True
        return not before

    def _tell(self, function: Callable[..., None], *arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits
            self.loop.call_soon_threadsafe(function, *arguments)

    def _begin(self) -> None:
        if self.timeout_s and not self._over:
            self._timer = self.loop.call_later(self.timeout_s, self._abandon)

    def _abandon(self) -> None:
        if self._first():
            self.late()
            if not self.future.done():
                self.future.set_exception(TimeoutError())

    def _end(self, value: Any, error: BaseException | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self.future.done():
            return
        if error is None:
            self.future.set_result(value)
        else:
            self.future.set_exception(error)


def _work(calls: SimpleQueue[_Call | None]) -> None:
    while (call := calls.get()) is not None and call.run():
        del call  # what it held may go while this thread waits


class Worker:
    """Calls functions in a thread of its own, one after the other in the order in which they were asked for.

    The thread is a daemon: a function that never returns does not keep the process from ending. One that is late is
    left behind in its thread, and the next call gets a new one.

    Args:
        name: of the thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._started = False
        weakref.finalize(self, self._calls.put, None)

    async def call(self, function: Callable[[], Any], timeout_s: float = 0.0) -> Any:
        """The value of `function()`, which may not raise StopIteration.

        Args:
            function: what to call; a call that was cancelled before its turn is left out.
            timeout_s: seconds from the beginning of the call, 0 for no limit.

        Raises:
            TimeoutError: it took longer.
        """
        call = _Call(function, timeout_s, self._start)
        if not self._started:
            self._start()
        self._calls.put(call)
        return await call.future

    def _start(self) -> None:
        self._started = True
        threading.Thread(target=_work, args=(self._calls,), name=self._name, daemon=True).start()
