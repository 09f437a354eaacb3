"""What objective parts share: columns without the garbage of masked rows, the weight streams, and step totals."""

from __future__ import annotations

from dataclasses import replace

import torch

from quintain.parts import PartError
from quintain.types import Terms


def held(rows: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
    """`column` [N] where `rows` [N] bool holds and exactly 0 elsewhere, so that NaN in a masked row reaches nothing."""
    return torch.where(rows, column, 0)


def rows_of(terms: Terms, name: str = "rl") -> torch.Tensor:
    """Rows [N] bool that a term of the stream `name` reads: inside the mask, and with a weight if weights are given."""
    if not terms.weights:
        return terms.mask
    weight = terms.weights.get(name)
    return torch.zeros_like(terms.mask) if weight is None else terms.mask & (weight != 0)


def stream(terms: Terms, name: str) -> torch.Tensor:
    """The weight stream `name` [N], 0 outside the mask.

    Special cases: without any weights every masked-in row counts 1 in every stream; a stream that is missing beside
    others is 0.
    """
    weight = terms.weights.get(name)
    if weight is None:
        return (torch.zeros_like(terms.mask) if terms.weights else terms.mask).to(terms.new.dtype)
    return held(terms.mask, weight).to(terms.new.dtype)


def column(terms: Terms, name: str, part: str) -> torch.Tensor:
    """The column `name` [N] of the terms.

    Raises:
        PartError: the learner did not supply it.
    """
    found = getattr(terms, name)
    if found is None:
        raise PartError(
            f"{part} reads the column {name!r}, which these terms lack; supply what `needs` names, or drop {part}"
        )
    return found


def segments(ids: torch.Tensor) -> tuple[torch.Tensor, int]:
    """Row -> slot [N] and the number of slots, for any labels `ids` [N] in any order; a slot may stay empty."""
    if len(ids) == 0:
        return ids, 0
    low, high = (int(end) for end in ids.aminmax())
    if low >= 0 and high <= 2 * len(ids):  # numbered by the packer: no sort needed
        return ids, high + 1
    names, slots = torch.unique(ids, return_inverse=True)
    return slots, len(names)


def gathered(ids: torch.Tensor, rows: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Row -> the sum of `values` [N] over the `rows` [N] of its sequence, and their number (at least 1), both [N].

    `values` must be 0 outside `rows`; gradients flow.
    """
    at, slots = segments(ids)
    sums = values.new_zeros(slots).index_add(0, at, values).index_select(0, at)
    counts = values.new_zeros(slots).index_add(0, at, rows.to(values.dtype)).index_select(0, at)
    return sums, counts.clamp(min=1)


def total(terms: Terms, name: str) -> float | torch.Tensor:
    """The step's number of `tokens`, `sequences` or `groups`, at least 1.

    A count with the prefix `all_`, which includes rows that were left out because their coefficient is 0, is preferred.

    Special cases: with empty totals (a part used on its own) the terms are the whole step: their masked-in rows, and
    the distinct ids of all their rows.

    Raises:
        PartError: totals are given but `name` is not among them.
    """
    if terms.totals:
        count = terms.totals.get(f"all_{name}", terms.totals.get(name))
        if count is None:
            raise PartError(
                f"totals hold {', '.join(sorted(terms.totals))} but not {name!r}, which the mean divides by"
            )
        return max(float(count), 1.0)
    if name == "tokens":
        return terms.mask.sum().clamp(min=1)
    return max(len(torch.unique({"sequences": terms.sequence, "groups": terms.group}[name])), 1)


def weigh(terms: Terms, factor: torch.Tensor) -> Terms:
    """Multiply the weight of the policy term by the constant `factor` [N]."""
    factor = factor.detach()
    return replace(terms, weight=factor if terms.weight is None else terms.weight * factor)


def add_extra(terms: Terms, rows: torch.Tensor) -> Terms:
    """Add `rows` [N] to the regularisers."""
    return replace(terms, extra=rows if terms.extra is None else terms.extra + rows)


def note(terms: Terms, **rows: torch.Tensor) -> Terms:
    """Add metrics: the sum of each `rows` [N] over the step's tokens, which adds up over micro-batches and ranks."""
    count = total(terms, "tokens")
    figures = {name: values.detach().sum() / count for name, values in rows.items()}
    return replace(terms, metrics={**terms.metrics, **figures})
