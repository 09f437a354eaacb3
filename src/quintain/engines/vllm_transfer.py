"""Weights from the learner's GPU to vLLM's, by vLLM's own transfer. The one file that imports vLLM."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import Any

from quintain.engines.errors import EngineError
from quintain.registry import MissingExtra

Post = Callable[[str, Any], Any]


class Client:
    """The control plane of a transfer, as vLLM's trainer side calls it: five routes of the server."""

    def __init__(self, post: Post) -> None:
        self._post = post

    def init_weight_transfer_engine(self, init_info: Mapping[str, Any]) -> None:
        """Let the server join."""
        self._post("/init_weight_transfer_engine", {"init_info": dict(init_info)})

    def shutdown_weight_transfer_engine(self) -> None:
        """Let the server leave."""
        self._post("/shutdown_weight_transfer_engine", None)

    def start_weight_update(self) -> None:
        """New weights are about to come."""
        self._post("/start_weight_update", None)

    def update_weights(self, update_info: Any) -> None:
        """Names, types and shapes of what comes; answers when it has come."""
        from vllm.distributed.weight_transfer.clients import _json_safe_update_payload  # pyrefly: ignore

        self._post("/update_weights", {"update_info": _json_safe_update_payload(update_info)})

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        """All have come. The version is stamped apart, once caches are reset."""
        self._post("/finish_weight_update", {})


class Sender:
    """Sends the weights of a live model.

    Args:
        model: whose parameters are sent, on a GPU.
        backend: `nccl` (any GPUs) or `ipc` (the same GPU).
        world_size: workers of the server.
        post: sends a body to a route of the server and waits; called from another thread.

    Raises:
        EngineError: the model is not on a GPU.
        MissingExtra: vLLM is not installed beside the learner.
    """

    def __init__(self, model: Any, backend: str, world_size: int, post: Post) -> None:
        devices = {p.device.type for p in model.parameters()}
        if devices != {"cuda"}:
            raise EngineError(
                f"engine.options.sync is {backend!r}, which sends from GPU to GPU, and the model is on {', '.join(devices)}; "
                "set engine.options.sync=file"
            )
        try:
            from vllm.distributed.weight_transfer.base import ModuleSource  # pyrefly: ignore
            from vllm.distributed.weight_transfer.ipc_engine import (  # pyrefly: ignore
                IPCTrainerInitInfo,
                IPCTrainerWeightTransferEngine,
            )
            from vllm.distributed.weight_transfer.nccl_engine import (  # pyrefly: ignore
                NCCLTrainerInitInfo,
                NCCLTrainerWeightTransferEngine,
            )
        except ImportError as error:
            raise MissingExtra(
                f"engine.options.sync={backend} needs vLLM beside the learner ({error}); pip install 'quintain[vllm]', or "
                "set engine.options.sync=file"
            ) from error
        client, source = Client(post), ModuleSource(model)
        if backend == "ipc":
            self._engine: Any = IPCTrainerWeightTransferEngine.trainer_init(
                IPCTrainerInitInfo(rank=0, packed=True), client=client, source=source
            )
        else:
            meeting = NCCLTrainerInitInfo("127.0.0.1", free_port(), world_size + 1, rank=0)
            self._engine = NCCLTrainerWeightTransferEngine.trainer_init(meeting, client=client, source=source)

    def send(self) -> None:
        """Send every parameter; returns when the server holds them."""
        self._engine.send_weights()

    def close(self) -> None:
        """Leave the group."""
        self._engine.shutdown()


def free_port() -> int:
    """A port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
