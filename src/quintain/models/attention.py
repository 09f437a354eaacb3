"""The attention and mask functions that Quintain registers with transformers under the name `slot`.

Every forward is one packed row [1, T] of spans; a `Pack` travels beside it, says where each span begins and, in an
engine, which slot of a `SlotStore` holds the keys and values of the tokens before it. Nothing here knows any model
class.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from quintain.models.lanes import Lane, Layout, lay_out
from quintain.models.order import in_order
from quintain.models.store import SlotStore
from quintain.types import QuintainError

NAME = "slot"
PASSED = "slot_pack"  # the keyword under which a pack travels through a model

# keywords that models hand to every attention function and that change nothing in it
_HARMLESS = frozenset(
    (
        *("position_ids", "position_embeddings", "cache_position", "use_cache", "past_key_values", "past_key_value"),
        *("output_attentions", "output_hidden_states", "output_router_logits", "return_dict", "logits_to_keep"),
        *("labels", "shift_labels", "num_items_in_batch", "layer_idx", "input_ids", "training", "use_kernel"),
    )
)


class UnsupportedModel(QuintainError):
    """A model cannot run on slot attention, or would run silently wrong; the message names its type and the reason."""


@dataclass(frozen=True, slots=True)
class Local:
    """What a layer may see: the last `size` tokens (or its block of `size` tokens if `chunked`); 0 for everything."""

    size: int = 0
    chunked: bool = False


@dataclass(slots=True, eq=False)
class Pack:
    """One packed forward: the layout of its spans, the slots behind them, and which layers have called.

    `flat` [T] are the rows of the store that take the new keys and values; None in training, where nothing is stored.
    `wanted` are the rows, of `rows` in all, whose hidden states are read; None for all. `merged` [T] is the packed row of
    each token when spans share rows.
    """

    layout: Layout
    rows: int
    store: SlotStore | None = None
    flat: torch.Tensor | None = None
    wanted: torch.Tensor | None = None
    merged: torch.Tensor | None = None
    called: list[int] = field(default_factory=list)

    @classmethod
    def of(
        cls, lengths: Sequence[int] | np.ndarray, width: int, device: torch.device, merged: np.ndarray | None = None
    ) -> Pack:
        """A pack of whole sequences without a store, as the learner uses it; `merged` as for `lay_out`."""
        sizes = np.asarray(lengths, dtype=np.int64)
        rows = int(sizes.sum()) if merged is None else int(merged.max()) + 1
        return cls(lay_out(sizes, width, device, merged=merged), rows)

    @classmethod
    def into(
        cls,
        store: SlotStore,
        lengths: np.ndarray,
        starts: np.ndarray,
        slots: np.ndarray,
        width: int,
        merged: np.ndarray | None = None,
    ) -> tuple[Pack, np.ndarray]:
        """A pack that appends spans of `lengths` [S] at `starts` [S] to `slots` [S], and the positions [T] of its tokens."""
        store.reserve(int(slots.max()) + 1, int((starts + lengths).max()))
        offsets = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        positions = offsets + np.repeat(starts, lengths)
        flat = torch.from_numpy(positions + np.repeat(slots * store.capacity, lengths)).to(store.device)
        layout = lay_out(lengths, width, store.device, starts, slots, merged)
        if merged is None:
            return cls(layout, len(positions), store, flat), positions
        shared = torch.from_numpy(merged).to(store.device)
        return cls(layout, int(merged.max()) + 1, store, flat, merged=shared), positions

    def keep(self, layer: int, key: torch.Tensor, value: torch.Tensor) -> None:
        """Store keys and values [1, heads, rows, dim] of a layer in the slots of their spans."""
        assert self.store is not None
        rows = [x[0].transpose(0, 1) for x in (key, value)]
        if self.merged is not None:
            rows = [x.index_select(0, self.merged) for x in rows]
        self.store.write(layer, self.flat, *rows)


_local = threading.local()


def current() -> Pack | None:
    """The pack that this thread is running, if any."""
    return getattr(_local, "pack", None)


@contextmanager
def use(pack: Pack) -> Iterator[None]:
    """Make `pack` the pack of this thread, for classes that do not hand keywords down to their attention."""
    before = current()
    _local.pack = pack
    try:
        yield
    finally:
        _local.pack = before


class _Spread(torch.autograd.Function):
    """Rows to places: a gather whose gradient is a gather too, because padding never carries gradient.

    Where a row stands at several places, its gradient is the sum over them.
    """

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, layout: Layout) -> torch.Tensor:
        ctx.layout, ctx.count = layout, x.shape[0]
        return x.index_select(0, layout.rows)  # pyrefly: ignore

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        grad, layout = grads[0], ctx.layout
        if not layout.merged:
            return grad.index_select(0, layout.places), None
        flat = grad.reshape(grad.shape[0], -1)
        total = flat.new_zeros(ctx.count, flat.shape[1]).index_add_(0, layout.rows, flat)
        return total.unflatten(1, grad.shape[1:]), None


class _Collect(torch.autograd.Function):
    """Places to rows, dropping the padding and all but one place of each row."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, layout: Layout) -> torch.Tensor:
        ctx.layout, ctx.count = layout, x.shape[0]
        return x.index_select(0, layout.places)  # pyrefly: ignore

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        layout = ctx.layout
        if layout.merged:
            return grads[0].new_zeros(ctx.count, *grads[0].shape[1:]).index_copy_(0, layout.places, grads[0]), None
        grad = grads[0].index_select(0, layout.rows)
        if layout.pads is not None:
            grad.index_fill_(0, layout.pads, 0)
        return grad, None


