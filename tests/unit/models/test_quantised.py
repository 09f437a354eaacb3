"""Products in FP8: the same on both sides, and elsewhere the mismatch that it makes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from quintain.algorithms import assemble
from quintain.models import build_model, forward_hidden
from quintain.models.quantised import BLOCK, LARGEST, QuantiseError, quantise, rounded
from quintain.testing.exercises import EXERCISES
from quintain.testing.learning import practise

SIZES = {"vocab": 16, "hidden": 16, "layers": 2, "heads": 2, "ffn": 32}


def test_a_block_has_a_scale_of_its_own_and_three_bits_of_fraction() -> None:
    x = torch.randn(5, 300, generator=torch.Generator().manual_seed(0)) * torch.tensor(
        [1e-6, 1.0, 1e6]
    ).repeat_interleave(100)
    near = rounded(x, columns=100)
    normal = x.abs() > x.unflatten(1, (3, 100)).abs().amax(-1).repeat_interleave(100, 1) / LARGEST * 2**-6
    error = ((near - x) / x).abs()
    assert (
        normal.float().mean() > 0.95
        and float(error[normal].max()) <= 2**-4 + 1e-6
        and float(error[normal].max()) > 2**-5
    )
    assert (
        float(((rounded(x, columns=300) - x) / x).abs()[:, :100].max()) == 1.0
    )  # one scale for all: the small ones are lost
    assert rounded(torch.zeros(2, 3)).tolist() == [[0.0] * 3] * 2


def test_gradients_pass_as_if_nothing_were_rounded() -> None:
    x = torch.randn(3, 7, requires_grad=True)
    rounded(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == torch.ones(3, 7).tolist()


def test_weights_keep_their_names_and_values_and_outputs_move() -> None:
    model = build_model("qwen3", seed=0, **SIZES)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    with torch.no_grad():
        plain = forward_hidden(model, torch.arange(8), [8])
        moved = forward_hidden(quantise(model), torch.arange(8), [8])
        again = forward_hidden(quantise(model), torch.arange(8), [8])
    assert list(before) == list(model.state_dict()) and all(
        torch.equal(before[k], v) for k, v in model.state_dict().items()
    )
    gap = float((plain - moved).abs().max())
    assert 1e-4 < gap < 0.5 and torch.equal(moved, again)


def test_input_and_weight_are_rounded_before_they_are_multiplied() -> None:
    layer = nn.Linear(200, 150)
    x, weight, bias = torch.randn(4, 3, 200), layer.weight.detach(), layer.bias.detach()
    want = rounded(x.reshape(12, 200)) @ rounded(weight, BLOCK).T + bias
    found = quantise(nn.Sequential(layer))(x).detach()
    assert torch.allclose(found.reshape(12, 150), want, atol=1e-5)
    for other in (x.reshape(12, 200) @ weight.T, rounded(x.reshape(12, 200)) @ weight.T):
        assert float((found.reshape(12, 150) - other - bias).abs().max()) > 1e-3


def test_experts_are_refused() -> None:
    with pytest.raises(QuantiseError, match="experts"):
        quantise(build_model("mixtral", seed=0, experts=4, **SIZES))


def test_small_blocks_of_half_precision_keep_their_scale() -> None:
    x = torch.full((1, 128), 1e-5, dtype=torch.float16)
    assert torch.equal(rounded(x), x) and rounded(x).dtype == torch.float16


def test_the_same_flow_on_both_sides_leaves_no_mismatch() -> None:
    def gap(engine: str, learner: str) -> float:
        task = EXERCISES["pick"]
        found = practise(assemble("grpo"), replace(task, steps=6), engine=engine, learner=learner)
        return float(np.mean([row["mismatch_mean"] for row in found.trace]))

    unified, mixed = gap("fp8", "fp8"), gap("fp8", "fp32")
    assert unified < 1e-6 and mixed > 1e-3, "mean gap of a token's logprob, in nats"
