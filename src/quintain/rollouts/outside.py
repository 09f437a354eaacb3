"""Running an agent of somebody else's for one episode: a command in a process group of its own, or a function in a thread."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import IO, Any, NamedTuple

from quintain.registry import line_of, unknown
from quintain.types import QuintainError

TAIL = 1 << 16  # bytes of output that are looked at
GRACE_S = 2.0  # between asking a process group to end and ending it
# On Linux a command dies with the process that started it, even when that one is killed.
_LEASH = (
    "import ctypes,os,sys;ctypes.CDLL(None).prctl(1,9,0,0,0);"
    "os.getppid()==int(sys.argv[1]) or os._exit(1);os.execvp(sys.argv[2],sys.argv[2:])"
)


class AgentFailed(Exception):
    """The agent raised, or its command ended with another status than 0."""


class AgentError(QuintainError):
    """The agent that a config names cannot be run."""


class Result(NamedTuple):
    """What an agent handed back: an answer in words, named rewards, or neither."""

    answer: str | None = None
    rewards: Mapping[str, float] = {}


def result_of(value: Any) -> Result:
    """What a return value means: text is the answer, a number the reward `agent`, a mapping has `answer`, `reward`, `rewards`.

    A mapping without any of these names is one of named rewards.

    Raises:
        AgentFailed: it is none of these.

    Example:
        >>> result_of("42").answer, dict(result_of(True).rewards), dict(result_of({"reward": 0.5, "answer": "x"}).rewards)
        ('42', {'agent': 1.0}, {'agent': 0.5})
    """
    if value is None:
        return Result()
    if isinstance(value, str):
        return Result(answer=value)
    try:
        if not isinstance(value, Mapping):
            return Result(rewards={"agent": float(value)})
        if not {"answer", "reward", "rewards"} & set(value):
            return Result(rewards={str(n): float(v) for n, v in value.items()})
        rewards = {str(n): float(v) for n, v in (value.get("rewards") or {}).items()}
        if value.get("reward") is not None:
            rewards["agent"] = float(value["reward"])
        answer = value.get("answer")
        return Result(None if answer is None else str(answer), rewards)
    except (TypeError, ValueError) as error:
        raise AgentFailed(f"it returned {value!r:.80}, which is no answer and no reward: {error}") from None


def arguments_of(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the given values that the function's parameters are named after.

    Raises:
        AgentError: it has a parameter that nothing is given for.
    """
    parameters = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dict(given)
    missing = [
        n for n, p in parameters.items() if n not in given and p.default is p.empty and p.kind is not p.VAR_POSITIONAL
    ]
    if missing:
        raise AgentError(unknown("argument of an agent:", missing[0], given))
    return {n: given[n] for n in parameters if n in given}


async def run_function(function: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """The value of a sync or async function, called in a thread of its own: one that blocks holds up nothing else.

    Raises:
        AgentFailed: it raised.
    """
    arguments = arguments_of(function, given)
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: str) -> None:
        if not future.done():
            future.set_exception(AgentFailed(error)) if error else future.set_result(value)

    def work() -> None:
        value, failure = None, ""
        try:
            value = function(**arguments)
            if inspect.isawaitable(value):
                value = asyncio.run(_awaited(value))
        except SystemExit as end:
            failure = f"it exits with {end.code!r}" if end.code else ""
        except BaseException as error:
            failure = f"{type(error).__name__}: {error}"[:400] + line_of(error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=work, daemon=True, name="quintain-agent").start()
    return await future


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


async def run_command(command: Sequence[str], task: Mapping[str, Any], more: Mapping[str, str]) -> Any:
    """The last line that a command prints, where that is a JSON object; None otherwise.

    The task is the JSON object on its standard input, `more` joins its environment. Its whole process group ends with it,
    and when the caller is cancelled.

    Raises:
        AgentFailed: it cannot be started, or ended with another status than 0; the end of what it printed is quoted.
    """
    leashed = [sys.executable, "-I", "-S", "-c", _LEASH, str(os.getpid())] if sys.platform == "linux" else []
    with tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        told.write(json.dumps(task).encode())
        told.seek(0)
        process = await asyncio.create_subprocess_exec(
            *leashed,
            *command,
            stdin=told,
            stdout=out,
            stderr=errors,
            env={**os.environ, **more},
            start_new_session=True,
        )
        try:
            status = await process.wait()
        finally:
            await _end(process)
        if status:
            said = (_tail(errors) or _tail(out)).strip().splitlines()[-3:]
            raise AgentFailed(f"status {status}: {' | '.join(said)}"[:400])
        lines = _tail(out).strip().splitlines()
        with contextlib.suppress(ValueError):
            value = json.loads(lines[-1]) if lines else None
            return value if isinstance(value, dict) else None
        return None


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask the process group to end, then end it."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, sign)
        if process.returncode is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE_S):
                    await process.wait()


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL))
    return file.read().decode(errors="replace")
