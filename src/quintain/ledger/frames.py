"""The bytes of a segment: a header, then frames. Every byte is under a checksum, and every frame is chained.

header  64 bytes  magic, first sequence number, first commit number, chain so far, crc32
frame   44 bytes  magic, crc32 of what follows, payload length, commit number, flags, sequence number, chain; payload

chain_n = blake2b-128(chain_{n-1} + commit, flags, sequence number + payload_n): equal chains, equal histories. A commit
is one or more frames of which the last carries the flag END; a commit without its END was never durable. A SPLICE frame
stands where a repair had to give up `count` records; the chain starts anew after it.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

MAGIC = b"QNTNSEG1"
MARK = b"\xf1Q\xe5\x1d"
END, SPLICE = 1, 2
ORIGIN = bytes(16)

_HEADER = struct.Struct("<8sQQ16s20xI")
_FRAME = struct.Struct("<4sIIIIQ16s")
_MIDDLE = struct.Struct("<IIIQ16s")  # the part of a frame's head under its crc: length, commit, flags, seq, chain
_SPAN = struct.Struct("<I")
HEADER_SIZE = _HEADER.size
FRAME_SIZE = _FRAME.size
MAX_PAYLOAD = 1 << 30


class Head(NamedTuple):
    """Where a segment begins: sequence and commit number of its first frame, and the chain before it."""

    seq: int
    commit: int
    chain: bytes


class Frame(NamedTuple):
    """One record in a segment: `start` and `stop` are byte offsets of the frame, `body` of its payload."""

    seq: int
    commit: int
    flags: int
    chain: bytes
    start: int
    body: int
    stop: int
    count: int  # how many sequence numbers it stands for: 1, or what a splice gave up


def write_head(head: Head) -> bytes:
    """The 64 bytes of a segment header."""
    raw = _HEADER.pack(MAGIC, head.seq, head.commit, head.chain, 0)
    return raw[:-4] + zlib.crc32(raw[:-4]).to_bytes(4, "little")


def read_head(data: bytes) -> Head | None:
    """The header of a segment, or None if it is not whole."""
    if len(data) < HEADER_SIZE:
        return None
    magic, seq, commit, chain, crc = _HEADER.unpack_from(data)
    if magic != MAGIC or crc != zlib.crc32(data[: HEADER_SIZE - 4]):
        return None
    return Head(seq, commit, chain)


def link(chain: bytes, commit: int, flags: int, seq: int, payload: bytes | memoryview) -> bytes:
    """The chain after a frame."""
    h = hashlib.blake2b(chain, digest_size=16)
    h.update(struct.pack("<IIQ", commit, flags, seq))
    h.update(payload)
    return h.digest()


def write_frame(commit: int, flags: int, seq: int, chain: bytes, payload: bytes) -> bytes:
    """The bytes of a frame; `chain` is the one that `link` gives for it."""
    middle = _MIDDLE.pack(len(payload), commit, flags, seq, chain)
    crc = zlib.crc32(payload, zlib.crc32(middle))
    return b"".join((MARK, crc.to_bytes(4, "little"), middle, payload))


def splice(commit: int, seq: int, count: int, payload: bytes) -> bytes:
    """The frame that stands for `count` lost records from `seq` on; `payload` says so as an event."""
    return write_frame(commit, END | SPLICE, seq, ORIGIN, _SPAN.pack(count) + payload)


def read_frame(data: bytes | memoryview, at: int, base: int = 0) -> Frame | None:
    """The frame that begins at `data[at]`, or None if it is not whole; its offsets are counted from `-base`."""
    if at + FRAME_SIZE > len(data):
        return None
    mark, crc, length, commit, flags, seq, chain = _FRAME.unpack_from(data, at)
    stop = at + FRAME_SIZE + length
    if mark != MARK or length > MAX_PAYLOAD or stop > len(data):
        return None
    view = memoryview(data)
    if zlib.crc32(view[at + 8 : stop]) != crc:
        return None
    body, count = at + FRAME_SIZE, 1
    if flags & SPLICE:
        (count,) = _SPAN.unpack_from(data, body)
        body += _SPAN.size
    return Frame(seq, commit, flags, chain, base + at, base + body, base + stop, count)


def find_frames(data: bytes, at: int, base: int = 0) -> Iterator[Frame]:
    """Every whole frame at or after `data[at]`, skipping what is damaged between them."""
    while (at := data.find(MARK, at)) >= 0:
        frame = read_frame(data, at, base)
        if frame is None:
            at += 1
        else:
            yield frame
            at = frame.stop - base
