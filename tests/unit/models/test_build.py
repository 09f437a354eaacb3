"""Models from sizes: what is asked for is what is made, and mistakes are named."""

from __future__ import annotations

import pytest
import torch

from quintain.models import UnsupportedModel, build_model, context_limit
from quintain.registry import UnknownName

SIZES = {"vocab": 40, "hidden": 32, "layers": 2, "heads": 4, "ffn": 48}


def test_sizes_reach_the_configuration():
    config = build_model("qwen3", seed=0, **SIZES, kv_heads=2, head_dim=16, context=99, tie=True).config
    assert (config.vocab_size, config.hidden_size, config.num_hidden_layers) == (40, 32, 2)
    assert (config.num_attention_heads, config.num_key_value_heads, config.head_dim) == (4, 2, 16)
    assert (config.intermediate_size, config.max_position_embeddings, config.tie_word_embeddings) == (48, 99, True)


def test_sizes_have_the_same_name_in_every_architecture():
    for arch, field in (("gpt2", "n_inner"), ("opt", "ffn_dim"), ("llama", "intermediate_size")):
        config = build_model(arch, seed=0, **SIZES).config
        assert (config.hidden_size, config.num_hidden_layers, getattr(config, field)) == (32, 2, 48)


def test_heads_imply_key_heads_and_their_size():
    config = build_model("qwen3", seed=0, **SIZES).config
    assert (config.num_key_value_heads, config.head_dim) == (4, 8)


def test_the_seed_decides_the_weights_and_nothing_else_is_drawn():
    before = torch.random.get_rng_state()
    one, same, other = (build_model("llama", seed=s, **SIZES).state_dict() for s in (1, 1, 2))
    assert torch.equal(before, torch.random.get_rng_state())
    assert all(torch.equal(one[k], same[k]) for k in one)
    assert not torch.equal(one["lm_head.weight"], other["lm_head.weight"])


def test_models_do_not_share_a_configuration():
    one, two = (build_model("llama", seed=0, **SIZES) for _ in range(2))
    one.set_attn_implementation("eager")
    assert two.config._attn_implementation == "slot"


def test_mistakes_are_named():
    with pytest.raises(UnknownName, match="unknown model architecture 'qwen33'; did you mean 'qwen3'"):
        build_model("qwen33", seed=0)
    with pytest.raises(UnknownName, match="unknown size of llama 'headz'; did you mean 'heads'"):
        build_model("llama", seed=0, headz=3)
    with pytest.raises(UnsupportedModel, match="llama cannot be made with"):
        build_model("llama", seed=0, hidden=33, heads=4)


def test_the_limit_of_rotary_embeddings_that_change_is_where_they_change():
    rope = {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e4, "original_max_position_embeddings": 32}
    assert context_limit(build_model("llama", seed=0, **SIZES, context=128, rope_parameters=rope)) == 32
    assert context_limit(build_model("llama", seed=0, **SIZES, context=128)) == 128


@pytest.mark.parametrize("arch", ["qwen2", "llama", "gpt2", "olmo"])
def test_sizes_that_an_architecture_has_anyway_may_be_given(arch):
    sizes = {"hidden": 32, "layers": 1, "heads": 2, "kv_heads": 2, "head_dim": 16, "ffn": 48, "vocab": 20}
    assert build_model(arch, seed=0, **sizes).config.num_hidden_layers == 1


def test_a_size_that_an_architecture_lacks_is_refused_without_naming_itself():
    with pytest.raises(UnknownName) as error:
        build_model("qwen2", seed=0, hidden=32, heads=2, head_dim=32, vocab=20)
    assert "unknown size of qwen2 'head_dim'" in str(error.value) and "did you mean 'head_dim'" not in str(error.value)
