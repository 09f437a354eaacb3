"""The register of waits: what is open, in which order, what counts as progress, and what another thread may see."""

from __future__ import annotations

import threading

import pytest

from quintain.waits import done, ended, waiting, waits


def test_a_wait_is_seen_while_it_is_open_and_the_oldest_comes_first():
    with waiting("take", 3, lambda: [1, 2], 5.0), waiting("env", (1, 0), "step"):
        seen = [(w.kind, w.who, w.on, w.limit_s) for w in waits()]
    assert seen == [("take", 3, [1, 2], 5.0), ("env", (1, 0), "step", 0.0)]
    assert waits() == []


def test_only_a_good_end_counts():
    before = ended().get("probe", 0)
    with waiting("probe"):
        pass
    with pytest.raises(ValueError), waiting("probe"):
        raise ValueError
    done("probe", 5)
    assert ended()["probe"] == before + 6 and waits() == []


def test_what_cannot_be_told_now_is_said_to_be_unknown():
    with waiting("take", 0, lambda: 1 / 0):
        assert waits()[0].on == "(not known: ZeroDivisionError)"


def test_another_thread_may_look_while_waits_come_and_go():
    stop, found = threading.Event(), []

    def look() -> None:
        while not stop.is_set():
            found.append(len(waits()))

    thread = threading.Thread(target=look)
    thread.start()
    for _ in range(20_000):
        with waiting("env", (0, 0)):
            pass
    stop.set()
    thread.join()
    assert max(found) <= 1 and waits() == []
