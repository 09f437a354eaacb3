"""Evidence against what engines draw: it grows where it should, and healthy draws never reach the limit."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from quintain.learn.canary import Reading
from quintain.learn.tilts import SUSPECTS, kept, suspect, tilts
from quintain.runtime.draws import DOUBT, ODDS, ROUNDS, Draws
from quintain.runtime.testimony import Questions
from quintain.types import Sampling

SAMPLINGS = [
    Sampling(),
    Sampling(temperature=0.6),
    Sampling(top_p=0.8),
    Sampling(top_k=5),
    Sampling(min_p=0.1),
    Sampling(temperature=1.4, top_p=0.7, top_k=12, min_p=0.02),
]


def reading(found: np.ndarray) -> Reading:
    none = np.zeros(0)
    return Reading(plain=none, heated=none, low=none, high=none, tilts=found)


def law(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """What is drawn from."""
    heated = torch.log_softmax(logits / sampling.temperature, -1)
    return heated.masked_fill(~kept(heated, sampling), -torch.inf).double().softmax(-1)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
@pytest.mark.parametrize("width", [3, 40, 300])
def test_the_mean_ratio_of_a_healthy_draw_is_at_most_one(sampling, width):
    logits = 3 * torch.randn(20, width, generator=torch.Generator().manual_seed(width))
    p = law(logits, sampling)
    every = torch.stack([tilts(logits, torch.full((20,), y), sampling) for y in range(width)], 1)
    mean = (p.unsqueeze(-1) * every.exp()).sum(1)
    assert mean.shape == (20, SUSPECTS) and (mean <= 1 + 1e-5).all() and (mean > 0.99).all()


def test_the_cut_of_a_sampling_leaves_what_it_says():
    heated = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()
    left = {
        Sampling(): 4,
        Sampling(top_p=0.8): 2,
        Sampling(top_p=0.81): 3,
        Sampling(top_k=1): 1,
        Sampling(min_p=0.2): 3,
        Sampling(top_k=3, top_p=0.9): 3,
    }
    for sampling, count in left.items():
        assert kept(heated.double(), sampling).sum() == count, sampling


@pytest.mark.parametrize("sampling", SAMPLINGS[:2], ids=str)
def test_healthy_draws_of_many_runs_are_never_refused(sampling):
    """100 engines of 500 syncs each, every draw of 64 tokens of another policy."""
    dice = torch.Generator().manual_seed(1)
    draws, most, rows, every = Draws(), 0.0, torch.arange(64)[:, None], torch.arange(30).repeat(64)
    for sync in range(500):
        logits = 2 * torch.randn(64, 30, generator=dice)
        p = law(logits, sampling)
        drawn = torch.multinomial(p.float(), 100, replacement=True, generator=dice)
        each = tilts(logits.repeat_interleave(30, 0), every, sampling).reshape(64, 30, -1)  # of all that can be drawn
        found = each[rows, drawn].sum(0).numpy()
        for e in range(100):
            assert draws.heard(str(e), [reading(found[e])], 64, sampling) == "", sync
            most = max(most, draws.odds(str(e)))
    assert most < np.log(ODDS) / 2, "far below"


def test_evidence_that_was_long_healthy_costs_a_later_fault_nothing():
    draws = Draws()
    for _ in range(1000):
        assert not draws.heard("a", [reading(np.full(SUSPECTS, -5.0))], 10, Sampling())
    found = np.full(SUSPECTS, -5.0)
    found[1] = 25.0
    cause = draws.heard("a", [reading(found)], 10, Sampling())
    assert "near temperature 0.7" in cause and "10010 tokens of 1001 draws" in cause
    assert draws.odds("b") == -np.inf, "each engine is heard alone"


def test_draws_that_tell_nothing_bring_no_doubt():
    draws = Draws()
    for _ in range(100):
        draws.heard("a", [reading(np.zeros(SUSPECTS))], 4, Sampling())
        assert not draws.doubts("a") and draws.doubts("a", first=True)
    assert draws.odds("a") == pytest.approx(np.log(100))


def test_greedy_runs_have_nothing_to_weigh():
    assert Draws().heard("a", [reading(np.full(SUSPECTS, 99.0))], 10, Sampling(temperature=0.0)) == ""


@pytest.mark.parametrize(("each", "rounds"), [(2.0, 9), (0.2, ROUNDS), (-9.0, 1)])
async def test_an_engine_in_doubt_is_asked_again_at_once_until_it_is_clear(each, rounds):
    draws, asked = Draws(), []
    first = np.full(SUSPECTS, np.log(DOUBT) + 0.1)
    assert not draws.heard("a", [reading(first)], 4, Sampling())

    async def ask(questions):
        asked.append(questions.turn)
        return {"a": {"said": [{"tokens": [1], "logprobs": [0.0]}]}}

    class Bench:
        async def read(self, paths, sampling, drawn):
            assert paths == [(5, 1)] and drawn == [1]
            return [reading(np.full(SUSPECTS, each))]

    questions = Questions(prompts=[(5,)], paths=[(5, 6)], turn=34)
    assert await draws.more("a", {"said": []}, questions, ask, Bench()) == "", "a newcomer is asked for scores alone"  # pyrefly: ignore
    cause = await draws.more("a", {"said": [{}]}, questions, ask, Bench())  # pyrefly: ignore
    assert asked == list(range(35, 35 + rounds)), "no two draws share noise"
    assert bool(cause) is (each == 2.0)


def test_suspects_are_named():
    words = [suspect(i, Sampling(temperature=0.5)) for i in range(SUSPECTS)]
    assert (
        len(set(words)) == SUSPECTS and words[0] == "near temperature 0.25" and words[-1] == "with a cut near top-k 20"
    )
