"""Seconds of a learner's update on a GPU, in each precision: as runs set the GPU, with sums in any order, and with cuDNN's attention.

Settings are in workloads/gpu.toml. Each setting is a process of its own and trains three times from the same weights: twice on the same
episodes, which must end in the same bits where sums are ordered, then on others, whose steps but the first are timed (their median, so
that shapes of batches are new as they are in a run). Without a GPU there is no row.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import statistics
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import torch

from quintain.learn.learner import TorchLearner
from quintain.learn.optim import adamw
from quintain.learn.pack import pack
from quintain.learn.plan import Plan
from quintain.learn.precision import set_device
from quintain.models import build_model
from quintain.objectives import clip, token_mean, token_ratio
from quintain.parts import chain
from quintain.registry import build
from quintain.types import Completion, Group, Kind, Node, Span, Stop, Task, Trajectory

W = tomllib.loads((Path(__file__).parent / "workloads" / "gpu.toml").read_text())
WAYS = ("as runs", "any order", "with cuDNN")


def groups(seed: int) -> list[Group]:
    """Random episodes of many turns."""
    rng = np.random.default_rng(seed)

    def ids(low: int, high: int) -> tuple[int, ...]:
        return tuple(rng.integers(0, W["model"]["vocab"], int(rng.integers(low, high))).tolist())

    def episode(name: str) -> Trajectory:
        nodes = [Node.given(None, ids(W["prompt"], W["prompt"] + 1), kind=Kind.prompt)]
        for turn in range(int(rng.integers(*W["turns"]))):
            said = ids(*W["said"])
            span = (Span(start=0, stop=len(said), version=0),)
            drawn = Completion(tokens=said, logprobs=(-6.9,) * len(said), finish="stop", spans=span)
            nodes += [Node.sampled(len(nodes) - 1, drawn, turn=turn), Node.given(len(nodes), ids(*W["heard"]))]
        return Trajectory(id=name, nodes=tuple(nodes), stop=Stop.done).with_value("advantage", float(rng.normal()))

    return [
        Group(
            task=Task(key=f"t{g}", env="none"),
            trajectories=tuple(episode(f"{g}.{m}") for m in range(W["members"])),
            ticket=g,
        )
        for g in range(W["groups"])
    ]


def train(plan: str, kv_heads: int, device: torch.device, seed: int = 0) -> tuple[list[float], str]:
    """Seconds of each update, and a hash of the weights at the end; `seed` is of the episodes."""
    model = build_model("qwen3", seed=0, kv_heads=kv_heads, **W["model"]).to(device)
    learner = TorchLearner(model, adamw(1e-4), plan=Plan(micro_tokens=16384), precision=build("precision", plan))
    objective, took = chain(token_ratio("rollout"), clip(), token_mean()), []
    for step in range(W["steps"]):
        batch = pack(groups(seed + step))
        torch.cuda.synchronize()
        began = time.perf_counter()
        asyncio.run(learner.update(batch, objective))
        torch.cuda.synchronize()
        took.append(time.perf_counter() - began)
    raw = b"".join(p.detach().cpu().numpy().tobytes() for p in model.parameters())
    return took, hashlib.sha256(raw).hexdigest()[:12]


def child(way: str) -> None:
    """Every plan under one setting, a JSON line each."""
    device = set_device(torch.device("cuda"))
    if way == "any order":
        torch.use_deterministic_algorithms(False)
    if way == "with cuDNN":
        torch.backends.cuda.enable_cudnn_sdp(True)
    for plan in W["plans"]:
        for kv_heads in W["kv_heads"]:
            one, two = (train(plan, kv_heads, device)[1] for _ in range(2))
            took, _ = train(plan, kv_heads, device, seed=1000)
            line = {"plan": plan, "kv": kv_heads, "s": statistics.median(took[1:]), "same": one == two}
            print(json.dumps(line), flush=True)


def main() -> list[dict[str, Any]]:
    """A row per plan and way: seconds as runs have it against the other way."""
    if not torch.cuda.is_available():
        print("no GPU here, nothing to measure", file=sys.stderr)
        return []
    found: dict[str, list[dict[str, Any]]] = {}
    for way in WAYS:
        out = subprocess.run([sys.executable, __file__, way], stdout=subprocess.PIPE, text=True, check=True).stdout
        found[way] = [json.loads(line) for line in out.splitlines()]
    return [
        {
            "name": f"update on {torch.cuda.get_device_name()}, {mine['plan']}, {mine['kv']} key heads: seconds, against {way}",
            "ours": round(mine["s"], 3),
            "peer": round(other["s"], 3),
            "ratio": round(other["s"] / mine["s"], 2),
            "target": "equal bits",
            "holds": mine["same"],
            "note": f"torch {torch.__version__}; equal bits {way}: {other['same']}",
        }
        for way in WAYS[1:]
        for mine, other in zip(found[WAYS[0]], found[way], strict=True)
    ]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        child(sys.argv[1])
    else:
        print(json.dumps(main()))
