"""Exported questions: the layout that `datasets` loads, right answers that score, wrong ones that do not, splits that differ."""

from __future__ import annotations

import errno
import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from quintain.cli import main
from quintain.envs.export import ExportError, questions, score, write
from quintain.envs.scaffold import Scaffold

WORLDS = ("MiniSudoku", "ShortestWalk", "MaxRectangle")


def rows(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "metadata.jsonl").read_text().splitlines()]


def test_a_folder_has_rows_pictures_and_a_card_that_names_its_splits(tmp_path):
    out = tmp_path / "some" / "puzzles"
    said = ["export", *WORLDS, "-n", "4", "--test", "2", "--levels", "1-3", "--image", "64", "--out", str(out)]
    assert main(said) == 0
    train, test = rows(out / "train"), rows(out / "test")
    assert [(r["world"], r["level"], r["seed"]) for r in train] == [(w, 1 + s % 3, s) for w in WORLDS for s in range(4)]
    assert {r["split"] for r in test} == {"test"} and len(test) == 6
    for split, there in (("train", train), ("test", test)):
        files = [r["file_name"] for r in there]
        assert set(files) == {p.name for p in (out / split).glob("*.png")} and len(set(files)) == len(files)
        assert all(np.asarray(Image.open(out / split / name)).shape == (64, 64, 3) for name in files)
    card = (out / "README.md").read_text()
    assert re.findall(r"split: (\w+)\n    path: (\S+)", card) == [("train", "train/*"), ("test", "test/*")]
    assert not {r["question"] for r in train} & {r["question"] for r in test}


@pytest.mark.parametrize("world", WORLDS)
def test_the_answer_of_a_row_earns_all_and_that_of_another_row_does_not(world):
    found = [row for row, picture in questions(world, [3], range(6), "validation", Scaffold(grammar="tagged"))]
    assert len(found) == 6
    for row, other in pairwise(found):
        assert row["answer"].startswith("<"), "as the grammar asks"
        row = json.loads(json.dumps(row))
        assert score(row, row["answer"]) == 1.0 and score(row, None) == score(row, "no idea") == 0.0
        assert row["answer"] == other["answer"] or score(row, other["answer"]) < 1.0
        assert row["reason"].endswith(".") and row["reason"] != other["reason"] and row["reason"] not in row["question"]
        assert "tagged" in row["scaffold"] and row["answer"] not in row["question"]


def test_questions_are_not_repeated_and_what_is_missing_is_told(tmp_path, capsys):
    out = tmp_path / "few"
    assert main(["export", "TopoCount", "TopoCount", "-n", "150", "--levels", "0", "--out", str(out)]) == 0
    asked = [r["question"] for r in rows(out / "train")]
    said = capsys.readouterr().out
    assert len(set(asked)) == len(asked) < 150 and f"{len(asked)} of 150 train rows of TopoCount\n" in said
    assert "would have repeated a question" in said


@pytest.mark.usefixtures("registered_for_now")
def test_a_question_of_a_world_that_knows_no_splits_stays_where_it_is_held_out(tmp_path, capsys):
    assert main(["new", "world", "same_line", "--into", str(tmp_path)]) == 0
    file, out = str(tmp_path / "same_line.py"), tmp_path / "out"
    words = ["export", file, "-n", "40", "--validation", "20", "--test", "10", "--level", "9", "--out"]
    assert main([*words, str(out)]) == 0
    train, validation, test = ({r["question"] for r in rows(out / split)} for split in ("train", "validation", "test"))
    assert len(train | validation | test) == len(train) + len(validation) + len(test), "none is in two"
    alone = tmp_path / "alone"
    assert main(["export", file, "-n", "0", "--test", "10", "--level", "9", "--out", str(alone)]) == 0
    assert rows(alone / "test") == rows(out / "test") and train and validation, "test is as if there were no other"
    assert f"{len(train)} of 40 train" in (said := capsys.readouterr().out) and "also one of test or validation" in said
    seeds = {"train": range(40), "test": range(10)}
    assert list(write(tmp_path / "two", ["SameLine"], [9], seeds)) == ["train", "test"], (
        "in the order that was asked for"
    )


