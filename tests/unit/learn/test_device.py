"""The learner on each device: the steps of a CPU in float64, equal bits when repeated, checkpoints that go from one to the other."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from quintain import config as configs
from quintain.learn import shards
from quintain.learn.learner import TorchLearner
from quintain.learn.lora import add_lora
from quintain.learn.optim import adamw, muon
from quintain.learn.pack import pack
from quintain.learn.plan import Plan
from quintain.learn.precision import set_device
from quintain.learn.ranks import Ranks
from quintain.learn.value import ValueHead
from quintain.models import build_model
from quintain.models.order import mode_kept
from quintain.objectives import (
    clip,
    fit_values,
    penalise_kl,
    replay_routes,
    reward_entropy,
    score,
    token_mean,
    token_ratio,
)
from quintain.parts import chain
from quintain.registry import build
from quintain.runtime import policy
from quintain.runtime.stage import make_stage
from quintain.types import Completion, Group, Kind, Node, Span, Stop, Task, Trajectory

CPU = torch.device("cpu")
RECIPES = {"adamw": lambda: adamw(5e-3), "muon": lambda: muon(5e-3)}


def made(model, device, recipe="adamw", plan="fp32", reference=True):
    torch.manual_seed(0)  # value heads draw from it
    return TorchLearner(
        model.to(device),
        RECIPES[recipe](),
        plan=Plan(minibatches=2, micro_tokens=60),
        precision=build("precision", plan),
        value=ValueHead(16, lr=0.01),
        reference=reference,
    )


def steps(learner, groups, count=3):
    """Steps whose loss reads every stream: figures without times, the weights, and the streams that were scored last."""
    objective = chain(token_ratio("old"), clip(), penalise_kl(0.1), reward_entropy(0.01), fit_values(), token_mean())
    figures, scored = [], groups
    for _ in range(count):
        scored = asyncio.run(learner.score(groups, objective.needs | {"values"}))
        valued = [
            replace(g, trajectories=tuple(t.with_value("return", t.reward) for t in g.trajectories)) for g in scored
        ]
        told = asyncio.run(learner.update(pack(valued), objective))
        figures.append({k: v for k, v in told.items() if not k.startswith("seconds")})
    streams = [t.streams[name] for g in scored for t in g.trajectories for name in ("old", "ref", "value")]
    return figures, weights(learner), streams


def demo(rng, length):
    """One long answer."""
    ids = tuple(rng.integers(0, 32, length).tolist())
    said = Completion(
        tokens=ids, logprobs=(-3.4,) * length, finish="stop", spans=(Span(start=0, stop=length, version=0),)
    )
    nodes = (Node.given(None, (1, 2), kind=Kind.prompt), Node.sampled(0, said))
    return Trajectory(id=str(length), nodes=nodes, stop=Stop.done).with_value("advantage", float(rng.normal()))


def weights(learner):
    return {w.name: w.value.detach().to("cpu", copy=True) for w in learner.weights}


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


@pytest.mark.parametrize("recipe", RECIPES)
def test_steps_are_those_of_a_cpu(recipe, device, make_groups, make_model):
    loose = 1e-2 if recipe == "muon" else 1e-6  # muon multiplies in bfloat16
    told, ends, streams = steps(made(make_model().double(), device, recipe), make_groups())
    want, wanted, known = steps(made(make_model().double(), CPU, recipe), make_groups())
    for key in ("loss", "grad_norm", "entropy", "mismatch_mean", "tokens"):
        assert [f[key] for f in told] == pytest.approx([f[key] for f in want], rel=loose), key
    assert not same(wanted, weights(made(make_model().double(), CPU, recipe)))
    for name, value in wanted.items():
        near = max(loose, 1e-4 if name.startswith("value") else 0)  # the value head is in float32
        torch.testing.assert_close(ends[name], value, rtol=near, atol=near)
    for mine, theirs in zip(streams, known, strict=True):
        assert [x for row in mine for x in row] == pytest.approx(
            [x for row in theirs for x in row], rel=loose, abs=loose
        )


@pytest.mark.parametrize("plan", ["fp32", "bf16", "fp16", "fp8"])
def test_equal_steps_give_equal_bits(plan, device, make_groups, make_model):
    found = [steps(made(make_model(), device, "muon", plan), make_groups()) for _ in range(2)]
    assert found[0][0] == found[1][0] and same(found[0][1], found[1][1])
    assert found[0][2] == found[1][2]
    assert all(f["updates"] == 2 and f["skipped"] == 0 for f in found[0][0])


@pytest.mark.parametrize("kv_heads", [1, 2])
@pytest.mark.parametrize("plan", ["fp32", "bf16"])
def test_so_do_those_of_paths_of_many_blocks_of_keys(plan, kv_heads, device, make_model):
    rng, found = np.random.default_rng(0), []
    members = [demo(rng, 400 + 150 * i) for i in range(4)]
    group = Group(task=Task(key="t", env="none"), trajectories=tuple(members))
    for _ in range(2):
        model = make_model(context=1024, kv_heads=kv_heads, head_dim=16).to(device)
        learner = TorchLearner(model, adamw(1e-2), precision=build("precision", plan))
        told = [
            asyncio.run(learner.update(pack([group]), chain(token_ratio("rollout"), clip(), token_mean())))
            for _ in range(2)
        ]
        assert {p.device.type for p in model.parameters()} == {device.type}
        found.append((told[-1]["grad_norm"], weights(learner)))
    assert found[0][0] == found[1][0] > 0 and same(found[0][1], found[1][1])


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_checkpoint_goes_to_another_device_and_on_from_there(recipe, device, make_groups, make_model, tmp_path):
    groups = make_groups()
    whole = made(make_model(), device, recipe)
    steps(whole, groups, 2)
    whole.save(str(tmp_path / "there"))
    other = made(make_model(seed=4), CPU, recipe)
    other.load(str(tmp_path / "there"))
    assert same(weights(other), weights(whole))
    other.save(str(tmp_path / "back"))
    again = made(make_model(seed=5), device, recipe)
    again.load(str(tmp_path / "back"))
    steps(whole, groups, 2)
    steps(again, groups, 2)
    assert same(weights(again), weights(whole)) and not same(weights(whole), weights(other))


def test_low_rank_factors_train_and_the_base_stays(device, make_groups, make_model):
    torch.manual_seed(3)
    model = add_lora(make_model().to(device), r=2)
    learner = made(model, device, reference=False)
    base = {n: p.detach().clone() for n, p in model.named_parameters() if not p.requires_grad}
    before = weights(learner)
    steps(learner, make_groups())
    assert not same(before, weights(learner))
    assert all(torch.equal(p, base[n]) for n, p in model.named_parameters() if n in base)
    assert {p.device.type for p in model.parameters()} == {device.type}


def test_experts_are_replayed(device, make_groups):
    sizes = {"vocab": 32, "hidden": 16, "layers": 2, "heads": 2, "ffn": 16, "context": 64, "experts": 4}
    ends = []
    for where in (device, CPU):
        learner = TorchLearner(build_model("mixtral", seed=1, **sizes).to(where), adamw(1e-2))
        objective = chain(token_ratio("rollout"), score(), replay_routes(), token_mean())
        scored = asyncio.run(learner.score(make_groups(), objective.needs))
        figures = asyncio.run(learner.update(pack(scored), objective))
        assert figures["updates"] == 1
        ends.append(weights(learner))
    for name, value in ends[1].items():
        torch.testing.assert_close(ends[0][name], value, rtol=1e-3, atol=1e-4)


def test_ranks_that_share_a_gpu_cannot_share_layers(monkeypatch):
    class Card(torch.nn.Module):
        def parameters(self, recurse=True):
            yield SimpleNamespace(is_cuda=True)

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(shards.ShardError, match=r"2 ranks share 1 GPU\(s\).*learner.device=cpu"):
        shards.shard(Card(), Ranks(rank=0, size=2))
    monkeypatch.setattr(shards, "find_layers", lambda model: 1 / 0)
    with pytest.raises(ZeroDivisionError):  # it goes on to the layers
        shards.shard(Card(), Ranks(rank=0, size=2, own_gpu=True))


@pytest.fixture
def as_before():
    """What `set_device` sets is afterwards what it was."""
    with mode_kept():
        torch.use_deterministic_algorithms(False)
        filled, cudnn = torch.utils.deterministic.fill_uninitialized_memory, torch.backends.cuda.cudnn_sdp_enabled()
        yield
        torch.utils.deterministic.fill_uninitialized_memory = filled
        torch.backends.cuda.enable_cudnn_sdp(cudnn)


def test_a_gpu_is_set_to_repeat_and_a_cpu_is_left_alone(monkeypatch, caplog, as_before):
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    assert set_device(CPU) == CPU and not torch.are_deterministic_algorithms_enabled()
    assert "CUBLAS_WORKSPACE_CONFIG" not in os.environ
    card = torch.device("cuda")
    assert set_device(card) == card
    assert torch.is_deterministic_algorithms_warn_only_enabled() and not torch.backends.cuda.cudnn_sdp_enabled()
    assert not torch.utils.deterministic.fill_uninitialized_memory and not caplog.records
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":0:0")
    set_device(card)
    assert "CUBLAS_WORKSPACE_CONFIG is :0:0" in caplog.text


def test_models_of_runs_are_made_on_a_device_that_is_settled(monkeypatch):
    asked = []
    monkeypatch.setattr(policy, "set_device", lambda device: (asked.append(device), CPU)[1])
    config = configs.make("tiny", overrides=["learner.device=cpu"])
    policy.make_model(config, make_stage(config).renderer)
    assert asked == [CPU]
