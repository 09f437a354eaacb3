"""Events as msgpack and back: groups as columns, arrays as they are, pictures as references to blobs. Never pickle."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import msgpack

from quintain.codec import encode
from quintain.ledger.errors import CorruptLedger
from quintain.ledger.groups import PackedGroup, pack_group
from quintain.ledger.plain import INTEGER, big_integer, packed
from quintain.types import Event, Group, Image, Message, QuintainError, Task, Ticket

_GROUP, _ARRAY = 1, 2

Keep = Callable[[Image], Image]  # puts the pixels of a picture away and returns a reference to them


def pack_event(event: Event, keep: Keep, *, whole: bool = True) -> bytes:
    """The bytes of an event; groups in its payload keep their trajectories if `whole`.

    Raises:
        TypeError: the payload holds something that is neither data nor a record.
    """

    def other(value: Any) -> Any:
        if isinstance(value, Group):
            task = _without_pixels(value.task, keep)
            return msgpack.ExtType(_GROUP, pack_group(value, whole=whole, task=task))
        if isinstance(value, Task | Ticket | Message | Image):
            return encode(_without_pixels(value, keep))
        if isinstance(value, Mapping):
            return dict(value)
        if isinstance(value, int):
            return big_integer(value)
        if isinstance(value, Enum):
            return value.value
        if hasattr(value, "tobytes") and hasattr(value, "dtype"):
            return _array(value)
        return encode(value)

    line = [event.time, event.step, event.actor, event.kind, event.payload]
    return packed(line, other)


def _array(value: Any) -> Any:
    if value.shape == ():
        return value.item()
    if value.dtype.hasobject:
        raise TypeError(f"cannot write an array of {value.dtype} to the ledger; use numbers or strings")
    return msgpack.ExtType(_ARRAY, msgpack.packb([value.dtype.str, value.shape, value.tobytes()]))


def _without_pixels(value: Any, keep: Keep) -> Any:
    """The record with every picture in its messages replaced by what `keep` returns."""
    if isinstance(value, Image):
        return value if value.pixels is None else keep(value)
    if isinstance(value, Message):
        return (
            dataclasses.replace(value, parts=tuple(_without_pixels(p, keep) for p in value.parts))
            if value.images
            else value
        )
    if isinstance(value, Task):
        return (
            dataclasses.replace(value, messages=tuple(_without_pixels(m, keep) for m in value.messages))
            if value.messages
            else value
        )
    if isinstance(value, Ticket):
        return dataclasses.replace(value, task=_without_pixels(value.task, keep)) if value.task.messages else value
    return value


def _revive(code: int, data: bytes) -> Any:
    if code == _GROUP:
        return PackedGroup(data)
    if code == INTEGER:
        return int(data.decode())
    if code == _ARRAY:
        import numpy as np

        dtype, shape, raw = msgpack.unpackb(data)
        return np.frombuffer(raw, dtype).reshape(shape).copy()
    raise CorruptLedger(
        f"an event holds data of the unknown kind {code}; a newer version of quintain wrote it: update quintain"
    )


def unpack_event(data: bytes) -> Event:
    """The event that `pack_event` wrote; a group comes back as a `PackedGroup`.

    Raises:
        CorruptLedger: the bytes are not an event.
    """
    try:
        time, step, actor, kind, payload = msgpack.unpackb(data, ext_hook=_revive, strict_map_key=False)
        return Event(time=time, step=step, actor=actor, kind=kind, payload=payload)
    except QuintainError:
        raise
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise CorruptLedger(f"a record is not an event: {error}; `quintain doctor` says where") from error