@pytest.mark.parametrize("grammar", ["word", "tagged", "json", "free"])
@pytest.mark.parametrize("world", ["KeyDoor", "Sokoban", "WordSearch", "Nonogram"])
def test_a_world_of_several_turns_is_asked_for_its_whole_plan(world, grammar):
    found = [row for row, _ in questions(world, [1], range(6), "train", Scaffold(grammar=grammar))]
    assert len(found) >= 4
    for row in found:
        assert (
            "in their order, one a line, at most " in row["question"]
            and score(row, row["answer"]) == 1.0
            and not row["reason"]
        )
        lines = row["answer"].replace("\\n", "\n").splitlines()
        assert len(lines) > 1 and score(row, lines[0]) < 1.0 and score(row, "no idea") == score(row, None) == 0.0
    if grammar == "free":
        assert score(found[0], f"First think of it.\nup\nThen it is:\n{found[0]['answer']}") == 1.0


def test_knobs_are_kept_in_rows_and_played_with(tmp_path):
    out = tmp_path / "out"
    assert main(["export", "KeyDoor", "env.params.size=7", "--levels", "1", "-n", "3", "--out", str(out)]) == 0
    for row in rows(out / "train"):
        assert json.loads(row["params"]) == {"size": 7} and score(row, row["answer"]) == 1.0
        grid = max(row["question"].split("\n\n"), key=lambda part: part.count("."))
        assert sum(len(line.split()) >= 7 or len(line) >= 7 for line in grid.splitlines()) >= 7


def test_runs_into_one_folder_do_not_mix_and_strangers_are_left_alone(tmp_path, monkeypatch):
    """A second run that ends within the first: the first must neither take its rows nor its place."""
    stranger = tmp_path / ".out.part"
    stranger.mkdir()
    (stranger / "mine").write_text("mine")
    true, again = score, []

    def slow(row, answer):
        if not again:
            again.append(row)
            write(tmp_path / "out", ["MaxRectangle"], [1], {"train": range(2)})
        return true(row, answer)

    monkeypatch.setattr("quintain.envs.export.score", slow)
    with pytest.raises(ExportError, match="no longer an empty folder"):
        write(tmp_path / "out", ["MiniSudoku"], [1], {"train": range(2)})
    assert {r["world"] for r in rows(tmp_path / "out" / "train")} == {"MaxRectangle"}
    assert sorted(p.name for p in tmp_path.iterdir()) == [".out.part", "out"] and (stranger / "mine").exists()


def test_a_stream_of_questions_takes_the_options_of_a_scaffold():
    one, two, three = (
        next(questions("MiniSudoku", [1], [0], "test", it))[0] for it in (None, {}, Scaffold(grammar="word"))
    )
    assert one == two == three
    assert next(questions("MiniSudoku", [1], [0], "test", {"image": 32}))[1].shape == (32, 32, 3)


def test_of_a_question_16_bytes_are_remembered():
    asking = questions("MiniSudoku", [1], range(40), "train", Scaffold(grammar="word", image=256))
    for _ in range(30):
        next(asking)
    known = asking.gi_frame.f_locals["known"]
    assert len(known) == 30 and all(isinstance(one, bytes) and len(one) == 16 for one in known)


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path, monkeypatch, capsys):
    def full(*given, **named):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("quintain.envs.export._card", full)
    assert main(["export", "MiniSudoku", "-n", "1", "--out", str(tmp_path / "out")]) == 1
    assert "CannotWrite" in (said := capsys.readouterr().err) and "make space" in said
    assert not list(tmp_path.iterdir())


def test_what_is_interrupted_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(row, answer):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("quintain.envs.export.score", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path / "out", ["MiniSudoku"], [1], {"train": range(1)})
    assert not list(tmp_path.iterdir())
    assert write(tmp_path / "out", ["MiniSudoku"], [1], {"train": range(1)}) == {"train": 1}


def test_questions_may_be_pictures_alone(tmp_path):
    out = tmp_path / "out"
    assert main(["export", "MiniSudoku", "env.scaffold.caption=0", "--image", "64", "-n", "2", "--out", str(out)]) == 0
    for row in rows(out / "train"):
        assert "a b c d" not in row["question"] and (out / "train" / row["file_name"]).exists()
        assert score(row, row["answer"]) == 1.0


