"""Optimizers as registered recipes, and learning-rate schedules that count steps, never seconds.

`muon(...)` orthogonalises the updates of 2-D block weights, all of one shape in one batched product, and gives the
rest to AdamW; `adamw(...)` gives it everything. Both carry explicit state as named tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import nn

from quintain.registry import register
from quintain.types import QuintainError

Schedule = Callable[[int], float]  # step (0, 1, ...) -> factor of the learning rate
COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the quintic whose iteration sends singular values near 1
ROUNDS = 5
TINY = 1e-7


class OptimizerError(QuintainError):
    """Optimizer options or a loaded state do not fit."""


def _checked(warmup: int, steps: int, floor: float) -> None:
    if warmup < 0 or steps < 0 or not 0 <= floor <= 1:
        raise OptimizerError(f"schedule: warmup {warmup} and steps {steps} must be >= 0, floor {floor} in [0, 1]")


def _rise(step: int, warmup: int) -> float:
    return min(1.0, (step + 1) / warmup) if warmup else 1.0


@register("schedule", "constant")
def constant(steps: int = 0, warmup: int = 0, floor: float = 1.0) -> Schedule:
    """The full learning rate after `warmup` steps of linear rise; `steps` and `floor` are accepted and change nothing.

    Example:
        >>> [constant(warmup=2)(step) for step in range(3)]
        [0.5, 1.0, 1.0]
    """
    _checked(warmup, steps, floor)
    return lambda step: _rise(step, warmup)


@register("schedule", "linear")
def linear(steps: int, warmup: int = 0, floor: float = 0.0) -> Schedule:
    """Linear rise over `warmup` steps, then linear fall to `floor` at `steps`, and `floor` from there on.

    Example:
        >>> [round(linear(4, floor=0.2)(step), 3) for step in (0, 2, 4, 9)]
        [1.0, 0.6, 0.2, 0.2]
    """
    _checked(warmup, steps, floor)
    return lambda step: _rise(step, warmup) * (1 - (1 - floor) * _done(step, warmup, steps))


@register("schedule", "cosine")
def cosine(steps: int, warmup: int = 0, floor: float = 0.0) -> Schedule:
    """Linear rise over `warmup` steps, then half a cosine down to `floor` at `steps`, and `floor` from there on."""
    _checked(warmup, steps, floor)

    def factor(step: int) -> float:
        fall = 0.5 * (1 + math.cos(math.pi * _done(step, warmup, steps)))
        return _rise(step, warmup) * (floor + (1 - floor) * fall)

    return factor


def _done(step: int, warmup: int, steps: int) -> float:
    return min(1.0, max(0.0, (step - warmup) / max(1, steps - warmup)))


class Whole(Protocol):
    """What a rank knows of a weight of which it holds a part."""

    shape: tuple[int, ...]

    def gather(self, part: torch.Tensor) -> torch.Tensor:
        """The whole of which every rank has a part; all ranks at the same time."""
        ...

    def mine(self, whole: torch.Tensor) -> torch.Tensor:
        """This rank's part."""
        ...

    def gradient(self) -> torch.Tensor | None:
        """This rank's part of the gradient summed over ranks, if there is one."""
        ...

    def clear(self) -> None:
        """Drop the gradient."""
        ...


