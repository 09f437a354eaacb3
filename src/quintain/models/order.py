"""In which order sums are made: gradients of attention in a set one where torch was asked for that, and the mode given back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch


class _Ordered(torch.autograd.Function):
    """The tensors as they are. Its backward pass turns strict order on, where `strict`, and goes back to what was held before."""

    @staticmethod
    def forward(ctx: Any, held: list[tuple[bool, bool]], strict: bool, *tensors: torch.Tensor) -> Any:
        ctx.held, ctx.strict = held, strict
        ctx.set_materialize_grads(False)
        return tuple(x.view_as(x) for x in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor | None) -> tuple[Any, ...]:
        if ctx.strict:
            ctx.held.append(_mode())
            torch.use_deterministic_algorithms(True)
        else:
            _set_mode(*ctx.held.pop())
        return None, None, *grads


def _mode() -> tuple[bool, bool]:
    return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()


def _set_mode(on: bool, warn_only: bool) -> None:
    torch.use_deterministic_algorithms(on, warn_only=warn_only)


@contextmanager
def mode_kept() -> Iterator[None]:
    """How torch orders sums is the same after a backward pass as before it, also one that failed."""
    before = _mode()
    try:
        yield
    finally:
        _set_mode(*before)


def _may_reorder(x: torch.Tensor) -> bool:
    """Whether kernels of attention may add up gradients in any order where they were asked not to: those of a GPU do."""
    return x.is_cuda and torch.are_deterministic_algorithms_enabled()


def in_order(call: Callable[..., torch.Tensor], *tensors: torch.Tensor) -> torch.Tensor:
    """What `call` makes of query, key and value, with gradients that are summed in a set order where torch was asked for that.

    Kernels of attention keep an order only where torch is told to refuse every kernel that cannot, which is more than others can keep.
    """
    trained = [x for x in tensors if x.requires_grad]
    if not trained or not _may_reorder(tensors[0]):
        return call(*tensors)
    held: list[tuple[bool, bool]] = []
    through = iter(_Ordered.apply(held, False, *trained))  # pyrefly: ignore
    out = call(*(next(through) if x.requires_grad else x for x in tensors))
    return _Ordered.apply(held, True, out)[0]  # pyrefly: ignore
