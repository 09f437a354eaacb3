"""Schedules on the virtual clock: deterministic, sound over many seeds, and able to see what is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quintain.testing import schedules
from quintain.testing.schedules import Entry, Fault, SchedulePlan, plan, play, wrong
from quintain.window import Window


def test_a_plan_gives_its_log_again_and_is_plain_data() -> None:
    assert play(plan(5)) == play(plan(5))
    assert SchedulePlan.read(plan(5).json()) == plan(5)
    assert len({plan(seed).json() for seed in range(50)}) == 50


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_nothing_goes_wrong_over_many_seeds(first: int) -> None:
    kinds = set()
    for seed in range(first, first + 50):
        schedule = plan(seed)
        log = play(schedule)
        assert wrong(schedule, log) == [], schedule.json()
        kinds |= {e.what for e in log}
    assert {"issued", "playing", "played", "trained", "loaded", "saved", "killed", "dropped"} <= kinds


def test_a_killed_run_plays_its_pending_tickets_again() -> None:
    schedule = SchedulePlan(seed=1, steps=4, size=2, max_lag=1, look=2, faults=(Fault(what="kill", at=9.0),))
    log = play(schedule)
    saved = [e for e in log if e.what == "saved" and e.life == 0][-1]
    again = {e.which for e in log if e.what == "playing" and e.life == 1}
    assert set(saved.more["pending"]) <= again and saved.more["pending"]
    assert wrong(schedule, log) == []


def test_faults_can_be_taken_out_one_by_one() -> None:
    whole = next(p for p in map(plan, range(100)) if len(p.faults) >= 3)
    for i in range(len(whole.faults)):
        less = replace(whole, faults=whole.faults[:i] + whole.faults[i + 1 :])
        assert wrong(less, play(less)) == []


def trained(step: int, *rows: tuple[int, int, int]) -> Entry:
    return Entry(0.0, 0, "trained", step, {"tickets": [list(r) for r in rows]})


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([trained(0, (0, 0, 0)), trained(1, (0, 0, 0))], "trained 2 times"),
        ([trained(0, (0, 0, 0)), trained(1, (1, 0, 0))], "max_lag is 0"),
        ([trained(0, (0, 0, 0))], "steps"),
        ([trained(0, (0, 0, 0)), trained(1, (7, 1, 1))], "never issued"),
        ([Entry(0, 0, "loaded", 2, {}), Entry(0, 0, "loaded", 1, {})], "rise"),
        ([trained(0, (0, 0, 0)), Entry(0, 0, "dropped", 0, {"why": "gate"})], "trained and dropped"),
        ([Entry(0, 0, "saved", 2, {"pending": []})], "ticket 1 was lost"),
    ],
)
def test_what_must_not_happen_is_seen(entries: list[Entry], said: str) -> None:
    issued = [Entry(0.0, 0, "issued", i, {}) for i in range(2)]
    schedule = SchedulePlan(seed=0, steps=2, size=1, max_lag=0, look=0)
    assert any(said in line for line in wrong(schedule, [*issued, *entries]))


def test_a_window_that_admits_too_much_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    asks = Window._open
    monkeypatch.setattr(Window, "_open", lambda self: asks(self) or self.index < self.steps * self.size)
    caught = 0
    for seed in range(60):
        schedule = plan(seed)
        try:
            caught += bool(wrong(schedule, play(schedule)))
        except schedules.clock.QuintainError:
            caught += 1
    assert caught > 0
