"""Published weights: pointers to the live model, or folders of which the newest stay."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from torch import nn

from quintain.learn.ranks import Ranks
from quintain.models import save_model
from quintain.models.fingerprint import fingerprint
from quintain.types import Weights

KEPT = 2  # published folders that stay


def publish(model: nn.Module, version: int, folder: str, ranks: Ranks) -> Weights:
    """The weights of `model` as `version`, proved equal on all ranks.

    Args:
        model: what is under training.
        version: its number.
        folder: where rank 0 writes `version-N` (LoRA factors merged in); empty points at the live model instead.
        ranks: this process among its peers.

    Raises:
        RankError: ranks hold different weights.
    """
    prints = fingerprint(model)
    ranks.same("the published weights", digest(prints))
    if not folder:
        return Weights(version=version, kind="pointer", source=model, fingerprint=prints)
    path = Path(folder) / f"version-{version}"
    if ranks.rank == 0:
        save_model(model, path)
        shutil.rmtree(Path(folder) / f"version-{version - KEPT}", ignore_errors=True)
    ranks.barrier()
    return Weights(version=version, kind="file", source=str(path), fingerprint=fingerprint(_written(path)))


def _written(folder: Path) -> Iterator[tuple[str, torch.Tensor]]:
    from safetensors.torch import load_file

    for path in sorted(folder.glob("*.safetensors")):
        yield from load_file(path).items()


def digest(prints: Mapping[str, str]) -> int:
    """One number for a whole fingerprint."""
    return zlib.crc32(repr(sorted(prints.items())).encode())
