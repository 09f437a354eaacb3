"""Servers of worlds that are away for a moment: an episode waits for one before it begins, as nothing was sent yet that counts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from quintain.types import QuintainError
from quintain.waits import waiting

# That a server may be away, for all episodes together; below the deadline of a reset, which ends the wait too.
LONGEST_S = 30.0
FIRST_S, MOST_S = 0.2, 2.0  # between two tries: the first, then doubled up to the most

T = TypeVar("T")
_known: set[str] = set()  # servers that have answered this process
_since: dict[str, float] = {}  # when those that are away were found so
_jitter = random.Random()  # apart from the global state, which some peers draw from


class Away(QuintainError):
    """A server was not there to begin an episode."""


async def met(server: str, begin: Callable[[], Awaitable[T]]) -> T:
    """What `begin` gives. A server that has answered this process before is asked again until it is back.

    Raises:
        Away: it has never answered, or is away for longer than `LONGEST_S`; from then on it gets a second try and no more.
    """
    try:
        return await _begun(server, begin)
    except Away:
        if server not in _known:
            raise
    pause = FIRST_S
    with waiting("server", server, "", LONGEST_S):
        while True:
            await asyncio.sleep(pause * _jitter.uniform(0.5, 1.0))
            pause = min(2 * pause, MOST_S)
            try:
                return await _begun(server, begin)
            except Away as error:
                if asyncio.get_running_loop().time() - _since[server] >= LONGEST_S:
                    told = f"it answered before, and has been away for more than {LONGEST_S:g} s"
                    raise Away(f"{error}; {told}") from error


async def _begun(server: str, begin: Callable[[], Awaitable[T]]) -> T:
    try:
        answer = await begin()
    except Away:
        _since.setdefault(server, asyncio.get_running_loop().time())
        raise
    _known.add(server)
    _since.pop(server, None)
    return answer
