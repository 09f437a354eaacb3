"""Gradients in one flat buffer per dtype: to clear, sum over ranks, measure or clip them is one operation."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from quintain.learn.ranks import Ranks


class Gradients:
    """The `.grad` of every parameter as a view into flat buffers, which backward adds to in place.

    Args:
        parameters: the trainable parameters, each once.
    """

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self._parameters = list(parameters)
        kinds: dict[tuple[torch.dtype, torch.device], list[nn.Parameter]] = {}
        for p in parameters:
            kinds.setdefault((p.dtype, p.device), []).append(p)
        self._flat: list[torch.Tensor] = []
        self._views: list[tuple[nn.Parameter, torch.Tensor]] = []
        for (dtype, device), members in kinds.items():
            flat = torch.zeros(sum(p.numel() for p in members), dtype=dtype, device=device)
            self._flat.append(flat)
            pieces = flat.split([p.numel() for p in members])
            self._views += [(p, piece.view(p.shape)) for p, piece in zip(members, pieces, strict=True)]

    def clear(self) -> None:
        """Set every gradient to 0, and (again) as this buffer's view."""
        for flat in self._flat:
            flat.zero_()
        for parameter, view in self._views:
            if parameter.grad is not view:
                parameter.grad = view

    def sum(self, ranks: Ranks) -> None:
        """Add up over ranks."""
        for flat in self._flat:
            ranks.sum_(flat)

    def scale(self, factor: float) -> None:
        """Multiply every gradient."""
        if factor != 1.0:
            for flat in self._flat:
                flat.mul_(factor)

    def norm(self) -> float:
        """The Euclidean norm of all gradients together; NaN or infinite if one of them is."""
        squares = [torch.linalg.vector_norm(flat, dtype=torch.float64).square() for flat in self._flat]
        return float(torch.stack(squares).sum().sqrt()) if squares else 0.0

    def __len__(self) -> int:
        return sum(flat.numel() for flat in self._flat)
