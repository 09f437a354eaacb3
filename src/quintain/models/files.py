"""Model folders in the Hugging Face layout: loaded from safetensors only, saved so that transformers loads them."""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from quintain.models.attention import NAME, UnsupportedModel, register_attention
from quintain.models.check import self_test
from quintain.models.narrow import install
from quintain.types import QuintainError

log = logging.getLogger(__name__)


class ModelFolderError(QuintainError):
    """A model folder lacks files, or its files contradict each other; the message names the file and the fix."""


def load_model(
    folder: str | Path, *, dtype: torch.dtype | str = torch.float32, device: torch.device | str = "cpu"
) -> nn.Module:
    """Load a causal LM from a local folder: `config.json` and `model.safetensors` (or its shards and their index).

    The model is self-tested (see `self_test`) before it is returned. Nothing is downloaded and nothing is unpickled.

    Args:
        folder: a local folder in the Hugging Face layout.
        dtype: of the weights in memory, such as `torch.bfloat16` or `"bfloat16"`.
        device: where the weights go.

    Returns:
        The model in evaluation mode with slot attention.

    Raises:
        ModelFolderError: a file is missing or unreadable, a weight is missing or has another shape.
        UnsupportedModel: the model type cannot run on slot attention.
    """
    model = _read(Path(folder), getattr(torch, dtype) if isinstance(dtype, str) else dtype)
    model = model.to(device).eval()
    self_test(model)
    return model


def read_weights(folder: str | Path, like: nn.Module) -> dict[str, torch.Tensor]:
    """The tensors of a folder that `save_model` wrote, under the names that the causal LM `like` gives them.

    Raises:
        ModelFolderError: a file is missing or unreadable.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = Path(folder)
    _check_files(path)
    names = set(like.state_dict())
    tensors: dict[str, torch.Tensor] = {}
    try:
        for file in sorted(path.glob("model*.safetensors")):
            tensors.update(load_file(file))
    except (OSError, SafetensorError) as error:
        raise _explained(path, error) from error
    if set(tensors) <= names:
        return tensors
    return dict(_read(path, next(like.parameters()).dtype).state_dict())  # stored under other names (experts, mostly)


def _read(path: Path, dtype: torch.dtype) -> nn.Module:
    from transformers import AutoModelForCausalLM

    _check_files(path)
    register_attention()
    with _quiet():
        try:
            model, info = AutoModelForCausalLM.from_pretrained(
                path,
                dtype=dtype,
                attn_implementation=NAME,
                use_safetensors=True,
                local_files_only=True,
                ignore_mismatched_sizes=True,  # reported below, by name
                trust_remote_code=False,
                output_loading_info=True,
            )
        except Exception as error:
            raise _explained(path, error) from error
    for what in ("missing_keys", "mismatched_keys"):
        if found := sorted(map(str, info[what])):
            raise ModelFolderError(
                f"{path}: {len(found)} weights are {what.split('_')[0]} for {model.config.model_type}, the first is "
                f"{found[0]}; config.json and the safetensors files do not belong together"
            )
    if info["unexpected_keys"]:
        extra = sorted(info["unexpected_keys"])
        kind = model.config.model_type
        log.warning("%s: %d weights are not used by %s, the first is %s", path, len(extra), kind, extra[0])
    install(model, model.config.get_text_config(decoder=True).num_hidden_layers)
    return model


WHOLE = "; copy the whole folder of the model again"


def _check_files(path: Path) -> None:
    if not path.is_dir():
        raise ModelFolderError(f"{path} is not a folder; give a local folder with config.json and model.safetensors")
    if not (path / "config.json").is_file():
        hint = (
            "; it holds an adapter: load its base model and apply the adapter with peft"
            if (path / "adapter_config.json").is_file()
            else WHOLE
        )
        raise ModelFolderError(f"{path} has no config.json{hint}")
    try:
        config = json.loads((path / "config.json").read_text())
    except ValueError as error:
        raise ModelFolderError(f"{path / 'config.json'} is not JSON: {error}") from error
    if not isinstance(config, dict) or "model_type" not in config:
        raise ModelFolderError(
            f"{path / 'config.json'} names no model_type; it is not the configuration of a transformers model"
        )
    index = path / "model.safetensors.index.json"
    if index.is_file():
        _check_shards(path, index)
    elif not (path / "model.safetensors").is_file():
        old = next(path.glob("*.bin"), None)
        hint = f"; {old.name} is a pickle and is never read: convert it to safetensors" if old else WHOLE
        raise ModelFolderError(f"{path} has no model.safetensors{hint}")


def _check_shards(path: Path, index: Path) -> None:
    try:
        names = sorted(set(json.loads(index.read_text())["weight_map"].values()))
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise ModelFolderError(f"{index} is not an index of safetensors shards: {error!r}") from error
    for name in names:
        if not name.endswith(".safetensors") or "/" in name or not (path / name).is_file():
            raise ModelFolderError(f"{path} lacks the shard {name} that {index.name} names{WHOLE}")


def _explained(path: Path, error: Exception) -> QuintainError:
    text = " ".join(str(error).split())[:500]
    if "attn_implementation" in text or "attention implementation" in text:
        return UnsupportedModel(f"{path}: this model type cannot take a registered attention function: {text}")
    cut = WHOLE if type(error).__name__ == "SafetensorError" else ""
    return ModelFolderError(f"{path} cannot be loaded ({type(error).__name__}): {text}{cut}")


def save_model(model: nn.Module, folder: str | Path) -> None:
    """Write a folder that `AutoModelForCausalLM.from_pretrained` and `load_model` load: config.json and safetensors.

    Special cases: LoRA adapters are merged into the written weights; the model itself keeps them apart.

    Raises:
        ModelFolderError: the folder cannot be written.
    """
    if hasattr(model, "peft_config"):
        model = copy.deepcopy(model).merge_and_unload()  # pyrefly: ignore
    writable: Any = model
    try:
        with _quiet():
            writable.save_pretrained(folder)
        for weights in Path(folder).glob("*.safetensors"):  # its writer makes them their owner's alone
            weights.chmod((Path(folder) / "config.json").stat().st_mode & 0o777)
    except OSError as error:
        raise ModelFolderError(f"{folder} cannot be written: {error}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars and no chatter from transformers meanwhile."""
    from transformers.utils import logging as chatter

    bars, level = chatter.is_progress_bar_enabled(), chatter.get_verbosity()
    chatter.disable_progress_bar()
    chatter.set_verbosity_error()
    try:
        yield
    finally:
        chatter.set_verbosity(level)
        if bars:
            chatter.enable_progress_bar()
