"""What a run says to somebody who has never seen one: when nothing is learnt, and when nothing is left to do."""

from __future__ import annotations

import re
from pathlib import Path

from quintain.cli import main
from quintain.ledger import RunDir

DOCS = Path(__file__).parents[2] / "docs"
UNSEEN = ("warm_start.steps=0", "eval.instances=0", "eval.final_instances=0")


def test_a_run_that_learns_nothing_says_so_once_and_shows_no_numbers_that_nobody_measured(
    tmp_path, capsys, monkeypatch
):
    hopeless = ("level=9", "steps=3", "run.groups_per_step=1", "run.name=a", f"run.folder={tmp_path}")
    assert main(["train", "tiny", *UNSEEN, *hopeless]) == 0
    told = capsys.readouterr().out.splitlines()
    (warning,) = [line for line in told if "WARNING" in line]
    assert "the last 3 steps trained nothing" in warning and "3 groups" in warning and "warm_start.steps=50" in warning
    assert main(["show", str(tmp_path / "a")]) == 0
    shown = capsys.readouterr().out
    assert "reward 0   parse_error after 1 turn\n" in shown and "parse_error: an action could not be read" in shown
    assert "Map: P you, G goal" in shown and "reward: what the turn earned" not in shown, "a legend of what is there"
    config = tmp_path / "a" / "config.toml"
    config.write_text((kept := config.read_text()).replace('style = "words"', 'style = "plain"'))
    assert main(["show", str(tmp_path / "a")]) == 0
    plain = capsys.readouterr().out
    assert "words: signs" in shown and "words: signs" not in plain and "Map: P you, G goal" in plain
    config.write_text(kept)
    (last,) = [line for line in told if "step 3/3" in line]
    assert "entropy -" in last and "mismatch -" in last and "lag -" in last
    with RunDir.open(tmp_path / "a") as store:
        assert [e.payload["what"] for e in store.events(["warning"])] == [warning.split("WARNING: ")[1]]
    monkeypatch.setattr("quintain.runtime.evaluate.Paced", lambda say: say)
    assert main(["train", "--resume", str(tmp_path / "a"), "steps=5", "eval.final_instances=4"]) == 0
    told = capsys.readouterr().out
    assert "WARNING: the last 2 steps trained nothing" in told, "all that it was resumed for"
    assert "  evaluating: eval: 4 of 4 instances\n" in told and "evaluating: greedy: 1 of 4 instances" in told


def test_going_on_with_a_run_that_has_done_its_steps_says_so_and_changes_nothing(tmp_path, capsys):
    run = str(tmp_path / "a")
    assert main(["train", "tiny", *UNSEEN, "steps=2", "run.name=a", f"run.folder={tmp_path}"]) == 0
    capsys.readouterr()
    before = [(p, p.read_bytes()) for p in sorted((tmp_path / "a" / "segments").rglob("*")) if p.is_file()]
    assert main(["train", "--resume", run]) == 0
    told = capsys.readouterr().out
    assert f"nothing is left to do: {run} has done its 2 steps" in told and "run.steps=4" in told
    assert before == [(p, p.read_bytes()) for p in sorted((tmp_path / "a" / "segments").rglob("*")) if p.is_file()]
    assert main(["train", "--resume", run, "run.steps=4"]) == 0
    assert "resumed at step 2 of 4" in capsys.readouterr().out
    with RunDir.open(run) as store:
        names = {re.sub("/.*", "/", name) for _, row in store.metrics() for name in row}
    told = {
        re.sub("/.*", "/", name) for page in DOCS.glob("*.md") for name in re.findall(r"`([\w/.]+)`", page.read_text())
    }
    assert names and names <= told, "every number of a step stands on a page"


def test_an_algorithm_that_compares_states_across_episodes_trains(tmp_path, capsys):
    """Its digests are recorded by the rollout: nobody asks the learner for them."""
    short = ("algorithm=gigpo", "algorithm.options={}", "steps=1", "run.name=a", f"run.folder={tmp_path}")
    assert main(["train", "tiny", *UNSEEN, *short]) == 0, capsys.readouterr().err


def test_going_on_plays_the_last_evaluation_again_only_where_it_would_be_another(tmp_path, capsys):
    run = str(tmp_path / "a")
    words = (
        "warm_start.steps=0",
        "eval.instances=2",
        "eval.final_instances=3",
        "eval.every=2",
        "run.groups_per_step=1",
    )
    assert main(["train", "tiny", *words, "steps=2", "run.name=a", f"run.folder={tmp_path}"]) == 0
    with RunDir.open(tmp_path / "a") as store:
        before = [(e.time, e.step, dict(e.payload)) for e in store.events(["eval"])]
    capsys.readouterr()
    assert main(["train", "--resume", run, "steps=3"]) == 0
    assert "evaluating after step 2" not in capsys.readouterr().out
    with RunDir.open(tmp_path / "a") as store:
        after = [(e.time, e.step, dict(e.payload)) for e in store.events(["eval"])]
    assert after[:2] == before and [step for _, step, _ in after] == [0, 2, 3]
    assert main(["train", "--resume", run, "steps=4", "level=1", "eval.every=3"]) == 0
    assert "evaluating after step 3" in capsys.readouterr().out, "in another place"
