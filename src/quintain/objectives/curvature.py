"""A trust region in the model's own curvature: CAPO."""

from __future__ import annotations

from typing import NamedTuple

import torch

from quintain.objectives._rows import column, held, note, rows_of, weigh
from quintain.objectives.step import sums_of
from quintain.parts import Objective, PartError, Sums, Transform
from quintain.registry import register
from quintain.types import Terms


class Shifts(NamedTuple):
    """What a step on the token alone would change [N]: the `objective`, and the `policy` (Fisher)."""

    objective: torch.Tensor
    policy: torch.Tensor


def shifts(terms: Terms, rate: float) -> Shifts:
    """Second-order shifts of the last layer under plain gradient steps [N], from the top-k probabilities and hidden states."""
    rows = rows_of(terms)
    if "new" not in terms.topk:
        raise PartError("mask_curved reads the column 'topk', which these terms lack; supply what `needs` names")
    tops = torch.where(rows[:, None], terms.topk["new"].detach(), -torch.inf).exp()
    hidden = torch.where(rows[:, None], column(terms, "hidden", "mask_curved").detach(), 0)
    advantage, p = held(terms, terms.advantage), held(terms, terms.new.detach()).clamp(max=0).exp()
    size, second, third = hidden.square().sum(1), tops.square().sum(1), tops.pow(3).sum(1)
    norm = 1 - 2 * p + second  # |e_a - pi|^2
    spread = p - 2 * p.square() + third - (p - second).square()  # v^T (diag pi - pi pi^T) v
    along = advantage * size * norm
    bend = along.square() - advantage.square() * size.square() * spread
    gain = rate * advantage * along + rate**2 / 2 * advantage * bend
    return Shifts(held(terms, gain), held(terms, rate**2 / 2 * along.square()))


@register(
    "objective",
    "mask_curved",
    paper="2510.00819",
    status="paper",
    confidence="code",
    across=True,
    example={"rate": 1e-3, "k": 5},
)
def mask_curved(
    rate: float, objective: float = 0.01, policy: float = 1e-4, one_sided: bool = False, kept: bool = True, k: int = 64
) -> Objective:
    """Leave out tokens whose own update would move the objective or the policy too far, by second-order estimates.

    When to use: large learning rates, after `policy_gradient` or `clip`: CAPO.

    Maths: with `v = e_a - pi`, `h` the hidden state, `g = A v h^T`, `u = g h`: `m_H = rate |g|^2 + rate^2/2 A ((v u)^2 - u^T (diag pi - pi
    pi^T) u)`, `m_F = rate^2/2 (v^T u)^2`; `weight_t *= 0` [N] unless `m_F < policy` and `|m_H| < objective`.

    Args:
        rate: the learning rate that the estimates assume, > 0.
        objective: bound of `m_H`, > 0.
        policy: bound of `m_F`, > 0.
        one_sided: keep `0 <= m_H < objective` only.
        kept: divide by the tokens that are kept, as released, instead of by all.
        k: likeliest ids that stand for the vocabulary, >= 1; the paper's are below 100.

    Returns: A part of place `weight` that changes `weight` [N] and notes `curved`, the share left out.
    Special cases: masked rows have weight 1; if no token is kept all weights are 0.
    Example: `mask_curved(rate=1e-5, k=20)`
    Reference: CAPO, arXiv 2510.00819 (curvature-aware), read in the authors' code. Differs from the paper: steps of plain gradient descent
    only, not of an Adam model; probabilities are those of the engine's likeliest ids.
    """
    if not (min(rate, objective, policy) > 0 and k >= 1):
        raise PartError(
            f"mask_curved: rate is {rate}, objective {objective}, policy {policy} and k {k}; the first three must be > 0, "
            "k at least 1"
        )
    key = f"mask_curved:{rate}:{objective}:{policy}:{one_sided}"

    def keep(terms: Terms) -> torch.Tensor:
        found = shifts(terms, rate)
        low = found.objective >= 0 if one_sided else found.objective > -objective
        return rows_of(terms) & low & (found.objective < objective) & (found.policy < policy)

    def measure(terms: Terms) -> Sums:
        return {f"{key}:kept": float(keep(terms).sum()), f"{key}:count": float(rows_of(terms).sum())}

    def apply(terms: Terms) -> Terms:
        sums, stays, rows = sums_of(terms, f"{key}:kept", measure), keep(terms), rows_of(terms)
        share = sums[f"{key}:count"] / max(sums[f"{key}:kept"], 1.0) if kept else 1.0
        weight = torch.where(rows, share * stays.to(terms.new.dtype), 1)
        return note(weigh(terms, weight), curved=rows & ~stays)

    needs = frozenset({"hidden", f"topk:{k}"})
    return Transform(lambda: None, lambda t, s: (apply(t), s), needs, measure, "weight")
