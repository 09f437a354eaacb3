"""Likelihood ratios of drawn tokens: were they drawn as the run samples, or hotter, colder, or out of a cut?

Dims: M drawn tokens, V ids, A suspected samplings.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from quintain.types import Sampling

HEATS = (0.5, 0.7, 0.85, 1.2, 1.5, 2.0)  # times the temperature of the run
CUTS = (("top-p", 0.8), ("top-p", 0.9), ("top-p", 0.95), ("top-k", 1), ("top-k", 20))  # of what the run leaves
RANKS = 64  # ids that a suspected cut may leave
SUSPECTS = len(HEATS) + len(CUTS)


def kept(heated: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Which ids the cuts of a sampling leave [M, V], given logprobs at its temperature.

    Special cases: ids as likely as the last that is left are left too. Top-k cuts first, then top-p and min-p of what is left.
    """
    width = heated.shape[-1]
    if not (0 < sampling.top_k < width or sampling.top_p < 1 or sampling.min_p > 0):
        return torch.ones_like(heated, dtype=torch.bool)
    ranked = heated.double().sort(-1, descending=True).values
    ranked = ranked[:, : sampling.top_k] if 0 < sampling.top_k < width else ranked
    p = ranked.softmax(-1)
    count = torch.full_like(p[:, :1], p.shape[-1], dtype=torch.long)
    if sampling.top_p < 1:
        count = torch.minimum(count, _nucleus(p, sampling.top_p))
    if sampling.min_p > 0:
        count = torch.minimum(count, (p >= sampling.min_p * p[:, :1]).sum(-1, keepdim=True))
    return heated.double() >= ranked.gather(-1, count.clamp(min=1) - 1)


def _nucleus(p: torch.Tensor, mass: float) -> torch.Tensor:
    """How many of the probabilities, in falling order, it takes to reach `mass` [M, 1]."""
    return (p.cumsum(-1) - p < mass).sum(-1, keepdim=True)


def tilts(logits: torch.Tensor, ids: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    r"""How much likelier the drawn ids are under each suspected sampling than under that of the run.

    Maths: $\log q_a(y) - \log p(y)$, with $p$ the distribution of the run, and $q_a$ either $p^b / \sum p^b$ (a temperature of $1/b$ times
    the run's) or $p$ on a part of its ids, over the mass of the part. Whatever $p$ is, $\mathbb{E}_p[q_a(y) / p(y)] \le 1$.

    Args:
        logits: [M, V], at the positions before the ids.
        ids: [M], what was drawn.
        sampling: of the run, with a temperature above 0.

    Returns:
        [M, A], -inf where a suspected cut leaves the id out; 0 for ids that the run cannot draw, which others name.
    """
    heated = torch.log_softmax(logits / sampling.temperature, -1)
    left = kept(heated, sampling)
    logp = torch.log_softmax(heated.masked_fill(~left, -torch.inf), -1).double()
    own = logp.gather(-1, ids.unsqueeze(-1))
    ranked = logp.topk(min(RANKS, logp.shape[-1]), -1).values
    columns = [*_heated(logp, own), *_cut(logp, own, ranked)]
    return torch.cat(columns, -1).masked_fill(~own.isfinite(), 0.0)


def _heated(logp: torch.Tensor, own: torch.Tensor) -> Iterator[torch.Tensor]:
    for heat in HEATS:
        yield own / heat - own - (logp / heat).logsumexp(-1, keepdim=True)


def _cut(logp: torch.Tensor, own: torch.Tensor, ranked: torch.Tensor) -> Iterator[torch.Tensor]:
    for name, limit in CUTS:
        whole = torch.full_like(ranked[:, :1], ranked.shape[-1], dtype=torch.long)
        count = _nucleus(ranked.exp(), limit) if name == "top-p" else whole.clamp(max=int(limit))
        last = ranked.gather(-1, count.clamp(min=1) - 1)
        mass = logp.masked_fill(logp < last, -torch.inf).logsumexp(-1, keepdim=True)
        yield torch.where(own >= last, -mass, -torch.inf)


def suspect(number: int, sampling: Sampling) -> str:
    """The sampling of column `number` in words.

    Example:
        >>> suspect(1, Sampling(temperature=0.5))
        'near temperature 0.35'
        >>> suspect(9, Sampling())
        'greedily'
    """
    if number < len(HEATS):
        return f"near temperature {sampling.temperature * HEATS[number]:.2g}"
    name, limit = CUTS[number - len(HEATS)]
    return "greedily" if (name, limit) == ("top-k", 1) else f"with a cut near {name} {limit:g}"
