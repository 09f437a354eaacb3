"""Optimizers against torch's own, schedules by hand, and state that continues bit for bit."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from quintain.learn.optim import (
    OptimizerError,
    Weight,
    adamw,
    constant,
    cosine,
    linear,
    list_weights,
    muon,
    orthogonalise,
)
from quintain.registry import build, provenance

SHAPES = ((8, 8), (24, 8), (8, 24), (24, 8), (8, 8))


def matrices(seed=0):
    g = torch.Generator().manual_seed(seed)
    return [nn.Parameter(torch.randn(shape, generator=g) * 0.1) for shape in SHAPES]


def feed(parameters, step):
    g = torch.Generator().manual_seed(100 + step)
    for p in parameters:
        p.grad = torch.randn(p.shape, generator=g)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_muon_is_torchs_muon(decay):
    ours, theirs = matrices(), matrices()
    optimizer = muon(2e-3, weight_decay=decay).make([Weight(f"w{i}", p, True) for i, p in enumerate(ours)])
    peer = torch.optim.Muon(theirs, lr=2e-3, weight_decay=decay, momentum=0.95, adjust_lr_fn="match_rms_adamw")
    for step, factor in enumerate((0.5, 1.0, 1.0, 0.25)):
        feed(ours, step)
        feed(theirs, step)
        peer.param_groups[0]["lr"] = 2e-3 * factor
        optimizer.step(factor)
        peer.step()
    for a, b in zip(ours, theirs, strict=True):
        # a batched product may sum in another order: at most a bfloat16 ulp of the update at each step
        torch.testing.assert_close(a, b, rtol=0, atol=4 * 2e-3 * 0.2 * math.sqrt(24) * 2**-8 * 0.5)


def test_orthogonal_updates_have_singular_values_near_one():
    for shape in ((3, 16, 16), (2, 12, 40), (2, 40, 12)):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
        values = torch.linalg.svdvals(orthogonalise(x).float())
        assert values.min() > 0.4 and values.max() < 1.3
        left, _, right = torch.linalg.svd(x, full_matrices=False)
        assert torch.linalg.vector_norm(orthogonalise(x).float() - left @ right) < 0.45 * math.sqrt(values.numel())


def test_adamw_is_torchs_adamw():
    ours, theirs = matrices(), matrices()
    optimizer = adamw(1e-2, weight_decay=0.1).make([Weight(f"w{i}", p, i % 2 == 0) for i, p in enumerate(ours)])
    groups = [{"params": theirs[0::2], "weight_decay": 0.1}, {"params": theirs[1::2], "weight_decay": 0.0}]
    peer = torch.optim.AdamW(groups, lr=1e-2, betas=(0.9, 0.95))
    for step, factor in enumerate((0.5, 1.0, 0.1)):
        feed(ours, step)
        feed(theirs, step)
        for g in peer.param_groups:
            g["lr"] = 1e-2 * factor
        optimizer.step(factor)
        peer.step()
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("recipe", [muon(1e-2), adamw(1e-2)], ids=["muon", "adamw"])
def test_a_saved_state_continues_bit_for_bit(recipe):
    def make(parameters):
        return recipe.make([Weight(f"w{i}", p, i < 3) for i, p in enumerate(parameters)])

    whole, first = matrices(), matrices()
    one, two = make(whole), make(first)
    assert two.state() == {}
    for step in range(4):
        if step == 2:
            state = {k: v.clone() for k, v in two.state().items()}
            second = [nn.Parameter(p.detach().clone()) for p in first]
            two, first = make(second), second
            two.load(state)
        for parameters, optimizer in ((whole, one), (first, two)):
            feed(parameters, step)
            optimizer.step(0.7)
    assert all(torch.equal(a, b) for a, b in zip(whole, first, strict=True))
    assert one.state().keys() == two.state().keys()


def test_a_state_of_other_shapes_is_refused():
    for recipe in (muon(1e-2), adamw(1e-2)):
        big, small = nn.Parameter(torch.zeros(4, 4)), nn.Parameter(torch.zeros(2, 4))
        made = recipe.make([Weight("w", big, True)])
        feed([big], 0)
        made.step(1.0)
        with pytest.raises(OptimizerError, match=r"\(4, 4\)"):
            recipe.make([Weight("w", small, True)]).load(made.state())


def test_schedules_rise_and_fall_by_steps():
    assert [constant(warmup=4)(k) for k in range(6)] == [0.25, 0.5, 0.75, 1, 1, 1]
    fall = linear(10, warmup=2, floor=0.1)
    assert [fall(k) for k in (0, 1, 2, 6, 10, 99)] == pytest.approx([0.5, 1, 1, 0.55, 0.1, 0.1])
    wave = cosine(10, warmup=2, floor=0.2)
    assert [wave(k) for k in (1, 2, 6, 10, 50)] == pytest.approx([1, 1, 0.6, 0.2, 0.2])
    with pytest.raises(OptimizerError, match="floor 2"):
        linear(10, floor=2)


def test_the_registry_makes_them_from_data():
    spec = {"name": "muon", "lr": 1e-3, "schedule": {"kind": "schedule", "name": "linear", "steps": 10}}
    made = build("optimizer", spec)
    assert made.lr == 1e-3 and made.schedule(5) == 0.5
    assert provenance(made) == {"kind": "optimizer", **spec}
    for wrong in ({"name": "adamw", "lr": 0.0}, {"name": "muon", "lr": 1e-3, "momentum": 1.0}):
        with pytest.raises(OptimizerError):
            build("optimizer", wrong)


def test_muon_takes_block_matrices_only(make_model):
    weights = {w.name: w for w in list_weights(make_model(tie=False))}
    assert weights["model.layers.0.self_attn.q_proj.weight"].block
    assert weights["model.layers.1.mlp.down_proj.weight"].block
    for name in ("model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"):
        assert not weights[name].block
    tied = [w.name for w in list_weights(make_model(tie=True))]
    assert len(tied) == len(set(tied)) == len(weights) - 1


def test_a_learning_rate_of_its_own_wins():
    a, b = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2))
    made = muon(1e-3).make([Weight("a", a), Weight("b", b, lr=0.1)])
    a.grad, b.grad = torch.ones(2), torch.ones(2)
    made.step(1.0)
    assert a[0].item() == pytest.approx(-1e-3) and b[0].item() == pytest.approx(-0.1)
