"""Every verb from the outside: what it prints, what it refuses, and with which words."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import random
import shutil
import subprocess
import sys
from contextlib import nullcontext

import pytest

from quintain.cli import VERBS, main
from quintain.cli.live import Lines, Table, sparkline
from quintain.cli.play import blocks
from quintain.config import ConfigError, make
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.ledger import RunDir
from quintain.ports import SOLO
from quintain.registry import TRAIN
from quintain.runtime.check import check
from quintain.runtime.stage import make_stage
from quintain.types import Event, Message, Task


def told(capsys, *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_help_names_every_verb_without_loading_torch(capsys):
    shown = told(capsys, "--help")
    assert all(verb in shown for verb in VERBS)
    code = "import sys; from quintain.cli import main; main(['--help']); assert not {'torch', 'pydantic', 'numpy'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["eval", "random", "NimDuel", "-n", "2"], 0, "success by seat"),
        (["eval", "http://127.0.0.1:1/v1", "KeyDoor"], 1, "pass --model NAME"),
        (["eval", "random", "--suite", "none"], 1, "unknown suite 'none'"),
        (["train", "keydoor"], 1, "MissingExtra: this needs torch, transformers, safetensors"),
        (["plan", "keydoor"], 1, "MissingExtra: this needs torch, transformers"),
        (["config", "show", "tiny"], 1, "MissingExtra: this needs torch"),
    ],
)
def test_what_needs_no_model_needs_no_torch_and_the_rest_says_how_to_install_it(arguments, status, words):
    code = f"import sys; sys.modules.update(dict.fromkeys({TRAIN})); from quintain.cli import main; sys.exit(main({arguments}))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.returncode == status and words in ended.stdout + ended.stderr, ended.stderr
    assert "MissingExtra" not in ended.stderr or "pip install 'quintain[train]'" in ended.stderr


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_explains_itself(verb, capsys):
    with pytest.raises(SystemExit) as end:
        main([verb, "--help"])
    assert end.value.code == 0 and "usage: quintain" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["trian"], "did you mean 'train'"),
        (["train", "keydor"], "did you mean 'keydoor'"),
        (["train", "keydoor", "run.sed=1"], "did you mean 'seed'"),
        (["play", "KeyDor"], "did you mean 'KeyDoor'"),
        (["play", "KeyDoor", "--level", "11"], "levels are the integers 0 to 9"),
        (["eval", "random", "KeyDor"], "unknown recipe, TOML file or world 'KeyDor'; the nearest worlds are KeyDoor, "),
        (
            ["eval", "random", "Nope"],
            "(`quintain list worlds` has all), the recipes are keydoor, keydoor_text, sokoban",
        ),
        (["eval", "random", "nope.toml"], "unknown recipe or TOML file 'nope.toml'"),
        (["eval", "orcale"], "did you mean 'oracle'? players are oracle, random, a run folder,"),
        (["eval", "oracle", "KeyDoor", "--levels", "3-x"], "--levels 3-x: give one level or a range from 0 to 9"),
        (["eval", "oracle", "KeyDoor", "--levels", "3-"], "--levels 3-: give one level or a range from 0 to 9"),
        (["train", "LightsOut"], "(a world is said as world=NAME)"),
        (["eval", "oracle", "KeyDoor", "level=11"], "no level 11; levels are the integers 0 to 9"),
        (["train", "tiny", "level=12"], "no level 12; levels are the integers 0 to 9"),
        (["config", "shwo"], "did you mean 'show'?"),
        (["plan", "keydoor_text", "level=12"], "no level 12; levels are the integers 0 to 9"),
        (["list", "wrlds"], "did you mean 'worlds'?"),
        (["new", "wrld", "mine"], "did you mean 'world'?"),
        (["eval", "randm", "keydoor"], "did you mean 'random'"),
        (["eval", "random", "world=Sokobn"], "did you mean 'Sokoban'"),
        (["config", "show", "algorithm=grop"], "did you mean 'grpo'"),
        (["train", "env.scaffold.style=plain"], "set model=FOLDER"),
        (["train", "--resume", "nowhere"], "not a run folder"),
        (["report", "nowhere"], "not a run folder: there is no such folder"),
        (["new", "reward", "Bad Name"], "no module name"),
        (["new", "world", "class"], "no word of the language"),
        (["eval", "nobody"], "unknown player 'nobody'; players are oracle, random, a run folder"),
        (["sft", "tiny", "--out", "/proc/self"], "/proc/self is not empty; choose another folder"),
        (["sft", "tiny", "-n", "-4", "--out", "taught"], "-n is -4; it must be at least 0"),
        (["new", "reward", "mine", "world=KeyDoor"], "'world=KeyDoor': only a new model is told what it reads"),
        (["new", "model", "/proc/self"], "/proc/self is not empty; choose another folder"),
        (["new", "reward", "random"], "'random' is a module that is installed already"),
        (["new", "world", "numpy"], "which numpy.py would hide; choose another name"),
        (["new", "reward", "fine", "--into", "/proc/nowhere"], "/proc/nowhere: No such file or directory"),
        (["train", "tiny", "eval.split=train"], "should be 'test' or 'validation'"),
        (["train", "tiny", "engine.name=openai"], "engine.name is 'openai'"),
        (["train", "tiny", "engine.options.slot=1"], "unknown option of engine 'torch'"),
        (["eval", "random", "tiny", "-n", "0"], "at least 1"),
        (
            ["eval", "random", "tiny", "data=rows.jsonl"],
            "the player 'random' needs a world, and this is the env 'data'",
        ),
        (["eval", "oracle", "env=tools"], "name a world, such as world=Sokoban"),
        (["train", "tiny", "run.name=../../x"], "run.name is '../../x': it names one folder inside run.folder"),
        (["train", "tiny", "run.name="], "run.name is ''"),
        (["train", "tiny", "run.name=.."], "it must not be empty, . or ..,"),
        (["train", "tiny", "model.context=9"], "model.context is 9: input should be greater than or equal to 16"),
        (["train", "tiny", "model.context=16"], "model.context is 16, but a demonstration of the oracle has"),
        (["plan", "tiny", "runtime.processes=3"], "8, which 3 processes cannot share equally; make it a multiple of 3"),
        (["plan", "tiny", "rollout.options.group_size=2"], "rollout.group_size sets; set rollout.group_size instead"),
        (["train", "tiny", "rollout.options.group_size=2"], "rollout.group_size sets; set rollout.group_size instead"),
        (["eval", "random", "tiny", "rollout.options.context=2"], "model.context sets; set model.context instead"),
    ],
)
def test_mistakes_name_the_value_and_the_way_on(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 1
    assert words in capsys.readouterr().err
    assert not [p for p in tmp_path.rglob("*") if p.is_file()], "what never ran leaves nothing behind"


def test_a_model_behind_a_url_is_named(capsys):
    assert main(["eval", "http://127.0.0.1:1", "KeyDoor"]) == 1
    assert "--model NAME" in capsys.readouterr().err


def test_play_follows_moves_undo_hint_and_nonsense(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("right\nright\nfly\n/u\nh\nq\n"))
    shown = told(capsys, "play", "EmptyRoom", "--level", "3")
    assert "malformed" in shown and "try: " in shown
    assert [line for line in shown.splitlines() if line.startswith("turn")][-1].startswith("turn 2/")


@pytest.mark.parametrize(("world", "level"), [("KeyDoor", "1"), ("Klondike", "8")])
def test_play_can_be_won_by_its_own_hints(world, level, capsys, monkeypatch):
    class Hinted:
        def __init__(self) -> None:
            self.ask = True

        def isatty(self) -> bool:
            return False

        def readline(self) -> str:
            self.ask = not self.ask
            if not self.ask:
                return "h\n"
            shown = capsys.readouterr().out
            self.last = shown
            return "q\n" if "solved" in shown else shown.rsplit("try: ", 1)[1].split("\n")[0] + "\n"

    stdin = Hinted()
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["play", world, "--level", level, "--seed", "1"]) == 0
    assert "solved in" in stdin.last and "not solved" not in stdin.last


def test_a_picture_in_half_blocks_has_its_colours():
    import numpy as np

    pixels = np.zeros((64, 64, 3), np.uint8)
    pixels[:32] = (255, 0, 0)
    rows = blocks(pixels, 4).splitlines()
    assert len(rows) == 4 and rows[0].count("▀") == 8
    assert "38;2;255;0;0" in rows[0] and "38;2;255;0;0" not in rows[3]


def test_list_speaks_json_and_counts(capsys):
    worlds = json.loads(told(capsys, "list", "worlds", "--json"))
    assert len(worlds) >= 12 and {w["engine"] for w in worlds} >= {"grid", "slide", "csp", "board"}
    door = next(w for w in worlds if w["name"] == "KeyDoor")
    assert (door["domain"], door["engine"], door["seats"], door["levels"]) == ("spatial", "grid", 1, 10)
    assert door["turns"] == [12, 80] and door["oracle"] == "solver"
    assert all(min(w["speed"].values()) > 0 for w in worlds if w["speed"])
    assert set(door["speed"]) == {"picture", "resets", "text"} and "'resets'" not in told(capsys, "list", "worlds")
    assert told(capsys, "list", "worlds").strip().endswith(f"{len(worlds)} worlds")
    names = {(p["family"], p["name"]) for p in json.loads(told(capsys, "list", "parts", "--json"))}
    assert {("algorithm", "ppo"), ("objective", "clip"), ("gate", "zero_variance"), ("rollout", "episodes")} <= names
    papers = json.loads(told(capsys, "list", "papers", "--json"))
    assert {"1707.06347", "2402.03300"} <= {p["arxiv"] for p in papers} and all(
        p["title"] for p in papers if p["arxiv"]
    )
    assert "keydoor" in told(capsys, "list", "recipes")


def test_a_list_can_be_cut_down_to_what_has_a_word_in_a_column(capsys, monkeypatch):
    every = json.loads(told(capsys, "list", "worlds", "--json"))
    monkeypatch.setattr("quintain.cli.list.worlds", lambda: every)  # each world is begun twice to fill the rows
    for column, word in (("domain", "logic"), ("engine", "csp"), ("seats", "2"), ("name", "KeyDoor")):
        cut = json.loads(told(capsys, "list", "worlds", word, "--json"))
        assert cut == [row for row in every if str(row[column]) == word] != []
    found = json.loads(told(capsys, "list", "worlds", "chess", "--json"))  # no column is called so
    assert {"ChessGame", "ChessMate"} <= {row["name"] for row in found} and len(found) < 9
    assert told(capsys, "list", "parts", "gate").splitlines()[1].startswith("gate ")
    assert "\nsampler mixture: Draw from" in (one := told(capsys, "list", "parts", "mixture")) and "weights: " in one
    assert main(["list", "worlds", "'random'"]) == 1, "ceilings are not printed"
    assert main(["list", "worlds", "lgic"]) == 1
    assert (
        "unknown word, in no name or summary and no value of a column, 'lgic'; did you mean 'logic'?"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("what", ["", "worlds", "parts", "papers", "recipes"])
def test_list_needs_no_torch(what):
    code = f"import sys; from quintain.cli import main; main('list {what}'.split()); assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_runs_are_listed_with_where_they_play_and_how_far_they_are(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert told(capsys, "list", "runs").strip() == "0 runs"
    for name, world, scores in (("b", "Hanoi", (0.25, 0.5)), ("a", "KeyDoor", ())):
        config = make("tiny", overrides=[f"world={world}", "level=[1, 2]", f"run.name={name}"])
        with RunDir.create(tmp_path / "runs" / name, config.toml(full=True)) as store:
            for score in scores:
                store.append(Event(time=0.0, step=7, actor="run", kind="eval", payload={"eval/success": score}))
            store.checkpoint(3, lambda folder: None)
    (tmp_path / "runs" / "c").mkdir()
    (tmp_path / "runs" / "c" / "run.json").write_text('{"created": 9e9, "format": 0}')
    (tmp_path / "runs" / "d").mkdir()
    (tmp_path / "runs" / "d" / "run.json").write_text("[")
    torn, first, second, broken = json.loads(told(capsys, "list", "runs", "--json"))
    assert first == {
        "name": "runs/b",
        "world": "Hanoi",
        "level": "1,2",
        "algorithm": "grpo",
        "steps": "3/12",
        "success": "0.500",
        "evaluated": "step 7",
    }
    assert (second["name"], second["success"], broken["world"], torn["name"]) == ("runs/a", "-", "?", "runs/d")
    assert "KeyDoor  1,2    grpo       3/12   -        -" in told(capsys, "list", "runs")
    assert 'name = "Hanoi"' in told(capsys, "config", "show", "runs/b")
    assert main(["train", "runs/b"]) == 1
    assert "runs/b is a run and no recipe: `quintain train --resume runs/b`" in capsys.readouterr().err
    assert [row["name"] for row in json.loads(told(capsys, "list", "runs", "KeyDoor", "--json"))] == ["runs/a"]
    shutil.rmtree(tmp_path / "runs" / "b" / "segments")
    shutil.rmtree(tmp_path / "runs" / "b" / "index")
    (tmp_path / "runs" / "a" / "config.toml").unlink()
    _, hurt, whole, _ = json.loads(told(capsys, "list", "runs", "--json"))
    assert hurt | {"steps": ""} == first | {"steps": "", "success": "-", "evaluated": "damaged"}, (
        "the checkpoint tells of more"
    )
    assert whole == second, "run.json has what it began with"
    (tmp_path / "runs" / "a" / "run.json").unlink()
    assert main(["eval", "runs/a"]) == 1
    assert "runs/a is a folder, but no run, which has a file run.json" in capsys.readouterr().err


@pytest.mark.parametrize("columns", [80, 40, 5])
def test_a_narrow_terminal_cuts_long_columns_and_hides_none(columns, capsys, monkeypatch):
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_, **__: os.terminal_size((columns, 30)))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    title, *rows, _ = told(capsys, "list", "papers").splitlines()
    assert all(len(line) <= columns for line in (title, *rows))
    if columns > 5:
        assert title.endswith("  status") and any(row.endswith("  paper") for row in rows) and "…" in "".join(rows)


def test_a_bare_list_says_what_can_be_listed(capsys):
    assert all(f"quintain list {kind}" in told(capsys, "list") for kind in ("worlds", "parts", "papers", "recipes"))


def test_config_show_expands_the_chain(capsys):
    plain = told(capsys, "config", "show", "keydoor")
    assert all(f"[{k}]\nname = " in plain for k in ("env", "algorithm")) and "--all shows" in plain.splitlines()[-1]
    assert "--all" not in told(capsys, "config", "show", "keydoor", "--all")
    shown = told(capsys, "config", "show", "keydoor", "algorithm=dapo")
    assert "dapo" in shown and "token_ratio(anchor=rollout)" in shown and "zero_variance(mode=refill)" in shown
    assert "learner.lr" in told(capsys, "config", "keys")


@pytest.mark.parametrize(
    ("word", "why"), [("world=Nope", "unknown env.name 'Nope'"), ("level=12", "there is no level 12")]
)
def test_config_show_tells_what_train_refuses(capsys, word, why):
    assert why in told(capsys, "config", "show", "words", word).splitlines()[-1]
    assert why in json.loads(told(capsys, "config", "show", "words", word, "--json"))["refused"]
    assert json.loads(told(capsys, "config", "show", "words", "--json"))["refused"] == ""


def test_plan_counts_before_anything_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = json.loads(told(capsys, "plan", "tiny", "--json"))
    assert found["each step"]["episodes"] == 32 and found["whole run"]["episodes"] == 12 * 32
    assert found["model"]["parameters"] > 10_000 and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "level"), [(["--level", "3"], "3"), (["--levels", "0-2"], "0,1,2"), (["level=4", "--levels", "4"], "4")]
)
def test_levels_are_said_as_for_demos(words, level, capsys):
    assert f"random in KeyDoor level {level} (test)" in told(capsys, "eval", "random", "KeyDoor", "-n", "3", *words)


def test_the_levels_that_are_told_are_those_that_were_played(capsys):
    for count, levels in (("5", "0,1,2,3,4"), ("10", "0,1,2,3,4,5,6,7,8,9")):
        assert f" level {levels} (test)" in told(capsys, "eval", "random", "KeyDoor", "--levels", "0-9", "-n", count)


@pytest.mark.parametrize("player", ["random", "oracle"])
def test_players_that_need_no_model(player, capsys):
    found = json.loads(told(capsys, "eval", player, "tiny", "-n", "20", "--json"))
    assert found["episodes"] == 20
    assert found["success"] == 1.0 if player == "oracle" else found["success"] < 0.5


@pytest.mark.parametrize("damage", [b"[run\nname", b"\xff\xfe\x00", b"[run]\nsteps = 'many'\n", None])
@pytest.mark.parametrize("verb", ["train --resume", "eval", "report", "doctor"])
def test_a_damaged_config_is_explained(verb, damage, capsys, tmp_path):

    RunDir.create(tmp_path / "run", "").close()
    path = tmp_path / "run" / "config.toml"
    path.write_bytes(damage) if damage is not None else path.unlink()
    assert main([*verb.split(), str(tmp_path / "run")]) == 1
    shown = capsys.readouterr()
    told = "run.steps is 'many'" if damage and b"many" in damage else str(path)
    assert told in shown.out + shown.err
    assert main(["show", str(tmp_path / "run"), "--list"]) == 0, "what needs no config still works"


def test_the_bare_name_of_a_world_is_where_to_play(capsys):
    found = json.loads(told(capsys, "eval", "oracle", "EmptyRoom", "level=1", "-n", "5", "--json"))
    assert found["where"] == "EmptyRoom level 1 (test)" and found["success"] == 1.0


def test_what_was_gained_at_home_is_told_beside_what_carries_over(capsys):
    words = ["eval", "oracle", "EmptyRoom", "level=0", "-n", "20", "--over", "random"]
    found = json.loads(told(capsys, *words, "--away", "level=1", "--json"))
    away, gains = found["away"], found["gains"]
    assert (found["where"], away["where"]) == ("EmptyRoom level 0 (test)", "EmptyRoom level 1 (test)")
    home = 1 / json.loads(told(capsys, "eval", "random", "EmptyRoom", "level=0", "-n", "20", "--json"))["success"] - 1
    assert gains["over"] == "random" and gains["home"] == pytest.approx(home)
    assert min(gains["home"], gains["away"]) <= gains["generalisation"] <= max(gains["home"], gains["away"])
    assert "relative gains over random: home " in told(capsys, *words, "--away", "level=1")
    assert main([*words, "--away", "world=Sokoban", "--over", "nobody"]) == 1


@pytest.mark.parametrize("verb", ["train", "plan", "eval oracle"])
def test_a_file_as_a_reward_asks_for_one_of_its_functions(verb, capsys, tmp_path):
    (tmp_path / "my.py").write_text(
        "from math import sqrt\n\ndef score(text):\n    return 1.0\n\ndef other(text): ...\n"
    )
    assert main([*verb.split(), "tiny", f"reward={tmp_path}/my.py"]) == 1
    assert (
        f"one function of it is wanted: {tmp_path}/my.py:score or {tmp_path}/my.py:other\n" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "sign, refused", [("answer", True), ("answer=None", False), ("gold", False), ("**more", False)]
)
def test_a_reward_that_wants_answers_needs_data_with_answers(sign, refused, tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"prompt": "2 + 2", "gold": "4"}\n')
    (tmp_path / "my.py").write_text(f"def score(text, {sign}):\n    return 1.0\n")
    words = [f"data={tmp_path}/rows.jsonl", f"reward={tmp_path}/my.py:score"]
    with (
        pytest.raises(ConfigError, match=r"wants `answer`.*: gold; set columns.answer=gold")
        if refused
        else nullcontext()
    ):
        check(make(overrides=words))
    check(make(overrides=[*words, "columns.answer=gold"]))


def test_rows_without_an_answer_are_found_among_those_that_have_one(tmp_path):
    (tmp_path / "rows.jsonl").write_text(
        "".join(f'{{"prompt": "{n}", "answer": "1"}}\n' for n in range(6)) + '{"prompt": "7"}\n'
    )
    (tmp_path / "my.py").write_text("def score(text, answer):\n    return 1.0\n")
    with pytest.raises(ConfigError, match=r"1 of 7 rows of .* have none, the first rows.jsonl:7: give each an answer"):
        check(make(overrides=[f"data={tmp_path}/rows.jsonl", f"reward={tmp_path}/my.py:score"]))


def test_an_evaluation_in_which_every_episode_crashes_is_no_score_of_0(capsys, monkeypatch):
    from quintain.envs.world import WorldEnv

    async def broken(self, task):
        raise OSError("no display")

    monkeypatch.setattr(WorldEnv, "reset", broken)
    assert main(["eval", "random", "tiny", "-n", "3"]) == 1
    assert "every one of 3 episodes failed" in (told := capsys.readouterr().err) and "no display" in told


def test_doctor_without_a_run_looks_at_the_machine(capsys):
    assert "python" in told(capsys, "doctor")


def test_a_gpu_is_told_by_its_name(monkeypatch):
    import torch

    from quintain.cli import doctor, train

    def broken(device):
        raise RuntimeError("no driver")

    config = make("tiny")
    assert train._on_gpu(config) == "" and doctor.machine()["device"].startswith("cpu (no CUDA")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"Big Card {device}")
    assert doctor.machine()["device"] == "cuda (Big Card cuda)"
    config.learner.device = "cuda:1"
    assert train._on_gpu(config) == "; on cuda:1 (Big Card cuda:1)"
    monkeypatch.setattr(torch.cuda, "get_device_name", broken)
    assert doctor.machine()["device"] == "cuda"
    config.learner.device = "cpu"
    assert train._on_gpu(config) == ""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["world", "reward", "algorithm"])
def test_new_files_work_and_their_tests_pass(what, tmp_path, capsys):
    told(capsys, "new", what, "my_thing", "--into", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "ignore", str(tmp_path)],
        capture_output=True,
        cwd=tmp_path,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert main(["new", what, "my_thing", "--into", str(tmp_path)]) == 1, "an existing file is never overwritten"


def test_new_says_how_to_get_what_runs_its_test(tmp_path, capsys, monkeypatch):
    assert "pip install" not in told(capsys, "new", "reward", "first_one", "--into", str(tmp_path))
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in ("pytest", "torch") else found(name))
    reward, algorithm = (
        told(capsys, "new", what, f"my_{what}", "--into", str(tmp_path)) for what in ("reward", "algorithm")
    )
    assert "`pip install pytest`" in reward and "torch" not in reward and "`pip install 'quintain[train]'`" in algorithm


def test_a_new_model_goes_into_the_folder_that_is_named(tmp_path, capsys):
    told(capsys, "new", "model", "small", "keydoor_text", "--vocab", "300", "--into", str(tmp_path))
    assert (tmp_path / "small" / "config.json").is_file()


def test_sft_of_a_model_of_words_says_what_takes_it(tmp_path, capsys):
    shown = told(capsys, "sft", "tiny", "--steps", "1", "-n", "0", "--out", str(tmp_path / "taught"))
    assert "without a tokenizer" in shown and "quintain train tiny warm_start.steps=1 steps=0" in shown


def test_sft_advises_nothing_that_cannot_be_made_either(tmp_path, capsys):
    assert main(["sft", "world=Nope", "--out", str(tmp_path / "taught")]) == 1
    shown = capsys.readouterr()
    assert "unknown env.name" in shown.err and "quintain train" not in shown.out


def test_one_line_per_step_when_piped():
    out = io.StringIO()
    lines = Lines(10, out)
    lines.write(0, {"reward": 0.5, "success": 0.25, "entropy": 1.0, "seconds": 2.0, "seconds/rollout": 1.5})
    lines.write(1, {"eval/success": 0.75})
    first, second = out.getvalue().splitlines()
    assert first.endswith("[rollout 1.50]  steps left: 18 s")
    assert "step 1/10" in first and "success 0.250" in first and "rollout 1.50" in first
    assert "after 1 step: eval success 0.750" in second
    assert sparkline([0.0] * 80 + [1.0] * 80, 4) == "▁▁██"


def test_the_live_table_is_whole_before_the_first_step_and_shows_no_numbers_that_nobody_measured(monkeypatch):
    kept = random.getstate()  # rich draws from the global generator
    from rich.console import Console

    monkeypatch.setattr("rich.live.Live.start", lambda self: None)
    monkeypatch.setattr("rich.live.Live.update", lambda self, picture: None)
    table = Table(10, "KeyDoor  grpo  runs/keydoor-with-a-long-name")

    def screen() -> str:
        out = io.StringIO()
        Console(file=out, width=80).print(table.picture())
        return out.getvalue()

    table.say("warm start: 5 of 60 steps")
    table.write(0, {"eval/episodes": 1000.0, "eval/success": 0.25})
    shown = screen().splitlines()
    assert shown[0].startswith("KeyDoor  grpo  runs/keydoor-with-a-long-name   step 0/10") and "warming up" in shown[1]
    assert "5 of 60" in shown[2] and "eval success 0.250  (1,000 episodes)" in shown[3]
    table.write(0, {"reward": 0.5, "entropy": 1.5, "groups_trained": 4.0, "seconds": 30.0})
    assert "steps left: 4 min" in screen()
    table.write(1, {"reward": 0.0, "entropy": 0.0, "groups_trained": 0.0})
    row = next(line for line in screen().splitlines() if "entropy" in line)
    random.setstate(kept)
    assert row.split("│")[2].strip() == "-" and row.split("│")[3].strip() == "1.500"


def test_a_stopped_run_shows_no_result_and_one_that_is_refused_no_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ended = {"reason": "drained", "step": 3, "scores": {"eval/success": 0.25, "eval/episodes": 1000.0}}

    def play(*parts, ready, **more):
        ready(None)
        return ended

    monkeypatch.setattr("quintain.runtime.assemble.play", play)
    assert main(["train", "tiny"]) == 75
    lines = capsys.readouterr().out.splitlines()
    assert (
        "run folder runs/tiny: KeyDoor level 0; 1 process" in lines[0]
        and "stopped at step 3" in lines[1]
        and len(lines) == 3
    )
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert main(["train", "tiny", "runtime.processes=3"]) == 1
    assert not capsys.readouterr().out


def test_a_model_of_words_is_evaluated_only_where_it_has_the_words(tmp_path, capsys, monkeypatch):
    from quintain.evals.players import cast_of

    config = make("tiny", overrides=["level=[0, 1]"])
    with RunDir.create(tmp_path / "run", config.toml(full=True)) as store:
        store.checkpoint(1, lambda folder: None)
    monkeypatch.setattr("quintain.runtime.policy.load_checkpoint", lambda model, folder: None)
    for fits in ("level=0", "level=1"):
        _, cast = cast_of(str(tmp_path / "run"), config, [fits], {})
        assert cast.renderers["policy"].words == make_stage(config).renderer.words, fits
    assert main(["eval", str(tmp_path / "run"), "world=Sokoban"]) == 1
    assert "the model knows the words of KeyDoor:0-1 only; Sokoban:0-1 has " in capsys.readouterr().err


def test_demos_are_chats_with_their_origin(tmp_path, capsys):
    out = tmp_path / "some" / "demos.jsonl"
    words = ["demos", "KeyDoor", "MiniSudoku", "-n", "3", "--levels", "1-2", "--slips", "0.4", "--out", str(out)]
    assert f"wrote {out}: 6 demonstrations of KeyDoor, MiniSudoku" in told(capsys, *words)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(r["world"], r["seed"], r["level"]) for r in rows] == [
        (w, s, 1 + s % 2) for w in ("KeyDoor", "MiniSudoku") for s in range(3)
    ]
    for row in rows:
        answers = [m for m in row["messages"] if m["role"] == "assistant"]
        assert len(answers) == len(row["imitate"]) == len(row["messages"]) / 2 and row["imitate"][-1]
        env = WorldEnv(world_of(row["world"]), Scaffold(**row["scaffold"]))
        heard = env.begin(
            Task(key="again", env=row["world"], seed=row["seed"], level=row["level"], split=row["split"])
        )[SOLO]
        for answer in answers:
            heard = env.advance({SOLO: Message.of("assistant", answer["content"])})[SOLO]
        assert heard.reward == {"success": 1.0} and row["reward"] == 1.0
    assert not all(all(r["imitate"]) for r in rows)


def test_every_verb_gives_answers_the_room_that_their_world_needs(tmp_path, capsys):
    """MiniSudoku wants 19 words: what trains, plans or teaches in it says none of them does not fit."""
    small = [
        "world=MiniSudoku",
        "rollout.max_tokens=0",
        "warm_start.demos=8",
        "eval.instances=2",
        f"run.folder={tmp_path}",
    ]
    assert "memory of a process" in told(capsys, "plan", "tiny", *small)
    told(capsys, "sft", "tiny", *small, "--steps", "1", "-n", "0", "--out", str(tmp_path / "model"))
    assert main(["sft", "tiny", *small, "--steps", "0", "--out", str(tmp_path / "none")]) == 1
    assert "--steps is 0; it must be at least 1" in capsys.readouterr().err
    shown = told(capsys, "train", "tiny", *small, "run.steps=0", "warm_start.steps=1")
    assert f"run folder {tmp_path / 'tiny'}: MiniSudoku level 0; 1 process" in shown
    assert "max_tokens = 48" in (tmp_path / "tiny" / "config.toml").read_text()


def test_demos_of_a_game_of_luck_may_be_lost(capsys):
    given = ["demos", "HoldemFree", "-n", "12", "--levels", "1"]
    assert main(given) == 1
    assert "take a lower reward than 1 or other levels" in capsys.readouterr().err
    rewards = [json.loads(line)["reward"] for line in told(capsys, *given, "--reward", "0").splitlines()]
    assert len(rewards) == 12 and len(set(rewards)) > 1 and max(rewards) <= 1


def test_demos_show_pictures_and_refuse_what_they_cannot(tmp_path, capsys):
    line = json.loads(told(capsys, "demos", "KeyDoor", "env.scaffold.image=64", "-n", "1", "--levels", "0"))
    assert line["messages"][0]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")
    (tmp_path / "there").write_text("kept")
    for words, why in (
        (["KeyDoor", "--out", str(tmp_path / "there")], "is there already"),
        (["KeyDoor", "--levels", "3-12"], "range from 0 to 9"),
        (["KeyDoor", "run.seed=3"], "only env.scaffold.KEY=VALUE"),
        (["env.scaffold.image=64"], "at least one world"),
        (["KeyDor"], "did you mean 'KeyDoor'"),
    ):
        assert main(["demos", *words]) == 1
        assert why in capsys.readouterr().err
    assert (tmp_path / "there").read_text() == "kept"
