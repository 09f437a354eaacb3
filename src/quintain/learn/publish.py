"""Published weights: pointers to the live model, or folders of which the newest stay."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from quintain import faults
from quintain.learn.lora import has_lora
from quintain.learn.ranks import Ranks
from quintain.models import save_model
from quintain.models.fingerprint import fingerprint
from quintain.types import Weights

KEPT = 2  # published folders that stay


def publish(
    model: nn.Module | None,
    version: int,
    folder: str,
    ranks: Ranks,
    *,
    compare: bool = True,
    prints: Mapping[str, str] | None = None,
) -> Weights:
    """The weights of `model` as `version`, proved equal on all ranks.

    Args:
        model: what is under training; None on a rank that holds only a part of it and writes nothing.
        version: its number.
        folder: where rank 0 writes `version-N` (LoRA factors merged in); empty points at the live model instead.
        ranks: this process among its peers.
        compare: whether every rank holds a whole model, whose fingerprints must be equal.
        prints: the fingerprints of what is under training, where `model` is a copy of it; None takes those of `model`.

    Raises:
        RankError: ranks hold different weights.
    """
    if prints is None:
        prints = fingerprint(model) if model is not None else {}
    if compare:
        ranks.same("the published weights", digest(prints))
    if not folder:
        return Weights(version=version, kind="pointer", source=model, fingerprint=prints)
    path = Path(published(folder, version).source)
    if ranks.rank == 0 and model is not None:
        faults.point("publish.before_file")
        save_model(model, path)
        faults.point("publish.after_file")
        shutil.rmtree(Path(folder) / f"version-{version - KEPT}", ignore_errors=True)
    ranks.barrier()
    written = fingerprint(_written(path))
    if model is not None and not has_lora(model) and written.keys() == prints.keys():
        written = prints  # what the learner holds, not what a damaged file does
    return Weights(version=version, kind="file", source=str(path), fingerprint=written)


def tensors_of(weights: Weights) -> list[tuple[str, torch.Tensor]]:
    """The tensors of published weights: a live module's parameters, a mapping's, or those in a folder's files."""
    source: Any = weights.source
    if isinstance(source, nn.Module):
        return list(source.named_parameters())
    return list(source.items()) if isinstance(source, Mapping) else list(_written(Path(source)))


def published(folder: str, version: int) -> Weights:
    """One of the newest versions in `folder`, written by `publish` before."""
    return Weights(version=version, kind="file", source=str(Path(folder) / f"version-{version}"))


def _written(folder: Path) -> Iterator[tuple[str, torch.Tensor]]:
    from safetensors.torch import load_file

    for path in sorted(folder.glob("*.safetensors")):
        yield from load_file(path).items()


def digest(prints: Mapping[str, str]) -> int:
    """One number for a whole fingerprint."""
    return zlib.crc32(repr(sorted(prints.items())).encode())


def frozen_print(model: nn.Module) -> int:
    """The digest of what is not trained; 0 where all is."""
    frozen = [(n, p) for n, p in model.named_parameters() if not p.requires_grad]
    return digest(fingerprint(frozen)) if frozen else 0
