"""Facts about single tensors that tell *how* two sets of weights differ, small enough to travel between processes."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn

from quintain.models.fingerprint import fingerprint_of

DIRECTIONS = 4  # numbers of the linear sketch of a tensor
ROUNDED = {"bfloat16": torch.bfloat16, "float16": torch.float16}
EXACT = 1e-4  # relative agreement of sketches that counts as the same linear relation

Facts = Mapping[str, Mapping[str, Any]]


def sketch(weights: nn.Module | Iterable[tuple[str, torch.Tensor]]) -> dict[str, dict[str, Any]]:
    """Name of a tensor -> JSON facts: dtype, shape, hash, hashes of damaged forms of it, and a linear sketch.

    Use it after two fingerprints were found to differ: it costs several passes over every tensor, row by row.

    Args:
        weights: a model (its parameters), or (name, tensor) pairs.

    Returns:
        Per tensor `dtype`, `shape`, `hash` of the bytes, `rows` and `columns` (hashes that do not depend on their
        order), `turned` (of the transpose), `bfloat16` and `float16` (of the tensor rounded to these), `zero`, and
        `lines`: four inner products with fixed directions, by which linear relations between tensors show.
    """
    pairs = weights.named_parameters() if isinstance(weights, nn.Module) else weights
    return {name: _facts(tensor.detach()) for name, tensor in pairs}


def _facts(tensor: torch.Tensor) -> dict[str, Any]:
    whole = tensor.reshape(tensor.shape[0], -1) if tensor.ndim else tensor.reshape(1, 1)
    floating = tensor.is_floating_point()
    rounded = {name: fingerprint_of(tensor.to(to).to(tensor.dtype)) for name, to in ROUNDED.items() if floating}
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
        "hash": fingerprint_of(tensor),
        "rows": _unordered(whole),
        "columns": _unordered(whole.T),
        "turned": fingerprint_of(whole.T) if tensor.ndim == 2 else 0,
        **rounded,
        "zero": not bool(tensor.any()),
        "lines": _lines(tensor),
    }


def _unordered(table: torch.Tensor) -> int:
    """A hash of the rows of a table that is the same in any order of them."""
    raw = table.contiguous().cpu().view(torch.uint8).reshape(table.shape[0], -1).numpy()
    return sum(zlib.crc32(row.tobytes()) for row in raw)


def _lines(tensor: torch.Tensor) -> list[float]:
    flat = tensor.reshape(-1).double().cpu()
    at = torch.arange(flat.numel(), dtype=torch.float64)
    return [float((flat * torch.cos(at * (0.6180339887 * (k + 1)) + k)).sum()) for k in range(DIRECTIONS)]


def compare(held: Facts, wanted: Facts, base: Facts | None = None) -> dict[str, list[str]]:
    """What is wrong with each tensor of `held` that is not that of `wanted`: a phrase -> names of tensors.

    Args:
        held: facts of what an engine holds.
        wanted: facts of what it should hold.
        base: facts of the weights without LoRA factors, for runs that have some.
    """
    found: dict[str, list[str]] = {}
    for name in wanted:
        if name not in held:
            found.setdefault("missing", []).append(name)
        elif held[name]["hash"] != wanted[name]["hash"] or held[name]["dtype"] != wanted[name]["dtype"]:
            below = None if base is None else base.get(name)
            found.setdefault(_damage(held[name], wanted[name], below), []).append(name)
    return found


def _damage(e: Mapping[str, Any], x: Mapping[str, Any], base: Mapping[str, Any] | None) -> str:
    if e["dtype"] != x["dtype"]:
        return f"has dtype {e['dtype']}, and the learner's is {x['dtype']}"
    if e["shape"] != x["shape"]:
        return f"has shape {tuple(e['shape'])}, and the learner's is {tuple(x['shape'])}"
    if base is not None and e["hash"] == base["hash"]:
        return "base"
    if e["zero"]:
        return "is zero"
    for name in ROUNDED:
        if e["hash"] == x.get(name):
            return f"is rounded to {name}"
    if e["hash"] == x["turned"]:
        return "is transposed"
    if e["rows"] == x["rows"]:
        return "is permuted: the same rows in another order"
    if e["columns"] == x["columns"]:
        return "is permuted: the same columns in another order"
    factor = _factor(e["lines"], x["lines"], None if base is None else base["lines"])
    if factor is not None:
        return f"{'factors' if base is not None else 'is'} scaled {factor:.3g} times"
    return "other"


def _factor(e: list[float], x: list[float], b: list[float] | None) -> float | None:
    """a where e - b = a (x - b) in every direction, if it is that."""
    start = b or [0.0] * len(e)
    up = torch.tensor([p - q for p, q in zip(e, start, strict=True)])
    along = torch.tensor([p - q for p, q in zip(x, start, strict=True)])
    length = float((along * along).sum())
    if not length:
        return None
    a = float((up * along).sum()) / length
    off = float((up - a * along).norm())
    same = off <= EXACT * max(float(up.norm()), float(along.norm()))
    return a if same and abs(a) > EXACT and abs(a - 1) > 10 * EXACT else None
