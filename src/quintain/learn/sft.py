"""Supervised warm start: imitate demonstrations with the learner and the batch type of reinforcement learning."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Protocol

import numpy as np

from quintain.learn.pack import Demo, PackError, pack_demos
from quintain.learn.plan import Plan
from quintain.learn.ranks import Ranks
from quintain.objectives import ce, token_mean
from quintain.parts import Objective, chain
from quintain.types import Batch

Stop = Callable[[int], Awaitable[bool]]  # steps taken -> whether that is enough


class Pupil(Protocol):
    """Who imitates: a learner, or a group of them that is handed whole batches."""

    ranks: Ranks
    plan: Plan

    async def update(self, batch: Batch, objective: Objective) -> Mapping[str, float]:
        """See `TorchLearner.update`."""
        ...


async def imitate(
    learner: Pupil,
    demos: Iterable[Demo],
    *,
    steps: int,
    size: int = 128,
    stop_when: Stop | None = None,
    every: int = 5,
    objective: Objective | None = None,
) -> list[Mapping[str, float]]:
    """Train on demonstrations for a number of steps, or until a check is satisfied.

    Use it to lift a fresh model to where some episodes succeed, so that reinforcement learning has something to
    compare. Demonstrations are shuffled anew for every pass, by the learner's seed and the pass number; each rank
    takes its share of each batch. A check counts steps, never seconds; rank 0's answer holds for all ranks.

    Args:
        learner: gets `steps` calls of `update`; its schedule counts them.
        demos: at least one; read once, kept in memory.
        steps: at most that many batches, >= 0.
        size: demonstrations of a batch over all ranks; the last batch of a pass is completed from the next pass.
        stop_when: an async question asked after every `every` steps, such as an evaluation that reached its goal.
        every: steps between questions, >= 1.
        objective: a chain that reads the weight stream `ce`; None is `chain(ce(), token_mean())`.

    Returns:
        The metrics of each step.

    Raises:
        PackError: no demonstration, or one that is not well formed.
    """
    pool = list(demos)
    if not pool or size < 1 or every < 1:
        raise PackError(f"{len(pool)} demonstrations, batches of {size}, a check every {every} steps: all must be >= 1")
    chosen = objective if objective is not None else chain(ce(), token_mean())
    history: list[Mapping[str, float]] = []
    for step in range(steps):
        drawn = draw(len(pool), size, step, learner.plan.seed)
        mine = sorted((pool[i] for i in learner.ranks.share(drawn)), key=lambda demo: len(demo.tokens))
        history.append(await learner.update(pack_demos(mine), chosen))
        done = step + 1
        if stop_when is not None and done % every == 0 and learner.ranks.agree(await stop_when(done)):
            break
    return history


def draw(pool: int, size: int, step: int, seed: int) -> list[int]:
    """Which demonstrations batch number `step` holds: a function of its arguments alone, every pass a new permutation.

    Example:
        >>> sorted(draw(4, 2, 0, seed=0) + draw(4, 2, 1, seed=0))
        [0, 1, 2, 3]
    """
    first = step * size
    chosen: list[int] = []
    while len(chosen) < size:
        turn, at = divmod(first + len(chosen), pool)
        order = np.random.default_rng([seed, turn]).permutation(pool)
        chosen += order[at : at + size - len(chosen)].tolist()
    return chosen
