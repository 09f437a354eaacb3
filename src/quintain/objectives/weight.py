"""Off-policy weights: constants that scale the policy term, and not the regularisers after it.

The step's denominators stay those of all trained tokens: what is rejected here does not inflate what is left.
"""

from __future__ import annotations

import math

import torch

from quintain.objectives._rows import (
    averaged,
    column,
    counted,
    held,
    leave_out,
    note,
    once,
    rows_of,
    segments,
    summed,
    weigh,
)
from quintain.objectives.ratio import needs_of
from quintain.parts import Objective, PartError, Sums, Transform, stateless
from quintain.registry import register, unknown
from quintain.types import Terms

OVER = ("token", "sum", "mean", "max")
PLAIN = ("token", "sum", "mean")  # of a log-ratio: a token's own, the sequence's product, its geometric mean
OF = ("old", "new")


def apart(terms: Terms, part: str, of: str = "old", over: str = "token") -> torch.Tensor:
    """`log(of / rollout)` in nats [N], a constant: a token's own, or the sum or mean over its sequence's tokens.

    Rows that the policy term leaves out have 0.
    """
    gap = held(terms, column(terms, of, part).detach() - terms.rollout.detach())
    if over == "token":
        return gap
    return averaged(terms, gap) if over == "mean" else held(terms, summed(terms, gap))


def mismatch(terms: Terms, part: str, of: str = "old", over: str = "token") -> torch.Tensor:
    """`apart` [N], bounded where the type cannot raise e to it, so that weights are finite."""
    base = column(terms, of, part)
    bound = math.log(torch.finfo(base.dtype).max) - 1

    def find() -> torch.Tensor:
        return apart(terms, part, of, over).clamp(-bound, bound)

    return once(terms, f"mismatch:{of}:{over}", (base, terms.rollout, rows_of(terms)), find)


def deviation(terms: Terms, part: str, kind: str, of: str = "old", over: str = "token") -> torch.Tensor:
    """K2 or K3 of `log(of / rollout)` [N], >= 0: a token's own, or the sum, mean or max over its sequence's tokens."""
    gap = -mismatch(terms, part, of)
    value = gap.square() / 2 if kind == "k2" else torch.expm1(-gap) + gap
    if over == "token":
        return value
    if over == "max":
        at, slots = segments(terms)
        top = value.new_zeros(slots).scatter_reduce(0, at, value, "amax")
        return held(terms, top.index_select(0, at))
    return averaged(terms, value) if over == "mean" else held(terms, summed(terms, value))


def _needs(part: str, of: str, over: str, known: tuple[str, ...] = PLAIN) -> tuple[str, ...]:
    if over not in known:
        raise PartError(unknown(f"`over` of {part}", over, known))
    return needs_of(of, part, OF)


def _weight_part(name: str, weigh_rows: object, of: str, over: str, normalised: bool) -> Objective:
    """The part of a weight [N] and of the rows that it changed, `weigh_rows(log ratio)`, perhaps over its mean."""
    key = f"{name}:{of}:{over}"

    def weights(terms: Terms) -> tuple[torch.Tensor, torch.Tensor]:
        return weigh_rows(mismatch(terms, name, of, over))  # pyrefly: ignore

    def measure(terms: Terms) -> Sums:
        """Weights and how many there are: of tokens, or of sequences, each of which counts once."""
        rows = rows_of(terms)
        share = rows.to(terms.new.dtype)
        if over != "token":
            share = share / counted(terms, rows)
        return {f"{key}:sum": float((weights(terms)[0] * share).sum()), f"{key}:count": float(share.sum())}

    def apply(terms: Terms) -> Terms:
        weight, acted = weights(terms)
        if normalised:
            sums = terms.totals if f"{key}:sum" in terms.totals else measure(terms)
            mean = sums[f"{key}:sum"] / max(sums[f"{key}:count"], 1.0)
            weight = weight / mean if mean > 0 else weight
        rows = rows_of(terms)
        return note(weigh(terms, torch.where(rows, weight, 1)), mismatch_capped=held(terms, acted))

    needs = frozenset(_needs(name, of, over))
    return Transform(lambda: None, lambda t, s: (apply(t), s), needs, measure if normalised else None, "weight")


