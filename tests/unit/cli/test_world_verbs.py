"""The verbs that show and write worlds, from the outside: demos, play, list, offer, new."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from quintain.cli import demos, main


def told(capsys, *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_demos_leave_no_file_that_is_not_whole(tmp_path, capsys, monkeypatch):
    out = tmp_path / "rows.jsonl"
    words = ["demos", "KeyDoor", "-n", "2", "--levels", "0", "--out", str(out)]
    for wrong in (
        ["NimDuel"],
        ["Sokobn"],
        ["--split", "tain"],
        ["env.params.sise=6"],
        ["env.scaffold.grammar=word", "--why"],
    ):
        assert main([*words, *wrong]) == 1 and not list(tmp_path.iterdir()), wrong
    true = demos._line

    def cut(env, task, turns):
        if task.seed == 1:
            assert not out.exists()
            raise KeyboardInterrupt
        return true(env, task, turns)

    with monkeypatch.context() as patch:
        patch.setattr(demos, "_line", cut)
        assert main(words) == 130 and not list(tmp_path.iterdir())
    assert "2 demonstrations of KeyDoor" in told(capsys, *words)
    assert [p.name for p in tmp_path.iterdir()] == ["rows.jsonl"] and len(out.read_text().splitlines()) == 2
    one = tmp_path / "one.jsonl"
    assert "1 demonstration of KeyDoor\n" in told(capsys, "demos", "KeyDoor", "-n", "1", "--out", str(one))


def test_demos_into_a_full_device_say_so():
    words = [sys.executable, "-m", "quintain.cli", "demos", "KeyDoor", "-n", "3", "--levels", "0"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "CannotWrite: standard output: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
