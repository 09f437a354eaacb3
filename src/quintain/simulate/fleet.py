"""All engine replicas of a scenario behind the engine port: routing, updates, and what happens when a replica is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from quintain.simulate.draws import generator, mean
from quintain.simulate.meter import Meter
from quintain.simulate.replica import Job, Lost, Replica
from quintain.simulate.settings import Scenario, ScenarioError, TaskPart
from quintain.types import QuintainError, Weights

LOOKED_AT = 8  # replicas of a kind that a request compares; all where there are no more
MOST_LOST = 1000  # times that one request or episode is lost, before the scenario is taken to be hopeless


class Restart(QuintainError):
    """The request was lost and nothing of the episode is kept."""


class Seat:
    """One episode as the fleet sees it: its context, where its prefix lies, and the version that it is pinned to.

    Args:
        ticket: of its group.
        expects: tokens of a turn that a router may count on.
        since: version at admission; replicas that are not as far yet do not play it, or the window's bound would not hold.
    """

    __slots__ = ("cached", "context", "expects", "oldest", "place", "since", "ticket", "version")

    def __init__(self, ticket: int, expects: float, since: int = 0) -> None:
        self.ticket, self.expects, self.since = ticket, expects, since
        self.context = 0.0  # tokens so far
        self.cached = 0.0  # of them in the cache of `place`
        self.place: Replica | None = None
        self.version: int | None = None
        self.oldest: int | None = None  # version of the first token


class Fleet:
    """The engines of a scenario.

    Args:
        scenario: its kinds of engines and what they do.
        meter: where to count.
        seed: of routing and of which replicas are slow.
    """

    def __init__(self, scenario: Scenario, meter: Meter, seed: int) -> None:
        self.options, self.meter, self.loop = scenario.engine, meter, meter.loop
        self.rng: Random = generator(seed, 11)
        failures = scenario.failures
        self.kinds: dict[str, list[Replica]] = {}
        self.all: list[Replica] = []
        for name, spec in scenario.engines.items():
            slow = [self.rng.random() < failures.slow_share for _ in range(spec.count)]
            self.kinds[name] = [
                Replica(spec, self.options, meter, len(self.all) + i, failures.slow_factor if s else 1.0)
                for i, s in enumerate(slow)
            ]
            self.all += self.kinds[name]
        self.up: dict[str, list[Replica]] = {name: list(kind) for name, kind in self.kinds.items()}
        self.paused = False
        self.switch_s = 0.0  # what it takes to hand shared GPUs back
        self._any_up: asyncio.Future[None] | None = None
        self._rolling: asyncio.Task[None] | None = None

    # -- requests --------------------------------------------------------------------------------------------------

    async def speak(self, seat: Seat, tokens: float) -> None:
        """Say `tokens` more tokens after the seat's context.

        Raises:
            Restart: the replica was lost, and `engine.partial` keeps nothing of an episode.
            ScenarioError: the request was lost `MOST_LOST` times.
        """
        left, sums, times = tokens, self.meter.sums, 0
        while True:
            replica = await self._choose(seat)
            fresh = seat.context - (seat.cached if seat.place is replica and self.options.sticky else 0.0)
            job = Job(left, seat.context, fresh, seat.ticket, seat.version)
            done = replica.submit(job)
            seat.place = replica
            try:
                await done
            except Lost as lost:
                seat.place = None
                times = lost_once_more(times)
                if self.options.partial == "episode":
                    sums.lost_tokens += lost.tokens
                    raise Restart("the episode starts again") from None
                if self.options.partial == "turn":
                    sums.lost_tokens += lost.tokens
                else:
                    left -= lost.tokens
                    seat.context += lost.tokens
                    self._born(seat, job)
                continue
            except asyncio.CancelledError:
                sums.lost_tokens += replica.drop(job)
                raise
            self._born(seat, job)
            seat.context += left
            seat.cached = seat.context
            return

    def _born(self, seat: Seat, job: Job) -> None:
        if seat.oldest is None and job.version is not None:
            seat.oldest = job.version
        if self.options.update == "pinned" and seat.version is None:
            seat.version = job.version

    async def _choose(self, seat: Seat) -> Replica:
        if self.options.sticky and seat.place is not None and "down" not in seat.place.holds:
            return seat.place
        while True:
            found = self._best(seat)
            if found is not None:
                return found
            if self._any_up is None:
                self._any_up = self.loop.create_future()
            await asyncio.shield(self._any_up)

    def _best(self, seat: Seat) -> Replica | None:
        if self.options.route == "random":
            up = [r for kind in self.up.values() for r in kind if r.version >= seat.since or self._rolling is None]
            return up[int(self.rng.random() * len(up))] if up else None
        best, least = None, 0.0
        for replica in self._candidates(seat.since):
            cost = replica.load
            if self.options.route == "fit":
                spec, n = replica.spec, replica.running + replica.filling + 1
                took = seat.expects * (spec.token_s + spec.token_active_s * n) / replica.speed
                if spec.prefill_tokens_s:
                    took += seat.context / spec.prefill_tokens_s
                cost = took * max(1.0, cost)
            if best is None or cost < least:
                best, least = replica, cost
        return best

    def _candidates(self, since: int) -> Sequence[Replica]:
        out: list[Replica] = []
        for kind in self.up.values():
            if self._rolling is not None:  # the first replicas that are updated must not take all that waits
                kind = [r for r in kind if r.version >= since and r.load < 1]
            if len(kind) <= LOOKED_AT:
                out += kind
            else:
                out += [kind[int(self.rng.random() * len(kind))] for _ in range(LOOKED_AT)]
        return out

    # -- the learner's side ----------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Every replica stands still while the learner works; what is not kept of the requests is lost."""
        self.paused = True
        for replica in self.all:
            if self.options.partial != "resume":
                replica.fall()
            replica.hold("learner")

    async def load(self, weights: Weights) -> None:
        """New weights for every replica, as `engine.update` and `engine.rolling` say; a paused fleet goes on afterwards."""
        self.meter.phase("sync")
        if self._rolling is not None:
            await self._rolling
        version = weights.version
        if self.options.rolling and not self.paused:
            self._rolling = self.loop.create_task(self._roll(version))
        else:
            await asyncio.gather(*(r.update(version, self.paused) for r in self.all))
        if self.paused:
            self.meter.phase("switch")
            await asyncio.sleep(self.switch_s)
            self.paused = False
            for replica in self.all:
                replica.release("learner")
        self.meter.phase("wait")

    async def _roll(self, version: int) -> None:
        for replica in self.all:
            await replica.update(version, False)
            self._tell()
        self._rolling = None
        self._tell()

    # -- failures --------------------------------------------------------------------------------------------------

    def down(self, replica: Replica) -> None:
        """A replica falls: its requests go elsewhere."""
        for kind in self.up.values():
            if replica in kind:
                kind.remove(replica)
        replica.fall("down")

    def back(self, replica: Replica) -> None:
        """A replica is whole again."""
        for name, kind in self.kinds.items():
            if replica in kind and replica not in self.up[name]:
                self.up[name].append(replica)
        replica.release("down")
        self._tell()

    def _tell(self) -> None:
        """A replica is there, or further than before: whoever waits for one looks again."""
        if self._any_up is not None:
            self._any_up.set_result(None)
            self._any_up = None

    # -- the rest of the engine port, which a modelled rollout never calls ------------------------------------------

    async def generate(self, request: Any) -> Any:
        """A modelled fleet has no tokens to give: rollouts use `speak`."""
        raise QuintainError("a modelled fleet says how long tokens take, not which they are")

    score = fork = abort = resume = generate


def lost_once_more(times: int) -> int:
    """Count one more loss of a request or an episode.

    Raises:
        ScenarioError: that were too many to hope for an end.
    """
    if times >= MOST_LOST:
        raise ScenarioError(
            f"one request or episode was lost {MOST_LOST} times: it never gets through; lower failures.gpu_per_day or "
            "failures.node_per_day, keep more of it with engine.partial=resume, or let it take less long"
        )
    return times + 1


def expectation(classes: Mapping[str, TaskPart]) -> dict[str, float]:
    """Mean tokens of a turn in each class: all that a router may know beforehand."""
    return {name: mean(part.turn_tokens) for name, part in classes.items()}
