"""Plays held-out tasks with the policy as it is, and sums the scores over ranks."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from quintain.config import Config
from quintain.given import given_by
from quintain.parts import Cast, Reward, Rollout
from quintain.runtime.chain import APART as FIRST_TICKET
from quintain.runtime.failures import cut_of, refuse_failures, too_few
from quintain.runtime.keeper import Peers
from quintain.runtime.opponents import sides
from quintain.runtime.playing import make_reward
from quintain.runtime.stage import APART, Stage, tasks
from quintain.types import Group, Task
from quintain.waits import Paced

Guard = Callable[
    [Coroutine[Any, Any, Any]], Awaitable[Any]
]  # gives the result, or gives the work up when the run drains
Evaluate = Callable[[int, Guard], Awaitable[Mapping[str, float]]]


async def play(
    tasks: Sequence[Task],
    cast: Cast,
    rollout: Rollout,
    reward: Reward,
    at_once: int = 256,
    far: Callable[[str], None] = lambda text: None,
    kept: list[Group] | None = None,
) -> list[Group]:
    """Play and score every task, `at_once` at a time; groups come back in the order of the tasks; `far` is told how far it is.

    Those that are over are added to `kept` as they end, for who is told of them where the rest comes to nothing.

    Special cases: with a deterministic engine the result is a function of tasks, cast and seed alone.
    """
    gate, played = asyncio.Semaphore(at_once), 0

    async def one(index: int, task: Task) -> Group:
        async with gate:
            nonlocal played
            group = await given_by(rollout, rollout(task, cast, FIRST_TICKET + index), FIRST_TICKET + index)
            group = await given_by(reward, reward(group), group.ticket)
            played += 1
            if kept is not None:
                kept.append(group)
            far(f"{played} of {len(tasks)} instances")
            return group

    return list(await asyncio.gather(*(one(i, t) for i, t in enumerate(tasks))))


def scores(groups: Sequence[Group]) -> dict[str, float]:
    """Sums over episodes: how many, rewards, successes, turns, and how they stopped."""
    episodes = [t for g in groups for t in g.trajectories]
    stops = Counter(f"stop/{t.stop}" for t in episodes)
    return {
        "episodes": float(len(episodes)),
        "reward": sum(t.reward for t in episodes),
        "success": float(sum(succeeded(t.rewards, t.reward) for t in episodes)),
        "turns": float(sum(t.turns for t in episodes)),
        **{k: float(v) for k, v in stops.items()},
    }


def succeeded(rewards: Mapping[str, float], reward: float) -> bool:
    """Whether an episode reached its goal: the component `success` is 1, or the whole reward where there is none."""
    return rewards.get("success", reward) >= 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluator:
    """The evaluation of a run: the same tasks every time, each rank plays its share.

    `tasks` are those of all ranks; `short` of them are played between start and end, `long` of them at both ends, where
    `greedy` adds a pass at temperature 0. Each is played by every one of `rollouts`: one, or one for each seat that the policy takes.
    """

    tasks: Sequence[Task]
    cast: Cast
    rollouts: Sequence[Rollout]
    reward: Reward
    ranks: Peers
    short: int
    long: int
    last: int
    greedy: bool = True
    rollout: str = ""  # the name of it
    say: Callable[[str], None] = lambda text: None  # is told now and then how far it is
    told: list[str] = field(default_factory=list)  # that the rollout gives too few, once

    async def __call__(self, step: int, guard: Guard) -> Mapping[str, float]:
        """Means over the episodes: `eval/success`, `eval/reward`, `eval/turns`, and `greedy/...` at both ends; how many, as
        `eval/episodes`; of several levels `eval/success:LEVEL` and `eval/episodes:LEVEL`; where answers were cut at the token limit of a
        turn how many, as `eval/answers_cut`.

        What is played goes through `guard`, which may give it up; then there are no scores.

        Raises:
            EveryEpisodeFailed: not one episode of a pass got through, which is no score of the policy.
        """
        whole = step in (0, self.last)
        out = await self._pass("eval", self.cast, self.long if whole else self.short, guard)
        if whole and self.greedy:
            calm = replace(self.cast, sampling=replace(self.cast.sampling, temperature=0.0))
            out |= await self._pass("greedy", calm, self.long, guard)
        return out

    async def _pass(self, name: str, cast: Cast, count: int, guard: Guard) -> dict[str, float]:
        mine = self.tasks[:count][self.ranks.rank :: self.ranks.size]
        groups: list[Group] = []
        paced, seats, ranks = Paced(self.say), len(self.rollouts), self.ranks.size
        whose = f", process {self.ranks.rank + 1} of {ranks}" if ranks > 1 else ""
        for number, rollout in enumerate(self.rollouts, 1):
            seat = f", seat {number} of {seats}" if seats > 1 else ""
            groups += await guard(
                play(mine, cast, rollout, self.reward, far=partial(_far, paced, f"{name}{whose}{seat}"))
            )
        if failed := refuse_failures(groups, self.ranks.sums):
            self.say(f"WARNING: {name}: {failed}")
        if not self.told and (few := too_few(groups, self.rollout, 1)):
            self.told.append(few)
            self.say(f"WARNING: {name}: {few}")
        summed = self.ranks.sums(_sums(groups, sorted({task.level for task in self.tasks[:count]})))
        return {f"{name}/{k}": value for k, value in _means(summed).items()}


def _sums(groups: Sequence[Group], levels: Sequence[int]) -> dict[str, float]:
    """What ranks add up: the names depend on the levels of all their tasks alone."""
    out = {k: v for k, v in scores(groups).items() if not k.startswith("stop/")}
    for level in levels if len(levels) > 1 else ():
        own = scores([g for g in groups if g.task.level == level])
        out |= {f"{k}:{level}": own[k] for k in ("episodes", "success")}
    return out | {"answers_cut": float(cut_of(t for g in groups for t in g.trajectories).count)}


def _means(summed: Mapping[str, float]) -> dict[str, float]:
    """Sums as means over their episodes, beside the counts of these; what was not played, and answers cut where none was, are left out."""
    out = dict[str, float]()
    for key, value in summed.items():
        name, colon, level = key.partition(":")
        count = summed[f"episodes{colon}{level}"]
        if (count or not colon) and (value or name != "answers_cut"):
            out[key] = value if name in ("episodes", "answers_cut") else value / max(1.0, count)
    return out


def _far(far: Callable[[str], None], what: str, text: str) -> None:
    far(f"evaluating: {what}: {text}")


def make_evaluator(
    config: Config, stage: Stage, cast: Cast, ranks: Peers, rollout: Callable[..., Rollout]
) -> Evaluator | None:
    """The evaluation of a config, or None when it asks for no instances; `rollout` makes what plays one episode a task."""
    section = config.eval
    short, long = section.instances, section.final_instances or section.instances
    if not long:
        return None
    drawn = tasks(stage.sampler(section.split, APART, (0, 1)), max(short, long))
    reward = make_reward(config)
    options = {
        "short": short or long,
        "long": long,
        "last": config.run.steps,
        "greedy": section.greedy,
        "rollout": config.rollout.name,
    }
    cast = replace(cast, sampling=replace(cast.sampling, temperature=section.temperature, top_logprobs=0))
    rollouts = [rollout(**side) for side in sides(config)]
    return Evaluator(tasks=drawn, cast=cast, rollouts=rollouts, reward=reward, ranks=ranks, **options)
