"""Ratios over a whole sequence, and ratios that carry a sequence's history."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch

from quintain.objectives._rows import (
    LIMIT,
    averaged,
    column,
    counted,
    gap,
    held,
    note,
    only,
    reach,
    rows_of,
    sloped,
    summed,
)
from quintain.objectives.ratio import needs_of
from quintain.parts import Objective, PartError, stateless
from quintain.registry import register, unknown
from quintain.types import Terms


@register(
    "objective",
    "sequence_ratio",
    paper="2507.18071",
    status="paper",
    confidence="code",
    example={"anchor": "old"},
    across="sequence",
)
def sequence_ratio(anchor: str, gradient: str = "sequence", bound: float = math.inf) -> Objective:
    """One ratio for all tokens of a sequence: the geometric mean of theirs.

    When to use: GSPO, where a reward for the whole answer meets a ratio of the whole answer. Clip bounds are then a thousand times smaller
    than for tokens (3e-4). With `bound` it is GMPO's ratio.

    Maths: `log_ratio_t = 1/|y| sum_(s in y) (new_s - anchor_s)` [N] for every token t of the sequence y. With `bound`, each token's
    log-ratio is first limited to `bound` nats in the direction of its advantage.

    Args:
        anchor: `old` or `rollout`, as in `token_ratio`.
        gradient: `sequence`, through the mean; or `token`, through the token's own logprob (GSPO-token: the same coefficients for an
            advantage that is equal over the sequence, and each token's own where it is not).
        bound: in nats, > 0; GMPO has 0.4.

    Returns: A part of place `ratio` that sets `log_ratio` [N]. A sequence must lie in one micro-batch.
    Special cases: masked rows have log-ratio 0; beyond 20 nats the ratio is constant with coefficient 0.
    Example: `sequence_ratio(anchor="old")`
    Reference: Zheng et al., 2025, arXiv 2507.18071; `bound`: Zhao et al., 2025, arXiv 2507.20673. Differs from the paper: the limit of 20
    nats; `bound` looks at a token's own advantage.
    """
    needs = needs_of(anchor, "sequence_ratio")
    if gradient not in ("sequence", "token"):
        raise PartError(unknown("gradient of sequence_ratio", gradient, ("sequence", "token")))
    if not bound > 0 or (gradient == "token" and bound < math.inf):
        raise PartError(f"sequence_ratio: bound is {bound} nats; it must be > 0, and inf with gradient='token'")

    def apply(terms: Terms) -> Terms:
        apart = held(terms, terms.new - column(terms, anchor, "sequence_ratio").detach())
        if bound < math.inf:
            limit = bound * held(terms, terms.advantage).sign()  # of either side, none at 0
            value = apart.detach()
            free = (limit == 0) | (limit * value <= bound * bound)
            apart = sloped(apart, torch.where(free, value, limit), free.to(value.dtype))
        mean = averaged(terms, apart, limit=LIMIT)
        if gradient == "token":
            mean = sloped(apart, mean.detach(), (mean.detach().abs() < LIMIT).to(mean.dtype))
        return replace(terms, log_ratio=mean)

    return stateless(apply, needs=needs, place="ratio")


def earlier(ids: torch.Tensor, rows: torch.Tensor, gap: torch.Tensor, how: str) -> torch.Tensor:
    """Row -> the smallest (`min`) or the sum (`product`) of `gap` [N] over the rows before it in its sequence; 0 if none.

    Rows of a sequence count in the order in which they stand; `gap` must lie within 20 nats.
    """
    if len(ids) == 0:
        return gap
    packed = bool((ids[1:] >= ids[:-1]).all())  # as the packer leaves them: nothing to sort
    order: Any = slice(None) if packed else torch.argsort(ids, stable=True)
    mine, values = ids[order], only(rows, gap)[order]
    first = torch.ones_like(mine, dtype=torch.bool)
    first[1:] = mine[1:] != mine[:-1]
    run = first.cumsum(0)
    if how == "product":
        sums = values.double().cumsum(0) - values.double()  # of all rows before
        begin = sums[first][run - 1]
        found = (sums - begin).to(gap.dtype)
    else:
        # each sequence is put wholly below the one before it, so that a running minimum begins anew; rows that do not
        # count stand above their own sequence's, and below the one before
        step = 4 * LIMIT
        key = torch.where(rows[order], values.double(), 1.5 * LIMIT) - run * step
        _, at = torch.cummin(key, 0)
        before = at.roll(1)
        found = torch.where(~first & rows[order][before], values[before], 0)
    out = torch.empty_like(gap)
    out[order] = found
    return out


@register(
    "objective",
    "prefix_ratio",
    paper="2601.22718",
    status="paper",
    confidence="note",
    example={"anchor": "old"},
    across="sequence",
    ordered=True,
)
def prefix_ratio(anchor: str, prefix: str = "min") -> Objective:
    """The token's ratio times the smallest ratio before it in its sequence: MinPRO's stand-in for the prefix's product.

    When to use: with `score`, on stale data, where the product of all earlier ratios is right and explodes.

    Maths: `log_ratio_t = g_t + min_(s < t) g_s` [N], `g = clamp(new - anchor, +-20)`, over the sequence's trained tokens in their order;
    the prefix of the first one has ratio 1. With `product`: `log_ratio_t = sum_(s <= t) g_s`.

    Args:
        anchor: `old` or `rollout`, as in `token_ratio`.
        prefix: `min`, or `product`, the ratio of the whole prefix, up to 40 nats (690 in float64).

    Returns: A part of place `ratio` that sets `log_ratio` [N], whose gradient is the token's own. A sequence must lie in one micro-batch;
    of a tree, branches count as they stand one after the other.
    Special cases: masked rows have log-ratio 0 and do not count; a smallest ratio above 1 stays above 1.
    Example: `prefix_ratio(anchor="old")`
    Reference: Lei et al., 2026, arXiv 2601.22718, read in a survey that reproduces it. Differs from the paper: the empty prefix counts 1
    (not stated).
    """
    needs = needs_of(anchor, "prefix_ratio")
    if prefix not in ("min", "product"):
        raise PartError(unknown("prefix of prefix_ratio", prefix, ("min", "product")))

    def apply(terms: Terms) -> Terms:
        own = gap(terms, anchor, "prefix_ratio")
        whole = own + held(terms, earlier(terms.sequence, rows_of(terms), own.detach(), prefix))
        bound = 2 * LIMIT if prefix == "min" else reach(whole, 2 * LIMIT)
        return replace(terms, log_ratio=whole.clamp(-bound, bound))

    return stateless(apply, needs=needs, place="ratio")


@register(
    "objective",
    "fiber_ratio_guess",
    paper="2603.08239",
    status="experimental",
    confidence="guess",
    example={"anchor": "old"},
    across="sequence",
)
def fiber_ratio_guess(
    anchor: str, base: float = 0.05, fiber: float = 0.2, residual: str = "ungated", limit: float = LIMIT
) -> Objective:
    """FiberPO's gate as we read it: the sequence's mean log-ratio and what a token has beyond it, each within bounds.

    When to use: with `unclipped`, to let single tokens move within a trust region of the whole sequence.

    Maths: with `g = clamp(new - anchor, +-limit)` [N] and `b = mean g` over the sequence, `log_ratio_t = clip(b, +-base) + clip(g_t - b',
    +-fiber)`; `b' = b` (`ungated`) or `b' = clip(b, +-base)` (`gated`). Tokens of a sequence share gradients through b.

    Args:
        anchor: `old` or `rollout`, as in `token_ratio`.
        base: bound of the sequence's mean, in nats, >= 0.
        fiber: bound of a token's residual, in nats, >= 0.
        residual: `ungated` keeps the two levels orthogonal; `gated` is what the one public re-implementation does.
        limit: bound of a token's log-ratio, in nats.

    Returns: A part of place `ratio` that sets `log_ratio` [N]. A sequence must lie in one micro-batch.
    Special cases: masked rows have log-ratio 0.
    Example: `fiber_ratio_guess(anchor="old")`
    Reference: Li et al., 2026, arXiv 2603.08239; unofficial code and a note. Differs from the paper: its residual and its defaults were not
    read.
    """
    needs = needs_of(anchor, "fiber_ratio_guess")
    if residual not in ("ungated", "gated"):
        raise PartError(unknown("residual of fiber_ratio_guess", residual, ("ungated", "gated")))
    if not (base >= 0 and fiber >= 0 and limit > 0):
        raise PartError(f"fiber_ratio_guess: base is {base}, fiber {fiber} and limit {limit}; none may be negative")

    def apply(terms: Terms) -> Terms:
        apart = gap(terms, anchor, "fiber_ratio_guess", limit)
        mean = averaged(terms, apart)
        gate = mean.clamp(-base, base)
        own = (apart - (mean if residual == "ungated" else gate)).clamp(-fiber, fiber)
        return replace(terms, log_ratio=held(terms, gate + own))

    return stateless(apply, needs=needs, place="ratio")


def budgets(terms: Terms, budget: float) -> torch.Tensor:
    """What the other tokens of its sequence leave of `budget` per token [N]: `|y| budget - sum_(s != t) |r_s - 1|`.

    It may be negative; 0 on masked rows.
    """
    moved = torch.expm1(column(terms, "log_ratio", "budgets")).abs()
    sums = summed(terms, held(terms, moved))
    return held(terms, counted(terms, rows_of(terms)) * budget - (sums - moved))


@register(
    "objective",
    "share_budget_guess",
    paper="2603.08239",
    status="experimental",
    confidence="guess",
    on_policy="reinforce",
    across="sequence",
)
def share_budget_guess(budget: float = 0.2, through: bool = False) -> Objective:
    """APC as we read it: a token may move as far as the others of its sequence leave of a common budget.

    When to use: to try FiberPO's exact trust region of a whole sequence; beyond it all of a sequence's tokens stop.

    Maths: `loss_t = -(1 + clip(r_t - 1, +-max(b_t, 0))) A_t` [N], `b_t = |y| budget - sum_(s != t) |r_s - 1|`.

    Args:
        budget: the mean |r - 1| that a sequence may have, >= 0.
        through: let gradients flow through the budget too; else it is a constant.

    Returns: A part of place `surrogate` that sets `loss` [N] and the metric `budget_bound`, the share of tokens at their bound. A sequence
    must lie in one micro-batch.
    Special cases: masked rows give 0.
    Example: `share_budget_guess()`
    Reference: APC-Obj of Li et al., 2026, arXiv 2603.08239; unofficial code that cites its Eq. 3. Differs from the paper: whether the
    budget is differentiated was not read.
    """
    if not budget >= 0:
        raise PartError(f"share_budget_guess: budget is {budget}; it must be >= 0")

    def apply(terms: Terms) -> Terms:
        moved = torch.expm1(column(terms, "log_ratio", "share_budget_guess"))
        left = budgets(terms, budget).clamp(min=0)
        left = left if through else left.detach()
        kept = torch.minimum(torch.maximum(moved, -left), left)
        loss = -(1 + kept) * held(terms, terms.advantage)
        return note(replace(terms, loss=loss), budget_bound=held(terms, kept != moved))

    return stateless(apply, place="surrogate")
