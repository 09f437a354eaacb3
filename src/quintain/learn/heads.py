"""Logprobs and entropies of tokens from hidden states, in chunks: exact gradients without holding all logits.

Dims: M trained tokens, D hidden width, V vocabulary, K further ids of a token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

Head = Callable[[torch.Tensor], torch.Tensor]  # hidden [M, D] -> logits [M, V]
CELLS = 1 << 22  # logits that may be held at once; more are made chunk by chunk, twice


class Predicted(NamedTuple):
    """What the head says of the tokens: their `logprob` [M], the `entropy` [M], and logprobs of `further` ids [M, K]."""

    logprob: torch.Tensor
    entropy: torch.Tensor
    further: torch.Tensor


def token_logprobs(
    head: Head,
    hidden: torch.Tensor,
    tokens: torch.Tensor,
    *,
    temperature: torch.Tensor | None = None,
    weights: Sequence[torch.Tensor] = (),
    cells: int | None = None,
    further: torch.Tensor | None = None,
) -> Predicted:
    """log softmax(logits / temperature)[token] and the entropy of that softmax, both [M] float32 or wider.

    With p = softmax(z) and z the scaled logits [M, V]: logprob_i = z_i[token_i] - logsumexp(z_i) and
    entropy_i = logsumexp(z_i) - sum_v p_iv z_iv. When M x V exceeds `cells`, logits live one chunk at a time: forward
    keeps logsumexp and entropy [M] only, backward makes the chunk's logits again and writes d loss / d z in place.

    Args:
        head: the model's output layer.
        hidden: states that predict the tokens [M, D].
        tokens: ids [M].
        temperature: of the sampling that drew each token [M], > 0; None is 1 everywhere.
        weights: the parameters that `head` uses and that are to get gradients.
        cells: logits held at once; None is `CELLS`.
        further: more ids [M, K] of which the logprob is wanted, each >= 0; None is K = 0.

    Returns:
        Logprobs [M] and entropies [M], both differentiable, and the logprobs of the further ids [M, K], constants.
    """
    ids = tokens.new_zeros(len(tokens), 0) if further is None else further
    with torch.no_grad():
        width = head(hidden[:1]).shape[-1] if len(hidden) else 0
    if not len(hidden):
        empty = hidden.sum(-1)
        return Predicted(empty, empty, empty.unsqueeze(-1).expand(0, ids.shape[1]))
    rows = max(1, (cells or CELLS) // width)
    if len(hidden) <= rows:
        return _stats(head, hidden, (tokens, ids), temperature)
    chunked: Any = _Chunked.apply(head, rows, hidden, (tokens, ids), temperature, *weights)
    return Predicted(*chunked)


def _scaled(head: Head, hidden: torch.Tensor, temperature: torch.Tensor | None) -> torch.Tensor:
    logits = head(hidden)
    logits = logits if logits.dtype == torch.float64 else logits.float()
    return logits if temperature is None else logits / temperature.unsqueeze(-1)


def _stats(
    head: Head, hidden: torch.Tensor, ids: tuple[torch.Tensor, torch.Tensor], temperature: torch.Tensor | None
) -> Predicted:
    tokens, further = ids
    logp = torch.log_softmax(_scaled(head, hidden, temperature), -1)
    entropy = -(logp.exp() * logp).sum(-1)
    return Predicted(logp.gather(-1, tokens.unsqueeze(-1)).squeeze(-1), entropy, logp.detach().gather(-1, further))


class _Chunked(torch.autograd.Function):
    """Chunked logprobs: what backward needs of the logits is made a second time, a chunk at a time."""

    @staticmethod
    def forward(
        ctx: Any,
        head: Head,
        rows: int,
        hidden: torch.Tensor,
        ids: tuple[torch.Tensor, torch.Tensor],
        temperature: torch.Tensor | None,
        *weights: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        tokens, further = ids
        kind = torch.promote_types(hidden.dtype, torch.float32)
        logprob, entropy, norm = (torch.empty(len(hidden), dtype=kind, device=hidden.device) for _ in range(3))
        others = torch.empty(further.shape, dtype=kind, device=hidden.device)
        for at in range(0, len(hidden), rows):
            part = slice(at, at + rows)
            z = _scaled(head, hidden[part], None if temperature is None else temperature[part])
            norm[part] = lse = torch.logsumexp(z, -1)
            logprob[part] = z.gather(-1, tokens[part].unsqueeze(-1)).squeeze(-1) - lse
            z.sub_(lse.unsqueeze(-1))
            others[part] = z.gather(-1, further[part])
            entropy[part] = -(z.exp().mul_(z)).sum(-1)
        ctx.head, ctx.rows, ctx.weights = head, rows, weights
        ctx.autocast = torch.is_autocast_enabled(hidden.device.type), torch.get_autocast_dtype(hidden.device.type)
        ctx.save_for_backward(hidden, tokens, temperature, norm, entropy)
        ctx.mark_non_differentiable(others)
        return logprob, entropy, others

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        hidden, tokens, temperature, norm, entropy = ctx.saved_tensors
        weights = [w for w in ctx.weights if w.requires_grad]
        summed = [torch.zeros_like(w) for w in weights]
        grad_hidden = torch.empty_like(hidden)
        enabled, dtype = ctx.autocast
        for at in range(0, len(hidden), ctx.rows):
            part = slice(at, at + ctx.rows)
            piece = hidden[part].detach().requires_grad_()
            heat = None if temperature is None else temperature[part]
            with torch.enable_grad(), torch.autocast(hidden.device.type, dtype, enabled):
                z = _scaled(ctx.head, piece, heat)
            slope = _slope(z.detach(), tokens[part], norm[part], entropy[part], (grads[0][part], grads[1][part]))
            got = torch.autograd.grad(z, [piece, *weights], slope)
            grad_hidden[part] = got[0]
            for total, more in zip(summed, got[1:], strict=True):
                total.add_(more)
        back = iter(summed)
        return None, None, grad_hidden, None, None, *(next(back) if w.requires_grad else None for w in ctx.weights)


def _slope(
    z: torch.Tensor,
    tokens: torch.Tensor,
    norm: torch.Tensor,
    entropy: torch.Tensor,
    grads: tuple[torch.Tensor, torch.Tensor],
) -> torch.Tensor:
    """d loss / d z [m, V] = g (onehot - p) - h p (log p + entropy), for gradients g of logprob and h of entropy [m]."""
    g, h = (x.unsqueeze(-1) for x in grads)
    logp = z - norm.unsqueeze(-1)
    p = logp.exp()
    slope = logp.add_(entropy.unsqueeze(-1)).mul_(-h).sub_(g).mul_(p)
    return slope.scatter_add_(-1, tokens.unsqueeze(-1), g.to(slope.dtype))
