"""A modelled learner, and the failures of everything that has GPUs."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Any

from quintain.simulate.draws import generator
from quintain.simulate.fleet import Fleet
from quintain.simulate.meter import Meter
from quintain.simulate.replica import Replica
from quintain.simulate.settings import Scenario, ScenarioError
from quintain.types import Group, Weights

DAY_S = 86400.0
MOST_TRIES = 1000  # of one step, before the scenario is taken to be hopeless
MOST_FAILURES = 20_000  # of engines within one step, before it is


class ModelledLearner:
    """Takes the time that a batch costs, fails now and then, and publishes version numbers: matches `ports.Learner`.

    Args:
        scenario: what a step costs.
        fleet: paused while it works, where the scenario says so.
        meter: where to count.
        seed: of its failures.
    """

    def __init__(self, scenario: Scenario, fleet: Fleet, meter: Meter, seed: int) -> None:
        self.spec, self.failures = scenario.learner, scenario.failures
        self.fleet, self.meter, self.loop = fleet, meter, meter.loop
        self.pauses = scenario.engine.during_update == "pause"
        self.version = 0
        self.done_s = 0.0  # learner's work since the newest checkpoint
        self.saved_at, self.idle_s = self.loop.time(), 0.0  # of the newest checkpoint; time lost since then
        self.owed_s = 0.0  # work that a restarted job has to do again
        failures = self.failures
        self.per_s = self.spec.gpus * (failures.gpu_per_day + failures.node_per_day / failures.gpus_per_node) / DAY_S
        self.rng = generator(seed, 13)
        fleet.switch_s = self.spec.switch_s

    async def score(self, groups: Sequence[Group], needs: frozenset[str]) -> tuple[Group, ...]:
        """Scoring is part of what a token costs; here the GPUs change hands."""
        if self.pauses:
            self.meter.phase("switch")
            self.fleet.pause()
            await asyncio.sleep(self.spec.switch_s)
        return tuple(groups)

    async def update(self, batch: Any, objective: Any) -> Mapping[str, float]:
        """Learn from a batch: `fixed_s + tokens * gpu_token_s / gpus`, longer where it fails on the way."""
        self.meter.phase("update")
        own = self.spec.fixed_s + batch * self.spec.gpu_token_s / self.spec.gpus
        left, tries = own + self.owed_s, 0
        self._redone(self.owed_s)
        self.owed_s = 0.0
        while left > 0:
            until = -math.log(1.0 - self.rng.random()) / self.per_s if self.per_s else math.inf
            await asyncio.sleep(min(left, until))
            if until >= left:
                break
            tries += 1
            if tries > MOST_TRIES:
                raise ScenarioError(
                    f"step {self.version} failed {tries} times: with a failure each {1 / self.per_s:.3g} s the learner never gets "
                    f"through {left:.3g} s; write checkpoints more often, or let less fail"
                )
            again = await self._fail()
            self._redone(again + own + until - left)
            left = again + own
        self.meter.sums.events += 1
        self.version += 1
        self.done_s += own
        if self.spec.checkpoint_every and self.version % self.spec.checkpoint_every == 0:
            self.meter.phase("checkpoint")
            await asyncio.sleep(self.spec.checkpoint_s)
            self.done_s, self.saved_at, self.idle_s = 0.0, self.loop.time(), 0.0
        return {}

    def _redone(self, seconds: float) -> None:
        self.meter.sums.redone_s += max(0.0, seconds)
        self.idle_s += max(0.0, seconds)

    def since_checkpoint(self) -> float:
        """Seconds of work that a restart throws away: the learner's own, or the whole job's where it is coupled.

        Special cases: 0 without checkpoints, as if every step were one.
        """
        if not self.spec.checkpoint_every:
            return 0.0
        if not self.failures.coupled:
            return self.done_s
        return max(0.0, self.loop.time() - self.saved_at - self.idle_s)

    async def _fail(self) -> float:
        """Restart from the newest checkpoint; gives the seconds of work that are to be done again."""
        again = self.since_checkpoint()
        self.meter.mark("learner", -1)
        self.meter.sums.learner_failures += 1
        if self.failures.coupled:
            for replica in self.fleet.all:
                replica.fall("restart")
        await asyncio.sleep(self.failures.detect_s + self.failures.restart_s)
        self.idle_s += self.failures.detect_s + self.failures.restart_s
        if self.failures.coupled:
            for replica in self.fleet.all:
                replica.release("restart")
        return again

    async def publish(self) -> Weights:
        """The new version."""
        return Weights(version=self.version, kind="modelled")

    def save(self, folder: str) -> None:
        """Nothing is worth saving."""

    def load(self, folder: str) -> None:
        """Nothing was saved."""


class Breakdowns:
    """Fells replicas, and whole nodes, at exponential times; spares stand in until the repair.

    Args:
        scenario: rates, and how long things take.
        fleet: what falls.
        learner: what a coupled job takes along.
        seed: of the times.
    """

    def __init__(self, scenario: Scenario, fleet: Fleet, learner: ModelledLearner, seed: int) -> None:
        self.spec, self.fleet, self.learner = scenario.failures, fleet, learner
        self.rng = generator(seed, 17)
        self.spares = self.spec.spares
        self._tasks: set[asyncio.Task[None]] = set()
        self.hopeless: ScenarioError | None = None  # why the run was cut off
        self._step, self._within = 0, 0  # failures within a step

    def start(self, tasks: asyncio.TaskGroup | None = None) -> list[asyncio.Task[None]]:
        """One task for single GPUs, one for nodes."""
        gpus, run = sum(r.spec.gpus for r in self.fleet.all), asyncio.current_task()
        rates = (self.spec.gpu_per_day * gpus / DAY_S, self.spec.node_per_day * gpus / self.spec.gpus_per_node / DAY_S)
        loop = self.fleet.loop
        return [
            loop.create_task(self._fell(rate, node, run), name=f"breakdowns {i}")
            for i, (rate, node) in enumerate(zip(rates, (False, True), strict=True))
            if rate
        ]

    def _counted(self, per_s: float) -> bool:
        """Count a failure; False where one step has seen too many."""
        if self._step != self.learner.version:
            self._step, self._within = self.learner.version, 0
        self._within += 1
        if self._within > MOST_FAILURES:
            self.hopeless = ScenarioError(
                f"step {self._step} is not done after {MOST_FAILURES:,} failures of engines, one each {1 / per_s:.3g} s; lower "
                "failures.gpu_per_day or failures.node_per_day, or let a step take less long"
            )
        return self.hopeless is None

    async def _fell(self, per_s: float, node: bool, run: asyncio.Task[Any] | None) -> None:
        fleet = self.fleet
        while True:
            await asyncio.sleep(-math.log(1.0 - self.rng.random()) / per_s)
            if not self._counted(per_s):
                if run is not None:
                    run.cancel()
                return
            at = int(self.rng.random() * len(fleet.all))
            hit = [fleet.all[at]]
            if node:
                wide = max(1, self.spec.gpus_per_node // max(1, hit[0].spec.gpus))
                hit = fleet.all[at - at % wide : at - at % wide + wide]
            for replica in hit:
                if "down" not in replica.holds:
                    self._spawn(self._mend(replica))
            if self.spec.coupled:
                self._spawn(self._restart())

    def _spawn(self, work: Any) -> None:
        task = self.fleet.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _mend(self, replica: Replica) -> None:
        meter, spec = self.fleet.meter, self.spec
        meter.sums.engine_failures += 1
        meter.mark("replica", replica.number)
        self.fleet.down(replica)
        await asyncio.sleep(spec.detect_s)
        if self.spares:
            self.spares -= 1
            await asyncio.sleep(spec.swap_s)
            self.fleet.back(replica)
            await asyncio.sleep(max(0.0, spec.repair_s - spec.swap_s))
            self.spares += 1
        else:
            await asyncio.sleep(spec.repair_s)
            self.fleet.back(replica)

    async def _restart(self) -> None:
        """A coupled job starts again as a whole."""
        learner = self.learner
        learner.owed_s = max(learner.owed_s, learner.since_checkpoint())
        for replica in self.fleet.all:
            replica.fall("restart")
        await asyncio.sleep(self.spec.detect_s + self.spec.restart_s)
        learner.idle_s += self.spec.detect_s + self.spec.restart_s
        for replica in self.fleet.all:
            replica.release("restart")
