"""Figures of how far engine and learner are apart, by numbers worked out by hand."""

from __future__ import annotations

import pytest
import torch

from quintain.learn.mismatch import SHORT, widest_sequence

LONG = 16


def sequences(count: int, gaps: dict[tuple[int, int], float]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """New and rollout logprobs of `count` sequences of `LONG` tokens that differ by `gaps` at (sequence, token)."""
    new = torch.linspace(-3.0, -0.1, count * LONG, dtype=torch.float64)
    rollout = new.clone()
    for (row, token), gap in gaps.items():
        rollout[row * LONG + token] -= gap
    return new, rollout, torch.arange(count).repeat_interleave(LONG)


def test_the_widest_sequence_is_found_among_healthy_ones():
    apart = {(2, token): 0.09 * (-1) ** token for token in range(LONG)}
    assert widest_sequence(*sequences(5, apart)) == pytest.approx(0.09)
    assert widest_sequence(*sequences(5, {})) == 0


def test_a_token_at_which_a_model_is_touchy_does_not_stand_for_its_sequence():
    touchy = widest_sequence(*sequences(3, {(1, 4): 0.01}))
    assert touchy == pytest.approx((0.1 / LONG) ** 2) and touchy < 0.01 / 100
    half = {(1, token): 0.01 for token in range(LONG // 2)}
    assert widest_sequence(*sequences(3, half)) == pytest.approx(0.01 / 4), "but half of its tokens do"


def test_a_short_sequence_counts_as_a_longer_one():
    new, rollout, at = torch.tensor([-1.0, -1.0]), torch.tensor([-1.0, -1.04]), torch.tensor([3, 9])
    assert widest_sequence(new, rollout, at) == pytest.approx((0.2 / SHORT) ** 2, rel=1e-5)


def test_sequences_in_any_order_and_in_parts_give_the_same():
    new, rollout, at = sequences(4, {(1, t): 0.04 for t in range(5)} | {(3, t): 0.02 for t in range(LONG)})
    whole = widest_sequence(new, rollout, at)
    parts = [widest_sequence(new[s], rollout[s], at[s]) for s in (slice(0, 2 * LONG), slice(2 * LONG, 4 * LONG))]
    order = torch.randperm(len(new), generator=torch.Generator().manual_seed(0))
    assert whole == pytest.approx(max(parts)) == pytest.approx(widest_sequence(new[order], rollout[order], at[order]))
