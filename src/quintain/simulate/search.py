"""Tables over one setting, and a search for good settings of placement, lag and redundancy."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from quintain.simulate.run import once
from quintain.simulate.settings import Scenario, ScenarioError, make
from quintain.simulate.summary import Summary, many

LAGS = (0, 1, 2, 3, 4, 6, 8)
REDUNDANCY = (0, 1, 2, 3, 4)
SLACK = 0.01  # a simpler setting wins if it is at most this much slower


def sweep(scenario: Scenario, override: str, seeds: int) -> list[tuple[str, Summary]]:
    """A summary for each value of `key=a,b,c`.

    Raises:
        ScenarioError: there is no value, or the key is unknown.
    """
    key, mark, text = override.partition("=")
    values = [v for v in text.split(",") if v]
    if not mark or not values:
        raise ScenarioError(f"--sweep {override!r}: write key=a,b,c, such as run.max_lag=0,1,2,4")
    tree = scenario.model_dump()
    scenarios = [
        (value, make(tree, [f"{key}={value}"])) for value in values
    ]  # a wrong one is told before the first runs
    return [(value, many(each, seeds)) for value, each in scenarios]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The best setting found: its overrides, its summary, and that of the scenario as given."""

    overrides: tuple[str, ...]
    before: Summary
    after: Summary
    tried: int


def best(scenario: Scenario, seeds: int = 2, most_lag: int = 8) -> Found:
    """The fastest setting of placement share, `max_lag` and `rollout.redundancy`, at the same number of GPUs.

    Lag and placement are tried together, as a placement that is good for one lag hides what another is worth; then one knob at a time
    is set to the best of its values with the others fixed, until none of them helps. Placement moves GPUs between the
    learner and the first kind of engine. Of settings within 1 % of one another the least stale wins.

    Args:
        scenario: where to start.
        seeds: seeds of each setting.
        most_lag: highest `max_lag` to try.

    Raises:
        ScenarioError: nothing is trained on in the scenario as given.

    Special cases: GPUs that the learner shares with the engines are not moved.
    """
    knobs = {
        "max_lag": tuple(lag for lag in LAGS if lag <= most_lag),
        "redundancy": REDUNDANCY,
        "learner_gpus": _placements(scenario),
    }
    knobs = {name: values for name, values in knobs.items() if len(values) > 1}
    at: dict[str, Any] = {
        "max_lag": scenario.run.max_lag,
        "redundancy": scenario.rollout.redundancy,
        "learner_gpus": scenario.learner.gpus,
    }
    scores: dict[tuple[Any, ...], float] = {}

    def score(point: dict[str, Any]) -> float:
        key = tuple(sorted(point.items()))
        if key not in scores:
            trial = make(scenario.model_dump(), overrides(scenario, point))
            scores[key] = sum(once(trial, trial.run.seed + s).values["throughput"] for s in range(seeds)) / seeds
        return scores[key]

    def climb(at: dict[str, Any]) -> dict[str, Any]:
        for _ in range(4):
            was = dict(at)
            for name, values in knobs.items():
                ranked = [(score({**at, name: v}), v) for v in sorted({*values, at[name]})]
                top = max(s for s, _ in ranked)
                at[name] = next(v for s, v in ranked if s >= top * (1 - SLACK))  # the smallest that is as good
            if at == was:
                break
        return at

    if not score(at):
        raise ScenarioError(
            "no trajectory is trained on in the scenario as given, so no setting can be compared with it: let fewer environments fail "
            "(env.errors, env.hangs, env.step_s against env.deadline_s)"
        )
    pairs = itertools.product(knobs["max_lag"], knobs.get("learner_gpus", (at["learner_gpus"],)))
    starts = [at, *({**at, "max_lag": lag, "learner_gpus": gpus} for lag, gpus in pairs)]
    found = overrides(scenario, climb(dict(max(starts, key=score))))
    after = make(scenario.model_dump(), found)
    return Found(overrides=tuple(found), before=many(scenario, seeds), after=many(after, seeds), tried=len(scores))


def overrides(scenario: Scenario, point: dict[str, Any]) -> list[str]:
    """The `key=value` words that make a point of the search out of a scenario."""
    run, lag = scenario.run, point["max_lag"]
    out = [f"run.max_lag={lag}", f"rollout.redundancy={point['redundancy']}"]
    if lag:
        out += [f"run.look={lag * run.groups_per_step}"]
    settle = max(run.skip, lag + 1)
    out += [f"run.skip={settle}", f"run.steps={run.steps + settle - run.skip}"]
    if point["learner_gpus"] != scenario.learner.gpus:
        name, kind = next(iter(scenario.engines.items()))
        moved = (scenario.learner.gpus - point["learner_gpus"]) // max(1, kind.gpus)
        out += [f"learner.gpus={point['learner_gpus']}", f"engines.{name}.count={kind.count + moved}"]
    return out


def _placements(scenario: Scenario) -> Sequence[int]:
    """Numbers of the learner's GPUs that leave whole replicas on both sides, about eight of them."""
    if scenario.learner.shares_gpus:
        return (scenario.learner.gpus,)
    kind = next(iter(scenario.engines.values()))
    unit = max(1, kind.gpus)
    total = scenario.learner.gpus + kind.count * unit
    wanted: Iterable[float] = (total * share for share in (1 / 16, 1 / 8, 3 / 16, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4))
    odd = scenario.learner.gpus % unit
    options = {int((w - odd) // unit) * unit + odd for w in wanted} | {scenario.learner.gpus}
    return tuple(sorted(o for o in options if 1 <= o <= total - unit))
