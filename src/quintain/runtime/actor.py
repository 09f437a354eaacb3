"""The main of a process that only plays: `python -m quintain.runtime.actor FOLDER NUMBER SOCKET`.

It makes stage, model and engine from the run's config, plays the groups that the first process asks for, and loads the weights
that it publishes. It ends with its socket.
"""

from __future__ import annotations

import asyncio
import functools
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from quintain import config as configs
from quintain.codec import decode
from quintain.config import Config
from quintain.ledger.groups import pack_group
from quintain.parts import Cast
from quintain.runtime import policy
from quintain.runtime.assemble import make_algorithm, make_cast, rollouts_of
from quintain.runtime.frames import receive, send
from quintain.runtime.stage import make_stage
from quintain.types import Sampling, Task, Weights


class Actor:
    """Plays groups with an engine of its own, several at a time."""

    def __init__(self, config: Config, writer: asyncio.StreamWriter) -> None:
        stage = make_stage(config)
        model = policy.make_model(config, stage.renderer)
        self.cast: Cast = make_cast(config, stage, policy.make_engine(config, model))
        self.writer = writer
        self.rollout = functools.cache(rollouts_of(config, model, make_algorithm(config)))
        self._lock = asyncio.Lock()  # one message at a time
        self._playing: set[asyncio.Task[None]] = set()

    async def tell(self, **message: Any) -> None:
        """Answer the first process."""
        async with self._lock:
            await send(self.writer, message)

    def begin(self, message: dict[str, Any]) -> None:
        """Start to play a group."""
        playing = asyncio.create_task(self._play(message))
        self._playing.add(playing)
        playing.add_done_callback(self._playing.discard)

    async def _play(self, message: dict[str, Any]) -> None:
        cast = replace(self.cast, sampling=decode(Sampling, message["sampling"]), seed=message["seed"])
        try:
            task = decode(Task, message["task"])
            group = await self.rollout(message["members"])(task, cast, message["ticket"])
        except Exception as error:
            await self.tell(job=message["job"], error=f"{type(error).__name__}: {error}")
        else:
            await self.tell(job=message["job"], group=pack_group(group))

    async def load(self, message: dict[str, Any]) -> None:
        """Take over published weights; what is being played goes on with them."""
        try:
            await self.cast.load(Weights(version=message["version"], kind="file", source=message["folder"]))
        except Exception as error:
            await self.tell(loaded=message["version"], error=f"{type(error).__name__}: {error}")
        else:
            await self.tell(loaded=message["version"])


async def serve(config: Config, number: int, socket: str) -> None:
    """Do what the first process asks for until it is gone."""
    reader, writer = await asyncio.open_unix_connection(socket)
    actor = Actor(config, writer)
    verbs: dict[str, Callable[[dict[str, Any]], Any]] = {"play": actor.begin, "load": actor.load}
    await actor.tell(actor=number)
    while (message := await receive(reader)) is not None:
        done = verbs[message["do"]](message)
        if asyncio.iscoroutine(done):
            await done


def main(arguments: list[str]) -> None:
    """Play for the run in FOLDER as actor NUMBER."""
    folder, number, socket = Path(arguments[0]), int(arguments[1]), arguments[2]
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, signal.SIG_IGN)  # the first process decides when all stop
    config = configs.make(folder / "config.toml")
    policy.set_threads(config.runtime.threads)
    asyncio.run(serve(config, number, socket))


if __name__ == "__main__":
    main(sys.argv[1:])
