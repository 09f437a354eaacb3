"""Losses that set the right answers of a group against its wrong ones: DRPO, DPO. A group may be cut over micro-batches and ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import torch

from quintain.objectives._rows import (
    add_extra,
    averaged,
    column,
    counted,
    held,
    note,
    once,
    only,
    rows_of,
    segments,
    sloped,
    stream,
    summed,
    total,
)
from quintain.objectives.preference import dpo
from quintain.objectives.ratio import needs_of
from quintain.objectives.step import sums_of
from quintain.parts import Objective, PartError, Sums, Transform
from quintain.registry import register
from quintain.types import Terms

LARGE = 600.0  # nats: what a float64 can still raise e to, and add
GROUPS = 4096  # of a step


class Answers(NamedTuple):
    """Of each row's sequence: its `side` (+1 right, -1 wrong, 0 neither) by the sign of its advantage, its `length`, and `first`."""

    side: torch.Tensor
    length: torch.Tensor
    first: torch.Tensor


def firsts(terms: Terms) -> torch.Tensor:
    """Rows [N] bool, one for each sequence that the policy term reads."""
    rows = rows_of(terms)

    def find() -> torch.Tensor:
        at, slots = segments(terms)
        numbers = torch.arange(len(at), device=at.device)
        first = torch.full((slots,), len(at), device=at.device).scatter_reduce(0, at[rows], numbers[rows], "amin")
        out = torch.zeros_like(rows)
        out[first[first < len(at)]] = True
        return out

    return once(terms, "firsts", (rows, terms.sequence), find)


def answers(terms: Terms) -> Answers:
    """The sides, lengths and first rows of the sequences [N]."""
    sums = summed(terms, held(terms, terms.advantage.detach()).double())
    return Answers(held(terms, sums.sign()), counted(terms, rows_of(terms)).double(), firsts(terms))


def mean_score(terms: Terms) -> torch.Tensor:
    """Row -> the mean logprob of its sequence's tokens [N] float64, a constant."""
    return averaged(terms, held(terms, terms.new.detach()).double())


def short_weight(length: torch.Tensor, limit: float, temperature: float) -> torch.Tensor:
    """`exp((1 - length / limit) / temperature)`, float64: the weight of right answers before it is normalised."""
    return ((1 - length.double() / limit) / temperature).clamp(-LARGE, LARGE).exp()


def tables(terms: Terms, key: str, **figures: torch.Tensor) -> Sums:
    """Per group, the sums [GROUPS] of figures [N] float64 over its sequences."""
    first = firsts(terms)
    at = terms.group[first]
    if len(at) and not 0 <= int(at.min()) <= int(at.max()) < GROUPS:
        raise PartError(f"{key}: group {int(at.max())} of a step; it compares at most {GROUPS} groups, take fewer")
    none = torch.zeros(GROUPS, dtype=torch.float64, device=at.device)
    return {f"{key}:{name}": none.index_add(0, at, values[first].double()) for name, values in figures.items()}


def read(sums: Mapping[str, Any], key: str, name: str, terms: Terms) -> torch.Tensor:
    """Row -> the sum of its group [N] float64."""
    table = torch.as_tensor(sums[f"{key}:{name}"], dtype=torch.float64, device=terms.group.device)
    return table[held(terms, terms.group)]


def as_loss(terms: Terms, slope: torch.Tensor, worth: torch.Tensor, length: torch.Tensor) -> Terms:
    """Rows whose token mean is the sum of `worth` over sequences, by groups, with the coefficient `slope` by groups, both [N]."""
    share = float(total(terms, "tokens")) / float(total(terms, "groups"))
    slope, worth = (held(terms, one).to(terms.new.dtype) for one in (slope, worth / length))
    return replace(terms, loss=share * sloped(terms.new, worth, slope))


