"""Actors as processes of this machine: msgpack frames over a unix socket, weights in shared memory."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quintain import faults
from quintain.runtime.children import Started, begin
from quintain.runtime.crew import GoneError, Link
from quintain.runtime.frames import framed, receive, send
from quintain.runtime.pulse import end_the_silent, feel
from quintain.runtime.rooms import SOCKET, make_room
from quintain.types import QuintainError, Weights


class Process:
    """One actor process and its connection.

    Args:
        number: of the actor.
        process: it, started already.
        path: its log.
    """

    def __init__(self, number: int, process: Started, path: Path) -> None:
        self.number, self.process, self.path = number, process, path
        self.began = time.monotonic()
        self.pulse: Mapping[str, Any] = {}  # the last one
        self.silent_s = 0.0  # without a pulse, by the clock of the one who listens
        self.given_up = False
        self.writer: asyncio.StreamWriter | None = None
        self._joined, self._over = asyncio.Event(), asyncio.Event()
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._numbers = itertools.count()

    async def up(self) -> None:
        """Wait for its connection."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.05):
                    await self._joined.wait()
                return
            if self.process.poll() is not None:
                raise GoneError(f"actor {self.number} ended before it came up")

    async def gone(self) -> None:
        """Wait for the end of its connection."""
        await self._over.wait()

    async def ask(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a message; its answer carries the same number."""
        if self.writer is None or self._over.is_set():
            raise GoneError(f"actor {self.number} is gone")
        number = next(self._numbers)
        self._answers[number] = asyncio.get_running_loop().create_future()
        faults.point("crew.send")
        with contextlib.suppress(ConnectionError):  # its reader sees the end
            await send(self.writer, {**message, "id": number})
        try:
            return await self._answers[number]
        finally:
            self._answers.pop(number, None)

    async def load(self, weights: Weights) -> Mapping[str, Any]:
        """Tell it the folder of the published weights."""
        return await self.ask({"do": "load", "version": weights.version, "folder": weights.source})

    async def listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take its answers until it is gone, or says what is no message.

        Raises:
            FrameError: what it said cannot be read; it counts as gone.
        """
        self.writer = writer
        self._joined.set()
        why = "is gone"
        try:
            while (message := await receive(reader)) is not None and not self.given_up:
                faults.point("crew.receive")
                waiting = self._answers.get(message["id"])
                if waiting is not None and not waiting.done():
                    waiting.set_result(message)
        except Exception as error:
            why = f"is gone: {error}"
            raise
        finally:
            self._over.set()
            for waiting in self._answers.values():
                if not waiting.done():
                    waiting.set_exception(GoneError(f"actor {self.number} {why}"))

    async def end(self) -> int:
        """Tell it to leave; where it does not within two seconds it is killed."""
        if self.writer is None:
            self.process.kill() if self.process.poll() is None else None
        else:
            self.writer.write(framed({"do": "end"}))
            self.writer.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return await asyncio.to_thread(self.process.wait, 2)
        self.process.kill()
        return await asyncio.to_thread(self.process.wait)

    @property
    def here(self) -> bool:
        """Whether it has come up and has not ended."""
        return self._joined.is_set() and not self._over.is_set()

    def give_up(self) -> None:
        """Kill it, and believe nothing that it still says; its reader sees the end."""
        self.given_up = True
        self.process.kill()
        if self.writer is not None:
            self.writer.transport.abort()

    def why(self) -> dict[str, Any]:
        """What the ledger is told beside its status."""
        return {"silent_s": self.silent_s} if self.given_up else {}

    def told(self) -> dict[str, Any]:
        """What the run's status says of its process; any thread may ask."""
        keys = {"version": None, "lag_s": 0.0, "waits": [], "ended": {}, "stack": []}
        heard = {"silent_s": round(self.silent_s, 1), "up_s": round(time.monotonic() - self.began, 1)}
        return {"pid": self.process.pid, **heard, **{k: self.pulse.get(k, v) for k, v in keys.items()}}

    def log(self) -> str:
        """Its status and the last lines of its log."""
        tail = self.path.read_text(errors="replace").splitlines()[-12:] if self.path.exists() else []
        return f"its status is {self.process.poll()}, the end of {self.path}:\n" + "\n".join(tail)


class Processes:
    """Starts actors as processes of this machine.

    Args:
        folder: of the run, where their logs go.
        heartbeat_s: seconds without a pulse after which an actor is killed, to be replaced; 0 for never.
    """

    def __init__(self, folder: Path, heartbeat_s: float = 30.0) -> None:
        self.folder, self.heartbeat_s = folder, heartbeat_s
        self.room = make_room()
        self.weights = str(self.room / "weights")
        self._started: dict[int, Process] = {}
        self._server: asyncio.Server | None = None
        self._readers: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Listen for actors."""
        self._server = await asyncio.start_unix_server(self._joined, path=str(self.room / SOCKET))
        if self.heartbeat_s:
            self._keep(asyncio.create_task(end_the_silent(self._started.values, self.heartbeat_s)))

    def start(self, number: int) -> Link:
        """Start a process; its output goes to `actorN.log`."""
        path = self.folder / f"actor{number}.log"
        with path.open("ab") as log:
            words = [str(self.folder), str(number), str(self.room / SOCKET)]
            process = begin("quintain.runtime.actor", *words, log=log)
        self._started[number] = Process(number, process, path)
        return self._started[number]

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._keep(task)
        hello = await receive(reader)
        member = self._started.get(hello["actor"]) if hello else None
        if hello is None or member is None or member.given_up or hello["pid"] != member.process.pid:
            return writer.close()  # a stranger, or the predecessor of one that is up
        if hello.get("pulse"):
            await feel(member, reader)
            return writer.close()
        if member.writer is not None:
            return writer.close()
        await member.listen(reader, writer)

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._readers.add(task)
        task.add_done_callback(self._readers.discard)

    async def lost(self) -> QuintainError:
        """This machine is never lost: the first process is on it."""
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    async def close(self) -> None:
        """Listen no longer."""
        if self._server is not None:
            self._server.close()
        for reader in self._readers:
            reader.cancel()

    def remove(self) -> None:
        """Remove what lies in shared memory."""
        shutil.rmtree(self.room, ignore_errors=True)
