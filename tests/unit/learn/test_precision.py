"""Precision plans on a CPU: dtypes, loss scaling, devices."""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import replace

import pytest
import torch

from quintain.learn import precision
from quintain.learn.learner import TorchLearner
from quintain.learn.optim import adamw
from quintain.learn.pack import pack
from quintain.learn.precision import DeviceError, LossScale, bf16, fp16, fp32, pick_device
from quintain.objectives import clip, token_mean, token_ratio
from quintain.parts import chain, stateless
from quintain.registry import build
from quintain.types import InvariantError

OBJECTIVE = chain(token_ratio("rollout"), clip(), token_mean())


def test_the_loss_scale_halves_on_overflow_and_doubles_after_clean_steps():
    scale = LossScale(value=65536.0, growth=2.0, backoff=0.5, growth_interval=4)
    after = [scale.update(bool(found)) for found in (0, 1, 0, 0, 0, 0, 1, 0)]
    assert after == [65536.0, 32768.0, 32768.0, 32768.0, 32768.0, 65536.0, 32768.0, 32768.0]


def test_the_loss_scale_has_a_floor_and_limits():
    scale = LossScale(value=2.0)
    assert [scale.update(True) for _ in range(3)] == [1.0, 1.0, 1.0]
    for wrong in ({"value": 0.0}, {"growth": 1.0}, {"backoff": 1.0}, {"growth_interval": 0}):
        with pytest.raises(InvariantError):
            LossScale(**wrong)


@pytest.mark.parametrize(("plan", "close"), [(bf16, 0.05), (fp16, 0.01)])
def test_lower_precision_is_near_float32_and_is_measured(plan, close, make_groups, make_model):
    found = {}
    for made in (fp32(), plan()):
        learner = TorchLearner(make_model(), adamw(1e-3), precision=made)
        exact = TorchLearner(make_model(), adamw(1e-3))
        groups = asyncio.run(exact.score(make_groups(), frozenset({"old"})))
        batch = pack(groups)
        batch = replace(batch, logprobs=batch.streams["old"])
        found[made.name] = asyncio.run(learner.update(batch, OBJECTIVE))
        assert all(p.dtype == torch.float32 for p in learner.model.parameters())
    exact, lower = found.values()
    assert exact["mismatch_max"] < 1e-6 < lower["mismatch_max"] < close
    assert lower["grad_norm"] == pytest.approx(exact["grad_norm"], rel=close)
    assert lower["updates"] == 1


def test_scaling_the_loss_does_not_change_the_clipped_step(make_groups, make_model):
    norms = []
    for scale in (1.0, 256.0):
        learner = TorchLearner(make_model(), adamw(1e-3), precision=fp16(scale=scale))
        norms.append(asyncio.run(learner.update(pack(make_groups()), OBJECTIVE))["grad_norm"])
    assert norms[0] == pytest.approx(norms[1], rel=1e-2) and norms[0] > 0


def test_an_overflow_backs_off_and_is_no_batchs_fault(make_groups, make_model):
    learner = TorchLearner(make_model(), adamw(1e-3), precision=fp16(scale=2.0**30))
    batch, before = pack(make_groups()), [p.clone() for p in learner.model.parameters()]
    figures = asyncio.run(learner.update(batch, OBJECTIVE))
    assert figures["skipped"] == 1 and figures["loss_scale"] == 2.0**29 and learner.quarantined == []
    assert learner.step == 1 and learner.updates == 0, "the schedule of the learning rate goes on"
    assert all(torch.equal(a, b) for a, b in zip(before, learner.model.parameters(), strict=True))
    for _ in range(20):
        figures = asyncio.run(learner.update(batch, OBJECTIVE))
    assert figures["updates"] == 1 and figures["loss_scale"] < 2.0**29


def test_an_overflow_at_the_floor_is_a_divergence(make_groups, make_model):
    learner = TorchLearner(make_model(), adamw(1e-3), precision=fp16(scale=1.0))
    steep = stateless(lambda t: replace(t, loss=(t.loss - t.loss.detach()).abs().sqrt()))
    asyncio.run(learner.update(pack(make_groups()), chain(OBJECTIVE, steep)))
    assert [math.isfinite(float(e["cause"].split()[-1])) for e in learner.quarantined] == [False]


def test_the_registry_knows_the_plans():
    assert [build("precision", n).dtype for n in ("fp32", "bf16", "fp16")] == [
        torch.float32,
        torch.bfloat16,
        torch.float16,
    ]


def test_an_absent_gpu_is_said_once(caplog, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(precision, "_said", set())
    with caplog.at_level(logging.WARNING):
        assert [pick_device("cuda").type for _ in range(3)] == ["cpu"] * 3
    assert caplog.text.count("running on the CPU") == 1
    assert pick_device().type == pick_device("cpu").type == "cpu"
    with pytest.raises(DeviceError, match="'gpu0'"):
        pick_device("gpu0")
