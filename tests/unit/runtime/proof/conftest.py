"""A small run to break on purpose: a learner, an engine of its own, and episodes that the engine really plays."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from quintain.engines.torch import TorchEngine
from quintain.learn.learner import TorchLearner
from quintain.learn.lora import add_lora
from quintain.learn.optim import adamw
from quintain.learn.pack import pack
from quintain.learn.plan import Plan as Cut
from quintain.learn.precision import Precision
from quintain.learn.ranks import Ranks
from quintain.models import build_model
from quintain.objectives.mean import token_mean
from quintain.objectives.ratio import token_ratio
from quintain.objectives.surrogate import clip
from quintain.parts import Cast, chain
from quintain.runtime.audit import Plan
from quintain.runtime.proof import Proof
from quintain.types import Group, Kind, Message, Node, Request, Sampling, Stop, Task, Trajectory, Weights

VOCAB, BOS, ALIAS = 32, 2, (30, 31)  # two ids spell the same word
SIZES = {"vocab": VOCAB, "hidden": 16, "layers": 2, "heads": 2, "ffn": 32, "context": 128, "tie": False}


class Letters:
    """A renderer of one word per id, with a BOS."""

    size, stop, turn_tokens = VOCAB, (), 0

    def __init__(self, prefix: tuple[int, ...] = (BOS,), between: tuple[int, ...] = (1,)) -> None:
        self.prefix, self.between = prefix, between

    def _ids(self, messages: Sequence[Message]) -> tuple[int, ...]:
        return tuple(int(w) for m in messages for w in m.text.split())

    def open(self, messages, tools=()):
        return (*self.prefix, *self._ids(messages))

    def extend(self, history, messages, tokens, tools=()):
        return (*self.between, *self._ids(messages))

    def text(self, tokens):
        return " ".join(str(min(ALIAS) if t in ALIAS else t) for t in tokens)

    def parse(self, tokens):
        return Message.of("assistant", self.text(tokens))


class Stand:
    """Learner, engine and proof; `engine` may be broken at will between steps."""

    def __init__(
        self,
        *,
        sampling: Sampling | None = None,
        lora: bool = False,
        folder: Path | None = None,
        engine: Any = None,
        precision: Precision | None = None,
        **more: Any,
    ) -> None:
        own_kind: Any = more.get("kind", TorchEngine)
        base = build_model("qwen3", seed=1, **SIZES)
        with torch.no_grad():
            for p in base.parameters():
                p.mul_(4.0 if p.ndim > 1 else 1.0)  # far from uniform, so that what differs shows
        self.model = add_lora(base, r=2, lora_alpha=8) if lora else base
        if lora:
            with torch.no_grad():
                for name, p in self.model.named_parameters():
                    if "lora_B" in name:
                        p.copy_(torch.linspace(-0.2, 0.2, p.numel()).view_as(p))
        self.ranks = more.get("ranks") or Ranks()
        plan = Cut(folder=str(folder or ""), shard=self.ranks.size > 1)
        self.learner = TorchLearner(self.model, adamw(3e-2), plan=plan, precision=precision, ranks=self.ranks)
        own = build_model("qwen3", seed=1, **SIZES) if folder else copy.deepcopy(self.learner.playing)
        self.engine = engine or own_kind(own, refresh=more.get("refresh", False))
        self.sampling = replace(sampling or Sampling(), max_tokens=3)
        self.renderer = Letters()
        self.cast = Cast(env=lambda task: None, engines={"policy": self.engine}, renderers={"policy": self.renderer})  # pyrefly: ignore
        self.cast = replace(self.cast, sampling=self.sampling, seed=3)
        self.facts: list[Any] = []
        watch = Plan(
            count=more.get("count", 4), seed=5, context=128, beside=more.get("beside", False), lag=more.get("lag", 0)
        )
        self.proof = Proof(self.learner, self.cast, watch, self.facts.append)
        self.objective = chain(token_ratio(anchor="rollout"), clip(0.2, 0.28), token_mean())
        self.version = 0

    async def sync(self, weights: Weights | None = None) -> Weights:
        """Publish, load, prove."""
        weights = weights or await self.learner.publish()
        await self.engine.load(weights)
        self.version = weights.version
        await self.proof.synced(weights)
        return weights

    async def play(self, groups: int = 3, members: int = 2, turns: int = 3) -> tuple[Group, ...]:
        """Episodes of the engine, all at once: a prompt, then words and answers in turn."""
        first = self.version * groups
        tickets = [(first + g) * self.ranks.size + self.ranks.rank for g in range(groups)]
        rows = await asyncio.gather(*(self._episode(t, m, turns) for t in tickets for m in range(members)))
        return tuple(
            Group(
                task=Task(key=f"task {g}", env="none"),
                trajectories=tuple(rows[g * members : (g + 1) * members]),
                ticket=ticket,
                version=self.version,
            )
            for g, ticket in enumerate(tickets)
        )

    async def _episode(self, ticket: int, member: int, turns: int) -> Trajectory:
        said = f"{5 + ticket % 7} {ALIAS[1]} 9"
        tokens = (BOS, *map(int, said.split()))
        nodes = [Node.given(None, tokens, kind=Kind.prompt, text=said)]
        for turn in range(turns):
            request = Request(
                session=f"{ticket}.{member}", prompt=tokens, sampling=self.sampling, key=(3, ticket, member, turn)
            )
            done = await self.engine.generate(request)
            nodes.append(Node.sampled(len(nodes) - 1, done, turn=turn, sampling=self.sampling))
            text = f"{10 + turn} {11 + member}"
            tokens += (*done.tokens, 1, *map(int, text.split()))
            nodes.append(Node.given(len(nodes) - 1, (1, *map(int, text.split())), turn=turn + 1, text=text))
        await self.engine.abort(f"{ticket}.{member}")
        row = Trajectory(id=f"{ticket}.{member}", nodes=tuple(nodes), stop=Stop.done, episode=member, agent="agent")
        return row.with_value("advantage", 1.0 if (ticket + member) % 2 else -1.0)

    async def look(self, groups: Sequence[Group], batch: Any = None) -> Any:
        """Audit groups."""
        batch = pack(groups) if batch is None else batch
        self.proof.audit.training(groups)
        self.proof.audit.look(batch)
        await self.proof.audit.judged()
        return batch

    async def step(self) -> dict[str, float]:
        """One whole healthy step."""
        groups = await self.play()
        batch = pack(groups)
        self.proof.audit.training(groups)
        await self.proof.look(batch)
        await self.proof.trained(await self.learner.update(batch, self.objective))
        await self.sync()
        return self.proof.row()

    async def begin(self, steps: int = 1) -> None:
        """The first sync and some healthy steps."""
        await self.sync()
        for _ in range(steps):
            await self.step()

    def close(self) -> None:
        """End the learner's thread."""
        self.learner.close()


@pytest.fixture
def stand_of() -> Iterator[Callable[..., Stand]]:
    """stand_of(**options): a small run, whose learner ends with the test."""
    made: list[Stand] = []

    def make(**options: Any) -> Stand:
        made.append(Stand(**options))
        return made[-1]

    yield make
    for stand in made:
        stand.close()
