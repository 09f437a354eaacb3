"""msgpack of plain data, with integers of any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgpack

INTEGER = 3  # extension code of integers beyond 64 bits


def big_integer(value: int) -> msgpack.ExtType:
    """An integer that msgpack has no form for."""
    return msgpack.ExtType(INTEGER, str(value).encode())


def _default(value: Any) -> Any:
    if isinstance(value, int):
        return big_integer(value)
    raise TypeError(f"cannot write a {type(value).__name__} to the ledger; use records, mappings and scalars")


def _revive(code: int, data: bytes) -> Any:
    if code == INTEGER:
        return int(data.decode())
    raise ValueError(f"unknown extension {code}")


def packed(value: Any, default: Callable[[Any], Any] | None = None) -> bytes:
    """msgpack of `value`; what it does not know goes through `default`."""
    data = msgpack.packb(value, default=default)
    assert data is not None  # only a stream packer returns nothing
    return data


def pack(value: Any) -> bytes:
    """The bytes of mappings, lists and scalars.

    Example:
        >>> unpack(pack({"seed": 2**70})) == {"seed": 2**70}
        True
    """
    return packed(value, _default)


def unpack(data: bytes) -> Any:
    """What `pack` wrote; `ValueError` for other bytes."""
    return msgpack.unpackb(data, ext_hook=_revive, strict_map_key=False)
