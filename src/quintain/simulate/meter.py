"""What is counted while a scenario runs: gauges over time, sums, and a record of it for the timeline."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field


class Gauge:
    """A number that changes in steps, and its integral over time.

    Args:
        loop: where the time comes from.
        trace: keep every change, for a picture.
    """

    __slots__ = ("area", "changes", "loop", "now", "since", "value")

    def __init__(self, loop: asyncio.AbstractEventLoop, trace: bool = False) -> None:
        self.loop = loop
        self.value, self.area, self.since = 0.0, 0.0, loop.time()
        self.changes: list[tuple[float, float]] | None = [(self.since, 0.0)] if trace else None

    def add(self, by: float) -> None:
        """Change the value from now on."""
        self.set(self.value + by)

    def set(self, value: float) -> None:
        """The value from now on."""
        now = self.loop.time()
        self.area += self.value * (now - self.since)
        self.value, self.since = value, now
        if self.changes is not None:
            self.changes.append((now, value))

    def total(self) -> float:
        """The integral until now."""
        return self.area + self.value * (self.loop.time() - self.since)


@dataclass(slots=True, kw_only=True)
class Sums:
    """Counts of one simulated run."""

    events: int = 0  # things that happened: requests, answers, scores, failures
    tokens: float = 0.0  # said and kept
    lost_tokens: float = 0.0  # said and thrown away
    trajectories: int = 0  # trained on
    trained_tokens: float = 0.0
    invalid: int = 0  # trajectories that failed for good
    retries: int = 0
    losers: int = 0  # redundant members that were cut off
    late_groups: int = 0  # withheld or refilled: too old
    engine_failures: int = 0
    learner_failures: int = 0
    redone_s: float = 0.0  # learner's work done twice
    staleness: Counter[int] = field(default_factory=Counter)  # step - version of the first token, by trajectory
    lag: Counter[int] = field(default_factory=Counter)  # step - version at admission, by group
    step_s: list[float] = field(default_factory=list)


class Meter:
    """Every gauge and sum of one run.

    Args:
        loop: where the time comes from.
        trace: keep what a timeline shows.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, trace: bool = False) -> None:
        self.loop, self.trace = loop, trace
        self.sums = Sums()
        self.env_held, self.env_busy = Gauge(loop, trace), Gauge(loop, trace)
        self.rewarding = Gauge(loop, trace)
        self.phases: dict[str, Gauge] = {
            name: Gauge(loop) for name in ("wait", "switch", "update", "sync", "checkpoint")
        }
        self.spans: list[tuple[str, float, float]] = []  # phase of the learner, from, until
        self.marks: list[tuple[str, float, int]] = []  # failures: what, when, which replica
        self._phase, self._since = "wait", loop.time()
        self.phases["wait"].set(1)

    def phase(self, name: str) -> None:
        """What the learner does from now on."""
        now = self.loop.time()
        if self.trace and now > self._since:
            self.spans.append((self._phase, self._since, now))
        self.phases[self._phase].set(0)
        self._phase, self._since = name, now
        self.phases[name].set(1)

    def mark(self, what: str, which: int) -> None:
        """Something broke."""
        self.sums.events += 1
        if self.trace:
            self.marks.append((what, self.loop.time(), which))