def test_questions_in_words_are_scored():
    ((row, _),) = questions("KeyDoor", [1], [0], "train", {"style": "words", "image": 64})
    assert score(row, row["answer"]) == 1.0


def test_without_pictures_only_rows_are_named(tmp_path):
    assert write(tmp_path / "out", ["MiniSudoku"], [2], {"test": range(5, 8)}) == {"test": 3}
    assert [r["seed"] for r in rows(tmp_path / "out" / "test")] == [5, 6, 7]
    assert "path: test/metadata.jsonl" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["MiniSudoku", "Maze3D"],
            "an episode of Maze3D at level 0 has 18 turns, and no plan can be asked for beforehand: what it stands on is not all shown",
        ),
        (
            ["NimDuel"],
            "NimDuel has 2 seats, a question has one; --ask moves asks for every action that is possible; quintain demos writes",
        ),
        (
            ["Game2048"],
            "chance, an opponent or hidden cells answer each move; --ask moves asks for every action that is possible; quintain demos",
        ),
        (
            ["SnakeRun"],
            "it is still open what comes; --ask moves asks for every action that is possible; quintain demos",
        ),
        (
            ["ChessMate"],
            "ChessMate at level 6 has 2 turns, and no plan can be asked for beforehand: chance, an opponent or hidden cells",
        ),
        (["ChessMate"], "of these levels 0, 1, 2, 3, 4, 5 can be asked about"),
        (["KeyDoor", "env.params.sise=6"], "unknown knob 'sise'; did you mean 'size'?"),
        (["MiniSudoku", "-n", "0"], "nothing to write: 1 world and"),
        (["MiniSudoku", "-n", "-3"], "nothing to write"),
        (
            ["KeyDoor", "env.scaffold.turns=2"],
            "nothing to write: no instance of KeyDoor has a question that the oracle answers in the 2 turns of the option turns",
        ),
        (["MiniSudoku", "--levels", "3-12"], "--levels 3-12"),
        (["MiniSudoku", "--image", "7"], "image is 7"),
        (["MiniSudoku", "env.scaffold.caption=0", "--image", "0"], "caption 0 without a picture"),
        (
            ["MiniSudoku", "env.scaffold.image=64", "--image", "0"],
            "--image 0 and env.scaffold.image=64 say two things; leave one of them out",
        ),
        (["MiniSudok"], "did you mean 'MiniSudoku'"),
        (["MiniSudoku", "run.seed=3"], "only env.scaffold.KEY=VALUE"),
    ],
)
def test_mistakes_are_named_and_leave_nothing(words, said, tmp_path, capsys):
    assert main(["export", *words, "--out", str(tmp_path / "out")]) == 1
    assert said in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(ExportError, match="is not an empty folder; choose another"):
        write(tmp_path, ["MiniSudoku"], [1], {"train": range(1)})
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]


def test_the_working_folder_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ExportError, match="is the working folder, which cannot be replaced; name a new one within it"):
        write(Path("."), ["MiniSudoku"], [1], {"train": range(1)})
    assert not list(tmp_path.iterdir())


