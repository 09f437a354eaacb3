"""Means: how rows become the scalar loss.

Denominators are the totals of the step, so that micro-batches and ranks cannot change the loss.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from quintain.objectives._rows import counted, once, only, stream, total
from quintain.parts import Objective, PartError, stateless
from quintain.registry import register
from quintain.types import Terms


def row_loss(terms: Terms) -> torch.Tensor:
    """What each row adds before averaging [N]: `rl * weight * loss + extra`, 0 outside the mask.

    Raises:
        PartError: one of them is no column [N]; a scalar would be counted once a row.
    """
    for name in ("loss", "weight", "extra"):
        found = getattr(terms, name)
        if found is not None and not isinstance(found, torch.Tensor):
            raise PartError(
                f"`{name}` is {found!r:.80}, a {type(found).__name__}; it should be a tensor, a value a token"
            )
        if found is not None and found.shape != terms.new.shape:
            raise PartError(
                f"`{name}` has the shape {list(found.shape)} before the mean; it should be {list(terms.new.shape)}, a value a token: "
                "leave rows and let one part such as token_mean() reduce them"
            )
    rows = torch.zeros_like(terms.new) if terms.loss is None else stream(terms, "rl") * terms.loss
    if terms.weight is not None:
        rows = rows * terms.weight
    rows = rows if terms.extra is None else rows + terms.extra
    return rows if once(terms, "whole", (terms.mask,), lambda: bool(terms.mask.all())) else only(terms.mask, rows)


@register("objective", "token_mean", paper="2503.14476", status="paper", confidence="code")
def token_mean() -> Objective:
    """Average over all trained tokens of the step: long answers count more than short ones.

    When to use: the default of DAPO and PPO; tokens are equal.

    Maths: `loss = sum_t x_t / T`, `x` [N] the row losses, `T = totals["tokens"]` the trained tokens of the whole step, counted before any
    rejection, so that masking a token never inflates the others.

    Returns: A part of place `mean` that reduces `loss` to a scalar, which adds up over micro-batches and ranks.
    Special cases: no token gives 0.
    Example: `token_mean()`
    Reference: Yu et al., 2025, arXiv 2503.14476. Differs from the paper: nothing.
    """
    return stateless(lambda terms: replace(terms, loss=row_loss(terms).sum() / total(terms, "tokens")), place="mean")


@register("objective", "sequence_mean", paper="2402.03300", status="paper", confidence="code")
def sequence_mean() -> Objective:
    """Average over the tokens of a sequence, then over sequences: every answer counts the same.

    When to use: GRPO as published. Tokens of long answers get small coefficients, a bias that Dr. GRPO removes.

    Maths: `loss = 1/S sum_i 1/|y_i| sum_(t in i) x_t`, `x` [N] row losses, `|y_i|` trained tokens of sequence i, `S = totals["sequences"]`
    of the whole step. A sequence must lie in one micro-batch.

    Returns: A part of place `mean` that reduces `loss` to a scalar, which adds up over micro-batches and ranks.
    Special cases: a sequence without trained tokens adds 0.
    Example: `sequence_mean()`
    Reference: Shao et al., 2024, arXiv 2402.03300. Differs from the paper: nothing.
    """

    def apply(terms: Terms) -> Terms:
        rows = row_loss(terms) / counted(terms, terms.mask)
        return replace(terms, loss=rows.sum() / total(terms, "sequences"))

    return stateless(apply, place="mean")


@register("objective", "sequence_sum", paper="2512.01374", status="paper", confidence="note")
def sequence_sum() -> Objective:
    """Sum over the tokens of a sequence, average over sequences: no length normalisation at all.

    When to use: the unbiased policy gradient of a whole episode; coefficients grow with nothing but the advantage.

    Maths: `loss = sum_t x_t / S`, `x` [N] row losses, `S = totals["sequences"]` of the whole step.

    Returns: A part of place `mean` that reduces `loss` to a scalar, which adds up over micro-batches and ranks.
    Special cases: no sequence gives 0.
    Example: `sequence_sum()`
    Reference: used by MiniRL, arXiv 2512.01374. Differs from the paper: nothing.
    """
    return stateless(lambda terms: replace(terms, loss=row_loss(terms).sum() / total(terms, "sequences")), place="mean")


@register("objective", "constant_length", paper="2503.20783", status="paper", confidence="code", example={"length": 8})
def constant_length(length: float) -> Objective:
    """Divide by a constant length instead of each answer's own: the length bias of `sequence_mean` is gone.

    When to use: Dr. GRPO.

    Maths: `loss = sum_t x_t / (S length)`, `x` [N] row losses, `S = totals["sequences"]` of the whole step.

    Args:
        length: the constant, in tokens, > 0: usually the largest number of tokens that a trajectory may sample.

    Returns: A part of place `mean` that reduces `loss` to a scalar, which adds up over micro-batches and ranks.
    Special cases: `length = 1` is `sequence_sum`.
    Example: `constant_length(length=256)`
    Reference: Liu et al., 2025, arXiv 2503.20783. Differs from the paper: nothing; one well-known release forgets the `S`.
    """
    if not length > 0:
        raise PartError(f"constant_length: length is {length} tokens; it must be > 0")
    return stateless(
        lambda terms: replace(terms, loss=row_loss(terms).sum() / (float(total(terms, "sequences")) * length)),
        place="mean",
    )
