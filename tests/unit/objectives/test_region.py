"""Trust regions, sequence ratios and off-policy weights at their edges, and against forms written out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch

from quintain.algorithms import dppo, gmpo, gspo, minirl, preset, sapo
from quintain.objectives import (
    clip,
    fiber_ratio_guess,
    mask_divergence,
    mask_mismatch,
    mask_ratio,
    prefix_ratio,
    reject_mismatch,
    score,
    sequence_mean,
    sequence_ratio,
    share_budget_guess,
    soft_gate,
    token_mean,
    token_ratio,
    truncate_mismatch,
)
from quintain.objectives.region import binary_kl, binary_tv, topk_kl, topk_tv
from quintain.parts import PartError, chain
from quintain.types import Terms


def column(values: Any) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def terms(new: Any, rollout: Any, advantage: Any, **rest: Any) -> Terms:
    """Rows of one sequence each unless told, all in the mask; logprobs of probabilities."""
    n = len(new)
    given = {
        "mask": torch.ones(n, dtype=torch.bool),
        "sequence": torch.arange(n),
        "group": torch.zeros(n, dtype=torch.long),
    }
    return Terms(
        new=column(new).log().requires_grad_(),
        rollout=column(rollout).log(),
        advantage=column(advantage),
        **given | rest,
    )


def after(part: Any, x: Terms) -> Terms:
    return part.apply(x, part.init())[0]


def coefficient(part: Any, x: Terms) -> list[float]:
    return torch.autograd.grad(after(part, x).loss, x.new)[0].tolist()


def kept(x: Terms, **options: Any) -> list[float]:
    return after(mask_divergence(**options), x).weight.tolist()


def test_only_updates_that_lead_away_are_masked_and_a_token_at_the_threshold_stays() -> None:
    new, old = (0.75, 0.76, 0.25, 0.24, 0.75, 0.25), (0.5,) * 6
    x = terms(new, old, (1, 1, -1, -1, -1, 1))
    exact = abs(math.exp(math.log(0.75)) - math.exp(math.log(0.5)))
    assert kept(x, low=exact, high=exact) == [1, 0, 1, 0, 1, 1]
    assert kept(terms(new, old, (0,) * 6), low=0.0, high=0.0) == [1] * 6


def test_each_sign_of_the_advantage_has_its_threshold_and_each_divergence_its_usual_one() -> None:
    x = terms((0.7, 0.3), (0.5, 0.5), (1, -1))
    assert kept(x, low=0.1, high=0.3) == [1, 0] and kept(x, low=0.3, high=0.1) == [0, 1]
    assert kept(x) == [0, 0], "0.2 is above 0.15"
    y = terms((0.62, 0.66), (0.5, 0.5), (1, 1))
    assert [round(v, 3) for v in binary_kl(y.new.detach(), y.rollout).tolist()] == [0.03, 0.054]
    assert kept(y, divergence="binary_kl") == [1, 0] and kept(y) == [1, 0]


def test_the_region_has_an_anchor_of_its_own() -> None:
    x = terms((0.7,), (0.69,), (1,), old=column([0.5]).log())
    assert kept(x) == [1] and kept(x, anchor="old") == [0]
    recomputed = preset("dppo", "binary_tv_recompute")
    assert recomputed.needs == {"old"} and dppo().needs == frozenset()
    assert recomputed.expand()["objective"][0]["anchor"] == "rollout", "the weight stays that of the engine's policy"


def test_direction_is_judged_on_the_sampled_token_whatever_the_others_did() -> None:
    tops = {"new": column([[0.1, 0.6]] * 2).log(), "rollout": column([[0.6, 0.1]] * 2).log()}
    x = terms((0.1, 0.1), (0.6, 0.6), (1, -1), topk=tops)
    assert kept(x, divergence="topk_tv", k=2) == [1, 0]


@pytest.mark.parametrize("gap", [18.0, 300.0, -18.0, -300.0])
def test_far_tokens_keep_the_capped_coefficient_unless_they_are_masked(gap: float) -> None:
    new = column([-0.1, -0.1]) if gap > 0 else column([-0.1 + gap, -0.1 + gap])
    x = terms((0.5, 0.5), (0.5, 0.5), (1, -1))
    x = Terms(
        **{n: getattr(x, n) for n in ("advantage", "mask", "sequence", "group")},
        new=new.requires_grad_(),
        rollout=new.detach() - gap,
    )
    weight = min(math.exp(max(min(gap, 20.0), -20.0)), 20.0)
    want = [0.0, weight / 2] if gap > 0 else [-weight / 2, 0.0]
    assert coefficient(dppo().objective, x) == pytest.approx(want, abs=1e-300)


def test_a_coarser_distribution_is_never_further() -> None:
    rng = torch.Generator().manual_seed(0)
    mu, pi = (torch.softmax(3 * torch.randn(200, 12, generator=rng, dtype=torch.float64), -1).log() for _ in range(2))
    order = mu.argsort(-1, descending=True)
    mu, pi = mu.gather(1, order), pi.gather(1, order)
    for binary, top in ((binary_tv, topk_tv), (binary_kl, topk_kl)):
        rows = [binary(pi[:, 0], mu[:, 0]), *(top(pi[:, :k], mu[:, :k]) for k in (1, 3, 8, 12))]
        torch.testing.assert_close(rows[0], rows[1])
        for near, far in pairwise(rows):
            assert (near <= far + 1e-9).all()


def test_divergences_are_finite_where_a_probability_is_one_or_nothing() -> None:
    ends = column([0.0, -1e-17, -1e-9, -1.0, -300.0, -1e4])
    for dtype in (torch.float32, torch.float64):
        new, anchor = (x.to(dtype).reshape(-1) for x in torch.meshgrid(ends, ends, indexing="ij"))
        for found in (binary_tv(new, anchor), binary_kl(new, anchor)):
            assert torch.isfinite(found).all() and (found >= -1e-6).all()
        wide = torch.stack([new, torch.full_like(new, -math.inf)], -1)
        for found in (topk_tv(wide, wide.flip(0)), topk_kl(wide, wide.flip(0))):
            assert torch.isfinite(found).all()


def test_minirl_weighs_by_the_engine_and_masks_by_the_step() -> None:
    old = column([0.5, 0.5, 0.5]).log()
    x = terms((0.6, 0.7, 0.3), (0.4, 0.4, 0.4), (1, 1, 1), old=old)
    assert coefficient(minirl().objective, x) == pytest.approx([-1.5 / 3, 0, -0.75 / 3])
    assert minirl(replay=True).needs == {"old", "routes"} and minirl().needs == {"old"}


def sequences(advantage: Any = (1.0, 1.0, 1.0, -2.0, -2.0)) -> Terms:
    """Two sequences, of three and two tokens, interleaved."""
    return terms(
        (0.4, 0.3, 0.5, 0.2, 0.6),
        (0.5,) * 5,
        advantage,
        old=column((0.5, 0.2, 0.4, 0.3, 0.5)).log(),
        sequence=torch.tensor([0, 1, 0, 1, 0]),
    )


def test_a_sequence_shares_one_ratio() -> None:
    x = sequences((1.0, -2.0, 1.0, -2.0, 1.0))
    ratio = after(sequence_ratio("old"), x).log_ratio.exp().detach()
    first, second = (0.8 * 1.25 * 1.2) ** (1 / 3), 1.0
    torch.testing.assert_close(ratio, column([first, second, first, second, first]))
    want = [-first / 6, 2 / 4, -first / 6, 2 / 4, -first / 6]
    for gradient in ("sequence", "token"):
        assert coefficient(gspo(low=0.9, high=0.9, gradient=gradient).objective, x) == pytest.approx(want)
    assert coefficient(gspo().objective, x)[0] == 0, "1.06 is far outside of bounds that narrow"


def test_a_geometric_mean_of_bounded_ratios() -> None:
    x = sequences((1.0, -2.0, 1.0, -2.0, 1.0))
    # of the first sequence 0.8, 1.25 and 1.2 against 1 + 0.2 upwards; of the second 1.5 and 2/3 against 0.2 downwards
    gaps = ([math.log(0.8), 0.2, math.log(1.2)], [math.log(1.5), -0.2])
    loss = float(after(gmpo(bound=0.2).objective, x).loss.detach())
    assert loss == pytest.approx((-math.exp(sum(gaps[0]) / 3) + 2 * math.exp(sum(gaps[1]) / 2)) / 2)
    found = coefficient(gmpo(bound=0.2).objective, x)
    assert [round(v, 9) for v in found[2:4]] == [0, 0] and found[0] < 0 < found[1], "limited tokens have no gradient"


def test_a_prefix_counts_the_tokens_before_and_no_others() -> None:
    x = sequences()
    prefix = after(prefix_ratio("old"), x).log_ratio - after(token_ratio("old"), x).log_ratio
    torch.testing.assert_close(prefix.exp().detach(), column([1.0, 1.0, 0.8, 1.5, 0.8]))
    product = after(prefix_ratio("old", "product"), x).log_ratio.exp().detach()
    torch.testing.assert_close(product, column([0.8, 1.5, 1.0, 1.0, 1.2]))
    far = terms([1.0] * 3, [1.0] * 3, [1.0] * 3, old=column([-18.0] * 3), sequence=torch.zeros(3, dtype=torch.long))
    for dtype, last in ((torch.float64, 54.0), (torch.float32, 40.0)):
        y = replace(far, new=far.new.to(dtype), old=far.old.to(dtype))
        assert after(prefix_ratio("old", "product"), y).log_ratio.tolist() == [18.0, 36.0, last]


def test_the_soft_gate_fades_on_both_sides() -> None:
    x = terms((0.5, 0.5, 0.99, 0.001), (0.5, 0.5, 0.01, 0.9), (1, -1, 1, 1))
    near, other, up, down = coefficient(chain(token_ratio("rollout"), soft_gate(), token_mean()), x)
    assert (near, other) == pytest.approx((-0.25, 0.25)) and abs(up) < 1e-9 and abs(down) < 1e-3
    assert sapo().expand()["objective"][-1]["name"] == "sequence_mean"


def test_what_is_rejected_does_not_inflate_what_is_left() -> None:
    x = terms((0.5, 0.5), (0.5, 0.01), (1, 1), old=column([0.5, 0.5]).log())
    for weight in (mask_mismatch(), reject_mismatch(), reject_mismatch(by="k2", high=0.1, over="token")):
        assert coefficient(chain(token_ratio("old"), clip(), weight, token_mean()), x) == pytest.approx([-0.5, 0])
    capped = chain(token_ratio("old"), clip(), truncate_mismatch(3.0), token_mean())
    assert coefficient(capped, x) == pytest.approx([-0.5, -1.5])
    equal = chain(token_ratio("old"), clip(), truncate_mismatch(3.0, normalised=True), token_mean())
    assert coefficient(equal, x) == pytest.approx([-0.25, -0.75])


def test_of_new_needs_no_further_pass() -> None:
    part = truncate_mismatch(1.5, of="new")
    assert part.needs == frozenset() and truncate_mismatch().needs == {"old"}
    x = terms((0.5, 0.6), (0.5, 0.2), (1, 1))
    assert after(part, x).weight.tolist() == pytest.approx([1.0, 1.5])


def test_fiber_and_budget_are_the_policy_gradient_on_policy() -> None:
    x = terms((0.5, 0.2, 0.3), (0.5, 0.2, 0.3), (1, 1, 1), sequence=torch.tensor([0, 0, 0]))
    for part in ((fiber_ratio_guess("rollout"), clip(1.0, 9.0)), (token_ratio("rollout"), share_budget_guess())):
        assert coefficient(chain(*part, sequence_mean()), x) == pytest.approx([-1 / 3] * 3)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: mask_divergence("binary_tc"), "did you mean 'binary_tv'"),
        (lambda: mask_divergence(low=-0.1), r"low is -0.1.*>= 0"),
        (lambda: mask_divergence("topk_kl", anchor="old"), "divergence=binary_kl"),
        (lambda: mask_divergence("topk_kl", k=0), "k 0"),
        (lambda: mask_ratio(low=1.5), r"low is 1.5.*\[0, 1\]"),
        (lambda: score(floor=3.0, cap=2.0), "floor is 3.0"),
        (lambda: soft_gate(0.0), "positive is 0.0"),
        (lambda: sequence_ratio("rollouts"), "did you mean 'rollout'"),
        (lambda: sequence_ratio("old", "tokens"), "did you mean 'token'"),
        (lambda: sequence_ratio("old", "token", 0.4), "inf with gradient='token'"),
        (lambda: prefix_ratio("old", "max"), "there are: min, product"),
        (lambda: fiber_ratio_guess("old", base=-1.0), "base is -1.0"),
        (lambda: share_budget_guess(-0.1), "budget is -0.1"),
        (lambda: truncate_mismatch(0.0), "cap is 0.0"),
        (lambda: truncate_mismatch(over="mena"), "did you mean 'mean'"),
        (lambda: mask_mismatch(1.2, 2.0), "low is 1.2"),
        (lambda: reject_mismatch("k1"), "did you mean 'k3'"),
        (lambda: reject_mismatch("ratio", over="max"), "unknown `over`"),
        (lambda: reject_mismatch("k3", high=-1.0), "high >= 0"),
        (lambda: truncate_mismatch(of="ref"), "anchor of truncate_mismatch"),
    ],
)
def test_bad_options_are_refused_by_name(make: Any, said: str) -> None:
    with pytest.raises(PartError, match=said):
        make()