def _places(x: torch.Tensor, layout: Layout) -> torch.Tensor:
    rows = x[0].transpose(0, 1)  # [T, heads, dim]
    if layout.rows is None:
        return rows
    if rows.requires_grad:
        return _Spread.apply(rows, layout)  # pyrefly: ignore
    return rows.index_select(0, layout.rows)


def slot_mask(**given: Any) -> Local:
    """The registered mask function: no tensor, only what a layer may see.

    Raises:
        UnsupportedModel: the model overlays a mask of its own.
    """
    config = given["config"]
    if given.get("use_vmap"):
        raise UnsupportedModel(f"{config.model_type} overlays its own mask on causal attention; slot attention cannot")
    size = given.get("local_size") or 0
    chunked = size > 0 and size == getattr(config, "attention_chunk_size", None)
    chunked = chunked and "chunked_attention" in (getattr(config, "layer_types", None) or ())
    return Local(int(size), bool(chunked))


def slot_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Any,
    **given: Any,
) -> tuple[torch.Tensor, None]:
    """The registered attention function: query [1, H, T, D], key and value [1, KV, T, D] to output [1, T, H, D].

    Raises:
        UnsupportedModel: the model asks for something that this function does not do.
    """
    pack = given.pop(PASSED, None) or current()
    if pack is None:
        raise UnsupportedModel("slot attention was called without a pack: run the model through quintain.models")
    options, local = _options(module, attention_mask, given)
    layer = getattr(module, "layer_idx", -1)
    if pack.store is not None and layer in pack.called:  # without a store it is activation checkpointing at work
        raise UnsupportedModel(
            f"{_kind(module)} calls attention twice under layer {layer}; their keys would overwrite each other"
        )
    pack.called.append(layer)
    layout = pack.layout
    if pack.store is not None:
        pack.keep(layer, key, value)
    q = _places(query, layout)
    k, v = (_places(x, layout) for x in (key, value)) if layout.own else (q, q)
    outputs = []
    for lane in layout.lanes:
        mine = q[lane.first : lane.end].unflatten(0, (lane.count, lane.length))
        if lane.slots is None:
            ks, vs = (x[lane.first : lane.end].unflatten(0, (lane.count, lane.length)) for x in (k, v))
        else:
            assert pack.store is not None
            ks, vs = pack.store.read(layer, lane.slots, lane.keys)
        out = attend(mine, ks, vs, lane.mask(local.size, local.chunked, query), options)
        outputs.append(out.flatten(0, 1))
    joined = outputs[0] if len(outputs) == 1 else torch.cat(outputs)
    if layout.places is not None:
        joined = _Collect.apply(joined, layout) if joined.requires_grad else joined.index_select(0, layout.places)
    return joined.unsqueeze(0), None


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """What changes the arithmetic of attention: scale of the scores, soft-cap, sink logits [H], dropout probability."""

    scale: float | None = None
    softcap: float | None = None
    sinks: torch.Tensor | None = None
    dropout: float = 0.0


