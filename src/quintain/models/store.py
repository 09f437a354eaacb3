"""Keys and values of many sequences: one slot each, token after token, for every layer of a model."""

from __future__ import annotations

import torch

FIRST_CAPACITY = 64  # tokens that a slot holds at first; doubled when a sequence outgrows it
FIRST_SLOTS = 16  # slots that exist at first; doubled when more sequences come


class SlotStore:
    """Keys and values [slots, capacity, heads, dim] per layer, made at the first write from what the model hands over.

    All calls happen under `torch.inference_mode()`: tensors made there can be written only there. Memory is
    layers * slots * capacity * heads * dim * 2 numbers; slots and capacity double as they are needed.

    Args:
        device: where the tensors live.
        slots: how many sequences are held at most.
        limit: tokens of the longest sequence that can be held.
    """

    def __init__(self, device: torch.device, slots: int, limit: int) -> None:
        self.device = device
        self.limit = (slots, limit)
        self.slots = min(FIRST_SLOTS, slots)
        self.capacity = min(FIRST_CAPACITY, limit)
        self._layers: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def reserve(self, slots: int, tokens: int) -> None:
        """Make room for `slots` sequences of `tokens` tokens each."""
        assert slots <= self.limit[0] and tokens <= self.limit[1], (slots, tokens, self.limit)
        if slots <= self.slots and tokens <= self.capacity:
            return
        old = (self.slots, self.capacity)
        if slots > self.slots:
            self.slots = min(self.limit[0], max(slots, 2 * self.slots))
        if tokens > self.capacity:
            self.capacity = min(self.limit[1], max(tokens, 2 * self.capacity))
        for layer, pair in self._layers.items():
            grown = [x.new_zeros(self.slots, self.capacity, *x.shape[2:]) for x in pair]
            for new, held in zip(grown, pair, strict=True):
                new[: old[0], : old[1]] = held
            self._layers[layer] = (grown[0], grown[1])

    def write(self, layer: int, flat: torch.Tensor | None, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Put keys and values [T, heads, dim] at the rows `flat` [T] = slot * capacity + position of a layer."""
        if layer not in self._layers:
            shape = (self.slots, self.capacity)
            # zeros: what padding reads is masked with -inf, and 0 * nan would still be nan
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
        """Copy the first `tokens` tokens of `sources` [B] over those of `targets` [B], all at once: swaps work."""
        for pair in self._layers.values():
            for held in pair:
                held[targets, :tokens] = held[sources, :tokens]

    @property
    def bytes(self) -> int:
        """Memory held now."""
        return sum(x.numel() * x.element_size() for pair in self._layers.values() for x in pair)
