"""Make a model from sizes: any causal language model of transformers, with random weights and slot attention."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from quintain.config.sections import SIZES
from quintain.models.attention import NAME, UnsupportedModel, register_attention
from quintain.models.narrow import install
from quintain.registry import UnknownName, unknown


def build_model(arch: str = "qwen3", *, seed: int, **sizes: Any) -> nn.Module:
    """A causal LM of transformers from its sizes, with random weights.

    Use it to train a small agent from scratch; `load_model` takes a folder instead.

    Args:
        arch: a transformers model type, such as `qwen3`, `llama`, `gemma2`, `mixtral`.
        seed: of the weights; the global generator is left as it was.
        **sizes: `vocab`, `hidden`, `layers`, `heads`, `kv_heads` (default: heads), `head_dim` (default: hidden /
            heads), `ffn`, `context`, `window`, `experts`, `tie`, and any further field of the architecture's
            configuration by its own name.

    Returns:
        The model in float32 and evaluation mode. It is not self-tested: `self_test` does that.

    Raises:
        UnknownName: no such architecture or size; the nearest match is named.
        UnsupportedModel: the class of the architecture cannot take a registered attention function.

    Example:
        >>> model = build_model("qwen3", seed=0, vocab=32, hidden=16, layers=1, heads=2, ffn=32)
        >>> sum(p.numel() for p in model.parameters())
        3648
    """
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    if arch not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        raise UnknownName(unknown("model architecture", arch, sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)))
    register_attention()
    fields = _fields(AutoConfig.for_model(arch), sizes)
    try:
        config = AutoConfig.for_model(arch, **fields)
    except Exception as error:  # each configuration class has its own checks and errors
        raise UnsupportedModel(f"{arch} cannot be made with {sizes}: {error}") from error
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        try:
            model = AutoModelForCausalLM.from_config(config, attn_implementation=NAME)
        except Exception as error:  # old classes look the name up in a table of their own
            reason = f"{type(error).__name__}: {error}"
            raise UnsupportedModel(f"{arch} cannot be made with slot attention ({reason})") from error
    install(model, model.config.get_text_config(decoder=True).num_hidden_layers)
    return model.eval()


def _fields(default: Any, sizes: dict[str, Any]) -> dict[str, Any]:
    known = {**default.to_dict(), **default.attribute_map}
    fields: dict[str, Any] = {}
    for word, value in sizes.items():
        name = next((n for n in SIZES.get(word, (word,)) if n in known), None)
        if name is None and value != _implied(word, sizes):
            fitting = [w for w, names in SIZES.items() if any(n in known for n in names)]
            raise UnknownName(unknown(f"size of {default.model_type}", word, [*fitting, *known]))
        if name is not None:
            fields[name] = value
    if "num_attention_heads" in fields:
        if "num_key_value_heads" in known:
            fields.setdefault("num_key_value_heads", fields["num_attention_heads"])
        # latent attention has head sizes of its own
        if known.get("head_dim") is not None and "qk_rope_head_dim" not in known and "hidden_size" in fields:
            fields.setdefault("head_dim", fields["hidden_size"] // fields["num_attention_heads"])
    # special tokens of the published vocabulary mean nothing in another one
    for name in ("pad_token_id", "bos_token_id", "eos_token_id"):
        if name in known:
            fields.setdefault(name, None)
    return fields


def _implied(word: str, sizes: dict[str, Any]) -> Any:
    """What an architecture without this size has anyway: as many key heads as heads, heads that share the width."""
    heads = sizes.get("heads")
    return {"kv_heads": heads, "head_dim": sizes.get("hidden", 0) // heads if heads else None}.get(word)
