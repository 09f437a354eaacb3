"""Whole simulated runs: the bound on staleness, closed forms, determinism, failures, the search."""

from __future__ import annotations

import itertools

import pytest

from quintain.simulate import search, settings, summary
from quintain.simulate.run import once
from quintain.simulate.settings import Scenario

BASE = {
    "run": {"groups_per_step": 8, "steps": 8, "skip": 2},
    "rollout": {"group_size": 4},
    "task": {"t": {"turns": {"low": 2, "high": 6}, "turn_tokens": {"p50": 50, "p99": 400}, "observation_tokens": 20}},
    "engines": {"e": {"count": 3, "slots": 8, "token_s": 0.01, "token_active_s": 0.001, "prefill_tokens_s": 5000.0}},
    "env": {"step_s": {"p50": 0.5, "p99": 5.0}, "reset_s": 0.2},
    "engine": {"sync_s": 0.5},
    "learner": {"fixed_s": 1.0, "gpu_token_s": 1e-4, "gpus": 1},
}


def scenario(*overrides: str) -> Scenario:
    return settings.make(BASE, overrides)


def test_the_same_seed_gives_the_same_outcome_and_another_another() -> None:
    one = scenario("run.max_lag=2", "run.look=16", "env.errors=0.05", "failures.gpu_per_day=2000")
    assert once(one, 3) == once(one, 3)
    assert once(one, 3).values != once(one, 4).values


def test_a_synchronous_run_is_fresh_and_a_lagging_one_keeps_its_bound() -> None:
    assert set(once(scenario(), 0).staleness) == {0}
    for lag in (1, 3):
        seen = once(scenario(f"run.max_lag={lag}", f"run.look={8 * lag}"), 0)
        assert max(seen.staleness) <= lag and max(seen.lag) <= lag
        assert max(seen.staleness) > 0


def test_overlap_helps_up_to_what_the_learner_can_take() -> None:
    rates = [once(scenario(f"run.max_lag={lag}", "run.look=32", "run.skip=4"), 0).values for lag in (0, 1, 4)]
    assert rates[0]["throughput"] < rates[1]["throughput"] < rates[2]["throughput"]
    assert all(0 <= v["learner_busy"] <= 1 and 0 <= v["engine_busy"] <= 1 for v in rates)


def test_a_step_takes_what_its_parts_take() -> None:
    fixed = {
        "run": {"groups_per_step": 2, "steps": 4, "skip": 1},
        "rollout": {"group_size": 2},
        "task": {"t": {"turns": 3, "turn_tokens": 10, "prompt_tokens": 0}},
        "engines": {"e": {"token_s": 0.1, "slots": 4}},
        "env": {"step_s": 2.0, "reset_s": 1.0},
        "reward": {"seconds": 0.5},
        "engine": {"sync_s": 0.25},
        "learner": {"fixed_s": 4.0, "gpu_token_s": 0.01, "gpus": 2},
    }
    found = once(settings.make(fixed), 0).values
    # 1 s of reset, 3 turns of 1 s of tokens and 2 s of the environment, the score; 4 s + 120 tokens * 0.01 / 2; the weights
    assert found["step_s"] == pytest.approx(1 + 3 * (1 + 2) + 0.5 + 4 + 0.6 + 0.25)
    assert found["throughput"] == pytest.approx(4 / found["step_s"])


def test_hanging_environments_cost_what_arithmetic_says() -> None:
    deadline = 60
    streaming = {
        "run": {"groups_per_step": 128, "max_lag": 6, "look": 768, "steps": 40, "skip": 8},
        "rollout": {"group_size": 1},
        "task": {"t": {"turns": 1, "turn_tokens": 1, "prompt_tokens": 0}},
        "engines": {"e": {"token_s": 1e-6, "slots": 4096}},
        "env": {"count": 128, "step_s": {"low": 10, "high": 30}, "deadline_s": deadline},
    }
    p, m = 0.05, 20
    healthy = once(settings.make(streaming), 0).values["throughput"]
    hanging = once(settings.make(streaming, ["env.hangs=0.05"]), 0).values["throughput"]
    said = p * deadline / ((1 - p) * m + p * deadline)
    assert 1 - hanging / healthy == pytest.approx(said, abs=0.03)


def test_redundancy_cuts_the_tail_and_is_paid_in_tokens() -> None:
    slow = ["env.step_s={p50=0.5,p99=20}", "env.errors=0.1"]
    plain, spare = once(scenario(*slow), 0), once(scenario(*slow, "rollout.redundancy=2"), 0)
    assert spare.values["step_s"] < plain.values["step_s"]
    assert spare.values["lost_tokens"] > plain.values["lost_tokens"]
    assert spare.values["invalid"] < plain.values["invalid"]


@pytest.mark.parametrize("partial", ["resume", "turn", "episode"])
def test_what_an_interrupted_request_keeps(partial: str) -> None:
    asked = [
        "run.max_lag=1",
        "run.look=8",
        "engine.during_update=pause",
        f"engine.partial={partial}",
        "learner.fixed_s=5",
    ]
    lost = once(scenario(*asked), 0).values["lost_tokens"]
    assert (lost == 0) == (partial == "resume")


@pytest.mark.parametrize("update", ["in_flight", "drain", "pinned"])
@pytest.mark.parametrize("rolling", ["true", "false"])
def test_every_update_mode_keeps_the_bound(update: str, rolling: str) -> None:
    found = once(scenario("run.max_lag=2", "run.look=16", f"engine.update={update}", f"engine.rolling={rolling}"), 0)
    assert max(found.staleness) <= 2 and found.values["throughput"] > 0


