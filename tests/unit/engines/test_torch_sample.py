"""What is drawn follows the distribution that was asked for, and its logprob is that of this distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from quintain.engines.torch_sample import NotFinite, draw, noise_key, uniforms
from quintain.types import Sampling

VOCAB = 12
LOGITS = torch.tensor(np.random.default_rng(5).normal(0, 1.7, (1, VOCAB)), dtype=torch.float32)
KINDS = [
    Sampling(),
    Sampling(temperature=0.6),
    Sampling(temperature=2.5),
    Sampling(top_k=3),
    Sampling(top_p=0.7),
    Sampling(min_p=0.2),
    Sampling(temperature=1.5, top_k=7, top_p=0.8, min_p=0.1),
    Sampling(temperature=1e-3),
]


def wanted(logits, sampling):
    """The distribution by its definition, one id after the other, in plain Python."""
    scaled = [float(x) / sampling.temperature for x in logits]
    top = max(scaled)
    weights = [math.exp(x - top) for x in scaled]
    order = sorted(range(len(weights)), key=lambda i: -weights[i])
    if sampling.top_k:
        order = order[: sampling.top_k]
    mass = sum(weights[i] for i in order)
    kept, before = [], 0.0
    for i in order:
        if before < sampling.top_p and weights[i] >= sampling.min_p * weights[order[0]]:
            kept.append(i)
        before += weights[i] / mass
    mass = sum(weights[i] for i in kept)
    return {i: weights[i] / mass for i in kept}


def many(sampling, count):
    noise = uniforms([noise_key((1, i)) for i in range(count)], [0] * count)
    return draw(LOGITS.expand(count, -1), [sampling] * count, noise)


@pytest.mark.parametrize("sampling", KINDS, ids=str)
def test_logprobs_are_those_of_the_distribution_that_was_sampled(sampling):
    target = wanted(LOGITS[0], sampling)
    drawn = many(sampling, 400)
    assert set(drawn.tokens) <= set(target)
    assert all(abs(lp - math.log(target[t])) < 1e-5 for t, lp in zip(drawn.tokens, drawn.logprobs, strict=True))


@pytest.mark.parametrize("sampling", KINDS[:-1], ids=str)
def test_frequencies_follow_the_distribution(sampling):
    count = 20_000
    target = wanted(LOGITS[0], sampling)
    seen = np.bincount(many(sampling, count).tokens, minlength=VOCAB)
    chi2 = sum((seen[i] - count * p) ** 2 / (count * p) for i, p in target.items())
    free = len(target) - 1
    assert chi2 < free + 4 * math.sqrt(2 * free), (chi2, free)


def test_noise_picks_the_id_whose_share_it_falls_into():
    shares = torch.log(torch.tensor([[0.0, 0.25, 0.0, 0.5, 0.25, 0.0]]))
    edges = [0.0, 0.2499, 0.25, 0.2501, 0.7499, 0.7501, 1 - 2**-53]
    drawn = draw(shares.expand(7, -1), [Sampling()] * 7, np.array(edges))
    assert drawn.tokens == [1, 1, 3, 3, 3, 4, 4]


def test_greedy_takes_the_most_likely_and_is_certain():
    drawn = draw(torch.tensor([[0.0, 3.0, 3.0, 1.0]]), [Sampling(temperature=0, top_logprobs=3)], np.array([0.99]))
    assert drawn == ([1], [0.0], [(1,)], [(0.0,)])


@pytest.mark.parametrize("sampling", [Sampling(top_logprobs=5), Sampling(top_k=9, top_p=0.5, top_logprobs=5)], ids=str)
def test_top_logprobs_are_the_best_of_what_was_sampled(sampling):
    target = wanted(LOGITS[0], sampling)
    best = sorted(target, key=lambda i: -target[i])[:5]
    assert len(best) < 5 or sampling.top_p == 1
    drawn = many(sampling, 3)
    for ids, logprobs in zip(drawn.top_ids, drawn.top_logprobs, strict=True):
        assert list(ids) == best
        assert np.allclose(logprobs, [math.log(target[i]) for i in best], atol=1e-5)


def test_rows_of_different_kinds_are_drawn_as_if_alone():
    rows = torch.tensor(np.random.default_rng(6).normal(0, 2, (len(KINDS), VOCAB)), dtype=torch.float32)
    noise = np.linspace(0.05, 0.95, len(KINDS))
    together = draw(rows, KINDS, noise)
    for i, sampling in enumerate(KINDS):
        alone = draw(rows[i : i + 1], [sampling], noise[i : i + 1])
        assert [part[i] for part in together] == [part[0] for part in alone]


def test_noise_is_a_function_of_key_and_index_alone():
    keys = [noise_key((0, 3, i)) for i in range(50)]
    rows = uniforms(keys, range(50))
    assert [float(uniforms([k], [i])[0]) for i, k in enumerate(keys)] == rows.tolist()
    assert len(set(uniforms(keys, [0] * 50).tolist()) | set(uniforms(keys, [1] * 50).tolist())) == 100
    assert noise_key((2**80, 1)) != noise_key((2**80, 2))


def test_noise_is_uniform_along_tokens_and_along_keys():
    along = (
        uniforms([noise_key((7,))] * 4096, range(4096)),
        uniforms([noise_key((7, i)) for i in range(4096)], [3] * 4096),
    )
    for values in along:
        assert values.min() >= 0 and values.max() < 1
        seen = np.histogram(values, 16, (0, 1))[0]
        assert ((seen - 256) ** 2 / 256).sum() < 15 + 4 * math.sqrt(30)
        assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.06


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0), Sampling(top_p=0.5)], ids=str)
def test_broken_logits_are_an_error(bad, sampling):
    with pytest.raises(NotFinite, match="logits that are not finite"):
        draw(torch.tensor([[0.0, bad, 1.0]]), [sampling], np.array([0.5]))
