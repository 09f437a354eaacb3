"""Keys and values of many sequences: one slot each, token after token, for every layer of a model."""

from __future__ import annotations

import torch

FIRST_CAPACITY = 64  # tokens that a slot holds at first; doubled when a sequence outgrows it


class SlotStore:
    """Keys and values [slots, capacity, heads, dim] per layer, made at the first write from what the model hands over.

    All calls happen under `torch.inference_mode()`: tensors made there can be written only there. Memory is
    layers * slots * capacity * heads * dim * 2 numbers; capacity doubles up to `limit` as sequences grow.

    Args:
        device: where the tensors live.
        slots: how many sequences are held at most.
        limit: tokens of the longest sequence that can be held.
    """

    def __init__(self, device: torch.device, slots: int, limit: int) -> None:
        self.device = device
        self.slots = slots
        self.limit = limit
        self.capacity = min(FIRST_CAPACITY, limit)
        self._layers: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def reserve(self, slots: int, tokens: int) -> None:
        """Make room for `tokens` tokens in each slot (`slots` of them are in use)."""
        assert slots <= self.slots and tokens <= self.limit
        if tokens <= self.capacity:
            return
        old, self.capacity = self.capacity, min(self.limit, max(tokens, 2 * self.capacity))
        for layer, pair in self._layers.items():
            keys, values = (x.new_empty(x.shape[0], self.capacity, *x.shape[2:]) for x in pair)
            keys[:, :old], values[:, :old] = pair
            keys[:, old:], values[:, old:] = 0, 0
            self._layers[layer] = (keys, values)

    def write(self, layer: int, flat: torch.Tensor | None, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Put keys and values [T, heads, dim] at the rows `flat` [T] = slot * capacity + position of a layer."""
        if layer not in self._layers:
            shape = (self.slots, self.capacity)
            # zeros: padding is read before it is masked, and 0 * nan is nan
            self._layers[layer] = (keys.new_zeros(*shape, *keys.shape[1:]), values.new_zeros(*shape, *values.shape[1:]))
        for held, new in zip(self._layers[layer], (keys, values), strict=True):
            held.view(-1, *held.shape[2:]).index_copy_(0, flat, new)  # pyrefly: ignore

    def read(self, layer: int, slots: slice | torch.Tensor, tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The first `tokens` keys and values of some slots [B, tokens, heads, dim]; no copy for a slice."""
        keys, values = (x[:, :tokens] for x in self._layers[layer])
        if isinstance(slots, slice):
            return keys[slots], values[slots]
        return keys.index_select(0, slots), values.index_select(0, slots)

    def move(self, sources: torch.Tensor, targets: torch.Tensor, tokens: int) -> None:
        """Copy the first `tokens` tokens of slots `sources` [B] over slots `targets` [B], all at once (so swaps work)."""
        for pair in self._layers.values():
            for held in pair:
                held[targets, :tokens] = held[sources, :tokens]

    @property
    def bytes(self) -> int:
        """Memory held now."""
        return sum(x.numel() * x.element_size() for pair in self._layers.values() for x in pair)
