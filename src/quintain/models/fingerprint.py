"""Fingerprints of weights: a learner and an engine that hold the same bytes say the same, bucket by bucket."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable

import torch
from torch import nn

WHOLE = 1 << 22  # bytes; a larger tensor is hashed by the sums of its rows and columns

_LAYER = re.compile(r"^(.*?\.\d+)\.")


def fingerprint(weights: nn.Module | Iterable[tuple[str, torch.Tensor]]) -> dict[str, str]:
    """Bucket name (a layer, an embedding, a norm) -> 8 hex digits that change when any tensor of the bucket changes.

    The hash covers name, dtype, shape and every byte: CRC-32 of the raw bytes, or of the row and column sums of the
    32-bit words (modulo 2^64) for tensors above 4 MiB, which costs two passes at memory speed, on the tensor's own
    device.

    Args:
        weights: a model, or (name, tensor) pairs.

    Example:
        >>> one, two = ([("head.weight", torch.tensor([x]))] for x in (1.0, 2.0))
        >>> fingerprint(one) == fingerprint(one), fingerprint(one) == fingerprint(two)
        (True, False)
    """
    pairs = weights.named_parameters() if isinstance(weights, nn.Module) else weights
    return fold(sorted(pairs, key=lambda pair: pair[0]))


def fold(pairs: Iterable[tuple[str, torch.Tensor]]) -> dict[str, str]:
    """The fingerprint of pairs that come in the order of their names, of which one at a time is held."""
    sums: dict[str, int] = {}
    for name, tensor in pairs:
        layer = _LAYER.match(name)
        bucket = layer.group(1) if layer else name.rpartition(".")[0] or name
        said = f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode()
        sums[bucket] = zlib.crc32(_content(tensor.detach()), zlib.crc32(said, sums.get(bucket, 0)))
    return {bucket: f"{value:08x}" for bucket, value in sums.items()}


def fingerprint_of(tensor: torch.Tensor) -> int:
    """The hash of the bytes of one tensor."""
    return zlib.crc32(_content(tensor.detach()))


def _content(tensor: torch.Tensor) -> bytes:
    raw = tensor.contiguous().reshape(-1).view(torch.uint8)
    if raw.numel() > WHOLE and raw.numel() % 4 == 0:
        words = raw.view(torch.int32)
        side = tensor.shape[-1] if tensor.ndim > 1 and words.numel() % tensor.shape[-1] == 0 else 1
        table = words.view(-1, side)
        raw = torch.cat([table.sum(0), table.sum(1)]).view(torch.uint8)
    return raw.cpu().numpy().tobytes()
