"""Few tokens of a whole step, chosen by a figure that itself stands on means of the step.

The last place is found by counting, 16 bits of the figure at a time, so that micro-batches and ranks agree on it exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from quintain.objectives._rows import add_extra, column, held, leave_out, note, once, only, rows_of, stream
from quintain.objectives.ratio import needs_of
from quintain.objectives.region import beyond
from quintain.parts import Objective, PartError, Sums, Transform
from quintain.registry import register, unknown
from quintain.types import Terms

DIGIT, DIGITS = 16, 4  # bits of a digit, digits of a float64
Choice = Callable[[Terms, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
DRAWS = ("random", "first")


def covariance(terms: Terms, sums: Mapping[str, Any], key: str = "select") -> torch.Tensor:
    """`(A_t - mean A)(new_t - mean new)` [N] float64, a constant, the means over the trained tokens of the step."""
    count = max(float(sums[f"{key}:count"]), 1.0)
    one, two = (held(terms, c.detach()).double() for c in (terms.advantage, terms.new))
    return held(terms, (one - sums[f"{key}:advantage"] / count) * (two - sums[f"{key}:new"] / count))


def lot(terms: Terms) -> torch.Tensor:
    """A number in [0, 1) for each row [N] float64, the same however the step is packed or cut: its recorded bits, mixed."""
    bits = [held(terms, c.detach()).double().contiguous().view(torch.int64) for c in (terms.rollout, terms.advantage)]
    mixed = bits[0] * -7046029254386353131 + bits[1]
    for shift, factor in ((30, -4658895280553007687), (27, -7723592293110705685)):
        mixed = (mixed ^ ((mixed >> shift) & ((1 << (64 - shift)) - 1))) * factor
    return ((mixed >> 11) & ((1 << 53) - 1)).double() / 2**53


def _places(figure: torch.Tensor) -> torch.Tensor:
    """int64 [N] in the order of the float64 `figure`."""
    bits = (figure + 0.0).contiguous().view(torch.int64)
    return bits ^ ((bits >> 63) & (2**63 - 1))


def _digit(places: torch.Tensor, number: int) -> torch.Tensor:
    shifted = places >> (DIGIT * (DIGITS - 1 - number))
    return shifted + 2 ** (DIGIT - 1) if number == 0 else shifted & (2**DIGIT - 1)


def how_many(ratio: float, count: float) -> int:
    """How many of `count` tokens are chosen: the share `ratio`, at least one."""
    return max(int(ratio * count), 1)


def _at(counts: torch.Tensor, wanted: int) -> tuple[int, int]:
    """Where the `wanted`-th from the end stands among counted places, and how many stand behind that place."""
    above, at = 0, 0
    for width in (2 ** (DIGIT // 2), 1):  # the block first, then the place in it
        blocks = counts[at : at + width * 2 ** (DIGIT // 2)].reshape(-1, width).sum(1).flip(0).cumsum(0)
        step = int((blocks < wanted - above).sum())
        at += (len(blocks) - 1 - step) * width
        above += int(blocks[step - 1]) if step else 0
    return at, above


def _last(sums: Mapping[str, Any], key: str, ratio: float) -> tuple[list[int], int, int]:
    """The digits of the last place that are known, how many are still to choose among its equals, how many those are."""
    digits, wanted, equal = [], how_many(ratio, float(sums[f"{key}:count"])), 0
    while f"{key}:digit{len(digits)}" in sums:
        counts = torch.as_tensor(sums[f"{key}:digit{len(digits)}"]).to("cpu", torch.int64)
        wanted = min(wanted, int(counts.sum()))
        if wanted == 0:
            return digits, 0, 0
        at, above = _at(counts, wanted)
        wanted, equal = wanted - above, int(counts[at])
        digits.append(at)
    return digits, wanted, equal


def chooser(key: str, ratio: float, choice: Choice) -> tuple[Callable[[Terms], Sums], Callable[[Terms], torch.Tensor]]:
    """`(measure, chosen)`: `chosen(terms)` [N] are the tokens with the largest figures of the step.

    `choice(terms, covariance)` gives the figure [N] float64 and the rows [N] to choose among. Equals at the last place are taken in the
    order of the rows; where a step is cut, in proportion.
    """

    def candidates(terms: Terms, sums: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """The rows to choose among and their places, the same in every round."""
        means = tuple(float(sums[f"{key}:{name}"]) for name in ("count", "advantage", "new"))

        def find() -> tuple[Any, torch.Tensor, torch.Tensor]:
            figure, among = choice(terms, covariance(terms, sums, key))
            at = among.nonzero().squeeze(-1)
            return means, at, _places(figure[at])

        given = (terms.new, terms.old, terms.rollout, terms.advantage, rows_of(terms))
        if terms.memo.get(key, (None, (None,)))[1][0] != means:
            terms.memo.pop(key, None)
        return once(terms, key, given, find)[1:]

    def measure(terms: Terms) -> Sums:
        if f"{key}:count" not in terms.totals:
            out: dict[str, Any] = {f"{key}:count": float(rows_of(terms).sum())}
            for name, values in (("advantage", terms.advantage), ("new", terms.new)):
                out[f"{key}:{name}"] = float(held(terms, values.detach()).double().sum())
            return out
        places, (digits, _, _) = candidates(terms, terms.totals)[1], _last(terms.totals, key, ratio)
        if len(digits) == DIGITS:
            return {}
        for number, digit in enumerate(digits):
            places = places[_digit(places, number) == digit]
        found = torch.bincount(_digit(places, len(digits)), minlength=2**DIGIT)
        return {f"{key}:digit{len(digits)}": found.double()}

    def chosen(terms: Terms) -> torch.Tensor:
        sums: Mapping[str, Any] = terms.totals
        if f"{key}:digit0" not in sums:
            sums = {}
            for _ in range(DIGITS + 1):
                sums = {**sums, **measure(replace(terms, totals=sums))}
        at, places = candidates(terms, sums)
        digits, wanted, equal = _last(sums, key, ratio)
        out = torch.zeros_like(terms.mask)
        if equal:
            last = digits[0] - 2 ** (DIGIT - 1)
            for digit in digits[1:]:
                last = (last << DIGIT) + digit
            same = places == last
            out[at] = (places > last) | (same & (same.cumsum(0) <= wanted * int(same.sum()) // equal))
        return out

    return measure, chosen


@register(
    "objective",
    "mask_covariant",
    paper="2505.22617",
    status="paper",
    confidence="code",
    across=True,
    example={"anchor": "old"},
)
def mask_covariant(
    anchor: str,
    ratio: float = 2e-4,
    least: float = 1.0,
    most: float = 5.0,
    bounds: Sequence[float] = (0.2, 0.2),
    draw: str = "random",
) -> Objective:
    """Leave out a few tokens whose advantage and logprob rise together: those that make entropy fall.

    When to use: after `clip`, where entropy collapses early: Clip-Cov.

    Maths: `cov_t = (A_t - mean A)(new_t - mean new)` over the trained tokens of the step; of the tokens with `least < cov_t < most` that
    the clip does not hold already, `max(1, int(ratio T))` are drawn; `weight_t *= 0` [N] there.

    Args:
        anchor: of the clip before it: `old` or `rollout`.
        ratio: share of tokens to leave out, in (0, 1].
        least: the covariance must be above, in nats times advantage.
        most: and below.
        bounds: low and high of the clip before it: what it holds already is not drawn.
        draw: `random`, by the bits that each token recorded, so that cutting a step changes nothing; `first`, the first ones in the order
            of the rows, for comparisons.

    Returns: A part of place `weight` that changes `weight` [N] and notes `covariant`, the share of tokens left out.
    Special cases: fewer candidates are all left out; masked rows have weight 1; epochs over one step draw alike.
    Example: `mask_covariant(anchor="old")`
    Reference: The Entropy Mechanism of RL, arXiv 2505.22617 (Clip-Cov), read in verl. Differs from the paper: how the draw is made.
    """
    needs = needs_of(anchor, "mask_covariant")
    if draw not in DRAWS:
        raise PartError(unknown("draw of mask_covariant", draw, DRAWS))
    if not (0 < ratio <= 1 and least <= most and min(bounds) >= 0):
        raise PartError(
            f"mask_covariant: ratio is {ratio}, least {least}, most {most} and bounds {bounds}; they must satisfy "
            "0 < ratio <= 1, least <= most, min(bounds) >= 0"
        )

    def choice(terms: Terms, found: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        among = (
            rows_of(terms)
            & (found > least)
            & (found < most)
            & ~beyond(terms, anchor, bounds[0], bounds[1], "mask_covariant")
        )
        return lot(terms) if draw == "random" else torch.zeros_like(found), among

    measure, chosen = chooser(f"mask_covariant:{anchor}:{draw}", ratio, choice)

    def apply(terms: Terms) -> Terms:
        out = chosen(terms)
        return note(leave_out(terms, out), covariant=out)

    return Transform(lambda: None, lambda t, s: (apply(t), s), frozenset(needs), measure, "weight", DIGITS + 1)


@register(
    "objective",
    "penalise_covariant",
    paper="2505.22617",
    status="paper",
    confidence="code",
    across=True,
    example={"anchor": "old"},
)
def penalise_covariant(anchor: str, ratio: float = 2e-4, coef: float = 1.0) -> Objective:
    """Hold back the few tokens whose advantage and logprob rise together most, by the size of their log-ratio.

    When to use: after `unclipped`, where entropy collapses early: KL-Cov.

    Maths: `cov_t` as in `mask_covariant`; on the `max(1, int(ratio T))` tokens of the step with the largest, `extra_t += coef rl_t |new_t -
    anchor_t|` [N]. Coefficient `coef sign(new_t - anchor_t)`.

    Args:
        anchor: `old` or `rollout`.
        ratio: share of tokens, in (0, 1]; 2e-3 for small models, 2e-4 for large ones.
        coef: strength per nat, >= 0.

    Returns: A part of place `regulariser` that notes `covariant`, the share of tokens that are held back.
    Special cases: at `new = anchor` the coefficient is 0; masked rows give 0.
    Example: `penalise_covariant(anchor="old")`
    Reference: The Entropy Mechanism of RL, arXiv 2505.22617 (KL-Cov), read in verl. Differs from the paper: nothing known.
    """
    needs = needs_of(anchor, "penalise_covariant")
    if not (0 < ratio <= 1 and coef >= 0):
        raise PartError(f"penalise_covariant: ratio is {ratio} and coef {coef}; 0 < ratio <= 1 and coef >= 0 must hold")
    measure, chosen = chooser(f"penalise_covariant:{anchor}", ratio, lambda terms, found: (found, rows_of(terms)))

    def apply(terms: Terms) -> Terms:
        out = chosen(terms)
        away = only(out, terms.new - column(terms, anchor, "penalise_covariant").detach()).abs()
        return add_extra(note(terms, covariant=out), coef * stream(terms, "rl") * away)

    return Transform(lambda: None, lambda t, s: (apply(t), s), frozenset(needs), measure, "regulariser", DIGITS + 1)