@register(
    "objective",
    "contrast_answers",
    paper="2510.04474",
    status="paper",
    confidence="code",
    across=True,
    example={"limit": 16},
)
def contrast_answers(limit: float, tau: float = 10.0, lam: float = 0.1) -> Objective:
    """Raise right answers, short ones most, against the likeliest wrong ones of their group.

    When to use: answers that grow too long: length is weighed among right answers only, so that no right answer is pushed down: DRPO.
    `token_mean` must follow.

    Maths: `s_i = mean_t new_t`; per group `-(sum_+ w_i s_i - tau log mean_- exp(s_j / tau))`, `w_i` in proportion to `exp((1 - |y_i| /
    limit) / lam)` and 1 in sum; the mean over groups. Right is a positive sum of advantages.

    Args:
        limit: length to measure by, in tokens, > 0.
        tau: temperature of the wrong answers, > 0.
        lam: temperature of the lengths, > 0.

    Returns: A part of place `surrogate` that sets `loss` [N] and notes `contrasted`, the share of tokens in groups of both sides.
    Special cases: a group of one side gives 0 but counts in the mean; exponents are bounded at 600.
    Example: `contrast_answers(limit=256)`
    Reference: DRPO, arXiv 2510.04474 (decoupled reward), read in the authors' code. Differs from the paper: the printed value is the loss.
    """
    if not min(limit, tau, lam) > 0:
        raise PartError(f"contrast_answers: limit is {limit}, tau {tau} and lam {lam}; all must be > 0")
    key = f"contrast_answers:{limit}:{tau}:{lam}"

    def figures(terms: Terms) -> tuple[Answers, torch.Tensor, torch.Tensor]:
        found = answers(terms)
        right = torch.where(found.side > 0, short_weight(found.length, limit, lam), 0)
        wrong = (mean_score(terms) / tau).clamp(-LARGE, LARGE).exp()
        return found, right, torch.where(found.side < 0, wrong, 0)

    def measure(terms: Terms) -> Sums:
        found, right, wrong = figures(terms)
        return tables(terms, key, right=right, wrong=wrong, count=found.side < 0)

    def apply(terms: Terms) -> Terms:
        sums = sums_of(terms, f"{key}:right", measure)
        found, right, wrong = figures(terms)
        rights, wrongs, count = (read(sums, key, name, terms) for name in ("right", "wrong", "count"))
        both = rows_of(terms) & (rights > 0) & (wrongs > 0)
        share = torch.where(both, wrong / wrongs - right / rights, 0)
        level = tau * (wrongs / count.clamp(min=1)).log() / count.clamp(min=1)
        worth = torch.where(found.side > 0, share * mean_score(terms), torch.where(found.side < 0, level, 0))
        return note(as_loss(terms, share / found.length, only(both, worth), found.length), contrasted=both)

    return Transform(lambda: None, lambda t, s: (apply(t), s), frozenset(), measure, "surrogate")


