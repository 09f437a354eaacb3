"""What a scenario or a paper's file may not say, and runs that would have no end or nothing to measure."""

from __future__ import annotations

import pytest

from quintain.cli import main
from quintain.registry import UnknownName
from quintain.simulate import claims, draws, search, settings, summary
from quintain.simulate.draws import DrawError
from quintain.simulate.levers import LEVERS, turned
from quintain.simulate.run import METRICS, Unmeasured, once
from quintain.simulate.settings import ScenarioError

FINITE, RANGE = "finite number", "finite number from 0 to 1e\\+09"
ASYNC = {
    "run": {"groups_per_step": 8, "max_lag": 4, "look": 32},
    "rollout": {"group_size": 2},
    "task": {"t": {"turn_tokens": 50}},
    "engines": {"e": {"slots": 256, "token_s": 0.01}},
}


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("env.hangs=1", "env.hangs is 1: .* less than 1"),
        ("env.errors=1", "env.errors is 1: .* less than 1"),
        ("env.errors=nan", FINITE),
        ("env.step_s=inf", FINITE),
        ("env.step_s=-1", RANGE),
        ("env.step_s={mean=-1}", RANGE),
        ("env.step_s={mean=inf}", RANGE),
        ("env.step_s={values=[1, nan]}", RANGE),
        ("env.step_s={values=['soon']}", RANGE),
        ("env.step_s={mean=1, max=inf}", RANGE),
        ("env.step_s={low=-1, high=1}", RANGE),
        ("env.step_s={p50=1, p99=1e10}", RANGE),
        ("env.deadline_s=inf", FINITE),
        ("env.deadline_s=0", "greater than or equal"),
        ("env.retries=1000000", "env.retries is 1000000: .* less than or equal to 100"),
        ("task.task.turns=inf", FINITE),
        ("task.task.turns=1e9", "would play about .* turns .* are the most: lower run.steps"),
        ("task.task.turn_tokens=nan", FINITE),
        ("task.task.share=inf", FINITE),
        ("task.task.share=0", "the share of every class of tasks is 0"),
        ("engine.sync_s=inf", FINITE),
        ("learner.fixed_s=inf", FINITE),
        ("learner.fixed_s=1e300", "less than or equal to 1000000000"),
        ("failures.gpu_per_day=1e9", "less than or equal to 86400"),
        ("engines.engine.prefill_tokens_s=1e-300", "must be 0 .* or at least 0.001"),
        ("run.steps=1000000000", "would play about"),
        ("run.groups_per_step=" + "9" * 400, "less than or equal"),
        ("run.steps=1", "run.steps is 1 and run.skip 2: no step is left to count; set run.steps to at least 3"),
        ("run.steps=2", "set run.steps to at least 3, or run.skip below 2"),
    ],
)
def test_a_value_without_meaning_or_end_is_refused_before_it_runs(override: str, words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        settings.make({}, [override])


def test_a_draw_is_finite_and_not_negative() -> None:
    for spec in (float("nan"), float("inf"), -1, {"mean": -1}, {"p50": 1, "p99": float("inf")}):
        with pytest.raises(DrawError, match=RANGE):
            draws.make(spec)


def test_counted_steps_that_took_no_time_are_refused_with_the_steps_that_would_do() -> None:
    with pytest.raises(Unmeasured, match=r"steps 1 to 2 were counted.* set run\.skip=5 and run\.steps=10 or more"):
        once(settings.make(ASYNC, ["run.steps=2", "run.skip=1"]), 0)
    assert once(settings.make(ASYNC, ["run.skip=5", "run.steps=10"]), 0).values["step_s"] == pytest.approx(0.1)


def test_the_gain_of_a_lag_is_counted_after_its_window_has_settled() -> None:
    found = summary.bottlenecks(settings.make(ASYNC, ["run.max_lag=0", "run.look=0", "run.steps=1", "run.skip=0"]))
    assert all(gain < 10 for _, gain in found), found


@pytest.mark.parametrize("override", ["env.step_s=100", "env.hangs=0.9999999"])
def test_where_every_episode_fails_nothing_is_divided_by(override: str) -> None:
    nothing = settings.make(ASYNC, [override, "run.max_lag=0", "run.steps=4"])
    assert once(nothing, 0).values["throughput"] == 0
    assert summary.bottlenecks(nothing) == []
    with pytest.raises(ScenarioError, match="no trajectory is trained on"):
        search.best(nothing, seeds=1)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ([], "step 0 is not done after 20,000 failures of engines"),
        (["failures.coupled=true"], "step 0 is not done after 20,000 failures of engines"),
        (
            ["engine.partial=turn", *(f"failures.{k}_s=0" for k in ("repair", "detect"))],
            "lost 1000 times: it never gets",
        ),
        (["engine.partial=episode", *(f"failures.{k}_s=0" for k in ("repair", "detect"))], "lost 1000 times"),
    ],
)
def test_failures_that_let_nothing_through_end_the_run_by_name(overrides: list[str], words: str) -> None:
    few = ["run.groups_per_step=1", "rollout.group_size=1", "task.task.turn_tokens=5000", "failures.gpu_per_day=86400"]
    with pytest.raises(ScenarioError, match=words):
        once(settings.make({}, [*few, *overrides]), 0)


