"""Merge models that were trained from one base, each by reinforcement learning on its own: RAM and RAM+."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch

from quintain.registry import register, unknown
from quintain.types import QuintainError

Tensors = Mapping[str, torch.Tensor]


class MergeError(QuintainError):
    """Models cannot be merged: other names or shapes than the base's."""


class Overlap(NamedTuple):
    """Per model, how many of its changed coordinates others changed too, and how many it alone changed."""

    shared: list[int]
    unique: list[int]


def contributors(base: torch.Tensor, models: Sequence[torch.Tensor], eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Differences to the base [K, ...] float32 or wider, and which of them count: those beyond `eps`."""
    wide = torch.promote_types(base.dtype, torch.float32)
    deltas = torch.stack([model.to(wide) - base.to(wide) for model in models])
    return deltas, deltas.abs() > eps


def overlap(base: Tensors, models: Sequence[Tensors], eps: float = 1e-5) -> Overlap:
    """Shared and unique coordinates of each model over all tensors."""
    shared, unique = [0] * len(models), [0] * len(models)
    for name, tensor in base.items():
        _, changed = contributors(tensor, [m[name] for m in models], eps)
        alone = changed.sum(0) == 1
        for k, mine in enumerate(changed):
            unique[k] += int((mine & alone).sum())
            shared[k] += int((mine & ~alone).sum())
    return Overlap(shared, unique)


def gains(found: Overlap, factor: float, bound: float) -> list[float]:
    """What each model's own coordinates are multiplied by: `1 + factor min(shared / unique, bound)`.

    A model without a coordinate of its own has the largest gain if it shares any, else 1.
    """
    out = []
    for shared, unique in zip(*found, strict=True):
        share = shared / unique if unique else math.inf if shared else 0.0
        out.append(1 + factor * min(share, bound))
    return out


PLUS = {"none": (0.0, 0.0), "whole": (0.2, 1.0), "tensor": (0.1, 0.2)}


def merge(
    base: Tensors,
    models: Sequence[Tensors],
    eps: float = 1e-5,
    plus: str = "none",
    gain: tuple[float, float] | None = None,
) -> dict[str, torch.Tensor]:
    """One model out of several that were trained from one base: what one changed is kept, what several changed is averaged.

    When to use: agents of one base model trained on different worlds, to be one model again; averages of all coordinates
    dilute sparse updates.

    Args:
        base: tensors by name.
        models: those of the trained models: same names and shapes.
        eps: a coordinate counts as changed beyond this difference.
        plus: `none` (RAM), or RAM+: coordinates that one model alone changed are multiplied by
            `1 + factor min(shared / unique, bound)`, counted over the `whole` model, as released, or in each `tensor`.
        gain: factor and bound; None is (0.2, 1) for `whole` and (0.1, 0.2) for `tensor`.

    Returns:
        The merged tensors, in the base's types.

    Raises:
        MergeError: no model, an unknown `plus`, or names or shapes differ.

    Example:
        >>> zero, one = torch.zeros(2), torch.tensor([1.0, 0.0])
        >>> merge({"w": zero}, [{"w": one}, {"w": 3 * one}])["w"].tolist()
        [2.0, 0.0]

    Reference: RAM and RAM+, read in the authors' code and in mergekit. Differs from the release: no division by zero.
    """
    if not models or plus not in PLUS:
        raise MergeError(f"merge: {len(models)} models and plus={plus!r}; give one at least, and none, whole or tensor")
    for k, model in enumerate(models):
        wrong = [n for n, t in base.items() if n not in model or model[n].shape != t.shape] + [
            n for n in model if n not in base
        ]
        if wrong:
            raise MergeError(
                f"merge: model {k} differs from the base in {wrong[0]!r}; merge models of one architecture"
            )
    factor, bound = gain or PLUS[plus]
    whole = gains(overlap(base, models, eps), factor, bound) if plus == "whole" else [1.0] * len(models)
    out = {}
    for name, tensor in base.items():
        each = [m[name] for m in models]
        deltas, changed = contributors(tensor, each, eps)
        own = whole
        if plus == "tensor":
            own = gains(overlap({name: tensor}, [{name: t} for t in each], eps), factor, bound)
        count = changed.sum(0)
        scale = torch.tensor(own, dtype=deltas.dtype, device=deltas.device).reshape(-1, *[1] * tensor.dim())
        kept = torch.where(changed, torch.where(count == 1, deltas * scale, deltas), 0).sum(0)
        out[name] = (tensor.to(deltas.dtype) + kept / count.clamp(min=1)).to(tensor.dtype)
    return out


@register(
    "merge",
    "ram",
    methods={
        "RAM": {
            "cases": ("ram_merge",),
            "wants": "several models that were trained from one base",
            "shown": "tests/unit/models/test_task_vectors.py::test_what_one_changed_is_kept_and_what_several_changed_is_averaged",
        }
    },
    status="paper",
    confidence="code",
)
def ram(plus: str = "none", eps: float = 1e-5) -> Callable[[Tensors, Sequence[Tensors]], dict[str, torch.Tensor]]:
    """Merge models that were trained from one base: sparse changes are kept, shared ones are averaged (RAM, RAM+).

    Args:
        plus: see `merge`.
        eps: see `merge`.

    Returns:
        `merged(base, models)`, as `merge` gives it.

    Raises:
        MergeError: an unknown `plus`.

    Example:
        >>> zero, one = torch.zeros(1), torch.ones(1)
        >>> ram("whole")({"w": zero}, [{"w": one}, {"w": zero}])["w"].tolist()
        [1.0]
    """
    if plus not in PLUS:
        raise MergeError(unknown("`plus` of ram", plus, PLUS))
    return lambda base, models: merge(base, models, eps, plus)
