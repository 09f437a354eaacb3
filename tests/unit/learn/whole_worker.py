"""One rank of `test_shares.py`, run as a program: RANK SIZE PORT FOLDER. Every rank is given the whole batch."""

from __future__ import annotations

import asyncio
import json
import math
import runpy
import sys
from pathlib import Path

import numpy as np
import torch

from quintain.learn.learner import TorchLearner
from quintain.learn.optim import adamw
from quintain.learn.pack import Demo, pack
from quintain.learn.plan import Plan
from quintain.learn.ranks import Ranks
from quintain.learn.sft import imitate
from quintain.models import build_model

SHARED = runpy.run_path(str(Path(__file__).with_name("rank_worker.py")))


def main(rank: int, size: int, port: int, folder: Path) -> None:
    ranks = Ranks.join(rank, size, port=port, deadline_s=60)
    model = build_model("qwen3", seed=rank, **SHARED["SIZES"]).double()
    plan = Plan(minibatches=2, epochs=2, micro_tokens=12, clip_norm=0.3, whole=True)
    learner = TorchLearner(model, adamw(1e-2), plan=plan, ranks=ranks)
    objective = SHARED["measured"]()
    figures = []
    for count in (5, 1, 4):  # of one group there are fewer trajectories than ranks
        figures.append(asyncio.run(learner.update(pack(SHARED["groups"](count)), objective)))
    spoilt = pack(SHARED["groups"](3))
    spoilt.logprobs[np.flatnonzero(spoilt.mask)[0]] = math.nan
    figures.append(asyncio.run(learner.update(spoilt, objective)))
    state = learner.state
    demos = [Demo((1, 2, k, k), (False, True, True, True)) for k in range(6)]
    lone = TorchLearner(model, adamw(1e-2), plan=Plan(whole=True), ranks=ranks)
    warm = asyncio.run(imitate(_Handing(lone), demos, steps=3, size=3))
    folder.mkdir(exist_ok=True)
    learner.save(str(folder / f"rank{rank}"))
    told = {"figures": figures, "state": state, "quarantined": learner.quarantined, "warm": [h["loss"] for h in warm]}
    (folder / f"rank{rank}.json").write_text(json.dumps(told))
    ranks.barrier()
    ranks.close()


class _Handing:
    """Draws as the first process of a run does, which hands every batch to all ranks."""

    def __init__(self, learner: TorchLearner) -> None:
        self.update, self.ranks, self.plan = learner.update, Ranks(), learner.plan


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