@register(
    "objective", "truncate_mismatch", paper="2505.24298", status="paper", confidence="code", on_policy="reinforce"
)
def truncate_mismatch(cap: float = 2.0, over: str = "token", of: str = "old", normalised: bool = False) -> Objective:
    """Weigh by how much likelier the learner found the tokens than the engine that sampled them, up to a cap.

    When to use: after a surrogate anchored at `old`, when engine and learner differ or data are stale: truncated importance sampling (TIS),
    and the weight of decoupled PPO.

    Maths: `weight_t *= min(w_t, cap)` [N], a constant, with `w_t = exp(old_t - rollout_t)`, or the product or geometric mean of those over
    the sequence. Coefficient: the surrogate's, times it.

    Args:
        cap: the largest weight, > 0; 2 is common, 1.5 to 5 in use.
        over: `token`; `sum`, the sequence's product (variance grows with its length: 100 tokens at 1.1 give 13,780); `mean`, its geometric
            mean.
        of: `old`, or `new` in a chain without `old` (never beside a ratio anchored at `rollout`, which holds it).
        normalised: divide by the mean weight of the step, after the cap: over tokens, or over sequences.

    Returns: A part of place `weight` that sets `weight` [N] and notes `mismatch_capped`, the share of tokens whose cap acts.
    Special cases: masked rows have weight 1; where engine and learner agree this changes nothing.
    Example: `truncate_mismatch(cap=2.0)`
    Reference: Fu et al., 2025, arXiv 2505.24298; options read in verl. Differs from the paper: a cap where the release can also mask
    (`mask_mismatch`).
    """
    if not cap > 0:
        raise PartError(f"truncate_mismatch: cap is {cap}; it must be > 0")

    def rows(gap: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        raw = gap.exp()
        return raw.clamp(max=cap), raw > cap

    return _weight_part("truncate_mismatch", rows, of, over, normalised)


@register("objective", "mask_mismatch", paper="2510.18855", status="paper", confidence="code", on_policy="reinforce")
def mask_mismatch(
    low: float = 0.5, high: float = 2.0, over: str = "token", of: str = "old", normalised: bool = False
) -> Objective:
    """Weigh by how much likelier the learner found the tokens, and leave out those where it is outside of bounds.

    When to use: in place of `truncate_mismatch` where a huge mismatch means a broken token: IcePop, or masked importance sampling (MIS) of
    whole sequences.

    Maths: `weight_t *= w_t [low <= w_t <= high]` [N], a constant; `w_t` as in `truncate_mismatch`.

    Args:
        low: the smallest weight that is kept, in [0, 1]; 0 is none.
        high: the largest, >= 1.
        over: `token`, `sum` or `mean`, as in `truncate_mismatch`.
        of: `old`, or `new` in a chain without `old`.
        normalised: divide by the mean weight of the step, zeros included.

    Returns: A part of place `weight` that sets `weight` [N] and notes `mismatch_capped`, the share of tokens left out.
    Special cases: masked rows have weight 1; a step without any weight left is not normalised. A weight on a bound stays.
    Example: `mask_mismatch(low=0.5, high=5.0)`
    Reference: Ling Team, 2025, arXiv 2510.18855 (IcePop); the forms over sequences read in verl. Differs from the paper: nothing known.
    """
    if not 0 <= low <= 1 <= high:
        raise PartError(f"mask_mismatch: low is {low} and high is {high}; they must satisfy 0 <= low <= 1 <= high")

    def rows(gap: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        raw = gap.exp()
        out = (raw < low) | (raw > high)
        return torch.where(out, 0, raw), out

    return _weight_part("mask_mismatch", rows, of, over, normalised)


@register(
    "objective", "reject_mismatch", status="paper", confidence="code", on_policy="reinforce", example={"high": 9.0}
)
def reject_mismatch(
    by: str = "ratio", low: float = 0.999, high: float = 1.001, over: str = "mean", of: str = "old"
) -> Objective:
    """Leave out tokens or whole sequences on which engine and learner differ too much; the others keep their weight.

    When to use: beside `truncate_mismatch`, or alone (geometric rejection), against sequences that the learner would never have written.

    Maths: `weight_t *= [low <= s_t <= high]` [N]. By `ratio`: `s = exp` of the token's `old - rollout`, or of its sum or mean over the
    sequence. By `k2`: `d^2 / 2`, by `k3`: `exp(-d) - 1 + d` with `d = rollout - old`, the token's or the sum, mean or max over the
    sequence, against `high` alone.

    Args:
        by: `ratio`, `k2` or `k3`.
        low: for `ratio`, the smallest that is kept, in [0, 1].
        high: the largest that is kept: >= 1 for `ratio` (1.001 for the mean), >= 0 for `k2` and `k3` (0.001 to 0.01 for the mean).
        over: `token`, `sum`, `mean`, and `max` for `k2` and `k3`.
        of: `old`, or `new` in a chain without `old`.

    Returns: A part of place `weight` that changes `weight` [N] and notes `rejected`, the share of tokens left out.
    Special cases: masked rows have weight 1; a value on a bound stays.
    Example: `reject_mismatch(by="k3", high=0.002)`
    Reference: rollout correction of verl (read in code), arXiv 2510.18855. Differs from the release: bounds are of the statistic itself;
    there `k1` compares its negative, so that bounds that are not reciprocal are turned round.
    """
    if by not in ("ratio", "k2", "k3"):
        raise PartError(unknown("`by` of reject_mismatch", by, ("ratio", "k2", "k3")))
    needs = _needs("reject_mismatch", of, over, PLAIN if by == "ratio" else OVER)
    if not (0 <= low <= 1 <= high if by == "ratio" else high >= 0):
        need = "0 <= low <= 1 <= high" if by == "ratio" else "high >= 0"
        raise PartError(f"reject_mismatch: low is {low} and high is {high}; by {by} they must satisfy {need}")

    def apply(terms: Terms) -> Terms:
        rows = rows_of(terms)
        if by == "ratio":
            found = mismatch(terms, "reject_mismatch", of, over).exp()
            out = rows & ((found < low) | (found > high))
        else:
            out = rows & (deviation(terms, "reject_mismatch", by, of, over) > high)
        return note(leave_out(terms, out), rejected=out)

    return stateless(apply, needs=needs, place="weight")
