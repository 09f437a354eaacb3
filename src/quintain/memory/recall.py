"""Which remembered items to recall, and how useful they were: RetroAgent's SimUtil-UCB.

No part of a run keeps a memory. A rollout of one's own that keeps lessons (`@register("rollout", "mine")` in a file of `run.imports`)
calls these functions: before an episode, `ranked(scores(relevance, utility, count), most=1)` gives the numbers of the lessons to
show; after it, `used(utility, count, success)` is what is known of each of them. RetroAgent shows them to half of each group, and
with `kappa=0` in evaluations. With `state()`, which is JSON, and `restore(state)` the lessons are kept in checkpoints: see "A rollout" in
`docs/own.md`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from quintain.types import QuintainError


class RecallError(QuintainError):
    """Items cannot be ranked: columns of unequal length, or a share outside [0, 1]."""


def scores(
    relevance: Sequence[float],
    utility: Sequence[float],
    count: Sequence[int],
    alpha: float = 0.7,
    kappa: float = 1.0,
    least: float = 0.4,
) -> list[float | None]:
    """`alpha rel + (1 - alpha) (util + kappa sqrt(ln N / max(n, 1)))` of each item; None where it is not relevant enough.

    Args:
        relevance: similarity to the task at hand.
        utility: how useful the item was.
        count: how often each item was recalled; N is their sum, items without a score among them, at least 1.
        alpha: share of the relevance, in [0, 1].
        kappa: weight of the bonus for items seldom recalled; 0 for evaluations.
        least: the least relevance of an item.

    Raises:
        RecallError: see there.

    Example:
        >>> scores([0.5, 0.1], [1.0, 1.0], [1, 1], kappa=0.0)
        [0.65, None]

    Reference: RetroAgent, read in the authors' code.
    """
    if not len(relevance) == len(utility) == len(count) or not 0 <= alpha <= 1:
        raise RecallError(
            f"scores: {len(relevance)} relevances, {len(utility)} utilities, {len(count)} counts and alpha {alpha}; give "
            "one of each per item, and alpha in [0, 1]"
        )
    whole = math.log(max(sum(count), 1))
    return [
        None if r < least else alpha * r + (1 - alpha) * (u + kappa * math.sqrt(whole / max(n, 1)))
        for r, u, n in zip(relevance, utility, count, strict=True)
    ]


def ranked(found: Sequence[float | None], most: int | None = None) -> list[int]:
    """The numbers of the items with a score, best first, at most `most`; equals keep their order.

    Example:
        >>> ranked([0.1, None, 0.9])
        [2, 0]
    """
    kept = [(-score, i) for i, score in enumerate(found) if score is not None]
    return [i for _, i in sorted(kept)][:most]


def used(utility: float, count: int, outcome: float, beta: float = 0.05) -> tuple[float, int]:
    """Utility and count of an item after an episode that used it.

    Example:
        >>> used(0.5, 1, 1.0)
        (0.525, 2)
    """
    return (1 - beta) * utility + beta * outcome, count + 1
