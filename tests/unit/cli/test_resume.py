"""`train --resume`: which settings a run goes on with, and that nobody has to guess it."""

from __future__ import annotations

import json
import shutil

import pytest

from quintain import config as configs
from quintain.cli import train
from quintain.cli.doctor import main as doctor
from quintain.cli.waits import last_words
from quintain.evals.players import of_run
from quintain.evals.report import _command
from quintain.ledger import CorruptCheckpoint, RunDir, RunMoved
from quintain.ledger.log import corrupt
from quintain.runtime.stage import make_stage
from quintain.runtime.watch import live_path
from quintain.runtime.words import fitted, known, spelled
from quintain.types import Event, QuintainError


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """begun(): the folder of a run that was begun; what resumes is noted instead of trained."""
    went = []

    def go(config, folder, **rest):
        went.append(config)
        if config.run.steps == 13:
            raise configs.ConfigError("unlucky")
        if config.run.steps == 15:
            with RunDir.open(folder, "a") as store:
                store.checkpoint(8, lambda folder: None)
        if config.run.steps in (14, 15):
            raise RuntimeError("nobody thought of this")
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
    edit(folder, "look = 0\n", "")
    train.resume(folder, [], None)
    said = capsys.readouterr().out
    assert f"{folder / 'config.toml'} was edited since the run last began; it goes on with " in said
    assert f"run.look: 0 -> None; run.steps: {steps} -> {steps + 5}\n" in said and went[-1].run.steps == steps + 5
    train.resume(folder, [], None)
    assert "edited" not in capsys.readouterr().out, "it is agreed on now"


@pytest.mark.parametrize(
    ("was", "new", "said"),
    [
        ("processes = 1", "processes = 2", "runtime.processes is 2, but the run has 1, which share its tasks"),
        ("seed = 0", "seed = 5", "run.seed is 5, but the run has 0, which drew its tasks"),
        ("layers = 2", "layers = 3", "model.sizes.layers is 3, but the run has 2, which its weights are of"),
        (None, "run.folder=gone", "run.folder is 'gone', but the run has '.*', where it stays"),
        (None, "run.name=other", "run.name is 'other', but the run has '.*', which names its folder"),
    ],
)
def test_what_no_run_can_change_is_refused(begun, was, new, said):
    folder, _ = begun
    if was:
        edit(folder, f"{was}\n", f"{new}\n")
    for _ in range(2):
        with pytest.raises(configs.ConfigError, match=said):
            train.resume(folder, [] if was else [new], None)


def test_a_warm_start_that_is_over_cannot_be_changed(begun):
    folder, went = begun
    train.resume(folder, ["warm_start.steps=7"], None)  # without a checkpoint it begins anew
    assert went[-1].warm_start.steps == 7
    with RunDir.open(folder, "a") as store:
        store.checkpoint(0, lambda folder: None)
    with pytest.raises(
        configs.ConfigError, match="warm_start.steps is 9, but the run has 7, and its warm start is over"
    ):
        train.resume(folder, ["warm_start.steps=9"], None)
    train.resume(folder, ["warm_start.steps=7"], None)


def test_overrides_are_no_edits_and_are_taken_back_when_the_run_fails_with_them(begun, capsys):
    folder, went = begun
    train.resume(folder, ["run.steps=7"], None)
    train.resume(folder, [], None)
    assert went[-1].run.steps == 7
    with pytest.raises(configs.ConfigError, match="unlucky"):
        train.resume(folder, ["run.steps=13"], None)
    with pytest.raises(RuntimeError, match="nobody"):
        train.resume(folder, ["run.steps=14"], None)
    train.resume(folder, [], None)
    assert went[-1].run.steps == 7 and "edited" not in capsys.readouterr().out
    with RunDir.open(folder) as store:
        assert store.agreed == store.config
    with pytest.raises(RuntimeError, match="nobody"):
        train.resume(folder, ["run.steps=15"], None)
    assert configs.make(folder / "config.toml").run.steps == 15, "a checkpoint was made with it"
    with pytest.raises(RuntimeError, match="nobody"):
        train.resume(folder, ["learner.lr=0.25"], 8)
    assert configs.make(folder / "config.toml").learner.lr == 0.25, "and one of the same step again"


