"""Actors that only play, so that playing and learning overlap: who plays what, and what becomes of it when an actor dies.

The first process hands out tickets and publishes weights; a group that an actor takes into its grave is played again by another,
with the same noise keys. How actors are started and reached is a `Transport`: processes of this machine, or a cluster.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

from quintain import faults
from quintain.codec import encode
from quintain.ledger import PackedGroup
from quintain.parts import Cast, Reward, Rollout
from quintain.runtime.affinity import Affinity
from quintain.runtime.measure import summed
from quintain.runtime.members import Job, Member
from quintain.runtime.transport import GoneError as GoneError
from quintain.runtime.transport import Link as Link
from quintain.runtime.transport import Transport as Transport
from quintain.types import Group, QuintainError, Task, Weights
from quintain.waits import waiting

DEATHS = 3  # actors that a group may outlive, and deaths of an actor before it has finished a group
START_S, LOAD_S = 120.0, 60.0  # deadlines of an actor: to come up, to take over weights

Tell = Callable[[Mapping[str, Any]], None]


class ActorError(QuintainError):
    """Actors do not start, do not answer, or die again and again; the message holds the end of a log."""


class Crew:
    """The actors of a run.

    Args:
        transport: starts and reaches them.
        count: how many, >= 1.
        tell: is given a mapping for the ledger when an actor dies or is started again.
        spares: further actors that are up and play nothing; one takes the place of an actor that dies. They are started once a
            group was played: until then those that play need the processor.
        affinity: knows which of them fits a group, where their pools have labels.
    """

    def __init__(
        self,
        transport: Transport,
        count: int,
        tell: Tell = lambda fact: None,
        *,
        spares: int = 0,
        affinity: Affinity | None = None,
    ) -> None:
        self.transport, self.count, self.tell, self.spares = transport, count, tell, spares
        self.affinity = affinity or Affinity()
        self.weights = transport.weights
        self.reward: Reward | None = None  # scores where the actors are, if the transport can
        self.members: dict[int, Member] = {}
        self.deaths = 0
        self.vouch: Callable[[Member], Awaitable[None]] = _trusted  # raises for one that does not hold the weights
        self._latest: Weights | None = None
        self._numbers = itertools.count()
        self._waiting: list[Job] = []  # jobs while no actor is up
        self._failed: QuintainError | None = None
        self.env_died: Tell = lambda fact: None  # is given what became of a worker that held envs of an actor
        self.counted: dict[str, float] = {}  # what the actors' engines told since somebody asked
        self._early = 0  # deaths in a row before a group was finished
        self._leaving, self._played = asyncio.Event(), asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    # -- life ------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the actors; `ready` waits for them."""
        await self.transport.open()
        self._do(self._watch())
        for number in range(self.count):
            self._spawn(number)
        self._do(self._stand_by())

    async def _stand_by(self) -> None:
        await self._played.wait()
        for number in range(self.count, self.count + self.spares):
            self._spawn(number, first=False, spare=True)

    async def _watch(self) -> None:
        error = await self.transport.lost()
        self._give_up(error, self._jobs())

    def _jobs(self) -> list[Job]:
        return [*(job for member in self.members.values() for job in member.jobs.values()), *self._waiting]

    async def ready(self) -> None:
        """Wait until all actors are up.

        Raises:
            ActorError: one does not come up within its deadline; the end of its log is quoted.
        """
        started = asyncio.gather(*[member.started for member in self.members.values() if member.called.is_set()])
        await self.unless_leaving(started)

    def _spawn(self, number: int, *, first: bool = True, spare: bool = False) -> Member:
        member = Member(number, self.transport.start(number), asyncio.get_running_loop().create_future())
        if not spare:
            member.called.set()
        member.started.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may be waiting yet
        self.members[number] = member
        self._do(self._live(member, first))
        return member

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:  # nobody else would hear of it
            self._give_up(ActorError(f"{type(error).__name__}: {error}"), self._jobs())

    async def _live(self, member: Member, first: bool) -> None:
        """The life of an actor, from its start to its burial; where one of the first cannot come up, `ready` says so."""
        try:
            with waiting("come up", f"actor {member.number}", "", START_S):
                async with asyncio.timeout(START_S):
                    await member.link.up()
        except (GoneError, TimeoutError) as lost:
            if not first or not member.called.is_set() or await _killed(member, lost):
                return await self._buried(member)
            error = ActorError(f"actor {member.number} did not come up in {START_S:.0f} s; {member.link.log()}")
            return member.started.set_exception(error)
        member.here = True
        if not await self._called(member):
            return await self._buried(member)
        try:
            while True:
                newest = self._latest
                await self._give(member)
                await self.vouch(member)
                if self._latest is newest:  # else a newer version was published meanwhile, to those that are up
                    break
            if newest is not None and member.plays is not newest and not self._leaving.is_set():
                raise GoneError(f"actor {member.number} ended while it took over version {newest.version}")
        except GoneError:
            return await self._buried(member)
        except QuintainError as error:  # a version that it refuses, or that is refused: no other actor would do better
            if not member.started.done():
                member.started.set_exception(error)
            return self._give_up(error, self._waiting)
        member.up = True
        if not member.started.done():
            member.started.set_result(None)
        jobs, self._waiting = self._waiting, []
        self._hand_out(jobs)
        await member.link.gone()
        await self._buried(member)

    async def _called(self, member: Member) -> bool:
        """Wait until a spare is called to play; False where it is gone before."""
        if member.called.is_set():
            return True
        either = [asyncio.ensure_future(w) for w in (member.called.wait(), member.link.gone())]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in either:
                task.cancel()
        return member.called.is_set()

    def leave(self) -> None:
        """The run drains: nobody waits any longer for actors to come up or to take over weights; they only have to end."""
        self._leaving.set()

    async def close(self) -> None:
        """End all actors and remove what the transport holds."""
        members, self.members = list(self.members.values()), {}
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*[member.link.end() for member in members])
        await self.transport.close()
        self.remove()

    def remove(self) -> None:
        """Remove what the transport holds, also where no actor was ever started."""
        self.transport.remove()

    # -- what a run calls ------------------------------------------------------------------------------------------

    def rollout(self, members: int, **options: Any) -> Rollout:
        """A rollout of groups of `members`, each played by the actor that `Affinity` chooses; `options` are the rollout part's."""

        async def play(task: Task, cast: Cast, ticket: int) -> Group:
            if self._failed is not None:
                raise self._failed
            asked = {"do": "play", "job": next(self._numbers), "ticket": ticket, "members": members}
            asked |= {"options": options, "pinned": getattr(cast.engines.get("policy"), "pinned", None)}
            asked |= {"task": encode(task), "sampling": encode(cast.sampling), "seed": cast.seed}
            job = Job(asked, asyncio.get_running_loop().create_future(), self.affinity.stratum(task))
            with waiting("actor", ticket, lambda: self._player(job)):
                self._hand_out([job])
                return await job.future

        return play

    async def load(self, weights: Weights) -> None:
        """Give published weights to every actor and wait until they play with them.

        Raises:
            ActorError: an actor refuses them or does not answer within its deadline.
        """
        first, self._latest = self._latest is None, weights
        if self._failed is not None:
            raise self._failed
        if first:
            await self.ready()
        await asyncio.gather(*[self._give(m) for m in list(self.members.values()) if m.up])

    async def _give(self, member: Member) -> None:
        async with member.turn:
            weights = self._latest
            if weights is None or member.plays is weights or self._leaving.is_set():
                return
            said = f"version {weights.version}"
            try:
                answer = await self.hear(member, member.link.load(weights), "actor load", weights.version, said)
            except GoneError:
                return  # its successor gets the newest
            self.counted = summed([self.counted, answer.get("counters", {})])
            member.plays = weights

    async def hear(
        self, member: Member, asked: Awaitable[Mapping[str, Any]], wait: str, who: Any, what: str
    ) -> Mapping[str, Any]:
        """What an actor answers; {} once the run drains. `wait` and `who` name the wait for the status, `what` the question.

        Raises:
            GoneError: it ended before.
            ActorError: it is silent beyond the deadline, by its number and the end of its log, or it answers with an error.
        """
        try:
            with waiting(wait, who, f"actor {member.number}", LOAD_S):
                async with asyncio.timeout(LOAD_S):
                    answer = await self.unless_leaving(asked)
        except TimeoutError:
            silent = f"actor {member.number} did not answer to {what} in {LOAD_S:.0f} s; {member.link.log()}"
            raise ActorError(silent) from None
        if answer and "error" in answer:
            raise ActorError(f"actor {member.number} refuses {what}: {answer['error']}")
        return answer or {}

    async def unless_leaving(self, work: Any) -> Any:
        """What `work` gives; None, and the work given up, once the run drains."""
        task, left = asyncio.ensure_future(work), asyncio.ensure_future(self._leaving.wait())
        try:
            await asyncio.wait([task, left], return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            task.cancel()
            left.cancel()

    # -- groups and deaths -----------------------------------------------------------------------------------------

    def _hand_out(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            faults.point("crew.hand_out")
            ready = [m for m in self.members.values() if m.up]
            if not ready:
                self._waiting.append(job)
                continue
            member = self.affinity.choose(job.stratum, ready)
            member.jobs[job.message["job"]] = job
            job.handed = time.monotonic()
            self._do(self._asked(member, job))

    async def _asked(self, member: Member, job: Job) -> None:
        answer: Mapping[str, Any]
        try:
            answer = await member.link.ask(job.message)
        except GoneError:
            return  # its burial hands the job out again
        except QuintainError as error:  # it cannot be asked
            answer = {"error": str(error)}
        for fact in answer.get("env_workers", ()):
            self.env_died({"actor": member.number, **fact})
        if member.jobs.pop(job.message["job"], None) is not job or job.future.done():
            return  # buried meanwhile: the group is another's now
        if "error" in answer:
            return job.future.set_exception(ActorError(f"actor {member.number}: {answer['error']}"))
        try:
            group = PackedGroup(answer["group"]).open()
        except Exception as error:
            return job.future.set_exception(ActorError(f"actor {member.number} answers with no group: {error}"))
        member.finished += 1
        self.affinity.learn(group)
        self._early = 0
        self._played.set()
        job.future.set_result(group)

    async def _buried(self, member: Member) -> None:
        """An actor is gone: another one takes its place, and its groups are played again."""
        if self.members.get(member.number) is not member:
            return
        member.up = False
        if not member.started.done():
            member.started.set_result(None)  # nobody need wait for it: its successor takes over the newest version
        status = await member.link.end()
        self.deaths += 1
        if self._failed is not None:
            return
        self._early += not member.finished
        jobs, member.jobs = list(member.jobs.values()), {}
        dead = {"actor": member.number, "status": status, "tickets": [j.message["ticket"] for j in jobs]}
        self.tell(dead | getattr(member.link, "why", dict)())
        for job in jobs:
            job.deaths += 1
        lost = [job for job in jobs if job.deaths >= DEATHS]
        for job in lost:
            what = f"ticket {job.message['ticket']}, task {job.message['task'].get('key')}"
            self._fail(job, ActorError(f"{DEATHS} actors died while they played {what}; {member.link.log()}"))
        if self._early >= DEATHS * self.count:
            error = ActorError(f"actors die before they finish a group; {member.link.log()}")
            if not member.started.done():
                member.started.set_exception(error)
            return self._give_up(error, [*jobs, *self._waiting])
        spare = not member.called.is_set()
        heirs = [m for m in self.members.values() if m.here and not m.called.is_set() and m is not member]
        if heirs and not spare:
            self._inherit(member, heirs[0])
            heirs[0].called.set()
            spare = True  # who comes in the place of the dead one is the next spare
        heir = self._spawn(member.number, first=False, spare=spare)
        if not spare:
            self._inherit(member, heir)
        self._hand_out([job for job in jobs if job not in lost])

    def _inherit(self, dead: Member, heir: Member) -> None:
        """Whoever waits for the first start of the dead one waits for that of its heir."""
        if not dead.started.done():
            heir.started = dead.started

    def _player(self, job: Job) -> int:
        """The actor that plays a job; -1 while none is up."""
        number = job.message["job"]
        return next((m.number for m in list(self.members.values()) if number in m.jobs), -1)

    def told(self) -> list[dict[str, Any]]:
        """What the status of the run says of its actors; any thread may ask."""
        return [member.told() for member in list(self.members.values())]

    def _give_up(self, error: QuintainError, jobs: Sequence[Job]) -> None:
        """No group will be played any more: those who wait are told, and those who come."""
        self._failed = error
        for job in jobs:
            self._fail(job, error)
        for member in self.members.values():
            if not member.started.done():
                member.started.set_exception(error)

    def _fail(self, job: Job, error: QuintainError) -> None:
        if not job.future.done():
            job.future.set_exception(error)


async def _trusted(member: Member) -> None:
    """Whatever an actor holds will do."""


async def _killed(member: Member, lost: Exception) -> bool:
    """Whether a signal ended an actor before it came up: nothing says that the next one would not."""
    if not isinstance(lost, GoneError):
        return False
    status = await member.link.end()
    return isinstance(status, int) and status < 0
