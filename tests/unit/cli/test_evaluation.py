"""`quintain eval PLAYER --over OTHER`: two players on the same instances."""

from __future__ import annotations

import itertools
import json
from argparse import Namespace
from pathlib import Path

import pytest

from quintain import config as configs
from quintain.cli import serve
from quintain.cli.eval import main as evaluate
from quintain.ledger import RunDir
from quintain.registry import UnknownName


@pytest.fixture
def run(tmp_path, monkeypatch) -> str:
    """A run in EmptyRoom at level 2, larger than others, whose model has random weights."""
    monkeypatch.setattr("quintain.runtime.policy.load_checkpoint", lambda model, folder: None)
    config = configs.make("tiny", overrides=["world=EmptyRoom", "level=2", "env.params.size=5", "rollout.max_tokens=1"])
    with RunDir.create(tmp_path / "run", config.toml(full=True)) as store:
        store.checkpoint(1, lambda folder: None)
        store.checkpoint(7, lambda folder: None)
    return str(tmp_path / "run")


def test_two_players_are_compared_instance_by_instance(capsys):
    words = ["oracle", "EmptyRoom", "level=0", "-n", "20", "--over", "random"]
    assert evaluate([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert evaluate(["random", "EmptyRoom", "level=0", "-n", "20", "--json"]) == 0
    alone, pairs = json.loads(capsys.readouterr().out), found["compared"]
    assert (pairs["over"], pairs["success"], pairs["instances"]) == ("random", alone["success"], 20)
    assert pairs["difference"] == pytest.approx(found["success"] - alone["success"]) and pairs["worse"] == 0
    assert "gains" not in found and "away" not in found
    assert evaluate(words) == 0
    assert f"\n  over random (success {alone['success']:.3f}): gained +" in capsys.readouterr().out


def test_each_place_has_its_comparison(capsys):
    words = ["oracle", "EmptyRoom", "level=0", "-n", "9", "--over", "random", "--away", "level=1", "--json"]
    assert evaluate(words) == 0
    found = json.loads(capsys.readouterr().out)
    home, away = found["compared"], found["away"]["compared"]
    gains = [found["success"] / home["success"] - 1, found["away"]["success"] / away["success"] - 1]
    assert [found["gains"]["home"], found["gains"]["away"]] == pytest.approx(gains)


@pytest.mark.parametrize("swapped", [False, True])
def test_who_is_no_run_plays_in_the_setting_of_the_run_beside_it(run, swapped, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    pair = ("oracle", run) if swapped else (run, "oracle")
    assert evaluate([pair[0], "-n", "3", "--over", pair[1], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["where"] == "EmptyRoom level 2 (test)" and found["compared"]["over"] == pair[1]
    assert abs(found["compared"]["difference"]) == 1.0 and found["compared"]["instances"] == 3
    assert evaluate([pair[0], "-n", "3", "level=0", "--over", pair[1], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["where"] == "EmptyRoom level 0 (test)"


def test_a_recipe_beside_a_run_is_refused_before_the_other_player_has_played(run, capsys, monkeypatch):
    monkeypatch.setattr("quintain.runtime.evaluate.play", lambda *_, **__: pytest.fail("it has played"))
    with pytest.raises(configs.ConfigError, match="a run is evaluated in its own setting, not that of 'keydoor'"):
        evaluate(["oracle", "keydoor", "-n", "3", "--over", run])


@pytest.mark.parametrize("where", [["EmptyRoom", "-n", "3"], ["--suite", "spatial"]])
def test_a_misspelt_name_is_told_before_the_other_player_has_played(where, run, monkeypatch):
    monkeypatch.setattr("quintain.runtime.evaluate.play", lambda *_, **__: pytest.fail("it has played"))
    monkeypatch.setattr("quintain.evals.suites.play", lambda *_, **__: pytest.fail("it has played"))
    with pytest.raises(UnknownName, match=r"unknown player .*run2'; did you mean the run .*run\?"):
        evaluate(["oracle", *where, "--over", f"{run}2"])


def test_players_of_other_places_are_not_compared(run, tmp_path, monkeypatch, capsys):
    other = configs.make(overrides=["world=EmptyRoom", "level=2", "env.scaffold.style=words"])
    with RunDir.create(tmp_path / "other", other.toml(full=True)) as store:
        store.checkpoint(1, lambda folder: None)
    with pytest.raises(
        configs.ConfigError, match=r"run played in EmptyRoom level 2 \(test\) and .*other would play in Emp"
    ):
        evaluate([run, "-n", "2", "--over", str(tmp_path / "other")])


@pytest.mark.parametrize("more", [["--over", "random"], ["--away", "level=1"]])
def test_what_was_played_first_is_told_where_the_second_fails(more, capsys, monkeypatch):
    from quintain.runtime import evaluate as playing

    real, count = playing.play, itertools.count()

    async def once(*arguments, **options):
        if next(count) % 2:
            raise KeyboardInterrupt
        return await real(*arguments, **options)

    monkeypatch.setattr(playing, "play", once)
    with pytest.raises(KeyboardInterrupt):
        evaluate(["oracle", "EmptyRoom", "level=0", "-n", "4", *more])
    assert (
        "oracle had played to its end in EmptyRoom level 0 (test): success 1.000 (0.510 to 1.000)"
        in capsys.readouterr().err
    )


def test_a_checkpoint_is_named_from_inside_its_folder(run, capsys, monkeypatch):
    monkeypatch.chdir(Path(run) / "checkpoints")
    assert evaluate(["step-000001", "-n", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["player"], found["step"]) == ("..", 1)
    monkeypatch.chdir(run)
    assert evaluate(["oracle", "keydoor", "-n", "1"]) == 0, "the folder that one is in is no player"


async def test_a_checkpoint_is_served_under_the_name_of_its_run(run):
    for policy, step in ((run, 7), (f"{run}/checkpoints/step-000001", 1)):
        _, _, version = await serve._policy(Namespace(policy=Path(policy), items=[]))
        assert (version, serve._name(Path(policy))) == (step, "run")
