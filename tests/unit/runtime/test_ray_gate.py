"""What is quoted of a worker of Ray that died: its signal and its frames, or else the end of what it wrote."""

from __future__ import annotations

from quintain.runtime.ray_gate import SAID, WIDE, last_words

CRASH = """:actor_name:LearnWorker
UserWarning: something of no interest
[E 9 9] logging.cc:474: *** SIGSEGV received at time=1 on cpu 0 ***
[E 9 9] logging.cc:474:     @ 0x1  gloo::allreduce()
[E 9 9] logging.cc:474:     @ ... and at least 7 more frames
Fatal Python error: Segmentation fault

Stack (most recent call first):
  File "here.py", line 1 in update
Extension modules: numpy, torch (total: 39)
"""


def told(tmp_path, text: str) -> str:
    logs = tmp_path / "ray" / "session_1" / "logs"
    logs.mkdir(parents=True)
    (logs / "worker-abc-01000000-77.err").write_text(text)
    (logs / "worker-abc-01000000-78.err").write_text("another process")
    return last_words(tmp_path, 77)


def test_a_crash_is_quoted_by_its_signal_and_frames_alone(tmp_path):
    said = told(tmp_path, CRASH)
    assert said.splitlines()[0].endswith("*** SIGSEGV received at time=1 on cpu 0 ***")
    assert "allreduce" in said and said.endswith("line 1 in update") and "Extension" not in said and "UserW" not in said


def test_without_a_crash_the_last_lines_are_quoted(tmp_path):
    said = told(tmp_path, ":job_id:1\n" + "\n".join(f"{i} " + "x" * 999 for i in range(100))).splitlines()
    assert len(said) == SAID and said[-1].startswith("99 ") and max(map(len, said)) <= WIDE


def test_a_process_of_another_node_has_left_nothing_to_quote(tmp_path):
    assert last_words(tmp_path, 77) == ""
