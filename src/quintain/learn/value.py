"""The value head: one number per state, for critics such as PPO's."""

from __future__ import annotations

import math

import torch
from torch import nn

from quintain.types import check


def soft_min(values: torch.Tensor, softness: float = 0.3) -> torch.Tensor:
    """The soft minimum over the last axis, `-s (logsumexp(-V / s) - log n)`: between the least value and the mean.

    Example:
        >>> soft_min(torch.tensor([[1.0, 1.0]])).tolist()
        [1.0]
    """
    return -softness * (torch.logsumexp(-values / softness, -1) - math.log(values.shape[-1]))


class ValueHead(nn.Module):
    """V(state) = w . h + b with h [D] the hidden state that predicts a token: the value before that token is drawn.

    It starts at 0 everywhere, so the first advantages of a critic are plain returns. Of two heads the soft minimum counts (SAFE): the
    second one starts at small numbers of its own, or both would stay equal.

    Args:
        width: D, the model's hidden size.
        lr: learning rate of its own, > 0.
        detach: keep its gradient out of the model (a critic beside a policy, not in it).
        heads: 1, or 2.
        softness: of the minimum of two heads, > 0.
    """

    def __init__(
        self, width: int, *, lr: float = 1e-3, detach: bool = False, heads: int = 1, softness: float = 0.3
    ) -> None:
        super().__init__()
        check(lr > 0 and softness > 0, f"lr of the value head is {lr} and softness {softness}; both must be > 0")
        check(heads in (1, 2), f"the value head has {heads} heads; it may have 1 or 2")
        self.lr, self.detach, self.heads, self.softness = lr, detach, heads, softness
        shape = (width,) if heads == 1 else (heads, width)
        self.weight = nn.Parameter(torch.zeros(shape))
        self.bias = nn.Parameter(torch.zeros(shape[:-1]))
        if heads == 2:
            dice = torch.Generator().manual_seed(0)
            self.weight.data[1] = 0.01 * torch.randn(width, generator=dice) / math.sqrt(width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Values [M] of states [M, D]."""
        seen = (hidden.detach() if self.detach else hidden).float()
        if self.heads == 1:
            return seen @ self.weight + self.bias
        return soft_min(seen @ self.weight.T + self.bias, self.softness)


def value_head(width: int, needs: frozenset[str], lr: float = 1e-3) -> ValueHead | None:
    """The value head that an algorithm's needs ask for, if they do."""
    if not needs & {"value", "values", "twin_values"}:
        return None
    return ValueHead(width, lr=lr, heads=2 if "twin_values" in needs else 1)
