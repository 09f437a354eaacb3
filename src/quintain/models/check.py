"""The load-time self-test: slot attention against the model's own plain forward, on a few random sequences."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from quintain.models.attention import NAME, Pack, UnsupportedModel
from quintain.models.forward import causal_lm, context_limit, forward_hidden, head_logits, run_pack, text_config, width
from quintain.models.store import SlotStore

LENGTHS = (23, 9, 16, 5)
LOCAL = 6  # windows and chunks are narrowed to this for the test, so that they bind
# pieces in which each sequence is fed: prefill, single tokens, several tokens at once
CUTS = ((7, 1, 1, 5, 1, 8), (3, 1, 1, 4), (1, 6, 1, 1, 7), (5,))
SLOTS = (2, 0, 4, 1)
FLOOR = {torch.float64: 1e-9, torch.float32: 2e-5}  # deviations below this are rounding, in any model
FLOOR_LOW = 1e-3  # the same for 16-bit weights
NOISE = 4.0  # how many times the rounding noise of the model is allowed; deviations of the right models are about one
_lock = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """Largest |difference of log-probabilities| over all tokens and ids, per way of running, and what was allowed.

    `sensitivity` is the largest difference that another prefix makes: the size of what a leak would look like.
    """

    packed: float
    extended: float
    sensitivity: float
    tolerance: float


def self_test(model: nn.Module) -> SelfTest:
    """Compare packed, decoded and extended forwards with plain eager ones, and refuse a model that differs.

    Run it once when a model is made or loaded, before threads share it: for a moment it changes the model's attention
    setting. It takes milliseconds for a tiny model and about ten short forwards for any other.

    Returns:
        The deviations.

    Raises:
        UnsupportedModel: the model keeps state beside keys and values, calls attention an unexpected number of times,
            hands unknown options to it, or its log-probabilities deviate; the message names the model type and the
            deviation.
    """
    config = text_config(model)
    _refuse_statically(model, config)
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        with _lock, torch.inference_mode(), _narrowed(config):
            result = _compare(model, config)
    except UnsupportedModel:
        raise
    except Exception as error:
        raise UnsupportedModel(
            f"{config.model_type} fails under slot attention: {type(error).__name__}: {error}"
        ) from error
    finally:
        for module, training in modes:
            module.training = training
    for way in ("packed", "extended"):
        deviation = getattr(result, way)
        if not deviation <= result.tolerance:
            raise UnsupportedModel(
                f"{config.model_type} is wrong under slot attention: {way} log-probabilities differ by {deviation:.2g} "
                f"from a plain forward, and at most {result.tolerance:.2g} is allowed; it is not supported"
            )
    return result


def _refuse_statically(model: nn.Module, config: Any) -> None:
    kind = config.model_type
    if getattr(config, "is_encoder_decoder", False):
        raise UnsupportedModel(f"{kind} is an encoder-decoder; only decoders are supported")
    if hasattr(model, "peft_config") and any(c.is_prompt_learning for c in model.peft_config.values()):  # pyrefly: ignore
        raise UnsupportedModel("peft prompt learning adds tokens of its own; use LoRA, or another adapter of weights")
    if config._attn_implementation != NAME:
        raise UnsupportedModel(f"{kind} was not made with slot attention; use build_model or load_model")
    from transformers import DynamicCache

    for number, layer in enumerate(DynamicCache(config=config).layers):
        if hasattr(layer, "update_conv_state") or hasattr(layer, "update_recurrent_state"):
            raise UnsupportedModel(
                f"{kind} keeps a recurrent state in layer {number} ({type(layer).__name__}); "
                "only attention is supported"
            )


@contextmanager
def _narrowed(config: Any) -> Iterator[None]:
    """Windows and chunks so narrow that they bind on short sequences; masks read them from the config at each call."""
    kept = {}
    for name in ("sliding_window", "attention_chunk_size"):
        value = getattr(config, name, None)
        if isinstance(value, int) and value > LOCAL:
            kept[name] = value
            setattr(config, name, LOCAL)
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(config, name, value)


@contextmanager
def _plain(model: nn.Module, implementation: str) -> Iterator[None]:
    whole = causal_lm(model)
    whole.set_attn_implementation(implementation)  # pyrefly: ignore
    if text_config(model)._attn_implementation != implementation:
        raise UnsupportedModel(f"{text_config(model).model_type} has no plain attention to compare with")
    try:
        yield
    finally:
        whole.set_attn_implementation(NAME)  # pyrefly: ignore


@contextmanager
def _shaken(model: nn.Module, dtype: torch.dtype) -> Iterator[None]:
    """Embeddings moved by one rounding step of their precision: what this changes is the model's own noise."""
    whole: Any = causal_lm(model)
    step = torch.finfo(dtype).eps

    def shake(module: nn.Module, given: Any, out: torch.Tensor) -> torch.Tensor:
        up = torch.arange(out.numel(), device=out.device).reshape(out.shape) * 7 % 11 < 5
        return torch.where(up, out * (1 + step), out * (1 - step))

    hook = whole.get_input_embeddings().register_forward_hook(shake)
    try:
        yield
    finally:
        hook.remove()