def test_a_run_whose_newest_checkpoint_is_gone_is_neither_done_nor_played_with_an_older_one(begun, capsys):
    folder, went = begun
    with RunDir.open(folder, "a") as store:
        for step in (4, went[0].run.steps):
            newest = store.checkpoint(step, lambda folder: None)
        store.append(Event(time=0.0, step=newest.step, actor="run", kind="stopped", payload={"reason": "done"}))
    shutil.rmtree(newest.path)
    for ask in (lambda: train.resume(folder, [], None), lambda: of_run(folder, [])):
        with pytest.raises(CorruptCheckpoint, match=f"of step {newest.step}, but it is gone; .*--from 4"):
            ask()
    assert doctor([str(folder)]) == 1 and "but it is gone" in capsys.readouterr().out
    assert train.resume(folder, [], 4) == 0 and len(went) == 2
    assert f"from step 4: what was done after it, up to step {newest.step}, counts" in capsys.readouterr().out


def test_a_run_that_was_moved_takes_away_nothing_that_is_now_in_its_place(begun, monkeypatch):
    def moved(config, folder, **rest):
        raise RunMoved("it is elsewhere")

    monkeypatch.setattr(train, "run", moved)
    with pytest.raises(RunMoved):
        train.begin(begun[1][0], fresh=False)
    assert (begun[0].with_name("r-2") / "run.json").exists()


def test_a_run_of_before_settings_were_kept_is_taken_at_its_word(begun, capsys):
    folder, went = begun
    (folder / "run.json").write_text('{"format": 1, "created": 0}')
    edit(folder, f"steps = {went[0].run.steps}\n", "steps = 9\n")
    train.resume(folder, [], None)
    assert went[-1].run.steps == 9 and "edited" not in capsys.readouterr().out


WORDS = "env.scaffold.style=words"


def words_of(config: configs.Config) -> tuple[str, ...]:
    return make_stage(config).renderer.words


def test_what_is_changed_is_told_with_what_it_was(begun, capsys):
    folder, went = begun
    steps = went[0].run.steps
    train.resume(folder, [f"run.steps={steps + 5}", "algorithm=rloo"], None)
    said = capsys.readouterr().out
    assert said.startswith("from here on: algorithm.gate: ") and "; algorithm.name: grpo -> rloo; " in said
    assert f"run.steps: {steps} -> {steps + 5}\n" in said
    train.resume(folder, [f"run.steps={steps + 5}"], None)
    assert "from here on" not in capsys.readouterr().out, "it is so already"
    train.resume(folder, ["model.sizes.attention_dropout=0.1"], None)
    assert went[-1].model.sizes["attention_dropout"] == 0.1, "no weight has another shape by it"


def test_a_config_that_is_gone_is_written_as_the_run_last_began_with_it(begun, capsys):
    folder, went = begun
    train.resume(folder, ["learner.lr=0.125"], None)
    text = (folder / "config.toml").read_text()
    (folder / "config.toml").unlink()
    with pytest.raises(configs.ConfigError, match="config.toml is gone: `quintain doctor --repair .*/r` writes it"):
        train.resume(folder, [], None)
    assert (
        doctor(["--repair", str(folder)]) == 0
        and "config.toml: 0 records are lost; the file was gone or empty" in capsys.readouterr().out
    )
    assert (folder / "config.toml").read_text() == text
    (folder / "config.toml").unlink()
    marker = folder / "run.json"
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "config": ""}))  # of a version that did not keep it
    with pytest.raises(configs.ConfigError, match="config.toml is gone: restore it from a copy"):
        train.resume(folder, [], None)
    (folder / "config.toml").write_text(text)
    assert doctor(["--repair", str(folder)]) == 0 and "was gone" not in capsys.readouterr().out
    train.resume(folder, [], None)
    assert went[-1].learner.lr == 0.125


