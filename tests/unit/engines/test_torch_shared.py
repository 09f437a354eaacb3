"""Sessions whose slots hold the same are computed once: what they get is what each would get alone."""

from __future__ import annotations

import asyncio
import gc

import pytest
import torch

import quintain.engines.torch_run as torch_run
from quintain.engines.torch import TorchEngine
from quintain.engines.torch_seats import Prefixes
from quintain.models import build_model
from quintain.types import Request, Sampling, Weights

VOCAB = 12
TASK = tuple(range(1, 10))


def made(seed=0):
    model = build_model("qwen3", seed=seed, vocab=VOCAB, hidden=32, layers=3, heads=4, kv_heads=2, ffn=48, context=256)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(3)
    return model


@pytest.fixture
def make_model(device):
    return lambda seed=0: made(seed).to(device)


@pytest.fixture
def rows(monkeypatch):
    """Rows of every forward: (computed, of them read after the last layer)."""
    seen = []
    plain = torch_run.run_pack

    def spy(model, ids, positions, pack):
        seen.append((len(ids), len(ids) if pack.wanted is None else len(pack.wanted)))
        return plain(model, ids, positions, pack)

    monkeypatch.setattr(torch_run, "run_pack", spy)
    return seen


def eager_logprobs(model, path):
    model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            logp = torch.log_softmax(
                model(input_ids=torch.tensor([path], device=model.device), use_cache=False).logits[0].double(), -1
            )
    finally:
        model.set_attn_implementation("slot")
    return logp[torch.arange(len(path) - 1), torch.tensor(path[1:])].tolist()


def error_of(model, prompt, completion):
    truth = eager_logprobs(model, (*prompt, *completion.tokens))[len(prompt) - 1 :]
    return max(abs(a - b) for a, b in zip(truth, completion.logprobs, strict=True))


async def play(engine, member, turns, task=TASK):
    """An episode: one token a turn, then three tokens that depend on it alone."""
    path, answers = task, []
    for turn in range(turns):
        sampling = Sampling(max_tokens=1)
        request = Request(session=f"s{member}", prompt=path, sampling=sampling, key=(member, turn))
        answers.append((path, await engine.generate(request)))
        token = answers[-1][1].tokens[0]
        path = (*path, token, (token + 1) % VOCAB, (token * 5) % VOCAB, 3)
    return answers


async def test_siblings_share_rows_until_they_part(rows, make_model):
    model = make_model()
    engine = TorchEngine(model, slots=16)
    played = await asyncio.gather(*[play(engine, m, 5) for m in range(12)])
    assert rows[0] == (len(TASK), 1)
    for turn, (computed, _) in enumerate(rows[1:], 1):
        paths = {answers[turn][0] for answers in played}
        assert computed == 4 * len(paths) < 4 * 12 or len(paths) > 0.95 * 12
    assert rows[1][0] < rows[-1][0]
    for answers in played:
        for prompt, completion in answers:
            assert error_of(model, prompt, completion) < 5e-5


async def test_a_token_is_the_same_alone_and_among_siblings(make_model):
    model = make_model()
    together = await asyncio.gather(*[play(e, m, 4) for e in [TorchEngine(model, slots=16)] for m in range(6)])
    for member, answers in enumerate(together):
        alone = await play(TorchEngine(model, slots=1), member, 4)
        assert [c.tokens for _, c in alone] == [c.tokens for _, c in answers]
        for (_, a), (_, b) in zip(alone, answers, strict=True):
            assert a.logprobs == pytest.approx(b.logprobs, abs=5e-5)


async def test_slots_filled_by_other_weights_are_never_shared(rows, make_model):
    model = make_model()
    engine = TorchEngine(model, slots=4)
    sampling = Sampling(max_tokens=1)

    async def ask(session, prompt):
        request = Request(session=session, prompt=prompt, sampling=sampling, key=(1,))
        return await engine.generate(request)

    await ask("old", TASK)
    newer = make_model(1)
    await engine.load(Weights(version=1, kind="pointer", source=newer))
    await ask("new", TASK)
    rows.clear()
    longer = (*TASK, 2, 5, 3)
    stale, fresh = await asyncio.gather(ask("old", longer), ask("new", longer))
    assert rows == [(6, 2)], "two spans of three tokens each, none of them shared"
    assert error_of(newer, longer, fresh) < 5e-5
    assert error_of(newer, longer, stale) > 1e-2, "its keys and values are those of the older weights"


async def test_a_prefix_that_was_cut_or_forked_is_its_own(rows, make_model):
    model = make_model()
    engine = TorchEngine(model, slots=4)
    sampling = Sampling(max_tokens=1)

    async def ask(session, prompt):
        request = Request(session=session, prompt=prompt, sampling=sampling, key=(1,))
        return prompt, await engine.generate(request)

    await ask("a", TASK)
    await engine.fork("a", len(TASK), "whole")
    await engine.fork("a", 4, "part")
    rows.clear()
    other = (*TASK[:4], 4, 9, 9)
    found = await asyncio.gather(ask("a", (*TASK, 4, 4)), ask("whole", (*TASK, 4, 7)), ask("part", other))
    assert rows[0][0] == 3 + 3, "`a` and its whole copy share a token; the part shares none"
    cut = await asyncio.gather(ask("a", other), ask("part", (*other, 1)))
    for prompt, completion in [*found, *cut]:
        assert error_of(model, prompt, completion) < 5e-5


def test_prefixes_that_nobody_holds_are_forgotten():
    prefixes = Prefixes()
    one = prefixes.after(prefixes.empty, 0, (1, 2))
    assert prefixes.after(prefixes.empty, 0, (1, 2)) is one
    assert prefixes.after(prefixes.empty, 1, (1, 2)) is not one and prefixes.new().number != one.number
    old = one.number
    del one
    gc.collect()
    assert len(prefixes._known) == 0
    assert prefixes.after(prefixes.empty, 0, (1, 2)).number != old
