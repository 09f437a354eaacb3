"""What the learner itself says about given token paths: its packed forward, under any sampling, and under suspicions.

Dims: T tokens of one path, N of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from quintain.learn.forward import Reader
from quintain.learn.lora import base_weights, has_lora
from quintain.learn.pack import Demo, pack_demos
from quintain.learn.tilts import SUSPECTS, tilts
from quintain.models import causal_lm, forward_hidden, head_logits
from quintain.types import Ints, Sampling

CELLS = 1 << 22  # logits held at once
STRIDES = (7, 2, 3, 5)  # of the patterns in which embeddings are shaken
WAYS = len(STRIDES)
SUSPICIONS = ("without LoRA", "LoRA twice", "bfloat16", "float16")  # changes of the weights that `suspected` can try


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reading:
    """Logprobs [T] of the tokens of one path; the first, which nothing predicts, is 0.

    `plain` at temperature 1; `heated` at the temperature of the sampling; `low` and `high` under the whole sampling: ids
    that rounding may put on either side of a cut make them differ, and `high` is -inf where the token is surely cut off.
    `tilts` [A] is the log-likelihood ratio of all drawn tokens under each suspected sampling (see `learn.tilts`).
    """

    plain: np.ndarray
    heated: np.ndarray
    low: np.ndarray
    high: np.ndarray
    tilts: np.ndarray


def read_paths(
    reader: Reader,
    paths: Sequence[Ints],
    sampling: Sampling,
    *,
    slack: float = 1e-5,
    ahead: Sequence[int] = (),
    drawn: Sequence[int] = (),
) -> list[Reading]:
    """Score paths by the forward pass that trains: packed, in the learner's precision.

    Args:
        reader: of the learner.
        paths: token ids, each path of at least one.
        sampling: temperature and cuts; at temperature 0 a sampled token is certain (0) and any other impossible (-inf).
        slack: logprobs that rounding may move, which decides what may lie on either side of a cut.
        ahead: a suspicion: from this token of each path on, positions are one too high; () is none.
        drawn: from this token of each path on, tokens were drawn for the proof and `tilts` counts them; () is none.

    Returns:
        One reading per path.
    """
    if not paths:
        return []
    lengths = [len(p) for p in paths]
    batch = pack_demos([Demo(p, (True,) * len(p)) for p in paths])
    ids = torch.from_numpy(batch.tokens).to(reader.device)
    late = batch.position >= np.repeat(ahead, lengths) if ahead else None
    positions = None if late is None else torch.from_numpy(batch.position + late).to(reader.device)
    columns: list[list[np.ndarray]] = []
    counted = batch.position >= np.repeat(drawn or lengths, lengths)
    row = np.repeat(np.arange(len(paths)), lengths)
    tilted = np.zeros((len(paths), SUSPECTS))
    with torch.no_grad(), reader.precision.cast(reader.device):
        hidden = forward_hidden(reader.model, ids, lengths, positions=positions)[:-1]
        width = head_logits(reader.model, hidden[:1]).shape[-1] if len(hidden) else 1
        rows = max(1, CELLS // width)
        for first, states in zip(range(0, len(hidden), rows), hidden.split(rows), strict=False):
            part = slice(first + 1, first + 1 + len(states))
            logits = head_logits(reader.model, states).float()
            columns.append([c.cpu().numpy() for c in _columns(logits, ids[part], sampling, slack)])
            at = np.flatnonzero(counted[part])
            if len(at) and sampling.temperature > 0:
                chosen = torch.from_numpy(at).to(reader.device)
                found = tilts(logits[chosen], ids[part][chosen], sampling).cpu().numpy()
                np.add.at(tilted, row[part][at], found)
    flat = [np.concatenate([np.zeros(1), *(c[i] for c in columns)]) for i in range(4)]
    for column in flat:
        column[batch.position == 0] = 0.0
    ends = np.cumsum(lengths).tolist()
    cut = [(end - n, end, tilt) for n, end, tilt in zip(lengths, ends, tilted, strict=True)]
    plain, heated, low, high = flat
    return [Reading(plain=plain[a:b], heated=heated[a:b], low=low[a:b], high=high[a:b], tilts=t) for a, b, t in cut]


def _columns(logits: torch.Tensor, ids: torch.Tensor, sampling: Sampling, slack: float) -> Iterator[torch.Tensor]:
    """plain, heated, low, high of one chunk."""
    at = ids.unsqueeze(-1)
    plain = torch.log_softmax(logits, -1)
    yield plain.gather(-1, at).squeeze(-1)
    if sampling.temperature == 0:
        best = plain.gather(-1, at).squeeze(-1)
        certain = torch.where(best >= plain.max(-1).values - 2 * slack, 0.0, -torch.inf)
        yield from (best, certain, certain)
        return
    heated = plain if sampling.temperature == 1 else torch.log_softmax(logits / sampling.temperature, -1)
    own = heated.gather(-1, at).squeeze(-1)
    yield own
    if not (sampling.top_k or sampling.top_p < 1 or sampling.min_p > 0):
        yield from (own, own)
        return
    ranked = heated.double().sort(-1, descending=True).values
    most, least = (_mass(ranked, sampling, slack * sign) for sign in (1, -1))
    yield own - most.log()
    yield torch.where(_inside(ranked, own, sampling, slack), own - least.log(), -torch.inf)


def _inside(ranked: torch.Tensor, own: torch.Tensor, sampling: Sampling, slack: float) -> torch.Tensor:
    """Whether the cuts may leave tokens [M] of these logprobs, when rounding moves each by `slack`."""
    best = ranked[:, :1]
    least = own.double().unsqueeze(-1)
    better = ranked > least + 2 * slack
    inside = torch.ones_like(own, dtype=torch.bool)
    if 0 < sampling.top_k < ranked.shape[-1]:
        inside &= better.sum(-1) < sampling.top_k
        ranked = ranked.masked_fill(torch.arange(ranked.shape[-1], device=own.device) >= sampling.top_k, -torch.inf)
    p = ranked.softmax(-1)
    if sampling.top_p < 1:
        inside &= (p * better).sum(-1) < sampling.top_p + 4 * slack
    if sampling.min_p > 0:
        inside &= (least >= best + np.log(sampling.min_p) - 4 * slack).squeeze(-1)
    return inside


def _mass(ranked: torch.Tensor, sampling: Sampling, slack: float) -> torch.Tensor:
    """The probability [M] that the cuts leave, when doubtful ids are kept (`slack` > 0) or dropped (< 0)."""
    if 0 < sampling.top_k < ranked.shape[-1]:
        ranked = ranked[:, : sampling.top_k]
    whole = ranked.exp().sum(-1, keepdim=True)
    p = ranked.exp() / whole
    keep = torch.ones_like(p, dtype=torch.bool)
    if sampling.top_p < 1:
        keep &= p.cumsum(-1) - p < sampling.top_p + 2 * slack
    if sampling.min_p > 0:
        keep &= p >= sampling.min_p * p[:, :1] * np.exp(-2 * slack)
    keep[:, 0] = True
    return (p * keep).sum(-1) * whole.squeeze(-1)


@contextmanager
def shaken(reader: Reader, eps: float = 0.0, way: int = 0) -> Iterator[Reader]:
    """The reader with its embeddings moved by one rounding step: what this changes is the model's own noise.

    Args:
        reader: of the learner.
        eps: relative step; 0 takes that of the coarsest of the weights' dtype and the precision plan.
        way: below `WAYS`: which numbers move up and which down; one way alone may miss where a model is touchy.
    """
    whole: Any = causal_lm(reader.model)
    dtype = next(p.dtype for p in whole.parameters() if p.is_floating_point())
    step = max(eps, torch.finfo(dtype).eps, torch.finfo(reader.precision.dtype).eps)

    def shake(module: nn.Module, given: Any, out: torch.Tensor) -> torch.Tensor:
        up = torch.arange(out.numel(), device=out.device).reshape(out.shape) * STRIDES[way] % 11 < 5
        return torch.where(up, out * (1 + step), out * (1 - step))

    hook = whole.get_input_embeddings().register_forward_hook(shake)
    try:
        yield reader
    finally:
        hook.remove()


@contextmanager
def suspected(reader: Reader, suspicion: str) -> Iterator[Reader | None]:
    """The reader as it would be under one of `SUSPICIONS`; None where that makes no sense for this model."""
    lora = has_lora(reader.model)
    if suspicion == "without LoRA":
        with base_weights(reader.model):
            yield reader if lora else None
    elif suspicion == "LoRA twice":
        with _doubled(reader.model):
            yield reader if lora else None
    else:
        with _rounded(reader.model, getattr(torch, suspicion)) as changed:
            yield reader if changed else None


@contextmanager
def _doubled(model: Any) -> Iterator[None]:
    layers = [m for m in model.modules() if isinstance(getattr(m, "scaling", None), dict)]
    kept = [dict(layer.scaling) for layer in layers]
    try:
        for layer in layers:
            layer.scaling.update({name: 2 * value for name, value in layer.scaling.items()})
        yield
    finally:
        for layer, values in zip(layers, kept, strict=True):
            layer.scaling.update(values)


@contextmanager
def _rounded(model: nn.Module, dtype: torch.dtype) -> Iterator[bool]:
    """The weights rounded to `dtype` for a moment; whether any of them is wider than that."""
    wide = [p for p in model.parameters() if p.is_floating_point() and p.dtype.itemsize > dtype.itemsize]
    with ExitStack() as back:
        for p in wide:
            kept = p.data
            back.callback(setattr, p, "data", kept)
            p.data = kept.to(dtype).to(kept.dtype)
        yield bool(wide)


def base_tensors(tensors: Iterable[tuple[str, torch.Tensor]]) -> Iterator[tuple[str, torch.Tensor]]:
    """The weights below LoRA factors, under the names that a merged copy gives them."""
    return ((name.replace(".base_layer", ""), p) for name, p in tensors if ".lora_" not in name)
