"""Model folders: written so that transformers loads them, read from safetensors only, broken ones explained."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from quintain.models import ModelFolderError, UnsupportedModel, load_model, save_model


@pytest.fixture
def folder(make, tmp_path):
    save_model(make("qwen3", tie=True), tmp_path / "model")
    assert len({path.stat().st_mode for path in (tmp_path / "model").iterdir()}) == 1, (
        "the weights are read by who reads the rest"
    )
    return tmp_path / "model"


@pytest.mark.parametrize("arch", ["qwen3", "gemma2", "gpt_oss", "mixtral"])
def test_a_saved_model_comes_back(arch, make, tmp_path, truth):
    model = make(arch)
    save_model(model, tmp_path)
    ids = torch.arange(9)
    assert torch.equal(truth(load_model(tmp_path), ids), truth(model, ids))
    assert "slot" not in (tmp_path / "config.json").read_text()
    other = AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="eager")
    with torch.no_grad():
        assert torch.equal(torch.log_softmax(other(ids[None]).logits[0].double(), -1), truth(model, ids))


def test_precision_is_what_was_asked_for(folder):
    assert load_model(folder, dtype="bfloat16").dtype == torch.bfloat16
    assert load_model(folder).dtype == torch.float32


@pytest.mark.filterwarnings("ignore:.*is deprecated and will be removed in v6:FutureWarning")  # peft calls it
def test_adapters_are_merged_into_what_is_written(make, tmp_path, truth):
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(make("llama"), LoraConfig(r=2, target_modules=["q_proj", "o_proj"])).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.add_(0.2)
    before = {name: p.clone() for name, p in model.named_parameters()}
    save_model(model, tmp_path)
    assert all(torch.equal(before[name], p) for name, p in model.named_parameters())
    ids = torch.arange(12)
    assert (truth(load_model(tmp_path), ids) - truth(model, ids)).abs().max() < 1e-5
    assert (truth(make("llama"), ids) - truth(model, ids)).abs().max() > 1e-3


def test_missing_files_are_named(folder, tmp_path):
    with pytest.raises(ModelFolderError, match="nowhere is not a folder"):
        load_model(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelFolderError, match=r"has no config\.json; copy the whole folder"):
        load_model(tmp_path / "empty")
    (tmp_path / "empty" / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelFolderError, match="it holds an adapter"):
        load_model(tmp_path / "empty")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelFolderError, match=r"has no model\.safetensors; copy the whole folder"):
        load_model(folder)


def test_a_pickle_is_never_read(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelFolderError, match=r"pytorch_model\.bin is a pickle and is never read"):
        load_model(folder)


def test_a_configuration_that_makes_no_sense_is_refused(folder):
    for text, reason in (("{", "is not JSON"), ("{}", "names no model_type"), ('{"model_type": "nope"}', "nope")):
        (folder / "config.json").write_text(text)
        with pytest.raises(ModelFolderError, match=reason):
            load_model(folder)


def test_a_cut_off_file_is_refused(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelFolderError, match="cannot be loaded .*; copy the whole folder"):
        load_model(folder)


def test_weights_that_do_not_belong_are_refused(folder):
    path = folder / "model.safetensors"
    tensors = load_file(path)
    gone = dict(tensors)
    gone.pop("model.layers.1.mlp.up_proj.weight")
    save_file(gone, path, metadata={"format": "pt"})
    with pytest.raises(ModelFolderError, match=r"1 weights are missing for qwen3.*model\.layers\.1\.mlp\.up_proj"):
        load_model(folder)
    save_file({**tensors, "model.norm.weight": torch.ones(7)}, path, metadata={"format": "pt"})
    with pytest.raises(ModelFolderError, match=r"model\.norm\.weight"):
        load_model(folder)


def test_a_missing_shard_is_named(make, tmp_path):
    make("llama").save_pretrained(tmp_path, max_shard_size="60KB")
    shards = sorted(tmp_path.glob("model-*.safetensors"))
    assert len(shards) > 1
    load_model(tmp_path)
    shards[0].unlink()
    with pytest.raises(ModelFolderError, match=f"lacks the shard {shards[0].name}"):
        load_model(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text("[]")
    with pytest.raises(ModelFolderError, match="is not an index"):
        load_model(tmp_path)


def test_weights_without_a_use_are_reported(folder, caplog):
    path = folder / "model.safetensors"
    save_file({**load_file(path), "extra.weight": torch.ones(2)}, path, metadata={"format": "pt"})
    load_model(folder)
    assert "1 weights are not used by qwen3, the first is extra.weight" in caplog.text


def test_a_folder_of_an_unsupported_type_is_refused(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "bloom", "n_head": 4, "n_layer": 3}))
    with pytest.raises((UnsupportedModel, ModelFolderError), match="bloom"):
        load_model(folder)


def test_a_folder_that_cannot_be_written_is_refused(make, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelFolderError, match="cannot be written"):
        save_model(make("llama"), tmp_path / "file" / "model")
