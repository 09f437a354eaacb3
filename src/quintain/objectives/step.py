"""What decides for a whole step: a dual variable, clip bounds that are searched for.

Both read sums over all micro-batches and ranks, so that how a step is cut changes nothing, and move once per optimizer step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from quintain.objectives._rows import add_extra, gap, held, note, rows_of, stream
from quintain.objectives.ratio import needs_of
from quintain.objectives.surrogate import bounded
from quintain.parts import Objective, PartError, Sums, Transform
from quintain.registry import register, unknown
from quintain.types import Terms


def sums_of(terms: Terms, key: str, measure: Callable[[Terms], Sums]) -> Sums:
    """The step's sums if `key` is among its totals, else those of the terms alone, which are then the whole step."""
    return terms.totals if key in terms.totals else measure(terms)


@register(
    "objective", "penalise_ratio", paper="2601.03320", status="paper", confidence="note", example={"anchor": "old"}
)
def penalise_ratio(
    anchor: str, strength: float = 0.04, delta: float = 0.02, rate: float = 0.1, most: float = 100.0
) -> Objective:
    """Penalise the second moment of the ratio, with a strength that dual ascent moves until a target is met.

    When to use: in place of a clip, after `unclipped`: every token keeps a gradient, that of far ones turns round.

    Maths: `extra_t += rl_t lam (q_t - 1)^2` [N], `q_t = exp(new_t - anchor_t)`; coefficient `2 lam q_t (q_t - 1)`. After each optimizer
    step `lam <- clip(lam + rate (E[(q - 1)^2] - delta), 0, most)`, the mean over all trained tokens of the step.

    Args:
        anchor: denominator of the ratio: `rollout`, for which the moment is the ratio's variance, or `old`.
        strength: `lam` before the first step, >= 0.
        delta: the second moment that is aimed at, >= 0.
        rate: step of the dual ascent, >= 0; 0 holds `lam`.
        most: upper bound of `lam`, >= strength, so that one far batch does not end learning.

    Returns: A part of place `regulariser` whose state is `{"strength": lam}`; notes `ratio_moment` and `ratio_strength`.
    Special cases: masked rows give 0; a step without tokens leaves `lam` as it is; the log-ratio is bounded at 20 nats.

    Example:
        >>> penalise_ratio(anchor="rollout").init()
        {'strength': 0.04}

    Reference: R2VPO, arXiv 2601.03320 (abstract; an open implementation was read). Differs from the paper: `delta`, `rate` are not its own,
    and `most`.
    """
    needs = needs_of(anchor, "penalise_ratio")
    if not (0 <= strength <= most and delta >= 0 and rate >= 0):
        raise PartError(
            f"penalise_ratio: strength is {strength}, most {most}, delta {delta} and rate {rate}; they must satisfy "
            "0 <= strength <= most, 0 <= delta, 0 <= rate"
        )
    key = f"penalise_ratio:{anchor}"

    def square(terms: Terms) -> torch.Tensor:
        return torch.expm1(gap(terms, anchor, "penalise_ratio")).square()

    def measure(terms: Terms) -> Sums:
        return {f"{key}:sum": float(square(terms).detach().sum()), f"{key}:count": float(rows_of(terms).sum())}

    def apply(terms: Terms, state: Any) -> tuple[Terms, Any]:
        found, now = square(terms), state["strength"]
        sums = sums_of(terms, f"{key}:sum", measure)
        out = add_extra(terms, stream(terms, "rl") * now * found)
        out = note(out, ratio_moment=found, ratio_strength=now * terms.mask)
        if sums[f"{key}:count"]:
            moment = sums[f"{key}:sum"] / sums[f"{key}:count"]
            now = min(max(now + rate * (moment - delta), 0.0), most)
        return out, {"strength": now}

    return Transform(lambda: {"strength": strength}, apply, frozenset(needs), measure, "regulariser")


STATISTICS = ("surrogate", "gradient")


def grid(ends: Sequence[float], step: float) -> list[float]:
    """From the first end to the last one in steps, both among them."""
    found = [float(ends[0])]
    while found[-1] < ends[1]:
        found.append(min(found[-1] + step, float(ends[1])))
    return found


def search_bounds(positive: Sequence[float], negative: Sequence[float], target: float) -> list[tuple[int, int, float]]:
    """The (low, high) places tried and the share found at each: low rises to its end, then high, until `target` is met.

    `positive` holds the sum of the positive contributions at each upper bound, `negative` the size of the negative ones at each lower
    bound; the last place is the one to use.
    """
    at = [(i, 0) for i in range(len(negative))] + [(len(negative) - 1, j) for j in range(1, len(positive))]
    tried = []
    for low, high in at:
        tried.append((low, high, float(positive[high]) / (float(negative[low]) + 1e-8)))
        if tried[-1][2] >= target:
            break
    return tried