def test_a_lever_stays_within_the_limits() -> None:
    at_most = settings.make({"failures": {"gpu_per_day": 86400}, "env": {"hangs": 0.9}})
    by_name = {lever.name: lever for lever in LEVERS}
    assert turned(at_most, by_name["failures of GPUs"], 2.0) is None
    faults = turned(at_most, by_name["environment faults"], 2.0)
    assert faults is not None and 0.9 < faults.env.hangs < 1


def test_the_metrics_that_a_claim_may_name_are_those_of_a_run() -> None:
    assert tuple(once(settings.make(ASYNC, ["run.skip=5", "run.steps=10"]), 0).values) == METRICS


@pytest.mark.parametrize(
    ("was", "now", "error", "words"),
    [
        ('metric = "throughput"', 'metric = "throughputs"', UnknownName, "unknown metric .*did you mean 'throughput'"),
        ('baseline = "batch"', 'baseline = "bach"', UnknownName, "unknown variant .*did you mean 'batch'"),
        ('variant = "dart"', 'variant = "dart"\ncase = "x"', UnknownName, "unknown case 'x'"),
        ('variant = "dart"', 'variant = "dart"\nreduce = "sum"', ScenarioError, "claim.0.reduce is 'sum'"),
        ("published = 1.6", 'published = "much"', ScenarioError, "claim.0.published is 'much'"),
        ("published = 1.6", "published = nan", ScenarioError, "finite number"),
        ("published = 1.6", "low = 2\nhigh = 1", ScenarioError, "low and high with low <= high"),
        ("published = 1.6", "", ScenarioError, "needs either published, or low and high"),
        ("published = 1.6", "publisht = 1.6", ScenarioError, "claim.0.publisht is 1.6"),
        ("seeds = 3", "seeds = 0", ScenarioError, "seeds is 0: .* greater than or equal to 1"),
        ("seeds = 3", "", ScenarioError, "seeds is .*field required"),
        ("tolerance = 0.15", 'tolerance = "some"', ScenarioError, "tolerance is 'some'"),
        ("tolerance = 0.15", "tolerance = -1", ScenarioError, "tolerance is -1"),
        ("max_lag = 2", "max_lag = -2", ScenarioError, "run.max_lag is -2"),
    ],
)
def test_a_wrong_paper_s_file_is_refused_before_it_runs(tmp_path, was, now, error, words) -> None:
    text, path = claims.papers()["dart"].read_text(), tmp_path / "mine.toml"
    assert was in text
    path.write_text(text.replace(was, now, 1))
    with pytest.raises(error, match=words):
        claims.load(str(path))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["SMALL", "--variant", "foo"], "--variant foo: small.toml is one scenario and no paper"),
        (["SMALL", "--case", "foo"], "--case foo: small.toml is one scenario"),
        (["april", "--case", "qwen3_4b_dap"], "unknown case of april 'qwen3_4b_dap'; did you mean 'qwen3_4b_dapo'?"),
        (["april", "--case", "nope"], "unknown case of april 'nope'; there are: qwen3_4b_dapo"),
        (
            ["april", "--case", "qwen3_4b_dapo"],
            "--case is for one run, and a paper is compared as a whole; add --variant",
        ),
        (["april", "--best"], "--best is for one run"),
        (["april", "--variant", "april", "--case", "nope"], "unknown case of april 'nope'"),
        (["SMALL", "--sweep", "env.hangs=0.1,1"], "env.hangs is 1"),
        (["SMALL", "--sweep", "run.max_lag=0,1", "--best"], "--sweep and --best answer different questions"),
        (["SMALL", "--best", "--why"], "--best and --why answer different questions"),
        (
            ["SMALL", "--sweep", "run.max_lag=0,1", "--timeline", "t.svg"],
            "--timeline draws one scenario and --sweep runs many",
        ),
        (["SMALL", "--best", "--timeline", "t.svg"], "and --best runs many; leave --best out, and give the keys"),
    ],
)
def test_an_option_without_meaning_is_refused(tmp_path, words, said, capsys) -> None:
    small = tmp_path / "small.toml"
    small.write_text("[run]\nsteps = 4\n")
    assert main(["simulate", *(str(small) if w == "SMALL" else w for w in words), "--seeds", "1"]) == 1
    assert said in capsys.readouterr().err


def test_a_window_that_has_not_settled_is_told(tmp_path, capsys) -> None:
    small = tmp_path / "small.toml"
    small.write_text("[run]\nsteps = 4\n[env]\nstep_s = { p50 = 1, p99 = 5 }\n")
    assert main(["simulate", str(small), "run.max_lag=2", "--seeds", "1"]) == 0
    assert "before the window has settled: run.skip=3 run.steps=5 tells more" in capsys.readouterr().out
    assert main(["simulate", str(small), "env.step_s=100", "--seeds", "1"]) == 0
    assert "no trajectory was trained on" in capsys.readouterr().out