def test_a_config_that_is_damaged_is_a_finding_that_says_how_to_have_it_back(begun, capsys):
    folder, _ = begun
    path = folder / "config.toml"
    text = path.read_text()
    for harm in ("[run\nname =", text.replace("[run]", "[run]\nfoo = 3", 1)):
        path.write_text(harm)
        assert doctor([str(folder)]) == 1
        assert f"remove it, and `quintain doctor --repair {folder}` writes it as the run" in capsys.readouterr().out
        path.unlink()
        assert doctor(["--repair", str(folder)]) == 0 and path.read_text() == text
    with RunDir.open(folder, "a") as store:
        store.agree(text.replace("[run]", "[run]\nfoo = 3", 1))  # as another version wrote it
    capsys.readouterr()
    assert doctor([str(folder)]) == 1 and "; mend it by hand, or restore" in capsys.readouterr().out


def test_an_error_that_ended_a_run_is_its_end_and_folders_with_blanks_are_quoted(begun, capsys, tmp_path):
    folder = begun[0].rename(tmp_path / "a run")
    status = {"state": "failed", "reason": "OSError: no: room", "time": 0.0, "step": 3}
    live_path(folder, 0).write_text(json.dumps(status))
    doctor([str(folder)])
    said = capsys.readouterr().out
    assert "end          an error: OSError\n" in said and "step 3: it ended with OSError: no: room\n" in said
    live_path(folder, 0).write_text(json.dumps({**status, "state": "running", "pid": 1, "waits": [], "actors": []}))
    doctor([str(folder)])
    assert "end          none: it was killed, or its folder was moved while it went on\n" in capsys.readouterr().out
    ends = [*train._end(folder, 3, True), *train._end(folder, 3, False)]
    assert [line.endswith(f" '{folder}'") for line in ends] == [False, True, False, True]
    assert last_words(folder)["last"][1] == f"go on with: quintain train --resume '{folder}'"
    assert _command(folder, begun[1][0]) == f"quintain train '{folder}/config.toml' run.name=r-again"
    with pytest.raises(QuintainError, match=f"--resume '{folder}'` goes on"):
        configs.make(str(folder))
    with pytest.raises(QuintainError, match=f"--resume '{folder}'` continues"):
        RunDir.create(folder, "")
    with RunDir.open(folder) as store:
        assert f"doctor --repair '{folder}'`" in str(corrupt(store.path / "segments" / "rank-0" / "0.seg", 3, "hurt"))


def test_a_model_keeps_its_words_wherever_its_run_goes_on(tmp_path, monkeypatch):
    went = []
    monkeypatch.setattr(train, "run", lambda config, folder, **rest: went.append(config))
    # levels 3 and 4 have as many words as each other, so that no size would tell them apart
    begun = configs.make("words", overrides=[f"run.folder={tmp_path}", "world=ConnectKDuel", "level=3"])
    begun.model.words = ["ConnectKDuel:3-4"]
    train.begin(begun, fresh=False)
    train.begin(
        configs.make("words", overrides=[f"run.folder={tmp_path}", "world=ConnectKDuel", "level=3"]), fresh=False
    )
    wide, narrow = went
    assert narrow.model.words == ["ConnectKDuel:3"] and len(words_of(wide)) == len(words_of(narrow)) + 2
    train.resume(tmp_path / "words", ["level=4"], None)
    assert went[-1].env.levels == [4] and words_of(went[-1]) == words_of(wide)
    with pytest.raises(
        configs.ConfigError, match="knows the words of ConnectKDuel:3 only; ConnectKDuel:4 has 2 others, such as '5'"
    ):
        train.resume(tmp_path / "words-2", ["level=4"], None)
        make_stage(went[-1])
    with pytest.raises(configs.ConfigError, match="knows those of ConnectKDuel:3; leave it so"):
        train.resume(tmp_path / "words-2", ["model.words=ConnectKDuel:3-4"], None)
    monkeypatch.setattr("quintain.runtime.words._lacking", lambda config, words: {"5"})
    with pytest.raises(configs.ConfigError, match="ConnectKDuel:4 has 1 other, '5': play where"):
        train.resume(tmp_path / "words-2", ["level=4"], None)