def contributions(
    ratio: torch.Tensor, advantage: torch.Tensor, bounds: Sequence[float], statistic: str
) -> list[torch.Tensor]:
    """Size of what the tokens of one sign of advantage add at each bound: upper ones if the advantages are positive.

    With `surrogate` a bounded token counts at the bound, with `gradient` it counts nothing.
    """
    size, up = advantage.abs(), bool((advantage > 0).any())
    out = []
    for bound in bounds:
        kept = ratio.clamp(max=bound) if up else ratio.clamp(min=bound)
        if statistic == "gradient":
            kept = torch.where(kept == ratio, ratio, 0)
        out.append(torch.dot(kept, size))
    return out


@register(
    "objective",
    "adaptive_clip",
    paper="2510.18927",
    status="paper",
    confidence="code",
    on_policy="reinforce",
    across=True,
    example={"anchor": "old"},
)
def adaptive_clip(
    anchor: str,
    low: Sequence[float] = (0.6, 0.9),
    high: Sequence[float] = (1.2, 3.0),
    step: Sequence[float] = (0.05, 0.05),
    target: float = 1.0,
    statistic: str = "surrogate",
) -> Objective:
    """PPO's clip with bounds that every step searches for, so that tokens to reinforce weigh enough beside the others.

    When to use: off-policy data on which negative advantages dominate and entropy falls: BAPO.

    Maths: with `r_t = exp(new_t - anchor_t)` [N], from `(low[0], high[0])` raise the lower bound by `step` up to `low[1]`, then the upper
    one up to `high[1]`, until `P(c_high) / N(c_low) >= target`, `P = sum_(A>0) min(r, c_high) A`, `N = |sum_(A<0) max(r, c_low) A|` over
    the whole step. Then `loss_t = -min(r_t A_t, clip(r_t, c_low, c_high) A_t)`.

    Args:
        anchor: denominator of the ratio, `old` or `rollout`.
        low: first and last lower bound of the ratio, 0 <= first <= last <= 1.
        high: first and last upper bound, 1 <= first <= last.
        step: by which the lower and the upper bound rise, > 0.
        target: positive over negative, >= 0; a positive share rho is `rho / (1 - rho)`: the half is 1.
        statistic: `surrogate`, as released, in which a bounded token counts at its bound, so that raising the lower one never helps;
            `gradient`, ours, counts only tokens whose gradient survives.

    Returns: A part of place `surrogate` that sets `loss` [N] and `log_ratio` and notes `clipped`, `clip_low`, `clip_high` and
    `positive_over_negative`.
    Special cases: a step without negative advantages keeps the first bounds, one without positive ones takes the last; masked rows give 0.
    Example: `adaptive_clip(anchor="rollout")`
    Reference: BAPO, arXiv 2510.18927, read in the authors' code. Differs from the paper: contributions follow the code; `gradient` is ours.
    """
    needs = needs_of(anchor, "adaptive_clip")
    if statistic not in STATISTICS:
        raise PartError(unknown("statistic of adaptive_clip", statistic, STATISTICS))
    if not (0 <= low[0] <= low[1] <= 1 <= high[0] <= high[1] and min(step) > 0 and target >= 0):
        raise PartError(
            f"adaptive_clip: low is {low}, high {high}, step {step} and target {target}; they must satisfy "
            "0 <= low[0] <= low[1] <= 1 <= high[0] <= high[1], step > 0, target >= 0"
        )
    lows, highs, key = grid(low, step[0]), grid(high, step[1]), f"adaptive_clip:{anchor}:{statistic}"

    def measure(terms: Terms) -> Sums:
        advantage = held(terms, terms.advantage)
        ratio = gap(terms, anchor, "adaptive_clip").detach().exp()
        sides = ((advantage > 0, highs), (advantage < 0, lows))
        up, down = (torch.stack(contributions(ratio[at], advantage[at], bounds, statistic)) for at, bounds in sides)
        return {f"{key}:positive": up.double(), f"{key}:negative": down.double()}

    def apply(terms: Terms) -> Terms:
        sums = sums_of(terms, f"{key}:positive", measure)
        least, most, share = search_bounds(sums[f"{key}:positive"], sums[f"{key}:negative"], target)[-1]
        advantage, apart = held(terms, terms.advantage), gap(terms, anchor, "adaptive_clip")
        loss, acted = bounded(apart, advantage, lows[least], highs[most])
        ones = terms.mask.to(loss.dtype)
        return note(
            replace(terms, loss=loss, log_ratio=apart),
            clipped=acted,
            clip_low=lows[least] * ones,
            clip_high=highs[most] * ones,
            positive_over_negative=share * ones,
        )

    return Transform(lambda: None, lambda t, s: (apply(t), s), frozenset(needs), measure, "surrogate")
