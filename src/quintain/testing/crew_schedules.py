"""Seeded schedules of the real crew on a virtual clock: actors die, come back from the dead and load slowly.

`play(plan(seed))` gives the log of everything that happened, `wrong(plan, log)` what must never happen.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from quintain import codec
from quintain.ledger.groups import pack_group
from quintain.parts import Cast
from quintain.runtime import clock
from quintain.runtime.crew import DEATHS, Crew
from quintain.runtime.transport import GoneError
from quintain.types import Completion, Group, Node, QuintainError, Sampling, Span, Stop, Task, Trajectory, Weights

FOREVER_S = 1e6  # virtual seconds after which a schedule is taken to be stuck
STARTED_S = 0.5  # at most, for an actor to come up


@dataclass(frozen=True, slots=True, kw_only=True)
class CrewFault:
    """Something that goes wrong with the `actor`-th process that is started, `after` seconds later.

    `kill` ends it; `zombie` takes it for dead while it goes on and answers.
    """

    what: str
    actor: int
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CrewPlan:
    """One schedule as data: how many actors and groups, how many groups at once, and the faults."""

    seed: int
    actors: int
    spares: int
    groups: int
    at_once: int
    versions: int
    play_s: float
    load_s: float
    faults: tuple[CrewFault, ...] = ()

    def json(self) -> str:
        """The plan as text, for a file of regressions."""
        return json.dumps(codec.encode(self))

    @classmethod
    def read(cls, text: str) -> CrewPlan:
        """The plan of a text.

        Example:
            >>> CrewPlan.read(plan(3).json()) == plan(3)
            True
        """
        return codec.decode(cls, json.loads(text))


@dataclass(frozen=True, slots=True)
class Said:
    """One line of the log: when, what, which ticket or version, and which process (-1: none)."""

    at: float
    what: str
    which: int
    actor: int = -1
    more: Mapping[str, Any] = field(default_factory=dict)


def plan(seed: int) -> CrewPlan:
    """The plan of a seed."""
    rng = Random(seed)
    actors, spares = rng.randint(2, 4), rng.choice((0, 0, 1))
    groups, play_s = rng.randint(4, 24), 10 ** rng.uniform(-1, 1)
    faults = [
        CrewFault(
            what=rng.choice(("kill", "zombie")),
            actor=rng.randrange(actors + spares + 2),
            after=rng.uniform(0.0, play_s * groups / actors),
        )
        for _ in range(rng.randint(0, 4))
    ]
    return CrewPlan(
        seed=seed,
        actors=actors,
        spares=spares,
        groups=groups,
        at_once=rng.randint(1, 8),
        versions=rng.randint(1, 6),
        play_s=play_s,
        load_s=10 ** rng.uniform(-2, 0.5),
        faults=tuple(faults),
    )


def play(schedule: CrewPlan) -> list[Said]:
    """Run a schedule to its end and give its log; the same plan gives the same log.

    Raises:
        DeadlockError: nobody can go on.
    """
    return clock.run(_Scene(schedule).all(), limit_s=FOREVER_S)


class _Scene:
    """The crew, its processes that are none, a learner that publishes, and the groups that are to be played."""

    weights = ""

    def __init__(self, schedule: CrewPlan) -> None:
        self.plan, self.log = schedule, list[Said]()
        self.links: list[_Link] = []
        self.timers: list[asyncio.TimerHandle] = []
        transport: Any = self
        self.crew = Crew(transport, schedule.actors, spares=schedule.spares)

    def note(self, what: str, which: int, actor: int = -1, **more: Any) -> None:
        self.log.append(Said(asyncio.get_running_loop().time(), what, which, actor, more))

    def random(self, *key: int) -> Random:
        return Random(hash((self.plan.seed, *key)))

    async def all(self) -> list[Said]:
        await self.crew.start()
        await self.publish(0)
        learner = asyncio.create_task(self.learn())
        room = asyncio.Semaphore(self.plan.at_once)
        await asyncio.gather(*[self.group(ticket, room) for ticket in range(self.plan.groups)])
        await learner
        left = [j for m in self.crew.members.values() for j in m.jobs] + list(self.crew._waiting)
        self.note("left", len(left), more=len(self.crew.members))
        await self.crew.close()
        self.note("running", sum(not link.ended for link in self.links))
        return self.log

    async def learn(self) -> None:
        for version in range(1, self.plan.versions):
            await asyncio.sleep(self.random(1, version).uniform(0, self.plan.play_s * 2))
            await self.publish(version)

    async def publish(self, version: int) -> None:
        await self.crew.load(Weights(version=version, kind="file", source=str(version)))
        self.note("published", version)

    async def group(self, ticket: int, room: asyncio.Semaphore) -> None:
        async with room:
            task, engines = Task(key=str(ticket), env="none"), dict[str, Any]()
            cast: Any = Cast(env=_no_env, engines=engines, renderers={}, sampling=Sampling(), seed=self.plan.seed)
            try:
                group = await self.crew.rollout(1)(task, cast, ticket)
            except QuintainError as error:
                return self.note("failed", ticket, more=str(error))
            self.note("got", ticket, int(group.trajectories[0].id.split(".")[1]), of=group.ticket)

    # -- what a transport does -------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Nothing to open."""

    def start(self, number: int) -> Any:
        """A process that is none."""
        link = _Link(self, len(self.links))
        self.links.append(link)
        for fault in self.plan.faults:
            if fault.actor == link.name:
                asyncio.get_running_loop().call_later(fault.after, link.suffer, fault.what)
        return link

    async def lost(self) -> QuintainError:
        """Never."""
        await asyncio.sleep(FOREVER_S * 2)
        raise AssertionError("a schedule is over by then")

    async def close(self) -> None:
        """Nothing to close."""

    def remove(self) -> None:
        """Nothing to remove."""


