"""Ratios: how far the policy under training stands from the one that its data came from."""

from __future__ import annotations

from dataclasses import replace

from quintain.objectives._rows import LIMIT, gap
from quintain.parts import Objective, PartError, stateless
from quintain.registry import register, unknown
from quintain.types import Terms

ANCHORS = ("old", "rollout")


def needs_of(anchor: str, part: str, known: tuple[str, ...] = ANCHORS) -> tuple[str, ...]:
    """What a part needs that reads the logprobs of `anchor`.

    Raises:
        PartError: the anchor is none of the `known` ones.
    """
    if anchor not in known:
        raise PartError(unknown(f"anchor of {part}", anchor, known))
    return ("old",) if anchor == "old" else ()


@register("objective", "token_ratio", paper="1707.06347", status="paper", confidence="code", example={"anchor": "old"})
def token_ratio(anchor: str, limit: float = LIMIT) -> Objective:
    """The importance ratio of each token against an anchor that you name.

    When to use: first part of every objective with a trust region or an off-policy weight.

    Maths: `log_ratio_t = clamp(new_t - anchor_t, -limit, limit)`, all [N]; the ratio is `r_t = exp(log_ratio_t)`.

    Args:
        anchor: `rollout`, the policy that the engine sampled from, as recorded (no further pass); or `old`, the learner's own weights
            before the step, which costs one forward pass and hides the engine/learner mismatch from the ratio.
        limit: bound of the log-ratio in nats, > 0. Beyond it the ratio is constant, so the coefficient is exactly 0.

    Returns: A part of place `ratio` that sets `log_ratio`.
    Special cases: masked rows have log-ratio 0. At |log-ratio| = 300 the value is that of `limit`, finite in float32.
    Example: `token_ratio(anchor="old")`
    Reference: Schulman et al., 2017, arXiv 1707.06347. Differs from the paper: the clamp, which the paper does not have.
    """
    needs = needs_of(anchor, "token_ratio")
    if not limit > 0:
        raise PartError(f"token_ratio: limit is {limit} nats; it must be > 0")

    def apply(terms: Terms) -> Terms:
        return replace(terms, log_ratio=gap(terms, anchor, "token_ratio", limit))

    return stateless(apply, needs=needs, place="ratio")
