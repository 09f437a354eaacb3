"""Several seeds of a scenario: means with 95 % intervals, and the name of the bottleneck."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quintain.simulate.levers import LEVERS, turned
from quintain.simulate.run import Outcome, Unmeasured, once
from quintain.simulate.settings import Scenario, ScenarioError, make

# 97.5 % points of Student's distribution with 1, 2, 3... degrees of freedom
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
STUDENT += (2.120, 2.110, 2.101, 2.093)
SIGNIFICANT = 0.01  # a gain in throughput below this is no bottleneck


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean and half width of its 95 % interval; the half width of one value is infinite.

    Example:
        >>> mean, half = interval([1.0, 2.0, 3.0])
        >>> round(mean, 2), round(half, 2)
        (2.0, 2.48)
    """
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return mean, math.inf
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1))
    return mean, (STUDENT[n - 2] if n - 2 < len(STUDENT) else 1.96) * spread / math.sqrt(n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The outcomes of a scenario's seeds."""

    scenario: Scenario
    outcomes: tuple[Outcome, ...]

    def mean(self, name: str) -> float:
        """Mean of a metric over the seeds."""
        return interval([o.values[name] for o in self.outcomes])[0]

    def half(self, name: str) -> float:
        """Half width of its 95 % interval."""
        return interval([o.values[name] for o in self.outcomes])[1]

    @property
    def staleness(self) -> dict[int, float]:
        """Share of trajectories by steps between their first token's version and the step that trained them."""
        counts: Counter[int] = Counter()
        for outcome in self.outcomes:
            counts.update(outcome.staleness)
        total = sum(counts.values()) or 1
        return {k: counts[k] / total for k in sorted(counts)}

    @property
    def events(self) -> int:
        """Things that happened, over all seeds."""
        return sum(o.events for o in self.outcomes)

    def json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        names = self.outcomes[0].values
        return {
            "metrics": {n: {"mean": self.mean(n), "half": _finite(self.half(n))} for n in names},
            "staleness": {str(k): v for k, v in self.staleness.items()},
            "seeds": [o.seed for o in self.outcomes],
            "events": self.events,
            "virtual_s": sum(o.seconds for o in self.outcomes),
            "gpus": self.scenario.gpus,
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def many(scenario: Scenario, seeds: int) -> Summary:
    """Run a scenario for `seeds` seeds from `run.seed` on."""
    first = scenario.run.seed
    return Summary(scenario=scenario, outcomes=tuple(once(scenario, s) for s in range(first, first + seeds)))


def bottlenecks(scenario: Scenario, metric: str = "throughput") -> list[tuple[str, float]]:
    """What each relief alone would gain, largest first: the first one is the bottleneck.

    Every lever of `quintain.simulate.levers` that is no property of the task is eased by a fifth (and `max_lag` by one step) with the
    seed unchanged, and the run is simulated again. Gains below 1 % are left out.

    Returns:
        Names and relative gains of `metric`, such as `[("decoding", 0.17), ("learner", 0.04)]`.

    Special cases: [] where nothing helps by itself, or where `metric` is 0 as it stands, so that no gain is relative to it; what
    cannot be eased within the limits of a scenario, or leaves nothing to measure then, is left out.
    """
    base = once(scenario, scenario.run.seed).values[metric]
    if not base:
        return []
    easier = {lever.name: turned(scenario, lever, lever.relief) for lever in LEVERS if not lever.workload}
    easier["waiting for the slowest of a step"] = _lagging(scenario)
    gains = [(name, value / base - 1) for name, eased in easier.items() if (value := _value(eased, metric)) is not None]
    return sorted(((n, g) for n, g in gains if g >= SIGNIFICANT), key=lambda pair: -pair[1])


def _value(scenario: Scenario | None, metric: str) -> float | None:
    try:
        return None if scenario is None else once(scenario, scenario.run.seed).values[metric]
    except Unmeasured:
        return None


def _lagging(scenario: Scenario) -> Scenario | None:
    """The scenario with one step more of lag, counted after its window has settled."""
    more = scenario.run.max_lag + 1
    skip = max(scenario.run.skip, more) + 1
    look = max(scenario.run.look, more * scenario.run.groups_per_step)
    keys = [
        f"run.max_lag={more}",
        f"run.look={look}",
        f"run.skip={skip}",
        f"run.steps={scenario.run.steps + skip - scenario.run.skip}",
    ]
    try:
        return make(scenario.model_dump(), keys)
    except ScenarioError:
        return None
