"""The line to a fork server: numbers and records over a unix socket, from processes of the same user."""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from collections.abc import Callable

HEAD = struct.Struct("<I")
PEER = struct.Struct("3i")
SLICE_S = 0.05


class ForkError(OSError):
    """The fork server is gone, or refuses; the process is to be started afresh."""


def check_peer(line: socket.socket) -> None:
    """Refuse the processes of other users: names of abstract sockets are known to all."""
    _, user, _ = PEER.unpack(line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size))
    if user != os.getuid():
        raise ForkError(f"the other side belongs to user {user}, not to {os.getuid()}")


def await_answer(line: socket.socket, seconds: float, check_in: Callable[[], None]) -> None:
    """Wait for the first words of an answer."""
    until = time.monotonic() + seconds
    while not readable(line.fileno(), SLICE_S):
        check_in()
        if time.monotonic() > until:
            raise ForkError(f"no answer within {seconds:g} s")


def readable(fd: int, timeout: float | None = 0.0) -> bool:
    """Whether a descriptor of any number, which `select` would not take, has something to read or has ended, within `timeout` seconds."""
    asked = select.poll()
    asked.register(fd, select.POLLIN)
    return bool(asked.poll(None if timeout is None else timeout * 1000))


def gave_up(line: socket.socket) -> bool:
    """Whether the other side has closed a connection that nothing more is to come over."""
    return readable(line.fileno()) and not line.recv(1, socket.MSG_PEEK)


def number(line: socket.socket) -> int:
    """A whole number with its sign, such as the id or the status of a process."""
    (number,) = HEAD.unpack(exactly(line, HEAD.size))
    return number - (1 << 32 if number >= 1 << 31 else 0)


def exactly(line: socket.socket, size: int) -> bytes:
    """So many bytes, or a `ForkError` where the line ends before."""
    data = b""
    while len(data) < size:
        part = line.recv(size - len(data))
        if not part:
            raise ForkError("the connection ended")
        data += part
    return data
