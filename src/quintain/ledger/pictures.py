"""Pictures as blobs: the pixels with their shape, compressed when they are written; who shows them makes a PNG."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from quintain.types import InvariantError, check

if TYPE_CHECKING:
    import numpy as np

_MAGIC = b"QPIX"
_HEAD = struct.Struct("<4sIII")


def write_picture(pixels: np.ndarray) -> bytes:
    """The bytes of a picture [H, W, C] uint8; equal pixels, equal bytes."""
    check(
        pixels.ndim == 3 and pixels.dtype == "uint8",
        f"a picture is uint8 of shape [H, W, C]; got {pixels.dtype} of shape {list(pixels.shape)}",
    )
    return _HEAD.pack(_MAGIC, *pixels.shape) + pixels.tobytes()


def read_picture(data: bytes) -> np.ndarray:
    """The pixels [H, W, C] that `write_picture` wrote.

    Raises:
        InvariantError: the bytes are not a picture.
    """
    import numpy as np

    if len(data) < _HEAD.size or data[:4] != _MAGIC:
        raise InvariantError(f"a blob of {len(data)} bytes is not a picture: it does not begin with {_MAGIC!r}")
    _, height, width, channels = _HEAD.unpack_from(data)
    check(
        len(data) == _HEAD.size + height * width * channels,
        f"a picture of {height}x{width}x{channels} has {len(data)} bytes",
    )
    return np.frombuffer(data, "u1", offset=_HEAD.size).reshape(height, width, channels).copy()
