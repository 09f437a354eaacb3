"""Routing replay: the routers of a mixture of experts choose the experts that they, or an engine, chose before.

Which experts run is then the same in every pass over a token, so that a ratio of probabilities says how the weights moved and not
which expert a rounding error picked. Gate probabilities stay the router's own, and trainable.

Dims: R rows that a router sees, N packed tokens, L routers, k experts a token, E experts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn

from quintain.models.attention import current
from quintain.types import QuintainError


class RoutingError(QuintainError):
    """A router cannot be replayed, or was given experts that do not fit."""


def routers(model: nn.Module) -> list[nn.Module]:
    """The routers of a model, first layer first: modules with a weight [E, hidden] that pick their `top_k` experts."""
    found = [m for m in model.modules() if isinstance(getattr(m, "top_k", None), int)]
    return [m for m in found if isinstance(getattr(m, "weight", None), nn.Parameter)]


@contextmanager
def recorded(model: nn.Module) -> Iterator[list[torch.Tensor]]:
    """What the routers choose, or are made to, meanwhile in this thread: one tensor of ids [R, k] for each pass through each of them.

    Example:
        >>> from quintain.models import build_model, forward_hidden
        >>> model = build_model("mixtral", seed=0, vocab=8, hidden=8, layers=2, heads=1, ffn=8, experts=4)
        >>> with recorded(model) as chosen:
        ...     _ = forward_hidden(model, torch.arange(5), [5])
        >>> [tuple(ids.shape) for ids in chosen]
        [(5, 2), (5, 2)]
    """
    chosen: list[torch.Tensor] = []

    def note(module: nn.Module, given: Any, out: Any) -> None:
        chosen.append(_parts(module, out)[2].detach())

    with _hooked(routers(model), [note] * len(routers(model))):
        yield chosen


@contextmanager
def replayed(model: nn.Module, experts: torch.Tensor) -> Iterator[None]:
    """Have the routers choose the given experts meanwhile in this thread.

    A token's gate is the router's own softmax at those experts, renormalised where the router does that, with gradient.

    Args:
        model: with routers; packed tokens must not be merged (give `forward_hidden` positions).
        experts: ids [N, L, k] for the tokens of the pack; a row of the last layer that is not wanted is passed over. An id
            below 0 leaves the token's choice in that layer to the router.

    Raises:
        RoutingError: no router, another shape, an id that is no expert, or a router that weighs in another way.
    """
    found = routers(model)
    if experts.ndim != 3 or experts.shape[1] != len(found) or not found:
        raise RoutingError(
            f"experts have the shape {tuple(experts.shape)} and the model has {len(found)} routers; give ids [tokens, routers, "
            "experts a token] to a model with routers"
        )
    with _hooked(found, [partial(_swap, experts=experts[:, layer]) for layer in range(len(found))], first=True):
        yield


@contextmanager
def _hooked(modules: list[nn.Module], hooks: list[Callable[..., Any]], *, first: bool = False) -> Iterator[None]:
    here = threading.get_ident()  # an engine may run the same modules in another thread

    def guarded(hook: Callable[..., Any], module: nn.Module, given: Any, out: Any) -> Any:
        return hook(module, given, out) if threading.get_ident() == here else None

    with ExitStack() as stack:
        for module, hook in zip(modules, hooks, strict=True):
            stack.callback(module.register_forward_hook(partial(guarded, hook), prepend=first).remove)
        yield


def _parts(module: nn.Module, out: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Logits [R, E], gates [R, k] and ids [R, k] that a router returned."""
    if not isinstance(out, tuple) or len(out) != 3 or out[1].shape != out[2].shape:
        raise RoutingError(
            f"{type(module).__name__} does not return logits, gates and ids of experts; its routing cannot be replayed"
        )
    return out


def _swap(module: nn.Module, given: Any, out: Any, *, experts: torch.Tensor) -> tuple[torch.Tensor, ...]:
    logits, gates, own = _parts(module, out)
    pack = current()
    if len(experts) != len(own) and pack is not None and pack.wanted is not None:
        experts = experts.index_select(0, pack.wanted)
    if experts.shape != own.shape or bool((experts >= logits.shape[-1]).any()):
        raise RoutingError(
            f"{type(module).__name__} chose {tuple(own.shape)} of {logits.shape[-1]} experts and was given ids of the shape "
            f"{tuple(experts.shape)}, up to {int(experts.max()) if experts.numel() else -1}; replay what the same model chose "
            "for the same tokens"
        )
    ids = torch.where((experts < 0).any(-1, keepdim=True), own, experts)
    probabilities = logits.float().softmax(-1)
    picked = probabilities.gather(-1, ids)
    with torch.no_grad():
        before = probabilities.gather(-1, own)
        gaps = [float((gates - form).abs().sum()) for form in (before, before / before.sum(-1, keepdim=True))]
    if not min(gaps) <= 0.01 * max(1, own.numel()):
        raise RoutingError(
            f"{type(module).__name__} does not weigh experts by a softmax; its routing cannot be replayed"
        )
    shared = gaps[1] < gaps[0]
    return logits, (picked / picked.sum(-1, keepdim=True) if shared else picked).to(gates.dtype), ids
