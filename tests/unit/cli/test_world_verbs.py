"""The verbs that show and write worlds, from the outside: demos, play, list, offer, new."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tty
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

import pytest

from quintain.cli import demos, main
from quintain.cli.play import Keys, Table, actions
from quintain.envs.world import WorldEnv, world_of
from quintain.evals import suites
from quintain.runtime.opponents import PLAYERS
from quintain.types import Message, Task


def told(capsys, *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["demos", "KeyDoor", "-n", "1", "--out", "/proc/x.jsonl"],
        ["export", "MiniSudoku", "-n", "1", "--out", "/proc/x"],
        ["eval", "random", "--suite", "quick", "--out", "/proc"],
    ],
)
def test_a_folder_that_takes_no_files_is_told_before_anything_is_played(words, capsys, monkeypatch):
    monkeypatch.setattr(suites, "play_suite", None)
    assert main(words) == 1
    assert f"CannotWrite: {words[-1]}" in (said := capsys.readouterr().err) and ".part" not in said
    assert "the folder /proc cannot be written (No such file or directory); write elsewhere" in said


def test_slips_are_for_worlds_of_several_turns(capsys):
    assert main(["demos", "MiniSudoku", "MazePlan", "-n", "1", "--slips", "0.5"]) == 1
    assert "--slips 0.5: MiniSudoku, MazePlan: one answer is given" in capsys.readouterr().err
    assert main(["demos", "MiniSudoku", "KeyDoor", "-n", "1", "--slips", "0.5"]) == 0
    heard = capsys.readouterr()
    assert len(heard.out.splitlines()) == 2 and heard.err.startswith(
        "no slips in MiniSudoku, where one answer is given\n"
    )
    assert (
        main(["demos", "KeyDoor", "-n", "1", "--slips", "0.5"]) == 0
        and capsys.readouterr().err[2:19] == " % of the turns a"
    )


@pytest.mark.parametrize("image", [0, 64])
def test_roles_alternate_in_the_demos_of_a_seat_that_moves_second(image, capsys):
    words = ["demos", "NimDuel", "-n", "4", "--levels", "2", "--reward", "0", f"env.scaffold.image={image}"]
    assert main(words) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for row in rows:
        roles = [m["role"] for m in row["messages"]]
        assert roles == ["user", "assistant"] * (len(roles) // 2) and len(roles) == 2 * len(row["imitate"])
    told = next(row["messages"][0]["content"] for row in rows if row["seat"] == "second")
    if image:
        assert [part["type"] for part in told] == ["text", "image_url", "text", "text", "image_url"]
        told = "".join(part.get("text", "") for part in told)
    assert "Two players take counters" in told and "\nThe opponent plays " in told


def test_demos_in_tool_calls_have_the_tool_and_answers_to_the_calls(capsys):
    row = json.loads(told(capsys, "demos", "KeyDoor", "-n", "1", "env.scaffold.grammar=tool"))
    first, called, answered, *_ = row["messages"]
    assert (first["role"], answered["role"]) == ("user", "tool") and row["tools"][0]["function"]["name"] == "act"
    calls = [call["id"] for told in row["messages"] for call in told.get("tool_calls", ())]
    assert called["tool_calls"][0]["id"] == answered["tool_call_id"] and len({*calls}) == len(calls) > 3
    assert calls[:-1] == [told["tool_call_id"] for told in row["messages"] if told["role"] == "tool"]


@pytest.mark.parametrize("world", ["KuhnDuel", "HoldemFreeDuel"])
def test_a_replay_of_the_demos_of_all_seats_earns_what_they_say_to_the_last_digit(world, capsys):
    assert main(["demos", world, "-n", "12", "--levels", "1", "--reward", "0"]) == 0
    games, env = {}, WorldEnv(world_of(world))
    for row in map(json.loads, capsys.readouterr().out.splitlines()):
        games.setdefault(row["seed"], {})[row["seat"]] = row
    assert any(row["reward"] != round(row["reward"], 6) for game in games.values() for row in game.values())
    for seed, game in games.items():
        if len(game) < len(env.facts.seats):
            continue  # -n came to an end between the seats
        left = {seat: [m["content"] for m in r["messages"] if m["role"] == "assistant"] for seat, r in game.items()}
        heard = env.begin(Task(key="again", env=world, seed=seed, level=1))
        while not any(said.stop for said in heard.values()):
            heard = env.advance({seat: Message.of("assistant", left[seat].pop(0)) for seat in env.movers})
        earned = {seat: sum(said.reward.values()) for seat, said in heard.items()}  # games pay at the end
        assert earned == {seat: row["reward"] for seat, row in game.items()} and not any(left.values())


def test_demos_leave_no_file_that_is_not_whole(tmp_path, capsys, monkeypatch):
    out = tmp_path / "rows.jsonl"
    words = ["demos", "KeyDoor", "-n", "2", "--levels", "0", "--out", str(out)]
    for wrong in (
        ["NimDuel", "--slips", "0.1"],
        ["level=2"],
        ["Sokobn"],
        ["--split", "tain"],
        ["env.params.sise=6"],
        ["env.scaffold.grammar=word", "--why"],
    ):
        assert main([*words, *wrong]) == 1 and not list(tmp_path.iterdir()), wrong
        assert main([*words[:-2], *wrong]) == 1 and not capsys.readouterr().out, "all worlds are looked at first"
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
    words = [sys.executable, "-m", "quintain", "demos", "KeyDoor", "-n", "3", "--levels", "0"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "CannotWrite: standard output: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


WALK = ("new", "world", "corner_walk")


@pytest.mark.usefixtures("registered_for_now")
def test_a_file_of_ones_own_reaches_every_verb_that_takes_a_world(tmp_path, capsys, monkeypatch):
    told(capsys, *WALK, "--into", str(tmp_path))
    file = str(tmp_path / "corner_walk.py")
    assert "success 1.000" in told(capsys, "eval", "oracle", file, "CornerWalk", "level=0", "-n", "5")
    assert "oracle in CornerWalk level 0" in told(capsys, "eval", "oracle", file, "-n", "5")
    assert "oracle in KeyDoor level 1" in told(capsys, "eval", "oracle", file, "world=KeyDoor", "level=1", "-n", "2")
    told(capsys, *WALK[:2], "other_walk", "--into", str(tmp_path))
    assert main(["eval", "oracle", file, str(tmp_path / "other_walk.py")]) == 1
    assert "are CornerWalk, OtherWalk; name the one to play" in capsys.readouterr().err
    (row,) = json.loads(told(capsys, "list", "worlds", file, "--json"))
    assert (row["id"], row["turns"], row["speed"]) == ("CornerWalk", [10, 46], {})
    assert told(capsys, "list", "worlds", file).splitlines()[2:] == ["1 world"]
    assert main(["list", "worlds", "none.py"]) == 1 and "there is no file" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", io.StringIO("h\nq\n"))
    assert "Walk to the goal G" in told(capsys, "play", file, "--level", "0")
    monkeypatch.setattr(sys, "stdin", io.StringIO("q\n"))
    assert "turn 0/18" in told(capsys, "play", f"run.imports=['{file}']", "CornerWalk", "env.params.size=9")
    for row, answers in _demos(capsys, file, "env.params.size=9"):
        assert row["world"] == "CornerWalk" and row["params"] == {"size": 9}
        assert all(answer[0].isdigit() and " to go: " in answer for answer in answers[:-1])
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    told(capsys, "offer", "mcp", file, "CornerWalk")
    told(capsys, "export", file, "-n", "4", "--out", str(tmp_path / "out"))
    assert "Do not wait for what comes of an action" in (tmp_path / "out" / "train" / "metadata.jsonl").read_text()


@pytest.mark.usefixtures("registered_for_now")
def test_a_world_that_cannot_be_rebuilt_is_told_move_by_move(tmp_path, capsys):
    told(capsys, "new", "world", "straight_walk", "--into", str(tmp_path))
    file = tmp_path / "straight_walk.py"
    head, _, rest = file.read_text().partition("    def rebuild")
    file.write_text(head + rest[rest.index("    def static") :])
    for _, answers in _demos(capsys, str(file)):
        assert all(answer.startswith("Next: ") for answer in answers)
    assert main(["export", str(file), "--out", str(tmp_path / "out")]) == 1
    assert "StraightWalk at level 0 has 10 turns, and no plan can be asked" in capsys.readouterr().err


def changed(folder, capsys, name: str, old: str, new: str) -> str:
    """The file of a world as `quintain new` writes it, but for what is to be told of."""
    told(capsys, "new", "world", name, "--into", str(folder))
    file = folder / f"{name}.py"
    code = file.read_text()
    assert old in code
    file.write_text(code.replace(old, new, 1))
    return str(file)


@pytest.mark.usefixtures("registered_for_now")
def test_states_of_a_world_of_ones_own_may_hold_arrays(tmp_path, capsys):
    file = changed(tmp_path, capsys, "arrayed", "    goal: int\n", "    goal: int\n    walls: Any = None\n")
    code = Path(file).read_text().replace(").state != state)", ").state.at != state.at)")
    made = "import numpy\n        walls = numpy.zeros(3)\n        walls.flags.writeable = False\n        "
    after = "after = replace(state, at=to"
    Path(file).write_text(code.replace(f"{after})", f"{made}{after}, walls=walls)"))
    assert main(["demos", file, "-n", "3"]) == 0 and main(["eval", "oracle", file, "-n", "3"]) == 0
    assert "success 1.000" in capsys.readouterr().out


PLANNED = "return Plan((CHOICES["


@pytest.mark.usefixtures("registered_for_now")
@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("walk_a", "def solve", "def solved", "WalkA has no `solve`, which the player `oracle`, demonstrations and"),
        (
            "walk_b",
            PLANNED,
            f'return ["left"]; {PLANNED}',
            "WalkB: `solve` gave ['left'], a list; it should give a Plan",
        ),
        ("walk_c", PLANNED, f'return Plan(("left",)); {PLANNED}', "WalkC: `solve` gave Plan(moves=('left',), proof="),
    ],
)
def test_an_oracle_that_is_none_is_refused_wherever_it_is_asked(name, old, new, said, tmp_path, capsys, monkeypatch):
    file = changed(tmp_path, capsys, name, old, new)
    for words in (["eval", "oracle", file, "-n", "2"], ["demos", file, "-n", "1"]):
        words += [f"world={name.title().replace('_', '')}"] * (words[0] == "eval")
        assert main(words) == 1 and f"BadWorld: {said}" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", io.StringIO("h\nq\n"))
    assert f"no help: {said}" in told(capsys, "play", file)
    assert "success" in told(capsys, "eval", "random", file, f"world={name.title().replace('_', '')}", "-n", "2")


@pytest.mark.usefixtures("registered_for_now")
def test_an_evaluation_tells_how_many_episodes_failed_and_why(tmp_path, capsys):
    shown = 'return " ".join('
    stops = f"if state.at == 0:\n            raise RuntimeError('no way')\n        {shown}"
    file = changed(tmp_path, capsys, "walk_d", shown, stops)
    assert main(["eval", "random", file, "world=WalkD", "-n", "10"]) == 0
    said = re.search(r"WARNING: (\d) of 10 episodes failed, .* was task WalkD/.*: no way", capsys.readouterr().err)
    assert said is not None and said[1] != "0"
    file = changed(tmp_path, capsys, "walk_e", shown, stops.replace("== 0", ">= 0"))
    assert main(["eval", "random", file, "world=WalkE", "-n", "10"]) == 1
    assert "every one of 10 episodes failed, so there is nothing to sum up" in capsys.readouterr().err
    assert main(["eval", "random", "KeyDoor", "-n", "2"]) == 0 and not capsys.readouterr().err


DRAWN = "return Scene(width="
WINS = '{SOLO: {"success": 1.0}}, True)'


@pytest.mark.usefixtures("registered_for_now")
@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        (
            "gift_a",
            'return " ".join(',
            'return None and " ".join(',
            "`caption` gave None, a NoneType; it should give a text",
        ),
        (
            "gift_b",
            "        if not 0 <= to",
            "        return (state, 1.0, False)\n        if not 0 <= to",
            "a tuple; it should give an Outcome",
        ),
        (
            "gift_c",
            "return Outcome(state, events",
            "return Outcome(state, 0.5, events",
            "`step` gave 0.5, a float; it should give {seat:",
        ),
        (
            "gift_d",
            "return CHOICES.read(text)",
            "return text",
            "`read` gave 'left', a str; it should give a Move or None",
        ),
        ("gift_e", "return 2 * state.size", 'return "x"', "`turns` gave 'x', a str; it should give a whole number"),
        ("gift_f", DRAWN, f"return [[0]]; {DRAWN}", "`scene` gave [[0]], a list; it should give a Scene"),
        ("gift_g", '"brick"', '"brik"', "`scene` gave unknown colour as fill 'brik'; did you mean 'brick'?"),
        (
            "gift_i",
            WINS,
            "{SOLO: 1.0}, True)",
            "`step` gave 1.0, a float; it should give {name: number} as the rewards",
        ),
        (
            "gift_j",
            WINS,
            "{SOLO: {'success': 'yes'}}, True)",
            "`step` gave {'success': 'yes'}, a dict; it should give {name",
        ),
        (
            "gift_k",
            WINS,
            "{'agnet': {}}, True)",
            "`step` gave rewards or events of unknown seat 'agnet'; did you mean 'agent'?",
        ),
        (
            "gift_o",
            WINS,
            "{SOLO: {'success': float('nan')}}, True)",
            "`step` gave {'success': nan}, a dict; it should give finite numbers as the rewards of a seat",
        ),
        ("gift_l", WINS, "{}, 'yes')", "`step` gave 'yes', a str; it should give True or False as `done`"),
        (
            "gift_m",
            '("blocked",)',
            '"blocked"',
            "`step` gave 'blocked', a str; it should give (text,) as the events of a seat",
        ),
        ("gift_n", "x=x + 0.5", "x=float('nan')", "`scene` gave nan, a float; it should give finite numbers in a Disc"),
        (
            "gift_h",
            "to = state.at",
            "1 / 0; to = state.at",
            "crashed: ZeroDivisionError: division by zero (GiftH.step, FILE:",
        ),
    ],
)
def test_what_a_method_of_a_world_may_not_give_is_told_with_its_name(
    name, old, new, said, tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(PLAYERS, "random", lambda *given: "left")  # it asks the world for nothing
    file = changed(tmp_path, capsys, name, old, new)
    main(["eval", "random", file, f"world={name.title().replace('_', '')}", "-n", "20", "env.scaffold.image=64"])
    assert said.replace("FILE", file) in capsys.readouterr().err


@pytest.mark.usefixtures("registered_for_now")
@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        (
            "built_a",
            "@dataclass(frozen=True, slots=True)",
            "@dataclass",
            "Line'>, no frozen dataclass; the episodes of a group share",
        ),
        (
            "built_b",
            "range(LEVELS)]",
            "range(3)]",
            "BuiltB: `levels` has 3 rows; it should have 10, a row for each level from 0",
        ),
        ("built_c", "    facts = Facts(", "    fatcs = Facts(", "BuiltC has no `facts`, which every world has"),
        (
            "built_d",
            "    return BuiltD()",
            "    BuiltD()",
            "BuiltD: what is registered gave None; it should return a world",
        ),
        ("built_e", "    def read(", "    def raed(", "BuiltE has no `read`, which every world has"),
        (
            "built_f",
            "rules=",
            "seats='agent', rules=",
            "`facts` gave 'agent', a str; it should give a tuple of names as `seats`",
        ),
        (
            "built_g",
            "rules=",
            "seats=('agent', 'agent'), rules=",
            "`facts` gave ('agent', 'agent'), a tuple; it should give each of its `seats` a name of its own",
        ),
    ],
)
def test_what_a_world_lacks_is_told_by_every_verb(name, old, new, said, tmp_path, capsys):
    file, title = changed(tmp_path, capsys, name, old, new), name.title().replace("_", "")
    out = str(tmp_path / "out")
    for words in (
        ["eval", "random", file, f"world={title}"],
        ["demos", file],
        ["export", file, "--out", out],
        ["play", file],
    ):
        assert main(words) == 1
        assert f"BadWorld: {title}" in (heard := capsys.readouterr().err) and said in heard


@pytest.mark.usefixtures("registered_for_now")
@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("line_a", "to = state.at", "1 / 0; to = state.at", "ZeroDivisionError: division by zero (LineA.step, FILE:"),
        ("line_b", "rng = Rng(", "1 / 0; rng = Rng(", "ZeroDivisionError: division by zero (LineB.start, FILE:"),
        (
            "line_c",
            "return tuple(m",
            "return None and tuple(m",
            "BadWorld: LineC: `legal` gave None, a NoneType; it should give a tuple",
        ),
        (
            "line_d",
            "return tuple(m for",
            "return tuple(m.key for",
            "BadWorld: LineD: `legal` gave ('left', 'right'), a tuple; it should give a",
        ),
    ],
)
def test_what_fails_in_the_file_of_a_world_is_told_in_a_line(name, old, new, said, tmp_path, capsys):
    file = changed(tmp_path, capsys, name, old, new)
    assert main(["export", file, "--ask", "moves", "-n", "1", "--out", str(tmp_path / "out")]) == 1
    assert said.replace("FILE", file) in (heard := capsys.readouterr().err) and heard.count("\n") == 1
    if name < "line_c":
        assert main(["demos", file, "-n", "1"]) == 1 and said.replace("FILE", file) in capsys.readouterr().err


@pytest.mark.usefixtures("registered_for_now")
def test_a_random_move_that_is_none_is_told(tmp_path, capsys):
    file = changed(tmp_path, capsys, "drawn_a", "return rng.pick(self", "rng.pick(self")
    assert main(["eval", "random", file, "world=DrawnA", "-n", "1"]) == 1
    assert "BadWorld: DrawnA: `sample` gave None, a NoneType; it should give a Move" in capsys.readouterr().err


@pytest.mark.usefixtures("registered_for_now")
def test_the_test_of_a_new_world_holds_for_hidden_state_too_and_finds_what_the_caption_lacks(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path)
    for name, static in (("dark_a", "return ()"), ("dark_b", 'return (f"G{state.goal}",)')):
        file = changed(tmp_path, capsys, name, '"G" if i == state.goal else ', "")
        code = Path(file).read_text().replace('return (f"G{state.goal}",)', static)
        Path(file).write_text(code.replace('(state.goal, "green"), ', "(0, 'green'), "))
        check = import_module(f"test_{name}").test_the_caption_tells_all_that_is_seen
        with nullcontext() if name == "dark_a" else pytest.raises(AssertionError):
            check()


def _demos(capsys, *words: str) -> list[tuple[dict, list[str]]]:
    """Two demonstrations with reasons, and what each answers."""
    rows = [json.loads(line) for line in told(capsys, "demos", *words, "-n", "2", "--why").splitlines()]
    return [(row, [m["content"] for m in row["messages"] if m["role"] == "assistant"]) for row in rows]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["play", "KeyDor"], "did you mean 'KeyDoor'"),
        (
            ["play", "KeyDoor", "size=3"],
            "only env.params.KNOB=VALUE and run.imports=[FILE.py], such as env.params.size=6",
        ),
        (["play", "KeyDoor", "env.params.sise=3"], "unknown knob 'sise'; did you mean 'size'?"),
        (["play", "gymnasium"], "gymnasium is an env of a recipe and no world, and only worlds are played by hand"),
        (["eval", "random", "pettingzoo"], "set env.name=pettingzoo and its options"),
        (["play", "KeyDoor", "Sokoban"], "name one world, not KeyDoor, Sokoban"),
        (["play", "env.params.size=3"], "name one world, not none"),
        (["play", "nowhere.py"], "there is no file"),
        (["play", "KeyDoor", "--size", "-3"], "--size is -3; it is how many lines the picture has, 0 for none"),
        (["demos", "KeyDoor", "size=3"], "only env.scaffold.KEY=VALUE, env.params.KNOB=VALUE"),
        (["demos", "KeyDoor", "--seed", "-4"], "--seed is -4; it must be at least 0"),
        (["demos", "KeyDoor", "--levels", "²"], "--levels ²: give one level or a range"),
        (["demos", "KeyDoor", "--levels", "٣"], "--levels ٣: give one level or a range"),
        (["eval", "oracle", "KeyDoor", "Sokoban"], "one world is played at a time, not KeyDoor, Sokoban"),
        (["eval", "oracle", "--suite", ""], "unknown suite ''"),
        (["eval", "oracle", "KeyDoor", "--level", "3", "level=5"], "--levels 3 and level=5 say two things"),
        (["eval", "oracle", "KeyDoor", "--level", "3", "env.levels=[3, 4]"], "--levels 3 and env.levels=[3, 4] say"),
        (["eval", "oracle", "KeyDoor", "world=Sokoban"], "KeyDoor and world=Sokoban say two things; leave one"),
        (["eval", "oracle", "NimDuel", "--against", "random", "eval.against=oracle"], "--against random and eval."),
        (["eval", "run", "--greedy", "eval.temperature=0.5"], "--greedy and eval.temperature=0.5 say two things"),
        (["sft", "tiny", "--out", "x", "--steps", "2", "warm_start.steps=3"], "--steps 2 and warm_start.steps=3 say"),
        (["new", "world", "key_door"], "the world 'KeyDoor' is registered already, which key_door.py would hide"),
        (["new", "algorithm", "grpo"], "the algorithm 'grpo' is registered already"),
    ],
)
def test_mistakes_about_worlds_name_the_way_on(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 1
    assert said in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_a_world_that_is_named_twice_is_demonstrated_once(capsys):
    assert len(told(capsys, "demos", "KeyDoor", "KeyDoor", "-n", "2", "--levels", "0").splitlines()) == 2


def test_a_file_without_a_world_says_so(tmp_path, capsys):
    (tmp_path / "bare.py").write_text("x = 1\n")
    assert main(["demos", str(tmp_path / "bare.py")]) == 1
    assert "bare.py registers nothing" in capsys.readouterr().err


def table(name: str, **more) -> Table:
    return Table(Task(key="play", env=name, level=2, **more), single=True)


def test_arrows_go_forward_where_there_is_no_up_and_other_keys_cost_no_turn(capsys):
    at = table("Maze3D", seed=1)
    assert at.keys["up"] == at.keys["w"] == "forward" and at.keys["left"] == at.keys["a"] == "left"
    assert "up arrow or w: forward" in at.rules() and "malformed" not in at.rules()
    for key in ("f", "z", "down", "\x1b"):
        assert at.hear(key) and at.env.turn == 0
        assert "does nothing here; ? shows which key does what" in capsys.readouterr().out
    assert at.hear("left") and at.env.turn == 1 and at.hear("up") and at.env.turn == 2
    assert "malformed" not in capsys.readouterr().out
    assert at.hear("?") and at.env.turn == 2 and at.env.facts.rules in capsys.readouterr().out


def test_every_action_of_a_world_played_with_keys_has_one():
    for name in ("KeyDoor", "PlaceNext3D", "UnlockPick", "BlockFall", "Sokoban", "ConveyorFloor"):
        at = table(name)
        assert set(actions(at.env)) == set(at.keys.values()) and {"left", "right"} <= at.keys.keys(), name
        assert not set(at.keys) & {"h", "u", "r", "q", "?"}
        assert all(at.env.world.read(action, at.seat) for action in at.keys.values())
    assert not table("MiniSudoku").keys and not table("WordLadder").keys
    assert not Table(Task(key="play", env="KeyDoor", level=2)).keys, "lines are read where there is no terminal"


def test_a_restart_asks_while_an_episode_is_under_way(capsys):
    at = table("EmptyRoom")
    assert at.hear("r") and "gives up" not in capsys.readouterr().out, "nothing is lost yet"
    move = at.env.world.view(at.env.state, at.seat).legal()[0].key
    at.hear(move)
    assert at.hear("r") and at.env.turn == 1 and "r once more restarts" in capsys.readouterr().out
    at.hear(move)
    assert at.env.turn == 2 and at.hear("r") and at.env.turn == 2
    assert at.hear("r") and at.env.turn == 0


def test_in_a_duel_undo_and_restart_go_back_to_the_seat_that_was_to_move(capsys, monkeypatch):
    """And a hint is for who is to move; what each seat has earned is told."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("A-1\n/u\n/h\nA-4\nB-7\nC-5\n/h\nx\n/h\nq\n"))
    said = told(capsys, "play", "NimDuel", "--level", "1")
    seats = re.findall(r"You move (first|second); the (first|second) player is to move", said)
    assert len(seats) == 6 and all(mine == moves for mine, moves in seats)
    assert said.count("try: A-2") == 2 and "no help: the game is over" in said and "Plan(" not in said
    assert "turn 3/16  reward first 1, second 0" in said and "over in 3 turns (done)" in said


