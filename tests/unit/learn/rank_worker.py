"""One rank of `test_ranks.py`, run as a program: RANK SIZE PORT FOLDER."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from quintain.learn.learner import TorchLearner
from quintain.learn.optim import adamw
from quintain.learn.pack import Demo, pack
from quintain.learn.plan import Plan
from quintain.learn.ranks import RankError, Ranks
from quintain.learn.sft import imitate
from quintain.models import build_model
from quintain.objectives import clip, reward_entropy, sequence_mean, token_ratio
from quintain.parts import Transform, chain
from quintain.types import Completion, Group, Kind, Node, Span, Stop, Task, Trajectory

VOCAB = 24
SIZES = {"vocab": VOCAB, "hidden": 16, "layers": 2, "heads": 2, "ffn": 16, "context": 32}


def groups(count: int = 5) -> list[Group]:
    rng = np.random.default_rng(7)

    def one(name: str, length: int) -> Trajectory:
        ids = tuple(rng.integers(0, VOCAB, length).tolist())
        span = (Span(start=0, stop=length, version=0),)
        drawn = Completion(tokens=ids, logprobs=(-3.2,) * length, finish="stop", spans=span)
        nodes = (Node.given(None, (1, 2, 3), kind=Kind.prompt), Node.sampled(0, drawn))
        return Trajectory(id=name, nodes=nodes, stop=Stop.done).with_value("advantage", float(rng.normal()))

    return [
        Group(
            task=Task(key=str(g), env="none"),
            trajectories=tuple(one(f"{g}.{m}", 2 + g + m) for m in range(2)),
            ticket=g,
        )
        for g in range(count)
    ]


def measured() -> Transform:
    """The loss divided by sums over all rows of the step, the second of which stands on the first, and a state that adds up."""
    inner = chain(token_ratio("rollout"), clip(), reward_entropy(0.05), sequence_mean())

    def measure(terms):
        gap = (terms.new - terms.rollout).abs()
        found = {"gap": gap.sum(), "wide": np.array([len(terms.new), 1.0])}
        if "gap" not in terms.totals:
            return found
        mean = float(terms.totals["gap"]) / float(terms.totals["wide"][0])
        return found | {"spread": (gap - mean).square().sum()}

    def apply(terms, state):
        out, _ = inner.apply(terms, inner.init())
        gap, spread = terms.totals["gap"], terms.totals["spread"]
        return replace(out, loss=out.loss * (1 + spread / (gap + spread)) / gap), [
            *state,
            float(terms.totals["wide"][0]),
        ]

    return Transform(list, apply, inner.needs, measure, "mean", rounds=2)


def learn(ranks: Ranks, folder: Path) -> dict[str, object]:
    """Three steps on this rank's share, one of which a single rank spoils, then a warm start; what came out."""
    model = build_model("qwen3", seed=ranks.rank, **SIZES).double()
    learner = TorchLearner(model, adamw(1e-2), plan=Plan(micro_tokens=12, clip_norm=0.3), ranks=ranks)
    mine = ranks.share(groups())
    objective = measured()
    figures = [asyncio.run(learner.update(pack(mine), objective)) for _ in range(2)]
    spoilt = pack(mine)
    if ranks.rank == ranks.size - 1:
        spoilt.logprobs[np.flatnonzero(spoilt.mask)[0]] = math.nan
    figures.append(asyncio.run(learner.update(spoilt, objective)))
    few = ranks.share(groups(1)) if ranks.size > 1 else groups(1)  # the other rank has nothing to do
    figures.append(asyncio.run(learner.update(pack(few), objective)))
    state = learner.state
    demos = [Demo((1, 2, k, k), (False, True, True, True)) for k in range(6)]

    async def enough(steps: int) -> bool:
        return ranks.rank == 0 and steps >= 4

    history = asyncio.run(imitate(learner, demos, steps=9, size=3, stop_when=enough, every=2))
    weights = asyncio.run(learner.publish())
    learner.save(str(folder / f"rank{ranks.rank}"))
    return {
        "figures": figures,
        "warm": [h["ce"] for h in history],
        "imitated": [h["tokens"] for h in history],
        "state": state,
        "prints": dict(weights.fingerprint),
        "quarantined": learner.quarantined,
    }


def main(rank: int, size: int, port: int, folder: Path) -> None:
    ranks = Ranks.join(rank, size, port=port, deadline_s=60)
    told = learn(ranks, folder)
    if size > 1:
        try:
            ranks.same("the answer", 40 + rank)
        except RankError as error:
            told["disagreement"] = str(error)
        told["largest"] = ranks.largest({"rank": float(rank)})["rank"]
        told["gathered"] = [said.decode() for said in ranks.gathered(b"of one" * rank)]
        told["kind"] = str(ranks.sums({"n": torch.ones(2)})["n"].dtype)
        ranks.barrier()
        if rank == 0:
            try:
                ranks.barrier(deadline_s=0.5)  # nobody else comes
            except RankError as error:
                told["late"] = str(error)
    folder.mkdir(exist_ok=True)
    (folder / f"rank{rank}.json").write_text(json.dumps(told))
    ranks.close()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
