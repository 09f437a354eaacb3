"""Actors: processes on this machine that only play, so that playing and learning overlap.

The first process hands out tickets and publishes weights as files; a group that an actor takes into its grave is played again by
another, with the same noise keys.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quintain.codec import encode
from quintain.ledger import PackedGroup
from quintain.parts import Cast, Rollout
from quintain.runtime.frames import receive, send
from quintain.types import Completion, Floats, Group, Ints, QuintainError, Request, Task, Weights

DEATHS = 3  # actors that a group may outlive, and deaths of an actor before it has finished a group
START_S, LOAD_S = 120.0, 60.0  # deadlines of an actor: to come up, to take over weights

Tell = Callable[[Mapping[str, Any]], None]


class ActorError(QuintainError):
    """Actors do not start, do not answer, or die again and again; the message holds the end of a log."""


@dataclass(slots=True, eq=False)
class Job:
    """A group that is to be played: what is asked, who waits for it, and how many actors died over it."""

    message: dict[str, Any]
    future: asyncio.Future[Group]
    deaths: int = 0


@dataclass(slots=True, eq=False)
class Member:
    """One actor: its process, its connection once it has come up, and what it plays."""

    number: int
    process: subprocess.Popen[bytes]
    writer: asyncio.StreamWriter | None = None
    jobs: dict[int, Job] = field(default_factory=dict)
    up: asyncio.Event = field(default_factory=asyncio.Event)
    loaded: asyncio.Future[int] | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # one version at a time
    finished: int = 0


class Crew:
    """The actors of a run.

    Args:
        folder: of the run, where their logs go.
        count: how many, >= 1.
        tell: is given a mapping for the ledger when an actor dies or is started again.
    """

    def __init__(self, folder: Path, count: int, tell: Tell = lambda fact: None) -> None:
        self.folder, self.count, self.tell = folder, count, tell
        shared = Path("/dev/shm")
        self.room = Path(tempfile.mkdtemp(prefix="quintain-", dir=shared if os.access(shared, os.W_OK) else None))
        self.weights = str(self.room / "weights")
        self.members: dict[int, Member] = {}
        self.deaths = 0
        self._latest: Weights | None = None
        self._numbers = itertools.count()
        self._waiting: list[Job] = []  # jobs while no actor is up
        self._failed: QuintainError | None = None
        self._early = 0  # deaths in a row before a group was finished
        self._leaving = False
        self._server: asyncio.Server | None = None
        self._readers: set[asyncio.Task[None]] = set()

    # -- life ------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the actors; `ready` waits for them."""
        self._server = await asyncio.start_unix_server(self._joined, path=str(self.room / "socket"))
        for number in range(self.count):
            self._spawn(number)

    async def ready(self) -> None:
        """Wait until all actors are up.

        Raises:
            ActorError: one does not come up within its deadline; the end of its log is quoted.
        """
        await asyncio.gather(*[self._come_up(member) for member in list(self.members.values())])

    def _spawn(self, number: int) -> Member:
        command = [sys.executable, "-m", "quintain.runtime.actor", str(self.folder), str(number)]
        with (self.folder / f"actor{number}.log").open("ab") as log:
            process = subprocess.Popen(
                [*command, str(self.room / "socket")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")},
                start_new_session=True,  # Ctrl-C reaches the first process, which ends the others
            )
        self.members[number] = Member(number, process)
        return self.members[number]

    async def _come_up(self, member: Member) -> None:
        for _ in range(int(START_S * 20)):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(member.up.wait(), 0.05)
                return
            if self._leaving:
                return
            if member.process.poll() is not None:
                break
        raise ActorError(f"actor {member.number} did not come up in {START_S:.0f} s; {self._log(member)}")

    def leave(self) -> None:
        """The run drains: nobody waits any longer for actors to come up or to take over weights; they only have to end."""
        self._leaving = True
        for member in self.members.values():
            if member.loaded is not None and not member.loaded.done():
                member.loaded.set_result(-1)

    async def close(self) -> None:
        """End all actors and remove what lies in shared memory."""
        members, self.members = list(self.members.values()), {}
        for member in members:
            member.process.terminate() if member.writer is None else member.writer.close()
        await asyncio.gather(*[_ended(member.process) for member in members])
        if self._server is not None:
            self._server.close()
        for reader in self._readers:
            reader.cancel()
        self.remove()

    def remove(self) -> None:
        """Remove what lies in shared memory, also where no actor was ever started."""
        shutil.rmtree(self.room, ignore_errors=True)

    # -- what a run calls ------------------------------------------------------------------------------------------

    def rollout(self, members: int) -> Rollout:
        """A rollout of groups of `members`, played by whichever actor has the least to do."""

        async def play(task: Task, cast: Cast, ticket: int) -> Group:
            if self._failed is not None:
                raise self._failed
            asked = {"do": "play", "job": next(self._numbers), "ticket": ticket, "members": members}
            asked |= {"task": encode(task), "sampling": encode(cast.sampling), "seed": cast.seed}
            job = Job(asked, asyncio.get_running_loop().create_future())
            await self._hand_out([job])
            return await job.future

        return play

    async def load(self, weights: Weights) -> None:
        """Give published weights to every actor and wait until they play with them.

        Raises:
            ActorError: an actor refuses them or does not answer within its deadline.
        """
        first, self._latest = self._latest is None, weights
        if first:
            await self.ready()
        await asyncio.gather(*[self._give(m) for m in list(self.members.values()) if m.writer is not None])

    async def _give(self, member: Member) -> None:
        async with member.turn:
            weights = self._latest
            if weights is None or member.writer is None or self._leaving:
                return  # its successor gets the newest
            member.loaded = asyncio.get_running_loop().create_future()
            with contextlib.suppress(ConnectionError):
                await send(member.writer, {"do": "load", "version": weights.version, "folder": weights.source})
            try:
                await asyncio.wait_for(member.loaded, LOAD_S)
            except TimeoutError:
                raise ActorError(
                    f"actor {member.number} did not take over version {weights.version} in {LOAD_S:.0f} s; {self._log(member)}"
                ) from None

    # -- messages and deaths ---------------------------------------------------------------------------------------

    async def _hand_out(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            ready = [m for m in self.members.values() if m.writer is not None and m.up.is_set()]
            if not ready:
                self._waiting.append(job)
                continue
            member = min(ready, key=lambda m: (len(m.jobs), m.number))
            member.jobs[job.message["job"]] = job
            with contextlib.suppress(ConnectionError):  # its reader sees the end and hands the job out again
                assert member.writer is not None
                await send(member.writer, job.message)

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._readers.add(task)
        task.add_done_callback(self._readers.discard)
        hello = await receive(reader)
        member = self.members.get(hello["actor"]) if hello else None
        if member is None or member.writer is not None:
            return writer.close()
        member.writer = writer
        listening = asyncio.create_task(self._listen(member, reader))
        try:
            await self._give(member)
        except ActorError as error:  # a version that it refuses: no other process would take it
            return self._give_up(error, self._waiting)
        member.up.set()
        waiting, self._waiting = self._waiting, []
        await self._hand_out(waiting)
        await listening

    async def _listen(self, member: Member, reader: asyncio.StreamReader) -> None:
        while (message := await receive(reader)) is not None:
            if "loaded" in message:
                self._answer_load(member, message)
                continue
            job = member.jobs.pop(message["job"], None)
            if job is None or job.future.done():
                continue
            if "error" in message:
                job.future.set_exception(ActorError(f"actor {member.number}: {message['error']}"))
                continue
            member.finished += 1
            self._early = 0
            job.future.set_result(PackedGroup(message["group"]).open())
        if member.number in self.members:
            await self._buried(member)

    def _answer_load(self, member: Member, message: Mapping[str, Any]) -> None:
        if member.loaded is None or member.loaded.done():
            return
        if "error" in message:
            member.loaded.set_exception(
                ActorError(f"actor {member.number} refuses version {message['loaded']}: {message['error']}")
            )
        else:
            member.loaded.set_result(message["loaded"])

    async def _buried(self, member: Member) -> None:
        """An actor is gone: another one takes its place, and its groups are played again."""
        member.writer = None
        if member.loaded is not None and not member.loaded.done():
            member.loaded.set_result(-1)
        status = await _ended(member.process)
        self.deaths += 1
        self._early += not member.finished
        jobs = list(member.jobs.values())
        self.tell({"actor": member.number, "status": status, "tickets": [j.message["ticket"] for j in jobs]})
        for job in jobs:
            job.deaths += 1
        lost = [job for job in jobs if job.deaths >= DEATHS]
        for job in lost:
            what = f"ticket {job.message['ticket']}, task {job.message['task'].get('key')}"
            self._fail(job, f"{DEATHS} actors died while they played {what}; {self._log(member)}")
        if self._early >= DEATHS * self.count:
            error = ActorError(f"actors die before they finish a group; {self._log(member)}")
            return self._give_up(error, [*jobs, *self._waiting])
        watch = asyncio.create_task(self._follow(self._spawn(member.number)))
        self._readers.add(watch)
        watch.add_done_callback(self._readers.discard)
        await self._hand_out([job for job in jobs if job not in lost])

    async def _follow(self, member: Member) -> None:
        """A successor that never comes up is no reader's to notice: it is buried as well."""
        try:
            await self._come_up(member)
        except ActorError:
            if member.number in self.members and not member.up.is_set():
                await self._buried(member)

    def _give_up(self, error: ActorError, jobs: Sequence[Job]) -> None:
        """No group will be played any more: those who wait are told, and those who come."""
        self._failed = error
        for job in jobs:
            self._fail(job, str(error))

    def _fail(self, job: Job, why: str) -> None:
        if not job.future.done():
            job.future.set_exception(ActorError(why))

    def _log(self, member: Member) -> str:
        log = self.folder / f"actor{member.number}.log"
        tail = log.read_text(errors="replace").splitlines()[-12:] if log.exists() else []
        return f"its status is {member.process.poll()}, the end of {log}:\n" + "\n".join(tail)


async def _ended(process: subprocess.Popen[bytes]) -> int:
    """The exit status of a process whose socket is closed; it has two seconds to leave by itself."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return await asyncio.to_thread(process.wait, 2)
    process.kill()
    return process.wait()


class CrewEngine:
    """Stands for the engines of all actors: weights go to each of them. Requests are made where they are."""

    def __init__(self, crew: Crew) -> None:
        self.crew = crew

    async def load(self, weights: Weights) -> None:
        """See `Crew.load`."""
        await self.crew.load(weights)

    async def generate(self, request: Request) -> Completion:
        """No request is made in this process."""
        raise ActorError("the engines are in the actors; play through the crew's rollout")

    async def score(self, paths: Sequence[Ints]) -> Sequence[Floats]:
        """No request is made in this process."""
        raise ActorError("the engines are in the actors; the learner scores")

    async def fork(self, session: str, at: int, into: str) -> None:
        """No session is here."""

    async def abort(self, session: str) -> None:
        """No session is here."""

    async def pause(self) -> None:
        """Nothing runs here."""

    async def resume(self) -> None:
        """Nothing runs here."""
