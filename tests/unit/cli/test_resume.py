"""`train --resume`: which settings a run goes on with, and that nobody has to guess it."""

from __future__ import annotations

import pytest

from quintain import config as configs
from quintain.cli import train
from quintain.ledger import RunDir


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """begun(): the folder of a run that was begun; what resumes is noted instead of trained."""
    went = []

    def go(config, folder, **rest):
        went.append(config)
        if config.run.steps == 13:
            raise configs.ConfigError("unlucky")
        return 0

    monkeypatch.setattr(train, "run", go)
    config = configs.make("tiny", overrides=[f"run.folder={tmp_path}", "run.name=r"])
    assert train.begin(config, fresh=False) == 0
    return tmp_path / "r", went


def edit(folder, old: str, new: str) -> None:
    path = folder / "config.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_a_hand_edited_config_is_followed_and_every_change_is_said_once(begun, capsys):
    folder, went = begun
    steps = went[0].run.steps
    train.resume(folder, [], None)
    assert "edited" not in capsys.readouterr().out
    edit(folder, f"steps = {steps}\n", f"# longer\nsteps = {steps + 5}\n")
    edit(folder, "seed = 0\n", "")
    train.resume(folder, [], None)
    said = capsys.readouterr().out
    assert f"{folder / 'config.toml'} was edited since the run last began; it goes on with " in said
    assert f"run.seed: 0 -> None; run.steps: {steps} -> {steps + 5}\n" in said and went[-1].run.steps == steps + 5
    train.resume(folder, [], None)
    assert "edited" not in capsys.readouterr().out, "it is agreed on now"


def test_an_edit_may_not_change_who_shares_the_tasks(begun):
    folder, _ = begun
    edit(folder, "processes = 1\n", "processes = 2\n")
    for _ in range(2):
        with pytest.raises(configs.ConfigError, match="runtime.processes is 2, but the run has 1"):
            train.resume(folder, [], None)


def test_overrides_are_no_edits_and_are_taken_back_when_the_run_fails_with_them(begun, capsys):
    folder, went = begun
    train.resume(folder, ["run.steps=7"], None)
    train.resume(folder, [], None)
    assert went[-1].run.steps == 7
    with pytest.raises(configs.ConfigError, match="unlucky"):
        train.resume(folder, ["run.steps=13"], None)
    train.resume(folder, [], None)
    assert went[-1].run.steps == 7 and "edited" not in capsys.readouterr().out
    with RunDir.open(folder) as store:
        assert store.agreed == store.config


def test_a_run_of_before_settings_were_kept_is_taken_at_its_word(begun, capsys):
    folder, went = begun
    (folder / "run.json").write_text('{"format": 1, "created": 0}')
    edit(folder, f"steps = {went[0].run.steps}\n", "steps = 9\n")
    train.resume(folder, [], None)
    assert went[-1].run.steps == 9 and "edited" not in capsys.readouterr().out
