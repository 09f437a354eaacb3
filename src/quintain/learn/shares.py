"""Shares of one batch: every rank is given all of it and trains its part, as if one rank trained the whole."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from quintain.learn.pack import count, select
from quintain.learn.ranks import Ranks
from quintain.types import Batch


def deal(loads: Sequence[float], size: int) -> list[list[int]]:
    """Numbers of the loads, dealt to `size` places that get about equal sums: the heaviest first, each to the lightest place.

    Example:
        >>> deal([3.0, 9.0, 4.0, 2.0], 2)
        [[1], [0, 2, 3]]
    """
    dealt: list[list[int]] = [[] for _ in range(size)]
    heap = [(0.0, place) for place in range(size)]
    for i in sorted(range(len(loads)), key=lambda i: (-loads[i], i)):
        held, place = heapq.heappop(heap)
        dealt[place].append(i)
        heapq.heappush(heap, (held + loads[i], place))
    return [sorted(numbers) for numbers in dealt]


def share(batch: Batch, ranks: Ranks) -> Batch:
    """What this rank trains of a minibatch that all ranks hold: whole trajectories, about as many tokens as every other rank.

    Special cases: with fewer trajectories than ranks some shares are empty.
    """
    if ranks.size == 1 or not len(batch):
        return batch
    first = batch.position == 0
    trained = np.bincount(batch.sequence, batch.mask) > 0  # other paths cost nothing
    owner = batch.streams["trajectory"][first]
    loads = np.bincount(owner, np.bincount(batch.sequence) * trained)
    mine = deal(loads.tolist(), ranks.size)[ranks.rank]
    return select(batch, np.flatnonzero(np.isin(owner, mine)))


def of_rank(batch: Batch, more: Mapping[str, float], ranks: Ranks, whole: bool) -> tuple[Batch, dict[str, float]]:
    """This rank's part of a minibatch and what all parts together count, `more` included.

    Args:
        batch: the minibatch as this rank was given it.
        more: further counts of it.
        ranks: who shares the step.
        whole: whether every rank was given the same minibatch, or each a part of its own.
    """
    counts = {**count(batch), **more}
    if whole:
        return share(batch, ranks), counts
    apart = replace(batch, group=batch.group * ranks.size + ranks.rank)  # groups of two ranks are two
    return apart, ranks.sums(counts)
