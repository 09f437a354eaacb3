"""Terms of one message: ratios and masks over the tokens between two answers of the environment, and sums over turns."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from quintain.objectives._rows import (
    LIMIT,
    add_extra,
    averaged,
    column,
    counted,
    held,
    leave_out,
    note,
    rows_of,
    stream,
    summed,
    total,
)
from quintain.objectives.preference import fit_advantage
from quintain.objectives.ratio import needs_of
from quintain.objectives.step import sums_of
from quintain.parts import Objective, PartError, Sums, Transform, stateless
from quintain.registry import register
from quintain.types import Terms


def chunk_mean(terms: Terms, values: torch.Tensor, part: str) -> torch.Tensor:
    """Row -> the mean of `values` [N] over the trained tokens of its message; gradients flow. 0 outside."""
    column(terms, "turn", part)
    return averaged(terms, held(terms, values), "turn", LIMIT)


@register(
    "objective", "chunk_ratio", paper="2512.24873", status="paper", confidence="note", example={"anchor": "rollout"},
    across="sequence",
)  # fmt: skip
def chunk_ratio(anchor: str) -> Objective:
    """One ratio for all tokens of a message: the geometric mean of theirs.

    When to use: agents, whose unit of action is what they say between two answers of the environment (IPA).

    Maths: `log_ratio_t = 1/|c| sum_(s in c) (new_s - anchor_s)` [N] for every token t of the message c.

    Args:
        anchor: `old` or `rollout`, as in `token_ratio`.

    Returns: A part of place `ratio` that sets `log_ratio` [N]; it needs `turn`, the message of each token.
    Special cases: masked rows have log-ratio 0; beyond 20 nats the ratio is constant with coefficient 0. With one message per sequence this
    is `sequence_ratio`.
    Example: `chunk_ratio(anchor="old")`
    Reference: IPA (ROME), 2025, arXiv 2512.24873. Differs from the paper: the limit of 20 nats; read in notes.
    """
    needs = (*needs_of(anchor, "chunk_ratio"), "turn")

    def apply(terms: Terms) -> Terms:
        base = column(terms, anchor, "chunk_ratio").detach()
        return replace(terms, log_ratio=chunk_mean(terms, terms.new - base, "chunk_ratio"))

    return stateless(apply, needs=needs, place="ratio")


@register("objective", "mask_chunks", paper="2512.24873", status="paper", confidence="note", across="sequence")
def mask_chunks(most: float = 2.0) -> Objective:
    """Leave out messages that the learner finds far likelier than the engine did that sampled them.

    When to use: with `chunk_ratio`, on stale data.

    Maths: `weight_t *= [exp(1/|c| sum_(s in c) (new_s - rollout_s)) <= most]` [N], a constant.

    Args:
        most: the largest geometric mean that is kept, >= 1; the paper's was not read.

    Returns: A part of place `weight` that changes `weight` [N] and notes `rejected`; it needs `turn`.
    Special cases: masked rows have weight 1.
    Example: `mask_chunks()`
    Reference: IPA (ROME), 2025, arXiv 2512.24873. Differs from the paper: read in notes; the learner as it is now.
    """
    if not most >= 1:
        raise PartError(f"mask_chunks: most is {most}; it must be >= 1")

    def apply(terms: Terms) -> Terms:
        gap = chunk_mean(terms, (terms.new - terms.rollout).detach(), "mask_chunks")
        out = gap > math.log(most)
        return note(leave_out(terms, out), rejected=out)

    return stateless(apply, needs=("turn",), place="weight")


@register("objective", "taper", paper="2512.24873", status="paper", confidence="note", on_policy="reinforce")
def taper(cap: float = 1.0) -> Objective:
    """Imitate what went well as it is; push away what went badly only as far as the policy still does it.

    When to use: stale or foreign data, after a ratio part: positives cannot be lost, negatives cannot run away (IPA).

    Maths: `loss_t = -w_t A_t new_t` [N], the constant `w_t = 1` for `A_t > 0`, else `min(exp(log_ratio_t), cap)`.

    Args:
        cap: the largest weight of a negative, > 0.

    Returns: A part of place `surrogate` that sets `loss` [N] and notes `tapered`, the share of tokens whose cap acts.
    Special cases: masked rows give 0. The value of the loss means nothing; its gradient does.
    Example: `taper()`
    Reference: IPA (ROME), 2025, arXiv 2512.24873. Differs from the paper: read in notes.
    """
    if not cap > 0:
        raise PartError(f"taper: cap is {cap}; it must be > 0")

    def apply(terms: Terms) -> Terms:
        ratio, advantage = column(terms, "log_ratio", "taper").detach().exp(), held(terms, terms.advantage)
        weight = torch.where(advantage > 0, torch.ones_like(ratio), ratio.clamp(max=cap))
        loss = -weight * advantage * held(terms, terms.new)
        return note(replace(terms, loss=loss), tapered=held(terms, (advantage < 0) & (ratio > cap)))

    return stateless(apply, place="surrogate")


@register("objective", "fit_progress", paper="2505.20732", status="paper", confidence="code", across="sequence")
def fit_progress(coef: float = 1.0) -> Objective:
    """Have the value head's figures add up to the outcome: what each says is the share of it that its token earned.

    When to use: with `redistribute`, which pays turns by it and sets the stream `return` to the outcome (SPA-RL).

    Maths: `extra_t += coef rl_t (sum_(s in y) v_s - R_t)^2` [N] on every token t of the sequence y, so that a sequence mean is the mean
    squared error over sequences.

    Args:
        coef: strength, >= 0.

    Returns: A part of place `regulariser` that notes `progress_loss`. A sequence must lie in one micro-batch.
    Special cases: masked rows give 0; the gradient flows through `value` alone.
    Example: `fit_progress()`
    Reference: SPA-RL, 2025, arXiv 2505.20732. Differs from the paper: a head over tokens, trained beside the policy.
    """
    if not coef >= 0:
        raise PartError(f"fit_progress: coef is {coef}; it must be >= 0")

    def apply(terms: Terms) -> Terms:
        value, goal = (held(terms, column(terms, name, "fit_progress")) for name in ("value", "returns"))
        loss = held(terms, (summed(terms, value) - goal).square())
        return add_extra(note(terms, progress_loss=loss), coef * stream(terms, "rl") * loss)

    return stateless(apply, needs=("value",), place="regulariser")


@register(
    "objective", "fit_steps_guess", status="experimental", confidence="guess", across=True, example={"beta": 0.5}
)  # fmt: skip
def fit_steps_guess(beta: float = 0.5) -> Objective:
    """Fit the log-ratio of each message to its advantage by squares.

    When to use: advantages of a frozen critic, `V(s') - V(s)`, on messages: Direct Advantage. `token_mean` must follow.

    Maths: `1/2 (beta sum_(t in c) (new_t - ref_t) - A_c)^2`, `A_c` the message's mean advantage; the mean over messages.

    Args:
        beta: units of advantage per nat, > 0.

    Returns:
        A part of place `surrogate` that sets `loss` [N]; it needs `ref` and `turn`.

    Raises:
        PartError: beta is not positive.

    Special cases: masked rows give 0.

    Example:
        >>> sorted(fit_steps_guess().needs)
        ['ref', 'turn']

    Reference: Direct Advantage Policy Optimization (a summary). Differs from the paper: the scaling is ours.
    """
    if not beta > 0:
        raise PartError(f"fit_steps_guess: beta is {beta}; it must be > 0")

    def counts(terms: Terms) -> torch.Tensor:
        column(terms, "turn", "fit_steps_guess")
        return counted(terms, rows_of(terms), "turn")

    def measure(terms: Terms) -> Sums:
        return {"fit_steps:count": float(held(terms, 1 / counts(terms)).double().sum())}

    def apply(terms: Terms) -> Terms:
        many, before = counts(terms), column(terms, "ref", "fit_steps_guess").detach()
        moved, advantage = (summed(terms, held(terms, x), "turn") for x in (terms.new - before, terms.advantage))
        share = float(total(terms, "tokens")) / max(sums_of(terms, "fit_steps:count", measure)["fit_steps:count"], 1.0)
        return replace(terms, loss=held(terms, share * fit_advantage(moved, advantage / many, beta) / many))

    return Transform(lambda: None, lambda t, s: (apply(t), s), frozenset({"ref", "turn"}), measure, "surrogate")
