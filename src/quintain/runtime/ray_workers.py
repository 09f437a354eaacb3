"""What runs in the processes of a cluster: the bodies of its actors and tasks. Bytes come in, bytes go out; nothing here knows Ray.

The bytes are msgpack for messages and safetensors for weights, so that no object of ours is pickled.
"""

from __future__ import annotations

import asyncio
import functools
import os
import shutil
import socket
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from quintain import config as configs
from quintain.config import Config
from quintain.ledger import PackedGroup, plain
from quintain.ledger.groups import pack_group
from quintain.runtime.env_host import Host, make_envs
from quintain.runtime.env_pool import EnvPool, Line, Schema


class Lines(Protocol):
    """The env workers of a cluster."""

    def __len__(self) -> int:
        """How many there are."""
        ...

    def start(self, spec: Mapping[str, Any], place: int) -> Line:
        """A line to the worker of a place, which makes envs as `spec` says."""
        ...


def read_config(toml: str) -> Config:
    """The config of a run from its text, with its threads set."""
    from quintain.runtime import policy

    config = configs.make(tomllib.loads(toml))
    policy.set_threads(config.runtime.threads)
    return config


class PlayWorker:
    """Plays groups, with an engine of its own, and its envs here or in env workers.

    Args:
        toml: the config of the run.
        lines: to the env workers, if there are any.
    """

    def __init__(self, toml: str, lines: Lines | None = None) -> None:
        from quintain.runtime.actor import Actor

        self.actor = Actor(read_config(toml), partial(_held, lines) if lines is not None else None)

    async def up(self, probe: str) -> bool:
        """Whether the file `probe` is seen from here, so that weights may come through its folder."""
        return await asyncio.to_thread(os.path.exists, probe)

    async def do(self, packed: bytes) -> bytes:
        """See `Actor.do`."""
        return plain.pack(await self.actor.do(plain.unpack(packed)))

    async def load(self, version: int, folder: str, names: Sequence[str], *files: bytes) -> bytes:
        """Take over weights: from a folder that is seen here, or from the bytes of its files."""
        if folder:
            return await self._load(version, folder)
        room = await asyncio.to_thread(_written, names, files)
        try:
            return await self._load(version, str(room))
        finally:
            await asyncio.to_thread(shutil.rmtree, room, ignore_errors=True)

    async def _load(self, version: int, folder: str) -> bytes:
        return plain.pack(await self.actor.do({"do": "load", "version": version, "folder": folder}))

    async def beat(self) -> None:
        """A sign of life."""

    async def stay(self) -> None:
        """Never return: who awaits it learns of the end of this process."""
        await asyncio.Event().wait()


def _held(lines: Lines, spec: dict[str, Any], schema: Schema) -> EnvPool:
    return EnvPool(partial(lines.start, spec), len(lines), schema=schema)


def _written(names: Sequence[str], files: Sequence[bytes]) -> Path:
    room = Path(tempfile.mkdtemp(prefix="quintain-weights-"))
    for name, data in zip(names, files, strict=True):
        (room / name).write_bytes(data)
    return room


class EnvWorker:
    """Holds envs for the actors that play; a `Host` behind methods that take bytes and give bytes."""

    def __init__(self) -> None:
        self._host: Host | None = None

    async def join(self, whose: str, spec: bytes) -> str:
        """Make envs as `spec` says, for an actor whose keys begin with `whose`; its predecessor's are closed. Names this process."""
        if self._host is None:
            self._host = Host(make_envs(plain.unpack(spec)))
        player = whose.split("/")[0] + "/"
        await self._host.forget(lambda key: key.startswith(player) and not key.startswith(whose))
        return f"{socket.gethostname()}:{os.getpid()}"

    async def call(self, packed: bytes) -> bytes:
        """See `Host.answer`."""
        if self._host is None:  # started again, and nobody has joined it yet
            return plain.pack({"gone": True})
        return plain.pack(await self._host.answer(plain.unpack(packed)))

    async def stay(self) -> None:
        """Never return: who awaits it learns of the end of this process."""
        await asyncio.Event().wait()


@functools.lru_cache(maxsize=1)
def _reward(toml: str) -> Any:
    from quintain.runtime.playing import make_reward

    config = configs.make(tomllib.loads(toml))
    if "torch" in sys.modules:
        config = read_config(toml)
    else:  # most rewards need no PyTorch, which takes seconds to import; of what they import themselves, the threads
        os.environ["OMP_NUM_THREADS"] = str(config.runtime.threads)
    return make_reward(config)


def score(toml: str, packed: bytes) -> bytes:
    """Score a group: `group`, or the `error` that was met."""
    try:
        return plain.pack({"group": pack_group(asyncio.run(_scored(toml, packed)))})
    except Exception as error:
        return plain.pack({"error": f"{type(error).__name__}: {error}"})


async def _scored(toml: str, packed: bytes) -> Any:
    return await _reward(toml)(PackedGroup(packed).open())
