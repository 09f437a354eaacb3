"""The page of a run: its numbers are those of the run, and none that nobody measured."""

from __future__ import annotations

import json
import re

import pytest

from quintain.cli import main
from quintain.config import make
from quintain.evals.report import write_report
from quintain.learn.ranks import Ranks
from quintain.ledger import RunDir
from quintain.runtime.keeper import Keeper
from quintain.types import Event, Group, Stop, Task, Trajectory

STEP = {"success": 0.5, "reward": 0.5, "tokens_per_second": 100.0, "mismatch_mean": 0.0, "mismatch_max": 0.0}


@pytest.fixture
def run(tmp_path):
    """A run that took 40 s, was stopped, and took 10 s more after an hour; its second step trained no group."""
    home = tmp_path / "run"
    with RunDir.create(home, make("tiny").toml()) as store:
        begun = json.loads((home / "run.json").read_text())["created"]
        for step, entropy, groups in ((0, 1.5, 4.0), (1, 0.0, 0.0), (2, 1.25, 4.0)):
            row = {**STEP, "entropy": entropy, "groups_trained": groups}
            store.append(Event(time=begun + step, step=step, actor="run", kind="metrics", payload=row))
        for seconds, kind in ((30, "trained"), (40, "stopped"), (3640, "issued"), (3650, "stopped")):
            payload = {"trained": {"tickets": []}, "issued": {"ticket": 0}}.get(kind, {"reason": "drained"})
            store.append(Event(time=begun + seconds, step=2, actor="run", kind=kind, payload=payload))
    return home


def test_the_page_counts_the_seconds_of_the_run_and_not_its_breaks(run):
    page = write_report(run).read_text()
    assert " · 50 s</p>" in page and "tokens/s, last 10 steps" in page and "bands are one standard deviation" in page


def test_a_step_without_a_group_has_no_entropy_and_rewards_start_at_0(run):
    page = write_report(run).read_text()
    chart = {
        title: re.search(f'aria-label="{title}">.*?</svg>', page).group() for title in ("Entropy in nats", "Reward")
    }
    assert len(re.search(r'<polyline[^>]*points="([^"]*)"', chart["Entropy in nats"]).group(1).split()) == 2
    assert 'text-anchor="end">0</text>' in chart["Reward"]


def test_a_trajectory_that_is_not_there_is_no_list_of_fifty(run, capsys):
    assert main(["show", str(run), "9.9"]) == 1
    assert "there is no trajectory '9.9': none was kept" in capsys.readouterr().err


def test_a_step_without_a_trajectory_is_named(run, capsys):
    row = Trajectory(id="3.0", nodes=(), stop=Stop.done)
    with RunDir.open(run, "a") as store:
        keeper = Keeper(store, Ranks())
        group = Group(task=Task(key="t", env="KeyDoor"), trajectories=(row,), ticket=3)
        keeper.played(3, group)
        keeper.training([group])
        keeper.trained(3, STEP)
        keeper.commit()
    assert main(["show", str(run), "--step", "3"]) == 0 and capsys.readouterr().out.startswith("3.0 ")
    for words in ([], ["--list"]):
        assert main(["show", str(run), "--step", "1", *words]) == 1
        assert "step 1 has no trajectory: it trained no group" in capsys.readouterr().err
    assert main(["show", str(run), "--step", "9"]) == 1
    assert "there is no step 9; " in (said := capsys.readouterr().err) and "has the steps 0 to 3" in said
