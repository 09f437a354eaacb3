"""Shaping by length: answers that run into the limit cost something before they are cut."""

from __future__ import annotations

from dataclasses import replace

from quintain.parts import Reward
from quintain.registry import register
from quintain.rewards.env import RewardError, rewarded
from quintain.types import Group


def overlong_cost(length: int, limit: int, margin: int) -> float:
    """The soft punishment of a length: 0 up to limit - margin, then falling in a line to -1 at the limit, -1 beyond.

    Example:
        >>> [overlong_cost(n, limit=100, margin=20) for n in (80, 90, 100, 101)]
        [0.0, -0.5, -1.0, -1.0]
    """
    if length <= limit - margin:
        return 0.0
    return (limit - margin - length) / margin if length <= limit else -1.0


@register(
    "reward", "overlong", paper="2503.14476", status="paper", confidence="paper", example={"limit": 64, "margin": 16}
)
def overlong(limit: int, margin: int, scale: float = 1.0, label: str = "overlong") -> Reward:
    """Add the soft overlong punishment: use it with long answers, so that being cut is not a surprise.

    With n sampled tokens, L = `limit` and C = `margin`: 0 if n <= L - C; ((L - C) - n) / C if n <= L; else -1; times
    `scale`.

    Args:
        limit: tokens at which the full punishment is due, >= 1; usually the token limit of an answer.
        margin: width of the slope in tokens, 1 <= margin <= limit.
        scale: size of the full punishment, >= 0.
        label: name of the reward.

    Raises:
        RewardError: a number is out of range.

    Special cases: in episodes of several turns n counts all of them.

    Reference: 2503.14476
    """
    if not 1 <= margin <= limit or scale < 0:
        raise RewardError(f"overlong: needs 1 <= margin <= limit and scale >= 0; got {margin}, {limit}, {scale}")

    async def score(group: Group) -> Group:
        costs = (scale * overlong_cost(t.length, limit, margin) for t in group.trajectories)
        done = tuple(rewarded(group, t, {label: c}) for t, c in zip(group.trajectories, costs, strict=True))
        return replace(group, trajectories=done)

    return score
