"""The status of a run and its watchdog, without a run: what it writes, when it tells of a stall, and how it ends one."""

from __future__ import annotations

import asyncio
import json
import threading
import time

import pytest

from quintain import config as configs
from quintain.runtime import watch as watches
from quintain.runtime.launch import Place
from quintain.runtime.pulse import LoopClock, Pulse, end_the_silent
from quintain.runtime.watch import StallError, Watch, live_path, read_live, watched
from quintain.waits import done, waiting


def until(true, seconds=20.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(watches, "PERIOD_S", 0.02)


def test_the_status_is_whole_at_any_time_and_marked_at_the_end(tmp_path, quick):
    watch = Watch(tmp_path, rank=1, size=2)
    watch.facts = lambda: {"step": 4, "steps": 9}
    watch.start()
    with waiting("take", 4, lambda: [1]):
        until(lambda: any(w["kind"] == "take" for w in (read_live(tmp_path, 1) or {"waits": []})["waits"]))
        for _ in range(200):
            status = json.loads(live_path(tmp_path, 1).read_text())
    assert status["state"] == "running" and status["step"] == 4 and status["rank"] == 1
    watch.close("failed", "X: y")
    assert read_live(tmp_path, 1)["state"] == "failed" and read_live(tmp_path, 1)["reason"] == "X: y"
    assert read_live(tmp_path, 0) is None and not list(tmp_path.glob("*.tmp"))


def test_the_status_of_a_run_is_not_written_into_another_folder_of_its_name(tmp_path, quick):
    home, aside = tmp_path / "run", tmp_path / "aside"
    home.mkdir()
    watch, seen = Watch(home), []
    watch.facts = lambda: {"step": len(seen.append(1) or seen)}

    def looked(times=3):
        before = len(seen)
        until(lambda: len(seen) > before + times)

    watch.start()
    until(lambda: read_live(home))
    home.rename(aside)
    home.mkdir()
    looked()
    for late in home.iterdir():  # a look that was under way
        late.unlink()
    looked()
    assert not list(home.iterdir()) and read_live(aside)["state"] == "running"
    watch.close()
    assert not list(home.iterdir())


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("went_on", [True, False])
def test_a_resume_that_fails_before_it_goes_on_leaves_the_last_word(tmp_path, quick, resume, went_on):
    with watched(configs.make("tiny"), tmp_path, Place()):
        pass
    before = read_live(tmp_path)
    with pytest.raises(KeyError), watched(configs.make("tiny"), tmp_path, Place(resume=resume)) as watch:
        watch.facts = lambda: {"step": 4}
        until(lambda: read_live(tmp_path).get("step") == 4)
        watch.went_on = went_on
        raise KeyError
    state = read_live(tmp_path)
    kept = all(state[key] == before[key] for key in ("state", "reason", "time", "began"))
    assert kept == (resume and not went_on) and state["state"] == ("ended" if kept else "failed")


def test_facts_that_cannot_be_read_now_are_the_last_ones(tmp_path):
    watch, broken = Watch(tmp_path), []

    def facts():
        if broken:
            raise RuntimeError("dictionary changed size during iteration")
        return {"step": 3}

    watch.facts = facts
    assert watch.status()["step"] == 3
    broken.append(1)
    assert watch.status()["step"] == 3


def test_a_stall_is_told_once_and_again_after_something_moved(tmp_path, quick):
    watch, told, said = Watch(tmp_path, stall_s=0.2), [], []
    watch.tell, watch.say = told.append, said.append
    watch.start()
    with waiting("take", 7, lambda: [5]), waiting("env", (5, 2), "step"):
        until(lambda: told)
        until(lambda: read_live(tmp_path)["idle_s"] > 0.6)  # a second telling would have come
        assert len(told) == len(said) == 1
        done("env")
        until(lambda: len(told) == 2)
    watch.close()
    assert "episode 5.2" in said[0] and "deadline_s" in said[0] and said[0].startswith("STALL")
    assert [link["who"] for link in told[0]["chain"]] == ["step 7", "episode 5.2"]


def test_progress_keeps_the_watchdog_quiet(tmp_path, quick):
    watch, told, looks = Watch(tmp_path, stall_s=0.3), [], []
    watch.tell, watch.facts = told.append, lambda: looks.append(time.monotonic()) or {}
    watch.start()
    until(lambda: done("env") or (looks and looks[-1] - looks[0] > 1.0))
    watch.close()
    assert not told


def test_a_fatal_stall_asks_the_run_to_end_with_an_error_that_names_the_chain(tmp_path, quick):
    watch, errors = Watch(tmp_path, stall_s=0, fatal_s=0.2), []
    watch.fail = errors.append
    watch.start()
    with waiting("take", 7, lambda: [5]), waiting("reward", 5):
        until(lambda: errors)
    watch.close()
    assert isinstance(errors[0], StallError) and "ticket 5 waits for its reward" in str(errors[0]) and len(errors) == 1


@pytest.mark.parametrize("held", [True, False])
def test_a_run_that_does_not_end_by_itself_is_ended_after_what_can_be_saved_is_saved(
    held, tmp_path, quick, monkeypatch
):
    ends, rescued = [], []
    watch = Watch(tmp_path, stall_s=0, fatal_s=0.1)

    def leave(status):
        ends.append(status)
        watch._over.set()

    monkeypatch.setattr(watches.os, "_exit", leave)
    monkeypatch.setattr(watches, "GRACE_S", 0.3)
    watch.rescue = lambda: rescued.append(threading.current_thread().name)
    if held:
        monkeypatch.setattr(LoopClock, "lag_s", 5.0)
    watch.start()
    with waiting("take", 7, lambda: [5]):
        until(lambda: ends)
    assert ends == [watches.STALLED] and rescued == ["watch-rescue"]
    assert read_live(tmp_path)["state"] == "failed" and "StallError" in read_live(tmp_path)["reason"]


async def test_the_loop_clock_sees_a_loop_that_is_held_and_is_still_when_stopped():
    clock = LoopClock(0.01)
    assert clock.lag_s == 0.0
    clock.start()
    began = clock._at
    while clock._at == began:  # noqa: ASYNC110  # until it has ticked
        await asyncio.sleep(0)
    threading.Event().wait(0.3)  # holds the loop
    assert clock.lag_s > 0.2
    clock.stop()
    assert clock.lag_s == 0.0


class Process:
    def __init__(self, **pulse) -> None:
        self.pulse, self.silent_s, self.given_up, self.here = pulse, 0.0, False, True

    def give_up(self) -> None:
        self.given_up = True


@pytest.mark.parametrize("pulse", [{}, {"overdue_s": 9.0}])
async def test_the_silent_and_the_stuck_are_given_up_and_the_others_are_not(pulse, monkeypatch):
    monkeypatch.setattr("quintain.runtime.pulse.PERIOD_S", 0.01)
    stuck, well, starting = Process(**pulse), Process(), Process()
    starting.here = False
    listening = asyncio.create_task(end_the_silent(lambda: [stuck, well, starting], 0.1))
    while not stuck.given_up:
        well.silent_s = 0.0
        await asyncio.sleep(0)
    assert not well.given_up and not starting.given_up and stuck.silent_s > 0.1
    listening.cancel()


def test_a_held_loop_is_excused_as_long_as_an_env_has_its_deadline(monkeypatch):
    pulse = object.__new__(Pulse)
    pulse.clock, pulse.version = LoopClock(), lambda: 3
    monkeypatch.setattr(LoopClock, "lag_s", 50.0)
    with waiting("env", (1, 0), "step", 60.0):
        assert pulse.told()["overdue_s"] == 0.0
    assert pulse.told()["overdue_s"] == 50.0 and pulse.told()["version"] == 3
