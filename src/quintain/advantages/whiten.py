"""Post-normalisation: the advantages of a whole step brought to mean 0 and deviation 1, token by token."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np

from quintain.parts import Advantage, Groups, PartError, stateless
from quintain.registry import register
from quintain.types import Trajectory


@register("advantage", "whiten", paper="2501.03262", status="paper", confidence="code", after="normalise")
def whiten(eps: float = 1e-8, ddof: int = 1, centre: bool = True) -> Advantage:
    """Bring the advantages of all sampled tokens of the step to mean 0 and variance 1.

    When to use: after `gae` (PPO) or `returns` (REINFORCE++), so that the size of the rewards does not matter.

    Maths: `A_t <- (A_t - mean A) / sqrt(var A + eps)` over the T sampled tokens of the step; `var` divides by `T - ddof`.

    Args:
        eps: added to the variance, in squared units of reward, >= 0.
        ddof: 1 for the sample variance, 0 for the population's.
        centre: subtract the mean; False only scales.

    Returns: An advantage that rewrites the stream `advantage`.
    Special cases: equal advantages, and a step of at most `ddof` tokens, give 0 (the values themselves with `centre=False`).

    Example:
        >>> whiten().apply((), None)
        ((), None)

    Reference: Hu et al., 2025, arXiv 2501.03262. Differs from the paper: nothing.
    """
    if not eps >= 0:
        raise PartError(f"whiten: eps is {eps}; it must be >= 0")

    def apply(groups: Groups) -> Groups:
        trajectories = [t for g in groups for t in g.trajectories]
        flat = np.array(list(chain.from_iterable(_column(trajectories))), np.float64)
        drawn = np.array(list(chain.from_iterable(n.mask for t in trajectories for n in t.nodes)), bool)
        values = flat[drawn]
        if len(values) == 0:
            return groups
        gap = values - values[0]
        gap = gap - gap.mean() if centre else values
        spread = values.var(ddof=ddof) if len(values) > ddof else 0.0
        if spread + eps > 0 and np.ptp(values) > 0:
            gap = gap / np.sqrt(spread + eps)
        flat = np.zeros(len(flat))
        flat[drawn] = gap
        return _deal(groups, flat.tolist())

    return stateless(apply)


@register("advantage", "bound", status="experimental", confidence="guess", after="normalise")
def bound(limit: float = 5.0) -> Advantage:
    """Hold advantages within a limit.

    When to use: after a rule whose scale can be tiny (`mad` on binary rewards, `std` on nearly equal ones).

    Maths: `A_t <- min(limit, max(-limit, A_t))`.

    Args:
        limit: the largest advantage, > 0.

    Returns: An advantage that rewrites the stream `advantage`.
    Special cases: `inf` bounds nothing.

    Example:
        >>> bound(3.0).apply((), None)
        ((), None)
    """
    if not limit > 0:
        raise PartError(f"bound: limit is {limit}; it must be > 0")

    def apply(groups: Groups) -> Groups:
        rows = _column([t for g in groups for t in g.trajectories])
        return _deal(groups, [min(limit, max(-limit, v)) for v in chain.from_iterable(rows)])

    return stateless(apply)


def _column(trajectories: list[Trajectory]) -> list[tuple[float, ...]]:
    for t in trajectories:
        if "advantage" not in t.streams:
            raise PartError(f"trajectory {t.id!r} has no stream 'advantage'; put an advantage before whiten and bound")
    return [row for t in trajectories for row in t.streams["advantage"]]


def _deal(groups: Groups, flat: list[float]) -> Groups:
    at, out = 0, []
    for group in groups:
        dealt = []
        for t in group.trajectories:
            rows = []
            for node in t.nodes:
                rows.append(tuple(flat[at : at + len(node.tokens)]))
                at += len(node.tokens)
            dealt.append(t.with_stream("advantage", tuple(rows)))
        out.append(replace(group, trajectories=tuple(dealt)))
    return tuple(out)
