"""`quintain sft --demos FILE` imitates what `quintain demos` wrote."""

from __future__ import annotations

import itertools
import json

import pytest

from quintain.cli import main
from quintain.config import ConfigError, make
from quintain.envs.demos import Manner, demonstrations
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.runtime.demo_files import read_demos, told_apart
from quintain.runtime.demos import write_demos
from quintain.runtime.newmodel import write_model
from quintain.runtime.stage import make_stage, written
from quintain.types import Task

SCAFFOLD = ("env.scaffold.rules=false", "env.scaffold.feedback=false")


@pytest.fixture
def file(tmp_path, capsys):
    path = tmp_path / "demos.jsonl"
    words = ["demos", "KeyDoor", "-n", "6", "--levels", "0", "--slips", "0.3", "--why", "--seed", "3"]
    assert main([*words, *SCAFFOLD, "--out", str(path)]) == 0
    slips = [not own for line in path.read_text().splitlines() for own in json.loads(line)["imitate"]]
    assert f"KeyDoor; {100 * sum(slips) / len(slips):.0f} % of the turns are slips (--" in capsys.readouterr().out
    return path


def test_a_file_is_read_as_the_oracle_played_slips_are_context_and_reasons_are_imitated(file, tmp_path):
    config = make("keydoor_text", overrides=[f"model={tmp_path / 'model'}", "level=0", "rollout.max_tokens=99"])
    write_model(config, tmp_path / "model", 300)
    renderer = make_stage(config).renderer
    env = WorldEnv(world_of("KeyDoor"), Scaffold(rules=False, feedback=False))
    tasks = (Task(key="", env="KeyDoor", seed=seed, level=0) for seed in itertools.count(3))
    played = list(demonstrations(env, tasks, 6, Manner(seed=3, slips=0.3, why=True)))
    found = list(read_demos(file))
    assert [[turn.slip for turn in turns] for _, turns in found] == [[turn.slip for turn in ts] for _, ts in played]
    assert any(turn.slip for _, turns in found for turn in turns) and "moves to go" in found[0][1][0].text
    assert list(written(config, found, renderer)) == list(write_demos(played, renderer, 99))
    with pytest.raises(ConfigError, match="rollout.max_tokens is 9, but an answer of the oracle"):
        list(written(make("keydoor_text", overrides=["rollout.max_tokens=9"]), found, renderer))


def test_a_model_is_taught_by_a_file_and_told_where_it_plays_otherwise(file, tmp_path, capsys):
    write_model(make("keydoor_text"), tmp_path / "model", 300)
    words = ["sft", "keydoor_text", f"model={tmp_path / 'model'}", "level=0", "rollout.max_tokens=99", "--steps", "2"]
    words += ["--demos", str(file), "warm_start.batch=4"]
    assert main([*words, "--out", str(tmp_path / "taught"), "-n", "1"]) == 0
    told = capsys.readouterr()
    assert "step 2/2  loss" in told.out and "set env.scaffold.grammar=tagged env.scaffold.strict=false" in told.err
    own = make("keydoor_text", overrides=[*SCAFFOLD, "env.scaffold.grammar=tagged", "env.scaffold.strict=false"])
    assert not told_apart(file, own) and (tmp_path / "taught" / "config.json").is_file()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no demonstration; write some: quintain demos"),
        ("[1]\n", "line 1: it has no `messages`"),
        ("up\n", "is no file of JSON lines"),
        ({"messages": [{"role": "user", "content": "x"}]}, "line 1: it has 0 answers"),
        ({"messages": [{"role": "assistant", "content": "x"}], "imitate": []}, "it has 1 answers, and `imitate` is"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "is no message in text; pictures"),
    ],
)
def test_files_that_hold_something_else(text, said, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    with pytest.raises(ConfigError, match=said):
        list(read_demos(path))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["keydoor_text", "rows.jsonl"],
            "rows.jsonl is no recipe; where it has demonstrations, write --demos rows.jsonl",
        ),
        (["tiny", "--demos", "none.jsonl"], "none.jsonl cannot be read: No such file"),
    ],
)
def test_sft_says_how_a_file_is_given(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["sft", *words, "--out", "taught"]) == 1 and said in capsys.readouterr().err


def test_sft_of_what_has_no_oracle_says_what_could_be_imitated(tmp_path, capsys):
    write_model(make("keydoor_text"), tmp_path / "model", 300)
    (tmp_path / "rows.jsonl").write_text(json.dumps({"prompt": "say 1", "answer": "1"}))
    words = ["sft", f"data={tmp_path}/rows.jsonl", "reward=exact", f"model={tmp_path / 'model'}"]
    assert main([*words, "--out", str(tmp_path / "taught")]) == 1
    assert "or a file of demonstrations (--demos FILE)" in capsys.readouterr().err
