"""Chunked logprobs: values, gradients and memory against the plain softmax."""

from __future__ import annotations

import pytest
import torch

from quintain.learn.heads import token_logprobs


def case(rows=13, width=6, vocab=11, dtype=torch.float64, soft=False):
    g = torch.Generator().manual_seed(3)
    weight = torch.randn(vocab, width, generator=g, dtype=dtype).requires_grad_()
    hidden = torch.randn(rows, width, generator=g, dtype=dtype).requires_grad_()
    tokens = torch.randint(0, vocab, (rows,), generator=g)
    heat = torch.rand(rows, generator=g).to(dtype) + 0.5

    def head(h):
        logits = h @ weight.T
        return 2 * torch.tanh(logits / 2) if soft else logits

    return head, hidden, weight, tokens, heat


@pytest.mark.parametrize("soft", [False, True], ids=["linear", "soft-capped"])
@pytest.mark.parametrize("warm", [False, True], ids=["t1", "temperatures"])
@pytest.mark.parametrize("through", ["logprob", "entropy", "both"])
def test_chunks_give_the_values_and_gradients_of_the_whole(soft, warm, through):
    head, hidden, weight, tokens, heat = case(soft=soft)
    found = []
    for cells in (10_000, 22):
        logprob, entropy, _ = token_logprobs(
            head, hidden, tokens, temperature=heat if warm else None, weights=[weight], cells=cells
        )
        pieces = {"logprob": logprob.square(), "entropy": entropy, "both": logprob.exp() * 3 + entropy.square()}
        grads = torch.autograd.grad(pieces[through].sum(), [hidden, weight])
        found.append((logprob.detach(), entropy.detach(), *grads))
    for whole, chunked in zip(*found, strict=True):
        torch.testing.assert_close(chunked, whole, rtol=1e-12, atol=1e-12)


def test_the_numbers_are_log_softmax_and_entropy():
    head, hidden, weight, tokens, heat = case()
    logprob, entropy, _ = token_logprobs(head, hidden, tokens, temperature=heat, weights=[weight], cells=33)
    exact = torch.distributions.Categorical(logits=head(hidden).detach() / heat[:, None])
    torch.testing.assert_close(logprob, exact.log_prob(tokens))
    torch.testing.assert_close(entropy, exact.entropy())


def test_chunks_hold_few_logits_at_once():
    head, hidden, weight, tokens, _ = case(rows=40)
    seen = []

    def counting(h):
        logits = head(h)
        seen.append(logits.numel())
        return logits

    token_logprobs(counting, hidden, tokens, weights=[weight], cells=44)[0].sum().backward()
    assert max(seen) <= 44 and sum(seen) >= 2 * hidden.shape[0] * 11, "every logit twice, few at a time"
    assert weight.grad is not None and hidden.grad is not None


def test_frozen_weights_get_no_gradient():
    head, hidden, weight, tokens, _ = case()
    weight.requires_grad_(False)
    token_logprobs(head, hidden, tokens, weights=[weight], cells=22)[0].sum().backward()
    assert hidden.grad is not None and weight.grad is None


def test_no_rows_give_no_numbers():
    head, hidden, _, tokens, _ = case()
    logprob, entropy, _ = token_logprobs(head, hidden[:0], tokens[:0])
    assert logprob.shape == entropy.shape == (0,)


@pytest.mark.parametrize("cells", [10_000, 22], ids=["whole", "chunks"])
def test_further_ids_are_gathered_from_the_same_softmax_and_carry_no_gradient(cells):
    head, hidden, weight, tokens, heat = case()
    ids = torch.randint(0, 11, (13, 4), generator=torch.Generator().manual_seed(8))
    plain = token_logprobs(head, hidden, tokens, temperature=heat, weights=[weight], cells=cells)
    found = token_logprobs(head, hidden, tokens, temperature=heat, weights=[weight], cells=cells, further=ids)
    exact = torch.log_softmax(head(hidden).detach() / heat[:, None], -1).gather(1, ids)
    torch.testing.assert_close(found.further, exact)
    assert plain.further.shape == (13, 0) and not found.further.requires_grad
    for one, other in zip(plain[:2], found[:2], strict=True):
        want = torch.autograd.grad(one.sum(), [hidden, weight], retain_graph=True)
        got = torch.autograd.grad(other.sum(), [hidden, weight], retain_graph=True)
        assert all(torch.equal(a, b) for a, b in zip(want, got, strict=True))
    assert token_logprobs(head, hidden[:0], tokens[:0], further=ids[:0]).further.shape == (0, 4)