def _logp(logits: torch.Tensor) -> torch.Tensor:
    return torch.log_softmax(logits.double(), dim=-1)


def _compare(model: nn.Module, config: Any) -> SelfTest:
    device = next(model.parameters()).device
    dtype = next(p.dtype for p in model.parameters() if p.is_floating_point())
    limit = context_limit(model)
    lengths = [min(n, limit) for n in LENGTHS]
    dice = np.random.Generator(np.random.PCG64(7))
    tokens = [torch.from_numpy(dice.integers(0, config.vocab_size, n)).to(device) for n in lengths]
    other = torch.cat([torch.from_numpy(dice.integers(0, config.vocab_size, 3)).to(device), tokens[0][3:]])
    with _plain(model, "eager"):
        plain = [_alone(model, t) for t in tokens]
        moved = _far(_alone(model, other)[4:], plain[0][4:])
        with _shaken(model, dtype):
            noise = max(_far(_alone(model, t), p) for t, p in zip(tokens, plain, strict=True))
    packed = forward_hidden(model, torch.cat(tokens), lengths)
    rows = _logp(head_logits(model, packed)).split(lengths)
    some = np.arange(0, sum(lengths) + lengths[0], 2)  # of a pack that holds the first sequence twice
    shared = forward_hidden(model, torch.cat([*tokens, tokens[0]]), [*lengths, lengths[0]], rows=some)
    wanted = torch.cat([*plain, plain[0]])[torch.from_numpy(some).to(device)]
    return SelfTest(
        packed=max(
            _far(_logp(head_logits(model, shared)), wanted), *(_far(a, b) for a, b in zip(rows, plain, strict=True))
        ),
        extended=max(_far(a, b) for a, b in zip(_in_pieces(model, tokens, limit), plain, strict=True)),
        sensitivity=moved,
        tolerance=max(FLOOR.get(dtype, FLOOR_LOW), NOISE * noise),
    )


def _far(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference; infinite when there is a nan. Ids of probability 0 on both sides agree."""
    gap = torch.where(a == b, 0.0, (a - b).abs())
    return float(torch.nan_to_num(gap, nan=torch.inf).max())


def _alone(model: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    return _logp(causal_lm(model)(input_ids=tokens[None], use_cache=False).logits[0])


def _in_pieces(model: nn.Module, tokens: list[torch.Tensor], limit: int) -> list[torch.Tensor]:
    """Log-probabilities of every row when sequences are fed piece by piece into slots."""
    device, wide = tokens[0].device, width(model)
    store = SlotStore(device, max(SLOTS) + 1, limit)
    layers = text_config(model).num_hidden_layers
    rows: list[list[torch.Tensor]] = [[] for _ in tokens]
    fed = [0] * len(tokens)
    for turn in range(max(map(len, CUTS))):
        due = [i for i, cut in enumerate(CUTS) if turn < len(cut) and fed[i] < len(tokens[i])]
        sizes = np.array([min(CUTS[i][turn], len(tokens[i]) - fed[i]) for i in due])
        starts = np.array([fed[i] for i in due])
        pack, positions = Pack.into(store, sizes, starts, np.array([SLOTS[i] for i in due]), wide)
        ids = torch.cat([tokens[i][fed[i] : fed[i] + n] for i, n in zip(due, sizes, strict=True)])
        hidden = run_pack(model, ids, torch.from_numpy(positions).to(device), pack)
        if len(pack.called) != layers:
            raise UnsupportedModel(
                f"{text_config(model).model_type} called attention {len(pack.called)} times for {layers} layers; "
                "it keeps state elsewhere, or does not use transformers' attention interface"
            )
        for i, part in zip(due, _logp(head_logits(model, hidden)).split(sizes.tolist()), strict=True):
            rows[i].append(part)
            fed[i] += len(part)
    return [torch.cat(parts) for parts in rows]