def test_a_rolling_update_of_more_replicas_takes_longer_and_all_at_once_does_not() -> None:
    asked = (
        "run.max_lag=1",
        "run.look=8",
        "learner.fixed_s=0.1",
        "learner.gpu_token_s=0",
        "env.step_s=0.1",
        "env.reset_s=0",
    )
    few, many = (("engines.e.count=4",), ("engines.e.count=32",))

    def step_s(*more: str) -> float:
        return once(scenario(*asked, *more), 0).values["step_s"]

    assert step_s(*many) < step_s(*few)
    assert step_s(*many, "engine.rolling=true") >= 32 * 0.5 > step_s(*few, "engine.rolling=true"), (
        "a roll is 0.5 s a replica"
    )


def test_waiting_for_replicas_to_drain_costs_more_than_weights_in_flight() -> None:
    asked = ["run.max_lag=2", "run.look=16", "task.t.turn_tokens={p50=50,p99=2000}"]
    rates = [once(scenario(*asked, f"engine.update={u}"), 0).values["throughput"] for u in ("in_flight", "drain")]
    assert rates[0] > rates[1]


def test_lockstep_is_slower_than_every_episode_at_its_own_pace() -> None:
    rates = [
        once(scenario(f"rollout.schedule={s}", "env.errors=0.05"), 0).values["throughput"]
        for s in ("trajectory", "turn")
    ]
    assert rates[0] > rates[1]


def test_failures_cost_and_spares_help() -> None:
    often = [
        "run.max_lag=2",
        "run.look=16",
        "run.steps=30",
        "failures.gpu_per_day=4000",
        "failures.detect_s=1",
        "failures.swap_s=2",
    ]
    often += ["failures.repair_s=120", "failures.restart_s=5"]
    healthy = once(scenario(*often, "failures.gpu_per_day=0"), 0).values
    alone = once(scenario(*often), 0).values
    spared = once(scenario(*often, "failures.spares=3"), 0).values
    coupled = once(
        scenario(*often, "failures.spares=3", "failures.coupled=true", "learner.checkpoint_every=4"), 0
    ).values
    assert alone["failures"] > 0 and healthy["failures"] == 0
    assert healthy["throughput"] > spared["throughput"] > alone["throughput"]
    assert spared["throughput"] > coupled["throughput"]


def test_a_window_that_admits_more_leaves_out_what_comes_too_late() -> None:
    asked = [
        "run.max_lag=1",
        "run.look=8",
        "run.over_limit=withhold",
        "run.ahead=16",
        "task.t.turn_tokens={p50=50,p99=3000}",
    ]
    found = once(scenario(*asked, "run.steps=16"), 0)
    assert max(found.staleness) <= 1
    assert found.values["late_groups"] > 0


def test_requests_go_where_they_fit() -> None:
    two = {
        "engines": {
            "reads": {"count": 2, "slots": 16, "token_s": 0.02, "prefill_tokens_s": 20000.0},
            "writes": {"count": 2, "slots": 16, "token_s": 0.005, "prefill_tokens_s": 1000.0},
        },
        "task": {
            "long": {"turns": 1, "prompt_tokens": 100, "turn_tokens": 2000},
            "wide": {"turns": 8, "prompt_tokens": 2000, "turn_tokens": 20, "observation_tokens": 1000},
        },
    }
    tree = {**BASE, **two, "run": {**BASE["run"], "max_lag": 2, "look": 16}}
    rates = {r: once(settings.make(tree, [f"engine.route={r}"]), 0).values["throughput"] for r in ("fit", "random")}
    assert rates["fit"] > 1.1 * rates["random"]


def test_intervals_shrink_with_seeds() -> None:
    few, more = summary.many(scenario(), 3), summary.many(scenario(), 8)
    assert few.half("throughput") > more.half("throughput") > 0
    low, high = more.mean("throughput") - more.half("throughput"), more.mean("throughput") + more.half("throughput")
    assert low < few.mean("throughput") < high or few.half("throughput") > 0
    assert sum(more.staleness.values()) == pytest.approx(1.0)


def test_the_bottleneck_is_named() -> None:
    causes = {
        "learner": ["learner.fixed_s=60", "run.max_lag=2", "run.look=16"],
        "waiting for the slowest of a step": ["env.step_s={p50=0.2,p99=30}"],
    }
    for name, overrides in causes.items():
        found = summary.bottlenecks(scenario(*overrides))
        tied = [n for n, gain in found if gain > found[0][1] - 0.03]
        assert name in tied, (name, found)


@pytest.mark.slow
def test_the_search_comes_within_five_percent_of_the_whole_grid() -> None:
    start = scenario("engines.e.count=6", "learner.gpus=2", "learner.gpu_token_s=2e-3", "env.errors=0.05")
    found = search.best(start, seeds=1, most_lag=4)
    grid = 0.0
    for lag, redundancy, gpus in itertools.product((0, 1, 2, 3, 4), range(5), search._placements(start)):
        point = {"max_lag": lag, "redundancy": redundancy, "learner_gpus": gpus}
        trial = settings.make(start.model_dump(), search.overrides(start, point))
        grid = max(grid, once(trial, 0).values["throughput"])
    ours = once(settings.make(start.model_dump(), found.overrides), 0).values["throughput"]
    assert ours >= 0.95 * grid
    assert settings.make(start.model_dump(), found.overrides).gpus == start.gpus
    assert found.tried < 75


def test_a_sweep_needs_values() -> None:
    with pytest.raises(settings.ScenarioError, match="key=a,b,c"):
        search.sweep(scenario(), "run.max_lag", 1)
    assert [v for v, _ in search.sweep(scenario(), "run.max_lag=0,1", 1)] == ["0", "1"]
