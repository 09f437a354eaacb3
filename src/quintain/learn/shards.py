"""Layers sharded over ranks (FSDP2): each rank keeps a part of every layer's weights, gradients and optimizer state.

The layers of the decoder are sharded by rows; embeddings, head, norms outside layers and the value head stay whole on every rank.
Whole tensors appear one at a time, to publish or to save.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from quintain.learn.optim import Weight
from quintain.learn.ranks import Ranks
from quintain.models import causal_lm, text_config
from quintain.models.fingerprint import fold
from quintain.models.forward import decoder_name
from quintain.types import QuintainError


class ShardError(QuintainError):
    """A model cannot be sharded, or is sharded where there is one rank only."""


def shard(model: nn.Module, ranks: Ranks, dtype: torch.dtype = torch.float32) -> None:
    """Shard the layers of a decoder over all ranks, in place; forward and backward gather one layer at a time.

    Gradients arrive summed over ranks, never averaged, in float32 where `dtype` is lower. Every rank must run as many forward
    and backward passes as the others, or all wait until their deadline.

    Args:
        model: a decoder of `quintain.models`, equal on all ranks.
        ranks: those that share it, at least 2.
        dtype: in which gathered layers compute and travel: that of the precision plan.

    Raises:
        ShardError: there is one rank, or ranks share a GPU, or the layers are not found.
    """
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    if ranks.size < 2:
        raise ShardError(
            "learner.shard is 'full', but one process learns; set runtime.processes >= 2, or learner.shard=none"
        )
    if (
        next(model.parameters()).is_cuda and not ranks.own_gpu
    ):  # gloo ends the process without a word when FSDP2 asks it for such tensors
        raise ShardError(
            f"learner.shard is 'full', and {ranks.size} ranks share {torch.cuda.device_count()} GPU(s) on this machine; give each "
            "rank a GPU of its own by fewer runtime.processes, or set learner.device=cpu, or learner.shard=none"
        )
    layers = find_layers(model)
    lower = None if dtype == torch.float32 else dtype
    sums = None if lower is None else torch.float32
    policy = MixedPrecisionPolicy(param_dtype=lower, reduce_dtype=sums, cast_forward_inputs=False)
    options: dict[str, Any] = {"mesh": mesh_of(model), "mp_policy": policy}
    for layer in layers:
        fully_shard(layer, reshard_after_forward=True, **options)
    whole: Any = causal_lm(model)
    decoder = getattr(whole, decoder_name(whole))
    inner = {id(p) for layer in layers for p in layer.parameters()}
    apart = {p for p in decoder.parameters() if id(p) not in inner}
    root: Any = fully_shard(
        decoder, ignored_params=apart, **options
    )  # so that the next layer is fetched while one computes
    sharded: list[Any] = [root, *layers]
    for module in sharded:
        module.set_gradient_divide_factor(1.0)
        module.set_force_sum_reduction_for_comms(True)  # gloo knows no scaled sums


def find_layers(model: nn.Module) -> list[nn.Module]:
    """The layers of a decoder, in order.

    Raises:
        ShardError: there is no list of as many modules as the config names layers.
    """
    count = text_config(model).num_hidden_layers
    for module in model.modules():
        if isinstance(module, nn.ModuleList) and len(module) == count:
            return list(module)
    raise ShardError(f"no list of {count} layers in {type(causal_lm(model)).__name__}; set learner.shard=none")


def mesh_of(model: nn.Module) -> Any:
    """One mesh of all ranks, on the device of the model."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh

    return init_device_mesh(next(model.parameters()).device.type, (dist.get_world_size(),))


def local_weights(weights: Sequence[Weight]) -> list[Weight]:
    """The weights as the optimizer steps them: parts of sharded ones, as plain parameters over the same memory."""
    return [_local(w) for w in weights]


def _local(weight: Weight) -> Weight:
    value: Any = weight.value
    if not is_sharded(value):
        return weight
    part = nn.Parameter(value.detach().to_local())
    return weight._replace(value=part, whole=Sharded(value))


def is_sharded(tensor: Any) -> bool:
    """Whether a tensor is spread over ranks."""
    return hasattr(tensor, "device_mesh")


def whole_of(tensor: Any) -> torch.Tensor:
    """The whole of a tensor; every rank must ask at the same time for a sharded one."""
    return tensor.detach().full_tensor() if is_sharded(tensor) else tensor.detach()


