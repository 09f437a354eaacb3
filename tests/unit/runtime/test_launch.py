"""Ranks of a run as processes: what the first one tells of another that failed."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from quintain.learn.ranks import RankError as LostRank
from quintain.learn.ranks import Ranks
from quintain.runtime import launch
from quintain.runtime.signals import Asked, StoppedEarly
from quintain.types import QuintainError

CRASH = 'raise ValueError("a bug of ours")'


def script(monkeypatch, code: str) -> None:
    """Further ranks are this program; `log` stands for its log, which has lines of an earlier session."""
    real = subprocess.Popen

    def popen(command, **options):
        assert "quintain.runtime.rank" in command
        return real([sys.executable, "-c", code], **options)

    monkeypatch.setattr(launch.subprocess, "Popen", popen)
    monkeypatch.setattr(launch.forks._Known, "address", "")  # a test before may have left a fork server


def failing(folder: Path, error: Exception) -> str:
    (folder / "rank1.log").write_text(f"{launch.FAILED}of an earlier session\n")
    with pytest.raises(QuintainError) as told, launch.ranks(folder, 2):
        for _ in range(100 * (type(error) is QuintainError)):
            time.sleep(0.05)
            if "a bug of ours" in (folder / "rank1.log").read_text():
                time.sleep(0.3)  # the other rank has ended before
                break
        raise error
    return f"{type(told.value).__name__}: {told.value}"


def test_an_error_with_a_name_is_quoted_alone(tmp_path, monkeypatch):
    script(monkeypatch, f'print("Traceback:\\n" * 9); print("{launch.FAILED}CorruptLedger: line\\nand line"); exit(1)')
    told = failing(tmp_path, LostRank("a sum failed"))
    assert told == "RankError: rank 1 ended with status 1: CorruptLedger: line\nand line"


def test_of_any_other_end_the_end_of_the_log_is_quoted(tmp_path, monkeypatch):
    script(monkeypatch, CRASH)
    told = failing(tmp_path, LostRank("a sum failed"))
    assert "rank 1 ended with status 1; the end of" in told and "ValueError: a bug of ours" in told
    assert "Traceback" in told and "earlier session" not in told


def test_a_rank_that_fails_before_anybody_looks_is_quoted_too(tmp_path, monkeypatch):
    script(monkeypatch, CRASH)
    real = launch.begin

    def begin(*words, **options):
        child = real(*words, **options)
        child.wait(10)
        return child

    monkeypatch.setattr(launch, "begin", begin)
    assert "ValueError: a bug of ours" in failing(tmp_path, LostRank("a sum failed"))


def test_an_error_of_the_first_rank_itself_is_the_one_to_tell(tmp_path, monkeypatch):
    script(monkeypatch, CRASH)
    assert failing(tmp_path, QuintainError("all ranks say so")) == "QuintainError: all ranks say so"


def test_a_lost_rank_that_lives_is_told_of_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(launch, "_GONE_S", 0.2)
    script(monkeypatch, "import sys; sys.stdin.read()")
    assert failing(tmp_path, LostRank("a sum failed")) == "RankError: a sum failed"


def test_a_rank_that_never_came_up_ends_the_wait_for_it(tmp_path, monkeypatch):
    script(monkeypatch, CRASH)
    with pytest.raises(launch.RankError, match="rank 1 ended with status 1"), launch.ranks(tmp_path, 2) as place:
        Ranks.join(0, 2, port=place.port, deadline_s=60, check_in=place.check_in)


def test_ranks_that_did_not_begin_are_ended_without_a_word(tmp_path, monkeypatch):
    script(monkeypatch, "import time; time.sleep(600)")  # deaf, as one that still imports
    monkeypatch.setattr(launch, "_load", lambda check_in: None)  # who is asked to stop would not wait for it
    asked = Asked()
    asked.drain()
    with pytest.raises(StoppedEarly), launch.ranks(tmp_path, 2, check_in=asked.check) as place:
        Ranks.join(0, 2, port=place.port, deadline_s=60, check_in=place.check_in)
    assert place.others[0].process.poll() == -signal.SIGKILL


def test_who_is_asked_to_stop_does_not_wait_for_what_the_first_process_imports(monkeypatch, tmp_path):
    held, begun, asked = threading.Event(), [], Asked()
    monkeypatch.setattr(launch.forks, "load", lambda: (asked.drain(), held.wait(20)))
    monkeypatch.setattr(launch, "begin", lambda *words, **options: begun.append(words))
    with pytest.raises(StoppedEarly), launch.ranks(tmp_path, 2, check_in=asked.check):
        pass
    assert begun == [] and not held.is_set()
    held.set()
