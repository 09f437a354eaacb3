"""Whole runs from the command line's own path: determinism, resume, ranks, data and rewards of one's own."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
from pathlib import Path

import pytest
from tests import programs
from tests.e2e.runs import QUIET, prints, start

from quintain import config as configs
from quintain.cli import main
from quintain.cli.train import Replaced, Stepped
from quintain.ledger import RunDir, audit
from quintain.runtime.failures import EveryEpisodeFailed
from quintain.runtime.signals import StoppedEarly
from quintain.runtime.transport import LearnerLost
from quintain.runtime.watch import StallError
from quintain.types import Stop


def ledger(folder: Path) -> list[tuple[float, str]]:
    with RunDir.open(folder) as store:
        return [(e.time, e.kind) for e in store.events()]


def rewards(folder: Path) -> list[float]:
    with RunDir.open(folder) as store:
        return [m["reward"] for _, m in store.metrics()]


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> Path:
    return start(tmp_path_factory.mktemp("straight"))


def test_a_synchronous_run_is_a_function_of_its_seed(straight, tmp_path):
    again, other = start(tmp_path), start(tmp_path, "run.seed=1", "run.name=other")
    assert prints(again) == prints(straight) and rewards(again) == rewards(straight)
    assert prints(other) != prints(straight)
    assert max(rewards(straight)) > 0, "nothing was learned from: the test shows nothing"


def test_every_prompt_is_accounted_for(straight):
    with RunDir.open(straight) as store:
        books = audit(store)
    assert books.ok and books.issued == 6 * 8 and not books.pending
    assert books.trained + books.dropped == books.issued


def test_a_killed_run_goes_on_to_the_same_weights(straight, tmp_path):
    config = configs.make("tiny", overrides=[*QUIET, f"run.folder={tmp_path}"])
    folder = tmp_path / "tiny"
    RunDir.create(folder, config.toml(full=True)).close()
    script = f"""
import os, signal
from pathlib import Path
from quintain import config as configs
from quintain.runtime import run
from quintain.cli.train import run as go
record, folder = run.LocalRun.record, Path({str(folder)!r})
async def dying(self, step, groups, metrics):
    if step == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    await record(self, step, groups, metrics)