def test_hugging_face_datasets_loads_it(tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    write(
        tmp_path / "out",
        WORLDS,
        [1, 2],
        {"train": range(3), "test": range(2)},
        scaffold=Scaffold(grammar="word", image=64),
    )
    found = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert {split: len(there) for split, there in found.items()} == {"train": 9, "test": 6}
    row = found["test"][0]
    assert row["image"].size == (64, 64) and score(row, row["answer"]) == 1.0
    (tmp_path / "out").rename(
        tmp_path / "old"
    )  # what is in its place is not taken for it, though the cache goes by the name
    write(
        tmp_path / "out",
        ["LightsOut"],
        [1, 2],
        {"train": range(3), "test": range(2)},
        Scaffold(grammar="word", image=64),
    )
    found = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert {row["world"] for row in found["test"]} == {"LightsOut"}


def test_all_that_is_possible_is_a_question_for_worlds_that_have_no_plan(tmp_path, capsys):
    out = tmp_path / "out"
    assert (
        main(["export", "ChessGame", "LiarsDuel", "--ask", "moves", "-n", "4", "--levels", "3", "--out", str(out)]) == 0
    )
    rows = [json.loads(line) for line in (out / "train" / "metadata.jsonl").read_text().splitlines()]
    assert {row["world"] for row in rows} == {"ChessGame", "LiarsDuel"} and {row["asks"] for row in rows} == {"moves"}
    for row in rows:
        lines = row["answer"].splitlines()
        assert "name every action" in row["question"] and len(lines) > 1
        assert score(row, row["answer"]) == score(row, "\n".join(lines[::-1])) == 1.0
        assert score(row, "\n".join(lines[1:])) == pytest.approx(1 - 1 / len(lines))
        assert score(row, f"{row['answer']}\nno idea") == pytest.approx(len(lines) / (len(lines) + 1))
        assert score(row, None) == score(row, "no idea") == 0.0
        if row["world"] == "ChessGame":  # what is read and not possible
            assert score(row, f"{row['answer']}\na1 a1") == pytest.approx(len(lines) / (len(lines) + 1))
    assert main(["export", "Mastermind", "--ask", "moves", "-n", "4", "--out", str(tmp_path / "none")]) == 1
    said = capsys.readouterr().err
    assert "the actions of Mastermind at level 0 are no list" in said
    assert "; --ask last asks for the action that ends an episode; quintain demos" in said
    with pytest.raises(ExportError, match="unknown question 'move'; did you mean 'moves'"):
        next(questions("NimDuel", [0], [0], "train", Scaffold(grammar="word"), asks="move"))


def test_the_last_action_is_asked_where_the_oracle_is_sure_of_it(tmp_path, capsys):
    out, worlds = tmp_path / "out", ("Mastermind", "MentalMap", "WordleBox")
    assert main(["export", *worlds, "--ask", "last", "-n", "12", "--levels", "4-9", "--out", str(out)]) == 0
    there = rows(out / "train")
    assert {row["world"] for row in there} == set(worlds) and {row["asks"] for row in there} == {"last"}
    for row in there:
        assert "ends the episode" in row["question"] and row["answer"] not in row["question"]
        assert score(row, row["answer"]) == 1.0 and score(row, None) == score(row, "no idea") == 0.0
    for row, other in pairwise(there):
        assert row["world"] != other["world"] or score(row, other["answer"]) < 1.0
    walk = next(row for row in there if row["world"] == "MentalMap")
    where = re.findall(r"([a-z]+-[a-z]+) (-?\d+) (-?\d+)", walk["answer"])
    half = " ".join(" ".join(one) for one in where[:1])
    assert len(where) > 1 and score(walk, half) == pytest.approx(1 / len(where))
    assert main(["export", "Game2048", "--ask", "last", "--out", str(tmp_path / "none")]) == 1
    assert "the oracle of Game2048 estimates to the end; --ask moves asks" in capsys.readouterr().err
    assert main(["export", "NimDuel", "--ask", "last", "--out", str(tmp_path / "none")]) == 1
    assert "NimDuel has 2 seats, a question has one" in capsys.readouterr().err


def test_what_the_last_observation_does_not_tell_stands_before_the_last_action(tmp_path):
    def asked(world, **scaffold):
        row, picture = next(questions(world, [5], range(9), "train", Scaffold(grammar="word", **scaffold), asks="last"))
        return row["question"], picture

    walk, _ = asked("MentalMap")
    assert walk.count("\nSay where: ") == walk.count("\nYou answered: ") + 1 > 10
    for text, _ in (asked("MentalMap", caption=1), asked("MentalMap", image=64)):
        assert text == walk  # what is told beforehand is told whole
    with pytest.raises(
        ExportError, match="none ends with an action that is sure from the last picture; leave caption=0 out"
    ):
        asked("MentalMap", caption=0, image=64)
    tries, _ = asked("Mastermind")
    assert "You answered" not in tries and tries.count("in place, ") >= 2
    bare, picture = asked("Mastermind", caption=0, image=64)
    assert "in place, " not in bare and picture.shape == (64, 64, 3)
    brief, _ = asked("Mastermind", caption=1)  # tells the latest try alone
    assert brief.count("You answered: ") >= 1 and brief.count("Marks: ") == brief.count("You answered: ")
    door, _ = asked("KeyDoor")
    assert "You answered" not in door
