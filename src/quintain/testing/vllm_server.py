"""A stand-in for a vLLM server: the routes that the vLLM engine uses, with a model that is arithmetic.

Use it to test what talks to such a server, in the same event loop (`FakeVllm`) or as a process (`serve`).

Token number p of a path under policy version v is (seed + 7 p + 13 v) modulo 64, with logprob -(v + 1) - p / 1000: each one tells which
version it came from.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

VOCAB = 64


def token(seed: int, at: int, version: int) -> tuple[int, float]:
    """Token number `at` of a path and its logprob."""
    return (seed + 7 * at + 13 * version) % VOCAB, -(version + 1) - at / 1000


class FakeVllm:
    """The server: one request emits a token whenever `gate` lets it.

    Args:
        key: the bearer token that `/v1` and `/inference` ask for; empty asks for none.
        gate: awaited before each token with the request's body; the default lets it pass.
    """

    def __init__(self, key: str = "", gate: Callable[[dict[str, Any]], Any] | None = None) -> None:
        self.key, self.gate = key, gate
        self.version = "default"
        self.calls: list[tuple[str, Any]] = []
        self.aborted: set[str] = set()
        self.running: set[str] = set()
        self.refuse: dict[str, int] = {}  # path -> HTTP status
        self.going = asyncio.Event()
        self.going.set()
        self.moved = asyncio.Event()  # something happened that a paused request looks at
        self._server: asyncio.Server | None = None

    async def listen(self, socket: str = "") -> str:
        """Serve at a Unix socket, or at a free port of the loopback; the address."""
        if socket:
            self._server = await asyncio.start_unix_server(self._serve, socket)
            return f"unix:{socket}"
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()

    @property
    def number(self) -> int:
        """The version as a number."""
        return 0 if self.version == "default" else int(self.version)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            path = head.split(" ")[1]
            headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))) or b"null")
            await self._route(path, body, headers.get("authorization", ""), writer)
        writer.close()

    async def _route(self, path: str, body: Any, said: str, writer: asyncio.StreamWriter) -> None:
        bare = path.partition("?")[0]
        self.calls.append((path, body))
        if self.key and bare.startswith(("/v1", "/inference")) and said != f"bearer {self.key.lower()}":
            return _answer(writer, {"error": "Unauthorized"}, 401)
        if bare in self.refuse:
            return _answer(writer, {"error": {"message": "not today", "code": self.refuse[bare]}}, self.refuse[bare])
        if bare == "/inference/v1/generate":
            return await (self._stream if body.get("stream") else self._score)(body, writer)
        _answer(writer, self._control(bare, body))

    def _control(self, path: str, body: Any) -> Any:
        self.moved.set()
        if path == "/pause":
            self.going.clear()
        elif path == "/resume":
            self.going.set()
        elif path == "/update_weight_version":
            self.version = body["new_version"]
        elif path == "/weight_info":
            return {"weight_version": self.version}
        elif path == "/inference/v1/abort_requests":
            self.aborted.update(name for name in body["request_ids"] if name in self.running)
        elif path == "/get_world_size":
            return {"world_size": 1}
        return {}

    async def _score(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        await self.going.wait()
        rows: list[Any] = [None]
        for at, name in enumerate(body["token_ids"][1:], 1):
            rows.append({str(name): {"logprob": token(0, at, self.number)[1]}})
        stamp = [{"version": self.version, "start": 0, "end": 1}]
        choice = {"token_ids": [0], "finish_reason": "length", "weight_versions": stamp}
        _answer(writer, {"prompt_logprobs": rows, "choices": [choice]})

    async def _stream(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        asked, path, name = body["sampling_params"], list(body["token_ids"]), f"generate-tokens-{body['request_id']}"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        stamps: list[dict[str, Any]] = []
        finish, done = "", 0
        self.running.add(name)
        try:
            while not finish:
                if self.gate is not None:
                    await self.gate(body)
                while not self.going.is_set() and name not in self.aborted:
                    self.moved.clear()
                    await self.moved.wait()
                if name in self.aborted:
                    finish = "abort"
                    rows: list[Any] = []
                else:
                    drawn, logprob = token(asked["seed"], len(path), self.number)
                    path.append(drawn)
                    if not stamps or stamps[-1]["version"] != self.version:
                        stamps.append({"version": self.version, "start": done, "end": done})
                    done += 1
                    stamps[-1]["end"] = done
                    finish = (
                        "stop" if drawn in asked["stop_token_ids"] else "length" if done == asked["max_tokens"] else ""
                    )
                    tops = [{"token_id": drawn, "logprob": logprob}, {"token_id": (drawn + 1) % VOCAB, "logprob": -0.5}]
                    tops.append({"token_id": (drawn + 2) % VOCAB, "logprob": -9999.0})
                    rows = [{"token_id": drawn, "logprob": logprob, "top_logprobs": tops}]
                choice = {"token_ids": [row["token_id"] for row in rows], "logprobs": {"content": rows}}
                choice |= {"finish_reason": finish or None, "weight_versions": stamps if finish else None}
                await _event(writer, json.dumps({"choices": [choice], "usage": {"completion_tokens": done}}))
        finally:
            self.running.discard(name)
        await _event(writer, "[DONE]")
        writer.write(b"0\r\n\r\n")


async def _event(writer: asyncio.StreamWriter, text: str) -> None:
    data = f"data: {text}\n\n".encode()
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()


def _answer(writer: asyncio.StreamWriter, value: Any, status: int = 200) -> None:
    body = json.dumps(value).encode()
    writer.write(
        f"HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    )


def serve(arguments: list[str]) -> None:
    """Be a server process, with the command line of the real one and the bearer token in `VLLM_API_KEY`.

    While the file that `FAKE_VLLM_HOLD` names exists, requests stop after their third token.
    """
    named = dict(itertools.pairwise(arguments))
    model, hold = Path(named["--model"]), Path(os.environ.get("FAKE_VLLM_HOLD", "/nowhere"))
    print(f"serving {model}")
    print("(API) WARNING [b.py:2] a low limit can cause errors like `OSError: [Errno 24]`", flush=True)
    if not (model / "config.json").is_file():
        sys.exit(f"(Core) [a.py:1] FileError: {model} holds no config.json")
    given: Counter[str] = Counter()

    async def gate(body: dict[str, Any]) -> None:
        given[body["request_id"]] += 1
        for _ in iter(lambda: given[body["request_id"]] > 3 and hold.exists(), False):
            await asyncio.sleep(0.005)

    async def run() -> None:
        fake = FakeVllm(os.environ["VLLM_API_KEY"], gate)
        await fake.listen(named["--uds"])
        await asyncio.Event().wait()

    asyncio.run(run())
