"""One simulated run: the real `loop.train` and `Window`, with every slow thing modelled, on a virtual clock."""

from __future__ import annotations

import asyncio
import gc
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from quintain import loop as loops
from quintain.parts import Cast, Rollout
from quintain.ports import Learner
from quintain.runtime import clock
from quintain.simulate.draws import generator
from quintain.simulate.fleet import Fleet
from quintain.simulate.learner import Breakdowns, ModelledLearner
from quintain.simulate.meter import Meter, Sums
from quintain.simulate.play import Players
from quintain.simulate.settings import Scenario, ScenarioError
from quintain.types import Group, QuintainError, Task, Ticket
from quintain.window import WITHHELD, OverLimit, Window

METRICS = (
    "throughput",
    "tokens",
    "said",
    "rollout",
    "step_s",
    "engine_busy",
    "engine_slots",
    "learner_busy",
    "learner_waits",
    "sync",
    "env_busy",
    "env_held",
    "reward_busy",
    "lost_tokens",
    "invalid",
    "late_groups",
    "failures",
    "staleness",
    "cost_1k",
)
LONGEST_S = 1e12  # virtual seconds after which a run is given up


class Unmeasured(QuintainError):
    """The steps that were counted took no time, so that nothing can be said of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one seed of a scenario gave, counted from step `run.skip` on.

    `values` holds one number for each metric; `staleness` and `lag` are counts; `trace` is kept for a timeline.
    """

    seed: int
    values: Mapping[str, float]
    staleness: Mapping[int, int]
    lag: Mapping[int, int]
    events: int
    seconds: float  # virtual, from the very start
    trace: Any = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Everything that is counted, at one moment."""

    at: float
    areas: Mapping[str, float]
    sums: Sums


class SimulatedRun:
    """Matches `loop.Run`: its parts take time and do nothing else."""

    def __init__(self, scenario: Scenario, seed: int, meter: Meter) -> None:
        self.scenario, self.meter, self.loop = scenario, meter, meter.loop
        run = scenario.run
        self.window = make_window(scenario)
        self.fleet = Fleet(scenario, meter, seed)
        learner = ModelledLearner(scenario, self.fleet, meter, seed)
        self.learner: Learner = learner
        self.breakdowns = Breakdowns(scenario, self.fleet, learner, seed)
        self.players = Players(scenario, self.fleet, meter, seed, lambda: self.window.step)
        self.rollout: Rollout = self.players.group
        engines: Any = {"policy": self.fleet}
        self.cast = Cast(env=_no_env, engines=engines, renderers={})
        self.objective: Any = None
        self.needs: frozenset[str] = frozenset()
        self.seed = seed
        self.total = run.total
        names = list(scenario.task)
        self._names, self._shares = names, _cumulative([scenario.task[n].share for n in names])
        self._skip = run.skip
        self._step_began = self.loop.time()
        self.start: Reading | None = None  # when counting began, and when it ended
        self.end: Reading | None = None

    def issue(self, index: int) -> Ticket | None:
        """A ticket of a class of tasks drawn by its share."""
        at = generator(self.seed, index, -7).random() if len(self._names) > 1 else 0.0
        kind = self._names[min(bisect(self._shares, at), len(self._names) - 1)]
        return Ticket(index=index, task=Task(key=f"{kind}/{index}", env=kind), version=self.window.step)

    async def reward(self, group: Group) -> Group:
        """Members are scored one by one when they end, so there is nothing left to do."""
        return group

    def steps(self) -> Iterator[int]:
        """Every step; counting begins at step `skip` and ends before step `steps`, while the window is still full."""
        for step in range(self.total):
            if step == self._skip:
                self.start = read(self)
            elif step == self.scenario.run.steps:
                self.end = read(self)
            self._step_began = self.loop.time()
            yield step
        self.end = self.end or read(self)

    def credit(self, groups: Sequence[Group]) -> Sequence[Group]:
        """Book how stale the step's trajectories are, and what was left out."""
        sums, step = self.meter.sums, self.window.step
        sums.late_groups += sum(1 for _, why in self.window.dropped if why in ("withheld", "lag"))
        self.window.dropped = []
        for group in groups:
            if group.tags.get(WITHHELD):
                continue
            sums.lag[step - group.version] += 1
            for oldest in group.tags["oldest"]:
                sums.staleness[step - oldest] += 1
        return groups

    def pack(self, groups: Sequence[Group]) -> Any:
        """The tokens of the batch: all that a modelled learner looks at."""
        sums = self.meter.sums
        tokens = sum(g.tags["tokens"] for g in groups)
        sums.trajectories += sum(g.tags["members"] for g in groups)
        sums.trained_tokens += tokens
        return tokens

    async def record(self, step: int, groups: Sequence[Group], metrics: Mapping[str, float]) -> None:
        """Book how long the step took."""
        self.meter.sums.step_s.append(self.loop.time() - self._step_began)


def make_window(scenario: Scenario) -> Window:
    """The real window with the scenario's limits."""
    run = scenario.run
    over = OverLimit(run.over_limit, run.ahead)
    return Window(run.groups_per_step, run.max_lag, run.look, steps=run.total, over=over)


def integrals(run: SimulatedRun) -> dict[str, float]:
    """Every time integral of the run until now."""
    meter, fleet = run.meter, run.fleet
    out = {f"phase.{name}": gauge.total() for name, gauge in meter.phases.items()}
    out |= {"env_held": meter.env_held.total(), "env_busy": meter.env_busy.total(), "reward": meter.rewarding.total()}
    for name, kind in fleet.kinds.items():
        out[f"busy.{name}"] = sum(r.busy.total() * r.spec.gpus for r in kind)
        out[f"slots.{name}"] = sum(r.slots.total() / r.spec.slots * r.spec.gpus for r in kind)
    for replica in fleet.all:
        replica._advance()
    out["said"] = sum(r.said for r in fleet.all)
    return out


