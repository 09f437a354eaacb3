"""What a learner keeps on disk: safetensors and JSON, read strictly, and as a whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from quintain.codec import decode, dumps
from quintain.learn.publish import frozen_print
from quintain.learn.shards import part_of
from quintain.types import QuintainError

FORMAT = 1
FACTS = "learner.json"
INDEX = ".safetensors.index.json"
PART = 1 << 30  # bytes of one file
EXTRAS = {"value": "a value head", "reference": "a frozen reference"}  # which only some algorithms have saved
FIX = "go on with the settings that the run had, or begin a new run with these"
Tensors = Mapping[str, torch.Tensor]


class CheckpointError(QuintainError):
    """A learner's folder cannot be written, is damaged, or belongs to another learner; nothing was changed."""


def kept(model: nn.Module) -> dict[str, torch.Tensor]:
    """The tensors of a module that training can change: trainable parameters and persistent buffers, each once."""
    every = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    out: dict[str, torch.Tensor] = {n: p.data for n, p in model.named_parameters() if p.requires_grad}
    out.update({n: v for n, v in model.state_dict().items() if n not in every})
    return out


def write(
    folder: str, files: Mapping[str, Iterable[tuple[str, torch.Tensor]]], facts: Mapping[str, Any], limit: int = PART
) -> None:
    """Write `NAME.safetensors` for each of `files` and `learner.json` for `facts`.

    What is larger than `limit` bytes becomes parts, `NAME-00001.safetensors` and on, with `NAME.safetensors.index.json` that says
    which tensor is where; no more than one part is held in memory.

    Raises:
        CheckpointError: the disk refuses, or a fact (part state) is not made of JSON values and arrays.
    """
    from safetensors import SafetensorError

    path = Path(folder)
    try:
        text = dumps({"format": FORMAT, **facts})
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"the learner's state cannot be written as JSON: {error}") from error
    try:
        path.mkdir(parents=True, exist_ok=True)
        for name, tensors in files.items():
            _write_parts(path, name, tensors, limit)
        (path / FACTS).write_text(text)
    except (OSError, SafetensorError) as error:
        full = "; make room there and resume: the last checkpoint stands" if "No space left" in str(error) else ""
        raise CheckpointError(f"{path} cannot be written: {error}{full}") from error


def _write_parts(path: Path, name: str, tensors: Iterable[tuple[str, torch.Tensor]], limit: int) -> None:
    from safetensors.torch import save_file

    where: dict[str, str] = {}
    held: dict[str, torch.Tensor] = {}
    size = parts = 0
    for key, tensor in tensors:
        plain = tensor.detach().to("cpu").contiguous()
        if held and size + plain.nbytes > limit:
            parts += 1
            save_file(held, path / f"{name}-{parts:05d}.safetensors")
            where |= dict.fromkeys(held, f"{name}-{parts:05d}.safetensors")
            held, size = {}, 0
        held[key] = plain
        size += plain.nbytes
    if not parts:
        save_file(held, path / f"{name}.safetensors")
        return
    last = f"{name}-{parts + 1:05d}.safetensors"
    save_file(held, path / last)
    index = {"weight_map": where | dict.fromkeys(held, last)}
    (path / f"{name}{INDEX}").write_text(json.dumps(index))


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
    """The tensors of `NAME.safetensors` or of its parts; with `wanted`, exactly its names, shapes and dtypes.

    Special cases: of a tensor that is sharded in `wanted`, this rank's part alone is kept.

    Raises:
        CheckpointError: missing, damaged, or other names, shapes or dtypes than wanted.
    """
    path = Path(folder) / f"{name}.safetensors"
    found: dict[str, torch.Tensor] = {}
    for file in _files(path):
        for key, tensor in _tensors(file):
            if wanted is not None and key in wanted:
                for what in ("shape", "dtype"):
                    is_, must = getattr(tensor, what), getattr(wanted[key], what)
                    if is_ != must:
                        raise CheckpointError(f"{path}: {key} has {what} {is_}; this learner wants {must}")
                tensor = part_of(tensor, wanted[key])
            found[key] = tensor
    if wanted is not None:
        same_names(path, found, wanted)
    return found


def _files(path: Path) -> list[Path]:
    """The file, or its parts as the index names them."""
    index = path.with_name(path.name.removesuffix(".safetensors") + INDEX)
    if path.is_file():
        return [path]
    if not index.is_file():
        if extra := EXTRAS.get(path.name.removesuffix(".safetensors")):
            raise CheckpointError(f"{path.parent} was saved without {extra}, which the algorithm needs now; {FIX}")
        raise CheckpointError(f"{path} is missing; the checkpoint is incomplete or belongs to another learner")
    try:
        names = sorted(set(json.loads(index.read_text())["weight_map"].values()))
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise CheckpointError(f"{index} is damaged: {error!r}") from error
    for name in names:
        if Path(name).name != name or not path.with_name(name).is_file():
            raise CheckpointError(f"{path.with_name(Path(name).name)}, which {index.name} names, is missing")
    return [path.with_name(name) for name in names]


def _tensors(path: Path) -> Iterator[tuple[str, torch.Tensor]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:  # pyrefly: ignore
            for key in file.keys():  # noqa: SIM118
                yield key, file.get_tensor(key)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is damaged: {error}") from error


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
                f"{path} {what} {len(names)} tensors, first {min(names)}; it belongs to another model or optimizer (model, "
                f"learner.optimizer, algorithm); {FIX}"
            )


def _revived(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"b64", "dtype", "shape"}:
            return decode(np.ndarray, value)
        return {k: _revived(v) for k, v in value.items()}
    return [_revived(v) for v in value] if isinstance(value, list) else value


def same_base(folder: str, facts: Mapping[str, Any], own: int) -> None:
    """Check that a folder was saved beside the frozen weights with the digest `own`.

    Raises:
        CheckpointError: it was not.
    """
    if facts["frozen"] != own:
        raise CheckpointError(f"{folder} was saved beside other frozen weights; load the same base model first")


@torch.no_grad()
def load_weights(model: nn.Module, folder: str) -> None:
    """Put the model weights of a learner's folder into `model`, for playing without a learner.

    Raises:
        CheckpointError: missing, damaged, or of another model; also where what was not trained is not what it was saved beside.
    """
    same_base(folder, read_facts(folder), frozen_print(model))
    wanted = kept(model)
    for name, tensor in read(folder, "weights", wanted).items():
        wanted[name].copy_(tensor)
