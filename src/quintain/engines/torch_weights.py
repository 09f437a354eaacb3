"""New weights for a model that goes on running: checked whole, then copied in place."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import nn

from quintain.models import ModelFolderError, causal_lm, read_weights
from quintain.types import QuintainError, Weights

KINDS = ("pointer", "file", "lora")


class WeightsError(QuintainError):
    """Published weights cannot be loaded into this model; nothing was changed."""


def copy_weights(model: nn.Module, weights: Weights) -> None:
    """Make `model` hold `weights`; either all tensors are copied or, on any mismatch, none.

    Args:
        model: the running model.
        weights: kind `pointer` (source: the same module, which is up to date already, another module, or a mapping of
            names to tensors), `file` (a folder with safetensors), or `lora` (a mapping of some names to tensors; the
            rest stays).

    Raises:
        WeightsError: the kind is not one of these, a name is unknown or missing, a shape differs, a file is
            unreadable.
    """
    if weights.kind not in KINDS:
        raise WeightsError(f"weights of kind {weights.kind!r} cannot be loaded here; the kinds are {', '.join(KINDS)}")
    source = weights.source
    if source is model or source is causal_lm(model):
        return
    if weights.kind == "file":
        tensors: Mapping[str, torch.Tensor] = _from_folder(source, causal_lm(model))
    elif isinstance(source, nn.Module):
        tensors = dict(source.state_dict())
    elif isinstance(source, Mapping):
        tensors = source
    else:
        raise WeightsError(
            f"weights {weights.version} have a source of type {type(source).__name__}; give a module or a mapping"
        )
    _copy(model, tensors, whole=weights.kind != "lora", version=weights.version)


def _from_folder(folder: str, like: nn.Module) -> Mapping[str, torch.Tensor]:
    try:
        return read_weights(folder, like)
    except ModelFolderError as error:
        raise WeightsError(str(error)) from error


def _copy(model: nn.Module, tensors: Mapping[str, torch.Tensor], whole: bool, version: int) -> None:
    # a folder or a bare state dict names the tensors of the causal LM, a wrapped module its own
    held = model.state_dict(keep_vars=True)
    if not set(tensors) & set(held):
        held = causal_lm(model).state_dict(keep_vars=True)
    pairs = []
    for name, tensor in tensors.items():
        if name not in held:
            raise WeightsError(f"weights {version} hold {name}, which the model lacks; they belong to another model")
        if held[name].shape != tensor.shape:
            shapes = f"{tuple(tensor.shape)} where the model has {tuple(held[name].shape)}"
            raise WeightsError(f"weights {version}: {name} has shape {shapes}")
        pairs.append((held[name], tensor))
    if whole:
        given = {held[name].data_ptr() for name in tensors}  # tied tensors may come under one of their names
        missing = [name for name, tensor in held.items() if tensor.data_ptr() not in given]
        if missing:
            raise WeightsError(f"weights {version} lack {len(missing)} tensors, the first is {missing[0]}")
    with torch.no_grad():
        for old, new in pairs:
            old.copy_(new)
