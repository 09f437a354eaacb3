"""A modelled rollout: episodes that take turns with a fleet and an environment, fail, start again, and are scored."""

from __future__ import annotations

import asyncio
import functools
import math
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from random import Random
from typing import Any

from quintain.parts import Cast
from quintain.simulate import draws
from quintain.simulate.fleet import Fleet, Restart, Seat, expectation, lost_once_more
from quintain.simulate.meter import Gauge, Meter
from quintain.simulate.settings import Scenario, TaskPart
from quintain.types import Completion, Group, Node, QuintainError, Span, Stop, Task, Trajectory


class Failed(QuintainError):
    """The environment of an episode crashed, hung or was killed."""


class Pool:
    """Places of which each can be held by one at a time, first come, first served; 0 places is no limit.

    Args:
        places: how many.
        gauge: where to count the held ones.
    """

    def __init__(self, places: int, gauge: Gauge) -> None:
        self.places, self.gauge = places, gauge
        self.held = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Wait for a place."""
        if not self.places or self.held < self.places:
            self.held += 1
            self.gauge.add(1)
            return
        turn = self.gauge.loop.create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give()  # it was handed over in the same instant
            raise

    def give(self) -> None:
        """Give the place to the next."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.held -= 1
        self.gauge.add(-1)


class Lockstep:
    """A step's episodes wait for one another before every turn."""

    def __init__(self, members: int) -> None:
        self.members, self.waiting = members, 0
        self._gate: asyncio.Future[None] | None = None

    async def wait(self) -> None:
        """Wait until all that still play have come here."""
        self.waiting += 1
        if self._gate is None:
            self._gate = asyncio.get_running_loop().create_future()
        gate = self._gate
        self._open()
        try:
            await asyncio.shield(gate)
        except asyncio.CancelledError:
            if not gate.done():
                self.waiting -= 1
            raise

    def leave(self) -> None:
        """One plays no longer."""
        self.members -= 1
        self._open()

    def _open(self) -> None:
        if self._gate is not None and self.waiting >= self.members:
            self._gate.set_result(None)
            self._gate, self.waiting = None, 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What a learner needs to know of one finished member."""

    tokens: float
    oldest: int | None
    valid: bool


class Players:
    """The rollout of a scenario: `group(task, cast, ticket)` is a `quintain.parts.Rollout`.

    Args:
        scenario: sizes and latencies.
        fleet: the engines.
        meter: where to count.
        seed: every draw depends on it, the ticket and the member alone.
        version: the policy version that a ticket is admitted under now.
    """

    def __init__(self, scenario: Scenario, fleet: Fleet, meter: Meter, seed: int, version: Callable[[], int]) -> None:
        self.version = version
        self.scenario, self.fleet, self.meter, self.seed, self.loop = scenario, fleet, meter, seed, meter.loop
        env, reward = scenario.env, scenario.reward
        self.envs = Pool(env.count, meter.env_held)
        self.scorers = Pool(reward.workers, meter.rewarding)
        self.expects = expectation(scenario.task)
        self.draw = {
            name: {k: draws.make(getattr(part, k)) for k in TaskPart.model_fields if k != "share"}
            for name, part in scenario.task.items()
        }
        self.reset_s, self.step_s, self.score_s = map(draws.make, (env.reset_s, env.step_s, reward.seconds))
        self.kill_rate = env.kills_per_day / 86400
        self.steps_together: dict[int, Lockstep] = {}

    async def group(self, task: Task, cast: Cast, ticket: int) -> Group:
        """Play G + r members; the first G valid ones win, and the others are cut off."""
        rollout, sums = self.scenario.rollout, self.meter.sums
        together = self._lockstep(ticket)
        since = self.version()
        wanted, started = rollout.group_size, rollout.group_size + rollout.redundancy
        members = [self._member(task.env, (ticket, m), since, together) for m in range(started)]
        if started == wanted:
            played = await _all(members)
        else:
            played = await self._first(members, wanted)
        valid = [p for p in played if p.valid]
        sums.invalid += wanted - len(valid)
        oldest = [p.oldest for p in valid if p.oldest is not None]
        tags = {"members": len(valid), "tokens": sum(p.tokens for p in valid), "oldest": oldest}
        return Group(task=task, trajectories=_stamped(min(oldest)) if oldest else (), ticket=ticket, tags=tags)

    async def _first(self, members: list[Coroutine[Any, Any, Played]], wanted: int) -> list[Played]:
        tasks = [self.loop.create_task(m) for m in members]
        won: list[Played] = []
        enough: asyncio.Future[None] = self.loop.create_future()
        left = len(tasks)

        def ended(task: asyncio.Task[Played]) -> None:
            nonlocal left
            left -= 1
            if enough.done() or task.cancelled():
                return
            if (error := task.exception()) is not None:
                enough.set_exception(error)
                return
            if task.result().valid:
                won.append(task.result())
            if len(won) == wanted or not left:
                enough.set_result(None)

        for task in tasks:
            task.add_done_callback(ended)
        try:
            await enough
        finally:
            for task in tasks:
                if not task.done():
                    self.meter.sums.losers += 1
                    task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return won

    def _lockstep(self, ticket: int) -> Lockstep | None:
        rollout, size = self.scenario.rollout, self.scenario.run.groups_per_step
        if rollout.schedule != "turn":
            return None
        step = ticket // size
        self.steps_together = {k: v for k, v in self.steps_together.items() if v.members}
        return self.steps_together.setdefault(step, Lockstep(size * (rollout.group_size + rollout.redundancy)))

    async def _member(self, kind: str, place: tuple[int, int], since: int, together: Lockstep | None) -> Played:
        """One episode with its retries."""
        try:
            attempt, lost = -1, 0
            while True:
                attempt += 1
                seat = Seat(place[0], self.expects[kind], since)
                try:
                    tokens = await self._episode(kind, seat, generators(self.seed, place, attempt), together)
                    self.meter.sums.tokens += tokens
                    return Played(tokens=tokens, oldest=seat.oldest, valid=True)
                except Restart:
                    attempt -= 1  # nobody's fault: the same episode once more
                    lost = lost_once_more(lost)
                    self.meter.sums.retries += 1
                except Failed:
                    if attempt >= self.scenario.env.retries:
                        return Played(tokens=0.0, oldest=None, valid=False)
                    self.meter.sums.retries += 1
        finally:
            if together is not None:
                together.leave()

    async def _episode(self, kind: str, seat: Seat, rngs: tuple[Random, Random], together: Lockstep | None) -> float:
        own, faults = rngs
        draw, env, said = self.draw[kind], self.scenario.env, 0.0
        turns = max(1, round(draw["turns"](own)))
        crash = int(faults.random() * turns) if faults.random() < env.errors else -1
        hang = int(faults.random() * turns) if faults.random() < env.hangs else -1
        held = env.hold == "episode"
        try:
            if held:
                await self.envs.take()
            try:
                await self._nap(self.reset_s(own))
                seat.context = draw["prompt_tokens"](own)
                for turn in range(turns):
                    if together is not None:
                        await together.wait()
                    tokens = max(1.0, draw["turn_tokens"](own))
                    await self.fleet.speak(seat, tokens)
                    said += tokens
                    await self._answer(self.step_s(own), turn == crash, turn == hang, faults)
                    seat.context += draw["observation_tokens"](own)
            finally:
                if held:
                    self.envs.give()
        except (Failed, Restart, asyncio.CancelledError):
            self.meter.sums.lost_tokens += said
            raise
        await self._score(own)
        return said

    async def _answer(self, seconds: float, crash: bool, hang: bool, faults: Random) -> None:
        env, step_only = self.scenario.env, self.scenario.env.hold == "step"
        if not (seconds or crash or hang):
            return
        if step_only:
            await self.envs.take()
        self.meter.env_busy.add(1)
        try:
            late = hang or seconds > env.deadline_s
            await self._nap(env.deadline_s if late else seconds)
            killed = self.kill_rate and faults.random() < 1 - math.exp(-self.kill_rate * seconds)
            if crash or late or killed:
                raise Failed("the environment failed")
        finally:
            self.meter.env_busy.add(-1)
            if step_only:
                self.envs.give()

    async def _score(self, own: Random) -> None:
        seconds = self.score_s(own)
        if not seconds:
            return
        await self.scorers.take()
        try:
            await self._nap(seconds)
        finally:
            self.scorers.give()

    async def _nap(self, seconds: float) -> None:
        """Sleep, at less cost than `asyncio.sleep`."""
        if seconds <= 0:
            return
        self.meter.sums.events += 1
        waker = self.loop.create_future()
        self.loop.call_later(seconds, _wake, waker)
        await waker


def _wake(waker: asyncio.Future[None]) -> None:
    if not waker.done():
        waker.set_result(None)


def generators(seed: int, place: tuple[int, int], attempt: int) -> tuple[Random, Random]:
    """The draws of an episode (ticket, member), the same in every try, and those of its faults, which are not."""
    return draws.generator(seed, *place), draws.generator(seed, *place, attempt + 1)


@functools.lru_cache(64)
def _stamped(version: int) -> tuple[Trajectory, ...]:
    """One token of the group's oldest version, so that the window sees how old it is."""
    said = Completion(tokens=(0,), logprobs=(0.0,), finish="stop", spans=(Span(start=0, stop=1, version=version),))
    return (Trajectory(id="oldest", nodes=(Node.sampled(None, said),), stop=Stop.done),)


async def _all(members: list[Coroutine[Any, Any, Played]]) -> list[Played]:
    if len(members) == 1:
        return [await members[0]]
    return list(await asyncio.gather(*members))
