"""How many rollouts each prompt gets, by how likely it is predicted to succeed."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from quintain.parts import PartError
from quintain.registry import unknown


def contrast(count: int, p: float) -> float:
    """The utility of V_0: `B (1 - p) (1 - (1 - p)^(B - 1))` for B rollouts of success rate p."""
    return count * (1 - p) * (1 - (1 - p) ** (count - 1))


def mixed(count: int, p: float) -> float:
    """The chance that a group holds a success and a failure: `1 - p^n - (1 - p)^n`; our reading of the abstract."""
    return 1 - p**count - (1 - p) ** count


def _more_contrast(count: int, p: float) -> float:
    return contrast(count + 1, p) - contrast(count, p)


def _more_mixed(count: int, p: float) -> float:
    return p**count * (1 - p) + (1 - p) ** count * p


GAINS = {"contrast": _more_contrast, "mixed": _more_mixed}  # what one more rollout is worth


def share_budget(p: Sequence[float], total: int, low: int, high: int, utility: str = "contrast") -> list[int]:
    """How many rollouts each prompt gets: `low` each, then one after the other to where it is worth most.

    Args:
        p: predicted success rates, in [0, 1].
        total: rollouts in all.
        low: the fewest of a prompt.
        high: the most of a prompt.
        utility: `contrast` (V_0) or `mixed`.

    Raises:
        PartError: an unknown utility, a rate outside [0, 1], or bounds that the budget cannot meet.

    Special cases: of equal gains the first prompt takes it.

    Example:
        >>> share_budget([0.02, 0.3, 0.9], total=24, low=2, high=128)
        [2, 20, 2]
    """
    if utility not in GAINS:
        raise PartError(unknown("utility of share_budget", utility, GAINS))
    if not all(0 <= q <= 1 for q in p) or not len(p) * low <= total <= len(p) * high:
        raise PartError(
            f"share_budget: {len(p)} rates in [0, 1] with {low} to {high} rollouts each cannot share {total}: {list(p)}"
        )
    gain, given = GAINS[utility], [low] * len(p)
    heap = [(-gain(low, q), i) for i, q in enumerate(p) if low < high]
    heapq.heapify(heap)
    for _ in range(total - low * len(p)):
        _, i = heapq.heappop(heap)
        given[i] += 1
        if given[i] < high:
            heapq.heappush(heap, (-gain(given[i], p[i]), i))
    return given
