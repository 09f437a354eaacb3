import asyncio
import signal
import time

import pytest

from quintain.rollouts.deadline import Late, within


async def immediate():
    return 7


async def later(gate):
    await gate.wait()
    return 8


async def test_an_answer_that_is_there_at_once_switches_to_nobody():
    ran = []
    other = asyncio.ensure_future(immediate())
    other.add_done_callback(lambda _: ran.append("other"))
    assert await within(immediate(), 1.0) == 7
    assert not ran and not other.done()
    await other


async def test_answers_that_wait_come_through_whatever_they_await():
    gate = asyncio.Event()
    job = asyncio.ensure_future(within(later(gate), 5.0))
    await asyncio.sleep(0)
    gate.set()
    assert await job == 8
    future = asyncio.get_running_loop().create_future()
    future.set_result(9)
    assert await within(future, 1.0) == 9  # not a coroutine
    assert await within(later(gate), 0) == 8  # no limit


async def test_late_is_not_the_env_s_own_timeout():
    with pytest.raises(Late):
        await within(later(asyncio.Event()), 0.01)

    async def impatient():
        await asyncio.sleep(0)
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        await within(impatient(), 5.0)


async def test_errors_and_cancellation_reach_the_awaited_code():
    seen = []

    async def careful():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            await asyncio.sleep(0)  # cleaning up may wait too
            seen.append("clean")
            raise

    job = asyncio.ensure_future(within(careful(), 5.0))
    await asyncio.sleep(0)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert seen == ["cancelled", "clean"]

    async def broken():
        raise KeyError("first")

    with pytest.raises(KeyError, match="first"):
        await within(broken(), 1.0)


async def test_code_that_gives_an_answer_when_it_is_cancelled_for_being_late_is_late():
    async def stubborn():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "too late"

    with pytest.raises(Late):
        await within(stubborn(), 0.01)


class Stubborn:
    """Blocks the thread, and swallows the first interruptions."""

    def __init__(self, swallowed: int, first: bool) -> None:
        self.swallowed, self.first = swallowed, first

    async def answer(self) -> int:
        if not self.first:
            await asyncio.sleep(0)
        for left in range(self.swallowed, -1, -1):
            try:
                time.sleep(60)  # noqa: ASYNC251  (the fault under test)
            except Late:
                if not left:
                    raise
        return 1


@pytest.mark.parametrize(("swallowed", "first"), [(0, True), (0, False), (1, True)])
async def test_code_that_blocks_the_thread_is_interrupted(swallowed, first, monkeypatch):
    monkeypatch.setattr("quintain.rollouts.deadline.AGAIN_S", 0.05)
    begin = time.perf_counter()
    with pytest.raises(Late):
        await within(Stubborn(swallowed, first).answer(), 0.05)
    assert time.perf_counter() - begin < 10
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert await within(immediate(), 1.0) == 7


async def test_a_blocked_thread_that_is_not_the_main_one_is_left_alone():
    def run():
        return asyncio.run(within(immediate(), 1.0))

    assert await asyncio.to_thread(run) == 7