class Sharded:
    """How the parts of one weight make the whole: matches `optim.Whole`."""

    def __init__(self, like: Any) -> None:
        self.like = like
        self.shape = tuple(like.shape)

    def gather(self, part: torch.Tensor) -> torch.Tensor:
        """The whole of which every rank has a part like that of the weight."""
        from torch.distributed.tensor import DTensor

        like = self.like
        spread = DTensor.from_local(
            part, like.device_mesh, like.placements, run_check=False, shape=like.shape, stride=like.stride()
        )
        return spread.full_tensor()

    def mine(self, whole: torch.Tensor) -> torch.Tensor:
        """This rank's part of a whole."""
        rank, size = self.like.device_mesh.get_local_rank(), self.like.device_mesh.size()
        parts = torch.chunk(whole, size, dim=0)
        return parts[rank] if rank < len(parts) else whole[:0]

    def gradient(self) -> torch.Tensor | None:
        """This rank's part of the gradient, if there is one."""
        return None if self.like.grad is None else self.like.grad.to_local()

    def clear(self) -> None:
        """Drop the gradient."""
        self.like.grad = None


class Copy:
    """A whole copy of a sharded model, for engines and for files, brought up to date tensor by tensor.

    Args:
        model: before it is sharded.
        holds: whether this rank keeps the copy; the others only take part in the gathering.
    """

    def __init__(self, model: nn.Module, holds: bool) -> None:
        self.model = copy.deepcopy(model).requires_grad_(False) if holds else None

        self.prints: dict[str, str] = {}

    def refresh(self, model: nn.Module) -> None:
        """Copy what can be trained, and fingerprint what came; all ranks at the same time."""
        own = dict(self.model.named_parameters()) if self.model is not None else {}
        self.prints = fold(self._taken(model, own)) if own else {}
        if not own:
            for _ in self._taken(model, own):
                pass

    @torch.no_grad()
    def _taken(self, model: nn.Module, own: Mapping[str, torch.Tensor]) -> Iterator[tuple[str, torch.Tensor]]:
        for name, tensor in sorted(model.named_parameters()):
            if not tensor.requires_grad:
                if own:
                    yield name, own[name]
                continue
            found = whole_of(tensor)
            if own:
                own[name].copy_(found)
            yield name, found


def wholes(model: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Name and whole of every tensor of a model, in the order of their names; all ranks at the same time."""
    for name, tensor in sorted(model.named_parameters()):
        yield name, whole_of(tensor)


def gathered(tensors: Mapping[str, Any], weights: Mapping[str, Weight]) -> Iterator[tuple[str, torch.Tensor]]:
    """Name and whole of tensors, one at a time: of sharded ones, and of optimizer state that is shaped like a part of a weight.

    Args:
        tensors: the same names on every rank, in the same order.
        weights: by name; a weight's state is called KIND.NAME or KIND.NAME.KEY.
    """
    for name, tensor in tensors.items():
        weight = owner(name, weights)
        if is_sharded(tensor):
            yield name, whole_of(tensor)
        elif weight is not None and weight.whole is not None and tensor.ndim == len(weight.shape):
            yield name, weight.whole.gather(tensor)
        else:
            yield name, tensor.detach()


def owner(name: str, weights: Mapping[str, Weight]) -> Weight | None:
    """The weight that a piece of optimizer state belongs to."""
    inner = name.partition(".")[2]
    return weights.get(inner) or weights.get(inner.rpartition(".")[0])


def own_part(name: str, tensor: torch.Tensor, weights: Sequence[Weight]) -> torch.Tensor:
    """This rank's part of a whole piece of optimizer state; what no weight is sharded for stays whole."""
    weight = owner(name, {w.name: w for w in weights if w.whole is not None})
    if weight is None or weight.whole is None or tuple(tensor.shape) != weight.shape:
        return tensor
    return weight.whole.mine(tensor).clone()


def local(tensor: Any) -> torch.Tensor:
    """This rank's part of a tensor, over the same memory; all of it where it is not sharded."""
    return tensor.to_local() if is_sharded(tensor) else tensor


def part_of(whole: torch.Tensor, like: Any) -> torch.Tensor:
    """What this rank keeps of `whole` in a tensor like `like`."""
    return Sharded(like).mine(whole) if is_sharded(like) else whole