def test_keys_that_come_together_are_all_played(monkeypatch):
    """As when a key is held down; what is left when an episode ends does not begin the next one."""
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "r") as terminal, os.fdopen(ours, "wb", buffering=0) as typed, Keys(False) as keys:
        monkeypatch.setattr(sys, "stdin", terminal)
        tty.setcbreak(terminal)
        keys.single = True
        typed.write(b"dd\x1b[C\x1b[C\x1bOA\x1b[3~\x1b\x1b[Bq")
        for key in ("d", "d", "right", "right", "up", "\x1b[3~", "\x1b", "down", "q"):
            assert keys.read() == key
        typed.write(b"ww")
        assert keys.read() == "w"
        keys.forget()
        typed.write(b"q")
        assert keys.read() == "q"


def test_a_frame_fits_the_terminal(capsys, monkeypatch):
    for name, lines, columns in (("EmptyRoom", 24, 80), ("Maze3D", 24, 80), ("KeyDoor", 60, 40), ("Sokoban", 12, 80)):
        monkeypatch.setattr("shutil.get_terminal_size", lambda *_, **__: os.terminal_size((columns, lines)))  # noqa: B023
        at = table(name)
        at.picture = 32
        at.show()
        shown = capsys.readouterr().out.splitlines()
        pixels = [line for line in shown if "▀" in line]
        assert len(shown) < lines and 2 <= len(pixels) <= 32, name
        assert all(line.count("▀") <= columns for line in pixels)


