"""What a learner saves continues bit for bit; what does not fit is refused and changes nothing."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from quintain.learn import checkpoint
from quintain.learn.checkpoint import CheckpointError, load_weights
from quintain.learn.learner import TorchLearner
from quintain.learn.optim import adamw, linear, muon
from quintain.learn.pack import pack
from quintain.learn.plan import Plan
from quintain.learn.precision import fp16
from quintain.learn.value import ValueHead
from quintain.objectives import clip, fit_values, penalise_kl, token_mean, token_ratio
from quintain.parts import Transform, chain, named


def drifting():
    """A part whose state is an array and a float that every step changes, and that scales the loss."""

    def apply(terms, state):
        seen, rate = state["seen"], state["rate"]
        scaled = replace(terms, loss=terms.loss * (1 + float(seen[0]) * rate))
        return scaled, {"seen": seen + np.float32(0.1), "rate": rate / 3}

    return Transform(lambda: {"seen": np.zeros(2, np.float32), "rate": 1.0}, apply)


def make(make_model, **rest):
    objective = chain(
        token_ratio("rollout"),
        clip(),
        penalise_kl(0.1),
        fit_values(),
        token_mean(),
        named(drift=drifting()),
    )
    recipe = rest.pop("recipe", muon(5e-3, schedule=linear(6, warmup=2)))
    plan = Plan(minibatches=2, epochs=2, seed=3)
    value = rest.pop("value", None) or ValueHead(16, lr=0.01)
    return TorchLearner(make_model(), recipe, plan=plan, value=value, reference=True, **rest), objective


def steps(learner, objective, groups, count):
    async def go():
        out = []
        for _ in range(count):
            scored = await learner.score(groups, objective.needs | {"values"})
            valued = [
                replace(g, trajectories=tuple(t.with_value("return", t.reward) for t in g.trajectories)) for g in scored
            ]
            figures = await learner.update(pack(valued), objective)
            await learner.publish()
            out.append({k: v for k, v in figures.items() if not k.startswith("seconds")})
        return out

    return asyncio.run(go())


def held(learner):
    tensors = {f"{file}.{k}": v.clone() for file, group in learner._kept().items() for k, v in group.items()}
    return tensors | {k: v.clone() for k, v in learner.optimizer.state().items()}


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


@pytest.mark.parametrize("recipe", ["muon", "adamw"])
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(recipe, make_groups, make_model, tmp_path):
    recipes = {"muon": muon(5e-3, schedule=linear(6, warmup=2)), "adamw": adamw(5e-3)}
    groups = make_groups()
    whole, objective = make(make_model, recipe=recipes[recipe])
    told = steps(whole, objective, groups, 4)
    first, objective = make(make_model, recipe=recipes[recipe])
    steps(first, objective, groups, 2)
    first.save(str(tmp_path / "c"))
    second, objective = make(lambda: make_model(seed=9), recipe=recipes[recipe])
    second.load(str(tmp_path / "c"))
    assert steps(second, objective, groups, 2) == told[2:]
    assert same(held(whole), held(second))
    assert (second.step, second.updates, second.version) == (4, 16, 4)
    assert second.state[-1]["drift"]["rate"] == whole.state[-1]["drift"]["rate"] < 1e-7
    np.testing.assert_array_equal(second.state[-1]["drift"]["seen"], whole.state[-1]["drift"]["seen"])


def test_the_folder_holds_safetensors_and_json_only(make_groups, make_model, tmp_path):
    learner, objective = make(make_model)
    steps(learner, objective, make_groups(), 1)
    learner.save(str(tmp_path))
    names = {p.name for p in tmp_path.iterdir()}
    assert names == {f"{n}.safetensors" for n in ("weights", "optimizer", "value", "reference")} | {"learner.json"}
    assert json.loads((tmp_path / "learner.json").read_text())["step"] == 1
    assert load_file(tmp_path / "value.safetensors")["weight"].shape == (16,)


def test_the_loss_scale_and_the_quarantine_are_kept(make_groups, make_model, tmp_path):
    one = TorchLearner(make_model(), adamw(1e-3), precision=fp16(scale=2.0**30))
    plain = chain(token_ratio("rollout"), clip(), token_mean())
    asyncio.run(one.update(pack(make_groups()), plain))
    bad = replace(pack(make_groups()), logprobs=np.full(len(pack(make_groups())), np.nan, np.float32))
    asyncio.run(one.update(bad, plain))
    one.save(str(tmp_path))
    two = TorchLearner(make_model(), adamw(1e-3), precision=fp16())
    two.load(str(tmp_path))
    assert two.precision.scale.value == one.precision.scale.value < 2.0**30
    assert two.quarantined == one.quarantined and len(two.quarantined) == 1


def damage(kind, folder):
    weights = folder / "weights.safetensors"
    if kind == "missing":
        weights.unlink()
    elif kind in ("value", "reference"):
        (folder / f"{kind}.safetensors").unlink()
    elif kind == "cut":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif kind == "json":
        (folder / "learner.json").write_text("{")
    elif kind == "format":
        (folder / "learner.json").write_text('{"format": 99}')
    elif kind == "name":
        tensors = load_file(weights)
        tensors["else"] = tensors.pop("model.norm.weight")
        save_file(tensors, weights)
    elif kind == "shape":
        tensors = load_file(weights)
        tensors["model.norm.weight"] = torch.zeros(3)
        save_file(tensors, weights)
    elif kind == "dtype":
        tensors = load_file(weights)
        tensors["model.norm.weight"] = tensors["model.norm.weight"].double()
        save_file(tensors, weights)
    elif kind == "surplus":
        tensors = load_file(folder / "optimizer.safetensors")
        save_file({**tensors, "muon.else": torch.zeros(2)}, folder / "optimizer.safetensors")
    elif kind == "optimizer":
        tensors = load_file(folder / "optimizer.safetensors")
        del tensors[min(tensors)]
        save_file(tensors, folder / "optimizer.safetensors")


SAYS = {
    "missing": "weights.safetensors is missing",
    "cut": "damaged",
    "json": "not JSON",
    "format": "format 99",
    "name": "lacks 1 tensors, first model.norm.weight",
    "shape": r"shape torch.Size\(\[3\]\)",
    "dtype": "dtype torch.float64",
    "optimizer": "another learner.optimizer .* state does not fit, first at .*; go on with the settings that the run had",
    "surplus": "has, and should not, 1 tensors, first muon.else; .*; go on with the settings that the run had",
    "value": "was saved without a value head, which the algorithm needs now; go on with the settings that the run had",
    "reference": "was saved without a frozen reference, which the algorithm needs now",
}


@pytest.mark.parametrize("kind", SAYS)
def test_a_damaged_or_foreign_folder_is_refused_and_changes_nothing(kind, make_groups, make_model, tmp_path):
    learner, objective = make(make_model)
    steps(learner, objective, make_groups(), 1)
    learner.save(str(tmp_path))
    steps(learner, objective, make_groups(), 1)
    before, counters = held(learner), (learner.step, learner.updates, learner.version)
    damage(kind, tmp_path)
    with pytest.raises(CheckpointError, match=SAYS[kind]):
        learner.load(str(tmp_path))
    assert same(before, held(learner)) and counters == (learner.step, learner.updates, learner.version)


def test_the_weights_alone_load_into_a_model_that_only_plays(make_groups, make_model, tmp_path):
    learner, objective = make(make_model)
    steps(learner, objective, make_groups(), 1)
    learner.save(str(tmp_path))
    player = make_model(seed=5)
    load_weights(player, str(tmp_path))
    assert all(torch.equal(a, b) for a, b in zip(player.parameters(), learner.model.parameters(), strict=True))
    with pytest.raises(CheckpointError, match="shape"):
        load_weights(make_model(ffn=48), str(tmp_path))


def test_another_optimizers_state_is_refused(make_groups, make_model, tmp_path):
    learner, objective = make(make_model)
    steps(learner, objective, make_groups(), 1)
    learner.save(str(tmp_path))
    other, _ = make(make_model, recipe=adamw(1e-3))
    with pytest.raises(CheckpointError, match="optimizer"):
        other.load(str(tmp_path))


def test_a_folder_that_cannot_be_written_is_a_typed_error(make_model, tmp_path):
    learner, _ = make(make_model)
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot be written"):
        learner.save(str(tmp_path / "file"))
    learner.state = {"tensor": object()}
    with pytest.raises(CheckpointError, match="as JSON"):
        learner.save(str(tmp_path / "c"))


def test_large_files_are_cut_into_parts_that_an_index_names(tmp_path):
    tensors = {f"w{i}": torch.full((8, 4), float(i)) for i in range(5)}
    checkpoint.write(str(tmp_path), {"weights": tensors.items()}, {}, limit=300)
    assert not (tmp_path / "weights.safetensors").exists()
    parts = sorted(p.name for p in tmp_path.glob("weights-*.safetensors"))
    assert len(parts) == 3 and all((tmp_path / p).stat().st_size < 600 for p in parts)
    found = checkpoint.read(str(tmp_path), "weights", tensors)
    assert all(torch.equal(found[k], v) for k, v in tensors.items())
    (tmp_path / parts[1]).unlink()
    with pytest.raises(checkpoint.CheckpointError, match=parts[1]):
        checkpoint.read(str(tmp_path), "weights")
    (tmp_path / "weights.safetensors.index.json").write_text('{"weight_map": {"w0": "../elsewhere.safetensors"}}')
    with pytest.raises(checkpoint.CheckpointError, match="elsewhere"):
        checkpoint.read(str(tmp_path), "weights")


def test_another_objective_begins_anew_and_says_so(make_groups, make_model, tmp_path, caplog):
    learner, objective = make(make_model)
    steps(learner, objective, make_groups(), 1)
    learner.save(str(tmp_path))
    for other, anew in ((chain(token_ratio("rollout"), clip(low=0.1), token_mean()), True), (objective, False)):
        again, _ = make(make_model)
        again.load(str(tmp_path))
        caplog.clear()
        steps(again, other, make_groups(), 1)
        assert ("the objective begins anew" in caplog.text) is anew
        assert len(again.state) == (3 if anew else 6)
