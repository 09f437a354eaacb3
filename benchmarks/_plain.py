"""The real loop, window, rollout and care around envs, engine and learner that only take (seeded) time."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from _slow import lognormal, now

from quintain.engines.scripted import ScriptedEngine
from quintain.loop import Window
from quintain.parts import Cast
from quintain.ports import SOLO
from quintain.render import WordRenderer
from quintain.rewards.env import env as env_reward
from quintain.rollouts.episodes import episodes
from quintain.runtime.care import Care
from quintain.types import Feedback, Group, Message, Sampling, Stop, Task, Ticket, Weights

WORDS = WordRenderer(["see", "up"])
ASKED = (Message.of("user", "see"),)


class Envs:
    """Makes envs whose answers take time, some of which crash or hang; adds up how long they were held and at work.

    `profile`: `turns_p50`, `turns_p99` and `turns_most` of an episode, seconds `reset_p50_s`, `reset_p99_s`, `env_p50_s`, `env_p99_s` of
    an answer, shares `crashes` and `hangs` of the episodes, `hangs_at` (`reset`, or `turn` for any), `success`. The n-th env of a
    task is the same in every mode.
    """

    def __init__(self, profile: Mapping[str, Any], seed: int) -> None:
        self.profile, self.seed = profile, seed
        self.made: Counter[int] = Counter()
        self.held: dict[int, float] = {}  # since when
        self.busy = self.working = 0.0

    def __call__(self, task: Task) -> Timed:
        self.made[task.seed] += 1
        draw = np.random.Generator(np.random.PCG64([self.seed, task.seed, self.made[task.seed]]))
        return Timed(self, draw)

    def busy_until(self, time: float) -> float:
        """Seconds that envs belonged to episodes, up to a time."""
        return self.busy + sum(time - since for since in self.held.values())


class Timed:
    """One of them."""

    def __init__(self, envs: Envs, draw: np.random.Generator) -> None:
        p = self.profile = envs.profile
        self.envs, self.draw, self.turn = envs, draw, 0
        self.turns = max(1, min(round(lognormal(draw, p["turns_p50"], p["turns_p99"])), p["turns_most"]))
        self.reward = float(draw.random() < p.get("success", 0.5))
        at = int(draw.integers(1, self.turns + 1))
        self.crash_at = at if draw.random() < p["crashes"] else -1
        first = p["hangs_at"] == "reset"
        self.hang_at = (0 if first else at) if draw.random() < p["hangs"] else -1

    async def answer(self, what: str) -> None:
        """Take the time of an answer."""
        seconds = lognormal(self.draw, self.profile[f"{what}_p50_s"], self.profile[f"{what}_p99_s"])
        self.envs.working += seconds
        await asyncio.sleep(math.inf if self.turn == self.hang_at else seconds)
        if self.turn == self.crash_at:
            raise RuntimeError("the environment failed")

    async def reset(self, task: Task) -> Mapping[str, Feedback]:
        """See `Env.reset`."""
        self.envs.held[id(self)] = now()
        await self.answer("reset")
        return {SOLO: Feedback(messages=ASKED)}

    async def step(self, moves: Mapping[str, Message]) -> Mapping[str, Feedback]:
        """See `Env.step`."""
        self.turn += 1
        await self.answer("env")
        done = self.turn == self.turns
        reward = {"success": self.reward} if done else {}
        return {SOLO: Feedback(messages=ASKED, reward=reward, stop=Stop.done if done else None)}

    async def close(self) -> None:
        """See `Env.close`."""
        self.envs.busy += now() - self.envs.held.pop(id(self), now())


class Talker(ScriptedEngine):
    """Says the same word, after the time of as many tokens as a turn has."""

    def __init__(self, profile: Mapping[str, Any], seed: int) -> None:
        super().__init__(WORDS, ["up"])
        self.profile, self.seed = profile, seed

    async def generate(self, request: Any) -> Any:
        """See `Engine.generate`."""
        p = self.profile
        draw = np.random.Generator(np.random.PCG64([self.seed, *(abs(int(k)) for k in request.key)]))
        tokens = lognormal(draw, p["tokens_p50"], p["tokens_p99"])
        await asyncio.sleep(tokens * p["token_s"])
        return await super().generate(request)


class Loop:
    """Matches `loop.Run` with nothing to learn: `learner_s` seconds a step; counts what comes by."""

    def __init__(self, profile: Mapping[str, Any], mode: Mapping[str, Any], seed: int, steps: int) -> None:
        self.profile, self.count = profile, steps
        total = (
            steps + 1 + mode["max_lag"]
        )  # a run that goes on: its window does not run dry before the last measured step
        self.window = Window(mode["groups"], mode["max_lag"], mode["look"], None, steps=total)
        self.envs = Envs(profile, seed)
        self.rollout = episodes(**mode["rollout"])
        engines, renderers = {"policy": Talker(profile, seed)}, {"policy": WORDS}
        self.cast = Cast(
            env=self.envs, engines=engines, renderers=renderers, sampling=Sampling(max_tokens=1), seed=seed
        )
        self.learner, self.objective, self.needs = self, None, frozenset()
        self.care, self.score_part, self.racing = Care(), env_reward(), mode["rollout"].get("redundancy", 0) > 0
        self.ends: list[float] = []
        self.marks: list[tuple[float, float]] = []  # at each end: seconds that envs were in use, and at work
        self.finished: list[tuple[float, Group]] = []
        self.version = 0

    def issue(self, index: int) -> Ticket:
        """See `loop.Run`."""
        return Ticket(index=index, task=Task(key=str(index), env="timed", seed=index), version=self.window.step)

    async def reward(self, group: Group) -> Group:
        """See `loop.Run`."""
        group = await self.care.score(self.score_part, group)
        self.finished.append((now(), group))
        return group

    def steps(self) -> Iterator[int]:
        """See `loop.Run`."""
        yield from range(self.count)

    def credit(self, groups: Sequence[Group]) -> Sequence[Group]:
        """See `loop.Run`."""
        return groups

    def pack(self, groups: Sequence[Group]) -> Any:
        """See `loop.Run`."""
        return groups

    async def score(self, groups: Sequence[Group], needs: frozenset[str]) -> tuple[Group, ...]:
        """See `Learner.score`."""
        return tuple(groups)

    async def update(self, batch: Any, objective: Any) -> Mapping[str, float]:
        """See `Learner.update`."""
        await asyncio.sleep(self.profile["learner_s"])
        return {}

    async def publish(self) -> Weights:
        """See `Learner.publish`."""
        self.version += 1
        return Weights(version=self.version, kind="pointer")

    async def record(self, step: int, groups: Sequence[Group], metrics: Mapping[str, float]) -> None:
        """See `loop.Run`."""
        self.care.row(dict, self.racing)
        self.ends.append(now())
        self.marks.append((self.envs.busy_until(now()), self.envs.working))
