"""Tiny models of many architectures, sharpened on demand, and the plain forward that is the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from quintain.models import build_model

SIZES: dict[str, Any] = {"vocab": 256, "hidden": 48, "layers": 3, "heads": 4, "kv_heads": 2, "head_dim": 12, "ffn": 64}
ZOO: dict[str, dict[str, Any]] = {
    "qwen2": {},
    "qwen3": {},
    "llama": {},
    "mistral": {"window": 10},
    "gemma2": {"window": 10},
    "gemma3_text": {"window": 10},
    "gpt_oss": {"window": 10, "experts": 4},
    "mixtral": {"experts": 4},
}


@pytest.fixture(scope="session")
def make() -> Callable[..., nn.Module]:
    """Build an architecture of the zoo; `sharp` scales its matrices until the mean entropy is <= 4 nats."""

    def build(arch: str, *, sharp: bool = False, **more: Any) -> nn.Module:
        sizes = {k: v for k, v in SIZES.items() if not (arch == "qwen2" and k == "head_dim")}
        model = build_model(arch, seed=3, **{**sizes, **ZOO.get(arch, {}), **more})
        if sharp:
            sharpen(model)
        return model

    return build


def sharpen(model: nn.Module) -> None:
    """Scale the matrices of a model until its mean entropy over random tokens is <= 4 nats."""
    ids = torch.arange(40)[None] * 7 % SIZES["vocab"]
    for _ in range(30):
        if entropy(plain(model, ids[0])) <= 4:
            return
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim > 1:
                    parameter.mul_(1.2)
    raise AssertionError("the model did not become sharp")


def entropy(logp: torch.Tensor) -> float:
    """Mean entropy in nats of rows of logprobs."""
    return float(-(logp.exp() * logp).sum(-1).mean())


def plain(model: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    """Logprobs [T, V] of one sequence by the model's own eager attention."""
    whole: Any = model.get_base_model() if hasattr(model, "get_base_model") else model
    whole.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            return torch.log_softmax(whole(input_ids=ids[None], use_cache=False).logits[0].double(), -1)
    finally:
        whole.set_attn_implementation("slot")


@pytest.fixture(scope="session")
def truth() -> Callable[[nn.Module, torch.Tensor], torch.Tensor]:
    """The plain forward."""
    return plain
