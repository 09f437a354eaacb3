"""HTTP for one inference server, over a Unix socket or TCP: JSON answers, and streams of server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import json
import urllib.parse
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping
from typing import Any

from quintain.engines.errors import EngineError
from quintain.types import QuintainError

LINE_BYTES = 1 << 24  # of one event: a token with many top logprobs is long
CONNECT_S = 10.0
SAID = 600  # characters of an error that are quoted


class Gone(QuintainError):
    """The server cannot be reached, or it went away in the middle of an answer: the request may be sent again."""


class Refused(QuintainError):
    """The server answered with an error; `status` is its HTTP status."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class Link:
    """Speaks HTTP/1.1 to one server, a connection for each request, so that closing it gives the request up.

    Args:
        address: `unix:/path/of/socket`, or an `http://` or `https://` URL.
        key: bearer token; empty sends none.
        timeout_s: seconds without a byte after which an answer counts as lost.

    Raises:
        EngineError: the address is neither.
    """

    def __init__(self, address: str, key: str = "", timeout_s: float = 600.0) -> None:
        self.address, self.timeout_s = address, timeout_s
        self._unix = address.removeprefix("unix:") if address.startswith("unix:") else ""
        self._url = urllib.parse.urlsplit("http://localhost" if self._unix else address)
        if self._url.scheme not in ("http", "https") or not self._url.hostname:
            raise EngineError(f"{address!r} is no address; write http://host:port, or unix:/path/of/socket")
        self._key = key

    async def ask(
        self, method: str, path: str, payload: Mapping[str, Any] | None = None, *, timeout_s: float = 0.0
    ) -> Any:
        """The JSON value that the server answers, None for an empty answer, a string for one of another type.

        Args:
            method: `GET` or `POST`.
            path: with its query.
            payload: the body.
            timeout_s: as in the constructor, which counts when it is 0.

        Raises:
            Gone: no connection, or it broke.
            Refused: an HTTP status of 400 or more.
        """
        patience = timeout_s or self.timeout_s
        async with self._open(method, path, payload, patience) as (reader, headers):
            body = b"".join([part async for part in _body(reader, headers, patience)])
        if "json" not in headers.get("content-type", ""):
            return body.decode(errors="replace")
        try:
            return json.loads(body) if body.strip() else None
        except ValueError as error:
            raise EngineError(f"{self.address}{path}: the answer is not JSON: {error}") from None

    async def read(self, method: str, path: str, payload: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The JSON object that the server answers.

        Raises:
            Gone, Refused: as `ask`.
            EngineError: it answers with anything else.
        """
        answer = await self.ask(method, path, payload)
        if not isinstance(answer, dict):
            raise EngineError(f"{self.address}{path}: the answer is no JSON object: {str(answer)[:SAID]!r}")
        return answer

    async def events(self, path: str, payload: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """The JSON objects of a stream of events, until `[DONE]`.

        Raises:
            Gone: no connection, or it broke before the end.
            Refused: an HTTP status of 400 or more, or an event that holds an error.
        """
        async with self._open("POST", path, payload, self.timeout_s) as (reader, headers):
            rest = b""
            async for part in _body(reader, headers, self.timeout_s):
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    if not line.startswith(b"data:"):
                        continue
                    text = line[5:].strip()
                    if text == b"[DONE]":
                        return
                    event = json.loads(text)
                    if "error" in event:
                        raise _refusal(f"{self.address}{path}", int(event["error"].get("code") or 500), text)
                    yield event
        raise Gone(f"{self.address}{path}: the stream ended early")

    @contextlib.asynccontextmanager
    async def _open(
        self, method: str, path: str, payload: Mapping[str, Any] | None, patience: float
    ) -> AsyncIterator[tuple[asyncio.StreamReader, Mapping[str, str]]]:
        """Send a request; the reader stands at the body of a good answer."""
        where, writer = f"{self.address}{path.partition('?')[0]}", None
        try:
            reader, writer = await _soon(self._connect(), CONNECT_S)
            writer.write(self._request(method, path, payload))
            await writer.drain()
            head = await _soon(reader.readuntil(b"\r\n\r\n"), patience)
            status, headers = _head(head)
            if status >= 400:
                said = b"".join([part async for part in _body(reader, headers, patience)])
                raise _refusal(where, status, said)
            yield reader, headers
        except TimeoutError:
            raise Gone(f"{where}: nothing was heard for {patience:g} s") from None
        except (OSError, EOFError, asyncio.LimitOverrunError) as error:
            raise Gone(f"{where}: {type(error).__name__}: {error}") from None
        finally:
            if writer is not None:
                writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._unix:
            return await asyncio.open_unix_connection(self._unix, limit=LINE_BYTES)
        secure = self._url.scheme == "https"
        port = self._url.port or (443 if secure else 80)
        return await asyncio.open_connection(self._url.hostname, port, ssl=secure or None, limit=LINE_BYTES)

    def _request(self, method: str, path: str, payload: Mapping[str, Any] | None) -> bytes:
        body = b"" if payload is None else json.dumps(payload, allow_nan=False).encode()
        base = self._url.path.rstrip("/")
        lines = [f"{method} {base}{path} HTTP/1.1", f"Host: {self._url.netloc}", "Connection: close"]
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        lines += [f"Authorization: Bearer {self._key}"] if self._key else []
        return "\r\n".join([*lines, "", ""]).encode() + body


async def _soon(answer: Awaitable[Any], seconds: float) -> Any:
    async with asyncio.timeout(seconds):
        return await answer


def _head(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    try:
        status = int(first.split(" ")[1])
    except (IndexError, ValueError):
        raise Gone(f"no HTTP server answered: {first[:80]!r}") from None
    pairs = [line.partition(":") for line in lines if ":" in line]
    return status, {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str], patience: float) -> AsyncIterator[bytes]:
    """The body as it comes in: in chunks, of a known length, or until the end."""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        while size := int((await _soon(reader.readline(), patience)).split(b";")[0] or b"-1", 16):
            if size < 0:
                raise EOFError("the connection closed between two chunks")
            yield await _soon(reader.readexactly(size), patience)
            await _soon(reader.readexactly(2), patience)
    elif "content-length" in headers:
        yield await _soon(reader.readexactly(int(headers["content-length"])), patience)
    else:
        while part := await _soon(reader.read(1 << 16), patience):
            yield part


def _refusal(where: str, status: int, said: bytes) -> Refused:
    text = said.decode(errors="replace")
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
        error = json.loads(text)["error"]
        text = error["message"] if isinstance(error, dict) else str(error)
    return Refused(f"{where}: HTTP {status}: {' '.join(text.split())[:SAID]}", status)
