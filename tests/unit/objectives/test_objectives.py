"""What single objective parts do at their edges, and how they refuse bad input."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from quintain.objectives import (
    ce,
    clip,
    constant_length,
    dual_clip,
    fit_values,
    penalise_kl,
    policy_gradient,
    reward_entropy,
    scale_step,
    sequence_mean,
    sequence_sum,
    token_mean,
    token_ratio,
    truncate_mismatch,
)
from quintain.parts import PartError, chain, stateless
from quintain.registry import build, provenance
from quintain.types import Terms


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def terms(new: Any, advantage: Any, **rest: Any) -> Terms:
    """Rows of one sequence each, all in the mask, sampled at logprob 0 unless told."""
    n = len(new)
    given = {
        "rollout": torch.zeros(n, dtype=torch.float64),
        "mask": torch.ones(n, dtype=torch.bool),
        "sequence": torch.arange(n),
        "group": torch.zeros(n, dtype=torch.long),
    }
    return Terms(new=column(*new).requires_grad_(), advantage=column(*advantage), **{**given, **rest})


def coefficient(part: Any, x: Terms) -> list[float]:
    loss = part.apply(x, part.init())[0].loss
    return torch.autograd.grad(loss, x.new)[0].tolist()


def log(*ratios: float) -> list[float]:
    return [math.log(r) for r in ratios]


def test_bounds_belong_to_the_sign_of_the_advantage() -> None:
    part = chain(token_ratio("rollout"), clip(low=0.1, high=0.5), sequence_sum())
    ratios = (1.4, 1.6, 0.5, 0.95, 0.85, 3.0)
    got = coefficient(part, terms(log(*ratios), (1, 1, 1, -1, -1, -1)))
    assert got == pytest.approx([r * s / 6 for r, s in zip(ratios, (-1, 0, -1, 1, 0, 1), strict=True)])


def test_the_dual_clip_stops_what_ran_away() -> None:
    part = chain(token_ratio("rollout"), clip(), dual_clip(cap=2.0), sequence_sum())
    x = terms(log(1.9, 2.1, 2.1), (-1.0, -1.0, 1.0))
    assert coefficient(part, x) == pytest.approx([1.9 / 3, 0, 0])
    out = part.apply(x, part.init())[0]
    assert float(out.loss.detach()) == pytest.approx((1.9 + 2.0 - 1.2) / 3)
    assert float(out.metrics["dual_clipped"]) == pytest.approx(1 / 3)
    assert float(out.metrics["clipped"]) == pytest.approx(1 / 3)


def test_beyond_the_limit_the_ratio_is_constant() -> None:
    ratio = token_ratio("rollout", limit=20.0)
    x = ratio.apply(terms((300.0, -300.0, 19.0), (1, 1, 1)), None)[0]
    assert x.log_ratio.tolist() == [20.0, -20.0, 19.0]
    part = chain(ratio, clip(high=1e9), sequence_sum())
    got = coefficient(part, terms((300.0, 19.0), (1.0, 1.0)))
    assert got[0] == 0 and got[1] < 0


def test_the_anchor_is_the_one_that_was_named() -> None:
    x = terms(log(0.5), (1.0,), rollout=column(math.log(0.25)), old=column(math.log(0.4)))
    for anchor, ratio in (("rollout", 2.0), ("old", 1.25)):
        assert token_ratio(anchor).apply(x, None)[0].log_ratio.exp().item() == pytest.approx(ratio)


def test_an_off_policy_weight_scales_the_policy_term_and_no_penalty() -> None:
    x = terms((0.0, 0.0), (1.0, 1.0), old=column(*log(1.5, 4.0)), ref=column(-1.0, -1.0))
    weighted = chain(policy_gradient(), truncate_mismatch(cap=2.0), penalise_kl(coef=0.5, estimator="k1"), token_mean())
    assert coefficient(weighted, x) == pytest.approx([(-1.5 + 0.5) / 2, (-2.0 + 0.5) / 2])
    assert not truncate_mismatch().apply(replace(x, old=x.new), None)[0].weight.requires_grad
    with pytest.raises(PartError, match="weight part stands after a regulariser"):
        chain(policy_gradient(), penalise_kl(), truncate_mismatch())


def test_means_divide_by_the_step_and_not_by_the_piece() -> None:
    x = terms((0.0,) * 4, (1.0,) * 4, sequence=torch.tensor([5, 5, 5, 9]))
    step = {"tokens": 40.0, "sequences": 10.0}
    wants = {
        token_mean(): ([-0.25] * 4, [-1 / 40] * 4),
        sequence_sum(): ([-0.5] * 4, [-0.1] * 4),
        sequence_mean(): ([-1 / 6] * 3 + [-0.5], [-1 / 30] * 3 + [-0.1]),
        constant_length(20): ([-1 / 40] * 4, [-1 / 200] * 4),
    }
    for mean, (alone, in_step) in wants.items():
        part = chain(policy_gradient(), mean)
        assert coefficient(part, x) == pytest.approx(alone)
        assert coefficient(part, replace(x, totals=step)) == pytest.approx(in_step)
        idle = {**step, "all_tokens": 80.0, "all_sequences": 20.0}
        assert coefficient(part, replace(x, totals=idle)) == pytest.approx([c / 2 for c in in_step])


def test_the_step_shortens_alike_in_either_type_however_far_the_data_are() -> None:
    x = terms((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0), rollout=column(-201.0, -202.0, -5.0))
    for y in (x, replace(x, new=x.new.float(), rollout=x.rollout.float())):
        found = scale_step(rule="linear").apply(y, None)[0].metrics
        assert float(found["sample_share"]) == pytest.approx((1 + math.e) ** 2 / (3 * (1 + math.exp(2))))


def test_rl_and_imitation_mix_in_one_batch() -> None:
    weights = {"rl": column(1, 0, 1, 0), "ce": column(0, 1, 1, 0)}
    x = terms((-1.0, -2.0, -3.0, -4.0), (2.0, math.nan, 2.0, math.nan), weights=weights)
    part = chain(policy_gradient(), ce(coef=0.5), token_mean())
    assert coefficient(part, x) == pytest.approx([-0.5, -0.125, -0.625, 0])
    assert float(part.apply(x, part.init())[0].loss.detach()) == pytest.approx((2 + 1 + 6 + 1.5) / 4)
    only = chain(ce(), token_mean())
    assert coefficient(only, x) == pytest.approx([0, -0.25, -0.25, 0])


def test_kl_follows_its_own_weight_stream() -> None:
    x = terms((0.0, 0.0), (1.0, 1.0), ref=column(1.0, 1.0), weights={"rl": column(1, 1), "kl": column(0, 2)})
    assert coefficient(chain(penalise_kl(coef=1.0, estimator="k1"), token_mean()), x) == pytest.approx([0, 1.0])


@pytest.mark.parametrize("kind", ["k1", "k2", "k3"])
def test_kl_is_smallest_at_the_reference(kind: str) -> None:
    part = chain(penalise_kl(coef=1.0, estimator=kind, gradient="k2"), sequence_sum())
    assert coefficient(part, terms((0.5, 0.0, -0.5), (0, 0, 0), ref=column(0, 0, 0))) == pytest.approx(
        [0.5 / 3, 0, -0.5 / 3]
    )


def test_k3_pulls_back_however_far_the_policy_is() -> None:
    x = terms((0.0, 0.0, 0.0), (0, 0, 0), ref=column(-300.0, -25.0, 300.0), sequence=torch.zeros(3, dtype=torch.long))
    part = chain(penalise_kl(coef=1.0), token_mean())
    assert coefficient(part, x) == pytest.approx([1 / 3, -math.expm1(-25) / 3, -math.expm1(300) / 3])
    assert penalise_kl(coef=1.0).apply(x, None)[0].extra.tolist() == pytest.approx([299, 24, math.exp(300)])
    low = replace(x, new=x.new.detach().float().requires_grad_(), ref=x.ref.float(), rollout=x.rollout.float())
    assert coefficient(part, low) == pytest.approx([1 / 3, 1 / 3, -math.exp(20) / 3])
    extra = penalise_kl(coef=1.0).apply(low, None)[0].extra.tolist()
    assert extra == pytest.approx([299, 24, math.exp(20) * 281 - 301])  # the line from -20 on


def test_the_entropy_bonus_raises_entropy() -> None:
    x = terms((-1.0, -1.0), (0.0, 0.0), entropy=column(0.3, 0.6).requires_grad_())
    out = chain(reward_entropy(coef=0.1), token_mean()).apply(x, [None, None])[0]
    assert float(out.loss.detach()) == pytest.approx(-0.045)
    assert torch.autograd.grad(out.loss, x.entropy)[0].tolist() == pytest.approx([-0.05, -0.05])


def test_a_value_that_moved_far_enough_is_left_alone() -> None:
    values = {"old_value": column(0, 0, 0), "returns": column(1, 1, -1)}
    x = terms((0, 0, 0), (0, 0, 0), value=column(0.1, 0.5, 0.5).requires_grad_(), **values)
    out = chain(fit_values(coef=1.0, clip=0.2), sequence_sum()).apply(x, [None, None])[0]
    assert torch.autograd.grad(out.loss, x.value)[0].tolist() == pytest.approx([-0.3, 0, 0.5])


BAD = [
    (lambda: token_ratio("rolout"), "did you mean 'rollout'"),
    (lambda: token_ratio("old", limit=0), "limit is 0"),
    (lambda: clip(low=-0.1), "low is -0.1"),
    (lambda: clip(low=1.5), "low must lie in"),
    (lambda: clip(high=math.nan), "high is nan"),
    (lambda: dual_clip(cap=1.0), "cap is 1.0; it must be > 1"),
    (lambda: truncate_mismatch(cap=0.0), "cap is 0.0"),
    (lambda: penalise_kl(coef=-1), "coef is -1"),
    (lambda: penalise_kl(estimator="k4"), "unknown estimator of penalise_kl 'k4'"),
    (lambda: penalise_kl(to="reff"), "did you mean 'ref'"),
    (lambda: penalise_kl(gradient="k9"), "unknown gradient"),
    (lambda: fit_values(clip=-0.2), "clip is -0.2"),
    (lambda: ce(coef=-1), "coef is -1"),
    (lambda: constant_length(0), "length is 0 tokens"),
]


@pytest.mark.parametrize(("make", "sentence"), BAD, ids=[s for _, s in BAD])
def test_bad_options_are_refused_with_a_sentence(make: Any, sentence: str) -> None:
    with pytest.raises(PartError, match=sentence):
        make()


def test_a_surrogate_without_its_ratio_says_so() -> None:
    with pytest.raises(PartError, match="clip reads the column 'log_ratio'"):
        clip().apply(terms((0.0,), (1.0,)), None)


def test_an_estimator_that_is_written_down_is_the_one_that_is_made_again():
    part = build("objective", {"name": "penalise_kl", "estimator": "k2", "coef": 1.0})
    assert provenance(part) == {"kind": "objective", "name": "penalise_kl", "estimator": "k2", "coef": 1.0}


@pytest.mark.parametrize("mean", [token_mean(), sequence_mean(), sequence_sum(), constant_length(8)])
def test_a_mean_takes_rows_alone(mean: Any) -> None:
    x = terms(log(1.0, 1.0), (1.0, 1.0))
    summed = stateless(lambda terms: replace(terms, loss=(-terms.advantage * terms.new).sum()), place="surrogate")
    for part in (chain(summed, mean), chain(policy_gradient(), token_mean(), mean)):
        with pytest.raises(PartError, match=r"`loss` has the shape \[\] before the mean; it should be \[2\]"):
            part.apply(x, part.init())
    part = chain(stateless(lambda terms: replace(terms, loss=[0.0, 0.0]), place="surrogate"), mean)
    with pytest.raises(PartError, match=r"`loss` is \[0.0, 0.0\], a list; it should be a tensor"):
        part.apply(x, part.init())
    part = chain(stateless(lambda terms: terms.new, place="surrogate"), mean)
    with pytest.raises(PartError, match=r"gave tensor.*, a Tensor; it should give Terms"):
        part.apply(x, part.init())


def test_a_column_that_a_part_reads_and_does_not_need_is_named() -> None:
    def pull(x: Terms) -> Terms:
        return replace(x, loss=x.new - x.ref)  # pyrefly: ignore

    x = terms(log(1.0, 1.0), (1.0, 1.0))
    part = chain(stateless(pull, place="surrogate"), token_mean())
    with pytest.raises(
        PartError, match=r"reads ref, which these terms lack .*; say needs=\('ref',\) where the part is made"
    ):
        part.apply(x, part.init())
    with pytest.raises(TypeError, match="NoneType"):  # one that says so is asked for by the learner
        stated = chain(stateless(pull, needs=["ref"]))
        stated.apply(x, stated.init())
