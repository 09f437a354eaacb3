"""Work that nobody reads is left out, and nothing that is read changes by it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from quintain.models import Pack, build_model, forward_hidden, merge, run_pack, width
from quintain.models.narrow import install, recomputes

SHAPES = {
    "qwen3": {},
    "gemma2": {"window": 6},
    "gpt_oss": {"experts": 4, "window": 6},
    "mixtral": {"experts": 4},
    "llama4_text": {"experts": 2, "intermediate_size_mlp": 48, "attention_chunk_size": 64},
    "gpt_neox": {},  # attention and feed-forward side by side
}
SIZES = {"vocab": 40, "hidden": 32, "layers": 3, "heads": 4, "ffn": 48, "context": 64}


def make(arch: str) -> torch.nn.Module:
    kv = {} if arch == "gpt_neox" else {"kv_heads": 2}
    model = build_model(arch, seed=1, **SIZES, **kv, **SHAPES[arch])
    return model if "experts" in SHAPES[arch] else model.double()  # grouped products know no double


def siblings() -> tuple[torch.Tensor, list[int]]:
    """Seven sequences: three begin alike, two are equal, one is the beginning of another, one differs at once."""
    rng = np.random.default_rng(0)
    trunk = rng.integers(0, 40, 12).tolist()
    rows = [[*trunk, 1, 2, 3], [*trunk, 1, 2, 4, 5], [*trunk[:7], 9, 9], trunk[:5], [*trunk, 1, 2, 3], [0, 3], [7] * 20]
    return torch.tensor([t for row in rows for t in row]), [len(row) for row in rows]


def alone(model: torch.nn.Module, ids: torch.Tensor, lengths: list[int]) -> torch.Tensor:
    """What each sequence gives by itself, all rows computed."""
    parts = []
    for part in ids.split(lengths):
        pack = Pack.of([len(part)], width(model), ids.device)
        parts.append(run_pack(model, part, torch.arange(len(part)), pack))
    return torch.cat(parts)


def near(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Equal but for float32 rounding, which norms do in any precision."""
    with torch.no_grad():
        return float((found - wanted).abs().max()) <= 3e-6 * float(wanted.abs().max())


def gradient(model: torch.nn.Module, loss: torch.Tensor) -> torch.Tensor:
    model.zero_grad()
    loss.backward()
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def test_equal_prefixes_are_found_exactly():
    ids, lengths = siblings()
    kept, place = merge(ids.numpy(), np.array(lengths)) or ((), ())
    prefixes, ends = [], np.cumsum(lengths)
    for end, n in zip(ends, lengths, strict=True):
        prefixes += [tuple(ids[end - n : end - n + i + 1].tolist()) for i in range(n)]
    assert len(kept) == len(set(prefixes)) < len(prefixes)
    assert list(kept) == sorted(set(kept))
    for row, prefix in enumerate(prefixes):
        assert prefixes[kept[place[row]]] == prefix


def test_what_lies_before_decides_too():
    ids = np.array([5, 6, 5, 6, 5, 6])
    lengths = np.array([2, 2, 2])
    assert merge(ids, lengths, [1, 2, 3]) is None
    kept, place = merge(ids, lengths, [4, 2, 4]) or ((), ())
    assert list(kept) == [0, 1, 2, 3] and list(place) == [0, 1, 2, 3, 0, 1]
    assert merge(np.arange(6), lengths) is None, "nothing is alike"


@pytest.mark.parametrize("arch", SHAPES)
def test_hidden_states_and_gradients_are_those_of_each_sequence_alone(arch):
    model = make(arch)
    ids, lengths = siblings()
    rows = np.array([3, 14, 14, 18, 30, 45, 46, 48, 60])
    wanted = alone(model, ids, lengths)
    found = forward_hidden(model, ids, lengths)
    assert near(found, wanted)
    some = forward_hidden(model, ids, lengths, rows=rows)
    assert near(some, wanted[rows])
    weights = torch.linspace(0.5, 2, len(rows), dtype=torch.float64)[:, None]
    expected = gradient(model, (wanted[rows].tanh() * weights).sum())
    assert near(gradient(model, (some.tanh() * weights).sum()), expected)
    assert expected.abs().max() > 1e-3


@pytest.mark.parametrize("arch", SHAPES)
def test_the_work_is_really_left_out(arch):
    model = make(arch)
    ids, lengths = siblings()
    seen = []
    layers = next(m for m in model.modules() if isinstance(m, torch.nn.ModuleList) and len(m) == 3)
    for layer in (layers[0], layers[-1]):
        block = layer.feed_forward if arch == "llama4_text" else layer.mlp
        block.register_forward_pre_hook(lambda module, given: seen.append(given[0].shape[1]))
    forward_hidden(model, ids, lengths, rows=np.array([3, 18, 60]))
    distinct = len((merge(ids.numpy(), np.array(lengths)) or ((), ()))[0])
    assert seen == [distinct, 2], "rows 3 and 18 stand behind the same prefix"


def test_nothing_is_narrowed_where_activations_are_computed_again():
    model = make("qwen3").train()
    assert not recomputes(model)
    name = "activation_checkpointing" if hasattr(model, "activation_checkpointing_enable") else "gradient_checkpointing"
    getattr(model, f"{name}_enable")()
    assert recomputes(model)
    ids, lengths = siblings()
    rows = np.array([3, 30, 60])
    got = gradient(model, forward_hidden(model, ids, lengths, rows=rows).square().sum())
    assert near(got, gradient(model, alone(model, ids, lengths)[rows].square().sum()))


def test_a_model_whose_layers_are_not_found_computes_all_rows():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    install(model, 3)
    assert not model[0]._forward_hooks
