"""Run any supported model on packed tokens: hidden states, then logits of the rows that are wanted."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from quintain.models.attention import PASSED, Pack, use
from quintain.models.narrow import merge, recomputes
from quintain.types import QuintainError


class PackError(QuintainError):
    """Packed tokens and their lengths contradict each other or the limits of the model."""


def causal_lm(model: nn.Module) -> nn.Module:
    """The transformers causal LM inside `model`: itself, or what a peft wrapper holds (with its adapters in place)."""
    inner = getattr(model, "get_base_model", None)
    return inner() if inner is not None and hasattr(model, "peft_config") else model


def text_config(model: nn.Module) -> Any:
    """The configuration of the language part of a model."""
    whole: Any = causal_lm(model)
    return whole.config.get_text_config(decoder=True)


def plain_config(model: nn.Module) -> dict[str, Any]:
    """The fields of the configuration of the language part that are JSON values, attention setting aside."""
    kinds = (int, float, str, bool, list, dict)
    skipped = ("_name_or_path", "transformers_version", "torch_dtype", "dtype", "architectures")
    fields = text_config(model).to_dict()
    return {k: v for k, v in fields.items() if isinstance(v, kinds) and k not in skipped and not k.startswith("_")}


def width(model: nn.Module) -> int:
    """Features of all query heads together: what scales the price of attention."""
    config = text_config(model)
    heads = config.num_attention_heads
    return heads * (getattr(config, "head_dim", None) or config.hidden_size // heads)


def context_limit(model: nn.Module) -> int:
    """Tokens of the longest sequence that a model computes the same way alone and in a pack.

    Special cases: rotary embeddings that change with the longest sequence seen (`dynamic`, `longrope`) count up to
    the length from which they change.
    """
    config = text_config(model)
    limit = int(getattr(config, "max_position_embeddings", None) or 1 << 20)
    rope = getattr(config, "rope_parameters", None) or {}
    for part in [rope, *(v for v in rope.values() if isinstance(v, dict))]:
        if part.get("rope_type") in ("dynamic", "longrope"):
            first = part.get("original_max_position_embeddings") or getattr(
                config, "original_max_position_embeddings", None
            )
            limit = min(limit, int(first or limit))
    return limit


def decoder_name(whole: nn.Module) -> str:
    """The attribute of a causal LM that holds everything below its head."""
    prefix = str(whole.base_model_prefix)
    if prefix in whole._modules:
        return prefix
    return next((name for name, module in whole.named_children() if hasattr(module, "base_model_prefix")), prefix)


@functools.lru_cache(maxsize=64)
def _takes_keywords(kind: type) -> bool:
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(kind.forward).parameters.values())


def run_pack(model: nn.Module, ids: torch.Tensor, positions: torch.Tensor, pack: Pack) -> torch.Tensor:
    """Hidden states [T, D] after the last norm for packed ids [T] at positions [T] (or [A, T] for rotary axes)."""
    whole = causal_lm(model)
    decoder = getattr(whole, decoder_name(whole))
    passed = {PASSED: pack} if _takes_keywords(type(decoder)) else {}
    where = positions.unsqueeze(-2)
    with use(pack):
        out = decoder(input_ids=ids.unsqueeze(0), position_ids=where, use_cache=False, **passed)
    return out[0][0]


def forward_hidden(
    model: nn.Module,
    ids: torch.Tensor,
    lengths: Sequence[int],
    positions: torch.Tensor | None = None,
    rows: np.ndarray | None = None,
) -> torch.Tensor:
    """Hidden states of packed sequences: no padding, no attention from one sequence to another.

    Use it for training and scoring; gradients flow. `head_logits` turns chosen rows into logits. Tokens behind equal
    prefixes are computed once, and the last layer only for the rows that are wanted.

    Args:
        model: a model of `build_model` or `load_model`, with or without LoRA adapters.
        ids: token ids [N], sequence after sequence.
        lengths: tokens of each sequence, each >= 1, with sum N.
        positions: [N]; counted from 0 in each sequence when None.
        rows: the rows that are wanted [M]; all when None.

    Returns:
        [N, D], or [M, D] for chosen rows, in the dtype of the model: row t is what the head reads to predict the token
        after row t.

    Raises:
        PackError: lengths do not sum to N, one is < 1, or one is above `context_limit(model)`.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    if sizes.ndim != 1 or int(sizes.sum()) != ids.shape[0] or (sizes < 1).any():
        raise PackError(
            f"{ids.shape[0]} packed tokens with lengths that sum to {int(sizes.sum())}; "
            "each must be >= 1, and together they must be the tokens"
        )
    limit = context_limit(model)
    if sizes.max() > limit:
        raise PackError(
            f"a sequence of {int(sizes.max())} tokens is above the model's limit of {limit}; cut or drop it"
        )
    counted = np.arange(ids.shape[0]) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    merged = merge(ids.cpu().numpy(), sizes) if positions is None else None
    if positions is None:
        positions = torch.from_numpy(counted).to(ids.device)
    if merged is not None:
        kept = torch.from_numpy(merged[0]).to(ids.device)
        ids, positions = ids.index_select(0, kept), positions.index_select(0, kept)
    pack = Pack.of(sizes, width(model), ids.device, None if merged is None else merged[1])
    chosen = np.arange(int(sizes.sum())) if rows is None else rows
    read = chosen if merged is None else merged[1][chosen]
    if rows is not None and len(rows) and not recomputes(model):
        pack.wanted = torch.from_numpy(np.unique(read)).to(ids.device)
    hidden = run_pack(model, ids, positions, pack)
    return hidden if merged is None and rows is None else hidden.index_select(0, torch.from_numpy(read).to(ids.device))


class _Answer:
    """What a decoder returns, with None for everything but the hidden states."""

    def __init__(self, hidden: torch.Tensor) -> None:
        self.last_hidden_state = hidden

    def __getitem__(self, index: int) -> torch.Tensor:
        return (self.last_hidden_state,)[index]

    def __getattr__(self, name: str) -> None:
        return None


class _Given:
    """Stands in for the decoder of a causal LM and answers with hidden states that are known already."""

    def __init__(self, hidden: torch.Tensor, real: nn.Module) -> None:
        self._hidden, self._real = hidden, real

    def __call__(self, *_: Any, **__: Any) -> Any:
        return _Answer(self._hidden)

    def __getattr__(self, name: str) -> Any:
        # OPT-like classes call `self.model.decoder(...)`
        return self if name == "decoder" else getattr(self._real, name)


def head_logits(model: nn.Module, hidden: torch.Tensor) -> torch.Tensor:
    """Logits [M, V] of hidden rows [M, D], through whatever the model's own class does after its decoder.

    Soft-caps, scales and multipliers of the final logits are therefore the model's own, for every class.
    """
    whole = causal_lm(model)
    # a shallow copy of the causal LM whose decoder is replaced: nothing shared is changed, so threads do not meet
    head = copy.copy(whole)
    prefix = decoder_name(whole)
    head.__dict__ = {**whole.__dict__, "_modules": {k: m for k, m in whole._modules.items() if k != prefix}}
    head.__dict__[prefix] = _Given(hidden.unsqueeze(0), getattr(whole, prefix))
    ids = torch.zeros(1, 1, dtype=torch.int64, device=hidden.device)
    return head.forward(input_ids=ids, use_cache=False).logits[0]
