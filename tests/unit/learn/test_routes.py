"""Routing replay on a tiny mixture of experts: what is recorded is what runs again, and gates still learn."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from quintain.learn.forward import LearnerError, Reader
from quintain.learn.learner import TorchLearner
from quintain.learn.optim import adamw
from quintain.learn.pack import micro, pack, select
from quintain.learn.plan import Plan
from quintain.learn.precision import fp32
from quintain.learn.routes import with_routes
from quintain.models import build_model, forward_hidden
from quintain.models.routing import RoutingError, recorded, replayed, routers
from quintain.objectives import replay_routes, score, token_mean, token_ratio
from quintain.parts import chain

SIZES = {"vocab": 32, "hidden": 16, "layers": 2, "heads": 2, "ffn": 16, "context": 64}
MODELS = {
    "mixtral": {"experts": 4},
    "qwen3_moe": {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "norm_topk_prob": False},
}


@pytest.fixture(params=MODELS)
def moe(request: pytest.FixtureRequest) -> Any:
    """Gates renormalised and not; routers with weights, as transformers leaves them at 0 or near it."""
    model = build_model(request.param, seed=1, **SIZES, **MODELS[request.param])
    with torch.random.fork_rng():
        torch.manual_seed(5)
        for router in routers(model):
            nn.init.normal_(router.weight)
    return model


def run(model: Any, ids: torch.Tensor, lengths: list[int], rows: np.ndarray | None = None) -> torch.Tensor:
    where = torch.cat([torch.arange(n) for n in lengths])
    return forward_hidden(model, ids, lengths, where, rows)


def test_a_replay_of_its_own_choice_changes_nothing(moe: Any) -> None:
    ids, lengths = torch.arange(12) % 32, [5, 7]
    with torch.no_grad(), recorded(moe) as chosen:
        before = run(moe, ids, lengths)
    experts = torch.stack(chosen, 1)
    assert experts.shape == (12, 2, 2)
    with torch.no_grad(), replayed(moe, experts):
        torch.testing.assert_close(run(moe, ids, lengths), before)
        rows = np.array([4, 11])  # the last layer sees these alone
        torch.testing.assert_close(run(moe, ids, lengths, rows), before[rows])
    assert not any(router._forward_hooks for router in routers(moe)), "nothing is left behind"


def test_other_experts_run_and_the_gates_stay_trainable(moe: Any) -> None:
    ids = torch.arange(6)
    with torch.no_grad(), recorded(moe) as chosen:
        before = run(moe, ids, [6])
    other = (torch.stack(chosen, 1) + 1) % 4
    with replayed(moe, other), recorded(moe) as seen:
        after = run(moe, ids, [6])
    assert not torch.allclose(after, before)
    after.square().sum().backward()
    for layer, router in enumerate(routers(moe)):
        assert torch.equal(seen[layer], other[:, layer])
        assert router.weight.grad is not None and router.weight.grad.abs().sum() > 0


def test_tokens_without_ids_choose_for_themselves_and_other_threads_too(moe: Any) -> None:
    ids = torch.arange(6)
    with torch.no_grad(), recorded(moe) as chosen:
        before = run(moe, ids, [6])
        free = torch.full((6, 2, 2), -1)
    elsewhere: list[torch.Tensor] = []

    def engine() -> None:
        with torch.no_grad():
            elsewhere.append(run(moe, ids, [6]))

    with torch.no_grad(), replayed(moe, free):
        torch.testing.assert_close(run(moe, ids, [6]), before)
    with torch.no_grad(), replayed(moe, (torch.stack(chosen, 1) + 1) % 4):
        thread = threading.Thread(target=engine)
        thread.start()
        thread.join()
    torch.testing.assert_close(elsewhere[0], before)


def test_what_cannot_be_replayed_is_refused(moe: Any, make_model: Callable[..., Any]) -> None:
    ids = torch.arange(6)
    with pytest.raises(RoutingError, match="has 0 routers"), replayed(make_model(), torch.zeros(6, 0, 2)):
        pass
    for experts, said in ((torch.full((6, 2, 2), 9), "up to 9"), (torch.zeros(5, 2, 2).long(), r"shape \(5, 2\)")):
        with pytest.raises(RoutingError, match=said), replayed(moe, experts):
            run(moe, ids, [6])
    for learner in (TorchLearner(make_model(), adamw(1e-3)),):
        with pytest.raises(LearnerError, match="'routes': train a mixture of experts"):
            learner.check(frozenset({"routes"}))
        learner.close()


def test_a_batch_keeps_the_routes_of_the_first_weights(moe: Any, make_groups: Callable[..., Any]) -> None:
    batch, reader = pack(make_groups()), Reader(model=moe, precision=fp32())
    needs = frozenset({"routes"})

    def pieces(one: Any) -> list[Any]:
        return list(micro(one, 30))

    assert with_routes(batch, frozenset(), reader, pieces) is batch
    routed = with_routes(batch, needs, reader, pieces)
    assert routed.streams["experts"].shape == (len(batch), 2, 2) and (routed.streams["experts"] >= 0).all()
    assert with_routes(routed, needs, reader, pieces) is routed, "what came with the batch stays"
    nothing = select(batch, np.zeros(0, np.int64))
    assert with_routes(nothing, needs, reader, lambda one: [one]) is nothing
    plain = reader.terms(batch, needs, {}).new.detach()
    torch.testing.assert_close(reader.terms(routed, needs, {}).new.detach(), plain, atol=1e-5, rtol=1e-5)
    moved = replace(routed, streams={**routed.streams, "experts": (routed.streams["experts"] + 1) % 4})
    assert not torch.allclose(reader.terms(moved, needs, {}).new.detach(), plain, atol=1e-3)


@pytest.mark.parametrize("replay", [False, True])
def test_the_learner_replays_through_all_steps_of_a_batch(
    replay: bool, moe: Any, make_groups: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = TorchLearner(moe, adamw(0.3), plan=Plan(epochs=3, micro_tokens=50))
    seen: list[np.ndarray] = []
    real = Reader.terms

    def spy(self: Reader, batch: Any, *rest: Any) -> Any:
        with recorded(self.model) as chosen:
            out = real(self, batch, *rest)
        seen.append(np.stack([ids.numpy() for ids in chosen[:1]]))
        return out

    monkeypatch.setattr(Reader, "terms", spy)
    link = [replay_routes()] if replay else []
    part = chain(token_ratio("rollout"), score(), *link, token_mean())
    asyncio.run(learner.update(pack(make_groups()), part))
    learner.close()
    assert len(seen) % 3 == 0
    first, last = seen[0], seen[2 * len(seen) // 3]
    assert (first.shape == last.shape and np.array_equal(first, last)) == replay
