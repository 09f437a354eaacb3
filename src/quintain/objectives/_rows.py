"""What objective parts share: columns without the garbage of masked rows, the weight streams, sums over sequences, step totals.

What stands on ids, masks and weights alone is found once for the terms and for all that are made from them (`once`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import torch

from quintain.parts import PartError
from quintain.types import Terms

LIMIT = 20.0  # nats; a log-ratio beyond it is constant, so that its exponential is finite in float32
Found = TypeVar("Found")


def reach(values: torch.Tensor, nats: float) -> float:
    """`nats`, or in float64, which holds products and sums of far larger exponentials, 690."""
    return 690.0 if values.dtype == torch.float64 else nats


def once(terms: Terms, key: str, given: tuple[Any, ...], find: Callable[[], Found]) -> Found:
    """What `find()` makes of the objects `given`, constants all: found again only for other objects under this key."""
    kept = terms.memo.get(key)
    if kept is None or any(a is not b for a, b in zip(kept[0], given, strict=True)):
        kept = terms.memo[key] = (given, find())
    return kept[1]


def only(rows: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """`values` [N] where `rows` [N] bool holds and exactly 0 elsewhere."""
    return torch.where(rows, values, 0)


class _Sloped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, value: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(slope)
        return value

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None, None]:  # pyrefly: ignore
        return grad * ctx.saved_tensors[0], None, None


def sloped(x: torch.Tensor, value: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """The constant `value` [N] as a function of `x` [N] whose derivative is the constant `slope` [N].

    A rule that knows its coefficient gives it, in place of having it derived through bounds and cases at many times the cost.
    """
    return _Sloped.apply(x, value, slope)  # pyrefly: ignore


def rows_of(terms: Terms, name: str = "rl") -> torch.Tensor:
    """Rows [N] bool that a term of the stream `name` reads: inside the mask, and with a weight if weights are given."""
    if not terms.weights:
        return terms.mask
    weight = terms.weights.get(name)

    def find() -> torch.Tensor:
        return torch.zeros_like(terms.mask) if weight is None else terms.mask & (weight != 0)

    return once(terms, f"rows:{name}", (terms.mask, weight), find)


def _whole(terms: Terms, name: str) -> bool:
    rows = rows_of(terms, name)
    return once(terms, f"whole:{name}", (rows,), lambda: bool(rows.all()))


def held(terms: Terms, values: torch.Tensor, name: str = "rl") -> torch.Tensor:
    """`values` [N] on the rows that the stream reads and exactly 0 elsewhere, so that NaN in a masked row reaches nothing."""
    return values if _whole(terms, name) else only(rows_of(terms, name), values)


def stream(terms: Terms, name: str) -> torch.Tensor:
    """The weight stream `name` [N], 0 outside the mask.

    Special cases: without any weights every masked-in row counts 1 in every stream; a stream that is missing beside others is 0.
    """
    weight, dtype = terms.weights.get(name), terms.new.dtype

    def find() -> torch.Tensor:
        if weight is None:
            return (torch.zeros_like(terms.mask) if terms.weights else terms.mask).to(dtype)
        return only(terms.mask, weight).to(dtype)

    return once(terms, f"stream:{name}", (terms.mask, weight, dtype), find)


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


def gap(terms: Terms, anchor: str, part: str, limit: float = LIMIT, name: str = "rl") -> torch.Tensor:
    """`new - anchor` in nats [N], constant beyond `limit`; 0 on rows that the stream `name` leaves out."""
    apart = held(terms, terms.new.detach() - column(terms, anchor, part).detach(), name)
    value = apart.clamp(-limit, limit)
    return sloped(terms.new, value, held(terms, (value == apart).to(value.dtype), name))


def segments(terms: Terms, by: str = "sequence") -> tuple[torch.Tensor, int]:
    """Row -> slot [N] and the number of slots, for the labels [N] `sequence` or `turn`; a slot may stay empty."""
    ids = column(terms, by, f"a sum over each {by}")

    def find() -> tuple[torch.Tensor, int]:
        if len(ids) == 0:
            return ids, 0
        low, high = (int(end) for end in ids.aminmax())
        if low >= 0 and high <= 2 * len(ids):  # numbered by the packer: no sort needed
            return ids, high + 1
        names, slots = torch.unique(ids, return_inverse=True)
        return slots, len(names)

    return once(terms, f"segments:{by}", (ids,), find)


def sizes(terms: Terms, rows: torch.Tensor, by: str = "sequence") -> torch.Tensor:
    """The number of `rows` [N] in each slot of `segments`, at least 1."""
    at, slots = segments(terms, by)

    def find() -> torch.Tensor:
        ones = rows.to(terms.new.dtype)
        return ones.new_zeros(slots).index_add(0, at, ones).clamp(min=1)

    return once(terms, f"sizes:{by}:{id(rows)}", (at, rows, terms.new.dtype), find)


def counted(terms: Terms, rows: torch.Tensor, by: str = "sequence") -> torch.Tensor:
    """Row -> the number of `rows` [N] in its sequence (or message), at least 1 [N]."""
    found = sizes(terms, rows, by)
    return once(terms, f"counted:{by}:{id(rows)}", (found,), lambda: found.index_select(0, segments(terms, by)[0]))


def summed(terms: Terms, values: torch.Tensor, by: str = "sequence") -> torch.Tensor:
    """Row -> the sum of `values` [N], 0 where nothing counts, over its sequence (or message) [N]; gradients flow."""
    at, slots = segments(terms, by)
    return values.new_zeros(slots).index_add(0, at, values).index_select(0, at)


def averaged(terms: Terms, values: torch.Tensor, by: str = "sequence", limit: float = math.inf) -> torch.Tensor:
    """As `summed`, the mean over the rows that the policy term reads, constant beyond `limit`; 0 on other rows."""
    at, slots = segments(terms, by)
    means = values.new_zeros(slots).index_add(0, at, values) / sizes(terms, rows_of(terms), by)
    return held(terms, (means if limit == math.inf else means.clamp(-limit, limit)).index_select(0, at))


def total(terms: Terms, name: str) -> float | torch.Tensor:
    """The step's number of `tokens`, `sequences` or `groups`, at least 1.

    A count with the prefix `all_`, which includes rows that were left out because their coefficient is 0, is preferred.

    Special cases: with empty totals (a part used on its own) the terms are the whole step: their masked-in rows, and the distinct ids of
    all their rows.

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


def leave_out(terms: Terms, out: torch.Tensor) -> Terms:
    """Take the rows `out` [N] bool from the policy term."""
    return weigh(terms, (~out).to(terms.new.dtype))


def add_extra(terms: Terms, rows: torch.Tensor) -> Terms:
    """Add `rows` [N] to the regularisers."""
    return replace(terms, extra=rows if terms.extra is None else terms.extra + rows)


def note(terms: Terms, **rows: torch.Tensor) -> Terms:
    """Add metrics: the sum of each `rows` [N] over the step's tokens, which adds up over micro-batches and ranks."""
    count = total(terms, "tokens")
    figures = {name: values.detach().sum() / count for name, values in rows.items()}
    return replace(terms, metrics={**terms.metrics, **figures})
