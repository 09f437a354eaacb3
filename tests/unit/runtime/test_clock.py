"""The virtual clock: everything of asyncio works, time passes without waiting, and what cannot go on is told."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys

import pytest

from quintain.runtime import clock
from quintain.runtime.clock import DeadlockError, LivelockError, RealIOError, TimeLimitError, run


def test_a_day_passes_at_once_and_exactly() -> None:
    async def day() -> float:
        for _ in range(24):
            await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    assert run(day()) == 86400.0


def test_sleeps_interleave_in_order_of_time_and_ties_in_order_of_setting() -> None:
    async def main() -> list[tuple[float, str]]:
        seen = []

        async def say(name: str, *delays: float) -> None:
            for delay in delays:
                await asyncio.sleep(delay)
                seen.append((asyncio.get_running_loop().time(), name))

        await asyncio.gather(*(say(n, 1.0) for n in "abcdefghij"), say("x", 0.5, 0.25, 9.0))
        return seen

    seen = run(main())
    assert [n for t, n in seen if t == 1.0] == list("abcdefghij")
    assert [(t, n) for t, n in seen if n == "x"] == [(0.5, "x"), (0.75, "x"), (9.75, "x")]
    assert seen == run(main())


def test_late_instants_do_not_merge_or_hang() -> None:
    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        out = []
        for _ in range(3):
            await asyncio.sleep(1e-6)
            out.append(loop.time())
        return out

    seen = run(main(), start_s=1e9)
    assert seen == sorted(set(seen)) and seen[0] > 1e9


def test_timeout_wait_for_condition_queue_event_and_task_group_work() -> None:
    async def main() -> tuple[float, list[str]]:
        said, ready, queue = [], asyncio.Condition(), asyncio.Queue()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.sleep(50)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 2)

        async def waits() -> None:
            async with ready:
                await ready.wait()
                said.append("notified")

        async def feeds() -> None:
            await asyncio.sleep(1)
            async with ready:
                ready.notify_all()
            await queue.put("queued")

        async with asyncio.TaskGroup() as group:
            group.create_task(waits())
            group.create_task(feeds())
        said.append(await queue.get())
        return asyncio.get_running_loop().time(), said

    assert run(main()) == (8.0, ["notified", "queued"])


def test_a_deadlock_names_the_tasks_and_where_they_wait() -> None:
    async def forgets() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        waiting = asyncio.create_task(forgets(), name="the forgetful one")
        await asyncio.sleep(3)
        await waiting

    with pytest.raises(DeadlockError, match=r"(?s)at second 3:.*2 tasks wait.*the forgetful one.*test_clock.py:\d+ in"):
        run(main())


def test_a_deadlock_cleans_up_what_it_finds() -> None:
    cleaned = []

    async def main() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    with pytest.raises(DeadlockError):
        run(main())
    assert cleaned == [True]


def test_polling_is_told_from_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "SPINS", 1000)

    async def main() -> None:
        loop, again = asyncio.get_running_loop(), asyncio.Event()
        while not again.is_set():
            loop.call_soon(again.set)
            await again.wait()
            again.clear()

    with pytest.raises(LivelockError, match="polls instead of waiting"):
        run(main())


def test_the_limit_ends_a_program() -> None:
    with pytest.raises(TimeLimitError, match="next event is at second 11; the limit is 10"):
        run(asyncio.sleep(11), limit_s=10)
    run(asyncio.sleep(10), limit_s=10)


def test_threads_run_at_once_and_errors_come_back() -> None:
    async def main() -> tuple[float, int]:
        value = await asyncio.to_thread(lambda: 42)
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 // 0)
        return asyncio.get_running_loop().time(), value

    assert run(main()) == (0.0, 42)


@pytest.mark.parametrize("ask", ["server", "process", "reader"])
def test_the_outside_world_is_refused(ask: str) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        if ask == "server":
            await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
        elif ask == "process":
            await asyncio.create_subprocess_exec(sys.executable, "-c", "", stdout=subprocess.DEVNULL)
        else:
            with socket.socket() as one:
                loop.add_reader(one.fileno(), print)

    with pytest.raises(RealIOError, match="modelled part"):
        run(main())


def test_tasks_left_behind_are_cancelled() -> None:
    ended = []

    async def lingers() -> None:
        try:
            await asyncio.sleep(1e9)
        except asyncio.CancelledError:
            ended.append(asyncio.get_running_loop().time())
            raise

    async def main() -> None:
        asyncio.get_running_loop().create_task(lingers())
        await asyncio.sleep(1)

    run(main())
    assert ended == [1.0]