def test_typed_moves_are_told_to_end_with_enter(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("?\nq\n"))
    shown = told(capsys, "play", "WordLadder")
    assert shown.count("then Enter.") == 2 and "? rules" in shown


def test_a_list_of_worlds_has_a_header_and_fits_a_terminal(capsys, monkeypatch):
    rows = json.loads(told(capsys, "list", "worlds", "--json"))
    assert all(row["id"] == row["name"] and row["proof"] == row["oracle"] for row in rows)
    assert {"SnakeRun", "SkyDodge"} <= {row["id"] for row in rows if row["foresees"]} < {row["id"] for row in rows}
    plain = told(capsys, "list", "worlds").splitlines()
    assert plain[0].split() == ["name", "domain", "engine", "seats", "oracle", "summary"] and max(map(len, plain)) > 120
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_, **__: os.terminal_size((100, 30)))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    short = told(capsys, "list", "worlds").splitlines()
    assert max(map(len, short)) == 100 and len(short) == len(plain) == len(rows) + 2


def test_a_move_that_is_spelled_like_a_command_is_played(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("h\n/h\nu\nq\n"))
    said = told(capsys, "play", "ConnectK", "--level", "9")
    assert "turn 1/40" in said and "try: " in said.partition("turn 1/40")[2]
    monkeypatch.setattr(sys, "stdin", io.StringIO("h\nq\n"))
    said = told(capsys, "play", "ConnectK", "--level", "2")
    assert "try: " in said and "turn 1/" not in said, "there is no column h"


def test_commands_that_are_moves_too_are_shown_with_their_stroke(capsys, monkeypatch):
    for level, shown in (("9", "/h hint   u undo   r restart"), ("2", "h hint   u undo   r restart")):
        monkeypatch.setattr(sys, "stdin", io.StringIO("/q\n"))
        assert f"\n{shown}" in told(capsys, "play", "ConnectK", "--level", level)


def test_a_key_means_the_same_all_along(capsys, monkeypatch):
    """In KeyDoor `u` is a step up, also where a wall is there now."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("down\nu\n/u\n/u\nq\n"))
    said = told(capsys, "play", "KeyDoor")
    assert "/u undo" in said and re.findall(r"turn (\d)/", said) == ["0", "1", "2", "1", "0"]


def test_an_empty_line_costs_no_turn(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n \nq\n"))
    said = told(capsys, "play", "NimGame")
    assert said.count("nothing was typed") == 2 and "turn 0/" in said and "turn 1/" not in said
