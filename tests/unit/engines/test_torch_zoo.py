"""Recorded logprobs equal a plain forward for eight architectures, with few slots, several turns, windows that bind."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
import torch

from quintain.engines.torch import TorchEngine
from quintain.models import build_model
from quintain.types import Request, Sampling

VOCAB = 256
SIZES = {"vocab": VOCAB, "hidden": 48, "layers": 3, "heads": 4, "kv_heads": 2, "ffn": 64}
ZOO = {
    "qwen2": {},
    "qwen3": {"head_dim": 12},
    "llama": {"head_dim": 12},
    "mistral": {"window": 10},
    "gemma2": {"window": 10, "head_dim": 12},
    "gemma3_text": {"window": 10, "head_dim": 12},
    "gpt_oss": {"window": 10, "experts": 4, "head_dim": 12},
    "mixtral": {"experts": 4},
}
PROMPTS, SLOTS = 24, 8


def plain(model, path):
    model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            return torch.log_softmax(
                model(input_ids=torch.tensor([path], device=model.device), use_cache=False).logits[0].double(), -1
            )
    finally:
        model.set_attn_implementation("slot")


def scaled(model, by):
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(by)


def play(model):
    """Two turns of every prompt; returns each path with the logprobs of its sampled tokens by position."""
    dice = np.random.default_rng(11)
    starts = [tuple(dice.integers(0, VOCAB, dice.integers(3, 30)).tolist()) for _ in range(PROMPTS)]
    budgets = dice.integers(1, 16, (PROMPTS, 2)).tolist()
    engine = TorchEngine(model, slots=SLOTS)

    async def episode(i):
        path, recorded = starts[i], {}
        for turn, budget in enumerate(budgets[i]):
            sampling = Sampling(max_tokens=budget)
            answer = await engine.generate(Request(session=str(i), prompt=path, sampling=sampling, key=(0, i, turn)))
            recorded.update({len(path) + j: lp for j, lp in enumerate(answer.logprobs)})
            path = (*path, *answer.tokens, *starts[i - 1][:4])
        return path, recorded

    async def everything():
        return await asyncio.gather(*map(episode, range(PROMPTS)))

    return asyncio.run(everything()), engine.stats


def gaps(model):
    episodes, stats = play(model)
    assert stats.evicted and stats.generated == sum(len(recorded) for _, recorded in episodes)
    found, entropies = [], []
    for path, recorded in episodes:
        truth = plain(model, path)
        found += [abs(float(truth[at - 1, path[at]]) - logprob) for at, logprob in recorded.items()]
        entropies.append(float(-(truth.exp() * truth).sum(-1).mean()))
    return np.array(found), float(np.mean(entropies))


@pytest.mark.parametrize("arch", ZOO)
def test_recorded_logprobs_are_those_of_a_plain_forward(arch, device):
    model = build_model(arch, seed=3, **SIZES, **ZOO[arch]).to(device)
    assert gaps(model)[0].mean() <= 1e-6


@pytest.mark.parametrize("arch", ZOO)
def test_they_are_for_sharp_models_too(arch, device):
    model = build_model(arch, seed=3, **SIZES, **ZOO[arch]).to(device)
    probe = tuple(range(0, VOCAB, 5))
    for _ in range(30):
        truth = plain(model, probe)
        if -(truth.exp() * truth).sum(-1).mean() <= 3.5:
            break
        scaled(model, 1.2)
    found, entropy = gaps(model)
    assert entropy <= 4
    assert found.max() <= (5e-5 if device.type == "cpu" else 1e-4)


@pytest.mark.parametrize(("arch", "name"), [("mistral", "sliding_window"), ("gemma2", "attn_logit_softcapping")])
def test_the_comparison_sees_what_is_dropped(arch, name, monkeypatch):
    import quintain.models.attention as attention
    from quintain.models.attention import Local, Options

    model = build_model(arch, seed=3, **SIZES, **ZOO[arch], **({name: 0.1} if arch == "gemma2" else {}))
    scaled(model, 4)
    real = attention._options

    def without(*args):
        options, local = real(*args)
        return (Options(options.scale), local) if arch == "gemma2" else (options, Local())

    monkeypatch.setattr(attention, "_options", without)
    assert gaps(model)[0].max() > 20 * 5e-5
