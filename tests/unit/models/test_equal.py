"""Packed forwards and their gradients equal the plain model, for every architecture of the zoo."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

import quintain.models.attention as attention
import quintain.models.forward as forward
import quintain.models.order as order
from quintain.learn.lora import add_lora
from quintain.models import Pack, PackError, UnsupportedModel, forward_hidden, head_logits, self_test
from quintain.models.attention import Local, Options

ZOO = ("qwen2", "qwen3", "llama", "mistral", "gemma2", "gemma3_text", "gpt_oss", "mixtral")
LENGTHS = [31, 1, 12, 31, 2, 24]


def tokens(lengths, seed=0):
    return torch.randint(0, 256, (sum(lengths),), generator=torch.Generator().manual_seed(seed))


def packed_gaps(model, truth):
    ids = tokens(LENGTHS)
    with torch.no_grad():
        logp = torch.log_softmax(head_logits(model, forward_hidden(model, ids, LENGTHS)).double(), -1)
    parts = zip(logp.split(LENGTHS), ids.split(LENGTHS), strict=True)
    return torch.cat([(mine - truth(model, own)).abs().flatten() for mine, own in parts])


@pytest.mark.parametrize("arch", ZOO)
def test_a_packed_forward_equals_the_plain_one(arch, make, truth):
    assert packed_gaps(make(arch), truth).mean() <= 1e-6
    assert packed_gaps(make(arch, sharp=True), truth).max() <= 5e-5


@pytest.mark.parametrize("arch", ZOO)
def test_packed_gradients_equal_those_of_single_sequences(arch, make):
    model = make(arch, sharp=True)
    ids = tokens(LENGTHS)

    def loss(logits, own):
        return torch.log_softmax(logits[:-1], -1).gather(1, own[1:, None]).sum()

    logits = head_logits(model, forward_hidden(model, ids, LENGTHS)).split(LENGTHS)
    total = sum(loss(part, own) for part, own in zip(logits, ids.split(LENGTHS), strict=True))
    mine = torch.autograd.grad(total, list(model.parameters()))
    model.set_attn_implementation("eager")
    total = sum(loss(model(input_ids=own[None], use_cache=False).logits[0], own) for own in ids.split(LENGTHS))
    for (name, _), a, b in zip(model.named_parameters(), mine, torch.autograd.grad(total, list(model.parameters()))):
        assert (a - b).norm() <= 2e-5 * b.norm() + 1e-7, name


@pytest.mark.parametrize("arch", ZOO)
def test_the_self_test_passes_random_and_sharp_models(arch, make):
    for sharp in (False, True):
        result = self_test(make(arch, sharp=sharp))
        assert max(result.packed, result.extended) <= 5e-5 < result.sensitivity


@pytest.mark.parametrize("arch", ["mistral", "gemma2", "gemma3_text", "gpt_oss"])
@pytest.mark.parametrize("sharp", [False, True])
def test_the_self_test_sees_a_window_that_is_dropped(arch, sharp, make, monkeypatch):
    model = make(arch, sharp=sharp, window=4096)  # far wider than the test's sequences
    monkeypatch.setattr(attention, "_options", lambda *a, real=attention._options: (real(*a)[0], Local()))
    with pytest.raises(UnsupportedModel, match=f"{arch} is wrong under slot attention: packed .* differ by"):
        self_test(model)


@pytest.mark.parametrize(("arch", "option"), [("gemma2", "softcap"), ("gpt_oss", "sinks")])
def test_the_self_test_sees_an_option_that_is_dropped(arch, option, make, monkeypatch):
    model = make(arch, sharp=True, **({"attn_logit_softcapping": 2.0} if option == "softcap" else {}))
    self_test(model)
    real = attention._options

    def without(*args):
        options, local = real(*args)
        kept = {name: getattr(options, name) for name in ("scale", "softcap", "sinks", "dropout")}
        return Options(**{**kept, option: None}), local

    monkeypatch.setattr(attention, "_options", without)
    with pytest.raises(UnsupportedModel, match=arch):
        self_test(model)


def test_the_self_test_sees_a_leak_between_sequences(make, monkeypatch):
    one_sequence = SimpleNamespace(of=lambda lengths, *rest: Pack.of([int(sum(lengths))], *rest))
    monkeypatch.setattr(forward, "Pack", one_sequence)
    with pytest.raises(UnsupportedModel, match="qwen3 is wrong"):
        self_test(make("qwen3"))


@pytest.mark.parametrize(
    ("arch", "sizes"),
    [
        ("cohere", {"logit_scale": 0.3}),
        ("granite", {"logits_scaling": 4.0}),
        ("gemma2", {"final_logit_softcapping": 3.0}),
        ("gpt2", {}),
        ("opt", {}),
    ],
)
def test_the_head_is_the_models_own(arch, sizes, make):
    gone = {
        "gpt2": ("kv_heads", "head_dim"),
        "opt": ("kv_heads", "head_dim"),
        "cohere": ("head_dim",),
        "granite": ("head_dim",),
    }.get(arch, ())
    model = make_without(make, arch, gone, sizes)
    ids = tokens([9])
    with torch.no_grad():
        logits = head_logits(model, forward_hidden(model, ids, [9]))
        model.set_attn_implementation("eager")
        own = model(input_ids=ids[None], use_cache=False).logits[0]
        bare = model.lm_head(model.base_model(input_ids=ids[None], use_cache=False)[0])[0]
    assert torch.allclose(logits, own, atol=1e-5)
    if sizes:  # not what the bare matrix gives
        assert not torch.allclose(logits, bare, atol=1e-3)


def make_without(make, arch, gone, sizes):
    from quintain.models import build_model

    base = {"vocab": 256, "hidden": 48, "layers": 2, "heads": 4, "kv_heads": 2, "head_dim": 12, "ffn": 64}
    return build_model(arch, seed=0, **{k: v for k, v in base.items() if k not in gone}, **sizes)


@pytest.mark.filterwarnings("ignore:.*is deprecated and will be removed in v6:FutureWarning")  # peft calls it
def test_lora_adapters_pass_and_count(make, truth):
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(make("llama", sharp=True), LoraConfig(r=4, target_modules=["q_proj", "v_proj"]))
    before = truth(model, tokens([9]))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.add_(0.3)
    assert (truth(model, tokens([9])) - before).abs().max() > 1e-2
    assert packed_gaps(model.eval(), truth).max() <= 5e-5
    self_test(model)
    head_logits(model, forward_hidden(model, tokens([9]), [9])).sum().backward()
    trained = {name for name, p in model.named_parameters() if p.grad is not None}
    assert trained and all("lora_" in name for name in trained)


def test_activation_checkpointing_changes_nothing(make):
    model = make("llama").train()
    ids = tokens(LENGTHS)

    def gradients():
        out = head_logits(model, forward_hidden(model, ids, LENGTHS)).square().sum()
        return torch.autograd.grad(out, list(model.parameters()))

    plain = gradients()
    name = "activation_checkpointing" if hasattr(model, "activation_checkpointing_enable") else "gradient_checkpointing"
    getattr(model, f"{name}_enable")(**{f"{name}_kwargs": {"use_reentrant": False}})
    assert model.model.layers[0].gradient_checkpointing
    assert all(torch.equal(a, b) for a, b in zip(plain, gradients(), strict=True))


@pytest.mark.parametrize("lengths", [[3, 4], [5, 0, 3], [9], []])
def test_lengths_that_do_not_fit_are_refused(lengths, make):
    with pytest.raises(PackError, match="8 packed tokens"):
        forward_hidden(make("llama"), tokens([8]), lengths)


def test_a_sequence_above_the_limit_is_refused(make):
    model = make("llama", context=16)
    with pytest.raises(PackError, match="17 tokens is above the model's limit of 16"):
        forward_hidden(model, tokens([17]), [17])


@pytest.fixture
def mode():
    """How torch orders sums, which a test may set, is afterwards what it was."""
    with order.mode_kept():
        torch.use_deterministic_algorithms(True, warn_only=True)
        yield order._mode


class Look(torch.autograd.Function):
    """Notes the mode in its backward pass."""

    @staticmethod
    def forward(ctx, x, seen):
        ctx.seen = seen
        return x.view_as(x)

    @staticmethod
    def backward(ctx, *grads):
        ctx.seen.append(order._mode())
        return grads[0], None


STRICT, LOOSE = (True, False), (True, True)


@pytest.mark.parametrize("train", ["all", "factors"])
def test_gradients_of_attention_alone_are_strictly_in_order(train, make, monkeypatch, mode):
    model = make("qwen3")
    if train == "factors":  # neither query nor key of the first layer has a gradient
        model = add_lora(model, r=2, target_modules=["v_proj"])
    ids, seen, around = torch.arange(30) % 7, [], []
    real = attention.F.scaled_dot_product_attention
    monkeypatch.setattr(
        attention.F, "scaled_dot_product_attention", lambda *a, **more: Look.apply(real(*a, **more), seen)
    )

    def gradients():
        hidden = forward_hidden(model, ids, [12, 18], torch.cat([torch.arange(12), torch.arange(18)]))
        loss = Look.apply(torch.logsumexp(head_logits(model, hidden), -1), around).sum()
        return torch.autograd.grad(loss, [p for p in model.parameters() if p.requires_grad])

    plain = gradients()
    assert seen and set(seen) == {LOOSE}
    seen.clear()
    monkeypatch.setattr(order, "_may_reorder", lambda x: True)
    ordered = gradients()
    assert seen and set(seen) == {STRICT} and set(around) == {LOOSE} and mode() == LOOSE
    assert all(torch.equal(a, b) for a, b in zip(plain, ordered, strict=True))


def test_the_order_of_sums_is_what_it_was_after_a_backward_pass_that_failed(make, monkeypatch, mode):
    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, *grads):
            raise MemoryError

    real = attention.F.scaled_dot_product_attention
    monkeypatch.setattr(attention.F, "scaled_dot_product_attention", lambda *a, **more: Broken.apply(real(*a, **more)))
    monkeypatch.setattr(order, "_may_reorder", lambda x: True)
    loss = forward_hidden(make("qwen3"), torch.arange(9), [9]).sum()
    with pytest.raises(MemoryError), order.mode_kept():
        loss.backward()
    assert mode() == LOOSE


def test_only_a_gpu_that_was_asked_for_it_orders_sums(mode):
    assert not order._may_reorder(torch.zeros(1))
    card = SimpleNamespace(is_cuda=True)
    assert order._may_reorder(card)
    torch.use_deterministic_algorithms(False)
    assert not order._may_reorder(card)
