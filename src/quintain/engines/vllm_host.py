"""Keeps a vLLM server serving: its start, its restart with the newest weights, and the swap of weights under its requests."""

from __future__ import annotations

import asyncio
import os
import shutil
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from quintain.engines.errors import EngineDown, EngineError, VersionMismatch
from quintain.engines.vllm_http import Gone, Link, Refused
from quintain.engines.vllm_server import Server, Settings, make_room
from quintain.engines.vllm_weights import ADAPTER, Shelf, WeightsRefused, check_like, shapes
from quintain.types import QuintainError, Weights

FIRST = "default"  # what a server calls its version before it is told
PAUSES = {"in_flight": "keep", "drain": "wait"}  # what becomes of running requests when weights are about to come
FORGET = "/reset_prefix_cache?reset_running_requests=true&reset_external=true"  # what old weights computed
PAUSE = "/pause?clear_cache=false&mode="
Move = Callable[[], Awaitable[None]]
DYING_S = 5.0  # in which the process of a broken server ends


class Host:
    """A server with its weights: of our own, or one that runs behind a URL.

    Args:
        model: a folder, or a live model whose weights are written where the server reads them.
        settings: how the server is started and reached.
        context: tokens of the longest path.
    """

    def __init__(self, model: Any, settings: Settings, context: int) -> None:
        self.settings, self.version, self.room = settings, 0, make_room()
        weakref.finalize(self, shutil.rmtree, self.room, ignore_errors=True)  # also where nobody closes it
        self.server = None if settings.url else Server(settings, context, self.room)
        self.known = {FIRST: 0}  # version names that were given to the server
        self.restarts = self.early = 0  # `early`: deaths since a request was finished
        self.paused = False
        self._model = model
        self._shelf = Shelf(self.room, settings.sync == "lora")
        self._link: Link | None = None
        self._weights: Weights | None = None
        self._like: dict[str, tuple[int, ...]] = {}
        self._life, self._turn = asyncio.Lock(), asyncio.Lock()  # one start, one swap at a time
        self._sender: Any = None
        self._closed = False

    @property
    def adapter(self) -> int | None:
        """The version of the adapter that requests have to name; None for the model itself."""
        return self._weights.version if self._weights is not None and self._weights.kind == "lora" else None

    @property
    def model(self) -> dict[str, str]:
        """The field of a request that names the adapter; {} for the model itself."""
        return {} if self.adapter is None else {"model": f"{ADAPTER}-{self.adapter}"}

    # -- life ------------------------------------------------------------------------------------------------------

    async def up(self) -> Link:
        """The way to a server that serves; the first call starts it.

        Raises:
            EngineDown: it does not start.
            EngineError: it was closed.
        """
        if self._link is not None:
            return self._link
        async with self._life:
            if self._link is None:
                self._link = await self._begin()
            return self._link

    async def _begin(self) -> Link:
        if self._closed:
            raise EngineError("this vLLM engine was closed")
        if self.server is None:
            key = os.environ.get(self.settings.key_env, "") if self.settings.key_env else ""
            if self.settings.key_env and not key:
                raise EngineError(
                    f"the environment variable {self.settings.key_env} is not set; set it to the server's key"
                )
            return Link(self.settings.url.rstrip("/"), key, self.settings.timeout_s)
        newest = self._weights
        if newest is not None and newest.kind == "broadcast":
            raise EngineDown("vLLM died with weights that came from GPU to GPU; engine.options.sync=file survives that")
        if newest is not None and newest.kind == "file":
            folder = str(newest.source)
        elif isinstance(self._model, str | Path):
            folder = str(self._model)
        else:
            folder = await asyncio.to_thread(self._shelf.base, self._model)
        link = await self.server.start(folder)
        if newest is not None and newest.kind == "lora":
            await self._tell(link, newest)
        await self._stamp(link, self.version)
        if self.paused:
            await link.ask("POST", PAUSE + "keep")
        return link

    async def dying(self, link: Link, error: Gone | Refused) -> bool:
        """Whether the server cannot go on: it is gone, or it answered with an internal error and is about to go."""
        if isinstance(error, Gone):
            return True
        if error.status < 500 or self.server is None:
            return False
        for _ in range(int(DYING_S * 20)):
            if self._link is not link or not self.server.alive():
                return True
            try:
                await link.ask("GET", "/health", timeout_s=DYING_S)
            except (Gone, Refused):
                return True
            await asyncio.sleep(0.05)
        return False

    async def revive(self, link: Link, why: Exception) -> None:
        """Start a server anew, with the newest weights, in place of the one behind `link`, unless that was done already.

        Raises:
            EngineDown: servers die again and again before they finish a request, or the server is not ours to start.
        """
        async with self._life:
            if self._link is not link:
                return
            if self.server is None:
                raise EngineDown(f"the server at {link.address} is gone: {why}") from why
            self.early += 1
            if self.early >= self.settings.deaths:
                raise EngineDown(f"vLLM died {self.early} times before it finished a request; {self.said()}") from why
            self._link = None
            await asyncio.to_thread(self.server.stop)
            self.restarts += 1
            self._link = await self._begin()

    def said(self) -> str:
        """The end of the server's log, as a part of a message."""
        return self.server.tail() if self.server is not None else "look at the log of that server"

    async def close(self) -> None:
        """End the server with all of its children and remove what was written for it."""
        self._closed, self._link = True, None
        if self._sender is not None:
            await asyncio.to_thread(self._sender.close)
        if self.server is not None:
            await asyncio.to_thread(self.server.stop)
        shutil.rmtree(self.room, ignore_errors=True)

    # -- weights ---------------------------------------------------------------------------------------------------

    async def pause(self) -> None:
        """Stop the server between two steps."""
        async with self._turn:
            self.paused = True
            await self._control(PAUSE + "keep")

    async def resume(self) -> None:
        """Go on after `pause`."""
        async with self._turn:
            self.paused = False
            await self._control("/resume")

    async def _control(self, path: str) -> None:
        link = self._link
        if link is None:
            return  # it starts as it should be
        try:
            await link.ask("POST", path)
        except Gone as error:
            await self.revive(link, error)

    async def load(self, weights: Weights, swapping: Callable[[], None], moving: Move) -> None:
        """Let the server go on with `weights`.

        Args:
            weights: published.
            swapping: called just before tokens of the old ones end.
            moving: sends the requests in flight again, because an adapter is bound to a request for its whole life.

        Raises:
            WeightsRefused, VersionMismatch, EngineError: see `VllmEngine.load`.
        """
        async with self._turn:
            live = weights.kind == "pointer" and self.settings.sync in ("nccl", "ipc")
            if live and self._link is not None:
                return await self._swap(replace(weights, kind="broadcast"), swapping, moving)
            ready = await asyncio.to_thread(self._shelf.put, weights)
            await asyncio.to_thread(self._fits, ready)
            if self._link is not None or self.server is None:
                return await self._swap(ready, swapping, moving)
            self.known[str(ready.version)] = self.version = ready.version
            self._weights = ready  # it starts with them
            await self.up()

    def _fits(self, weights: Weights) -> None:
        folder = Path(weights.source)
        if weights.kind == "lora":
            if not (folder / "adapter_config.json").is_file() or self.settings.sync != "lora":
                raise WeightsRefused(
                    f"{folder}: an adapter needs adapter_config.json and a server that takes one (engine.options.sync=lora)"
                )
            shapes(folder)
        elif self._like:
            check_like(folder, self._like)
        else:
            self._like = shapes(folder)

    async def _swap(self, weights: Weights, swapping: Callable[[], None], moving: Move) -> None:
        link = await self.up()
        old = self._weights
        swapping()
        try:
            await link.ask("POST", PAUSE + ("keep" if self.paused else PAUSES[self.settings.update]))
            await self._tell(link, weights)
            self._weights, self.version = weights, weights.version
            if weights.kind == "lora":
                await moving()
                await self._drop(link, old)
            await link.ask("POST", FORGET)
            if not self.paused:
                await link.ask("POST", "/resume")
        except Gone as error:  # its successor starts with them
            self._weights, self.version = weights, weights.version
            await self.revive(link, error)
        except QuintainError as error:
            said = self.said()
            if self.server is not None:  # nobody knows what it holds now: the next request starts another
                self._link = None
                await asyncio.to_thread(self.server.stop)
            if isinstance(error, Refused):
                hint = "; start that server with VLLM_SERVER_DEV_MODE=1" if error.status == 404 else ""
                raise WeightsRefused(f"vLLM did not take version {weights.version}: {error}{hint}; {said}") from None
            raise

    async def _tell(self, link: Link, weights: Weights) -> None:
        """Give a server its weights and their version."""
        if weights.kind == "lora":
            # never in place: requests in flight would load the old one again, which they name by its folder
            adapter = {"lora_name": f"{ADAPTER}-{weights.version}", "lora_path": str(weights.source)}
            await link.ask("POST", "/v1/load_lora_adapter", adapter)
        elif weights.kind == "file":
            call = {"method": "reload_weights", "kwargs": {"weights_path": str(weights.source)}}
            await link.ask("POST", "/collective_rpc", call)
        else:
            await self._broadcast(link, weights.source)
        await self._stamp(link, weights.version)

    async def _drop(self, link: Link, old: Weights | None) -> None:
        """Let the server forget an adapter that no request names any more."""
        if old is not None and old.kind == "lora" and old.version != self.version:
            await link.ask("POST", "/v1/unload_lora_adapter", {"lora_name": f"{ADAPTER}-{old.version}"})

    async def _stamp(self, link: Link, version: int) -> None:
        self.known[str(version)] = version
        await link.ask("POST", "/update_weight_version", {"new_version": str(version)})
        said = (await link.read("GET", "/weight_info")).get("weight_version")
        if said != str(version):
            raise VersionMismatch(f"vLLM says that it holds version {said!r} after version {version} was loaded")

    async def _broadcast(self, link: Link, model: Any) -> None:
        """Weights from GPU to GPU, by vLLM's own transfer."""
        from quintain.engines.vllm_transfer import Sender

        if self._sender is None:
            world, loop = (await link.read("GET", "/get_world_size"))["world_size"], asyncio.get_running_loop()

            def post(path: str, payload: Any) -> Any:
                return asyncio.run_coroutine_threadsafe(link.ask("POST", path, payload), loop).result()

            self._sender = await asyncio.to_thread(Sender, model, self.settings.sync, world, post)
        await asyncio.to_thread(self._sender.send)
