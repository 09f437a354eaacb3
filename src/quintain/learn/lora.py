"""LoRA through peft: low-rank factors beside frozen weights."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn

from quintain.registry import require_extra, unknown
from quintain.types import QuintainError


class LoraError(QuintainError):
    """LoRA options do not fit peft or the model."""


def add_lora(model: nn.Module, *, seed: int = 0, **fields: Any) -> nn.Module:
    """Put LoRA factors beside the weights of a model, and freeze everything else.

    For each chosen weight W [m, n] the layer computes W + (lora_alpha / r) B A with A [r, n] and B [m, r]; B starts
    at 0, so the policy starts as the model.

    Args:
        model: a decoder; its layers are changed in place, so what already points at it sees the factors too.
        seed: of A, drawn where the weights are (a GPU draws others than a CPU); generators are left as they were.
        **fields: fields of peft's `LoraConfig`: `r`, `lora_alpha`, `target_modules` (default: all linear layers)...

    Returns:
        peft's wrapper of the model, which packed forwards, engines and `save_model` take as they take the model.

    Raises:
        MissingExtra: peft is not installed.
        LoraError: an unknown field, dropout, or no layer that matches.

    Reference: arXiv 2106.09685.
    """
    require_extra("train", "peft")
    import peft

    known = peft.LoraConfig.__dataclass_fields__
    for name in fields:
        if name not in known:
            raise LoraError(unknown("LoRA field", name, known))
    if fields.get("lora_dropout"):
        raise LoraError(
            f"lora_dropout is {fields['lora_dropout']}: the learner would then score tokens by another policy than the engine "
            "sampled them from; leave it at 0"
        )
    options = {"target_modules": "all-linear", "lora_dropout": 0.0, **fields}
    try:
        devices = sorted({p.device.index for p in model.parameters() if p.is_cuda})
        with torch.random.fork_rng(devices), warnings.catch_warnings():
            torch.manual_seed(seed)
            warnings.simplefilter("ignore", FutureWarning)  # peft reads a name that transformers has renamed
            wrapped = peft.get_peft_model(model, peft.LoraConfig(**options))  # pyrefly: ignore
    except (ValueError, TypeError) as error:
        raise LoraError(f"LoRA with {options} does not fit {type(model).__name__}: {error}") from error
    return wrapped.eval()


def has_lora(model: nn.Module) -> bool:
    """Whether a model carries LoRA factors."""
    return hasattr(model, "peft_config")


def base_weights(model: Any) -> AbstractContextManager[None]:
    """Compute as if there were no factors: the reference policy of a LoRA run."""
    return model.disable_adapter() if has_lora(model) else nullcontext()
