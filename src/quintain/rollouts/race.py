"""More members than a group needs: the first valid ones win, the others are cancelled, or played out to be compared."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from quintain.types import Group, Stop

INVALID = (Stop.crashed, Stop.timeout, Stop.aborted, Stop.cancelled)
LOST = "lost"  # tag of a member that was played out although it did not win


def metered(share: float, seed: int, ticket: int) -> bool:
    """Whether the losers of this ticket's group are played to their end: a seeded draw that depends on nothing else.

    Example:
        >>> sum(metered(0.05, 0, ticket) for ticket in range(10_000))
        487
    """
    if share <= 0:
        return False
    digest = hashlib.blake2b(f"meter.{seed}.{ticket}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * 2**64


async def race(
    runs: Sequence[Callable[[], Any]], need: int, valid: Callable[[Any], bool], *, whole: bool = False
) -> tuple[dict[int, Any], dict[int, Any]]:
    """Play all `runs` at once: results by number of the `need` that win, and of the others that ended too.

    The first `need` valid ones win, in the order in which they end; the rest is cancelled and awaited, or played out where `whole`.
    Invalid results fill up only where nobody else is left to win.
    """
    tasks = [asyncio.ensure_future(run()) for run in runs]
    ended: list[int] = []
    enough = asyncio.Event()

    def note(number: int, task: asyncio.Task[Any]) -> None:
        ended.append(number)
        failed = task.cancelled() or task.exception() is not None
        winning = 0 if failed or whole else sum(valid(tasks[i].result()) for i in ended)
        if failed or winning >= need or len(ended) == len(tasks):
            enough.set()

    for number, task in enumerate(tasks):
        task.add_done_callback(lambda done, number=number: note(number, done))
    try:
        await enough.wait()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
    results = {i: tasks[i].result() for i in ended if not tasks[i].cancelled()}
    first = [i for i in results if valid(results[i])][:need]
    first += sorted(i for i in results if i not in first)[: need - len(first)]
    return {i: results[i] for i in sorted(first)}, {i: r for i, r in sorted(results.items()) if i not in first}


def apart(group: Group) -> tuple[Group, Group | None]:
    """The group of the winners, and the losers that were played out, as a group of their own or None."""
    lost = tuple(t for t in group.trajectories if t.tags.get(LOST))
    if not lost:
        return group, None
    won = tuple(t for t in group.trajectories if not t.tags.get(LOST))
    return replace(group, trajectories=won), replace(group, trajectories=lost)
