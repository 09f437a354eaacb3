"""The value head: one number per state, for critics such as PPO's."""

from __future__ import annotations

import torch
from torch import nn

from quintain.types import check


class ValueHead(nn.Module):
    """V(state) = w . h + b with h [D] the hidden state that predicts a token: the value before that token is drawn.

    It starts at 0 everywhere, so the first advantages of a critic are plain returns.

    Args:
        width: D, the model's hidden size.
        lr: learning rate of its own, > 0.
        detach: keep its gradient out of the model (a critic beside a policy, not in it).
    """

    def __init__(self, width: int, *, lr: float = 1e-3, detach: bool = False) -> None:
        super().__init__()
        check(lr > 0, f"lr of the value head is {lr}; it must be > 0")
        self.lr, self.detach = lr, detach
        self.weight = nn.Parameter(torch.zeros(width))
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Values [M] of states [M, D]."""
        seen = hidden.detach() if self.detach else hidden
        return seen.float() @ self.weight + self.bias
