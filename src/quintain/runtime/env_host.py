"""The side of an env worker where the envs are: it makes them and does with them what messages ask. It knows no transport."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any

from quintain import faults
from quintain.codec import decode, encode
from quintain.ports import Env
from quintain.registry import build, import_file, line_of, user_object
from quintain.types import Feedback, Message, Task, check_stop, writable


def make_envs(spec: Mapping[str, Any]) -> Callable[[Task], Env]:
    """The env factory that plain data name: `imports` are run first, then `user` is FILE.py:factory, or `part` a registered env.

    Raises:
        UnknownName: there is no such file, env or option.
    """
    for path in spec.get("imports", ()):
        import_file(path)
    return user_object(spec["user"]) if spec.get("user") else build("env", spec["part"])


def told(feedback: Feedback) -> Any:
    """Feedback as plain data; a private state that is none stays behind."""
    check_stop(feedback.stop)  # of a type of the env's own, nobody has looked yet
    clean = replace(feedback, events=tuple(map(writable, feedback.events)), action=writable(feedback.action))
    try:
        return encode(clean)
    except TypeError:
        return encode(replace(clean, state=None))


class Host:
    """The envs of a worker, by the key that the other side gave them.

    Args:
        make: the env of a task.
    """

    def __init__(self, make: Callable[[Task], Env]) -> None:
        self.make = make
        self.envs: dict[Hashable, Env] = {}
        self.locks: dict[Hashable, asyncio.Lock] = {}  # an env does one thing at a time
        self.running: dict[Hashable, asyncio.Task[Any]] = {}

    async def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """What a message asks for: `said`, or the `error` that was met, or `gone` where the env is not in this worker.

        A message has an `id`, the key of its `env`, and what to `do`: `reset` with a `task`, `step` with `moves`, `close`; or
        `cancel`, `of` the id of a message that nobody waits for any more.
        """
        if message["do"] == "cancel":
            if running := self.running.get(message["of"]):
                running.cancel()
            return {"said": {}}
        answer: dict[str, Any]
        if message["do"] == "step" and message["env"] not in self.envs:  # it was in the predecessor of this worker
            return {"gone": True}
        task = asyncio.current_task()
        assert task is not None
        self.running[message["id"]] = task
        try:
            async with self.locks.setdefault(message["env"], asyncio.Lock()):
                answer = {"said": await self._do(message)}
        except asyncio.CancelledError:
            answer = {"error": ["CancelledError", "it was too late"], "line": ""}
        except BaseException as error:  # SystemExit too: what an env does ends its episode, not this process
            answer = {"error": [type(error).__name__, writable(str(error)[:4000])], "line": line_of(error)}
        finally:
            del self.running[message["id"]]
        faults.point("env.answer")
        return answer

    async def _do(self, message: Mapping[str, Any]) -> dict[str, Any]:
        key, verb = message["env"], message["do"]
        if verb == "close":
            env = self.envs.pop(key, None)
            self.locks.pop(key, None)
            if env is not None:
                await env.close()
            return {}
        if verb == "reset":
            task = decode(Task, message["task"])
            if key not in self.envs:
                self.envs[key] = self.make(task)
            heard = await self.envs[key].reset(task)
        else:
            moves = {seat: decode(Message, said) for seat, said in message["moves"].items()}
            heard = await self.envs[key].step(moves)
        return {seat: told(feedback) for seat, feedback in heard.items()}

    async def forget(self, whose: Callable[[Any], bool]) -> None:
        """Close the envs of a player that is gone, by their keys; what they raise concerns nobody any more."""
        for key in [k for k in self.envs if whose(k)]:
            self.locks.pop(key, None)
            with contextlib.suppress(Exception):
                await self.envs.pop(key).close()