def test_words_are_not_edited_by_hand_nor_changed_by_another_version(begun):
    folder, _ = begun
    with RunDir.open(folder) as store:
        began = store.about["words"]
    assert began and began == spelled(configs.make(folder / "config.toml"))
    marker = folder / "run.json"
    marker.write_text(marker.read_text().replace(began, "0" * 32))
    with pytest.raises(configs.ConfigError, match="the words of KeyDoor:0 are not those that this run began with"):
        train.resume(folder, [], None)
    marker.write_text(marker.read_text().replace("0" * 32, began))
    edit(folder, '"KeyDoor:0"', '"KeyDoor:0-1"')
    with pytest.raises(configs.ConfigError, match="model.words was edited"):
        train.resume(folder, [], None)


def test_a_run_begins_with_the_words_of_where_it_plays_and_of_further_places():
    def places(*words: str) -> list[str]:
        return fitted(configs.make(overrides=["world=KeyDoor", WORDS, *words])).model.words

    assert places() == ["KeyDoor:0"] and places("model.words=KeyDoor:0-3") == ["KeyDoor:0-3"]
    assert places("model.words=LightsOut:1", "level=2") == ["LightsOut:1", "KeyDoor:2"]
    assert places("env.params.size=9") == ["KeyDoor:0 size=9"]
    assert fitted(configs.make("keydoor_text", overrides=["model=folder"])).model.words == []
    both = fitted(configs.make(overrides=["world=KeyDoor", WORDS, "model.words=LightsOut:1"]))
    assert {*words_of(both)} >= {*known(configs.make(overrides=["world=LightsOut", "level=1"]))}


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("KeyDoor", "'KeyDoor' is no place; write WORLD:LEVELS"),
        ("KeyDoor:x", "'KeyDoor:x' is no place"),
        ("KeyDoor:1 size", "'KeyDoor:1 size' is no place"),
        ("KeyDor:1", "unknown world of model.words 'KeyDor'; did you mean 'KeyDoor'"),
        ("KeyDoor:12", "'KeyDoor:12' is no place"),
        ("KeyDoor:3-1", "'KeyDoor:3-1' is no place"),
        ("KeyDoor:0-1-5", "'KeyDoor:0-1-5' is no place"),
        ("KeyDoor:+1", "'KeyDoor:+1' is no place"),
        ("KeyDoor:0-99999999999", "is no place"),
        ("KeyDoor:1 size=7 size=9", "is no place"),
        ("", "'' is no place"),
        ("KeyDoor:1 sizes=9", "sizes"),
    ],
)
def test_places_that_there_are_not(place, said):
    with pytest.raises(QuintainError) as error:
        known(configs.make(overrides=["world=KeyDoor", f"model.words=[{place!r}]"]))
    assert said in str(error.value)


def test_places_tell_their_knobs():
    def words(place: str) -> set[str]:
        return {*known(configs.make(overrides=["world=KeyDoor", f"model.words=[{place!r}]"]))}

    assert words("KeyDoor:0") < words("KeyDoor:0 size=9")
    assert words("KeyDoor:0,1,2") == words("KeyDoor:0-2") == words("KeyDoor:2,0-1")


def test_equal_places_are_the_same_in_any_form(begun):
    folder, went = begun
    train.resume(folder, ["model.words=['KeyDoor:0-0', 'KeyDoor:0']"], None)
    assert went[-1].model.words == ["KeyDoor:0"]


@pytest.mark.parametrize("words", [["model=elsewhere"], ["data=rows.jsonl"], ["env.name=gymnasium"]])
def test_a_model_of_words_stays_one(begun, words):
    folder, _ = begun
    with pytest.raises(
        configs.ConfigError, match="knows the words of KeyDoor:0 and no others, so it plays worlds alone"
    ):
        train.resume(folder, words, None)


