"""Drawing tokens: counter-based noise, cuts, inversion, and logprobs of what was really sampled from.

Dims: M rows, V vocabulary, k top ids.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from quintain.types import Floats, Ints, QuintainError, Sampling

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class NotFinite(QuintainError):
    """A model gave logits that are not numbers: its weights or its precision are broken."""


class Drawn(NamedTuple):
    """Tokens [M], their logprobs [M], and for the rows that asked the most likely ids and logprobs, best first."""

    tokens: list[int]
    logprobs: list[float]
    top_ids: list[Ints]
    top_logprobs: list[Floats]


def noise_key(key: Ints) -> int:
    """64 bits from the integers of a request's key.

    Example:
        >>> noise_key((0, 1)) == noise_key((0, 1)), noise_key((0, 1)) == noise_key((1, 0))
        (True, False)
    """
    return int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=8).digest(), "little")


def uniforms(keys: Sequence[int], indices: Sequence[int]) -> np.ndarray:
    """One number in [0, 1) per row, a pure function of its key and of the index of its token in the turn (splitmix64).

    Args:
        keys: what `noise_key` gave, one per row [M].
        indices: index of the token that is drawn within its turn [M].

    Returns:
        [M] float64 with 53 random bits; a row never depends on the other rows.
    """
    z = np.array(keys, dtype=np.uint64) + (np.array(indices, dtype=np.uint64) + np.uint64(1)) * _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _MIX[0]
    z = (z ^ (z >> np.uint64(27))) * _MIX[1]
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def draw(logits: torch.Tensor, samplings: Sequence[Sampling], noise: np.ndarray) -> Drawn:
    """Draw one token per row.

    The distribution of a row is softmax(logits / temperature), cut to the `top_k` most likely ids, renormalised, cut
    to the fewest ids whose mass reaches `top_p`, cut to ids with at least `min_p` times the largest probability,
    renormalised. The token is the first id whose cumulative probability exceeds the row's noise, so equal noise gives
    equal tokens.

    Args:
        logits: [M, V], any float type.
        samplings: how each row is drawn [M].
        noise: uniform numbers in [0, 1) [M].

    Special cases: temperature 0 takes the most likely id (the first of equals), whose logprob is 0: it was certain.
    Ids that were cut never appear among the top logprobs, so fewer than asked for may come.

    Raises:
        NotFinite: a row has a logit that is nan or infinite.
    """
    rows: dict[Sampling, list[int]] = {}
    first = samplings[0]
    if all(s is first for s in samplings):
        return _draw_alike(logits, first, noise)
    for i, sampling in enumerate(samplings):
        rows.setdefault(sampling, []).append(i)
    m = len(samplings)
    out = Drawn([0] * m, [0.0] * m, [()] * m, [()] * m)
    for sampling, members in rows.items():
        at = torch.tensor(members, device=logits.device)
        part = _draw_alike(logits.index_select(0, at), sampling, noise[members])
        for whole, piece in zip(out, part, strict=True):
            for i, value in zip(members, piece, strict=True):
                whole[i] = value  # pyrefly: ignore
    return out


def _draw_alike(logits: torch.Tensor, sampling: Sampling, noise: np.ndarray) -> Drawn:
    logits = logits.float()
    m = logits.shape[0]
    nothing: list[tuple] = [()] * m
    if sampling.temperature == 0:
        best, at = logits.max(-1)
        _check_finite(best)
        tokens = at.tolist()
        if not sampling.top_logprobs:
            return Drawn(tokens, [0.0] * m, nothing, nothing)
        return Drawn(tokens, [0.0] * m, [(t,) for t in tokens], [(0.0,)] * m)
    logp = torch.log_softmax(logits if sampling.temperature == 1 else logits / sampling.temperature, dim=-1)
    order = None
    if sampling.top_k or sampling.top_p < 1 or sampling.min_p > 0:
        logp, order = _cut(logp, sampling)
    mass = logp.exp().cumsum(-1, dtype=torch.float64)
    _check_finite(mass[:, -1])
    # noise is at most 1 - 2^-53, so the product is below the whole mass and no id of probability 0 is taken at the end
    goal = torch.from_numpy(noise).to(mass.device)[:, None] * mass[:, -1:]
    chosen = torch.searchsorted(mass, goal, right=True)
    logprobs = logp.gather(1, chosen)[:, 0].tolist()
    tokens = (chosen if order is None else order.gather(1, chosen))[:, 0].tolist()
    if not sampling.top_logprobs:
        return Drawn(tokens, logprobs, nothing, nothing)
    best, ids = logp.topk(min(sampling.top_logprobs, logp.shape[1]), dim=-1)
    if order is not None:
        ids = order.gather(1, ids)
    kept = torch.isfinite(best).sum(-1).tolist()
    tops = [tuple(row[:n]) for row, n in zip(ids.tolist(), kept, strict=True)]
    return Drawn(tokens, logprobs, tops, [tuple(row[:n]) for row, n in zip(best.tolist(), kept, strict=True)])


def _check_finite(numbers: torch.Tensor) -> None:
    if not bool(numbers.isfinite().all()):
        raise NotFinite("the model gave logits that are not finite; look at its weights, or run it in float32")


def _cut(logp: torch.Tensor, sampling: Sampling) -> tuple[torch.Tensor, torch.Tensor]:
    """Logprobs in falling order, -inf where cut, renormalised; and the ids in that order."""
    ranked, order = logp.sort(dim=-1, descending=True, stable=True)
    if 0 < sampling.top_k < ranked.shape[1]:
        ranked, order = ranked[:, : sampling.top_k], order[:, : sampling.top_k]
    p = ranked.double().softmax(-1)
    keep = torch.ones_like(p, dtype=torch.bool)
    if sampling.top_p < 1:
        keep &= p.cumsum(-1) - p < sampling.top_p
    if sampling.min_p > 0:
        keep &= p >= sampling.min_p * p[:, :1]
    return torch.log_softmax(ranked.double().masked_fill(~keep, -torch.inf), dim=-1), order