@register("objective", "prefer_answers", paper="2305.18290", status="paper", confidence="paper", across=True)
def prefer_answers(beta: float = 0.1, imitate: float = 0.0) -> Objective:
    """Prefer the right answers of a group to its wrong ones, measured from the reference policy: DPO.

    When to use: a cold start from pairs, chosen and rejected, as groups of two rewards; SPECS adds imitation. `token_mean` must follow.

    Maths: with `c` and `r` the means over right and wrong answers of `sum_t (new_t - ref_t)`: `-log sigmoid(beta (c - r))`, plus `imitate`
    times the mean over right answers of `-mean_t new_t`; the mean over groups.

    Args:
        beta: strength of the tie to the reference policy, > 0.
        imitate: strength of the likelihood of right answers, >= 0.

    Returns: A part of place `surrogate` that sets `loss` [N] and notes `preferred`, the share of tokens whose group prefers its right
    answers already.
    Special cases: a group of one side gives 0 but counts in the mean. Right is a positive sum of advantages.
    Example: `prefer_answers()`
    Reference: Rafailov et al., 2023, arXiv 2305.18290. Differs from the paper: groups may hold more than a pair.
    """
    if not (beta > 0 and imitate >= 0):
        raise PartError(f"prefer_answers: beta is {beta} and imitate {imitate}; beta > 0 and imitate >= 0 must hold")
    key = f"prefer_answers:{beta}"

    def gap(terms: Terms) -> torch.Tensor:
        return summed(terms, held(terms, terms.new - column(terms, "ref", "prefer_answers")).detach().double())

    def measure(terms: Terms) -> Sums:
        side, moved = answers(terms).side, gap(terms)
        up, down = side > 0, side < 0
        return tables(
            terms, key, up=torch.where(up, moved, 0), down=torch.where(down, moved, 0), ups=up, downs=down
        )  # fmt: skip

    def apply(terms: Terms) -> Terms:
        sums, found = sums_of(terms, f"{key}:up", measure), answers(terms)
        up, down, ups, downs = (read(sums, key, name, terms) for name in ("up", "down", "ups", "downs"))
        both, right = rows_of(terms) & (ups > 0) & (downs > 0), found.side > 0
        ups, downs = ups.clamp(min=1), downs.clamp(min=1)
        margin, none = up / ups - down / downs, torch.zeros_like(up)
        pull = beta * torch.sigmoid(-beta * margin)
        slope = torch.where(right, -pull / ups - imitate / (ups * found.length), pull / downs)
        worth = dpo(margin, none, none, none, beta) / (ups + downs)
        worth = worth + torch.where(right, -imitate * mean_score(terms) / ups, 0)
        told = both & (found.side != 0)
        return note(as_loss(terms, only(told, slope), only(told, worth), found.length), preferred=both & (margin > 0))

    return Transform(lambda: None, lambda t, s: (apply(t), s), frozenset({"ref"}), measure, "surrogate")


@register("objective", "hinge_kl", paper="2510.04474", status="paper", confidence="code")
def hinge_kl(coef: float = 1e3, bound: float = 1e-4, to: str = "old") -> Objective:
    """Pull the policy back as soon as its mean log-ratio to another one leaves a bound, the harder the farther.

    When to use: after `contrast_answers`, which has no trust region of its own: DRPO.

    Maths: `K = mean_t (to_t - new_t)` over the step; `extra_t += rl_t coef max(0, K - bound) (to_t - new_t)`, the factor a constant.

    Args:
        coef: strength per nat, >= 0.
        bound: nats that are free.
        to: `old` or `rollout`.

    Returns: A part of place `regulariser` that notes `kl_mean` and `kl_hinge`, the factor.
    Special cases: on-policy it is 0; masked rows give 0.
    Example: `hinge_kl()`
    Reference: DRPO, arXiv 2510.04474 (decoupled reward), read in the authors' code. Differs from the paper: nothing known.
    """
    needs = needs_of(to, "hinge_kl")
    if not coef >= 0:
        raise PartError(f"hinge_kl: coef is {coef}; it must be >= 0")

    def gap(terms: Terms) -> torch.Tensor:
        return held(terms, column(terms, to, "hinge_kl").detach() - terms.new)

    def measure(terms: Terms) -> Sums:
        return {
            f"hinge_kl:{to}:sum": float(gap(terms).detach().double().sum()),
            f"hinge_kl:{to}:count": float(rows_of(terms).sum()),
        }

    def apply(terms: Terms) -> Terms:
        sums = sums_of(terms, f"hinge_kl:{to}:sum", measure)
        mean = sums[f"hinge_kl:{to}:sum"] / max(sums[f"hinge_kl:{to}:count"], 1.0)
        factor, away = coef * max(0.0, mean - bound), gap(terms)
        out = note(terms, kl_mean=away, kl_hinge=factor * terms.mask.to(away.dtype))
        return add_extra(out, stream(terms, "rl") * factor * away)

    return Transform(lambda: None, lambda t, s: (apply(t), s), frozenset(needs), measure, "regulariser")