def test_a_run_of_before_words_were_kept_is_taken_at_what_it_last_went_with(begun, capsys):
    folder, went = begun
    for name in ("config.toml", "run.json"):
        text = (folder / name).read_text()
        text = text.replace('words = [\n    "KeyDoor:0",\n]\n', "").replace(
            'words = [\\n    \\"KeyDoor:0\\",\\n]\\n', ""
        )
        (folder / name).write_text(text)
    marker = json.loads((folder / "run.json").read_text())
    assert "KeyDoor:0" not in marker["config"]
    (folder / "run.json").write_text(json.dumps({**marker, "about": {}}))
    before = (folder / "run.json").read_text()
    edit(folder, "levels = [\n    0,\n]", "levels = [\n    3,\n]")
    with pytest.raises(configs.ConfigError, match="knows the words of KeyDoor:0 only; KeyDoor:3 has"):
        train.resume(folder, [], None)
    with pytest.raises(configs.ConfigError, match="knows the words of KeyDoor:0 only; KeyDoor:3 has"):
        with RunDir.open(folder, "a") as store:
            store.checkpoint(1, lambda place: None)
        of_run(folder, [])
    assert (folder / "run.json").read_text() == before, "what is refused is not agreed on"
    assert "goes on with" not in capsys.readouterr().out
    edit(folder, "levels = [\n    3,\n]", "levels = [\n    0,\n]")
    train.resume(folder, [], None)
    assert went[-1].model.words == ["KeyDoor:0"]
    assert configs.make(folder / "config.toml").model.words == ["KeyDoor:0"], "other processes read it"


def test_evaluations_look_at_the_words_too(begun):
    folder, _ = begun
    with RunDir.open(folder, "a") as store:
        store.checkpoint(1, lambda place: None)
        began = store.about["words"]
    marker = folder / "run.json"
    marker.write_text(marker.read_text().replace(began, "0" * 32))
    with pytest.raises(
        configs.ConfigError, match="are not those that this run began with, .* its worlds have changed since"
    ):
        of_run(folder, [])


def test_a_new_run_that_is_refused_deletes_no_old_one(begun):
    folder, _ = begun
    asked = [f"run.folder={folder.parent}", "run.name=r", "model.words=Bogus:1"]
    with pytest.raises(configs.ConfigError, match="unknown world of model.words 'Bogus'"):
        train.begin(configs.make("tiny", overrides=asked), fresh=True)
    assert (folder / "run.json").is_file()


def test_turns_have_room_for_the_answers_of_all_places_and_one_word_stays_one(tmp_path, monkeypatch):
    went = []
    monkeypatch.setattr(train, "run", lambda config, folder, **rest: went.append(config))
    for words in ([], ["model.words=TreeSplit:0-2"]):
        train.begin(
            configs.make("words", overrides=[f"run.folder={tmp_path}", "world=TreeSplit", "level=0", *words]),
            fresh=False,
        )
    narrow, wide = (config.rollout.max_tokens for config in went)
    assert narrow == 1 < wide
    train.resume(tmp_path / "words-2", ["level=2"], None)
    make_stage(went[-1])
    one = [
        f"run.folder={tmp_path}",
        "run.name=one",
        "world=TreeSplit",
        "level=0",
        "model.words=TreeSplit:0-2",
        "rollout.max_tokens=1",
    ]
    train.begin(configs.make("words", overrides=one), fresh=False)
    for room in ("0", "14"):
        with pytest.raises(configs.ConfigError, match="says one word a turn and knows no end of a turn"):
            train.resume(tmp_path / "one", ["level=2", f"rollout.max_tokens={room}"], None)


def test_only_models_of_words_have_words():
    with pytest.raises(configs.ConfigError, match="only a model of words has such"):
        fitted(configs.make("keydoor_text", overrides=["model=folder", "model.words=KeyDoor:1"]))


def test_a_run_is_told_what_is_changed_on_the_way(begun, monkeypatch):
    folder, _ = begun
    changes = []
    monkeypatch.setattr(train, "run", lambda config, folder, *, changed=None, **rest: changes.append(changed))
    train.resume(folder, [], None)
    train.resume(folder, ["run.steps=7", "eval.split=validation"], None)
    train.resume(folder, [], None)
    edit(folder, 'split = "validation"', 'split = "test"')
    train.resume(folder, [], None)
    assert changes == [
        {},
        {"run.steps": (12, 7), "eval.split": ("test", "validation")},
        {},
        {"eval.split": ("validation", "test")},
    ]


def test_a_run_of_another_version_goes_on_once_its_config_is_mended(begun):
    folder, went = begun
    marker = folder / "run.json"
    marker.write_text(marker.read_text().replace("[run]\\n", "[run]\\nof_yore = 1\\n"))
    with RunDir.open(folder) as store:
        assert "of_yore" in store.agreed
    train.resume(folder, [], None)
    assert went[-1].model.words == ["KeyDoor:0"]