class _Link:
    """One process that is none: it plays by sleeping."""

    def __init__(self, scene: _Scene, name: int) -> None:
        self.scene, self.name = scene, name
        self.dead, self.ended, self.zombie = asyncio.Event(), False, False
        self.version, self.came = -1, False

    def suffer(self, what: str) -> None:
        first = self.name < self.scene.plan.actors + self.scene.plan.spares
        if self.dead.is_set() or self.ended or (first and not self.came):  # a run whose first actors fail ends at once
            return
        self.zombie = what == "zombie"
        self.scene.note(what, -1, self.name)
        self.dead.set()

    async def up(self) -> None:
        await asyncio.sleep(self.scene.random(2, self.name).uniform(0, STARTED_S))
        if self.dead.is_set():
            raise GoneError("died before it came up")
        self.came = True

    async def gone(self) -> None:
        await self.dead.wait()

    async def ask(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        scene, ticket = self.scene, message["ticket"]
        same = {k: v for k, v in message.items() if k != "job"}
        scene.note("asked", ticket, self.name, version=self.version, message=repr(sorted(same.items())))
        playing = asyncio.create_task(asyncio.sleep(scene.random(3, self.name, ticket).uniform(0, scene.plan.play_s)))
        dead = asyncio.create_task(self.dead.wait())
        await asyncio.wait([playing, dead], return_when=asyncio.FIRST_COMPLETED)
        if not playing.done() and not self.zombie:
            playing.cancel()
            raise GoneError("died while it played")
        await playing
        dead.cancel()
        return {"group": pack_group(_group(ticket, self.name, self.version))}

    async def load(self, weights: Weights) -> Mapping[str, Any]:
        await asyncio.sleep(self.scene.random(4, self.name, weights.version).uniform(0, self.scene.plan.load_s))
        if self.dead.is_set():
            raise GoneError("died while it loaded")
        self.version = weights.version
        self.scene.note("loaded", weights.version, self.name)
        return {"loaded": weights.version}

    async def end(self) -> int:
        self.ended = True
        return -9

    def log(self) -> str:
        return "it wrote nothing"


def _group(ticket: int, actor: int, version: int) -> Group:
    said = Completion(tokens=(1,), logprobs=(0.0,), finish="stop", spans=(Span(start=0, stop=1, version=version),))
    trajectory = Trajectory(id=f"{ticket}.{actor}", nodes=(Node.sampled(None, said),), stop=Stop.done)
    return Group(task=Task(key=str(ticket), env="none"), trajectories=(trajectory,), ticket=ticket)


def _no_env(task: Task) -> Any:
    raise NotImplementedError("a scheduled actor has no environment")


def wrong(schedule: CrewPlan, log: Sequence[Said]) -> list[str]:
    """What a log shows that must never happen; [] when all is well.

    Every ticket gets one group, its own, from an actor that was not buried; a group is asked for in the same words each time, so
    with the same noise; whoever is asked holds every version that was published by then; nothing is left, and nobody runs on.
    """
    out: list[str] = []
    buried, words, asked, published = set[int](), dict[int, str](), dict[int, int](), -1
    loaded, got = dict[int, int](), dict[int, int]()
    for line in log:
        match line.what:
            case "kill" | "zombie":
                buried.add(line.actor)
            case "published":
                published = line.which
            case "loaded":
                if line.which <= loaded.get(line.actor, -1):
                    out.append(f"actor {line.actor} loaded version {line.which} after {loaded[line.actor]}")
                loaded[line.actor] = line.which
            case "asked":
                asked[line.which] = asked.get(line.which, 0) + 1
                if line.more["version"] < published:
                    held = line.more["version"]
                    out.append(f"actor {line.actor} plays ticket {line.which} with {held}; {published} is published")
                if words.setdefault(line.which, line.more["message"]) != line.more["message"]:
                    out.append(f"ticket {line.which} was asked for in other words the second time")
            case "got":
                got[line.which] = got.get(line.which, 0) + 1
                if line.actor in buried and _before(log, line):
                    out.append(f"ticket {line.which} was given by actor {line.actor}, which was taken for dead before")
                if line.more["of"] != line.which:
                    out.append(f"ticket {line.which} got the group of ticket {line.more['of']}")
            case "failed":
                got[line.which] = got.get(line.which, 0) + 1
                if asked.get(line.which, 0) < DEATHS:
                    out.append(
                        f"ticket {line.which} failed after {asked.get(line.which, 0)} tries: {line.more['more']}"
                    )
            case "left":
                if line.which or line.more["more"] != schedule.actors + schedule.spares:
                    out.append(f"{line.which} groups and {line.more['more']} actors are left")
            case "running":
                out += [f"{line.which} processes were not ended"] if line.which else []
    out += [f"ticket {t} got {got.get(t, 0)} answers" for t in range(schedule.groups) if got.get(t, 0) != 1]
    return out


def _before(log: Sequence[Said], line: Said) -> bool:
    return any(e.actor == line.actor and e.what in ("kill", "zombie") and e.at < line.at for e in log)
