"""Awaiting the outside world with a deadline that costs nothing when the answer is there at once."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

AGAIN_S = 1.0  # after which code that swallowed the interruption is interrupted once more


class Late(Exception):
    """The awaited answer missed its deadline."""


def _ring(*_: Any) -> None:
    raise Late


def _unblocked(step: Callable[[Any], Any], value: Any, seconds: float) -> Any:
    """`step(value)`, which is Python code of somebody else; raises `Late` into it when it holds the thread too long."""
    if not seconds or threading.current_thread() is not threading.main_thread():
        return step(value)
    if signal.getsignal(signal.SIGALRM) is not _ring:
        signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        return step(value)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


class _Resumed:
    """The rest of a coroutine that was started by hand and first yielded `waiting`."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], waiting: Any, seconds: float) -> None:
        self.coroutine, self.waiting, self.seconds = coroutine, waiting, seconds

    def __await__(self) -> Generator[Any, Any, Any]:
        waiting = self.waiting
        while True:
            try:
                sent = yield waiting
            except GeneratorExit:
                self.coroutine.close()
                raise
            except BaseException as error:  # cancellation included: the coroutine decides
                step, value = self.coroutine.throw, error
            else:
                step, value = self.coroutine.send, sent
            try:
                waiting = _unblocked(step, value, self.seconds)
            except StopIteration as done:
                return done.value


async def rest(coroutine: Coroutine[Any, Any, Any], waiting: Any, seconds: float) -> Any:
    """Finish a started coroutine within `seconds` (0: no limit); raises `Late` when it takes longer."""
    return await _timed(_Resumed(coroutine, waiting, seconds), seconds)


async def _timed(awaitable: Awaitable[Any], seconds: float) -> Any:
    clock = asyncio.timeout(seconds or None)
    try:
        async with clock:
            value = await awaitable
    except TimeoutError:
        if clock.expired():  # else the awaited code raised a TimeoutError of its own
            raise Late from None
        raise
    if clock.expired():  # it gave an answer when it was cancelled for being late
        raise Late
    return value


async def within(answer: Awaitable[Any], seconds: float) -> Any:
    """The value of `answer`, awaited for at most `seconds` (0: no limit); raises `Late` after that.

    A coroutine that never waits runs to its end inside this call: no task, no timer, no switch to other episodes, so
    the order in which pure worlds step is the order in which they are called. Code that blocks instead of waiting is
    interrupted too, where it runs in the main thread and comes back to Python now and then.
    """
    if not asyncio.iscoroutine(answer):
        return await _timed(answer, seconds)
    try:
        waiting = _unblocked(answer.send, None, seconds)
    except StopIteration as done:
        return done.value
    return await rest(answer, waiting, seconds)
