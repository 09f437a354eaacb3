"""Messages between processes on this machine: length-prefixed msgpack over a unix socket, never pickle."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping
from typing import Any

from quintain.ledger import plain
from quintain.types import QuintainError

LIMIT = 1 << 30  # bytes of one message
_HEAD = struct.Struct("<I")


class FrameError(QuintainError):
    """What came over a socket is not a message of ours."""


def framed(message: Mapping[str, Any]) -> bytes:
    """The bytes of one message.

    Raises:
        FrameError: the message is above the limit.
    """
    data = plain.pack(dict(message))
    if len(data) > LIMIT:
        raise FrameError(f"a message of {len(data):,} bytes is above the limit of {LIMIT:,}; play smaller groups")
    return _HEAD.pack(len(data)) + data


async def send(writer: asyncio.StreamWriter, message: Mapping[str, Any]) -> None:
    """Write one message; waits while the other side is behind.

    Raises:
        FrameError: the message is above the limit.
    """
    writer.write(framed(message))
    await writer.drain()


async def receive(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next message; None when the other side is gone, even in the middle of one.

    Raises:
        FrameError: the bytes are no message.
    """
    size = 0
    try:
        (size,) = _HEAD.unpack(await reader.readexactly(_HEAD.size))
        if size > LIMIT:
            raise FrameError(f"a message claims {size:,} bytes; the limit is {LIMIT:,}")
        message = plain.unpack(await reader.readexactly(size))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    except ValueError as error:
        raise FrameError(f"a message of {size:,} bytes is not msgpack: {error}") from error
    if not isinstance(message, dict):
        raise FrameError(f"a message is a {type(message).__name__}; it must be a mapping")
    return message
