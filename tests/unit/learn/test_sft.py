"""The supervised warm start: learns its demonstrations, stops by steps, never repeats itself by accident."""

from __future__ import annotations

import asyncio

import pytest
import torch

from quintain.learn.learner import TorchLearner
from quintain.learn.optim import muon
from quintain.learn.pack import Demo, PackError
from quintain.learn.sft import draw, imitate
from quintain.models import forward_hidden, head_logits

DEMOS = [Demo((k, 20, (3 * k) % 20, 21, k), (False, False, True, False, True)) for k in range(20)]


def test_demonstrations_are_learnt(make_model):
    learner = TorchLearner(make_model(), muon(2e-2))
    history = asyncio.run(imitate(learner, iter(DEMOS), steps=60, size=10))
    assert len(history) == 60 and history[-1]["ce"] < 0.3 < 2.0 < history[0]["ce"]
    right = 0
    for demo in DEMOS:
        with torch.no_grad():
            logits = head_logits(learner.model, forward_hidden(learner.model, torch.tensor(demo.tokens), [5]))
        right += int(logits[1].argmax()) == demo.tokens[2]
    assert right >= 18


def test_only_masked_tokens_are_imitated(make_model):
    learner = TorchLearner(make_model(), muon(2e-2))
    history = asyncio.run(imitate(learner, DEMOS, steps=3, size=7))
    assert [h["tokens"] for h in history] == [14, 14, 14]
    assert history[0]["mismatch_max"] == 0, "demonstrations have no engine to disagree with"


def test_it_stops_when_a_check_is_satisfied_and_counts_steps(make_model):
    asked = []

    async def enough(steps):
        asked.append(steps)
        return steps >= 6

    learner = TorchLearner(make_model(), muon(1e-3))
    assert len(asyncio.run(imitate(learner, DEMOS, steps=50, size=4, stop_when=enough, every=3))) == 6
    assert asked == [3, 6] and learner.step == 6


def test_every_pass_is_a_permutation_and_depends_on_the_seed():
    steps = [draw(10, 4, step, seed=1) for step in range(5)]
    seen = [i for chosen in steps for i in chosen]
    assert sorted(seen[:10]) == sorted(seen[10:]) == list(range(10)) and seen[:10] != seen[10:]
    assert steps == [draw(10, 4, step, seed=1) for step in range(5)] != [draw(10, 4, step, seed=2) for step in range(5)]
    assert len(draw(3, 10, 0, seed=0)) == 10, "a batch may be larger than the pool"


def test_no_demonstrations_are_an_error(make_model):
    with pytest.raises(PackError, match="0 demonstrations"):
        asyncio.run(imitate(TorchLearner(make_model(), muon(1e-3)), [], steps=1))
