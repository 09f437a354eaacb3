"""A real engine queue, window and loop around a modelled machine and learner, on a virtual clock."""

from __future__ import annotations

import asyncio
import math
import random
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from quintain.engines.torch import TorchEngine, Updates
from quintain.engines.torch_run import Done
from quintain.engines.torch_sample import Drawn
from quintain.loop import OverLimit, Window, train
from quintain.parts import Cast
from quintain.runtime import clock
from quintain.types import Group, Node, Request, Sampling, Stop, Task, Ticket, Trajectory, Weights

WORKLOADS = Path(__file__).parent / "workloads"


def workload(name: str) -> dict[str, Any]:
    """A committed workload file."""
    return tomllib.loads((WORKLOADS / f"{name}.toml").read_text())


class Machine:
    """The forwards of an engine as delays: `step_s` and `row_s` for each sequence; the tokens mean nothing."""

    device, parameters, context = SimpleNamespace(type="cpu"), 0, 10**9

    def __init__(self, section: Mapping[str, float]) -> None:
        self.step_s, self.row_s, self.load_s = section["step_s"], section["row_s"], section["load_s"]
        self.version, self.older = 0, {}
        self.busy_s = self.rows = 0.0

    async def step(self, work: Any) -> Done:
        """One token for each sequence whose prompt is in."""
        seconds = self.step_s + self.row_s * len(work.lengths)
        self.busy_s += seconds
        self.rows += len(work.last)
        await asyncio.sleep(seconds)
        n = len(work.last)
        version = work.version if work.version in self.older else self.version
        return Done(Drawn([1] * n, [-1.0] * n, [()] * n, [()] * n), version, 0.0, 0.0)

    async def load(self, weights: Weights, keep: bool = False) -> None:
        """Take over new weights."""
        await asyncio.sleep(self.load_s)
        if keep:
            self.older[self.version] = True
        self.version = weights.version

    def forget(self, version: int) -> None:
        """Nothing is held."""
        self.older.pop(version, None)

    def copy(self, sources: list[int], targets: list[int], tokens: int) -> None:
        """Slots hold nothing."""

    def check_ids(self, ids: Any) -> None:
        """Every id is one."""


def length(profile: Mapping[str, float], *key: int) -> int:
    """Tokens of an answer: log-normal, clipped; a function of the key."""
    drawn = random.Random(repr(key)).lognormvariate(math.log(profile["median"]), profile["sigma"])
    return int(min(max(drawn, profile["low"]), profile["high"]))


@dataclass
class Slots:
    """A run of `loop.train` whose groups are answers of one turn, played by the local engine on a modelled machine."""

    load: Mapping[str, Any]
    profile: Mapping[str, float]
    seed: int
    window: Window
    updates: Updates
    objective: Any = None
    needs: frozenset[str] = frozenset()
    version: int = 0
    tokens: int = 0
    stale: int = 0
    groups: int = 0
    lags: list[int] = field(default_factory=list)
    ended_s: float = 0.0

    def __post_init__(self) -> None:
        self.machine = Machine(self.load["engine"])
        self.engine = TorchEngine(self.machine, slots=self.load["engine"]["slots"], inline=True, updates=self.updates)
        self.cast = Cast(env=lambda task: SimpleNamespace(), engines={"policy": self.engine}, renderers={})
        self.learner = self

    def issue(self, index: int) -> Ticket:
        """A ticket without end."""
        return Ticket(index=index, task=Task(key=str(index), env="x"), version=self.window.step)

    async def rollout(self, task: Task, cast: Cast, index: int) -> Group:
        """The answers of a group, side by side."""
        prompt = (1,) * self.load["engine"]["prompt_tokens"]

        async def answer(member: int) -> Trajectory:
            limit = length(self.profile, self.seed, index, member)
            key, session = (self.seed, index, member, 0, 0), f"{index}.{member}"
            asked = Request(session=session, prompt=prompt, sampling=Sampling(max_tokens=limit), key=key)
            said = await self.engine.generate(asked)
            await self.engine.abort(session)
            return Trajectory(id=session, nodes=(Node.sampled(None, said),), stop=Stop.done)

        members = [answer(member) for member in range(self.load["group_size"])]
        return Group(task=task, trajectories=tuple(await asyncio.gather(*members)))

    async def reward(self, group: Group) -> Group:
        """Nothing to add."""
        return group

    def steps(self) -> Any:
        """All of them."""
        return range(self.load["steps"])

    async def score(self, groups: Any, needs: Any) -> Any:
        """Nothing is needed."""
        return groups

    def credit(self, groups: Any) -> Any:
        """Nothing is credited."""
        return groups

    def pack(self, groups: Any) -> Any:
        """Count what is trained."""
        for group in groups:
            self.lags.append(self.window.step - group.oldest)
            for one in group.trajectories:
                self.tokens += one.length
                spans = [s for n in one.nodes for s in n.spans]
                self.stale += sum((s.stop - s.start) * (s.version < self.window.step) for s in spans)
        self.groups += len(groups)
        return groups

    async def update(self, batch: Any, objective: Any) -> dict[str, float]:
        """The modelled learner."""
        await asyncio.sleep(self.load["learner"]["update_s"])
        return {}

    async def publish(self) -> Weights:
        """The next version."""
        self.version += 1
        return Weights(version=self.version, kind="pointer")

    async def record(self, step: int, groups: Any, metrics: Any) -> None:
        """Remember when the step was done."""
        self.ended_s = asyncio.get_running_loop().time()


def play(load: Mapping[str, Any], profile: Mapping[str, float], seed: int, updates: Updates, **lag: int) -> Slots:
    """Play a workload to its end; `max_lag` and `look` as in the file unless told."""
    shape = {"max_lag": load["max_lag"], "look": load["look"], **lag}
    window = Window(load["groups_per_step"], **shape, steps=load["steps"], over=OverLimit())
    run = Slots(load, profile, seed, window, updates)
    clock.run(train(run))
    return run
