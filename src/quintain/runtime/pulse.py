"""The pulse of an actor: a thread of its own says once a second that the process lives, how far it is and what it waits for.

It has a connection of its own and needs no event loop, so an actor that computes for a minute is not taken for a dead one,
while a process that is stopped, or swapped out, falls silent.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from quintain.runtime.frames import framed, receive
from quintain.runtime.stacks import stack_of
from quintain.waits import ended, waits

PERIOD_S = 1.0
TOLD = 20  # waits that a pulse tells of, the oldest first


class LoopClock:
    """Knows for how long an event loop has not come round, from any thread."""

    def __init__(self, period_s: float = 0.25) -> None:
        self.period_s = period_s
        self._at = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Tick in the event loop that runs now, in the main thread."""
        loop = asyncio.get_running_loop()
        self._at = time.monotonic()
        self._timer = loop.call_later(self.period_s, self.start)

    def stop(self) -> None:
        """No longer tick."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    @property
    def lag_s(self) -> float:
        """Seconds that the loop is late; 0 while none is ticking."""
        return max(0.0, time.monotonic() - self._at - self.period_s) if self._timer is not None else 0.0


class Felt(Protocol):
    """The process whose pulse is felt."""

    pulse: Mapping[str, Any]
    silent_s: float
    given_up: bool

    @property
    def here(self) -> bool:
        """Whether it has come up and has not ended."""
        ...

    def give_up(self) -> None:
        """Kill it."""
        ...


async def feel(process: Felt, reader: asyncio.StreamReader) -> None:
    """Take in the pulse of a process until it is gone."""
    while (pulse := await receive(reader)) is not None and not process.given_up:
        process.pulse, process.silent_s = pulse, 0.0


async def end_the_silent(processes: Callable[[], Iterable[Felt]], limit_s: float) -> None:
    """Give up processes that are silent, or held up beyond their deadlines, for `limit_s`.

    Seconds in which this process itself did not listen do not count.
    """
    while True:
        await asyncio.sleep(PERIOD_S)
        for process in [p for p in processes() if p.here and not p.given_up]:
            process.silent_s += PERIOD_S
            held = float(process.pulse.get("overdue_s", 0.0))
            if max(process.silent_s, held) > limit_s:
                process.silent_s = max(process.silent_s, held)
                process.give_up()


class Pulse:
    """Sends the pulse of this actor until its socket is gone.

    Args:
        address: the unix socket of the first process.
        hello: the first message: who this is.
        clock: of the actor's event loop.
        version: tells the policy version that it plays with.
    """

    def __init__(self, address: str, hello: dict[str, Any], clock: LoopClock, version: Callable[[], Any]) -> None:
        self.clock, self.version = clock, version
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(address)
        self._send({**hello, "pulse": True})

    def start(self) -> None:
        """Beat in a daemon thread."""
        threading.Thread(target=self._beat, name="pulse", daemon=True).start()

    def _beat(self) -> None:
        with contextlib.suppress(OSError):  # the first process is gone
            while True:
                self._send(self.told())
                time.sleep(PERIOD_S)

    def told(self) -> dict[str, Any]:
        """One pulse. `overdue_s` is the loop's lag beyond the deadline of what holds it."""
        open_, lag = waits(), self.clock.lag_s
        excused = max((w.limit_s for w in open_ if w.kind == "env"), default=0.0)
        rows = [[w.kind, w.who, w.on, round(w.since_s, 2), w.limit_s] for w in open_[:TOLD]]
        said = {"waits": rows, "ended": ended(), "lag_s": round(lag, 2), "overdue_s": max(0.0, lag - excused)}
        return {**said, "version": self.version(), "stack": stack_of(threading.main_thread()) if lag > 1 else []}

    def _send(self, message: dict[str, Any]) -> None:
        self._socket.sendall(framed(message))
