"""The web: the one file that knows starlette and uvicorn. It carries calls to whatever answers them."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any

from quintain.registry import require_extra
from quintain.serve.call import Call, Limits, Refusal, Reply
from quintain.types import QuintainError

Answer = Callable[[Call], Coroutine[Any, Any, Reply]]
HEADER_BYTES = 1 << 16
CONNECTIONS = 2048
PORTS = 65535
ONCE = ("authorization", "x-quintain-episode")  # headers that say who calls: of two, nobody knows which was meant
FAREWELL_S = 1.0
DRAINED = 128 << 20  # bytes of a refused body that are still taken from a client that wants the connection closed
KEEP_S = 120  # an idle connection: longer than clients keep theirs, so that they close first


class ServeError(QuintainError):
    """The endpoint cannot listen where it is told to."""


def check_port(port: int) -> int:
    """The port, if there is such a one.

    Raises:
        ServeError: it is none.
    """
    if not 0 <= port <= PORTS:
        raise ServeError(f"the port {port} is not one of 0..{PORTS}; choose another --port (0 takes a free one)")
    return port


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; connections to it send at once what is written to them.

    Raises:
        ServeError: there is no such port, or the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        door = socket.create_server((host, check_port(port)), family=family, backlog=512)
    except OSError as error:
        why = str(error.strerror or error).partition(" (while")[0]  # behind it Python names the address again
        option = "--port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else "--host"
        raise ServeError(f"cannot listen at {host}:{port}: {why}; choose another {option}") from error
    # connections inherit it: asyncio sets none, as their proto is 0
    door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return door


class Server:
    """Listens at one address and answers with `answer`, in the event loop that starts it.

    Args:
        answer: called with every request; never raises.
        host: address to listen at.
        port: 0 takes a free one, which `port` holds after `start`.
        limits: bytes and seconds of a body.

    Raises:
        ServeError: there is no such port.
    """

    def __init__(self, answer: Answer, host: str = "127.0.0.1", port: int = 0, limits: Limits | None = None) -> None:
        require_extra("serve", "starlette", "uvicorn")
        self.answer, self.host, self.port, self.limits = answer, host, check_port(port), limits or Limits()
        self._socket: socket.socket | None = None
        self._server: Any = None

    async def start(self) -> None:
        """Listen.

        Raises:
            ServeError: the address cannot be had.
        """
        import uvicorn  # pyrefly: ignore

        self._socket = listening(self.host, self.port)
        self.port = self._socket.getsockname()[1]
        config = uvicorn.Config(
            self._app,
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            timeout_keep_alive=KEEP_S,
            server_header=False,
            http=_protocol(),
            interface="asgi3",
            proxy_headers=False,
            ws="none",
            h11_max_incomplete_event_size=HEADER_BYTES,
        )
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)
        await self._server.startup(
            sockets=[self._socket]
        )  # not `serve`: signals are the caller's, and nothing is polled

    async def stop(self) -> None:
        """Listen no more and close every connection, those that wait for an answer after a moment."""
        server, self._server = self._server, None
        if server is None:
            return
        for listener in server.servers:
            listener.close()
        state = server.server_state
        for connection in list(state.connections):
            connection.shutdown()  # those that wait for an answer get it first
        if state.tasks:
            await asyncio.wait(set(state.tasks), timeout=FAREWELL_S)
        late = set(state.tasks)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        for connection in list(state.connections):
            connection.transport.close()
        await asyncio.sleep(0)  # the loop tells the connections

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.requests import Request  # pyrefly: ignore
        from starlette.responses import Response, StreamingResponse  # pyrefly: ignore

        request = Request(scope, receive)

        read = asyncio.Event()

        async def body() -> bytes:
            try:
                async with asyncio.timeout(self.limits.body_s):
                    data = await _read(request, self.limits.body_bytes)
                    read.set()
                    return data
            except TimeoutError:
                raise Refusal(408, f"the body did not come within {self.limits.body_s:g} s", code="timeout") from None

        headers = {name.lower(): value for name, value in request.headers.items()}
        query = scope["query_string"].decode(errors="replace")
        call = Call(method=request.method, path=scope["path"], headers=headers, body=body, query=query)
        twice = [name for name in ONCE if len(request.headers.getlist(name)) > 1]
        full = self._full()
        refused = full or (_twice(twice[0]) if twice else None)
        answer = _refuse(refused) if refused else self.answer(call)
        reply = await _unless_gone(answer, read, receive)
        if reply is None:
            return
        more = {**reply.headers, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        if full or reply.status == 408:
            more["Connection"] = (
                "close"  # not so after 413: a client that is still sending would see a reset and no answer
            )
        if reply.events:
            out = StreamingResponse(_stream(reply), reply.status, more, "text/event-stream")
        else:
            out = Response(_json(reply.data), reply.status, more, "application/json")
            if not read.is_set() and "Connection" not in more and _closing(scope, headers):
                send = self._after_the_body(receive, send)
        await out(scope, receive, send)

    def _after_the_body(self, receive: Any, send: Any) -> Any:
        """Sends, and ends the answer only when the rest of the body has come: a client that is still sending when the connection is
        closed sees a reset and no answer. On a connection that stays open uvicorn does so itself."""

        async def patient(message: Any) -> None:
            last = message["type"] == "http.response.body" and not message.get("more_body")
            await send({**message, "more_body": True} if last else message)
            if last:
                left, more = DRAINED, True
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.limits.body_s):
                        while left > 0 and more:
                            part = await receive()
                            left, more = left - len(part.get("body", b"")), bool(part.get("more_body"))
                await send({"type": "http.response.body"})

        return patient

    def _full(self) -> Refusal | None:
        if self._server is None or len(self._server.server_state.connections) <= CONNECTIONS:
            return None
        return Refusal(503, f"{CONNECTIONS} connections are open; try again", code="too_many", retry_s=1)


def _closing(scope: Any, headers: Mapping[str, str]) -> bool:
    return scope["http_version"] == "1.0" or "close" in headers.get("connection", "").lower()


def _twice(name: str) -> Refusal:
    return Refusal(400, f"the header {name} is there more than once; send one", code="duplicate_header")


async def _refuse(refusal: Refusal) -> Reply:
    return refusal.reply()


def _protocol() -> type:
    """HTTP as uvicorn speaks it, whose refusal of what is no request has the shape of every other error."""
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol  # pyrefly: ignore

    class Protocol(H11Protocol):
        def send_400_response(self, msg: str) -> None:
            data = _json(Refusal(400, msg, code="bad_request").reply().data)
            headers = [
                ("content-type", "application/json"),
                ("connection", "close"),
                ("content-length", str(len(data))),
            ]
            told = (h11.Response(status_code=400, headers=headers), h11.Data(data=data), h11.EndOfMessage())
            for event in told:
                self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

    return Protocol


async def _read(request: Any, limit: int) -> bytes:
    told = request.headers.get("content-length", "0")
    if told.isdigit() and int(told) > limit:
        raise _oversize(limit)
    from starlette.requests import ClientDisconnect  # pyrefly: ignore

    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > limit:
                raise _oversize(limit)
            parts.append(part)
    except ClientDisconnect:
        raise Refusal(400, "the client left before its body was there", code="client_gone") from None
    return b"".join(parts)


def _oversize(limit: int) -> Refusal:
    return Refusal(413, f"the body is larger than {limit} bytes", code="body_too_large")


async def _unless_gone(answer: Coroutine[Any, Any, Reply], read: asyncio.Event, receive: Any) -> Reply | None:
    """The answer, or None, with the work on it cancelled, when the client goes away before it has come."""

    async def gone() -> None:
        await read.wait()  # until then the body is what is received
        while (await receive())["type"] != "http.disconnect":
            pass

    tasks = [asyncio.ensure_future(answer), asyncio.ensure_future(gone())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return tasks[0].result() if tasks[0].done() else None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _json(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, allow_nan=False).encode(errors="replace")


async def _stream(reply: Reply) -> AsyncIterator[bytes]:
    for event in reply.events:
        yield b"data: " + _json(event) + b"\n\n"
    yield b"data: [DONE]\n\n"
