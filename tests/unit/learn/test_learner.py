"""The learner: what must not change the loss does not, what must be refused is, what is bad is skipped whole."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from quintain.learn import gradients
from quintain.learn.forward import LearnerError
from quintain.learn.learner import TorchLearner
from quintain.learn.meter import BINS
from quintain.learn.optim import adamw, constant, linear, muon
from quintain.learn.pack import pack
from quintain.learn.plan import Plan
from quintain.learn.value import ValueHead
from quintain.models import forward_hidden, head_logits
from quintain.objectives import (
    ce,
    clip,
    fit_values,
    penalise_kl,
    policy_gradient,
    reward_entropy,
    scale_step,
    sequence_mean,
    token_mean,
    token_ratio,
)
from quintain.parts import PartError, Transform, chain, stateless
from quintain.ports import Learner
from quintain.registry import stamp


def grpo(mean=token_mean, *more):
    return chain(token_ratio("rollout"), clip(0.2, 0.28), *more, mean())


def run(learner, batch, objective):
    return asyncio.run(learner.update(batch, objective))


def score(learner, groups, *needs):
    return asyncio.run(learner.score(groups, frozenset(needs)))


def flat(model):
    return torch.cat([p.detach().reshape(-1).double() for p in model.parameters()])


def bits(learner):
    return [t.clone() for files in learner._kept().values() for t in files.values()] + [
        t.clone() for t in learner.optimizer.state().values()
    ]


def counted(measures):
    """An objective whose loss divides by a figure measured over the whole step, and whose state counts steps."""

    def measure(terms):
        return {"spread": (terms.new - terms.rollout).square().sum(), "rows": len(terms.new)}

    def apply(terms, state):
        measures.append((float(terms.totals["spread"]), float(terms.totals["rows"]), state))
        return replace(terms, loss=terms.new.sum() / terms.totals["spread"]), state + 1

    return Transform(lambda: 0, apply, frozenset(), measure, "mean")


OBJECTIVES = {
    "token mean": lambda: grpo(),
    "sequence mean": lambda: grpo(sequence_mean),
    "entropy": lambda: grpo(token_mean, reward_entropy(0.1)),
    "measured": lambda: counted([]),
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_micro_batches_change_neither_loss_nor_gradients(name, make_groups, make_model):
    batch = pack(make_groups(5, 3))
    found = []
    for tokens in (10_000, 40, 1):
        model = make_model().double()
        learner = TorchLearner(model, adamw(1e-2), plan=Plan(micro_tokens=tokens, clip_norm=0.5))
        figures = run(learner, batch, OBJECTIVES[name]())
        found.append((figures, flat(model)))
    (whole, weights), *others = found
    assert whole["grad_norm"] > 0 and not torch.equal(weights, flat(make_model()))
    for figures, other in others:
        for key in whole.keys() - {k for k in whole if k.startswith("seconds")}:
            assert figures[key] == pytest.approx(whole[key], rel=1e-6), key
        torch.testing.assert_close(other, weights, rtol=1e-6, atol=1e-7)


def test_measures_are_sums_over_the_whole_step_and_state_advances_once(make_groups, make_model):
    seen = []
    learner = TorchLearner(make_model().double(), adamw(1e-3), plan=Plan(micro_tokens=40))
    batch = pack(make_groups())
    run(learner, batch, counted(seen))
    assert len(seen) > 2 and len({s[:2] for s in seen}) == 1 and {s[2] for s in seen} == {0}
    assert seen[0][1] == batch.totals["tokens"] and learner.state == 1


def test_minibatches_and_epochs_are_optimizer_steps(make_groups, make_model):
    learner = TorchLearner(make_model(), adamw(1e-3), plan=Plan(minibatches=2, epochs=3))
    batch = pack(make_groups(4))
    figures = run(learner, batch, grpo())
    assert (figures["updates"], learner.updates, learner.step) == (6, 6, 1)
    assert figures["tokens"] == 3 * batch.totals["tokens"] and figures["groups"] == 12


def test_idle_trajectories_do_not_change_the_update(make_groups, make_model):
    groups = make_groups(4, 3)
    idle = replace(groups[0], trajectories=tuple(t.with_value("advantage", 0.0) for t in groups[0].trajectories))
    found = []
    for skip in (False, True):
        model = make_model().double()
        learner = TorchLearner(model, adamw(1e-2), plan=Plan(minibatches=2))
        found.append((run(learner, pack([idle, *groups[1:]], skip_idle=skip), grpo()), flat(model)))
    assert found[1][0]["tokens"] < found[0][0]["tokens"]
    torch.testing.assert_close(found[0][1], found[1][1], rtol=1e-6, atol=1e-9)


def test_each_gradient_is_compared_with_the_one_before(make_groups, make_model, monkeypatch):
    """With a rate of nearly nothing equal batches have equal gradients, and the opposite batch the opposite one."""
    model, objective = make_model().double(), chain(policy_gradient(), token_mean())
    learner, groups = TorchLearner(model, adamw(1e-12)), make_groups()
    signed = [
        pack([replace(g, trajectories=tuple(scaled(t, sign) for t in g.trajectories)) for g in groups])
        for sign in (1.0, -1.0)
    ]
    assert "grad_cosine" not in run(learner, signed[0], objective), "the first has none before it"
    assert run(learner, signed[0], objective)["grad_cosine"] == pytest.approx(1.0)
    assert run(learner, signed[1], objective)["grad_cosine"] == pytest.approx(-1.0)
    kept = learner.gradients
    monkeypatch.setattr(gradients, "LOOKED_AT", 50)
    seen = kept.remembered()
    kept.remember(seen)
    assert kept.cosine() is None, "what was kept of other coordinates is not compared"
    assert 50 <= len(kept.remembered()) <= 101 < len(seen), "of a large model a part is looked at"
    kept.clear()
    assert kept.cosine() is None, "nothing has no direction"


def scaled(trajectory, factor):
    rows = tuple(tuple(factor * v for v in row) for row in trajectory.streams["advantage"])
    return trajectory.with_stream("advantage", rows)


def test_the_gradient_norm_is_clipped_before_the_step(make_groups, make_model):
    norms = []
    for limit in (0.0, 1e-3):
        learner = TorchLearner(make_model(), adamw(1e-3), plan=Plan(clip_norm=limit))
        step = learner.optimizer.step
        learner.optimizer.step = lambda factor, inner=step, mine=learner: (
            norms.append(mine.gradients.norm()),
            inner(factor),
        )
        norms.append(run(learner, pack(make_groups()), grpo())["grad_norm"])
    applied, told, clipped, told_too = norms
    assert applied == pytest.approx(told) and told_too == pytest.approx(told) and told > 1e-3
    assert clipped == pytest.approx(1e-3, rel=1e-3)


def test_the_learning_rate_is_a_function_of_the_step(make_groups, make_model):
    learner = TorchLearner(make_model(), muon(1e-3, schedule=linear(4, warmup=2)), plan=Plan(minibatches=2))
    rates, moved = [], []
    for _ in range(5):
        before = flat(learner.model)
        rates.append(run(learner, pack(make_groups()), grpo())["lr"])
        moved.append(float((flat(learner.model) - before).norm()))
    assert rates == pytest.approx([5e-4, 1e-3, 1e-3, 5e-4, 0.0])
    assert moved[4] == 0 < moved[3] < moved[2] and moved[0] < moved[1]


def poisoned(kind, batch):
    if kind == "reward":
        streams = {**batch.streams, "reward": batch.streams["reward"].copy()}
        streams["reward"][batch.streams["ticket"] == 11] = math.nan
        return replace(batch, streams=streams), grpo()
    if kind == "logprob":
        logprobs = batch.logprobs.copy()
        logprobs[np.flatnonzero(batch.mask)[0]] = -math.inf
        return replace(batch, logprobs=logprobs), grpo()
    if kind == "loss":
        return batch, chain(grpo(), stateless(lambda t: replace(t, loss=t.loss + math.inf)))  # finite gradients
    return batch, chain(grpo(), stateless(lambda t: replace(t, loss=(t.loss - t.loss.detach()).abs().sqrt())))


@pytest.mark.parametrize("kind", ["reward", "logprob", "loss", "gradient"])
def test_what_is_not_finite_is_skipped_whole_and_quarantined(kind, make_groups, make_model, caplog):
    learner = TorchLearner(make_model(), muon(1e-3))
    good = pack(make_groups())
    run(learner, good, grpo())
    before, state = bits(learner), learner.updates
    figures = run(learner, *poisoned(kind, good))
    assert (figures["skipped"], figures["updates"], learner.updates) == (1, 0, state)
    assert all(torch.equal(a, b) for a, b in zip(before, bits(learner), strict=True))
    (entry,) = learner.quarantined
    assert entry["step"] == 1 and entry["tickets"] == {"reward": [11], "logprob": [10]}.get(kind, [10, 11, 12, 13])
    assert "skipped" in caplog.text
    assert all(math.isfinite(v) for v in figures.values())
    after = run(learner, good, grpo())
    assert after["updates"] == 1 and after["grad_norm"] > 0


def test_part_state_waits_when_a_step_is_skipped(make_groups, make_model):
    learner = TorchLearner(make_model(), adamw(1e-3))
    objective, batch = counted([]), pack(make_groups())
    run(learner, batch, objective)
    bad = replace(batch, logprobs=np.full_like(batch.logprobs, math.nan))
    run(learner, bad, objective)
    assert learner.state == 1
    run(learner, batch, objective)
    assert learner.state == 2


def test_mismatch_is_engine_against_learner_before_the_first_step(make_groups, make_model):
    learner = TorchLearner(make_model(), adamw(0.1), plan=Plan(minibatches=2, epochs=2, micro_tokens=50))
    scored = score(learner, make_groups(), "old")
    batch = pack(scored)
    shift = np.where(np.arange(len(batch)) % 2, 0.25, -0.5)
    moved = replace(batch, logprobs=(batch.streams["old"] - shift).astype(np.float32))
    figures = run(learner, moved, grpo())
    assert figures["mismatch_max"] == pytest.approx(0.5, abs=1e-5)
    assert 0.25 < figures["mismatch_mean"] < 0.5
    low, high = (math.expm1(x) - x for x in (0.25, -0.5))
    assert low < figures["mismatch_kl"] < high
    assert run(learner, batch, chain(policy_gradient(), token_mean()))["mismatch_max"] > 0.5, (
        "the steps moved the policy"
    )


def test_scores_are_full_forward_logprobs_and_values_of_sampled_tokens(make_groups, make_model):
    head = ValueHead(16)
    torch.nn.init.normal_(head.weight, generator=torch.Generator().manual_seed(0))
    learner = TorchLearner(make_model(), adamw(1e-2), value=head, plan=Plan(micro_tokens=64))
    groups = make_groups(3, 2, heat=0.7)
    done = score(learner, groups, "old", "values", "entropy")
    for before, after in zip(groups, done, strict=True):
        for t, scored in zip(before.trajectories, after.trajectories, strict=True):
            ids = torch.tensor([i for n in t.nodes for i in n.tokens])
            with torch.no_grad():
                hidden = forward_hidden(learner.model, ids, [len(ids)])
                logp = torch.log_softmax(head_logits(learner.model, hidden) / 0.7, -1)
                told = {"old": logp[torch.arange(len(ids) - 1), ids[1:]], "value": head(hidden)[:-1]}
            mask = np.array([m for n in t.nodes for m in n.mask])
            for name, wanted in told.items():
                row = np.array([v for r in scored.streams[name] for v in r])
                assert not row[~mask].any()
                np.testing.assert_allclose(row[mask], wanted.numpy()[mask[1:]], atol=1e-5)
    assert score(learner, groups, "entropy") == groups


def test_the_reference_stays_what_it_was(make_groups, make_model):
    learner = TorchLearner(make_model(), adamw(1e-2), reference=True)
    groups = make_groups()
    first = score(learner, groups, "old", "ref")
    run(learner, pack(first), grpo(token_mean, penalise_kl(0.1)))
    then = score(learner, groups, "old", "ref")

    def column(found, name):
        return [t.streams[name] for g in found for t in g.trajectories]

    assert column(first, "ref") == column(first, "old") == column(then, "ref")
    assert column(then, "old") != column(then, "ref")


def test_values_learn_their_returns(make_groups, make_model):
    learner = TorchLearner(make_model(), adamw(1e-3), value=ValueHead(16, lr=0.03), plan=Plan(clip_norm=0))
    objective = chain(token_ratio("rollout"), clip(), fit_values(clip=math.inf), token_mean())
    groups = tuple(
        replace(g, trajectories=tuple(t.with_value("return", 2.0) for t in g.trajectories)) for g in make_groups()
    )
    losses = [run(learner, pack(score(learner, groups, "values")), objective)["value_loss"] for _ in range(60)]
    assert losses[0] == pytest.approx(2.0) and losses[-1] < 0.2
    policy = TorchLearner(make_model(), adamw(1e-3), value=ValueHead(16, detach=True))
    for _ in range(2):  # the head starts at 0, so the first step could not reach the policy anyway
        run(policy, pack(score(policy, groups, "values")), chain(fit_values(), token_mean()))
    assert torch.equal(flat(policy.model), flat(make_model())), "a detached critic leaves the policy alone"
    assert bool(policy.value.weight.any())


def test_reward_makes_a_token_likelier(make_groups, make_model):
    learner = TorchLearner(make_model(), muon(1e-2))
    liked = 7
    groups = []
    for g in make_groups(4, 4):
        rows = [
            tuple(tuple(float(m) * (1.0 if i == liked else -0.05) for i, m in zip(n.tokens, n.mask)) for n in t.nodes)
            for t in g.trajectories
        ]
        credited = (t.with_stream("advantage", r) for t, r in zip(g.trajectories, rows, strict=True))
        groups.append(replace(g, trajectories=tuple(credited)))
    batch = pack(groups)
    rows = batch.mask & (batch.tokens == liked)

    def likelihood():
        scored = pack(score(learner, tuple(groups), "old"))
        return scored.streams["old"][rows].mean()

    start = likelihood()
    for _ in range(10):
        run(learner, batch, chain(policy_gradient(), token_mean()))
    assert rows.any() and likelihood() > start + 1.0


def test_a_step_without_a_trained_token_changes_nothing(make_model):
    learner = TorchLearner(make_model(), muon(1e-3))
    before = flat(learner.model)
    figures = run(learner, pack([]), grpo())
    assert figures["updates"] == figures["skipped"] == figures["tokens"] == 0 and learner.step == 1
    assert torch.equal(before, flat(learner.model)) and score(learner, (), "old") == ()


def test_what_cannot_be_supplied_is_refused_by_name(make_groups, make_model):
    learner = TorchLearner(make_model(), adamw(1e-3))
    for need, fix in (
        ("ref", "reference=True"),
        ("values", "value head"),
        ("tags", "supplies entropy, hidden, old"),
    ):
        with pytest.raises(LearnerError, match=fix):
            learner.check(frozenset({need}))
    with pytest.raises(LearnerError, match="no stream 'old'"):
        run(learner, pack(make_groups()), chain(token_ratio("old"), clip(), token_mean()))
    with pytest.raises(LearnerError, match="mean part"):
        run(learner, pack(make_groups()), chain(policy_gradient()))
    with pytest.raises(LearnerError, match="does not depend"):
        run(learner, pack(make_groups()), stateless(lambda t: replace(t, loss=t.new.detach().sum())))
    with pytest.raises(LearnerError, match="no trainable"):
        TorchLearner(make_model().requires_grad_(False), adamw(1e-3))


@pytest.mark.parametrize("figure, told", [(lambda t: t.new, r"of the shape \[\d+\]"), (lambda t: "word", "as 'word'")])
def test_a_metric_that_is_no_number_is_named(make_groups, make_model, figure, told):
    noted = stateless(lambda t: replace(t, metrics={"mine": figure(t)}))
    with pytest.raises(LearnerError, match=f"the metric 'mine' {told}; it should be one number"):
        run(TorchLearner(make_model(), adamw(1e-3)), pack(make_groups()), chain(policy_gradient(), noted, token_mean()))


def test_a_state_that_no_checkpoint_can_keep_is_told_after_the_first_step(make_groups, make_model):
    keeps = Transform(lambda: None, lambda t, state: (t, t.new.detach().mean()))
    stamp(keeps, {"kind": "objective", "name": "my_mean"})
    learner = TorchLearner(make_model(), adamw(1e-3))
    with pytest.raises(PartError, match="the objective 'my_mean': its state is kept in checkpoints, .* torch.Tensor"):
        run(learner, pack(make_groups()), chain(policy_gradient(), keeps, token_mean()))


def test_the_learner_matches_the_port(make_model):
    learner = TorchLearner(make_model(), adamw(1e-3, schedule=constant()))
    assert isinstance(learner, Learner)
    learner.close()


def test_large_vocabularies_are_read_in_chunks(make_groups, make_model, monkeypatch):
    batch = pack(make_groups())
    found = []
    for cells in (1 << 22, 64):
        monkeypatch.setattr("quintain.learn.heads.CELLS", cells)
        model = make_model().double()
        run(TorchLearner(model, adamw(1e-2)), batch, grpo(token_mean, reward_entropy(0.1), ce()))
        found.append(flat(model))
    torch.testing.assert_close(*found, rtol=1e-9, atol=1e-12)


def test_ratios_are_counted_before_and_behind_the_region(make_groups, make_model):
    learner = TorchLearner(make_model(), adamw(3e-2), plan=Plan(epochs=4))
    figures = run(learner, pack(make_groups()), chain(token_ratio("rollout"), clip(0.01, 0.01), token_mean()))
    shares, moved = ({b: figures[f"{n}_{b}"] for b in BINS} for n in ("ratio", "moved"))
    assert sum(shares.values()) == pytest.approx(1.0)
    assert all(moved[b] <= shares[b] + 1e-12 for b in BINS) and sum(moved.values()) < 1
    free = TorchLearner(make_model(), adamw(3e-2), plan=Plan(epochs=4))
    loose = run(free, pack(make_groups()), chain(policy_gradient(), token_mean()))
    assert sum(loose[f"moved_{b}"] for b in BINS) == pytest.approx(1.0)


def test_a_step_is_shortened_by_the_learning_rate_alone(make_groups, make_model):
    def trained(*more):
        learner = TorchLearner(make_model(), adamw(1e-2), plan=Plan(clip_norm=0))
        before = flat(learner.model)
        figures = run(learner, pack(make_groups()), chain(policy_gradient(), *more, token_mean()))
        return flat(learner.model) - before, figures

    whole, _ = trained()
    short, figures = trained(scale_step(rule="linear"))
    assert 0 < figures["step_scale"] < 1
    torch.testing.assert_close(short, figures["step_scale"] * whole, rtol=1e-3, atol=1e-7)
