"""New weights are taken whole or not at all."""

from __future__ import annotations

import pytest
import torch

from quintain.engines.torch_weights import WeightsError, copy_weights
from quintain.models import build_model, save_model
from quintain.types import Weights

SIZES = {"vocab": 40, "hidden": 32, "layers": 2, "heads": 2, "ffn": 32}


def two(arch="qwen3", **more):
    return build_model(arch, seed=0, **SIZES, **more), build_model(arch, seed=1, **SIZES, **more)


def same(a, b):
    b = b.state_dict()
    return all(torch.equal(value, b[name]) for name, value in a.state_dict().items())


@pytest.mark.parametrize("arch", ["qwen3", "mixtral", "gpt_oss"])
@pytest.mark.parametrize("kind", ["module", "mapping", "file"])
def test_weights_arrive(arch, kind, tmp_path):
    model, new = two(arch, tie=True) if arch == "qwen3" else two(arch, experts=2)
    save_model(new, tmp_path)
    source = {"module": new, "mapping": new.state_dict(), "file": str(tmp_path)}[kind]
    addresses = [p.data_ptr() for p in model.parameters()]
    copy_weights(model, Weights(version=1, kind="file" if kind == "file" else "pointer", source=source))
    assert same(model, new)
    assert addresses == [p.data_ptr() for p in model.parameters()]


def test_the_same_module_is_up_to_date_already():
    model, _ = two()
    copy_weights(model, Weights(version=1, kind="pointer", source=model))


def test_a_tied_tensor_may_come_under_one_of_its_names():
    model, new = two(tie=True)
    tensors = new.state_dict()
    tensors.pop("lm_head.weight")
    copy_weights(model, Weights(version=1, kind="pointer", source=tensors))
    assert same(model, new)


@pytest.mark.filterwarnings("ignore:.*is deprecated and will be removed in v6:FutureWarning")  # peft calls it
def test_adapters_alone_may_come():
    from peft import LoraConfig, get_peft_model

    model, new = (get_peft_model(m, LoraConfig(r=2, target_modules=["q_proj"])) for m in two())
    base = model.state_dict()["base_model.model.model.norm.weight"].clone()
    adapters = {name: p + 1 for name, p in new.state_dict().items() if "lora_" in name}
    copy_weights(model, Weights(version=1, kind="lora", source=adapters))
    held = model.state_dict()
    assert all(torch.equal(held[name], value) for name, value in adapters.items())
    assert torch.equal(held["base_model.model.model.norm.weight"], base)


@pytest.mark.parametrize("fault", ["missing", "unknown", "shape", "kind", "source", "folder", "file"])
def test_what_does_not_fit_changes_nothing(fault, tmp_path):
    model, new = two()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    tensors, kind = new.state_dict(), "pointer"
    if fault == "missing":
        tensors.pop("model.norm.weight")
    elif fault == "unknown":
        tensors["model.thing"] = torch.ones(1)
    elif fault == "shape":
        tensors["model.norm.weight"] = torch.ones(5)
    elif fault == "kind":
        kind = "broadcast"
    elif fault == "file":
        save_model(new, tmp_path)
        (tmp_path / "model.safetensors").write_bytes(b"nonsense")
    source = {"source": 3, "folder": str(tmp_path / "none"), "file": str(tmp_path)}.get(fault, tensors)
    kind = "file" if fault in ("folder", "file") else kind
    reason = {"missing": "lack 1 tensors.*model.norm", "unknown": "hold model.thing", "shape": r"\(5,\) where"}
    reason |= {
        "kind": "'broadcast'",
        "source": "type int",
        "folder": "none is not a folder",
        "file": "cannot be loaded",
    }
    with pytest.raises(WeightsError, match=reason[fault]):
        copy_weights(model, Weights(version=2, kind=kind, source=source))
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
