"""Orderly ends, each in a process of its own: drain on the first signal, out at once on the second, never overdue."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from quintain.runtime.signals import DRAINED, OVERDUE, Drain

START = """
import asyncio, os, signal, sys, time
from quintain.runtime.signals import DRAINED, Drain

def say(text):
    print(text, flush=True)
"""

LOOP = """
with Drain() as drain:
    say("ready")
    steps = 0
    while not drain.requested:
        time.sleep(0.01)
    say(f"drained {drain.reason}")
raise SystemExit(DRAINED)
"""

STUCK = """
with Drain(grace=GRACE) as drain:
    say("ready")
    while True:
        time.sleep(60)
"""

BUSY = """
with Drain(call=lambda reason: say("called")) as drain:
    say("ready")
    import hashlib
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 10**9)  # one long call outside of Python's reach
"""

ASYNC = """
async def main(drain):
    async def tick():
        while True:
            await asyncio.sleep(3600)
    ticking = asyncio.create_task(tick())
    say("ready")
    say("drained " + await drain.wait())
    ticking.cancel()

with Drain() as drain:
    asyncio.run(main(drain))
    asyncio.run(main(drain))
raise SystemExit(DRAINED)
"""


@pytest.fixture
def start():
    """Start a script and wait for its `ready`."""
    children = []

    def begin(script):
        child = subprocess.Popen(
            [sys.executable, "-c", START + script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        children.append(child)
        assert child.stdout.readline() == "ready\n"
        return child

    yield begin
    for child in children:
        child.kill()
        child.wait()
        child.stdout.close()
        child.stderr.close()


def end(child):
    out, error = child.communicate(timeout=30)
    return child.returncode, out.split("\n")[0], error


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_drains(start, number):
    child = start(LOOP)
    child.send_signal(number)
    code, out, error = end(child)
    assert (code, out) == (DRAINED, f"drained {number.name}")
    assert f"{number.name}: finishing the step" in error and "Traceback" not in error


def test_the_second_signal_ends_the_process_at_once(start):
    child = start(STUCK.replace("GRACE", "1000"))
    child.send_signal(signal.SIGTERM)
    while "finishing the step" not in child.stderr.readline():
        pass
    child.send_signal(signal.SIGINT)
    code, _, error = end(child)
    assert code == 128 + signal.SIGINT and "ending at once" in error


def test_an_end_that_takes_too_long_is_forced(start):
    child = start(STUCK.replace("GRACE", "0.2"))
    child.send_signal(signal.SIGTERM)
    code, _, error = end(child)
    assert code == OVERDUE and "0.2 s after SIGTERM" in error


def test_signals_count_while_the_main_thread_is_inside_a_long_call(start):
    child = start(BUSY)
    child.send_signal(signal.SIGTERM)
    assert child.stdout.readline() == "called\n"
    child.send_signal(signal.SIGTERM)
    begin = time.monotonic()
    code, _, _ = end(child)
    assert code == 128 + signal.SIGTERM and time.monotonic() - begin < 10


def test_an_event_loop_wakes_up(start):
    child = start(ASYNC)
    child.send_signal(signal.SIGTERM)
    code, out, error = end(child)
    assert code == DRAINED and out == "drained SIGTERM", error


def test_handlers_are_put_back_and_a_request_needs_no_signal():
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    said = []
    with Drain(grace=0, call=said.append) as drain:
        assert not drain.requested
        drain.request("the budget is spent")
        drain.request("again")
        assert drain.requested and drain.reason == "the budget is spent" and said == ["the budget is spent"]
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
    assert signal.set_wakeup_fd(-1) == -1


def test_a_drain_can_be_used_twice_in_one_process():
    fds = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with Drain() as drain:
            assert not drain.requested
    assert len(os.listdir("/proc/self/fd")) == fds
