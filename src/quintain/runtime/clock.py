"""Virtual time: an asyncio event loop that jumps to the next timer instead of sleeping.

Everything of asyncio works in it (`sleep`, `timeout`, `Condition`, `TaskGroup`), in one thread and in one order: the same program
gives the same schedule, every time. Hours pass in milliseconds, and a program that can never go on is told at once.
"""

from __future__ import annotations

import asyncio
import math
from asyncio.events import TimerHandle
from collections.abc import Callable, Coroutine, Iterator
from contextvars import Context
from heapq import heappush
from typing import Any, NoReturn, TypeVar, TypeVarTuple

from quintain.types import QuintainError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
SPINS = 1_000_000  # rounds of the loop at one instant after which nothing is taken to move any more


class DeadlockError(QuintainError):
    """Nothing is scheduled and the program is not done: the message names every task that waits and the line it waits at."""


class LivelockError(QuintainError):
    """The program goes round without time passing, a million times: some task polls instead of waiting."""


class TimeLimitError(QuintainError):
    """The program needs more virtual time than it was given."""


class RealIOError(QuintainError):
    """The program asked for a socket, pipe, process or signal: the outside world keeps no virtual time."""


def run(main: Coroutine[Any, Any, T], *, start_s: float = 0.0, limit_s: float = math.inf) -> T:
    """Run a coroutine on a virtual clock and return its result, like `asyncio.run` without the waiting.

    Use it for simulation and for tests of anything that sleeps, times out or waits for another task.

    Args:
        main: the coroutine to run; tasks that it leaves behind are cancelled.
        start_s: what `loop.time()` says at the start, in seconds.
        limit_s: the virtual time at which the program is given up, in seconds on the same scale.

    Raises:
        DeadlockError: every task waits for something that nobody will do.
        LivelockError: time stands still while callbacks go round.
        TimeLimitError: `limit_s` is passed.
        RealIOError: the program asked for real input or output.

    Special cases: work given to threads (`asyncio.to_thread`) runs at once in this thread and takes no virtual time.

    Example:
        >>> async def hour() -> float:
        ...     await asyncio.sleep(3600)
        ...     return asyncio.get_running_loop().time()
        >>> run(hour())
        3600.0
    """
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(start_s=start_s, limit_s=limit_s), debug=False) as runner:
        return runner.run(main)


class VirtualLoop(asyncio.BaseEventLoop):
    """The event loop behind `run`: give it to `asyncio.Runner(loop_factory=VirtualLoop)` where `run` is too little.

    Timers of the same instant fire in the order in which they were set. `time()` starts at `start_s` and moves only when nothing
    is ready; `jumps` counts how often it did.

    Args:
        start_s: first value of `time()`, in seconds.
        limit_s: the virtual time at which the program is given up, in seconds.
    """

    _scheduled: list[TimerHandle]
    _clock_resolution: float

    def __init__(self, *, start_s: float = 0.0, limit_s: float = math.inf) -> None:
        super().__init__()
        self._now, self._limit = start_s, limit_s
        self._order = 0
        self._selector = self  # what the base class asks for the next event
        self._clock_resolution = math.ulp(max(start_s, 1.0))  # timers up to, and not beyond, the very instant
        self._spins = 0
        self.jumps = 0

    def time(self) -> float:
        """Virtual seconds."""
        return self._now

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> TimerHandle:
        """Call back at a virtual time; callbacks of the same time keep their order."""
        if self.is_closed():
            raise RuntimeError("the event loop is closed")
        self._order += 1
        given: Any = args
        timer = _Timer(when, callback, given, self, context)
        timer.order = self._order
        heappush(self._scheduled, timer)
        timer._scheduled = True
        return timer

    def select(self, timeout: float | None) -> list[Any]:
        """Stand in for the selector: where the base loop would sleep, go to the next timer.

        Raises:
            DeadlockError: there is no next timer.
            LivelockError: a million rounds passed at this instant.
            TimeLimitError: the next timer lies beyond the limit.
        """
        if timeout is None:
            raise DeadlockError(_stuck(self))
        if timeout > 0:
            self._advance(self._scheduled[0].when())
        self._spins += 1
        if self._spins > SPINS:
            self._spins = 0  # so that the tasks can clean up
            raise LivelockError(
                f"{SPINS} rounds at second {self._now:g} and time does not move; a task polls instead of waiting:\n"
                + "\n".join(_waiting(self))
            )
        return []

    def _advance(self, when: float) -> None:
        if when > self._limit:
            raise TimeLimitError(
                f"the next event is at second {when:g}; the limit is {self._limit:g}: raise limit_s, or end the program earlier"
            )
        self._now = when
        self._clock_resolution = math.ulp(max(when, 1.0))
        self._spins = 0
        self.jumps += 1

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nothing sleeps, so nothing need be woken."""

    def run_in_executor(self, executor: Any, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Run `func` at once: deterministic, and it takes no virtual time."""
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            future.set_exception(error)
        return future

    def _refuse(self, *args: Any, **named: Any) -> NoReturn:
        raise RealIOError(
            "a virtual clock was asked for real input or output (a socket, pipe, process or signal): "
            "give the program a modelled part in its place, or run it with asyncio.run"
        )

    async def _refuse_later(self, *args: Any, **named: Any) -> NoReturn:
        self._refuse()

    add_reader = remove_reader = add_writer = remove_writer = _refuse
    add_signal_handler = remove_signal_handler = _refuse
    create_connection = create_server = create_datagram_endpoint = _refuse_later
    create_unix_connection = create_unix_server = _refuse_later
    connect_read_pipe = connect_write_pipe = subprocess_exec = subprocess_shell = _refuse_later
    sock_recv = sock_recv_into = sock_sendall = sock_connect = sock_accept = _refuse_later
    getaddrinfo = getnameinfo = _refuse_later


class _Timer(TimerHandle):
    """A timer that remembers when it was set, among those of the same instant."""

    __slots__ = ("order",)
    order: int
    _when: float
    _scheduled: bool

    def __lt__(self, other: Any) -> bool:
        mine, theirs = self._when, other._when
        return mine < theirs or (mine == theirs and self.order < other.order)


def _stuck(loop: VirtualLoop) -> str:
    names = list(_waiting(loop))
    what = f"{len(names)} task{'s wait' if len(names) != 1 else ' waits'}"
    return f"deadlock at second {loop.time():g}: nothing is scheduled and {what} for ever:\n" + "\n".join(names)


def _waiting(loop: VirtualLoop) -> Iterator[str]:
    """One line per unfinished task: its name, its coroutine, and the line that it waits at."""
    tasks = sorted(asyncio.all_tasks(loop), key=lambda t: (len(t.get_name()), t.get_name()))
    for task in tasks[:50]:
        at: Any = task.get_coro()
        name, place = getattr(at, "__qualname__", "?"), ""
        while at is not None:  # down to the innermost coroutine: that line says what is missing
            frame = getattr(at, "cr_frame", None)
            if frame is not None and "/asyncio/" not in frame.f_code.co_filename:
                place = f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}"
            at = getattr(at, "cr_await", None)
        yield f"  {task.get_name()} ({name}) at {place or 'its start'}"
    if len(tasks) > 50:
        yield f"  and {len(tasks) - 50} more"
