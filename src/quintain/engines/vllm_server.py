"""A vLLM server of our own: its command, its start with a deadline, its death, its end with all of its children."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quintain.engines import _vllm_guard
from quintain.engines.errors import EngineDown, EngineError
from quintain.engines.vllm_http import Gone, Link, Refused
from quintain.registry import MissingExtra, UnknownName, unknown

TAIL_LINES, CAUSES = 12, 3  # of a log that are quoted
_CAUSE = re.compile(r"\w(Error|Exception): ")
GUARD = "import runpy, sys; sys.exit(runpy.run_path(sys.argv[1])['main'](sys.argv[2], sys.argv[3:]))"
SYNCS = ("file", "lora", "nccl", "ipc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Options of the vLLM engine.

    Args:
        python: interpreter of the environment that holds vLLM; empty is this one.
        url: base of a server that runs already, instead of one of our own.
        key_env: environment variable with the key of that server; empty for none.
        dtype: of the weights in the server: float32, bfloat16 or float16.
        max_num_seqs: sequences in a batch; 0 takes the engine's slots.
        gpu_memory_utilization: share of the GPU that it may take, in (0, 1].
        tensor_parallel_size: GPUs that share the model, >= 1.
        eager: run without compilation and CUDA graphs; None is yes on a machine without an NVIDIA device.
        sync: how weights of a live model travel: `file` (merged), `lora` (the adapter alone), `nccl` or `ipc` (GPU to GPU).
        lora_rank: largest rank of adapters, for `lora`.
        args: further arguments of the server.
        update: `in_flight` or `drain`; set by `engine.update`.
        env: further environment variables of the server.
        log: file to which its output is appended; empty keeps it in a private folder, whence errors quote its end.
        start_s: seconds until it must be up.
        timeout_s: seconds without a token after which a request counts as lost.
        deaths: deaths without a finished request between them that are one too many, and those that a request may outlive.
    """

    python: str = ""
    url: str = ""
    key_env: str = ""
    dtype: str = "float32"
    max_num_seqs: int = 0
    gpu_memory_utilization: float = 0.9
    tensor_parallel_size: int = 1
    eager: bool | None = None
    sync: str = "file"
    lora_rank: int = 16
    args: tuple[str, ...] = ()
    update: str = "in_flight"
    env: Mapping[str, str] = field(default_factory=dict)
    log: str = ""
    start_s: float = 300.0
    timeout_s: float = 600.0
    deaths: int = 3

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """The settings that are named in a config.

        Raises:
            UnknownName: an option that does not exist; the nearest is named.
            EngineError: a value out of range.
        """
        for name in options:
            if name not in cls.__dataclass_fields__:
                raise UnknownName(unknown("option of engine 'vllm':", name, cls.__dataclass_fields__))
        given: dict[str, Any] = {**options, "args": tuple(map(str, options.get("args", ())))}
        made = cls(**given)
        for name, good, limit in (
            ("sync", made.sync in SYNCS, f"one of {', '.join(SYNCS)}"),
            ("dtype", made.dtype in ("float32", "bfloat16", "float16"), "float32, bfloat16 or float16"),
            ("gpu_memory_utilization", 0 < made.gpu_memory_utilization <= 1, "in (0, 1]"),
            ("tensor_parallel_size", made.tensor_parallel_size >= 1, ">= 1"),
            ("lora_rank", made.lora_rank >= 1, ">= 1"),
            ("deaths", made.deaths >= 1, ">= 1"),
            ("start_s", made.start_s > 0 and made.timeout_s > 0, "and timeout_s > 0"),
        ):
            if not good:
                raise EngineError(f"engine.options.{name} is {getattr(made, name)!r}; it must be {limit}")
        return made


def interpreter(settings: Settings) -> str:
    """The python that runs the server.

    Raises:
        MissingExtra: this environment has no vLLM, and no other is named.
        EngineError: the one that is named does not exist.
    """
    if not settings.python:
        if importlib.util.find_spec("vllm") is None:
            raise MissingExtra(
                "engine.name is 'vllm', and vLLM is not installed here: make an environment for it, by `python3 -m venv .venv-vllm` "
                "and `.venv-vllm/bin/pip install vllm` (in a checkout: `make venv-vllm`), and set "
                "engine.options.python=.venv-vllm/bin/python, or pip install 'quintain[vllm]'"
            )
        return sys.executable
    found = shutil.which(settings.python)
    if found is None:
        raise EngineError(f"engine.options.python is {settings.python!r}, which is no program; name a python with vLLM")
    return os.path.abspath(found)


def command(settings: Settings, model: str, socket: str, context: int) -> list[str]:
    """The arguments of a server of `model`; one position more than the context, so that a full path can be scored."""
    line = [interpreter(settings), "-m", "vllm.entrypoints.openai.api_server", "--model", model, "--uds", socket]
    line += ["--tokens-only", "--dtype", settings.dtype, "--max-model-len", str(context + 1), "--seed", "0"]
    line += ["--max-num-seqs", str(settings.max_num_seqs), "--logprobs-mode", "processed_logprobs"]
    line += ["--max-logprobs", "-1", "--disable-uvicorn-access-log", "--generation-config", "vllm"]
    line += ["--enable-prompt-tokens-details", "--tensor-parallel-size", str(settings.tensor_parallel_size)]
    line += ["--gpu-memory-utilization", str(settings.gpu_memory_utilization)]
    if settings.eager if settings.eager is not None else not os.path.exists("/dev/nvidiactl"):
        line += ["--enforce-eager"]
    if settings.sync == "lora":
        line += ["--enable-lora", "--max-lora-rank", str(settings.lora_rank), "--max-loras", "1"]
    if settings.sync in ("nccl", "ipc"):
        line += ["--weight-transfer-config", json.dumps({"backend": settings.sync})]
    return [*line, *settings.args]


