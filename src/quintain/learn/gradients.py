"""Gradients in one flat buffer per dtype: to clear, sum over ranks, measure or clip them is one operation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from quintain.learn.optim import Weight
from quintain.learn.ranks import Ranks

# Coordinates of a gradient that are compared with those before: good to 1 %, and 64 KiB of a checkpoint.
LOOKED_AT = 1 << 13


class Gradients:
    """The `.grad` of every parameter as a view into flat buffers, which backward adds to in place.

    Of weights that are sharded over ranks, backward leaves this rank's part, summed already.

    Args:
        weights: the trainable weights, each once.
        ranks: those that share every step.
    """

    def __init__(self, weights: Sequence[Weight], ranks: Ranks) -> None:
        self._ranks = ranks
        self._sharded = [w for w in weights if w.whole is not None]
        kinds: dict[tuple[torch.dtype, torch.device], list[nn.Parameter]] = {}
        for w in weights:
            if w.whole is None:
                kinds.setdefault((w.value.dtype, w.value.device), []).append(w.value)
        self._flat: list[torch.Tensor] = []
        self._views: list[tuple[nn.Parameter, torch.Tensor]] = []
        self._before: list[torch.Tensor] = []
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
        for weight in self._sharded:
            assert weight.whole is not None
            weight.whole.clear()

    def sum(self) -> None:
        """Add up over ranks."""
        for flat in self._flat:
            self._ranks.sum_(flat)
        for weight in self._sharded:
            assert weight.whole is not None
            weight.value.grad = weight.whole.gradient()

    def scale(self, factor: float) -> None:
        """Multiply every gradient."""
        if factor != 1.0:
            for part in self._parts():
                part.mul_(factor)

    def norm(self) -> float:
        """The Euclidean norm of all gradients together; NaN or infinite if one of them is."""
        squares = [_square(flat) for flat in self._flat]
        whole = float(torch.stack(squares).sum()) if squares else 0.0
        if self._sharded:
            mine = [_square(w.value.grad) for w in self._sharded if w.value.grad is not None]
            whole += self._ranks.sums({"squares": float(sum(mine))})["squares"]
        return math.sqrt(whole) if whole >= 0 else whole

    def cosine(self) -> float | None:
        """The cosine between these gradients and those of the last call, over some 8,000 evenly spaced coordinates.

        Special cases: None at the first call, and where either is 0; a sharded weight without a gradient counts as 0.
        """
        stride = max(1, len(self) // LOOKED_AT)
        now = [_spaced(self._flat, stride), _spaced([_own_gradient(w) for w in self._sharded], stride)]
        before, self._before = self._before, now
        if not before:
            return None
        dots = [torch.stack([a @ b, a @ a, b @ b]) for a, b in zip(now, before, strict=True)]
        parts = self._ranks.sums({"dots": dots[1]})["dots"] if self._sharded else dots[1]  # each rank holds its own
        both, mine, other = (dots[0] + parts).tolist()
        return both / math.sqrt(mine * other) if mine * other > 0 else None

    def remembered(self) -> np.ndarray:
        """What the next `cosine` compares with, for a checkpoint. Empty for sharded weights: each rank has seen its own part."""
        return np.zeros(0) if self._sharded or not self._before else self._before[0].numpy()

    def remember(self, before: np.ndarray) -> None:
        """Go on from what `remembered` gave, if it is of these weights; else as at the first call."""
        stride = max(1, len(self) // LOOKED_AT)
        fits = not self._sharded and len(before) == sum(-(-flat.numel() // stride) for flat in self._flat)
        self._before = [torch.from_numpy(before.copy()), torch.zeros(0, dtype=torch.float64)] if fits else []

    def _parts(self) -> list[torch.Tensor]:
        return [*self._flat, *(w.value.grad for w in self._sharded if w.value.grad is not None)]

    def __len__(self) -> int:
        return sum(flat.numel() for flat in self._flat) + sum(w.value.numel() for w in self._sharded)


def _square(tensor: torch.Tensor) -> torch.Tensor:
    return torch.linalg.vector_norm(tensor, dtype=torch.float64).square()


def _spaced(parts: Sequence[torch.Tensor], stride: int) -> torch.Tensor:
    """Every stride-th number of each part, as a copy on the CPU."""
    empty = torch.zeros(0, dtype=torch.float64)
    return torch.cat([empty, *(part.detach().reshape(-1)[::stride].to("cpu", torch.float64) for part in parts)])


def _own_gradient(weight: Weight) -> torch.Tensor:
    return torch.zeros_like(weight.value) if weight.value.grad is None else weight.value.grad
