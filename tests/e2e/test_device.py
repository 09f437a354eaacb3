"""Whole runs on each device: the same bits again, the same after a stop, and weights that play on a CPU."""

from __future__ import annotations

import pytest
from tests.e2e.runs import prints, start

from quintain.cli import main


def test_runs_repeat_and_resume_to_the_same_bits(tmp_path, device, capsys):
    where = f"learner.device={device.type}"
    whole = start(tmp_path / "whole", where)
    assert prints(start(tmp_path / "again", where)) == prints(whole)
    cut = start(tmp_path / "cut", where, "run.steps=4")
    assert prints(cut) != prints(whole)
    assert main(["train", "--resume", str(cut), "run.steps=6"]) == 0
    assert prints(cut) == prints(whole)
    capsys.readouterr()
    assert main(["eval", str(whole), "-n", "16", "learner.device=cpu"]) == 0
    assert "success" in capsys.readouterr().out


@pytest.mark.parametrize("plan", ["bf16", "fp16"])
def test_runs_in_lower_precision_repeat_too(plan, tmp_path, device):
    words = (f"learner.device={device.type}", f"learner.precision={plan}", "run.steps=2")
    assert prints(start(tmp_path / "one", *words)) == prints(start(tmp_path / "two", *words))


@pytest.mark.slow
def test_two_ranks_on_one_device(tmp_path, device):
    where = (f"learner.device={device.type}", "runtime.processes=2", "run.steps=4")
    assert prints(start(tmp_path / "one", *where)) == prints(start(tmp_path / "two", *where))
