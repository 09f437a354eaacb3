"""The pool of a cluster block that learns: whether there is one, and what about it contradicts the rest of the config."""

from __future__ import annotations

from quintain.config import Config, ConfigError, PoolSection

LABEL = "learner"


def learner_pool(config: Config) -> PoolSection | None:
    """The pool with the label `learner`; None where the first process learns."""
    return next((p for p in config.cluster.pools.values() if p.label == LABEL), None)


def learning(config: Config) -> int:
    """How many processes learn: the ranks of the learner pool, or those of this machine."""
    pool = learner_pool(config)
    return config.runtime.processes if pool is None else pool.count


def check(config: Config) -> None:
    """Refuse a learner pool that contradicts itself or the rest of the config.

    Raises:
        ConfigError: names the keys and the fix.
    """
    pools = {name: p for name, p in config.cluster.pools.items() if p.label == LABEL}
    if len(pools) > 1:
        raise ConfigError(
            f"cluster.pools {' and '.join(pools)} both have the label learner, and one group learns; make them one pool, whose count "
            "is the number of ranks"
        )
    for name, pool in pools.items():
        where, device = f"cluster.pools.{name}", config.learner.device
        if pool.gpus > 1 or (pool.count > 1 and pool.gpus not in (0.0, 1.0)):
            raise ConfigError(
                f"{where}.gpus is {pool.gpus:g}: a rank of a learner group computes on one GPU of its own; set gpus=1 (or 0 for the "
                "CPU), and count to the number of GPUs"
            )
        if device.startswith("cuda") and not pool.gpus:
            raise ConfigError(
                f"learner.device is {device!r} and {where}.gpus is 0, so that its ranks see no GPU; set {where}.gpus=1, or "
                "learner.device=auto"
            )
        if device == "cpu" and pool.gpus:
            raise ConfigError(
                f"learner.device is 'cpu' and {where}.gpus is {pool.gpus:g}, which nobody would use; set {where}.gpus=0, or "
                "learner.device=auto"
            )
    if config.learner.shard == "full" and learning(config) < 2:
        key = f"cluster.pools.{next(iter(pools))}.count" if pools else "runtime.processes"
        raise ConfigError(
            f"learner.shard is 'full', but {key} is 1: there is nobody to share the layers with; set {key} >= 2, or "
            "learner.shard=none"
        )