def environment(settings: Settings, room: Path, key: str) -> dict[str, str]:
    """Variables of the server: nothing is fetched or reported, its control routes are open, its sockets lie in `room`."""
    offline = dict.fromkeys(("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "VLLM_NO_USAGE_STATS", "DO_NOT_TRACK"), "1")
    ours = {"VLLM_SERVER_DEV_MODE": "1", "VLLM_API_KEY": key, "VLLM_RPC_BASE_PATH": str(room)}
    ours |= {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}  # the one further position is never computed
    if settings.sync == "lora":
        ours["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] = "1"
    if settings.sync == "ipc":
        ours["VLLM_ALLOW_INSECURE_SERIALIZATION"] = "1"  # handles of memory come so, through our own socket
    shy = {"OMP_NUM_THREADS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_CPU_KVCACHE_SPACE": "1"}
    return {**shy, **os.environ, **offline, **ours, **settings.env}


def make_room() -> Path:
    """A folder in memory that is open to this user alone."""
    shared = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="quintain-vllm-", dir=shared if os.access(shared, os.W_OK) else None))


class Server:
    """One server at a time, reached through a Unix socket in a private folder.

    Args:
        settings: see there.
        context: tokens of the longest path.
        room: the private folder; it is removed when this process is gone.
    """

    def __init__(self, settings: Settings, context: int, room: Path) -> None:
        self.settings, self.context, self.room = settings, context, room
        self.starts = self._begin = 0  # `_begin`: where the newest server's part of the log does
        self.log = Path(settings.log).absolute() if settings.log else self.room / "server.log"
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process that serves; None when none does."""
        alive = self._guard is not None and self._guard.poll() is None and (self.room / "pid").exists()
        return int((self.room / "pid").read_text()) if alive else None

    async def start(self, model: str) -> Link:
        """Serve the model of a folder.

        Raises:
            EngineDown: it ends instead, or is not up in `start_s` seconds.
            EngineError: the interpreter is missing.
        """
        link = self._launch(model)
        try:
            async with asyncio.timeout(self.settings.start_s):
                await self._come_up(link)
        except TimeoutError:
            said = self.tail()
            self.stop()
            raise EngineDown(f"vLLM was not up in {self.settings.start_s:g} s; {said}") from None
        except asyncio.CancelledError:
            self.stop()
            raise
        return link

    def _launch(self, model: str) -> Link:
        self.stop()
        self.starts += 1
        socket, key = self.room / f"socket{self.starts}", secrets.token_urlsafe(32)
        line = command(self.settings, model, str(socket), self.context)
        guard = [sys.executable, "-I", "-c", GUARD, _vllm_guard.__file__, str(self.room)]
        with self.log.open("ab") as log:
            self._begin = log.tell()
            self._guard = subprocess.Popen(
                [*guard, *line],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment(self.settings, self.room, key),
                cwd=self.room,
                start_new_session=True,  # Ctrl-C reaches the run, which ends it
            )
        return Link(f"unix:{socket}", key, self.settings.timeout_s)

    async def _come_up(self, link: Link) -> None:
        while True:
            assert self._guard is not None
            status = self._guard.poll()
            if status is not None:
                raise EngineDown(f"vLLM ended with status {status} before it was up; {self.tail()}")
            with contextlib.suppress(Gone, Refused):
                return await link.ask("GET", "/health", timeout_s=5.0)
            await asyncio.sleep(0.1)

    def alive(self) -> bool:
        """Whether the server's process runs."""
        return self._guard is not None and self._guard.poll() is None

    def tail(self) -> str:
        """What the newest server's log says of errors, and its end, as a part of a message."""
        if not self.log.exists():
            return "it has no log"
        with self.log.open(errors="replace") as log:
            log.seek(self._begin)
            lines = log.read().splitlines()
        wrong = [line for line in lines if _CAUSE.search(line) and " WARNING " not in line]  # a warning ends nothing
        causes = list(dict.fromkeys(line.rpartition("] ")[2].strip() for line in wrong))
        told = "".join(f"{cause}\n" for cause in causes[:CAUSES])
        return f"{told}the end of its log:\n" + "\n".join(lines[-TAIL_LINES:])

    def stop(self) -> None:
        """End the server with all of its children, and wait for that."""
        guard, self._guard = self._guard, None
        if guard is None:
            return
        assert guard.stdin is not None
        with contextlib.suppress(OSError):
            guard.stdin.write(b".")  # the folder stays
            guard.stdin.flush()
        with contextlib.suppress(OSError):
            guard.stdin.close()
        guard.wait()
        (self.room / "pid").unlink(missing_ok=True)
