"""The stability study: data are as old, and engines as coarse, as they are said to be; its runner measures, resumes and judges."""

from __future__ import annotations

import json
from typing import Any

import pytest
import stability
import stability_page

from quintain.registry import build, names
from quintain.testing.exercises import EXERCISES, Exercise
from quintain.testing.learning import practise

GRPO = {"name": "grpo", "anchor": "rollout"}


def tiny(**more: Any) -> dict[str, Any]:
    load = stability.workload()
    load["exercise"] |= {"steps": 3, "groups": 2, "members": 3}
    return load | {"method": {"grpo": GRPO}, "seeds": [0], "checks": 1, "digest": "tiny"} | more


def gaps(behind: int = 0, engine: str = "fp32", learner: str = "fp32") -> list[float]:
    exercise = Exercise(score=EXERCISES["pick"].score, behind=behind, steps=4, groups=4, members=4, tokens=2)
    found = practise(build("algorithm", GRPO), exercise, seed=0, engine=engine, learner=learner)
    return [step["mismatch_mean"] for step in found.trace]


def test_the_engine_plays_with_the_weights_of_so_many_steps_ago() -> None:
    assert max(gaps()) < 1e-6
    one, two = gaps(behind=1), gaps(behind=2)
    assert one[0] == two[0] < 1e-6, "nothing is old at the first step"
    assert one[1] == two[1] > 1e-3, "both play with the weights of the start"
    assert two[2] > one[2] > 1e-3


def test_a_coarser_engine_differs_more_from_its_learner() -> None:
    fp32, fp16, bf16 = (max(gaps(engine=name)) for name in ("fp32", "fp16", "bf16"))
    assert fp32 < 1e-6 < fp16 < bf16 / 3 < 0.01
    assert max(gaps(engine="bf16", learner="bf16")) > fp16, "rounding the learner too does not make them one"


def test_the_newest_weights_are_played_only_where_that_is_asked_for() -> None:
    exercise = Exercise(score=EXERCISES["pick"].score, steps=1, groups=1, members=2)
    assert practise(build("algorithm", GRPO), exercise).after is None
    assert 0.0 <= (practise(build("algorithm", GRPO), exercise, checks=2).after or 0.0) <= 1.0


def test_the_workload_is_the_whole_study() -> None:
    load = stability.workload()
    every = list(stability.cells(load))
    assert len(every) == len(set(every)) == 5 * 12 * (6 + 4)
    assert {m["name"] for m in load["method"].values()} <= set(names("algorithm"))
    assert {c.lag for c in every} == {0, 1, 4, 8, 16, 32} and {c.lag for c in every if c.engine != "fp32"} == {0}
    for method in load["method"].values():
        build("algorithm", method)


def test_a_study_goes_on_where_it_stopped_and_is_collected_whole(tmp_path, capsys) -> None:
    rows, target = tmp_path / "rows.jsonl", tmp_path / "results.json"
    load = tiny(staleness={"lags": [0, 1]}, mismatch={"pairs": [["fp32", "fp32"], ["bf16", "fp32"]]})
    stability.run(load, rows, (0, 2))
    assert stability.collect(load, rows, target) == 0 and "1 runs are missing" in capsys.readouterr().out
    first = rows.read_text()
    rows.write_text(first + first[:20])  # the process ended within a line
    stability.run(load, rows)
    assert rows.read_text().startswith(first) and len(stability.known(rows, load)) == 3
    assert stability.collect(load, rows, target) == 0 and "missing" not in capsys.readouterr().out
    found = stability.collected(load, target)
    assert [stability.cell_of(row) for row in found] == list(stability.cells(load))
    assert all(0 <= row["final"] <= 1 and len(row["curve"]) == 3 for row in found)
    rows.unlink()
    assert stability.collect(load, rows, target) == 0 and stability.collected(load, target) == found
    another = load | {"digest": "another"}
    assert not stability.known(rows, another) and not stability.collected(another, target)


