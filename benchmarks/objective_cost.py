"""What an objective costs on terms that are given, against plain PPO-clip, a training step, and the losses of verl and TRL.

Settings are in workloads/objective_cost.toml. One run of an objective is what the learner does with it once a step: what
it measures (all rounds), what it applies, and the way back to the logprobs. All take turns within a round; a figure is a
median over rounds, in seconds of processor time of the one thread that works, so that other processes move it little.
Each run gets terms of its own, so that nothing found for one serves the next. Peers get the same
numbers as rows [B, T], need no padding, and run in the same rounds; they are missing where they cannot be imported.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import random
import statistics
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import _peer_losses
import numpy as np
import torch

from quintain.batch import Batch, Terms
from quintain.learn.learner import TorchLearner
from quintain.learn.optim import adamw
from quintain.learn.plan import Plan
from quintain.models import build_model
from quintain.objectives import clip, dual_clip, sequence_mean, token_mean, token_ratio
from quintain.parts import Objective, chain
from quintain.registry import Entry, build, entries

W = tomllib.loads((Path(__file__).parent / "workloads" / "objective_cost.toml").read_text())
PLAIN = "plain clip"
BOUND, SHARE = 1.5, 0.02
PEERS = {"verl": (_peer_losses.VERL, _peer_losses.verl_loss), "trl": (_peer_losses.TRL, _peer_losses.trl_loss)}
# objectives of which the paper leaves a choice open, or which draw at random: a peer's gradient may differ
FREE = {"clip_cov": "tokens are drawn at random, by another rule"}
WHY = (
    "most of those over do more than a clip: curvature by powers of the top-k columns (capo), exponentials of those columns (dppo/topk), "
    "a rank of all tokens that ranks can add up (kl_cov, clip_cov), pairs of sequences (dpo), sums over flat rows (per sequence); "
    "next: the curvature only where the ratio leaves a narrow band, one pass for what several parts of a chain compute alike"
)
WHY_PEER = (
    "rows are flat here, so a mean over a sequence is an index_add and a gather, where the peer has rows of equal length and sums "
    "along them; ranks of tokens are made from counts that add up over micro-batches and ranks; next: sums by segments where a sequence "
    "lies in one piece"
)


def asked(entry: Entry) -> dict[str, Any]:
    """The options that an algorithm cannot be made without, from its example."""
    given = inspect.signature(entry.make).parameters.values()
    return {p.name: entry.tags["example"][p.name] for p in given if p.default is p.empty}


def objectives() -> dict[str, tuple[Objective, list[str]]]:
    """Every distinct objective of the named algorithms and their presets, with all names that share it."""
    found: dict[str, tuple[str, Objective, list[str]]] = {}
    for entry in entries("algorithm"):
        for form, options in {"": {}, **entry.tags.get("presets", {})}.items():
            made = build("algorithm", {"name": entry.name, **asked(entry), **options})
            name = f"{entry.name}/{form}" if form else entry.name
            key = json.dumps(made.expand()["objective"])
            found.setdefault(key, (name, made.objective, []))[2].append(name)
    return {name: (objective, names) for name, objective, names in found.values()}


def columns(seed: int, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    """The numbers of the workload [B, T], none of them a leaf."""
    draw = np.random.default_rng(seed)
    shape = (W["sequences"], W["tokens"])

    def tensor(values: np.ndarray) -> torch.Tensor:
        return torch.tensor(values, dtype=dtype)

    new = np.log(draw.beta(2, 1, shape).clip(1e-3, 1 - 1e-3))
    near = {name: (new + W["drift"] * draw.normal(size=shape)).clip(max=-1e-4) for name in ("old", "rollout", "ref")}
    reward = draw.integers(0, 2, W["sequences"]).astype(float).reshape(-1, W["members"])
    advantage = (reward - reward.mean(1, keepdims=True)) / (reward.std(1, ddof=1, keepdims=True) + 1e-6)
    values = {name: draw.normal(size=shape) for name in ("value", "old_value", "returns")}
    values["reward"] = np.repeat(reward.reshape(-1, 1), W["tokens"], 1)
    wide = np.repeat(advantage.reshape(-1, 1), W["tokens"], 1)
    plain = {"new": new, **near, **values, "advantage": wide, "entropy": draw.gamma(2, 0.5, shape)}
    return {name: tensor(v) for name, v in plain.items()} | {"mask": torch.ones(shape, dtype=dtype)}


def terms_of(x: Mapping[str, torch.Tensor], needs: frozenset[str]) -> Terms:
    """The numbers as the learner lays them out: flat, with leaves where a gradient is wanted."""
    rows, width = x["new"].shape
    sequence = torch.arange(rows).repeat_interleave(width)
    message = torch.arange(width) // (width // W["turns"])
    flat = {name: x[name].reshape(-1).clone() for name in x if name != "mask"}
    critic = ["value"] if {"value", "values", "twin_values"} & needs else []
    for name in ("new", *critic, *({"entropy"} & needs)):
        flat[name].requires_grad_()
    if "hidden" in needs:
        flat["hidden"] = torch.ones(rows * width, W["step"]["hidden"], dtype=x["new"].dtype)
    whole = {"tokens": float(rows * width), "sequences": float(rows), "groups": float(rows // W["members"])}
    top = {}
    if any(need.startswith("topk") for need in needs):
        draw = torch.Generator().manual_seed(W["seed"])
        logits = torch.randn(rows * width, W["topk"] + 1, generator=draw)
        moved = logits + W["drift"] * torch.randn(logits.shape, generator=draw)
        top = {n: v.log_softmax(-1)[:, :-1].to(x["new"].dtype) for n, v in (("rollout", logits), ("new", moved))}
    return Terms(
        mask=torch.ones(rows * width, dtype=torch.bool),
        sequence=sequence,
        group=sequence // W["members"],
        turn=(sequence[:, None] * W["turns"] + message.repeat(rows)[:, None]).reshape(-1),
        weights={name: torch.ones_like(flat["new"]) for name in ("rl", "kl")} | {"ce": torch.zeros_like(flat["new"])},
        topk=top,
        totals=whole,
        **flat,
    )


def once(objective: Objective, terms: Terms) -> torch.Tensor:
    """The loss of a whole step in one piece, as the learner finds it."""
    if objective.measure is not None:
        totals: dict[str, Any] = dict(terms.totals)
        for _ in range(objective.rounds):
            with torch.no_grad():
                totals |= objective.measure(replace(terms, totals=totals))
        terms = replace(terms, totals=totals)
    loss = objective.apply(terms, objective.init())[0].loss
    assert loss is not None
    return loss


def ours(objective: Objective, x: Mapping[str, torch.Tensor]) -> Callable[[], float]:
    """A run of one of our objectives, in seconds of processor time."""
    needs = objective.needs

    def run() -> float:
        terms = terms_of(x, needs)
        start = time.thread_time()
        once(objective, terms).backward()
        return time.thread_time() - start

    return run


def theirs(loss: _peer_losses.Loss, x: Mapping[str, torch.Tensor]) -> Callable[[], float]:
    """A run of a peer's loss, in seconds of processor time."""

    def run() -> float:
        mine = {name: v.clone() for name, v in x.items()}
        mine["new"].requires_grad_()
        start = time.thread_time()
        loss(mine).backward()
        return time.thread_time() - start

    return run


