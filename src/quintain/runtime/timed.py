"""Where the wall time of a step went: a clock with laps, and a learner that books its phases on it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from quintain import faults
from quintain.parts import Objective
from quintain.ports import Learner
from quintain.runtime.proof import Proof
from quintain.types import Batch, Group, Weights
from quintain.waits import waiting


@dataclass(kw_only=True, slots=True)
class Clock:
    """Where the wall time of a step went, in seconds: laps between calls of `lap`."""

    at: float = field(default_factory=time.perf_counter)
    laps: dict[str, float] = field(default_factory=dict)

    def lap(self, name: str) -> None:
        """Book the time since the last lap under `name`."""
        now = time.perf_counter()
        self.laps[name] = self.laps.get(name, 0.0) + now - self.at
        self.at = now

    def restart(self) -> dict[str, float]:
        """The laps so far; the next ones start from here."""
        laps, self.laps, self.at = self.laps, {}, time.perf_counter()
        return laps


class Timed:
    """The learner of a run, with its phases booked on a clock."""

    def __init__(self, learner: Learner, clock: Clock, proof: Proof | None = None) -> None:
        self.learner, self.clock, self.proof = learner, clock, proof

    async def score(self, groups: Sequence[Group], needs: frozenset[str]) -> tuple[Group, ...]:
        """The time until now went to playing."""
        self.clock.lap("rollout")
        with waiting("learner score"):
            return await self.learner.score(groups, needs)

    async def update(self, batch: Batch, objective: Objective) -> Mapping[str, float]:
        """The optimizer steps, on a batch that was audited; the learner has its rows judged before it changes the weights."""
        if self.proof is not None:
            await self.proof.look(batch)
            self.clock.lap("audit")
        with waiting("update"):
            faults.point("learner.update")
            metrics = await self.learner.update(batch, objective)
        if self.proof is not None:
            await self.proof.trained(metrics)
        self.clock.lap("update")
        return metrics

    async def publish(self) -> Weights:
        """The new version."""
        with waiting("publish"):
            return await self.learner.publish()

    def save(self, folder: str) -> None:
        """See `Learner.save`."""
        self.learner.save(folder)

    def load(self, folder: str) -> None:
        """See `Learner.load`."""
        self.learner.load(folder)
