"""Orderly ends: the first SIGTERM or Ctrl-C asks the run to drain, a second one ends the process at once.

Exit codes: `DRAINED` (75) after an orderly end, so that a supervisor knows to start the run again; 128 + signal number
after a second signal; `OVERDUE` (124) if the orderly end took longer than the grace period. What was committed is safe.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

from quintain.types import QuintainError

DRAINED = 75
OVERDUE = 124
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StoppedEarly(QuintainError):
    """A run was asked to stop before it had anything to finish."""


class Asked:
    """Asks runs of this process to drain, also one that is made later. Any thread may call it."""

    def __init__(self) -> None:
        self._asked = False
        self._runs: list[Any] = []

    def ready(self, run: Any) -> None:
        """A run that can be asked, by its `drain`."""
        self._runs.append(run)
        if self._asked:
            run.drain()

    def check(self) -> None:
        """Leave a start that is not worth finishing.

        Raises:
            StoppedEarly: a drain was asked for.
        """
        if self._asked:
            raise StoppedEarly("asked to stop before the run began")

    def drain(self, reason: str = "") -> None:
        """Ask those that are there now, and those that will be."""
        self._asked = True
        for run in list(self._runs):
            run.drain()


class Drain:
    """Catches SIGTERM and SIGINT while it is entered. Use it around the loop, in the main thread.

    A thread reads the signals from a pipe, so they count even while the main thread is inside a long numeric call.

    Args:
        grace: seconds from the first signal until the process is ended with code `OVERDUE`; 0 waits for ever.
        call: is called once, from whichever thread notices, with the reason: `SIGTERM`, `SIGINT` or that of `request`.

    Example:
        >>> with Drain() as drain:
        ...     drain.requested
        False
    """

    def __init__(self, grace: float = 8.0, call: Callable[[str], None] | None = None) -> None:
        self.grace = grace
        self.reason = ""
        self._call = call
        self._asked = threading.Event()
        self._done = threading.Event()
        self._lock = threading.RLock()  # a handler may interrupt the main thread inside it
        self._seen: dict[str, Counter[int]] = {"pipe": Counter(), "handler": Counter()}
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self._before: dict[int, Any] = {}

    @property
    def requested(self) -> bool:
        """Whether the run was asked to end."""
        return self._asked.is_set()

    def request(self, reason: str) -> None:
        """Ask the run to end, without a signal; the first reason counts."""
        with self._lock:
            if self._asked.is_set():
                return
            self.reason = reason
            self._asked.set()
            waiters = list(self._waiters)
        for loop, event in waiters:
            with contextlib.suppress(RuntimeError):  # that loop has ended
                loop.call_soon_threadsafe(event.set)
        if self.grace > 0:
            threading.Thread(target=self._watch, name="drain-deadline", daemon=True).start()
        if self._call is not None:
            self._call(reason)

    async def wait(self) -> str:
        """Return the reason once the run is asked to end."""
        event = asyncio.Event()
        with self._lock:
            if not self._asked.is_set():
                self._waiters.append((asyncio.get_running_loop(), event))
            else:
                event.set()
        await event.wait()
        return self.reason

    def _watch(self) -> None:
        if not self._done.wait(self.grace):
            _say(f"not ended {self.grace:g} s after {self.reason}; ending now, what was committed is safe")
            os._exit(OVERDUE)

    def __enter__(self) -> Drain:
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        os.set_blocking(self._read, True)
        self._before = {s: signal.signal(s, self._handle) for s in _SIGNALS}
        self._old_fd = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._listen, name="signals", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_fd)
        os.close(self._write)
        self._thread.join()
        os.close(self._read)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._arrived("handler", number)

    def _listen(self) -> None:
        while data := os.read(self._read, 64):
            for number in data:
                if number in _SIGNALS:
                    self._arrived("pipe", number)

    def _count(self) -> int:
        pipe, handler = self._seen["pipe"], self._seen["handler"]
        return sum((pipe | handler).values())  # the larger count of each signal

    def _arrived(self, way: str, number: int) -> None:
        """Count a signal; it comes through the pipe and, once the main thread is free, through the handler too."""
        with self._lock:
            before = self._count()
            self._seen[way][number] += 1
            count = self._count()
        if count == before:
            return
        if count == 1:
            name = signal.Signals(number).name
            _say(f"{name}: finishing the step and saving; once more ends the run at once")
            self.request(name)
        else:
            _say("ending at once; what was committed is safe")
            os._exit(128 + number)


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, f"\nquintain: {text}\n".encode())