def medians(runs: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, tuple[float, float]]:
    """Median and spread (half the distance of the quartiles) in seconds of each, alternated in a drawn order."""
    draw, order = random.Random(W["seed"]), list(runs)
    found: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(rounds + 2):
        draw.shuffle(order)
        for name in order:
            seconds = runs[name]()
            if turn >= 2:  # the first two warm up
                found[name].append(seconds)
    quarters = {name: statistics.quantiles(v, n=4) for name, v in found.items()}
    return {name: (statistics.median(found[name]), (q[2] - q[0]) / 2) for name, q in quarters.items()}


def apart(objective: Objective, loss: _peer_losses.Loss) -> float:
    """The largest difference of the two gradients on `new`, over the largest gradient, in float64 on other numbers."""
    x = columns(W["seed"] + 1, torch.float64)
    terms = terms_of(x, objective.needs)
    once(objective, terms).backward()
    x["new"].requires_grad_()
    loss(x).backward()
    mine, other = terms.new.grad, x["new"].grad
    assert mine is not None and other is not None
    return float((mine - other.reshape(-1)).abs().max() / other.abs().max())


def step_seconds() -> float:
    """Seconds of one optimizer step of the learner on as many tokens, its objective included, of processor time."""
    sizes = dict(W["step"])
    micro = sizes.pop("micro_tokens")
    x = {name: v.numpy() for name, v in columns(W["seed"]).items()}
    rows, width = W["sequences"], W["tokens"] + 1  # a token of prompt before each

    def led(values: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros((rows, 1), values.dtype), values], 1).reshape(-1)

    sequence, mask = np.repeat(np.arange(rows), width), led(np.ones((rows, width - 1), bool))
    one = mask.astype(np.float32)
    batch = Batch(
        tokens=np.random.default_rng(W["seed"]).integers(0, sizes["vocab"], rows * width),
        mask=mask,
        logprobs=led(x["rollout"]),
        sequence=sequence,
        position=np.tile(np.arange(width), rows),
        group=sequence // W["members"],
        weights={"rl": one, "kl": one, "ce": 0 * one},
        streams={"trajectory": sequence, "advantage": led(x["advantage"]), "old": led(x["old"])},
        totals={"tokens": mask.sum(), "sequences": rows, "groups": rows // W["members"]},
    )
    model = build_model("qwen3", seed=W["seed"], context=width, **sizes)
    learner = TorchLearner(model, adamw(lr=1e-4), plan=Plan(micro_tokens=micro))
    objective = chain(token_ratio("old"), clip(), token_mean())
    found = []
    for _ in range(4):
        start = time.process_time()
        asyncio.run(learner.update(batch, objective))
        found.append(time.process_time() - start)
    return statistics.median(found[1:])


def reachable() -> tuple[dict[str, str], dict[str, str]]:
    """Peers that can be imported, with their versions, and those that cannot, with the cause."""
    found, missing = {}, {}
    for name in PEERS:
        try:
            found[name] = _peer_losses.version(name)
        except ImportError as error:
            missing[name] = str(error)
    return found, missing


def same_as_ours(all_: Mapping[str, tuple[Objective, list[str]]], name: str) -> Objective:
    """The objective of ours that computes what a peer's function does."""
    by_name = {alias: objective for objective, names in all_.values() for alias in names}
    usual = (token_ratio("old"), clip(0.2, 0.2))
    written = {
        "ppo_clip": chain(*usual, dual_clip(3.0), token_mean()),
        "clip_grpo": chain(*usual, sequence_mean()),
        "clip_dapo": chain(*usual, token_mean()),
        "grpo/as_paper": build("algorithm", {"name": "grpo", "anchor": "old", "kl": 0.04}).objective,
        "dr_grpo": build("algorithm", {"name": "dr_grpo", "anchor": "old", "length": W["tokens"]}).objective,
    }
    return written.get(name) or by_name[name]


def main() -> None:
    """Measure and print a row for each figure."""
    torch.set_num_threads(W["threads"])
    x, all_ = columns(W["seed"]), objectives()
    peers, missing = reachable()
    runs = {PLAIN: ours(chain(token_ratio("old"), clip(), token_mean()), x)}
    runs |= {name: ours(objective, x) for name, (objective, _) in all_.items()}
    pairs = [(peer, name) for peer in peers for name in PEERS[peer][0]]
    gaps = {}
    for peer, name in pairs:
        loss, mine = PEERS[peer][1](name), same_as_ours(all_, name)
        gaps[peer, name] = apart(mine, loss)
        runs |= {f"{peer} {name}": theirs(loss, x), f"ours {peer} {name}": ours(mine, x)}
    load = os.getloadavg()[0]
    found = medians(runs, W["rounds"])
    told = f"1-minute load {load:.1f} before and {os.getloadavg()[0]:.1f} after, nice {os.nice(0)}"
    print(json.dumps([*alias_rows(found, all_, told), share_row(found, all_), *peer_rows(found, gaps, peers, missing)]))


def alias_rows(found: Mapping[str, tuple[float, float]], all_: Mapping[str, Any], told: str) -> list[dict[str, Any]]:
    """The aliases against plain clip: the slowest, and how many are within the bound."""
    base, spread = found[PLAIN]
    times = sorted(((found[name][0] / base, name) for name in all_), reverse=True)
    over = [f"{name} {ratio:.2f}" for ratio, name in times if ratio > BOUND]
    listed = ", ".join(f"{name} {ratio:.2f}" for ratio, name in times)
    names = sum(len(names) for _, names in all_.values())
    note = f"{len(all_)} distinct objectives of {names} aliases and presets, medians of {W['rounds']}; {listed}; {told}"
    return [
        {"name": "plain PPO-clip on 32,768 tokens, forward and backward, ms", "ours": 1000 * base, "peer": None}
        | {"ratio": None, "target": "shown", "holds": True, "note": f"+- {1000 * spread:.2f} ms; one thread"},
        {"name": "slowest alias against plain PPO-clip, x", "ours": times[0][0], "peer": 1.0, "ratio": times[0][0]}
        | {"target": f"<= {BOUND}", "holds": not over}
        | {"note": f"over: {', '.join(over) or 'none'}; {note}" + (f"; missed: {WHY}" if over else "")},
    ]


def share_row(found: Mapping[str, tuple[float, float]], all_: Mapping[str, Any]) -> dict[str, Any]:
    """The slowest objective as a share of a training step of a small model."""
    slowest = max(found[name][0] for name in all_)
    step = step_seconds()
    note = (
        f"the slowest objective, {1000 * slowest:.1f} ms, of a step of {step:.2f} s at hidden {W['step']['hidden']}, "
    )
    note += f"{W['step']['layers']} layers, one thread; plain clip {100 * found[PLAIN][0] / step:.2f} %"
    row = {"name": "objective in a training step of 32,768 tokens, %", "ours": 100 * slowest / step, "peer": None}
    return row | {"ratio": None, "target": f"<= {100 * SHARE:g}", "holds": slowest <= SHARE * step, "note": note}


def peer_rows(
    found: Mapping[str, tuple[float, float]],
    gaps: Mapping[tuple[str, str], float],
    peers: Mapping[str, str],
    missing: Mapping[str, str],
) -> list[dict[str, Any]]:
    """A row for each counterpart, and one for each peer that could not be imported."""
    rows = []
    for (peer, name), gap in gaps.items():
        mine, other = found[f"ours {peer} {name}"][0], found[f"{peer} {name}"][0]
        same = gap <= W["agree"] or name in FREE
        why = f"; {FREE[name]}" if name in FREE else ""
        row = {"name": f"{name} against {peers[peer]}, ms", "ours": 1000 * mine, "peer": 1000 * other}
        row |= {"ratio": other / mine, "target": "faster, equal", "holds": other > mine and same}
        why += "" if row["holds"] or not same else f"; missed: {WHY_PEER}"
        rows.append(row | {"note": f"gradients differ by {gap:.1e} of the largest{why}"})
    for peer, cause in missing.items():
        row = {"name": f"losses of {peer}", "ours": None, "peer": None, "ratio": None, "target": "faster, equal"}
        rows.append(row | {"holds": False, "note": f"not measured: {cause}"})
    return rows


if __name__ == "__main__":
    main()
