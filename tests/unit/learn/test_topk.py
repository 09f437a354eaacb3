"""The engine's likeliest ids on their way to the divergence of DPPO: engine, node, batch, terms, mask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from quintain.engines.torch import TorchEngine
from quintain.learn.forward import LearnerError, Reader
from quintain.learn.learner import TorchLearner
from quintain.learn.optim import adamw
from quintain.learn.pack import micro, pack
from quintain.learn.plan import Plan
from quintain.learn.precision import fp32
from quintain.learn.topk import LOWEST, TopkError, columns, others, support, wanted
from quintain.objectives import mask_divergence, score, token_mean, token_ratio
from quintain.objectives.region import distance
from quintain.parts import chain
from quintain.types import Completion, Group, Node, Request, Sampling, Span, Stop, Task, Trajectory


def test_the_most_ids_that_are_needed_are_asked_for() -> None:
    assert wanted(frozenset({"old", "topk:5", "topk:20"})) == 20 and wanted(frozenset({"old"})) == 0
    assert others(frozenset({"old", "topk:5"})) == {"old"}
    for need in ("topk:", "topk:x", "topk:0", "topk:-3"):
        with pytest.raises(TopkError, match="topk:20"):
            wanted(frozenset({need}))


def test_the_sampled_token_takes_the_last_slot_where_it_is_absent() -> None:
    ids, logps = np.array([[4, 2, 7], [4, 2, 7]]), np.array([[-0.5, -1.5, -2.0], [-0.5, -1.5, -2.0]])
    found, values = support(ids, logps, np.array([2, 9]), np.array([-1.5, -6.0]))
    assert found.tolist() == [[4, 2, 7], [4, 2, 9]] and values.tolist() == [[-0.5, -1.5, -2.0], [-0.5, -1.5, -6.0]]
    assert ids[1, 2] == 7, "the engine's own are not changed"


def said(tokens: tuple[int, ...], tops: tuple[tuple[int, ...], ...]) -> Node:
    n = len(tokens)
    drawn = Completion(
        tokens=tokens,
        logprobs=(-1.0,) * n,
        finish="stop",
        spans=(Span(start=0, stop=n, version=0),),
        top_ids=tops,
        top_logprobs=tuple(tuple(-0.1 * (k + 1) for k in range(len(row))) for row in tops),
    )
    return Node.sampled(0, drawn)


def test_slots_that_a_cut_left_empty_and_tokens_that_were_heard_hold_nothing() -> None:
    nodes = [Node.given(None, (1, 2)), said((5, 6), ((5,), (7, 8, 9)))]
    ids, logps = columns(nodes, 2)
    assert ids.tolist() == [[-1, -1], [-1, -1], [5, -1], [7, 6]]
    assert logps[:3].tolist() == [[LOWEST] * 2, [LOWEST] * 2, [pytest.approx(-0.1), LOWEST]]
    assert logps[3].tolist() == pytest.approx([-0.1, -1.0])
    with pytest.raises(TopkError, match=r"likeliest ids of 0.*top_logprobs=2"):
        columns([replace(nodes[1], top_ids=(), top_logprobs=())], 2)


def played(model: Any, sampling: Sampling, count: int = 6) -> tuple[Group, ...]:
    """Groups whose tokens an engine drew on a model's weights."""

    prompts = [tuple(int(x) for x in np.random.default_rng(i).integers(3, 30, 4 + i)) for i in range(count)]

    async def play() -> list[Completion]:
        engine = TorchEngine(model, slots=4)
        asked = [Request(session=str(i), prompt=p, sampling=sampling, key=(i,)) for i, p in enumerate(prompts)]
        return [*await asyncio.gather(*map(engine.generate, asked))]

    out = []
    for i, drawn in enumerate(asyncio.run(play())):
        node = Node.sampled(0, drawn, sampling=sampling)
        one = Trajectory(id=str(i), nodes=(Node.given(None, prompts[i]), node), stop=Stop.done)
        one = one.with_value("advantage", (-1.0) ** i)
        out.append(Group(task=Task(key=str(i), env="e"), trajectories=(one,), ticket=i))
    return tuple(out)


@pytest.mark.parametrize("heat", [1.0, 1.7])
def test_the_learner_finds_the_probabilities_that_the_engine_sampled_from(
    heat: float, make_model: Callable[..., Any]
) -> None:
    model = make_model()
    groups = played(model, Sampling(max_tokens=7, temperature=heat, top_logprobs=5))
    batch = pack(groups, topk=5)
    reader = Reader(model=model, precision=fp32())
    for piece in micro(batch, 24):  # several, so that the columns are cut and chosen as all others are
        terms = reader.terms(piece, frozenset({"topk:5"}), {})
        assert terms.topk["new"].shape == (len(terms.new), 5) and not terms.topk["new"].requires_grad
        torch.testing.assert_close(terms.topk["new"], terms.topk["rollout"], atol=1e-5, rtol=0)
        torch.testing.assert_close(terms.new.detach(), terms.rollout, atol=1e-5, rtol=0)
        for kind in ("topk_tv", "topk_kl", "binary_tv", "binary_kl"):
            assert float(distance(terms, kind).max()) < 1e-4


def test_what_a_cut_took_from_the_engine_counts_as_distance(make_model: Callable[..., Any]) -> None:
    model = make_model()
    batch = pack(played(model, Sampling(max_tokens=7, top_k=2, top_logprobs=5)), topk=5)
    terms = Reader(model=model, precision=fp32()).terms(batch, frozenset({"topk:5"}), {})
    assert ((terms.topk["rollout"] == LOWEST).sum(-1) == 3).all() and ((terms.topk["new"] == LOWEST).sum(-1) == 3).all()
    # the engine drew from two ids; the model spreads over all 32
    outside = 1 - terms.topk["new"].exp().sum(-1)
    torch.testing.assert_close(distance(terms, "topk_tv"), outside, atol=1e-5, rtol=0)
    assert (outside > 0.3).all()
    with pytest.raises(LearnerError, match="topk=9"):
        Reader(model=model, precision=fp32()).terms(batch, frozenset({"topk:9"}), {})


def test_a_step_masks_what_has_moved_too_far(make_model: Callable[..., Any]) -> None:
    groups = played(make_model(), Sampling(max_tokens=7, top_logprobs=5), count=8)
    figures = {}
    for name, high in (("open", 9.0), ("shut", 0.0)):
        learner = TorchLearner(make_model(), adamw(0.1), plan=Plan(epochs=3, micro_tokens=40))
        region = mask_divergence("topk_kl", low=high, high=high, k=5)
        part = chain(token_ratio("rollout"), score(), region, token_mean())
        figures[name] = asyncio.run(learner.update(pack(groups, topk=5), part))
        learner.close()
    assert figures["open"]["region_masked"] == 0 and figures["open"]["divergence"] > 0.01
    assert figures["shut"]["region_masked"] > 0.2
    assert figures["shut"]["divergence"] < figures["open"]["divergence"]
