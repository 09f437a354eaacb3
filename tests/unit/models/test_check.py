"""What slot attention cannot run is refused, with its name and the reason."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

import quintain.models.attention as attention
import quintain.models.check as check
from quintain.models import SlotStore, UnsupportedModel, build_model, self_test
from quintain.models.attention import slot_attention, slot_mask

SIZES = {"vocab": 64, "hidden": 32, "layers": 2, "heads": 2}


@pytest.mark.parametrize(
    ("arch", "sizes", "reason"),
    [
        ("falcon_h1", {"mamba_d_ssm": 32, "mamba_n_heads": 2, "mamba_d_head": 16}, "falcon_h1 keeps a recurrent state"),
        ("mamba", {}, "mamba keeps a recurrent state"),
        ("qwen3_next", {}, "qwen3_next keeps a recurrent state"),
        ("diffllama", {"ffn": 32}, "diffllama calls attention twice under layer 0"),
        ("bloom", {}, "bloom"),
        ("gptj", {"rotary_dim": 8}, "gptj"),
    ],
)
@pytest.mark.filterwarnings("ignore")  # transformers warns that fast kernels of some of these are missing
def test_what_would_be_wrong_is_refused(arch, sizes, reason):
    kept = {k: v for k, v in SIZES.items() if not (arch == "mamba" and k == "heads")}
    with pytest.raises(UnsupportedModel, match=reason):
        self_test(build_model(arch, seed=0, **kept, **sizes))


@pytest.mark.filterwarnings("ignore")
def test_a_recurrent_hybrid_is_seen_by_the_comparison_alone(monkeypatch):
    monkeypatch.setattr(check, "_refuse_statically", lambda *_: None)
    model = build_model("falcon_h1", seed=0, **SIZES, mamba_d_ssm=32, mamba_n_heads=2, mamba_d_head=16)
    with pytest.raises(UnsupportedModel, match=r"falcon_h1 is wrong under slot attention: packed .* differ by"):
        self_test(model)


def test_an_encoder_decoder_is_refused(make):
    model = make("llama")
    model.config.is_encoder_decoder = True
    with pytest.raises(UnsupportedModel, match="llama is an encoder-decoder"):
        self_test(model)


def test_a_model_without_slot_attention_is_refused(make):
    model = make("llama")
    model.set_attn_implementation("sdpa")
    with pytest.raises(UnsupportedModel, match="llama was not made with slot attention"):
        self_test(model)


@pytest.mark.parametrize(
    "arch", ["gpt2", "opt", "phi3", "olmo2", "gpt_neox", "llama4_text", "deepseek_v3", "cohere2", "smollm3", "glm4"]
)
def test_other_architectures_pass(arch, device):
    more = {
        "deepseek_v3": {
            "n_routed_experts": 4,
            "n_group": 2,
            "topk_group": 1,
            "num_experts_per_tok": 2,
            "q_lora_rank": 16,
        }
        | {
            "kv_lora_rank": 16,
            "moe_intermediate_size": 16,
            "qk_nope_head_dim": 8,
            "qk_rope_head_dim": 8,
            "v_head_dim": 8,
        },
        "llama4_text": {"attention_chunk_size": 9, "experts": 2, "intermediate_size_mlp": 32},
    }
    result = self_test(build_model(arch, seed=0, **SIZES, ffn=48, **more.get(arch, {})).to(device))
    assert max(result.packed, result.extended) <= 5e-5


def test_a_chunk_is_not_a_window(monkeypatch):
    model = build_model(
        "llama4_text", seed=0, **SIZES, ffn=48, attention_chunk_size=9, experts=2, intermediate_size_mlp=32
    )
    self_test(model)
    real = attention._options

    def windows(*args):
        options, local = real(*args)
        return options, attention.Local(local.size)

    monkeypatch.setattr(attention, "_options", windows)
    with pytest.raises(UnsupportedModel, match="llama4_text is wrong"):
        self_test(model)


def test_keys_of_a_wrong_slot_are_seen(make, monkeypatch):
    real = SlotStore.read

    def wrong(self, layer, slots, tokens):
        keys, values = real(self, layer, slots, tokens)
        return keys.roll(1, 0), values.roll(1, 0)

    monkeypatch.setattr(SlotStore, "read", wrong)
    with pytest.raises(UnsupportedModel, match="qwen3 is wrong under slot attention: extended log-probabilities"):
        self_test(make("qwen3"))


def test_a_layer_that_never_calls_attention_is_seen():
    class Nothing(torch.nn.Module):
        def forward(self, hidden_states, **_):
            return torch.zeros_like(hidden_states), None

    model = build_model("llama", seed=0, **SIZES)
    model.model.layers[1].self_attn = Nothing()
    with pytest.raises(UnsupportedModel, match="llama called attention 1 times for 2 layers"):
        self_test(model)


def test_low_precision_passes_and_is_still_checked(make, monkeypatch):
    model = make("mistral").to(torch.bfloat16)
    result = self_test(model)
    assert 0 < result.packed < result.tolerance < result.sensitivity / 5
    monkeypatch.setattr(attention, "_options", lambda *a, real=attention._options: (real(*a)[0], attention.Local()))
    with pytest.raises(UnsupportedModel):
        self_test(model)


def test_the_test_leaves_the_model_as_it_was(make):
    model = make("gemma2", window=1000).train()
    model.model.layers[0].eval()
    modes = [m.training for m in model.modules()]
    self_test(model)
    assert [m.training for m in model.modules()] == modes
    assert model.config.sliding_window == 1000 and model.config._attn_implementation == "slot"


def test_an_option_that_is_not_known_is_refused():
    module = SimpleNamespace(config=SimpleNamespace(model_type="thing"), layer_idx=0)
    x = torch.zeros(1, 2, 3, 4)
    for given, reason in (
        ({}, "without a pack"),
        ({"slot_pack": SimpleNamespace(store=None, called=[]), "position_bias": x}, "thing hands position_bias="),
        (
            {"slot_pack": SimpleNamespace(store=None, called=[]), "is_causal": False},
            "thing asks for attention that is not",
        ),
    ):
        with pytest.raises(UnsupportedModel, match=reason):
            slot_attention(module, x, x, x, None, **given)
    with pytest.raises(UnsupportedModel, match="thing hands a mask of its own"):
        slot_attention(module, x, x, x, x, slot_pack=SimpleNamespace(store=None, called=[]))
    with pytest.raises(UnsupportedModel, match="overlays its own mask"):
        slot_mask(config=module.config, use_vmap=True)
