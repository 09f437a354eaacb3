"""The main of a process that holds envs: `python -m quintain.runtime.env_worker FD PARENT`.

It is told over the socket FD which envs to make, serves many at once, imports no torch, and ends with its parent.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import socket
import sys
from collections.abc import Mapping
from typing import Any

from quintain.runtime.env_host import Host, make_envs
from quintain.runtime.frames import receive, send

PR_SET_PDEATHSIG = 1  # Linux: the signal that this process gets when its parent is gone


async def serve(end: socket.socket) -> None:
    """Make envs as the first message says and serve until the other side is gone."""
    reader, writer = await asyncio.open_unix_connection(sock=end)
    spec = await receive(reader)
    if spec is None:
        return
    host, working = Host(make_envs(spec)), set[asyncio.Task[None]]()

    async def answer(message: Mapping[str, Any]) -> None:
        done = await host.answer(message)
        with contextlib.suppress(ConnectionError):
            await send(writer, {"id": message["id"], **done})

    await send(writer, {"up": True})
    while (message := await receive(reader)) is not None:
        task = asyncio.create_task(answer(message))
        working.add(task)
        task.add_done_callback(working.discard)


def main(arguments: list[str]) -> None:
    """Serve the socket FD for PARENT."""
    end, parent = socket.socket(fileno=int(arguments[0])), int(arguments[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # also where an env blocks and reads no socket
    if os.getppid() != parent:  # it died before that
        return
    asyncio.run(serve(end))
    os._exit(0)  # envs may have left threads behind


if __name__ == "__main__":
    main(sys.argv[1:])
