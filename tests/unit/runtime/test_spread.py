"""Demonstrations that several processes draw are those that one draws, whatever becomes of the processes."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from quintain.cli import main
from quintain.envs.demos import CannotDemonstrate, Manner, NoDemonstration, demonstrate, demonstrations
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.runtime import spread as spreading
from quintain.runtime.spread import spread
from quintain.runtime.stage import drawn
from quintain.samplers.blends import mixture
from quintain.types import Task

WORDS = Scaffold.of({"style": "words"})


def tasks(name: str, level: int = 2) -> Iterator[Task]:
    return (Task(key=f"{name}/{seed}", env=name, seed=seed, level=level) for seed in itertools.count())


@pytest.fixture
def helpers(monkeypatch):
    """helpers: those that were started; they join in after the first attempt."""
    monkeypatch.setattr(spreading, "ALONE_S", -1.0)
    monkeypatch.setattr(spreading, "WORTH_S", -1.0)
    started: list[spreading._Helper] = []
    begin = spreading._Helper.__init__

    def noted(self, *args):
        begin(self, *args)
        started.append(self)

    monkeypatch.setattr(spreading._Helper, "__init__", noted)
    return started


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("KeyDoor", {"seed": 3, "slips": 0.3}),
        ("FrozenLake", {"reward": 1.0}),  # some are lost to luck and passed over
        ("NimDuel", {"reward": 0.0, "seed": 1}),  # two of each task
        ("MiniSudoku", {"why": True}),
    ],
)
def test_they_are_the_same_in_the_same_order(name, how, helpers):
    scaffold = Scaffold() if "why" in how else WORDS
    env = WorldEnv(world_of(name), scaffold)
    alone = list(demonstrations(env, tasks(name), 25, Manner(**how)))
    assert list(spread(env, tasks(name), 25, 3, Manner(**how))) == alone
    assert len(helpers) == 3
    assert all(helper.process.returncode == -signal.SIGKILL for helper in helpers), "nobody is left behind"


def test_tasks_of_several_worlds_are_played_in_their_own_and_passed_over_where_there_is_no_oracle(helpers, monkeypatch):
    parts = [{"name": "worlds", "env": name} for name in ("KeyDoor", "LightsOut")]
    env, mixed = WorldEnv(world_of("KeyDoor"), WORDS), mixture(*parts, weights=[3, 1], levels=[0])
    alone = list(demonstrations(env, drawn(mixed), 40))
    assert Counter(task.env for task, _ in alone) == {"KeyDoor": 33, "LightsOut": 7}
    for task, turns in alone:
        assert turns == demonstrate(WorldEnv(world_of(task.env), WORDS), task)
    assert list(spread(env, drawn(mixed), 40, 2)) == alone and helpers
    monkeypatch.delattr(type(world_of("LightsOut")), "solve")
    left = [made for made in alone if made[0].env == "KeyDoor"]
    assert list(demonstrations(env, drawn(mixed), 33)) == left


def test_the_helpers_do_the_work(helpers, monkeypatch):
    here = []
    monkeypatch.setattr(spreading, "attempt", lambda *args: here.append(args))
    assert len(list(spread(WorldEnv(world_of("KeyDoor"), WORDS), tasks("KeyDoor"), 12, 2))) == 12 and not here


def test_nobody_helps_where_it_is_quick_and_with_pictures(helpers, monkeypatch):
    env = WorldEnv(world_of("KeyDoor"), Scaffold(image=64))
    assert len(list(spread(env, tasks("KeyDoor"), 5, 2))) == 5 and not helpers
    monkeypatch.setattr(spreading, "WORTH_S", 1e9)
    assert len(list(spread(WorldEnv(world_of("KeyDoor"), WORDS), tasks("KeyDoor"), 5, 2))) == 5 and not helpers


def test_what_a_helper_cannot_do_is_done_here(helpers):
    env = WorldEnv(world_of("KeyDoor"), WORDS)
    alone = list(demonstrations(env, tasks("KeyDoor"), 30))
    found = []
    for number, made in enumerate(spread(env, tasks("KeyDoor"), 30, 2)):
        found.append(made)
        if number == 6:
            helpers[0].process.kill()
        if number == 12:
            helpers[1].process.kill()
    assert found == alone


def test_one_that_is_no_longer_wanted_leaves_nobody(helpers):
    made = spread(WorldEnv(world_of("KeyDoor"), WORDS), tasks("KeyDoor"), 1000, 2)
    for _ in range(5):
        next(made)
    assert all(helper.process.poll() is None for helper in helpers) and len(helpers) == 2
    made.close()
    assert all(helper.process.returncode == -signal.SIGKILL for helper in helpers)


def test_errors_are_those_of_one_process(helpers):
    env = WorldEnv(world_of("FrozenLake"), WORDS)
    with pytest.raises(
        NoDemonstration, match="0 of 11 tasks have a demonstration, and 5 are asked for; .* earned [01] of 2"
    ):
        list(spread(env, tasks("FrozenLake"), 5, 2, Manner(reward=2.0)))
    with pytest.raises(CannotDemonstrate, match="slips is 1.5"):
        list(spread(env, tasks("FrozenLake"), 5, 2, Manner(slips=1.5)))

    bad = (
        Task(key="bad", env="FrozenLake", seed=seed, level=2, params={"sides": 3} if seed == 7 else {})
        for seed in range(20)
    )
    with pytest.raises(Exception, match="sides"):
        list(spread(env, bad, 20, 2, Manner(reward=0.0)))


@pytest.mark.usefixtures("registered_for_now")
def test_worlds_of_ones_own_are_known_to_helpers(helpers, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "world", "corner_walk"]) == 0
    (file,) = [path for path in tmp_path.rglob("*.py") if "test" not in path.name]
    capsys.readouterr()
    monkeypatch.setattr(spreading, "cores", lambda share=1: 2)
    assert main(["demos", str(file), "CornerWalk", "-n", "12", "--levels", "1"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["seed"] for row in rows] == list(range(12)) and len(helpers) == 2
    assert helpers[0].process.returncode == -signal.SIGKILL


def test_a_helper_ends_when_nobody_asks_any_more():
    helper = subprocess.Popen(
        [sys.executable, "-c", spreading.PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=dict(os.environ),
    )
    hello = {"world": "KeyDoor", "scaffold": {"style": "words"}, "files": [], "how": {}}
    out, _ = helper.communicate(json.dumps(hello).encode() + b"\n", timeout=60)
    assert helper.returncode == 0 and out == b""
