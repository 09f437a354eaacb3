"""Randomness is a function of its keys, spread evenly, and different where the key differs."""

from __future__ import annotations

import numpy as np
import pytest

from quintain.worlds.noise import Noise, Rng, TooFew, seed_of


def test_values_never_change() -> None:
    assert seed_of("KeyDoor", 3) == 17134168687301395749
    rng = Rng("demo", 1)
    assert [rng.below(100) for _ in range(6)] == [9, 27, 15, 67, 37, 24]
    assert [Noise(7).below(1000, i) for i in range(3)] == [224, 336, 719]


def test_noise_depends_on_seed_step_and_index_alone() -> None:
    noise = Noise(seed=5, step=3)
    assert noise.uniform(2) == Noise(5, 3).uniform(2)
    around = [noise.uniform(i) for i in range(50)] + [Noise(5, s).uniform() for s in range(4, 54)]
    around += [Noise(s, 3).uniform() for s in range(6, 56)]
    assert len(set(around)) == 150
    assert noise.after() == Noise(5, 4)


def test_noise_is_uniform_and_uncorrelated() -> None:
    grid = np.array([[Noise(s, t).uniform(i) for i in range(2)] for s in range(60) for t in range(60)])
    counts, _ = np.histogram(grid[:, 0], bins=10, range=(0, 1))
    assert ((counts - 360) ** 2 / 360).sum() < 30  # chi-squared, 9 degrees of freedom, p < 0.001
    steps = grid[:, 0].reshape(60, 60)
    for a, b in ((grid[:, 0], grid[:, 1]), (steps[:, 1:].ravel(), steps[:, :-1].ravel()), (steps[1:], steps[:-1])):
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.06
    assert grid.min() >= 0 and grid.max() < 1


def test_draws_are_fair() -> None:
    rng = Rng("fair")
    seen = np.zeros((4, 4))
    for _ in range(4000):
        items = [0, 1, 2, 3]
        rng.shuffle(items)
        seen[range(4), items] += 1
        chosen = rng.sample("abcd", 2)
        assert len(set(chosen)) == 2
    assert np.abs(seen / 4000 - 0.25).max() < 0.03
    with pytest.raises(TooFew, match="3 were to be drawn of 2"):
        rng.sample("ab", 3)