run.LocalRun.record = dying
go(configs.make(folder / "config.toml"), folder, resume=False)
"""
    (tmp_path / "dying.py").write_text(script)
    with (tmp_path / "log").open("wb") as log:
        assert programs.begin(tmp_path / "dying.py", log=log).wait(120) == -signal.SIGKILL
    assert main(["train", "--resume", str(folder)]) == 0
    assert prints(folder) == prints(straight) and rewards(folder) == rewards(straight)
    with RunDir.open(folder) as store:
        books = audit(store)
    assert books.ok and books.trained + books.dropped == books.issued


def test_resuming_a_finished_run_changes_nothing(straight):
    before = prints(straight)
    assert main(["train", "--resume", str(straight)]) == 0
    assert prints(straight) == before


def test_a_fresh_run_takes_the_place_of_an_old_one_but_not_of_a_living_one(tmp_path, capsys):
    words = ["train", "tiny", *QUIET, f"run.folder={tmp_path}", "warm_start.steps=0"]
    assert main([*words, "run.steps=2"]) == 0
    with RunDir.open(tmp_path / "tiny", "a"):
        assert main([*words, "--fresh", "run.steps=1"]) == 1
    assert "writes to this run" in capsys.readouterr().err and len(rewards(tmp_path / "tiny")) == 2
    for refused, told in (
        (["model.words=Nope:0"], "words"),
        (["world=Nope"], "unknown env.name"),
        (["learner=no"], "learner"),
    ):
        assert main([*words, "--fresh", *refused]) == 1 and told in capsys.readouterr().err
        assert len(rewards(tmp_path / "tiny")) == 2 and [p.name for p in tmp_path.iterdir()] == ["tiny"]
    assert main([*words, "--fresh", "run.steps=1"]) == 0
    assert len(rewards(tmp_path / "tiny")) == 1 and [p.name for p in tmp_path.iterdir()] == ["tiny"]
    for misplaced, told in (
        (["--from", "1"], "--resume RUN"),
        (["--fresh", "--resume", str(tmp_path / "tiny")], "give one"),
    ):
        assert main(["train", *misplaced]) == 1 and told in capsys.readouterr().err
    assert main(["train", "--resume", str(tmp_path / "tiny"), "--from", "7"]) == 1
    assert "no checkpoint of that step to go on from; there are: 0, 1" in capsys.readouterr().err


def test_the_run_that_is_replaced_is_kept_until_the_new_one_has_begun(tmp_path, monkeypatch, capsys):
    """Refused while its parts are made, the new run leaves the old one as it was; one of a killed start is not in the way."""
    words = ["train", "tiny", *QUIET, f"run.folder={tmp_path}", "warm_start.steps=0"]
    assert main([*words, "run.steps=2"]) == 0
    before = ledger(tmp_path / "tiny")

    def late(*given, **kept):
        assert (tmp_path / "tiny.replaced" / "run.json").exists() and (tmp_path / "tiny" / "run.json").exists()
        raise configs.ConfigError("refused late")

    with monkeypatch.context() as patched:
        patched.setattr("quintain.runtime.assemble.play", late)
        assert main([*words, "--fresh", "run.steps=1"]) == 1 and "refused late" in capsys.readouterr().err
    assert ledger(tmp_path / "tiny") == before and [p.name for p in tmp_path.iterdir()] == ["tiny"]


@pytest.mark.parametrize("how", ["stopped", "stalled", "crashed"])
def test_a_replaced_run_stays_beside_a_new_one_that_came_to_no_step(how, tmp_path, monkeypatch, capsys):
    """However the start ends, and also at the next try; a run that already has that name is left alone."""
    words = ["train", "tiny", *QUIET, f"run.folder={tmp_path}", "warm_start.steps=0"]
    assert main([*words, "run.steps=2"]) == 0
    shutil.copytree(tmp_path / "tiny", tmp_path / "tiny.replaced")
    before = ledger(tmp_path / "tiny")

    def ended(*given, **kept):
        if how == "stopped":
            raise StoppedEarly("asked to stop")
        raise StallError("nothing moved") if how == "stalled" else RuntimeError("a bug")

    with monkeypatch.context() as patched:
        patched.setattr("quintain.runtime.assemble.play", ended)
        for number in (1, 2):
            with contextlib.suppress(RuntimeError):
                main([*words, "--fresh", "run.steps=1"])
            aside = tmp_path / f"tiny.replaced-{number}"
            assert f"is in {aside}" in capsys.readouterr().err
    assert ledger(tmp_path / "tiny.replaced-1") == ledger(tmp_path / "tiny.replaced") == before
    assert main(["train", "--resume", str(tmp_path / "tiny")]) == 0 and len(rewards(tmp_path / "tiny")) == 1


@pytest.mark.parametrize("error", [StallError("nothing moved"), LearnerLost("rank 1 is gone")])
def test_a_run_that_ends_as_it_may_go_on_says_how_by_name(error, tmp_path, monkeypatch, capsys):
    def ended(*given, **kept):
        raise error

    monkeypatch.setattr("quintain.runtime.assemble.play", ended)
    words = (["tiny", f"run.folder={tmp_path}"], ["--resume", str(tmp_path / "tiny")])
    for given in words:
        assert main(["train", *given]) == (76 if isinstance(error, StallError) else 1)
        said = capsys.readouterr().err
        assert f"go on with: quintain train --resume {tmp_path / 'tiny'}\n" in said and type(error).__name__ in said


def test_a_replaced_run_is_deleted_with_the_first_step(tmp_path, monkeypatch):
    words = ["train", "tiny", *QUIET, f"run.folder={tmp_path}", "warm_start.steps=0"]
    assert main([*words, "run.steps=2"]) == 0
    found = []
    monkeypatch.setattr(Stepped, "write", lambda *given: found.append((tmp_path / "tiny.replaced").exists()))
    write = Replaced.write

    def seen(self, *given):
        found.append(self.aside.exists())
        write(self, *given)
        found.append(self.aside.exists())

    monkeypatch.setattr(Replaced, "write", seen)
    assert main([*words, "--fresh", "run.steps=1"]) == 0
    assert found[:3] == [True, True, False]


def test_going_back_says_what_it_leaves_and_does_not_go_there_again(tmp_path, capsys):
    words = ["run.steps=4", "run.checkpoint_every=2", "warm_start.steps=0"]
    assert main(["train", "tiny", *QUIET, f"run.folder={tmp_path}", *words]) == 0
    folder = str(tmp_path / "tiny")
    assert main(["train", "--resume", folder, "--from", "2", "run.steps=2"]) == 0
    assert "after it, up to step 4, counts no longer" in capsys.readouterr().out
    assert main(["train", "--resume", folder, "--from", "4", "run.steps=4"]) == 1
    assert "no checkpoint of that step to go on from" in capsys.readouterr().err


def test_fewer_steps_than_were_done_change_nothing(tmp_path, capsys):
    folder = start(tmp_path, "run.steps=3")
    assert main(["train", "--resume", str(folder), "run.steps=2"]) == 0
    assert "nothing is left to do" in capsys.readouterr().out
    assert configs.make(folder / "config.toml").run.steps == 3


def test_a_run_goes_on_with_other_settings_and_keeps_them(tmp_path, capsys):
    folder = start(tmp_path, "run.steps=2")
    assert main(["train", "--resume", str(folder), "run.steps=3"]) == 0
    assert configs.make(folder / "config.toml").run.steps == 3 and len(rewards(folder)) == 3
    with RunDir.open(folder) as store:
        (noted,) = store.events(["changed"])
        assert noted.step == 2 and noted.payload["settings"]["run.steps"] == [2, 3] and audit(store).ok
    assert main(["train", "--resume", str(folder), "run.steps=1"]) == 0, "a run past its end is done, not stopped"
    for words, told in (
        (["model.sizes.hidden=16"], "model.sizes.hidden is 16, but the run has 32"),
        (["model.sizes.hidden_size=16"], "this learner wants"),
        (["tiny"], "its own settings"),
        (["runtime.processes=2"], "the run has 1"),
    ):
        before = ledger(folder)
        assert main(["train", "--resume", str(folder), *words]) == 1
        assert told in capsys.readouterr().err
        assert ledger(folder) == before and "stopped" in dict(before).values(), "the ledger is as it was"
    assert main(["eval", str(folder), "sokoban"]) == 1 and "its own setting" in capsys.readouterr().err
    assert configs.make(folder / "config.toml").model.sizes["hidden"] == 32, "settings that fail are not kept"
    assert main(["train", "--resume", str(folder), "run.steps=4"]) == 0


def test_episodes_that_run_into_the_context_train(tmp_path):
    folder = start(tmp_path, "model.context=40", "run.steps=2")
    with RunDir.open(folder) as store:
        stops = {t.stop for t in store.trajectories()}
        rows = [m for _, m in store.metrics()]
    assert Stop.truncated_tokens in stops and len(rows) == 2
    with pytest.raises(EveryEpisodeFailed, match="full: .* leave no room in a context of 16"):
        start(tmp_path, "model.context=16", "warm_start.steps=0", "run.name=narrow", "env.levels=[9]")


def test_lag_is_measured_and_bounded(tmp_path):
    folder = start(tmp_path, "run.max_lag=2", "run.steps=8")
    with RunDir.open(folder) as store:
        lags = [m["lag_max"] for _, m in store.metrics()]
        assert audit(store).ok
    assert max(lags) <= 2 and max(lags) >= 1


def failing(monkeypatch, episodes: int) -> None:
    """The env crashes in the first so many episodes of training."""
    from quintain.envs.world import WorldEnv

    reset, left = WorldEnv.reset, [episodes]

    async def broken(self, task):
        left[0] -= 1
        if left[0] >= 0:
            raise OSError("no display")
        return await reset(self, task)

    monkeypatch.setattr(WorldEnv, "reset", broken)


@pytest.mark.parametrize("algorithm", ["grpo", "dapo"])
def test_a_run_in_which_every_episode_crashes_ends_with_the_cause(algorithm, tmp_path, monkeypatch, capsys):
    failing(monkeypatch, 10**9)
    given = [f"algorithm={algorithm}", "algorithm.gate=[]", "run.max_refills=4", "warm_start.steps=0"]
    with pytest.raises(EveryEpisodeFailed, match=r"0\.0, task KeyDoor/.*: crashed: OSError: no display"):
        start(tmp_path, *given)
    assert len(rewards(tmp_path / "tiny")) < 3


@pytest.mark.parametrize(("taught", "left"), [(0, ["tiny"]), (1, ["tiny", "tiny-2"])])
def test_a_run_that_fails_in_its_first_evaluation_leaves_its_folder_only_if_it_was_taught(
    taught, left, tmp_path, monkeypatch, capsys
):
    words = ["train", "tiny", *QUIET, f"run.folder={tmp_path}", "eval.instances=4", "run.steps=1", "warm_start.demos=4"]
    words += [f"warm_start.steps={taught}", "eval.final_instances=4"]
    with monkeypatch.context() as patched:
        failing(patched, 10**9)
        assert main(words) == 1
    said = capsys.readouterr().err
    assert "every one of 4 episodes failed" in said
    assert (f"mended, go on with: quintain train --resume {tmp_path / 'tiny'}" in said) == bool(taught)
    assert main(words) == 0 and sorted(p.name for p in tmp_path.iterdir()) == left
    assert not taught or main(["train", "--resume", str(tmp_path / "tiny")]) == 0


def test_a_step_in_which_every_episode_crashed_is_told_once(tmp_path, monkeypatch, capsys):
    failing(monkeypatch, 2 * 8 * 4)
    folder = start(tmp_path, "run.steps=4", "algorithm.gate=[]", "warm_start.steps=0")
    with RunDir.open(folder) as store:
        warnings = [e for e in store.events(["warning"]) if "episodes of this step" in e.payload["what"]]
    assert [w.step for w in warnings] == [0] and "crashed: OSError: no display" in warnings[0].payload["what"]
    assert capsys.readouterr().out.count("WARNING: 32 of 32 episodes of this step failed") == 1


def test_an_overlapped_run_begins_with_what_was_taught_and_accounts_for_every_ticket(tmp_path):
    given = ["eval.instances=30", "eval.greedy=false"]
    synchronous = start(tmp_path, *given, "run.name=synchronous", "run.steps=0")
    overlapped = start(tmp_path, *given, "run.name=overlapped", "run.max_lag=2")
    first = []
    for folder in (synchronous, overlapped):
        with RunDir.open(folder) as store:
            first.append(next(e.payload["eval/success"] for e in store.events(["eval"])))
            books = audit(store)
            lags = [m["lag_max"] for _, m in store.metrics()]
    assert first[0] == first[1] > 0, "the engine's own copy of the weights is that of the learner"
    assert books.ok and books.issued == 6 * 8 and not books.pending and books.dropped, "the gate drops at any time"
    assert 0 < max(lags) <= 2


@pytest.mark.slow
def test_two_ranks_train_and_hold_the_same_weights(tmp_path):
    folder = start(tmp_path, "runtime.processes=2")
    with RunDir.open(folder) as store:
        books = audit(store)
        rows = [m for _, m in store.metrics()]
    assert books.ok and books.issued == 6 * 8 and not books.pending
    assert all(m["groups_played"] == 8 for m in rows), "the metrics of a step cover both ranks"
    assert main(["train", "--resume", str(folder), "run.steps=8"]) == 0, "both ranks learn of the new end"
    assert len(rewards(folder)) == 8
    assert main(["train", "--resume", str(folder), "--from", "6"]) == 0, "and of the step to go on from"
    assert len(rewards(folder)) == 8
    with RunDir.open(folder) as store:
        books = audit(store)
        assert books.ok and books.trained + books.dropped == books.issued
        assert sum(line.dead for line in store.lines(["trained"], dead=True)) == 2 * 2


@pytest.mark.slow
def test_a_rank_whose_repaired_ledger_lacks_its_state_stops_the_resume_before_anything_changes(tmp_path, capsys):
    folder = start(tmp_path, "runtime.processes=2")
    segment = sorted((folder / "segments" / "rank-1").glob("*.seg"))[-1]
    segment.write_bytes(segment.read_bytes()[: segment.stat().st_size * 3 // 4])
    assert main(["doctor", str(folder), "--repair"]) in (0, 1)
    before = ledger(folder)
    assert main(["train", "--resume", str(folder), "run.steps=8"]) == 1
    told = capsys.readouterr().err
    assert "LostBoundary" in told and "rank 1 has lost its state at step 6" in told and "--from 4`" in told
    assert ledger(folder) == before and "stopped" in dict(before).values(), "the ledger is as it was"
    assert main(["train", "--resume", str(folder), "--from", "4", "run.steps=8"]) == 0
    assert len(rewards(folder)) == 8


def test_show_report_and_doctor_read_the_run(straight, capsys):
    assert main(["doctor", str(straight)]) == 0
    assert main(["show", str(straight), "--list"]) == 0
    shown = capsys.readouterr().out
    assert "KeyDoor/0/train/" in shown and "lost 0, duplicated 0" in shown
    assert main(["report", str(straight)]) == 0
    page = (straight / "report.html").read_text()
    assert page.count("<svg") >= 8 and "token_ratio" in page and "data:image/png;base64," in page
    assert "http://" not in page and "https://" not in page and "<script" not in page


def test_a_run_can_be_evaluated(straight, capsys):
    assert main(["eval", str(straight), "-n", "20", "-k", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["episodes"] == 40 and found["instances"] == 20 and set(found["pass"]) == {"1", "2"}
    assert found["pass"]["1"] <= found["pass"]["2"] and abs(found["pass"]["1"] - found["success"]) < 1e-9
