"""Playing the members of a group side by side: the rollout that everything but special search methods uses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from time import perf_counter
from typing import Any

from quintain.parts import Cast, Rollout
from quintain.ports import Env
from quintain.registry import register
from quintain.rollouts.deadline import Late, within
from quintain.rollouts.records import trajectory
from quintain.rollouts.seats import Plan, Seat
from quintain.types import Feedback, Group, Message, QuintainError, Stop, Task, Trajectory

ENDLESS = 10_000  # turns after which an env without an end of its own is stopped


class PlanError(QuintainError):
    """A rollout was asked for with numbers that cannot work."""


@register("rollout", "episodes")
def episodes(
    group_size: int = 8,
    max_turns: int = 0,
    max_tokens: int = 0,
    context: int = 0,
    deadline_s: float = 60.0,
    digests: bool = False,
    states: bool = False,
) -> Rollout:
    """Play `group_size` episodes of a task side by side and record every seat as a trajectory.

    Use it for single-turn tasks, multi-turn worlds, tools and games alike. A seat is played by the engine of its own
    name in the cast, or by `policy`; seats of frozen engines play along and are left out of the group. A turn is one
    message of the policy. New messages are added to the path's tokens, which are never rendered again; where the
    renderer cannot prove that they extend, a new branch is opened (event `branch`). The sampling key is (cast seed,
    ticket, member, turn, seat).

    Args:
        group_size: episodes of one task, >= 1.
        max_turns: turns of a seat, 0 for no limit but the env's own.
        max_tokens: tokens of a turn, 0 for the limit of the cast's sampling; a turn cut here has the event `cut`.
        context: tokens of one path (prompt, observations and answers), 0 for no limit.
        deadline_s: seconds that the env may take for one answer, 0 for no limit.
        digests: record the digest of the state before and after every turn (credit by state needs it).
        states: record the private states, the first one included (the viewer needs it).

    Returns:
        A rollout: `await rollout(task, cast, ticket)` gives the group, trajectories in order of member, then seat.

    Raises:
        PlanError: a number is out of range. Errors of engines and renderers end the rollout with that error.

    Special cases: an env that raises, or whose factory does, ends its episode with `Stop.crashed`, one that is late
    with `Stop.timeout`, an engine that gives up a request with `Stop.aborted`, spent budgets with `truncated_turns`
    and `truncated_tokens`; the others go on.
    """
    limits = {"max_turns": max_turns, "max_tokens": max_tokens, "context": context, "deadline_s": deadline_s}
    for name, value in {"group_size": group_size - 1, **limits}.items():
        if value < 0:
            raise PlanError(f"episodes: {name} is too small; group_size must be >= 1 and {', '.join(limits)} >= 0")
    plan = Plan(**limits, digests=digests, states=states)  # pyrefly: ignore

    async def play_group(task: Task, cast: Cast, ticket: int) -> Group:
        members = await _together([_episode(task, cast, plan, (ticket, m)) for m in range(group_size)])
        return Group(task=task, trajectories=tuple([t for member in members for t in member]), ticket=ticket)

    return play_group


async def _together(episodes_: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
    """All results in order; when one fails, or the caller is cancelled, the others are cancelled and awaited first."""
    if len(episodes_) == 1:
        return [await episodes_[0]]
    tasks = [asyncio.ensure_future(e) for e in episodes_]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def _episode(task: Task, cast: Cast, plan: Plan, place: tuple[int, int]) -> list[Trajectory]:
    env: Env | None = None
    seats: dict[str, Seat] = {}
    heard = _Ear(cast, plan, place, seats)

    async def begin(task: Task) -> Mapping[str, Feedback]:
        nonlocal env
        env = cast.env(task)
        return await env.reset(task)

    try:
        stop = await heard(begin, task)
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
            stop = await heard(env.step, moves)
    finally:
        await _clean_up(env, seats, plan)
    ticket, member = place
    if not seats:  # the env failed before it named its seats
        seats["agent"] = Seat("agent", 0, cast, plan, place)
        seats["agent"].events.extend(heard.faults)
    for seat in seats.values():
        seat.stop = seat.stop or stop
    several = len(seats) > 1
    shown = [s for s in seats.values() if s.role not in cast.frozen]
    return [trajectory(s, f"{ticket}.{member}.{s.name}" if several else f"{ticket}.{member}", member) for s in shown]


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


async def _moves(movers: Sequence[Seat]) -> dict[str, Message]:
    if len(movers) == 1:
        return {movers[0].name: await movers[0].speak()}
    said = await _together([s.speak() for s in movers])
    return {s.name: m for s, m in zip(movers, said, strict=True)}


class _Ear:
    """Asks the env and hands its answer to the seats; faults of the env become a `Stop` and an event."""

    __slots__ = ("cast", "faults", "place", "plan", "seats")

    def __init__(self, cast: Cast, plan: Plan, place: tuple[int, int], seats: dict[str, Seat]) -> None:
        self.cast, self.plan, self.place, self.seats = cast, plan, place, seats
        self.faults: list[str] = []

    async def __call__(self, ask: Callable[[Any], Awaitable[Mapping[str, Feedback]]], what: Any) -> Stop | None:
        start, seats = perf_counter(), self.seats
        try:
            answer = await within(ask(what), self.plan.deadline_s)
            names = [name for name in answer if name not in seats]
        except Late:
            return self._fault(Stop.timeout, f"timeout: no answer within {self.plan.deadline_s} s")
        except Exception as error:  # the env is not ours: whatever it raises ends this episode only
            return self._fault(Stop.crashed, f"crashed: {type(error).__name__}: {error}"[:300])
        seconds = perf_counter() - start
        for name in names:  # a cast that lacks an engine or a renderer is our error, and is raised
            seats[name] = Seat(name, len(seats), self.cast, self.plan, self.place)
        try:
            for name, feedback in answer.items():
                seats[name].hear(feedback, seconds)
        except (AttributeError, TypeError, ValueError) as error:
            return self._fault(Stop.crashed, f"crashed: bad feedback: {type(error).__name__}: {error}"[:300])
        return None

    def _fault(self, stop: Stop, event: str) -> Stop:
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
            seat.events.append(f"close failed: {type(error).__name__}: {error}"[:300])
    finally:
        for seat in seats.values():
            await seat.engine.abort(seat.session)
