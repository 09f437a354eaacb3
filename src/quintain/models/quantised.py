"""Products in FP8, emulated: the linear layers of a model round what they multiply to 8 bits (e4m3), scaled block by block.

Weights stay in their own dtype, so that checkpoints, publishing and the optimizer see no difference, and gradients pass the
rounding as if it were not there. Engine and learner that are both quantised compute the same function of the same weights.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from quintain.models.routing import routers
from quintain.types import QuintainError

BLOCK = 128  # values that share a scale: along a row of the input, along both sides of a weight
E4M3 = torch.float8_e4m3fn
LARGEST = torch.finfo(E4M3).max  # 448


class QuantiseError(QuintainError):
    """A model has no linear layers that can be quantised, or products that are none."""


def rounded(x: torch.Tensor, rows: int = 1, columns: int = BLOCK) -> torch.Tensor:
    """A matrix [R, C] in e4m3, with one scale (fp32) for each block of `rows` x `columns`, in its own dtype; differentiable as if equal.

    Special cases: a block of zeros stays zero; a value that is not finite makes its block not finite.

    Example:
        >>> rounded(torch.tensor([[448.0, 1.03, -0.001]])).tolist()
        [[448.0, 1.0, -0.001953125]]
    """
    high, wide = x.shape
    blocks = F.pad(x.detach().float(), (0, -wide % columns, 0, -high % rows))
    blocks = blocks.unflatten(1, (-1, columns)).unflatten(0, (-1, rows))  # [R / rows, rows, C / columns, columns]
    scale = blocks.abs().amax((1, 3), keepdim=True) / LARGEST
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)
    near = ((blocks / scale).to(E4M3).float() * scale).to(x.dtype).flatten(2, 3).flatten(0, 1)[:high, :wide]
    return x + (near - x).detach()


class _Fp8Linear(nn.Linear):
    """A linear layer whose input and weight are rounded before they are multiplied."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The product of the rounded input [..., in] and weight [out, in], and the bias as it is."""
        flat = rounded(input.reshape(-1, input.shape[-1])).reshape(input.shape)
        return F.linear(flat, rounded(self.weight, BLOCK), self.bias)


def quantise(model: nn.Module) -> nn.Module:
    """Have every linear layer of the model's blocks compute in FP8; the head, embeddings and norms stay as they are.

    When to use: to train what an engine that computes in FP8 will play (Jet-RL), or to see what such an engine does to a learner
    that does not.

    Args:
        model: of `build_model` or `load_model`; it is changed in place. Low-rank factors are added afterwards.

    Returns:
        The model. Names of weights do not change; a model that is quantised already stays as it is.

    Raises:
        QuantiseError: no linear layer was found, or the model has experts, whose products are not linear layers.

    Example:
        >>> from quintain.models import build_model
        >>> model = quantise(build_model("qwen3", seed=0, vocab=8, hidden=8, layers=1, heads=1, ffn=8))
        >>> type(model.model.layers[0].mlp.up_proj).__name__, type(model.lm_head).__name__
        ('_Fp8Linear', 'Linear')

    Reference: Jet-RL, 2026, arXiv 2601.14243. Differs from the paper: products are emulated in the dtype of the weights, and
    gradients are not rounded; blocks of 1 x 128 and 128 x 128 are a guess at its granularity.
    """
    if routers(model):
        raise QuantiseError(
            "learner.precision is fp8 and the model has experts; choose another precision, or a dense model"
        )
    head = getattr(model, "lm_head", None)
    layers = [m for m in model.modules() if type(m) in (nn.Linear, _Fp8Linear) and m is not head]
    if not layers:
        raise QuantiseError(f"{type(model).__name__} has no linear layers to compute in FP8; choose another precision")
    for layer in layers:
        layer.__class__ = _Fp8Linear
    return model
