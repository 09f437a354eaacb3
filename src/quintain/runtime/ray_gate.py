"""Around Ray, without it: whether a head answers and takes the token, what outlives a killed run, calls that may hang."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from quintain.runtime.cluster import ClusterError

ALIVE = "/ray.rpc.NodeInfoGcsService/CheckAlive"
SAID, WIDE = 16, 240  # lines of a process that died, and how much of each is quoted


def refuse(address: str, answer: str, token: Path | None) -> None:
    """Say why a cluster cannot be used.

    Raises:
        ClusterError: always, from what `answers` gave.
    """
    if answer == "UNAUTHENTICATED":
        what = f"the token in {token}" if token else "a client without a token (cluster.auth is false)"
        raise ClusterError(
            f"the cluster at {address} refuses {what}: it is another cluster's, or it has expired; set cluster.token_file to the "
            "file with the token that the head was started with"
        )
    raise ClusterError(
        f"what listens at cluster.address {address} is no Ray head, or is not up yet ({answer}); see `ray status`"
    )


def answers(address: str, token: Path | None, deadline_s: float) -> str:
    """`ok` if the GCS at an address is alive and takes the token, else the name of the failure."""
    if os.environ.get("RAY_USE_TLS", "0") not in ("", "0"):
        return "ok"  # Ray has the certificates, and says itself what is wrong
    pairs = (("authorization", f"Bearer {token.read_text().strip()}"),) if token and token.exists() else ()
    import grpc

    with grpc.insecure_channel(address) as channel:
        try:
            channel.unary_unary(ALIVE)(b"", timeout=deadline_s, metadata=pairs)
        except grpc.RpcError as error:
            return str(error.code().name) if isinstance(error, grpc.Call) else type(error).__name__
    return "ok"


def start_reaper(room: Path) -> subprocess.Popen[bytes]:
    """A process that lives a moment longer than this one, to leave nothing of a Ray of our own behind."""
    return subprocess.Popen(
        [sys.executable, "-c", "import sys; from quintain.runtime import reaper; reaper.main(sys.argv[1:])", str(room)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C reaches the first process, which ends the others
    )


def aside(call: Callable[[], Any]) -> Awaitable[Any]:
    """What a blocking call of Ray gives. Its thread is a daemon: one that hangs with the cluster does not keep the process."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if not future.done():
            future.set_exception(error) if error is not None else future.set_result(result)

    def run() -> None:
        result, failed = None, None
        try:
            result = call()
        except BaseException as error:
            failed = error
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits
            loop.call_soon_threadsafe(settle, result, failed)

    threading.Thread(target=run, name="ray-call", daemon=True).start()
    return future


async def briefly(call: Callable[[], Any], seconds: float) -> None:
    """Make a blocking call of Ray, and go on after so many seconds whether it is done or not."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await aside(call)


def join_all(name: str) -> None:
    """Wait for the ends of all threads of a name."""
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join()


def first_line(error: object) -> str:
    """The first line of an error, for a message."""
    return str(error).strip().split("\n", 1)[0][:300]


def last_words(room: Path, pid: int) -> str:
    """The end of what a worker process of a Ray of our own wrote to its standard error, or "": a crash by its signal and its frames."""
    text = ""
    with contextlib.suppress(OSError):  # the room is being removed
        found = sorted(room.glob(f"ray/session_*/logs/worker-*-{pid}.err"))
        text = found[-1].read_text(errors="replace") if found else ""
    kept = [
        line[:WIDE] for line in text.splitlines() if line.strip() and not line.startswith((":", "Extension modules:"))
    ]
    native = next((i for i, line in enumerate(kept) if "*** SIG" in line), len(kept))
    python = next((i for i, line in enumerate(kept) if line.startswith("Fatal Python error")), len(kept))
    crash = kept[native : min(native + SAID, python)] + kept[python : python + SAID]
    return "\n".join(crash or kept[-SAID:])
