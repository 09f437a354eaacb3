"""A slow and unreliable outside world around the real parts of a run: environments, engines and a learner that take seconds."""

from __future__ import annotations

import asyncio
import math
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from quintain.messages import Message
from quintain.ports import Engine, Env
from quintain.types import Completion, Feedback, Floats, Ints, Request, Task, Weights

WORKLOADS = Path(__file__).parent / "workloads"


def workload(name: str) -> dict[str, Any]:
    """The committed file of a workload."""
    return tomllib.loads((WORKLOADS / f"{name}.toml").read_text())


def now() -> float:
    """Seconds on the clock of the event loop, virtual or not."""
    return asyncio.get_running_loop().time()


def lognormal(draw: np.random.Generator, p50: float, p99: float) -> float:
    """A lognormal number with this median and 99th percentile."""
    return p50 * math.exp(draw.standard_normal() * math.log(p99 / p50) / 2.326348)


@dataclass
class Busy:
    """Seconds that each role was at work, added up over its members."""

    seconds: Counter[str] = field(default_factory=Counter)

    def add(self, role: str, seconds: float) -> None:
        """Book work."""
        self.seconds[role] += seconds


class SlowEnv:
    """An env that opens when the pool has room, answers late, and sometimes raises or never answers."""

    def __init__(
        self, env: Env, pool: asyncio.Semaphore, slow: Mapping[str, Any], draw: np.random.Generator, busy: Busy
    ) -> None:
        self.env, self.pool, self.slow, self.draw, self.busy = env, pool, slow, draw, busy
        self.held = False
        self.turn = 0
        self.fails = int(draw.integers(0, 10)) if draw.random() < slow["errors"] else -1
        self.hangs = int(draw.integers(0, 10)) if draw.random() < slow["hangs"] else -1

    async def _answer(self) -> None:
        turn, self.turn = self.turn, self.turn + 1
        seconds = lognormal(self.draw, self.slow["env_p50_s"], self.slow["env_p99_s"])
        if turn == self.hangs:
            seconds = math.inf
        await asyncio.sleep(min(seconds, self.slow["deadline_s"]))
        if seconds >= self.slow["deadline_s"]:
            raise TimeoutError(f"no answer within {self.slow['deadline_s']} s")
        self.busy.add("env", seconds)
        if turn == self.fails:
            raise RuntimeError("the environment failed")

    async def reset(self, task: Task) -> Mapping[str, Feedback]:
        """See `Env.reset`."""
        await self.pool.acquire()
        self.held = True
        await self._answer()
        return await self.env.reset(task)

    async def step(self, moves: Mapping[str, Message]) -> Mapping[str, Feedback]:
        """See `Env.step`."""
        await self._answer()
        return await self.env.step(moves)

    def snapshot(self) -> Any:
        """See `Env.snapshot`."""
        return self.env.snapshot()

    def restore(self, snapshot: Any) -> None:
        """See `Env.restore`."""
        self.env.restore(snapshot)

    async def close(self) -> None:
        """Give the place in the pool back."""
        if self.held:
            self.held = False
            self.pool.release()
        await self.env.close()


class SlowEnvs:
    """The env factory of a slow world: the n-th env of a task has latencies of its own, the same in every mode."""

    def __init__(self, make: Callable[[Task], Env], slow: Mapping[str, Any], seed: int, busy: Busy) -> None:
        self.make, self.slow, self.seed, self.busy = make, slow, seed, busy
        self.pool = asyncio.Semaphore(slow["envs"])
        self.made: Counter[tuple[int, int]] = Counter()

    def __call__(self, task: Task) -> Env:
        key = (task.seed, task.level)
        self.made[key] += 1
        draw = np.random.Generator(np.random.PCG64([self.seed, *key, self.made[key]]))
        return SlowEnv(self.make(task), self.pool, self.slow, draw, self.busy)


class SlowEngine:
    """The real engine behind some servers with few slots each, on which every token takes its time."""

    def __init__(self, engine: Engine, slow: Mapping[str, Any], seed: int, busy: Busy) -> None:
        self.engine, self.slow, self.seed, self.busy = engine, slow, seed, busy
        self.servers = [asyncio.Semaphore(slow["slots"]) for _ in range(slow["engines"])]
        self.open = asyncio.Event()
        self.open.set()
        self.load_of = [0] * slow["engines"]
        self.home: dict[str, int] = {}

    async def generate(self, request: Request) -> Completion:
        """See `Engine.generate`; a session stays on the server that had the least to do when it began."""
        home = self.home.setdefault(request.session, min(range(len(self.servers)), key=self.load_of.__getitem__))
        self.load_of[home] += 1
        try:
            async with self.servers[home]:
                draw = np.random.Generator(np.random.PCG64([self.seed, *(abs(int(k)) for k in request.key)]))
                count = lognormal(draw, self.slow["turn_tokens_p50"], self.slow["turn_tokens_p99"])
                await asyncio.sleep(count * self.slow["token_s"])
                self.busy.add("slot", count * self.slow["token_s"])
                await self.open.wait()
                return await self.engine.generate(request)
        finally:
            self.load_of[home] -= 1

    async def load(self, weights: Weights) -> None:
        """See `Engine.load`; nothing is emitted while weights travel."""
        self.open.clear()
        await asyncio.sleep(self.slow["sync_s"])
        await self.engine.load(weights)
        self.open.set()

    async def score(self, paths: Sequence[Ints]) -> Sequence[Floats]:
        """See `Engine.score`."""
        return await self.engine.score(paths)

    async def fork(self, session: str, at: int, into: str) -> None:
        """See `Engine.fork`."""
        await self.engine.fork(session, at, into)

    async def abort(self, session: str) -> None:
        """See `Engine.abort`."""
        self.home.pop(session, None)
        await self.engine.abort(session)

    async def pause(self) -> None:
        """See `Engine.pause`."""
        await self.engine.pause()

    async def resume(self) -> None:
        """See `Engine.resume`."""
        await self.engine.resume()


class SlowLearner:
    """The real learner, whose step takes the modelled seconds, those of the real step included."""

    def __init__(self, learner: Any, slow: Mapping[str, Any], busy: Busy) -> None:
        self.learner, self.slow, self.busy = learner, slow, busy

    async def update(self, batch: Any, objective: Any) -> Mapping[str, float]:
        """See `Learner.update`."""
        start = now()
        metrics = await self.learner.update(batch, objective)
        await asyncio.sleep(max(0.0, self.slow["learner_s"] - (now() - start)))
        self.busy.add("learner", self.slow["learner_s"])
        return metrics

    def __getattr__(self, name: str) -> Any:
        return getattr(self.learner, name)
