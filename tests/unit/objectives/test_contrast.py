"""Losses inside a group against autograd of the equation itself; a KL under a controller; critics that are two."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from quintain.learn.value import ValueHead, soft_min, value_head
from quintain.objectives import (
    contrast_answers,
    fit_steps_guess,
    fit_values,
    guard_kl,
    hinge_kl,
    mask_curved,
    prefer_answers,
    token_mean,
)
from quintain.objectives.guard import KL, START, adjusted, guarded, limited
from quintain.objectives.preference import dpo, fit_advantage, imitate
from quintain.parts import PartError, chain
from quintain.types import Terms

LENGTHS = (3, 1, 2, 4, 2)
GROUPS = (0, 0, 0, 1, 2)
SIDES = (1.0, -1.0, 1.0, 1.0, -1.0)


def terms_of(seed: int = 0) -> tuple[Terms, list[torch.Tensor]]:
    """Five answers, of which groups 1 and 2 have one side only, and the rows of each."""
    dice = torch.Generator().manual_seed(seed)
    n = sum(LENGTHS)
    each = torch.tensor(LENGTHS)
    new = (-torch.rand(n, generator=dice, dtype=torch.float64)).requires_grad_()
    at = torch.arange(5).repeat_interleave(each)
    columns = {name: -torch.rand(n, generator=dice, dtype=torch.float64) for name in ("old", "ref", "rollout")}
    return Terms(
        new=new,
        **columns,
        advantage=torch.tensor(SIDES, dtype=torch.float64)[at],
        mask=torch.ones(n, dtype=torch.bool),
        sequence=at,
        group=torch.tensor(GROUPS)[at],
        turn=at,
        entropy=torch.full((n,), 0.5, dtype=torch.float64),
        reward=torch.tensor(SIDES, dtype=torch.float64)[at],
    ), [(at == i).nonzero()[:, 0] for i in range(5)]


def same(part, terms: Terms, want: torch.Tensor) -> None:
    loss = chain(part, token_mean()).apply(terms, chain(part, token_mean()).init())[0].loss
    (got,) = torch.autograd.grad(loss, [terms.new])
    (slope,) = torch.autograd.grad(want, [terms.new])
    assert float(loss.detach()) == pytest.approx(float(want.detach()), rel=1e-12)
    torch.testing.assert_close(got, slope, rtol=1e-12, atol=1e-15)


def test_preference_is_dpo_over_the_means_of_both_sides() -> None:
    terms, rows = terms_of()
    moved = [(terms.new - terms.ref)[r].sum() for r in rows]
    none = torch.zeros((), dtype=torch.float64)
    pair = dpo((moved[0] + moved[2]) / 2, moved[1], none, none, 0.7)
    told = torch.stack([imitate(terms.new[rows[i]].sum(), torch.tensor(LENGTHS[i])) for i in (0, 2)]).mean()
    same(prefer_answers(0.7, 2.0), terms, (pair + 2.0 * told) / 3)


def test_contrast_is_its_equation() -> None:
    terms, rows = terms_of()
    score = [terms.new[r].mean() for r in rows]
    weight = torch.softmax(torch.tensor([(1 - n / 8) / 0.5 for n in (3, 2)], dtype=torch.float64), 0)
    right = weight[0] * score[0] + weight[1] * score[2]
    same(contrast_answers(8, 2.0, 0.5), terms, -(right - 2.0 * (score[1] / 2.0).exp().log()) / 3)


def test_steps_are_fitted_to_their_advantages() -> None:
    terms, rows = terms_of()
    each = [fit_advantage((terms.new - terms.ref)[r].sum(), torch.tensor(SIDES[i]), 0.3) for i, r in enumerate(rows)]
    same(fit_steps_guess(0.3), terms, torch.stack(each).mean())


def test_the_hinge_pulls_beyond_its_bound_only() -> None:
    terms, _ = terms_of()
    away = float((terms.old - terms.new).detach().mean())
    inside, beyond = (hinge_kl(10.0, away + shift).apply(terms, None)[0] for shift in (1e-6, -0.1))
    assert inside.extra is not None and not inside.extra.detach().any()
    assert float(beyond.metrics["kl_hinge"]) == pytest.approx(1.0) and beyond.extra.detach().any()


@pytest.mark.parametrize(("form", "pulls"), [("released", False), ("coefficient", True)])
def test_the_guard_follows_its_controller(form: str, pulls: bool) -> None:
    part, own = guard_kl(base=0.0, form=form), dict(START)
    state = part.init()
    for step in range(4):
        terms, _ = terms_of(step)
        gap = (terms.new - terms.ref).detach()
        adjust, own = adjusted(own, sum(SIDES) / 5, (0.3, 0.01, 0.05))
        own["kl"] = KL * own["kl"] + (1 - KL) * float((torch.expm1(-gap) + gap).mean())
        out, state = part.apply(terms, state)
        want = guarded(own["kl"], 0.5, limited(0.0, adjust, 1.0), 0.1, 2.0)
        assert state == pytest.approx(own) and float(out.metrics["kl_guard"]) == pytest.approx(want)
        assert out.extra is not None and (out.extra.grad_fn is not None) is pulls
    far = dict(START) | {"kl": 5.0}
    assert float(part.apply(terms, far)[0].metrics["kl_guard"]) > 0


def test_a_curved_token_is_left_out_and_a_flat_one_is_not() -> None:
    logits = torch.tensor([[2.0, 0.0, -1.0], [0.1, 0.0, -0.1]], dtype=torch.float64)
    logp = torch.log_softmax(logits, -1)
    new = logp[torch.arange(2), torch.tensor([2, 1])]
    at = torch.arange(2)
    terms = Terms(
        new=new,
        rollout=new,
        advantage=torch.tensor([-1.0, 0.5], dtype=torch.float64),
        mask=torch.ones(2, dtype=torch.bool),
        sequence=at,
        group=at,
        hidden=torch.tensor([[3.0, 1.0], [0.5, 0.5]], dtype=torch.float64),
        topk={"new": logp},
    )
    assert mask_curved(0.05, 0.3, 0.05, k=3).apply(terms, None)[0].weight.tolist() == [0.0, 2.0]
    assert mask_curved(0.05, 0.3, 0.05, kept=False, k=3).apply(terms, None)[0].weight.tolist() == [0.0, 1.0]
    behind = replace(terms, advantage=torch.tensor([1e-3, 0.5], dtype=torch.float64))
    assert (mask_curved(0.05, 0.3, 0.05, k=3).apply(behind, None)[0].weight == 1).all()


def test_two_critics_differ_and_the_lesser_one_counts_more() -> None:
    head = value_head(4, frozenset({"values", "twin_values"}))
    assert head is not None and head.heads == 2 and value_head(4, frozenset({"old"})) is None
    hidden = torch.eye(4)
    each = hidden @ head.weight.T + head.bias
    assert (each[:, 0] != each[:, 1]).any()
    torch.testing.assert_close(head(hidden), soft_min(each, 0.3))
    pair = torch.tensor([[1.0, 3.0]])
    assert 1.0 < float(soft_min(pair, 0.3)) < 2.0 and math.isclose(float(soft_min(pair, 1e-3)), 1.0, rel_tol=1e-2)
    one = ValueHead(4)
    assert one.weight.shape == (4,) and not one(hidden).any()


def test_errors_beyond_the_bend_grow_linearly() -> None:
    terms, _ = terms_of()
    n = len(terms.new)
    value = torch.linspace(-3, 3, n, dtype=torch.float64).requires_grad_()
    zero = torch.zeros(n, dtype=torch.float64)
    terms = replace(terms, value=value, old_value=zero, returns=zero)
    extra = fit_values(1.0, math.inf, huber=0.5).apply(terms, None)[0].extra
    torch.testing.assert_close(extra, torch.nn.functional.huber_loss(value, zero, delta=0.5, reduction="none"))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: contrast_answers(0), "limit is 0"),
        (lambda: prefer_answers(0.0), "beta is 0.0"),
        (lambda: hinge_kl(-1.0), "coef is -1.0"),
        (lambda: mask_curved(0.0), "rate is 0.0"),
        (lambda: guard_kl(form="hard"), "unknown form"),
        (lambda: fit_steps_guess(0.0), "beta is 0.0"),
        (lambda: fit_values(huber=0.0), "huber 0.0"),
    ],
)
def test_values_out_of_range_are_refused(make, says: str) -> None:
    with pytest.raises(PartError, match=says):
        make()
