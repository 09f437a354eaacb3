"""Files that bring worlds of one's own: which world a verb takes, and what of it is looked at before it is played."""

from __future__ import annotations

import io
import json
import sys

import pytest
from tests.unit.cli.test_world_verbs import PLANNED, WALK, changed, told

from quintain.cli import main
from quintain.cli.places import setting

pytestmark = pytest.mark.usefixtures("registered_for_now")
BOTH = {  # both seats move at once, and go where the one says who is named first
    "facts = Facts(": 'facts = Facts(seats=("red", "blue"), contest=False, ',
    "moves[SOLO]": 'moves.get("red", moves["blue"])',
    "SOLO: ": '"blue": ',
}


def test_the_world_of_a_file_is_the_one_that_is_trained_in(tmp_path, capsys):
    told(capsys, *WALK, "--into", str(tmp_path))
    file = str(tmp_path / "corner_walk.py")
    for words in ([file], ["words", file], ["words", file, "level=3"], [file, "sampler.name=worlds"][:1]):
        assert json.loads(told(capsys, "config", "show", *words, "--json"))["config"]["env"]["name"] == "CornerWalk"
    (toml := tmp_path / "mine.toml").write_text('[env]\nname = "FourRooms"\n')
    for words in (["keydoor", file], [str(toml), file], [file, "world=Hanoi"], [file, "env.name=Hanoi"]):
        assert setting(words)[1] == [w for w in setting(words)[1] if "CornerWalk" not in w], "something else says it"
    told(capsys, *WALK[:2], "other_walk", "--into", str(tmp_path))
    assert main(["config", "show", "words", file, str(tmp_path / "other_walk.py")]) == 1
    assert (
        "the files register CornerWalk, OtherWalk; name the one to train in: world=CornerWalk"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("verb", ["eval random", "train words", "config show", "play", "sft words --out x"])
def test_a_file_that_registers_nothing_is_refused(verb, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bare.py").write_text("x = 1\n")
    assert main([*verb.split(), "bare.py"]) == 1
    assert "bare.py registers nothing; a file of a world has @register" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("first_a", "return 2 * state.size", "return 0", "`turns` gave 0, a int; it should give a whole number of at"),
        ("first_b", "return 2 * state.size", "return 2.5", "`turns` gave 2.5, a float; it should give a whole number"),
        ("first_c", 'return (f"P{state.at}",)', 'return {f"P{state.at}"}', "`moving` gave {'P"),
        ("first_d", "return CHOICES.read(text)", "return text", "`read` gave 'left', a str; it should give a Move or"),
        (
            "first_e",
            'rules="',
            'sayings={"blocked": 3}, rules="',
            "gave 3, a int; it should give a sentence for 'blocke",
        ),
        ("first_f", '*, split: str = "train", **knobs: Any', "knobs: Any = ()", "`start` takes (seed: int, level: int"),
        (
            "first_g",
            "def view(self",
            "def view(self, state, seat):\n        return View(self, state, seat, False)\n\n    def v(self",
            "says of no seat",
        ),
        ("first_h", 'name="FirstH"', 'name="Other"', "it should give the registered name, 'FirstH', as `name`"),
        ("first_i", "to = state.at", "import sys; sys.exit(3)\n        to = state.at", "a method called sys.exit(3)"),
        (
            "first_j",
            "        after = rep",
            "        return (state, {}, False)\n        after = rep",
            "`step` gave (Line(",
        ),
    ],
)
def test_what_would_go_wrong_without_a_word_is_told_at_the_start(name, old, new, said, tmp_path, capsys):
    file = changed(tmp_path, capsys, name, old, new)
    assert main(["demos", file, "-n", "1", "--levels", "1"]) == 1
    assert f"BadWorld: {'Other' if name == 'first_h' else name.title().replace('_', '')}: " in (
        heard := capsys.readouterr().err
    )
    assert said in heard


def test_seats_that_move_at_once_are_played_one_after_the_other(tmp_path, capsys, monkeypatch):
    file = changed(tmp_path, capsys, "both_walk", "rules=", "rules=")
    code = (tmp_path / "both_walk.py").read_text()
    for old, new in BOTH.items():
        assert old in code
        code = code.replace(old, new)
    (tmp_path / "both_walk.py").write_text(code)
    monkeypatch.setattr(sys, "stdin", io.StringIO("left\nu\nright\nleft\nu\nq\n"))
    shown = told(capsys, "play", file, "--level", "1", "--seed", "0", "--size", "0").splitlines()
    lines, turns = [line for line in shown if set(line) <= {*"P.G "} and line], [w for w in shown if w[:5] == "turn "]
    assert [turn.split()[1] for turn in turns] == [f"{n}/14" for n in (0, 0, 0, 0, 1, 0)]
    at = [line.split().index("P") for line in lines]
    assert at[1:] == [at[0]] * 3 + [at[0] + 1, at[0]], "the one who is named first goes right"


def test_what_a_world_prints_is_no_part_of_an_answer(tmp_path, capsys, monkeypatch):
    file = changed(tmp_path, capsys, "loud_walk", PLANNED, f'print("hello"); {PLANNED}')
    (tmp_path / "loud_walk.py").write_text("print('begun')\n" + (tmp_path / "loud_walk.py").read_text())
    assert json.loads(told(capsys, "eval", "oracle", file, "-n", "2", "--json"))["episodes"] == 2
    code = (
        (tmp_path / "loud_walk.py")
        .read_text()
        .replace(
            "def view(self", "def view(self, *a):\n        print('hi')\n        return self.v(*a)\n\n    def v(self"
        )
    )
    (tmp_path / "loud_two.py").write_text(code.replace("LoudWalk", "LoudTwo"))
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n'))
    assert json.loads(told(capsys, "offer", "mcp", str(tmp_path / "loud_two.py")))["id"] == 1


def test_a_level_that_cannot_be_begun_keeps_no_other_from_being_demonstrated(tmp_path, capsys):
    size = 'size = check_knobs(knobs, self.levels, level)["size"]'
    stops = "if level in (2, 5):\n            raise __import__('quintain').types.QuintainError('no line')"
    file = changed(tmp_path, capsys, "stuck_walk", size, f"{size}\n        {stops}")
    rows = told(capsys, "demos", file, "-n", "2", "--levels", "0", "--why").splitlines()
    assert len(rows) == 2 and "to go: " in rows[0]
    assert main(["demos", file, "-n", "2", "--levels", "2"]) == 1 and "no line" in capsys.readouterr().err
