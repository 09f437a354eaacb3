"""Playing the members of a group side by side: the rollout that everything but special search methods uses."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import fields, replace
from functools import partial
from typing import Any

from quintain.parts import Cast, Rollout
from quintain.registry import UnknownName, register, unknown
from quintain.rollouts.episode import Episode, together
from quintain.rollouts.hints import Hinting
from quintain.rollouts.patience import Patience
from quintain.rollouts.race import INVALID, LOST, metered, race
from quintain.rollouts.seats import Plan
from quintain.types import Group, QuintainError, Task, Trajectory

LEARN = "auto"  # as deadline: learned from the env's own answers
CEILING_S = 60.0  # of a learned deadline


class PlanError(QuintainError):
    """A rollout was asked for with numbers that cannot work."""


@register("rollout", "episodes")
def episodes(
    group_size: int = 8,
    max_turns: int = 0,
    max_tokens: int = 0,
    context: int = 0,
    deadline_s: float | str = 60.0,
    **kwargs: Any,
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
        deadline_s: seconds that the env may take for one answer, 0 for no limit; `auto` learns it from the env's own
            answers: after 100 of them `factor` times their 99th percentile, until then and at most 60 s.
        **kwargs: `factor` (3, > 1) and `floor_s` (1.0) of a learned deadline; `redundancy` (0): members started beyond
            the size of the group, of which the first valid ones win; `meter` (0.05): share of the groups, in [0, 1],
            whose losers are played to their end and come along with the tag `lost`, to be compared; `retries` (0):
            further tries of an episode whose env failed, with the same seed and noise keys; `slots` (0): episodes that
            play at once, the others wait their turn in order, 0 for no limit; `resets` (512): episodes whose env is being
            reset at once, 0 for no limit, so that thousands that begin together neither storm the env's servers nor hold
            up those that play; `digests` (False): record the digest of
            the state before and after every turn (credit by state needs it); `states` (False): record the private
            states, the first one included (the viewer needs it).

    Returns:
        A rollout: `await rollout(task, cast, ticket)` gives the group, trajectories in order of member, then seat. Its
        tags hold what was counted: `race` (members started, those that did not win and their tokens), `deadline_s`, `busy_s`.

    Raises:
        PlanError: a number is out of range. Errors of engines and renderers end the rollout with that error.
        UnknownName: there is no such option.

    Special cases: an env that raises, or whose factory does, ends its episode with `Stop.crashed`, one that is late
    with `Stop.timeout`, an engine that gives up a request with `Stop.aborted`, spent budgets with `truncated_turns`
    and `truncated_tokens`; the others go on. With `redundancy=0` nothing depends on who is first; with more, winners
    depend on time, so that a run is repeatable only where env and engine answer at once.
    """
    plan = _plan(group_size, {"max_turns": max_turns, "max_tokens": max_tokens, "context": context}, deadline_s, kwargs)
    hinting = Hinting.of(kwargs["hint"], group_size) if "hint" in kwargs else None
    patience = Patience(plan.factor, plan.floor_s, plan.deadline_s) if plan.learned else None
    slots, resets = _Slots(plan.slots), _Slots(plan.resets)

    async def play_group(task: Task, cast: Cast, ticket: int) -> Group:
        count = group_size + plan.redundancy
        opening = resets.gate()
        plans = [replace(plan, hint=hinting.episode(task, m)) if hinting else plan for m in range(count)]
        members = [Episode(task, cast, own, (ticket, m), patience, opening) for m, own in enumerate(plans)]
        turns, tags = _Turns(slots.gate()), {}
        plays = [partial(turns.play, member) for member in members]
        if plan.redundancy:
            won, tags["race"] = await _race(plays, members, group_size, metered(plan.meter, cast.seed, ticket))
        else:
            won = await together([play() for play in plays])
        if patience:
            tags["deadline_s"] = patience.seconds(task.env, "step")
        if plan.slots:
            tags["busy_s"] = turns.busy_s
        return Group(task=task, trajectories=tuple([t for m in won for t in m]), ticket=ticket, tags=tags)

    return play_group


def _plan(size: int, limits: dict[str, int], deadline_s: float | str, options: dict[str, Any]) -> Plan:
    known = {f.name: f for f in fields(Plan)}
    own = [n for n in known if n not in (*limits, "deadline_s", "learned")]
    for name in options:
        if name not in own:
            raise UnknownName(
                unknown("option of rollout 'episodes':", name, [*own, *limits, "group_size", "deadline_s"])
            )
    if isinstance(deadline_s, str) and deadline_s != LEARN:
        raise PlanError(f"episodes: deadline_s is {deadline_s!r}; give seconds, 0 for no limit, or {LEARN!r}")
    learned = deadline_s == LEARN
    numbers: dict[str, Any] = {**limits, "deadline_s": CEILING_S if learned else deadline_s}
    for name, value in {"group_size": size - 1, **numbers}.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            told = value + 1 if name == "group_size" else value
            raise PlanError(
                f"episodes: {name} is {told!r}; group_size must be >= 1 and {', '.join(numbers)} numbers >= 0, all finite"
            )
    plan = Plan(**numbers, learned=learned, **{n: v for n, v in options.items() if n != "hint"})
    for name in ("redundancy", "retries", "slots", "resets"):
        if not isinstance(options.get(name, 0), int) or options.get(name, 0) < 0:
            raise PlanError(f"episodes: {name} is {options[name]!r}; it is a whole number >= 0")
    if not (0 <= plan.meter <= 1 and plan.factor > 1 and plan.floor_s >= 0):
        told = f"meter {plan.meter}, factor {plan.factor}, floor_s {plan.floor_s}"
        raise PlanError(f"episodes: {told}; they need meter in [0, 1], factor > 1 and floor_s >= 0")
    return plan


class _Slots:
    """Lets `count` episodes in at once, in the order in which they came, of whatever group; 0 lets all."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.open: AbstractAsyncContextManager[Any] = nullcontext()
        self.loop: Any = None

    def gate(self) -> AbstractAsyncContextManager[Any]:
        """What an episode enters, in the event loop that runs now."""
        loop = asyncio.get_running_loop()
        if self.count and loop is not self.loop:  # what waits belongs to one event loop
            self.loop, self.open = loop, asyncio.Semaphore(self.count)
        return self.open


class _Turns:
    """The episodes of a group, and how long they had their slots."""

    def __init__(self, gate: AbstractAsyncContextManager[Any]) -> None:
        self.gate = gate
        self.busy_s = 0.0

    async def play(self, episode: Episode) -> list[Trajectory]:
        """Play when there is a slot."""
        async with self.gate:
            clock = asyncio.get_running_loop()
            start = clock.time()
            try:
                return await episode.play()
            finally:
                self.busy_s += clock.time() - start


def _valid(seats: Sequence[Trajectory]) -> bool:
    return all(t.stop not in INVALID for t in seats)


async def _race(
    plays: Sequence[Any], members: Sequence[Episode], need: int, whole: bool
) -> tuple[list[list[Trajectory]], dict[str, Any]]:
    """What the winners played, after them what losers did who played to their end, and what was counted."""
    won, lost = await race(plays, need, _valid, whole=whole)
    losers = [m for i, m in enumerate(members) if i not in won]
    counted = {"started": len(members), "lost": len(losers), "tokens": sum(m.tokens for m in losers)}
    played = list(won.values())
    if whole:
        counted["metered"] = 1
        tagged = [[replace(t, tags={**t.tags, LOST: True}) for t in seats] for seats in lost.values()]
        played += [seats for seats in tagged if _valid(seats)]
    return played, counted
