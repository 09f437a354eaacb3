"""How the episodes of a config are played and scored: its rollout, its reward, and the cast that plays."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from quintain.config import Config, ConfigError
from quintain.given import lacks
from quintain.parts import Cast, Reward, Rollout
from quintain.ports import Engine
from quintain.registry import build
from quintain.runtime.opponents import Cases, against, mixture
from quintain.runtime.stage import Stage, env_of
from quintain.runtime.words import turn_tokens
from quintain.types import Sampling

HANDED = ("group_size", "max_turns", "context", "digests")  # what every run hands over to its rollout


def make_rollout(config: Config, group_size: int, others: Cases = (), **more: Any) -> Rollout:
    """The rollout part of a config, with groups of `group_size`.

    Args:
        config: of the run.
        group_size: episodes of a task.
        others: who plays seats that are not the policy's, and how often.
        more: options of the part.

    Raises:
        ConfigError: `rollout.options` sets what has a key of its own, or the part has no room for what every run hands over.
    """
    section = config.rollout
    for key in ("group_size", "max_turns", "context", "redundancy"):
        if key in section.options:
            own = "model.context" if key == "context" else f"rollout.{key}"
            raise ConfigError(f"rollout.options.{key} is {section.options[key]!r}, which {own} sets; set {own} instead")
    limits = {"max_turns": section.max_turns, "context": config.model.context}
    options = {name: value for name, value in section.options.items() if name != "hint"}
    _check_handed(section.name)
    rollout = build("rollout", {"name": section.name, "group_size": group_size, **limits, **options, **more})
    return against(config, rollout, others) if others else rollout


def _check_handed(name: str) -> None:
    """Refuse a rollout of one's own that cannot take what runs hand over, all of it at once: nobody who writes one can guess it."""
    if lacking := lacks("rollout", name, HANDED):
        raise ConfigError(
            f"rollout {name!r} takes no {', '.join(lacking)}, and every run hands over {', '.join(HANDED)}: let it take **options and "
            "give them to `episodes`, or keep to each itself (`quintain list parts episodes` says what they are)"
        )


def rollouts_of(config: Config, context: int, needs: Collection[str]) -> Callable[..., Rollout]:
    """The rollout part by group size (and further options), with what the algorithm needs; no path is longer than `context`.

    Args:
        config: of the run.
        context: tokens that the model can read.
        needs: of the algorithm.
    """
    limit = min(config.model.context, context)  # no path is longer than the learner can read
    return partial(make_rollout, config, digests="digests" in needs, context=limit)


def training_only(config: Config) -> dict[str, Any]:
    """The options that only the rollout of training has: evaluations start as many members as they score, show no hints, and name
    opponents of their own.
    """
    section, others = config.rollout, mixture(config)
    own = {"redundancy": section.redundancy} if section.redundancy else {}
    own |= {"others": others} if others else {}
    return own | {name: value for name, value in section.options.items() if name == "hint"}


def make_reward(config: Config) -> Reward:
    """The reward part of a config; `FILE.py:function` is a function of the user's.

    Raises:
        ConfigError: nothing would give a reward.
    """
    spec, env = config.reward, env_of(config)
    if spec["name"] == "env" and env in ("data", "tools") and config.rollout.name != "agent":
        raise ConfigError(
            f"reward is 'env', but the env {env!r} gives no reward, so that every episode would score 0; set "
            "reward=FILE.py:function, or compare with the answer of the data: reward=exact, number or math_verify"
        )
    if ":" in spec["name"]:
        options = {k: v for k, v in spec.items() if k != "name"}
        return build("reward", {"name": "function", "path": spec["name"], **options})
    return build("reward", spec)


def make_cast(config: Config, stage: Stage, engine: Engine, top_logprobs: int = 0) -> Cast:
    """The policy as the only player; the engine is asked for `top_logprobs` likeliest ids a token."""
    section = config.rollout
    sampling = Sampling(
        temperature=section.temperature,
        top_p=section.top_p,
        top_k=section.top_k,
        min_p=section.min_p,
        max_tokens=turn_tokens(config),
        stop=tuple(stage.renderer.stop),
        top_logprobs=top_logprobs,
    )
    players = {"engines": {"policy": engine}, "renderers": {"policy": stage.renderer}}
    return Cast(env=stage.env, sampling=sampling, seed=config.run.seed, **players)


async def close_engines(cast: Cast) -> None:
    """End the engines that hold processes of their own."""
    for engine in cast.engines.values():
        close = getattr(engine, "close", None)
        if close is not None:
            await close()
