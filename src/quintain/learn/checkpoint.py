"""What a learner keeps on disk: safetensors and JSON, read strictly, and as a whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from quintain.codec import decode, dumps
from quintain.types import QuintainError

FORMAT = 1
FACTS = "learner.json"
Tensors = Mapping[str, torch.Tensor]


class CheckpointError(QuintainError):
    """A learner's folder cannot be written, is damaged, or belongs to another learner; nothing was changed."""


def kept(model: nn.Module) -> dict[str, torch.Tensor]:
    """The tensors of a module that training can change: trainable parameters and persistent buffers, each once."""
    every = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    out: dict[str, torch.Tensor] = {n: p.data for n, p in model.named_parameters() if p.requires_grad}
    out.update({n: v for n, v in model.state_dict().items() if n not in every})
    return out


def write(folder: str, files: Mapping[str, Tensors], facts: Mapping[str, Any]) -> None:
    """Write `NAME.safetensors` for each of `files` and `learner.json` for `facts`.

    Raises:
        CheckpointError: the disk refuses, or a fact (part state) is not made of JSON values and arrays.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    path = Path(folder)
    try:
        text = dumps({"format": FORMAT, **facts})
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"the learner's state cannot be written as JSON: {error}") from error
    try:
        path.mkdir(parents=True, exist_ok=True)
        for name, tensors in files.items():
            plain = {k: v.detach().to("cpu").contiguous() for k, v in tensors.items()}
            save_file(plain, path / f"{name}.safetensors")
        (path / FACTS).write_text(text)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path} cannot be written: {error}") from error


def read_facts(folder: str) -> dict[str, Any]:
    """The facts of a folder, arrays restored.

    Raises:
        CheckpointError: missing, not JSON, or of another format.
    """
    path = Path(folder) / FACTS
    try:
        facts = json.loads(path.read_text())
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}; is this a learner's folder?") from error
    except ValueError as error:
        raise CheckpointError(f"{path} is not JSON ({error}); the checkpoint is damaged") from error
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        found = facts.get("format") if isinstance(facts, dict) else facts
        raise CheckpointError(f"{path} is of format {found!r}; this version reads format {FORMAT}")
    return _revived(facts)


def read(folder: str, name: str, wanted: Tensors | None = None) -> dict[str, torch.Tensor]:
    """The tensors of `NAME.safetensors`; with `wanted`, exactly its names, shapes and dtypes.

    Raises:
        CheckpointError: missing, damaged, or other names, shapes or dtypes than wanted.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = Path(folder) / f"{name}.safetensors"
    if not path.is_file():
        raise CheckpointError(f"{path} is missing; the checkpoint is incomplete or belongs to another learner")
    try:
        found = load_file(path)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is damaged: {error}") from error
    if wanted is not None:
        same_names(path, found, wanted)
        for key, tensor in wanted.items():
            for what in ("shape", "dtype"):
                is_, must = getattr(found[key], what), getattr(tensor, what)
                if is_ != must:
                    raise CheckpointError(f"{path}: {key} has {what} {is_}; this learner wants {must}")
    return found


def same_names(path: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Check that two sets of tensor names agree.

    Raises:
        CheckpointError: they do not; names the first that is missing or too many.
    """
    for names, what in (
        (wanted.keys() - found.keys(), "lacks"),
        (found.keys() - wanted.keys(), "has, and should not,"),
    ):
        if names:
            raise CheckpointError(
                f"{path} {what} {len(names)} tensors, first {min(names)}; it belongs to another model or optimizer"
            )


def _revived(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"b64", "dtype", "shape"}:
            return decode(np.ndarray, value)
        return {k: _revived(v) for k, v in value.items()}
    return [_revived(v) for v in value] if isinstance(value, list) else value


@torch.no_grad()
def load_weights(model: nn.Module, folder: str) -> None:
    """Put the model weights of a learner's folder into `model`, for playing without a learner.

    Raises:
        CheckpointError: missing, damaged, or of another model.
    """
    wanted = kept(model)
    for name, tensor in read(folder, "weights", wanted).items():
        wanted[name].copy_(tensor)
