"""Messages over a socket: whole ones arrive, everything else is an end or a named error."""

from __future__ import annotations

import asyncio
import struct

import pytest

from quintain.runtime import frames
from quintain.runtime.frames import FrameError, receive, send


class Pipe:
    """A writer that feeds a reader, in pieces of three bytes."""

    def __init__(self) -> None:
        self.reader = asyncio.StreamReader()

    def write(self, data: bytes) -> None:
        for at in range(0, len(data), 3):
            self.reader.feed_data(data[at : at + 3])

    async def drain(self) -> None:
        """Nothing waits."""


async def test_messages_arrive_in_order_and_then_the_end():
    pipe = Pipe()
    said = [{"do": "play", "job": 3, "task": {"seed": 2**70, "key": "a/b"}}, {}, {"group": b"\x00\xff" * 999}]
    for message in said:
        await send(pipe, message)  # pyrefly: ignore
    pipe.reader.feed_eof()
    assert [await receive(pipe.reader) for _ in said] == said
    assert await receive(pipe.reader) is None


async def test_a_message_that_is_cut_is_an_end():
    pipe = Pipe()
    await send(pipe, {"group": b"x" * 100})  # pyrefly: ignore
    whole = await pipe.reader.read(1000)
    for cut in (1, 4, 50, len(whole) - 1):
        reader = asyncio.StreamReader()
        reader.feed_data(whole[:cut])
        reader.feed_eof()
        assert await receive(reader) is None


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (struct.pack("<I", frames.LIMIT + 1), "claims 1,073,741,825 bytes"),
        (struct.pack("<I", 2) + b"\xc1\xc1", "is not msgpack"),
        (struct.pack("<I", 1) + b"\x07", "is a int; it must be a mapping"),
    ],
)
async def test_what_is_no_message_is_named(data, told):
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    with pytest.raises(FrameError, match=told):
        await receive(reader)


async def test_a_message_above_the_limit_is_not_sent(monkeypatch):
    monkeypatch.setattr(frames, "LIMIT", 10)
    pipe = Pipe()
    with pytest.raises(FrameError, match="above the limit of 10"):
        await send(pipe, {"group": b"x" * 100})  # pyrefly: ignore
    assert not pipe.reader._buffer
