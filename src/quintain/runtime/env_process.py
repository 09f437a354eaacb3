"""Env workers as processes of this machine: children on socket pairs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import tempfile
from collections.abc import Mapping
from functools import partial
from typing import Any

from quintain.runtime.children import start
from quintain.runtime.env_pool import EnvPool, Heard, Schema, Tell
from quintain.runtime.env_proxy import WorkerGone
from quintain.runtime.frames import FrameError, receive, send

START_S = 60.0  # deadline of a process to come up


class Child:
    """One process and our end of its socket; matches `env_pool.Line`.

    Args:
        spec: what `make_envs` reads.
        place: of the worker in its pool; all are alike.
    """

    def __init__(self, spec: Mapping[str, Any], place: int) -> None:
        self.spec, self.place = spec, place
        self._end, theirs = socket.socketpair()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the worker, without a name
        with theirs:
            words = [str(theirs.fileno()), str(os.getpid())]
            self.process = start("quintain.runtime.env_worker", *words, log=self._log, keep=[theirs.fileno()])
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._heard: Heard = lambda message: None

    async def up(self, heard: Heard) -> None:
        """Say which envs it is to make, and wait until it can."""
        self._heard = heard
        self._reader, self._writer = await asyncio.open_unix_connection(sock=self._end)
        with contextlib.suppress(ConnectionError):
            await send(self._writer, self.spec)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_S):
                if await receive(self._reader):
                    return
        raise WorkerGone

    async def send(self, message: Mapping[str, Any]) -> None:
        """Write it; waits while the process is behind."""
        assert self._writer is not None
        with contextlib.suppress(ConnectionError):  # the reader sees the end
            await send(self._writer, message)

    async def gone(self) -> None:
        """Take its answers until it is gone."""
        assert self._reader is not None
        with contextlib.suppress(FrameError, KeyError):  # an env wrote into our socket
            while (message := await receive(self._reader)) is not None:
                self._heard(message)

    def kill(self) -> None:
        """End the process and all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def told(self) -> dict[str, Any]:
        """Its status, once it has ended, and the end of what it printed."""
        self.kill()
        status = self.process.wait()
        self._log.seek(0)
        return {"status": status, "log": self._log.read().decode(errors="replace")[-2000:].strip()}

    def close(self) -> None:
        """End the process and free what is held here."""
        self._end.close() if self._writer is None else self._writer.close()
        self.kill()
        self.process.wait()
        self._log.close()


def local(
    spec: Mapping[str, Any], count: int, schema: Schema = lambda task: None, tell: Tell = lambda fact: None
) -> EnvPool:
    """Envs in `count` processes of this machine, and one more that is warm.

    Args:
        spec: what `make_envs` reads.
        count: processes that hold envs, >= 1.
        schema: see `EnvPool`.
        tell: see `EnvPool`.
    """
    return EnvPool(partial(Child, dict(spec)), count, 1, schema, tell)