class Weight(NamedTuple):
    """A parameter for the optimizer: name, whether it is a matrix inside a block, a learning rate of its own.

    Where ranks hold a part of it each, `value` is this rank's part and `whole` knows the rest.
    """

    name: str
    value: nn.Parameter
    block: bool = False
    lr: float | None = None
    whole: Whole | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole weight."""
        return tuple(self.value.shape) if self.whole is None else self.whole.shape


class Optimizer(Protocol):
    """Steps parameters from their `.grad`; its state is a mapping of named tensors."""

    def step(self, factor: float) -> None:
        """Take one step with every learning rate multiplied by `factor`."""
        ...

    def state(self) -> dict[str, torch.Tensor]:
        """The state by name, empty before the first step."""
        ...

    def load(self, state: Mapping[str, torch.Tensor]) -> None:
        """Continue from `state()`."""
        ...


class Recipe(NamedTuple):
    """How to make an optimizer for given weights, its peak learning rate, and the schedule over steps."""

    make: Callable[[Sequence[Weight]], Optimizer]
    lr: float
    schedule: Schedule


@register("optimizer", "adamw", paper="1711.05101")
def adamw(
    lr: float,
    *,
    weight_decay: float = 0.0,
    betas: tuple[float, float] = (0.9, 0.95),
    eps: float = 1e-8,
    schedule: Schedule | None = None,
) -> Recipe:
    """AdamW for every weight, in torch's fused form.

    Args:
        lr: peak learning rate, > 0.
        weight_decay: decoupled, times the learning rate; norms, biases and embeddings get none.
        betas: decay of the two moments, each in [0, 1).
        eps: added to the root of the second moment.
        schedule: factor of the learning rate by step; None is constant.
    """
    _positive(lr, weight_decay)
    options = (lr, weight_decay, tuple(betas), eps)
    return Recipe(lambda weights: AdamW(weights, *options), lr, schedule or constant())


@register("optimizer", "muon", paper="2502.16982")
def muon(
    lr: float,
    *,
    rest_lr: float | None = None,
    momentum: float = 0.95,
    weight_decay: float = 0.0,
    betas: tuple[float, float] = (0.9, 0.95),
    schedule: Schedule | None = None,
) -> Recipe:
    """Muon for 2-D block weights, AdamW for embeddings, head, norms and biases.

    With gradient G [m, n]: B = momentum B + (1 - momentum) G; U = NewtonSchulz(momentum B + (1 - momentum) G), a
    matrix with G's singular vectors and singular values near 1; W = W - lr weight_decay W - 0.2 sqrt(max(m, n)) lr U,
    which gives U the size of an AdamW update, so both optimizers share learning rates.

    Args:
        lr: peak learning rate, > 0.
        rest_lr: that of AdamW; None takes `lr`.
        momentum: in [0, 1).
        weight_decay: decoupled, on block weights only.
        betas: AdamW's.
        schedule: factor of both learning rates by step; None is constant.

    Differs from the paper: the moving average has weight 1 - momentum on the gradient, as in torch.optim.Muon, with
    whose `match_rms_adamw` this agrees; U does not depend on that scale.
    """
    _positive(lr, weight_decay)
    if not 0 <= momentum < 1:
        raise OptimizerError(f"momentum is {momentum}; it must lie in [0, 1)")
    rest = (lr if rest_lr is None else rest_lr, 0.0, tuple(betas), 1e-8)

    def make(weights: Sequence[Weight]) -> Optimizer:
        blocks = [w for w in weights if w.block and w.lr is None]
        others = [w for w in weights if not w.block or w.lr is not None]
        return _Both(Muon(blocks, lr, momentum, weight_decay), AdamW(others, *rest))

    return Recipe(make, lr, schedule or constant())


def _positive(lr: float, weight_decay: float) -> None:
    if not lr > 0 or weight_decay < 0:
        raise OptimizerError(f"lr is {lr} and weight_decay is {weight_decay}; they must be > 0 and >= 0")


class AdamW:
    """torch's fused AdamW behind named state."""

    def __init__(
        self, weights: Sequence[Weight], lr: float, weight_decay: float, betas: tuple[float, float], eps: float
    ) -> None:
        self._weights = list(weights)
        groups: dict[tuple[float, float], list[nn.Parameter]] = {}
        for w in weights:
            groups.setdefault((w.lr or lr, weight_decay if w.block else 0.0), []).append(w.value)
        made = [{"params": p, "lr": rate, "base": rate, "weight_decay": decay} for (rate, decay), p in groups.items()]
        self._inner = torch.optim.AdamW(made, lr=lr, betas=betas, eps=eps, fused=True) if made else None

    def step(self, factor: float) -> None:
        """Take one step with every learning rate multiplied by `factor`."""
        if self._inner is not None:
            for group in self._inner.param_groups:
                group["lr"] = group["base"] * factor
            self._inner.step()

    def state(self) -> dict[str, torch.Tensor]:
        """Moments and step counts by parameter name."""
        kept = self._inner.state if self._inner is not None else {}
        return {f"adamw.{w.name}.{key}": v for w in self._weights for key, v in kept.get(w.value, {}).items()}

    def load(self, state: Mapping[str, torch.Tensor]) -> None:
        """Continue from `state()`."""
        if self._inner is None:
            return
        self._inner.state.clear()
        for w in self._weights:
            own = {k: state[f"adamw.{w.name}.{k}"] for k in ("step", "exp_avg", "exp_avg_sq") if state}
            for key, value in own.items():
                wanted = () if key == "step" else w.value.shape
                _fits(f"adamw.{w.name}.{key}", value, wanted)
            if own:
                self._inner.state[w.value] = {k: v.clone().to(w.value.device) for k, v in own.items()}