def once(scenario: Scenario, seed: int, trace: bool = False) -> Outcome:
    """Run a scenario for one seed.

    Args:
        scenario: what to run.
        seed: of every draw.
        trace: keep what a timeline shows.

    Returns:
        What was measured; the same seed gives the same outcome to the last bit.

    Raises:
        Unmeasured: the counted steps took no time.
        ScenarioError: a step, an episode or a request fails so often that the run would have no end.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(200_000, 50, 1000)  # thousands of live coroutines would be walked over and over
    try:
        return clock.run(_once(scenario, seed, trace), limit_s=LONGEST_S)
    except clock.TimeLimitError as error:
        raise ScenarioError(
            f"seed {seed} is not done after {LONGEST_S:g} virtual seconds: let things take less long, or less fail"
        ) from error
    finally:
        gc.set_threshold(*thresholds)


async def _once(scenario: Scenario, seed: int, trace: bool) -> Outcome:
    meter = Meter(asyncio.get_running_loop(), trace)
    run = SimulatedRun(scenario, seed, meter)
    broken = run.breakdowns.start()
    try:
        await loops.train(run)
    except asyncio.CancelledError:
        if run.breakdowns.hopeless is not None:
            raise run.breakdowns.hopeless from None
        raise
    finally:
        for task in broken:
            task.cancel()
    assert run.start is not None and run.end is not None  # every step was done
    was, now = run.start.sums, run.end.sums
    return Outcome(
        seed=seed,
        values=measures(scenario, run.start, run.end),
        staleness=dict(sorted((now.staleness - was.staleness).items())),
        lag=dict(sorted((now.lag - was.lag).items())),
        events=meter.sums.events,
        seconds=meter.loop.time(),
        trace=run if trace else None,
    )


def read(run: SimulatedRun) -> Reading:
    """Everything that is counted, now."""
    return Reading(at=run.loop.time(), areas=integrals(run), sums=deepcopy(run.meter.sums))


def measures(scenario: Scenario, start: Reading, end: Reading) -> dict[str, float]:
    """The metrics between two readings.

    Raises:
        Unmeasured: no time lies between them, or none in which anything was played.
    """
    was, now, span = start.sums, end.sums, end.at - start.at
    d = {key: end.areas[key] - start.areas[key] for key in end.areas}
    gpus = sum(kind.count * kind.gpus for kind in scenario.engines.values()) or 1
    steps = now.step_s[len(was.step_s) :]
    learning = d["phase.update"] + d["phase.switch"] + d["phase.checkpoint"]
    rolling = span - (learning + d["phase.sync"] if scenario.engine.during_update == "pause" else 0.0)
    if rolling <= 1e-9 * max(1.0, span):
        raise Unmeasured(_too_few(scenario))
    trajectories = now.trajectories - was.trajectories
    envs = scenario.env.count or max(1.0, d["env_held"] / span)
    lost = now.lost_tokens - was.lost_tokens
    out = {
        "throughput": trajectories / span,
        "tokens": (now.trained_tokens - was.trained_tokens) / span,
        "said": d["said"] / span,
        "rollout": trajectories / rolling,
        "step_s": sum(steps) / len(steps),
        "engine_busy": sum(v for k, v in d.items() if k.startswith("busy.")) / span / gpus,
        "engine_slots": sum(v for k, v in d.items() if k.startswith("slots.")) / span / gpus,
        "learner_busy": d["phase.update"] / span,
        "learner_waits": d["phase.wait"] / span,
        "sync": (d["phase.sync"] + d["phase.switch"]) / span,
        "env_busy": d["env_busy"] / span / envs,
        "env_held": d["env_held"] / span / envs,
        "reward_busy": d["reward"] / span / (scenario.reward.workers or max(1.0, d["reward"] / span)),
        "lost_tokens": lost / max(1.0, d["said"]),
        "invalid": (now.invalid - was.invalid) / max(1, trajectories + now.invalid - was.invalid),
        "late_groups": float(now.late_groups - was.late_groups),
        "failures": float(now.engine_failures + now.learner_failures - was.engine_failures - was.learner_failures),
        "staleness": _mean(now.staleness - was.staleness),
        "cost_1k": cost_per_second(scenario) * span / max(1, trajectories) * 1000,
    }
    return out


def _too_few(scenario: Scenario) -> str:
    run = scenario.run
    skip = max(run.skip, run.max_lag + 1)
    steps = max(skip + max(run.steps - run.skip, run.max_lag + 1), run.steps + 1)
    return (
        f"nothing was played while steps {run.skip} to {run.steps} were counted: all of it was done before, as steps 0 to "
        f"{run.max_lag} begin at once; set run.skip={skip} and run.steps={steps} or more"
    )


def cost_per_second(scenario: Scenario) -> float:
    """Price of all that stands there for one second."""
    engines = sum(kind.count * kind.gpus * kind.gpu_hour for kind in scenario.engines.values())
    learner = 0.0 if scenario.learner.shares_gpus else scenario.learner.gpus * scenario.learner.gpu_hour
    return (engines + learner + scenario.env.count * scenario.env.env_hour) / 3600


def _mean(counts: Counter[int]) -> float:
    total = sum(counts.values())
    return sum(k * v for k, v in counts.items()) / total if total else 0.0


def _cumulative(shares: Sequence[float]) -> list[float]:
    total, out, at = sum(shares) or 1.0, [], 0.0
    for share in shares:
        at += share / total
        out.append(at)
    return out


def _no_env(task: Task) -> Any:
    raise ScenarioError(f"{task.key}: a modelled rollout asks no environment")
