"""One rank of `test_shards.py`, run as a program: RANK SIZE PORT FOLDER KIND,KIND... SHARD."""

from __future__ import annotations

import asyncio
import json
import runpy
import sys
from pathlib import Path

import torch

from quintain.learn.learner import TorchLearner
from quintain.learn.lora import add_lora
from quintain.learn.optim import adamw, muon
from quintain.learn.pack import pack
from quintain.learn.plan import Plan
from quintain.learn.precision import bf16, fp32
from quintain.learn.ranks import Ranks
from quintain.models import build_model
from quintain.objectives import clip, penalise_kl, policy_gradient, sequence_mean, token_ratio
from quintain.parts import chain

VOCAB = 24
SIZES = {"vocab": VOCAB, "hidden": 16, "layers": 2, "heads": 2, "ffn": 24, "context": 32}


groups = runpy.run_path(str(Path(__file__).with_name("rank_worker.py")))["groups"]


def make(ranks: Ranks, kind: str, shard: bool, folder: str = "") -> TorchLearner:
    """A learner whose first weights are those of rank 0."""
    model = build_model("qwen3", seed=ranks.rank, **SIZES)
    torch.manual_seed(5)  # peft draws its factors from it
    if kind == "lora":
        model = add_lora(model, r=2)
    recipe = muon(1e-2) if kind == "muon" else adamw(1e-2, weight_decay=0.1)
    plan = Plan(micro_tokens=12, clip_norm=0.3, shard=shard, folder=folder)
    precision = bf16() if kind == "bf16" else fp32()
    return TorchLearner(model, recipe, plan=plan, ranks=ranks, reference=True, precision=precision)


def steps(ranks: Ranks, folder: Path, kind: str, shard: bool) -> None:
    """Four steps, with unequal shares and a rank that has nothing; published and saved; then one more from what was saved."""
    learner = make(ranks, kind, shard, str(folder / "published"))
    # Which side of a clip's edge a ratio falls on, bfloat16's rounding decides: one token more has moved a gradient by a fifth.
    surrogate = policy_gradient() if kind == "bf16" else clip()
    objective = chain(token_ratio("rollout"), surrogate, penalise_kl(0.1), sequence_mean())
    figures = []
    for count in (7, 5, 1):
        mine = list(ranks.share(groups(count)))
        scored = asyncio.run(learner.score(mine, frozenset({"ref"})))
        figures.append(asyncio.run(learner.update(pack(scored), objective)))
    weights = asyncio.run(learner.publish())
    if ranks.rank == 0:
        learner.save(str(folder / "saved"))
    else:
        learner.assist()
    ranks.barrier()
    again = make(ranks, kind, shard)
    again.load(str(folder / "saved"))
    scored = asyncio.run(learner.score(list(ranks.share(groups(6))), frozenset({"ref"})))
    after = [asyncio.run(one.update(pack(scored), objective)) for one in (learner, again)]
    kept = sum(learner_part.value.numel() for learner_part in learner.weights)
    told = {"figures": figures, "after": after, "prints": dict(weights.fingerprint), "kept": kept}
    (folder / f"rank{ranks.rank}.json").write_text(json.dumps(told))
    ranks.barrier()


def main(rank: int, size: int, port: int, folder: Path, kinds: list[str], shard: bool) -> None:
    """The steps of each kind, one after the other."""
    ranks = Ranks.join(rank, size, port=port, deadline_s=60)
    for kind in kinds:
        steps(ranks, folder / kind, kind, shard)
    ranks.close()


if __name__ == "__main__":
    torch.set_num_threads(1)
    number, count, where = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[4])
    main(number, count, int(sys.argv[3]), where, sys.argv[5].split(","), sys.argv[6] == "full")
