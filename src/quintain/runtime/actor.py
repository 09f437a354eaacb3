"""The main of a process that only plays: `python -m quintain.runtime.actor FOLDER NUMBER SOCKET`.

It makes stage, model and engine from the run's config, plays the groups that the first process asks for, and loads the weights
that it publishes. It ends with its socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from quintain import config as configs
from quintain import faults
from quintain.codec import decode
from quintain.config import Config
from quintain.given import given_by
from quintain.ledger.groups import pack_group
from quintain.parts import Cast
from quintain.runtime import policy
from quintain.runtime.assemble import make_algorithm
from quintain.runtime.env_pool import EnvPool
from quintain.runtime.frames import framed, receive, send
from quintain.runtime.measure import engines
from quintain.runtime.memory import settle
from quintain.runtime.playing import make_cast, rollouts_of
from quintain.runtime.pulse import LoopClock, Pulse
from quintain.runtime.rooms import clear
from quintain.runtime.stage import Hold, make_stage
from quintain.runtime.testimony import Questions, answers_of
from quintain.types import Sampling, Task, Weights

Verb = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]


class Actor:
    """Plays groups with an engine of its own, several at a time, and answers with mappings that msgpack can hold.

    Args:
        config: of the run.
        hold: see `make_stage`.
    """

    def __init__(self, config: Config, hold: Hold | None = None) -> None:
        stage = make_stage(config, hold)
        self._dead: list[Mapping[str, Any]] = []  # env workers, since somebody was told
        if isinstance(stage.env, EnvPool):
            stage.env.tell = self._dead.append
        bare = config.model_copy(update={"model": config.model.model_copy(update={"lora": {}})})
        model = policy.make_model(bare, stage.renderer)  # factors come merged into the published weights
        self.cast: Cast = make_cast(config, stage, policy.make_engine(config, model))
        made = rollouts_of(config, policy.context_limit(model), make_algorithm(config).needs)
        self.rollout = functools.cache(lambda members, options: made(members, **json.loads(options)))
        self._copy = functools.cache(lambda: make_cast(config, stage, policy.make_engine(config, model, own=True)))
        self._holds: Mapping[str, Any] = {}  # what the copy plays with
        self._turn = asyncio.Lock()

    async def do(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """What a message asks for: `group` or `loaded`, or the `error` that was met; and `env_workers` that died meanwhile."""
        verbs: dict[str, Verb] = {"play": self._play, "load": self._load, "testify": self._testify}
        try:
            answer = await verbs[message["do"]](message)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        dead, self._dead[:] = list(self._dead), []
        return {**answer, "env_workers": dead} if dead else answer

    async def _play(self, message: Mapping[str, Any]) -> dict[str, Any]:
        cast = await self._pinned(message["pinned"]) if message.get("pinned") else self.cast
        cast = replace(cast, sampling=decode(Sampling, message["sampling"]), seed=message["seed"])
        task, options = decode(Task, message["task"]), json.dumps(message["options"], sort_keys=True)
        faults.point("actor.play")
        rollout, ticket = self.rollout(message["members"], options), message["ticket"]
        group = await given_by(rollout, rollout(task, cast, ticket), ticket)
        return {"group": pack_group(group)}

    async def _pinned(self, asked: Mapping[str, Any]) -> Cast:
        """A second engine that holds one version for as long as it is asked for, whatever is published meanwhile."""
        async with self._turn:
            if self._holds != asked:
                await self._copy().load(Weights(version=asked["version"], kind="file", source=asked["folder"]))
                self._holds = asked
        return self._copy()

    async def _load(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Take over published weights; what is being played goes on with them."""
        faults.point("actor.load")
        await self.cast.load(Weights(version=message["version"], kind="file", source=message["folder"]))
        return {"loaded": message["version"], "counters": engines(self.cast)}

    async def _testify(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Answer the proof of a sync."""
        return {"told": await answers_of(self.cast.engine("policy"), Questions.of(message["asked"]))}


def _reply(answer: Mapping[str, Any], number: int) -> bytes:
    """The bytes of an answer; those of an error where it cannot be sent, since who asked waits for either."""
    try:
        return framed({**answer, "id": number})
    except Exception as error:
        kept = {"env_workers": answer["env_workers"]} if "env_workers" in answer else {}
        return framed({"error": f"{type(error).__name__}: {error}", **kept, "id": number})


async def serve(config: Config, number: int, address: str) -> bool:
    """Do what the first process asks for until it says that this is all, or is gone; whether it said so."""
    reader, writer = await asyncio.open_unix_connection(address)
    actor, lock = Actor(config), asyncio.Lock()  # one message at a time
    working: set[asyncio.Task[None]] = set()

    async def answer(message: dict[str, Any]) -> None:
        data = _reply(await actor.do(message), message["id"])
        async with lock:
            writer.write(data)
            await writer.drain()

    clock, hello = LoopClock(), {"actor": number, "pid": os.getpid()}
    clock.start()
    Pulse(address, hello, clock, lambda: getattr(actor.cast.engine("policy"), "version", None)).start()
    settle()
    await send(writer, hello)
    while (message := await receive(reader)) is not None:
        if message["do"] == "end":
            return True
        task = asyncio.create_task(answer(message))
        working.add(task)
        task.add_done_callback(working.discard)
    return False


def main(arguments: list[str]) -> None:
    """Play for the run in FOLDER as actor NUMBER."""
    folder, number, address = Path(arguments[0]), int(arguments[1]), arguments[2]
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, signal.SIG_IGN)  # the first process decides when all stop
    config = configs.make(folder / "config.toml")
    policy.set_threads(config.runtime.threads)
    done = False
    try:
        with contextlib.suppress(ConnectionError, FileNotFoundError):  # nobody is there any more
            done = asyncio.run(serve(config, number, address))
    finally:
        if not done:
            clear(Path(address))


if __name__ == "__main__":
    main(sys.argv[1:])
