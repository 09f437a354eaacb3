"""LoRA: only factors train, the base is the reference, publishing merges."""

from __future__ import annotations

import asyncio
import importlib.util

import pytest
import torch

from quintain.learn.checkpoint import CheckpointError, load_weights
from quintain.learn.learner import TorchLearner
from quintain.learn.lora import LoraError, add_lora
from quintain.learn.optim import adamw
from quintain.learn.pack import pack
from quintain.learn.plan import Plan
from quintain.models import forward_hidden, load_model
from quintain.models.fingerprint import fingerprint
from quintain.objectives import penalise_kl, policy_gradient, token_mean
from quintain.parts import chain
from quintain.registry import MissingExtra

OBJECTIVE = chain(policy_gradient(), penalise_kl(0.1), token_mean())


@pytest.fixture
def learner(make_model, tmp_path):
    model = add_lora(make_model(), r=2, lora_alpha=4)
    return TorchLearner(model, adamw(0.05), plan=Plan(folder=str(tmp_path / "published")))


def train(learner, groups):
    scored = asyncio.run(learner.score(groups, frozenset({"old", "ref"})))
    asyncio.run(learner.update(pack(scored), OBJECTIVE))
    return asyncio.run(learner.score(groups, frozenset({"old", "ref"})))


def column(groups, name):
    return [t.streams[name] for g in groups for t in g.trajectories]


def test_only_factors_train_and_the_base_is_the_reference(learner, make_groups, make_model):
    groups = make_groups()
    first = asyncio.run(learner.score(groups, frozenset({"old", "ref"})))
    assert column(first, "old") == column(first, "ref")
    then = train(learner, groups)
    assert column(then, "ref") == column(first, "ref") and column(then, "old") != column(first, "old")
    assert all("lora_" in w.name and not w.block for w in learner.weights)
    inner = dict(learner.model.get_base_model().named_parameters())
    for name, p in make_model().named_parameters():
        kept = inner.get(name, inner.get(name.replace(".weight", ".base_layer.weight")))
        assert torch.equal(kept, p), name


def test_published_folders_hold_the_merged_model_and_old_ones_go(learner, make_groups, tmp_path):
    train(learner, make_groups())
    told = [asyncio.run(learner.publish()) for _ in range(4)]
    assert [w.version for w in told] == [1, 2, 3, 4] and {w.kind for w in told} == {"file"}
    assert sorted(p.name for p in (tmp_path / "published").iterdir()) == ["version-3", "version-4"]
    ids = torch.arange(8)
    loaded = load_model(told[-1].source)
    with torch.no_grad():
        torch.testing.assert_close(
            forward_hidden(loaded, ids, [8]), forward_hidden(learner.model, ids, [8]), rtol=1e-5, atol=1e-5
        )
    assert fingerprint(loaded) == told[-1].fingerprint


def test_a_checkpoint_holds_factors_and_knows_its_base(learner, make_groups, make_model, tmp_path):
    train(learner, make_groups())
    learner.save(str(tmp_path / "c"))
    played = add_lora(make_model(), r=2, lora_alpha=4)
    load_weights(played, str(tmp_path / "c"))
    assert fingerprint(played) == fingerprint(learner.model)
    again = TorchLearner(add_lora(make_model(), r=2, lora_alpha=4), adamw(0.05))
    again.load(str(tmp_path / "c"))
    assert column(train(again, make_groups()), "old") == column(train(learner, make_groups()), "old")
    other = TorchLearner(add_lora(make_model(seed=1), r=2, lora_alpha=4), adamw(0.05))
    with pytest.raises(CheckpointError, match="other frozen weights"):
        other.load(str(tmp_path / "c"))
    with pytest.raises(CheckpointError, match="other frozen weights"):
        load_weights(other.model, str(tmp_path / "c"))


def test_factors_are_those_of_their_seed_whatever_was_drawn_before(make_model):
    def factors(**options):
        torch.rand(3)
        model = add_lora(make_model(), r=2, **options)
        return torch.cat([p.flatten() for n, p in model.named_parameters() if "lora_A" in n])

    torch.manual_seed(1)
    now = torch.random.get_rng_state()
    add_lora(make_model(), r=2)
    assert torch.equal(torch.random.get_rng_state(), now)
    assert torch.equal(factors(), factors()) and torch.equal(factors(seed=3), factors(seed=3))
    assert not torch.equal(factors(), factors(seed=3))


def test_unknown_fields_and_layers_are_named(make_model):
    with pytest.raises(LoraError, match="did you mean 'lora_alpha'"):
        add_lora(make_model(), lora_alfa=4)
    with pytest.raises(LoraError, match="nowhere"):
        add_lora(make_model(), target_modules=["nowhere"])


def test_without_peft_the_command_that_installs_it_is_said(make_model, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "peft" else find(name, *rest))
    with pytest.raises(MissingExtra, match=r"pip install 'quintain\[train\]'"):
        add_lora(make_model(), r=2)


def test_dropout_is_refused(make_model):
    with pytest.raises(LoraError, match=r"lora_dropout is 0\.3"):
        add_lora(make_model(), r=2, lora_dropout=0.3)