@pytest.mark.parametrize(
    ("rewards", "final", "collapsed"),
    [
        ([0.1, 0.1, 0.5, 0.5], 0.2, True),  # a quarter of the gain is left
        ([0.1, 0.1, 0.5, 0.5], 0.31, False),  # more than half of it
        ([0.1, 0.1, 0.15, 0.15], 0.0, False),  # there was nothing to lose
        ([0.1, 0.1, 0.9, 0.1], 0.1, True),  # the best mean of two, 0.5, is what counts
    ],
)
def test_collapse_is_losing_most_of_what_was_gained(rewards: list[float], final: float, collapsed: bool) -> None:
    assert stability.judged(rewards, final, {"window": 2, "gained": 0.1, "kept": 0.5})["collapsed"] == collapsed


def test_a_policy_that_is_no_policy_any_more_counts_as_collapsed() -> None:
    load = tiny()
    load["exercise"] |= {"lr": 1e30}
    row = stability.measure(load, stability.Cell("grpo", 0, "fp16", "fp32", 0))
    assert row["collapsed"] and row["final"] == 0 and "not finite" in row["broken"], row


def committed() -> stability_page.Study:
    return stability_page.study_of(stability.workload(), stability.RESULTS)


def test_the_page_and_its_pictures_are_those_of_the_results(tmp_path, capsys) -> None:
    study, copy = committed(), tmp_path / "page.md"
    assert stability_page.check(study) == 0, capsys.readouterr().out
    copy.write_text(stability_page.PAGE.read_text())
    stability_page.write(study, copy, tmp_path)
    assert copy.read_text() == stability_page.PAGE.read_text()
    for name in stability_page.DRAWN:
        kept = stability_page.PICTURES / f"{name}.svg"
        assert (tmp_path / kept.name).read_text() == kept.read_text(), "run: python tools/stability.py page"


def test_a_page_that_says_something_else_is_found(tmp_path, capsys) -> None:
    study, copy = committed(), tmp_path / "page.md"
    line = next(x for x in stability_page.tables(study).splitlines() if x.startswith("| `dppo` |"))
    copy.write_text(stability_page.PAGE.read_text().replace(line, line.replace("0.", "0.1", 1)))
    assert stability_page.check(study, copy) == 1 and line in capsys.readouterr().out


def test_results_of_another_workload_are_refused() -> None:
    with pytest.raises(SystemExit, match="run the study again"):
        stability_page.Study(stability.workload() | {"digest": "another"}, json.loads(stability.RESULTS.read_text()))


def test_a_seed_counts_once_every_run_of_its_sweep_is_there() -> None:
    load = tiny(seeds=[0, 1], staleness={"lags": [0, 2]}, mismatch={"pairs": [["fp32", "fp32"], ["bf16", "fp32"]]})
    rows = [dict(cell._asdict()) for cell in stability.cells(load)]
    for gone, aged, coarse in ((None, [0, 1], [0, 1]), ((2, "fp32", 1), [0], [0, 1]), ((0, "fp32", 0), [1], [1])):
        left = [row for row in rows if (row["lag"], row["engine"], row["seed"]) != gone]
        study = stability_page.Study(load, {"workload": load["digest"], "rows": left})
        assert (study.aged, study.coarse) == (aged, coarse)


def test_an_interval_holds_the_mean_and_narrows_where_seeds_agree() -> None:
    study = committed()
    assert study.mean([0.5] * 5) == (0.5, 0.5, 0.5) and study.mean([0.0, 1.0]) == (0.5, 0.5, 0.5)
    assert str(study.mean([0.0, 1.0])) == "0.50", "two seeds have no interval"
    wide, narrow = study.mean([0.1, 0.9, 0.5, 0.2, 0.8]), study.mean([0.49, 0.51, 0.5, 0.5, 0.5])
    assert wide.low < 0.5 < wide.high and wide.value == pytest.approx(0.5)
    assert narrow.high - narrow.low < 0.05 < wide.high - wide.low
    assert 0.2 < wide.low < 0.25 and 0.75 < wide.high < 0.8, "percentiles of means of five draws"
