"""Rewards scored elsewhere: how many at once, by when, and what becomes of one that is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from quintain.config import Config
from quintain.ledger import PackedGroup, plain
from quintain.ledger.groups import pack_group
from quintain.parts import Reward
from quintain.registry import entry
from quintain.rewards.env import RewardError
from quintain.types import Group, QuintainError

Tell = Callable[[Mapping[str, Any]], None]
Score = Callable[[bytes, float], Awaitable[bytes]]  # a packed group and its deadline in seconds


class LostScore(QuintainError):
    """The worker that scored a group died, or was late; it may have scored all the same."""


class LostRewardError(QuintainError):
    """A scoring was lost and may not be repeated, or was lost too often."""


def idempotent(config: Config) -> bool:
    """Whether scoring twice does no harm: as `reward.idempotent` says, else true of every reward but a function of the user's.

    Example:
        >>> from quintain.config import make
        >>> idempotent(make(overrides=["reward=exact"]))
        True
    """
    spec = config.reward
    if ":" in spec["name"] or spec["name"] == "function":
        return bool(spec.get("idempotent", False))
    return bool(entry("reward", spec["name"]).tags.get("idempotent", True))


def scored_by(score: Score, config: Config, tell: Tell) -> Reward:
    """A reward that has groups scored by `score`, at most `cluster.reward_tasks` at once.

    A scoring that is lost is repeated up to `cluster.reward_retries` times if the reward is idempotent; every loss is told.

    Raises:
        LostRewardError: (when scoring) it was lost and may not be repeated any more.
        RewardError: (when scoring) the reward itself failed.
    """
    section, name = config.cluster, config.reward["name"]
    tries = 1 + (section.reward_retries if idempotent(config) else 0)
    gate = asyncio.Semaphore(section.reward_tasks)

    async def reward(group: Group) -> Group:
        packed, why = pack_group(group), ""
        async with gate:
            for attempt in range(1, tries + 1):
                try:
                    answer = plain.unpack(await score(packed, section.reward_s))
                except LostScore as error:
                    why = str(error)
                    tell({"reward": name, "tickets": [group.ticket], "status": why, "attempt": attempt})
                    continue
                if "error" in answer:
                    raise RewardError(f"reward {name!r}: {answer['error']}")
                return PackedGroup(answer["group"]).open()
        fix = "" if idempotent(config) else "; if scoring twice does no harm, say so: reward.idempotent=true"
        raise LostRewardError(
            f"the scoring of ticket {group.ticket} was lost {tries} time(s), the last time: {why}{fix}"
        )

    return reward
