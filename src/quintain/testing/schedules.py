"""Seeded schedules of the control plane on a virtual clock: the real loop and window, random latencies, crashes and restarts.

`play(plan(seed))` gives the log of everything that happened, `wrong(log)` what must never happen. A plan is plain data: take faults out
of it one by one to shrink a failing schedule, and keep the rest as a regression.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from quintain import codec
from quintain.loop import train
from quintain.parts import Cast, Gate, Transform
from quintain.runtime import clock
from quintain.types import Completion, Group, Node, Span, Stop, Task, Ticket, Trajectory, Weights
from quintain.window import OverLimit, Window

FOREVER_S = 1e6  # virtual seconds after which a schedule is taken to be stuck


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something that goes wrong: `kill` the run at second `at`; `slow` makes the n-th rollout take `seconds` more."""

    what: str
    at: float = 0.0
    rollout: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePlan:
    """One schedule as data: the sizes of the run, the ranges of its latencies, and its faults."""

    seed: int
    steps: int
    size: int
    max_lag: int
    look: int
    policy: str = "wait"  # over the limit
    ahead: int = 0
    refill: float = 0.0  # share of groups that the gate sends back
    drop: float = 0.0  # share that it drops
    checkpoint_every: int = 1
    rollout_s: tuple[float, float] = (0.1, 5.0)
    learner_s: tuple[float, float] = (0.1, 2.0)
    faults: tuple[Fault, ...] = ()

    def json(self) -> str:
        """The plan as text, for a file of regressions."""
        return json.dumps(codec.encode(self))

    @classmethod
    def read(cls, text: str) -> SchedulePlan:
        """The plan of a text.

        Example:
            >>> SchedulePlan.read(plan(3).json()) == plan(3)
            True
        """
        return codec.decode(cls, json.loads(text))


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the log: when, in which life of the run, what, and which ticket or step, with details."""

    at: float
    life: int
    what: str
    which: int
    more: Mapping[str, Any]


def plan(seed: int) -> SchedulePlan:
    """The plan of a seed: sizes, policy, latencies, slow rollouts and kills are all drawn from it."""
    rng = Random(seed)
    lag = rng.choice((0, 0, 1, 2, 4))
    policy = rng.choice(("wait", "wait", "withhold", "refill")) if lag else "wait"
    steps, size = rng.randint(2, 8), rng.randint(1, 5)
    longest = 10 ** rng.uniform(-1, 1.5)
    slow = [
        Fault(what="slow", rollout=rng.randrange(steps * size), seconds=rng.uniform(0, 20))
        for _ in range(rng.randint(0, 4))
    ]
    kills = [Fault(what="kill", at=rng.uniform(0, steps * longest)) for _ in range(rng.choice((0, 0, 1, 2, 4)))]
    return SchedulePlan(
        seed=seed,
        steps=steps,
        size=size,
        max_lag=lag,
        look=rng.choice((0, 1, size * (lag + 1))),
        policy=policy,
        ahead=rng.choice((0, size)) if policy != "wait" else 0,
        refill=rng.choice((0.0, 0.0, 0.2)),
        drop=rng.choice((0.0, 0.0, 0.2)),
        checkpoint_every=rng.choice((1, 1, 2, 3)),
        rollout_s=(0.0, longest),
        learner_s=(0.0, 10 ** rng.uniform(-1, 1)),
        faults=(*slow, *sorted(kills, key=lambda f: f.at)),
    )


def play(schedule: SchedulePlan) -> list[Entry]:
    """Run a schedule to its end, through its kills and restarts, and give its log; the same plan gives the same log.

    Raises:
        DeadlockError: nobody can go on, and the message says who waits where.
        TimeLimitError: it is not done after a million virtual seconds.
        LagError: the window broke its bound.
    """
    return clock.run(_lives(schedule), limit_s=FOREVER_S)


async def _lives(schedule: SchedulePlan) -> list[Entry]:
    log: list[Entry] = []
    saved: dict[str, Any] = {"step": 0, "index": 0, "pending": (), "void": ()}
    kills = [f.at for f in schedule.faults if f.what == "kill"]
    loop = asyncio.get_running_loop()
    for life in range(len(kills) + 1):
        run: Any = ScheduledRun(schedule, life, log, saved)
        body = asyncio.create_task(train(run))
        wait = max(0.0, kills[life] - loop.time()) if life < len(kills) else None
        done, _ = await asyncio.wait([body], timeout=wait)
        if done:
            body.result()
            return log
        body.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await body
        log.append(Entry(loop.time(), life, "killed", run.window.step, {}))
        saved = run.saved
    return log


class ScheduledRun:
    """Matches `loop.Run`: latencies are drawn from (seed, life, what), everything is logged, checkpoints are boundaries in memory."""

    def __init__(self, schedule: SchedulePlan, life: int, log: list[Entry], saved: dict[str, Any]) -> None:
        self.plan, self.life, self.log, self.saved = schedule, life, log, saved
        over, gate = OverLimit(schedule.policy, schedule.ahead), _gate(schedule)
        most = schedule.steps * schedule.size * 10
        sizes = (schedule.size, schedule.max_lag, schedule.look, gate)
        self.window = Window(*sizes, steps=schedule.steps, max_refills=most, over=over)
        if saved["step"] or saved["index"]:
            self.window.restart(saved["step"], saved["index"], saved["pending"], saved["void"])
        self.version = saved["step"]
        self.engine = self.version  # what the engines have loaded
        self.learner: Any = self
        self.objective: Any = None
        self.needs: frozenset[str] = frozenset()
        engines: Any = {"policy": _Engine(self)}
        self.cast = Cast(env=_no_env, engines=engines, renderers={})
        self._slow = defaultdict(float)
        for fault in schedule.faults:
            if fault.what == "slow":
                self._slow[fault.rollout] += fault.seconds
        self._started = 0

    def note(self, what: str, which: int, **more: Any) -> None:
        """Write a line."""
        self.log.append(Entry(asyncio.get_running_loop().time(), self.life, what, which, more))

    async def _takes(self, span: tuple[float, float], *key: int) -> None:
        await asyncio.sleep(Random(hash((self.plan.seed, self.life, *key))).uniform(*span))

    def issue(self, index: int) -> Ticket | None:
        """The next ticket."""
        self.note("issued", index, version=self.window.step)
        return Ticket(index=index, task=Task(key=str(index), env="none"), version=self.window.step)

    async def rollout(self, task: Task, cast: Cast, ticket: int) -> Group:
        """Play: half the time under the version of the start, then under what the engines have by then."""
        first, number = self.engine, self._started
        self._started += 1
        self.note("playing", ticket, version=first)
        await asyncio.sleep(self._slow[number] if self.life == 0 else 0.0)
        await self._takes(self.plan.rollout_s, 1, ticket)
        spans = (Span(start=0, stop=1, version=first), Span(start=1, stop=2, version=self.engine))
        said = Completion(tokens=(0, 1), logprobs=(0.0, 0.0), finish="stop", spans=spans)
        trajectory = Trajectory(id=f"{ticket}.0", nodes=(Node.sampled(None, said),), stop=Stop.done)
        self.note("played", ticket, oldest=first)
        return Group(task=task, trajectories=(trajectory,), ticket=ticket)

    async def reward(self, group: Group) -> Group:
        """Score."""
        await self._takes((0.0, 0.2), 2, group.ticket)
        return group

    def steps(self) -> Iterator[int]:
        """The steps that are left."""
        yield from range(self.window.step, self.plan.steps)

    def credit(self, groups: Sequence[Group]) -> Sequence[Group]:
        """Log what was left out."""
        self._note_dropped()
        return groups

    def _note_dropped(self) -> None:
        dropped, self.window.dropped = self.window.dropped, []
        for ticket, why in dropped:
            self.note("dropped", ticket.index, why=why)

    def pack(self, groups: Sequence[Group]) -> Any:
        """The tickets and their oldest versions."""
        return [(g.ticket, g.oldest, g.version) for g in groups]

    async def score(self, groups: Sequence[Group], needs: frozenset[str]) -> tuple[Group, ...]:
        """Nothing is needed."""
        return tuple(groups)

    async def update(self, batch: Any, objective: Any) -> Mapping[str, float]:
        """Learn for a while."""
        await self._takes(self.plan.learner_s, 3, self.window.step)
        self.note("trained", self.window.step, tickets=[list(row) for row in batch])
        self.version += 1
        return {}

    async def publish(self) -> Weights:
        """The next version."""
        return Weights(version=self.version, kind="pointer")

    async def record(self, step: int, groups: Sequence[Group], metrics: Mapping[str, float]) -> None:
        """A checkpoint when due: the boundary that a restart begins at."""
        window = self.window
        self._note_dropped()  # before the boundary, or a restart would know nothing of them
        if (step + 1) % self.plan.checkpoint_every == 0 or step + 1 == self.plan.steps:
            self.saved = {
                "step": step + 1,
                "index": window.index,
                "pending": tuple(window.pending),
                "void": tuple(window.void),
            }
            self.note("saved", step + 1, pending=[t.index for t in window.pending])

    def save(self, folder: str) -> None:
        """Boundaries are kept in memory."""

    def load(self, folder: str) -> None:
        """Boundaries are kept in memory."""


class _Engine:
    def __init__(self, run: ScheduledRun) -> None:
        self.run = run

    async def load(self, weights: Weights) -> None:
        await self.run._takes((0.0, 0.3), 4, weights.version)
        self.run.engine = weights.version
        self.run.note("loaded", weights.version)


def wrong(schedule: SchedulePlan, log: Sequence[Entry]) -> list[str]:
    """What a log shows that must never happen; [] when all is well.

    A life continues at its checkpoint: what was trained after it is superseded. Of what counts, no ticket is trained twice, none is
    older than `max_lag`, every step is trained once and in order, versions rise, and every ticket is trained, dropped or pending.
    """
    out = []
    kept = effective(log)
    trained = [e for e in kept if e.what == "trained"]
    if [e.which for e in trained] != list(range(schedule.steps)):
        out.append(
            f"steps {[e.which for e in trained]} were trained; they are to be 0 to {schedule.steps - 1}, once each"
        )
    tickets = Counter(row[0] for e in trained for row in e.more["tickets"])
    out += [f"ticket {t} was trained {n} times" for t, n in tickets.items() if n > 1]
    for entry in trained:
        for ticket, oldest, _ in entry.more["tickets"]:
            if entry.which - oldest > schedule.max_lag:
                out.append(
                    f"ticket {ticket} of version {oldest} was trained at step {entry.which}; max_lag is {schedule.max_lag}"
                )
    dropped = Counter(e.which for e in kept if e.what == "dropped")
    out += [f"ticket {t} was trained and dropped" for t in tickets if t in dropped]
    for life in {e.life for e in log}:
        loads = [e.which for e in log if e.what == "loaded" and e.life == life]
        if loads != sorted(set(loads)):
            out.append(f"life {life}: versions {loads} were loaded; they are to rise")
    issued = {e.which for e in kept if e.what == "issued"}
    out += [f"ticket {t} was trained and never issued" for t in tickets if t not in issued]
    last = next((e for e in reversed(kept) if e.what == "saved"), None)
    pending = set(last.more["pending"]) if last else set()
    lost = issued - set(tickets) - set(dropped) - pending
    out += [f"ticket {t} was lost" for t in sorted(lost) if last is not None]
    return out


def effective(log: Sequence[Entry]) -> list[Entry]:
    """The log without what restarts superseded: of each life that was killed, all up to its last checkpoint."""
    out: list[Entry] = []
    lives = sorted({e.life for e in log})
    for life in lives:
        own = [e for e in log if e.life == life]
        if any(e.what == "killed" for e in own):
            saves = [i for i, e in enumerate(own) if e.what == "saved"]
            own = own[: saves[-1] + 1] if saves else []
        out += own
    return out


def _gate(schedule: SchedulePlan) -> Gate | None:
    """Send back or drop a share of the groups, by their ticket alone."""
    if not schedule.refill and not schedule.drop:
        return None

    def apply(groups: tuple[Group, ...], state: Any) -> tuple[tuple[Group, ...], Any]:
        out = []
        for group in groups:
            draw = Random(hash((schedule.seed, 5, group.ticket))).random()
            if draw < schedule.refill:
                out.append(
                    Group(task=group.task, trajectories=group.trajectories, ticket=group.ticket, tags={"refill": True})
                )
            elif draw < 1 - schedule.drop:
                out.append(group)
        return tuple(out), state

    return Transform(lambda: None, apply)


def _no_env(task: Task) -> Any:
    raise NotImplementedError("a scheduled run has no environment")