class Muon:
    """Momentum and orthogonalised steps for matrices; those of one shape share every product."""

    def __init__(self, weights: Sequence[Weight], lr: float, momentum: float, weight_decay: float) -> None:
        self.lr, self.momentum, self.weight_decay = lr, momentum, weight_decay
        self._stacks: dict[tuple[int, int], list[Weight]] = {}
        for w in weights:
            self._stacks.setdefault((w.shape[0], w.shape[1]), []).append(w)
        self._averages: dict[tuple[int, int], torch.Tensor] = {}

    @torch.no_grad()
    def step(self, factor: float) -> None:
        """Take one step with the learning rate multiplied by `factor`."""
        lr = self.lr * factor
        for shape, weights in self._stacks.items():
            grads = torch.stack([_grad(w) for w in weights])
            if shape not in self._averages:
                self._averages[shape] = torch.zeros_like(grads)
            average = self._averages[shape].lerp_(grads, 1 - self.momentum)
            update = _orthogonal(grads.lerp_(average, self.momentum), weights)
            values: list[torch.Tensor] = [w.value for w in weights]
            if self.weight_decay:
                torch._foreach_mul_(values, 1 - lr * self.weight_decay)
            torch._foreach_add_(values, update, alpha=-lr * 0.2 * math.sqrt(max(shape)))

    def state(self) -> dict[str, torch.Tensor]:
        """Momentum by parameter name."""
        pairs = ((w, a) for s, average in self._averages.items() for w, a in zip(self._stacks[s], average, strict=True))
        return {f"muon.{w.name}": a for w, a in pairs}

    def load(self, state: Mapping[str, torch.Tensor]) -> None:
        """Continue from `state()`."""
        self._averages = {}
        for shape, weights in self._stacks.items() if state else ():
            for w in weights:
                _fits(f"muon.{w.name}", state[f"muon.{w.name}"], w.value.shape)
            kept = torch.stack([state[f"muon.{w.name}"] for w in weights])
            self._averages[shape] = kept.to(weights[0].value.device)


def _orthogonal(parts: torch.Tensor, weights: Sequence[Weight]) -> list[torch.Tensor]:
    """The orthogonalised updates; where ranks hold a part each, every rank computes the whole and keeps its part."""
    wholes = [w.whole for w in weights]
    if None in wholes:
        return list(orthogonalise(parts).float().unbind())
    found = orthogonalise(torch.stack([h.gather(p) for h, p in zip(wholes, parts.unbind(), strict=True) if h])).float()
    return [h.mine(u) for h, u in zip(wholes, found.unbind(), strict=True) if h]


def _grad(weight: Weight) -> torch.Tensor:
    grad = weight.value.grad
    return torch.zeros_like(weight.value) if grad is None else grad


def _fits(name: str, value: torch.Tensor, shape: Sequence[int]) -> None:
    if tuple(value.shape) != tuple(shape):
        raise OptimizerError(f"optimizer state {name} has shape {tuple(value.shape)}; the weight wants {tuple(shape)}")


def orthogonalise(matrices: torch.Tensor) -> torch.Tensor:
    """Matrices [B, m, n] with the same singular vectors and singular values near 1 (0.7 to 1.2), in bfloat16.

    X <- a X + (b A + c A A) X with A = X X^T, five times, from X = G / |G|; computed on the side with fewer rows.
    """
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.bfloat16()
    x = x.transpose(1, 2).contiguous() if tall else x
    x = x / torch.linalg.vector_norm(x, dim=(1, 2), keepdim=True).clamp(min=TINY)
    a, b, c = COEFFICIENTS
    for _ in range(ROUNDS):
        gram = torch.bmm(x, x.transpose(1, 2))
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.transpose(1, 2) if tall else x


class _Both:
    """Two optimizers over disjoint weights."""

    def __init__(self, first: Optimizer, second: Optimizer) -> None:
        self.parts = (first, second)

    def step(self, factor: float) -> None:
        for part in self.parts:
            part.step(factor)

    def state(self) -> dict[str, torch.Tensor]:
        return {k: v for part in self.parts for k, v in part.state().items()}

    def load(self, state: Mapping[str, torch.Tensor]) -> None:
        for part, prefix in zip(self.parts, ("muon.", "adamw."), strict=True):
            part.load({k: v for k, v in state.items() if k.startswith(prefix)})


def list_weights(model: nn.Module, own: Mapping[str, float] | None = None) -> list[Weight]:
    """The trainable parameters of a model, each once, with the 2-D weights of its blocks marked.

    Embeddings, the output layer and LoRA factors do not count as block weights.

    Args:
        model: any torch module.
        own: name prefix -> learning rate of its own.
    """
    apart: set[int] = {id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None  # pyrefly: ignore
    if isinstance(head, nn.Module):
        apart |= {id(p) for p in head.parameters()}
    out = []
    for name, p in model.named_parameters():
        if p.requires_grad:
            rates = [rate for prefix, rate in (own or {}).items() if name.startswith(prefix)]
            block = p.ndim == 2 and id(p) not in apart and "lora_" not in name
            out.append(Weight(name, p, block, rates[0] if rates else None))
    return out
