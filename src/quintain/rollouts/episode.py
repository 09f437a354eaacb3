"""One episode from reset to its end: env and engines in turn, faults of the env, and further tries with the same noise."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from quintain.parts import Cast
from quintain.ports import Env, EnvsGone, EpisodeLost
from quintain.registry import line_of
from quintain.rollouts.deadline import Late, within
from quintain.rollouts.patience import Patience
from quintain.rollouts.records import trajectory
from quintain.rollouts.seats import Plan, Seat
from quintain.types import BadStop, Feedback, Message, Stop, Task, Trajectory, writable
from quintain.waits import waiting

Opening = AbstractAsyncContextManager[Any]

ENDLESS = 10_000  # turns after which an env without an end of its own is stopped
LOSSES = 3  # further tries of an episode whose env worker was lost, whatever `retries` says


async def together(jobs: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
    """All results in order; when one fails, or the caller is cancelled, the others are cancelled and awaited first."""
    if len(jobs) == 1:
        return [await jobs[0]]
    tasks = [asyncio.ensure_future(e) for e in jobs]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


class Episode:
    """A member of a group that is played; `seats` are those of the try under way."""

    def __init__(
        self, task: Task, cast: Cast, plan: Plan, place: tuple[int, int], patience: Patience | None, opening: Opening
    ) -> None:
        self.task, self.cast, self.plan, self.place, self.patience = task, cast, plan, place, patience
        self.opening = opening  # entered while its env is made and reset
        self.seats: dict[str, Seat] = {}
        self.tries: list[str] = []  # why there was another one
        self.spent = 0  # tokens of earlier tries

    @property
    def tokens(self) -> int:
        """Tokens drawn so far, those of earlier tries too."""
        return self.spent + sum(len(row.tokens) for s in self.seats.values() for row in s.rows if row.completion)

    async def play(self) -> list[Trajectory]:
        """The trajectories of its seats; a try that its env spoiled is followed by another with the same seed and noise keys."""
        left, losses = self.plan.retries, LOSSES
        while True:
            heard, stop = await self._try()
            left, losses = left - (heard.faulty and not heard.lost), losses - heard.lost
            if not heard.faulty or left < 0 or losses < 0:
                return self._recorded(heard, stop)
            self.tries.append(f"retry {len(self.tries) + 1}: {heard.faults[-1]}")
            self.spent = self.tokens
            self.seats = {}

    async def _try(self) -> tuple[_Ear, Stop]:
        env: Env | None = None
        seats, plan, cast = self.seats, self.plan, self.cast
        heard = _Ear(self)

        async def begin(task: Task) -> Mapping[str, Feedback]:
            nonlocal env
            env = cast.env(task)
            return await env.reset(task)

        try:
            async with self.opening:
                stop = await heard("reset", begin, self.task)
            while stop is None:
                assert env is not None  # it answered
                movers = [s for s in seats.values() if s.acts and s.stop is None]
                stop = _over(seats, movers, plan)
                if stop is not None:
                    break
                moves = await _moves(movers)
                if any(s.stop for s in movers):
                    stop = next(s.stop for s in movers if s.stop)
                    break
                stop = await heard("step", env.step, moves)
        finally:
            await _clean_up(env, seats, plan)
        return heard, stop

    def _recorded(self, heard: _Ear, stop: Stop) -> list[Trajectory]:
        seats, place = self.seats, self.place
        ticket, member = place
        if not seats:  # the env failed before it named its seats
            seats["agent"] = Seat("agent", 0, self.cast, self.plan, place)
            seats["agent"].events.extend(heard.faults)
        for seat in seats.values():
            seat.stop = seat.stop or stop
            seat.events[:0] = self.tries
        several = len(seats) > 1
        shown = [s for s in seats.values() if s.role not in self.cast.frozen]
        return [
            trajectory(s, f"{ticket}.{member}.{s.name}" if several else f"{ticket}.{member}", member) for s in shown
        ]


def _over(seats: Mapping[str, Seat], movers: Sequence[Seat], plan: Plan) -> Stop | None:
    if not movers:
        ended = [s.stop for s in seats.values() if s.stop is not None]
        if ended:
            return ended[0]
        for seat in seats.values():
            seat.events.append("stalled: no seat acts and none has stopped")
        return Stop.crashed
    limit = plan.max_turns or ENDLESS
    return Stop.truncated_turns if any(s.turn >= limit for s in movers) else None


async def _moves(movers: Sequence[Seat]) -> dict[str, Message | None]:
    if len(movers) == 1:
        return {movers[0].name: await movers[0].speak()}
    said = await together([s.speak() for s in movers])
    return {s.name: m for s, m in zip(movers, said, strict=True)}


class _Ear:
    """Asks the env and hands its answer to the seats; faults of the env become a `Stop` and an event."""

    __slots__ = ("episode", "faults", "lost", "seats")

    def __init__(self, episode: Episode) -> None:
        self.episode, self.seats = episode, episode.seats
        self.faults: list[str] = []
        self.lost = False  # through no fault of the env itself

    @property
    def faulty(self) -> bool:
        """Whether the env spoiled this try."""
        return bool(self.faults)

    async def __call__(
        self, verb: str, ask: Callable[[Any], Awaitable[Mapping[str, Feedback]]], what: Any
    ) -> Stop | None:
        episode, seats, clock = self.episode, self.seats, asyncio.get_running_loop()
        patience = episode.patience
        deadline_s = patience.seconds(episode.task.env, verb) if patience else episode.plan.deadline_s
        start = clock.time()
        try:
            with waiting("env", episode.place, verb, deadline_s):
                answer = await within(ask(what), deadline_s)
            names = [name for name in answer if name not in seats]
        except Late:
            return self._fault(Stop.timeout, f"timeout: no answer within {deadline_s:.6g} s")
        except (
            EnvsGone,
            BadStop,
        ):  # no env will answer any more, or every one in the wrong way: not this episode's affair
            raise
        except EpisodeLost as error:
            self.lost = True
            return self._fault(Stop.crashed, f"crashed: {error}"[:300])
        except Exception as error:  # the env is not ours: whatever it raises ends this episode only
            return self._fault(Stop.crashed, f"crashed: {type(error).__name__}: {error}"[:300] + line_of(error))
        seconds = clock.time() - start
        if patience:
            patience.answered(episode.task.env, verb, seconds)
        for name in names:  # a cast that lacks an engine or a renderer is our error, and is raised
            seats[name] = Seat(name, len(seats), episode.cast, episode.plan, episode.place)
        try:
            for name, feedback in answer.items():
                seats[name].hear(feedback, seconds)
        except (AttributeError, TypeError, ValueError) as error:
            return self._fault(Stop.crashed, f"crashed: bad feedback: {type(error).__name__}: {error}"[:300])
        return None

    def _fault(self, stop: Stop, event: str) -> Stop:
        event = writable(event)
        self.faults.append(event)
        for seat in self.seats.values():
            seat.events.append(event)
        return stop


async def _clean_up(env: Env | None, seats: Mapping[str, Seat], plan: Plan) -> None:
    try:
        if env is not None:
            await within(env.close(), plan.deadline_s)
    except (Late, Exception) as error:  # an env that cannot close is a fact to record, not a reason to lose the episode
        for seat in seats.values():
            seat.events.append(writable(f"close failed: {type(error).__name__}: {error}"[:300]))
    finally:
        for seat in seats.values():
            await seat.engine.abort(seat.session)
