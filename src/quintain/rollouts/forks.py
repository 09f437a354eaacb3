"""Where a rollout is worth forking: by the entropy of what the engine returned."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, log


def returned_entropy(logprobs: Sequence[float], vocabulary: int = 0) -> float:
    """The entropy of the best tokens that an engine returned, in nats, or as a share of a vocabulary's largest.

    Example:
        >>> returned_entropy([0.0])
        0.0
    """
    entropy = -sum(exp(p) * p for p in logprobs if p > -inf) + 0.0
    return entropy / log(vocabulary) if vocabulary else entropy


def branch_probability(now: float, start: float, base: float = 0.5, weight: float = 0.2) -> float:
    """How likely a rollout forks after a tool's answer: more where the policy became unsure (ARPO, arXiv 2507.19849).

    Maths: `clip(base + weight (now - start), 0, 1)`, both entropies as shares of the vocabulary's.

    Args:
        now: entropy after the answer.
        start: entropy at the first turn.
        base: what it is where they are equal.
        weight: what a rise by 1 adds.

    Example:
        >>> branch_probability(0.3, 0.3)
        0.5
    """
    return min(1.0, max(0.0, base + weight * (now - start)))