def _kind(module: torch.nn.Module) -> str:
    return getattr(getattr(module, "config", None), "model_type", type(module).__name__)


def _options(module: torch.nn.Module, mask: Any, given: dict[str, Any]) -> tuple[Options, Local]:
    window = given.pop("sliding_window", None)
    local = mask if isinstance(mask, Local) else Local(int(window or 0))
    if mask is not None and mask is not local:
        raise UnsupportedModel(f"{_kind(module)} hands a mask of its own ({type(mask).__name__}) to attention")
    options = Options(
        given.pop("scaling", None),
        given.pop("softcap", None),
        given.pop("s_aux", None),
        float(given.pop("dropout", 0) or 0),
    )
    if given.pop("is_causal", True) is False or getattr(module, "is_causal", True) is False:
        raise UnsupportedModel(f"{_kind(module)} asks for attention that is not causal")
    for name, wanted in given.items():
        if wanted is not None and wanted is not False and name not in _HARMLESS:
            raise UnsupportedModel(f"{_kind(module)} hands {name}= to attention, and slot attention does not know it")
    return options, local


def attend(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, options: Options
) -> torch.Tensor:
    """Attention of one lane: query [B, L, H, D] over key and value [B, K, KV, D] to [B, L, H, D].

    `mask` [B or 1, 1, L, K] is added to the scores; None means causal with L = K. Soft-cap and sinks take plain
    products, everything else goes to `scaled_dot_product_attention`.
    """
    q, k, v = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
    if options.softcap is not None or options.sinks is not None:
        return _explicit(q, k, v, mask, options).transpose(1, 2)
    groups = q.shape[1] // k.shape[1]
    if groups > 1 and query.shape[1] == 1 and mask is not None:  # decode: the heads of a group become its queries
        folded = q.unflatten(1, (k.shape[1], groups)).squeeze(3)
        out = F.scaled_dot_product_attention(
            folded, k, v, attn_mask=mask, dropout_p=options.dropout, scale=options.scale
        )
        return out.flatten(1, 2).unsqueeze(1)
    call = partial(
        F.scaled_dot_product_attention,
        attn_mask=mask,
        dropout_p=options.dropout,
        is_causal=mask is None and query.shape[1] > 1,
        scale=options.scale,
        enable_gqa=groups > 1,
    )
    return in_order(call, q, k, v).transpose(1, 2)


def _explicit(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None, options: Options
) -> torch.Tensor:
    groups = q.shape[1] // k.shape[1]
    q = q.unflatten(1, (k.shape[1], groups))  # [B, KV, G, L, D]
    scale = q.shape[-1] ** -0.5 if options.scale is None else options.scale
    scores = torch.matmul(q, k.unsqueeze(2).transpose(-1, -2)) * scale
    if options.softcap is not None:
        scores = options.softcap * torch.tanh(scores / options.softcap)
    if mask is None:
        mask = Lane(0, 1, q.shape[3], k.shape[2], starts=torch.zeros(1, dtype=torch.int64, device=q.device)).mask(
            0, False, q
        )
    assert mask is not None
    scores = scores + mask.unsqueeze(1)
    if options.sinks is None:
        weights = torch.softmax(scores, dim=-1, dtype=torch.float32)
    else:
        sinks = options.sinks.reshape(1, k.shape[1], groups, 1, 1).expand(*scores.shape[:-1], 1)
        weights = torch.softmax(torch.cat([scores, sinks.to(scores.dtype)], dim=-1), dim=-1, dtype=torch.float32)[
            ..., :-1
        ]
    weights = F.dropout(weights.to(q.dtype), options.dropout, training=options.dropout > 0)
    return torch.matmul(weights, v.unsqueeze(2)).flatten(1, 2)


def register_attention() -> None:
    """Tell transformers about `slot`; calling it again changes nothing."""
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(NAME, slot_attention)
    AttentionMaskInterface.register(NAME, slot_mask)
