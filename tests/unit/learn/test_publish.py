"""Publishing: numbers go up, fingerprints change with any tensor, folders load."""

from __future__ import annotations

import asyncio

import pytest
import torch

from quintain.learn.learner import TorchLearner
from quintain.learn.optim import adamw
from quintain.learn.plan import Plan
from quintain.models import load_model
from quintain.models.fingerprint import fingerprint


def publish(learner):
    return asyncio.run(learner.publish())


def test_a_pointer_is_the_live_model_under_the_next_number(make_model):
    learner = TorchLearner(make_model(tie=True), adamw(1e-3))
    one, two = publish(learner), publish(learner)
    assert (one.version, two.version, one.kind) == (1, 2, "pointer") and one.source is learner.model
    assert one.fingerprint == two.fingerprint
    assert set(one.fingerprint) == {"model.embed_tokens", "model.layers.0", "model.layers.1", "model.norm"}


@pytest.mark.parametrize("whole", [1 << 22, 0], ids=["bytes", "sums"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_any_changed_tensor_changes_its_bucket_alone(whole, dtype, make_model, monkeypatch):
    monkeypatch.setattr("quintain.models.fingerprint.WHOLE", whole)
    model = make_model().to(dtype)
    before = fingerprint(model)
    for name, p in model.named_parameters():
        kept = p.data.clone()
        last = p.data.view(-1)[-1:]
        last.copy_(torch.nextafter(last, torch.full_like(last, 9.0)))
        changed = {k for k, v in fingerprint(model).items() if v != before[k]}
        assert changed == {".".join(name.split(".")[:3]) if "layers" in name else name.rpartition(".")[0]}
        if p.ndim == 2:
            p.data.copy_(kept.flip(0))
            assert fingerprint(model) != before, "rows in another order"
            p.data.copy_(kept.flip(1))
            assert fingerprint(model) != before, "columns in another order"
        p.data.copy_(kept)
    assert fingerprint(model) == before == fingerprint(reversed(list(model.named_parameters())))


def test_a_published_folder_loads_with_the_same_fingerprint(make_model, tmp_path):
    learner = TorchLearner(make_model(), adamw(1e-3), plan=Plan(folder=str(tmp_path)))
    told = publish(learner)
    assert told.kind == "file" and fingerprint(load_model(told.source)) == told.fingerprint == fingerprint(
        learner.model
    )
