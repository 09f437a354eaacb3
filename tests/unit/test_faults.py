"""Fault points: plans that are refused, faults that are taken once, and nothing at all without a plan."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import quintain
from quintain import faults
from quintain.faults import POINTS, Fault, FaultPlanError, InjectedFault


@pytest.fixture
def force(tmp_path, monkeypatch):
    """Puts faults into force in this process; gives the plan's path."""

    def put(*these):
        path = tmp_path / "plan.json"
        named = faults.write(path, these)
        monkeypatch.setenv(*next(iter(named.items())))
        monkeypatch.setattr(faults, "_plan", faults._from_environment())
        return path

    return put


def test_without_a_plan_nothing_happens(monkeypatch):
    monkeypatch.delenv(faults.VARIABLE, raising=False)
    assert faults._from_environment() is None
    for name in POINTS:
        faults.point(name)


def test_a_fault_strikes_at_its_hit_and_only_once(force):
    plan = force(Fault(point="window.take", action="raise", hit=2))
    faults.point("window.take")
    assert faults.struck(plan) == []
    with pytest.raises(InjectedFault, match=r"window\.take"):
        faults.point("window.take")
    assert [s.fault.hit for s in faults.struck(plan)] == [2]
    faults._plan = faults._from_environment()  # a process that is started anew counts from the beginning
    for _ in range(5):
        faults.point("window.take")


@pytest.mark.parametrize(("action", "number"), [("enospc", errno.ENOSPC), ("raise", errno.EIO)])
def test_the_disk_fails_with_the_errors_of_a_disk(force, action, number):
    force(Fault(point="ledger.before_sync", action=action))
    with pytest.raises(OSError) as caught:
        faults.point("ledger.before_sync")
    assert caught.value.errno == number


def test_a_process_kills_itself_and_leaves_a_mark(tmp_path):
    plan = tmp_path / "plan.json"
    named = faults.write(plan, [Fault(point="run.record", action="kill", hit=3)])
    code = "from quintain import faults\nfor i in range(9):\n    print(i, flush=True)\n    faults.point('run.record')"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **named}, capture_output=True)
    assert done.returncode == -signal.SIGKILL and done.stdout.split() == [b"0", b"1", b"2"]
    assert len(faults.struck(plan)) == 1 and faults.struck(plan)[0].pid > 1
    again = subprocess.run([sys.executable, "-c", code], env={**os.environ, **named}, capture_output=True)
    assert again.returncode == 0


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"point": "ledger.befor_sync"}, "ledger.before_sync"),
        ({"action": "explode"}, "kill"),
        ({"action": "enospc"}, "raise"),
        ({"hit": 0}, "hit >= 1"),
        ({"seconds": -1.0}, "seconds >= 0"),
    ],
)
def test_what_there_is_not_is_refused_with_what_there_is(more, named):
    with pytest.raises(FaultPlanError, match=named):
        Fault(**{"point": "run.record", "action": "kill", **more})


@pytest.mark.parametrize(
    "text", ["", "{}", '{"faults": [{"what": 1}]}', '{"faults": [{"point": "x", "action": "kill"}]}']
)
def test_a_plan_that_cannot_be_read_is_refused(tmp_path, text):
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(FaultPlanError):
        faults.read(path)


def test_a_point_that_the_table_does_not_list_is_refused(force):
    force()
    with pytest.raises(FaultPlanError, match="does not list"):
        faults.point("nowhere")


def test_seeds_draw_every_point_and_every_action(tmp_path):
    drawn = {(f.point, f.action) for seed in range(300) for f in faults.draw(seed, list(POINTS))}
    assert drawn == {(p, a) for p, actions in POINTS.items() for a in actions}
    path = tmp_path / "plan.json"
    faults.write(path, faults.draw(7, list(POINTS)), 7)
    assert faults.read(path) == faults.draw(7, list(POINTS)) and json.loads(path.read_text())["seed"] == 7


def test_the_table_and_the_code_name_the_same_points():
    source = Path(quintain.__file__).parent
    named = [n for p in source.rglob("*.py") for n in re.findall(r'faults\.point\("([^"]+)"\)', p.read_text())]
    assert sorted(named) == sorted(POINTS)
