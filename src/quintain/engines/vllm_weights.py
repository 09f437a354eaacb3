"""Weights on their way to a vLLM server: written where it can read them, checked whole before it is told."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quintain.types import QuintainError, Weights

KEPT = 2  # folders of our own that stay
ADAPTER = "policy-lora"  # the name of the adapter in the server


class WeightsRefused(QuintainError):
    """Published weights cannot be loaded into the server's model; it goes on with the old ones."""


def shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """Name and shape of every tensor in the safetensors files of a folder.

    Raises:
        WeightsRefused: there are none, or one is damaged.
    """
    found: dict[str, tuple[int, ...]] = {}
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise WeightsRefused(f"{folder} holds no safetensors file; publish a whole model folder")
    for file in files:
        try:
            with file.open("rb") as data:
                size = int.from_bytes(data.read(8), "little")
                header = json.loads(data.read(min(size, 1 << 27)))
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
            if file.stat().st_size < 8 + size + max(ends, default=0):
                raise ValueError("it is cut off")
            found |= {name: tuple(entry["shape"]) for name, entry in header.items() if name != "__metadata__"}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise WeightsRefused(f"{file} cannot be read: {error}") from None
    return found


def check_like(folder: Path, like: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse a folder whose tensors are not those that the server holds.

    Raises:
        WeightsRefused: a name is missing or new, or a shape differs; the first is named.
    """
    given = shapes(folder)
    for name in sorted(like.keys() | given.keys()):
        if given.get(name) != like.get(name):
            raise WeightsRefused(
                f"{folder}: {name} has shape {given.get(name)} where the server's model has {like.get(name)}; "
                "they belong to another model"
            )


class Shelf:
    """The folders in which an engine writes the weights of a live model.

    Args:
        room: the folder above them.
        adapters: write the LoRA adapter alone instead of merged weights.
    """

    def __init__(self, room: Path, adapters: bool) -> None:
        self.room, self.adapters = room, adapters

    def base(self, model: Any) -> str:
        """The folder of the model that the server starts with: without its adapters where those travel alone."""
        from quintain.models import save_model

        bare = copy.deepcopy(model).unload() if self.adapters and hasattr(model, "peft_config") else model
        folder = self.room / "base"
        save_model(bare, folder)
        return str(folder)

    def put(self, weights: Weights) -> Weights:
        """Published weights as files: those of a live model are written, others are passed on.

        Raises:
            WeightsRefused: a kind that cannot be written, or a model without an adapter where one is to travel.
        """
        if weights.kind in ("file", "lora") and isinstance(weights.source, str | Path):
            return weights
        model = weights.source
        if weights.kind not in ("pointer", "lora") or not hasattr(model, "state_dict"):
            raise WeightsRefused(
                f"weights of kind {weights.kind!r} from a {type(model).__name__} cannot be sent to vLLM: publish a folder "
                "(file), an adapter's folder (lora), or a live model (pointer)"
            )
        self._clear(weights.version)
        folder = self.room / f"version-{weights.version}"
        if not self.adapters:
            from quintain.models import save_model

            save_model(model, folder)
            return Weights(version=weights.version, kind="file", source=str(folder), fingerprint=weights.fingerprint)
        if not hasattr(model, "peft_config"):
            raise WeightsRefused(
                "engine.options.sync is 'lora', and the model has no adapter; set model.lora, or sync=file"
            )
        model.save_pretrained(folder)
        return Weights(version=weights.version, kind="lora", source=str(folder), fingerprint=weights.fingerprint)

    def _clear(self, version: int) -> None:
        for old in self.room.glob("version-*"):
            if int(old.name.removeprefix("version-")) <= version - KEPT:
                shutil.rmtree(old, ignore_errors=True)
