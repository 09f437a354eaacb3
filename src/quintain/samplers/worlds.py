"""Instances of worlds as tasks: endless, or a pool that is gone through again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quintain.parts import Sampler, State
from quintain.registry import register
from quintain.samplers.draws import mixed, permutation
from quintain.types import Group, QuintainError, Task

Place = tuple[str, tuple[int, ...], Mapping[str, Any]]  # a world, levels, knobs
SEEDS = 1 << 48  # instance seeds lie in [0, SEEDS)


class SamplerError(QuintainError):
    """A sampler was made with values that cannot work; the message names the value and its limits."""


class Worlds:
    """Draws the instances that `worlds` describes."""

    everyones = False

    def __init__(self, names: Sequence[str], levels: Sequence[int], split: str, seeds: tuple[int, int]) -> None:
        self.names, self.levels, self.split = tuple(names), tuple(levels), split
        self.seed, self.pool = seeds
        self.shard: tuple[int, int] = (0, 1)
        self.params: Mapping[str, Any] = {}

    @property
    def places(self) -> list[Place]:
        """What is drawn from; a sampler that has this tells it."""
        return [(name, self.levels, self.params) for name in self.names]

    def init(self) -> State:
        """Nothing was drawn."""
        return {"drawn": 0}

    def draw(self, state: State) -> tuple[Task, State]:
        """The next instance of this shard."""
        rank, ranks = self.shard
        number = state["drawn"] * ranks + rank
        if self.pool:
            epoch, at = divmod(number, self.pool)
            number = int(permutation(self.pool, self.seed, epoch)[at])
        return self.task(number), {"drawn": state["drawn"] + 1}

    def task(self, number: int) -> Task:
        """Instance `number` of all shards: world and level go round, the seed is a hash."""
        name = self.names[number % len(self.names)]
        level = self.levels[number // len(self.names) % len(self.levels)]
        return task_of(name, level, self.split, mixed(self.seed, number) % SEEDS, self.params)

    def observe(self, state: State, group: Group) -> State:
        """Results do not change what is drawn."""
        return state


def task_of(name: str, level: int, split: str, seed: int, params: Mapping[str, Any]) -> Task:
    """The task of one world instance; its key says everything but the params."""
    key = f"{name}/{level}/{split}/{seed}"
    return Task(key=key, env=name, seed=seed, level=level, split=split, params=dict(params))


def check_shard(shard: Sequence[int]) -> tuple[int, int]:
    """`shard` as (rank, ranks), 0 <= rank < ranks.

    Raises:
        SamplerError: it is not.
    """
    rank, ranks = shard
    if not 0 <= rank < ranks:
        raise SamplerError(f"shard is ({rank}, {ranks}); it is (rank, ranks) with 0 <= rank < ranks")
    return rank, ranks


@register("sampler", "worlds")
def worlds(
    env: str | Sequence[str] = "KeyDoor",
    levels: Sequence[int] = (0,),
    split: str = "train",
    seed: int = 0,
    pool: int = 0,
    shard: Sequence[int] = (0, 1),
    params: Mapping[str, Any] | None = None,
) -> Sampler:
    """Instances of one or several worlds: use it for every task that a world can make.

    Instance n = 0, 1, 2... has world n mod W, level (n div W) mod L and the seed hash(seed, n); shard (r, R) draws the
    instances r, r + R, r + 2R..., so ranks never draw the same one.

    Args:
        env: name of the world, or several.
        levels: difficulties to go through, each 0-9.
        split: `train`, `validation` or `test`.
        seed: chooses the instances, >= 0.
        pool: number of distinct instances, gone through in a new order each time; 0 never repeats.
        shard: (rank, ranks).
        params: knobs of the world, beside the level.

    Raises:
        SamplerError: no world, no level, a negative pool, or a shard out of range.

    Example:
        >>> sampler = worlds("KeyDoor", levels=[0, 1], seed=3)
        >>> first, state = sampler.draw(sampler.init())
        >>> second, state = sampler.draw(state)
        >>> first.level, second.level, state
        (0, 1, {'drawn': 2})
    """
    names = [env] if isinstance(env, str) else list(env)
    if not names or not levels or pool < 0:
        raise SamplerError(f"worlds: needs a world, a level and pool >= 0; got {names}, levels {list(levels)}, {pool}")
    sampler = Worlds(names, levels, split, (seed, pool))
    sampler.shard = check_shard(shard)
    sampler.params = dict(params or {})
    return sampler
