"""Silent faults of what a step trains on: each is named before the update, in the step in which it happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from quintain.learn.pack import pack
from quintain.runtime.audit import BatchRefused
from quintain.runtime.proof import SyncRefused
from quintain.types import Group, Kind, Node, Sampling, Span, Trajectory

WARM = Sampling(temperature=0.7)
Groups = tuple[Group, ...]


def nodes(groups: Groups, change: Callable[[Node], Node]) -> Groups:
    def one(t: Trajectory) -> Trajectory:
        changed = replace(t, nodes=tuple(change(n) for n in t.nodes), streams={})
        return changed.with_value("advantage", 1.0)

    return tuple(replace(g, trajectories=tuple(one(t) for t in g.trajectories)) for g in groups)


def sampled(groups: Groups, change: Callable[[Node], Node]) -> Groups:
    return nodes(groups, lambda n: change(n) if n.kind is Kind.sampled else n)


def lost_bos(n: Node) -> Node:
    if n.parent is not None:
        return n
    return replace(n, tokens=n.tokens[1:], mask=n.mask[1:], logprobs=n.logprobs[1:])


def other_ids(n: Node) -> Node:
    """The same words by another id."""
    return replace(n, tokens=tuple(30 if t == 31 else t for t in n.tokens)) if n.parent is None else n


def rows_of_turns(groups: Groups) -> Groups:
    """Every episode of the first group once more for each of its turns, as rows that share what came before."""
    first = groups[0]
    more = []
    for t in first.trajectories:
        for turn in range(1, 4):
            cut = t.nodes[: 1 + 2 * turn]
            streams = {k: v[: len(cut)] for k, v in t.streams.items()}
            more.append(replace(t, id=f"{t.id}.{turn}", nodes=cut, streams=streams))
    return (replace(first, trajectories=tuple(more)), *groups[1:])


def one_turn(groups: Groups) -> Groups:
    """Ids of the second turn are others than were sampled."""
    return sampled(groups, lambda n: replace(n, tokens=tuple((t + 3) % 30 for t in n.tokens)) if n.turn == 1 else n)


def shift_logprobs(groups: Groups) -> Groups:
    """Within a turn every logprob is that of the token after it."""
    return sampled(groups, lambda n: replace(n, logprobs=(*n.logprobs[1:], n.logprobs[-1])))


def future(n: Node) -> Node:
    return replace(n, spans=tuple(replace(s, version=s.version + 5) for s in n.spans))


def pictures(n: Node) -> Node:
    return replace(n, blobs=("abc",)) if n.parent is None else n


RECORDS: dict[str, tuple[Callable[[Groups], Groups], str]] = {
    "lost BOS": (
        lambda g: nodes(g, lost_bos),
        r"lost BOS: the first 1 tokens that the renderer writes \(\(2,\)\) are missing",
    ),
    "re-tokenised prompt": (
        lambda g: nodes(g, other_ids),
        "re-tokenised text: .* the same text as the renderer's, with other ids",
    ),
    "edited turn": (one_turn, "from turn 1 of trajectory .* re-tokenised or edited after sampling"),
    "N rows for N turns": (
        rows_of_turns,
        "duplicated rows: episode 0 of ticket .* there as 3 trajectories that share sampled turns",
    ),
    "a group twice": (lambda g: (*g, g[0]), "is in the step 2 times"),
    "a version from the future": (
        lambda g: sampled(g, future),
        "stamped version 7, and the newest that was published is 2",
    ),
    "lost pictures": (lambda g: nodes(g, pictures), "pictures were shown on the trained paths and the batch holds 0"),
}


@pytest.mark.parametrize("name", RECORDS)
async def test_a_fault_in_what_was_recorded_is_named(name, stand_of):
    fault, phrase = RECORDS[name]
    stand = stand_of()
    await stand.begin()
    groups = await stand.play()
    batch = pack(fault(groups))
    with pytest.raises(BatchRefused, match=f"the batch of version 2 is refused: .*{phrase}"):
        await stand.look(fault(groups), replace(batch, images=()))
    assert stand.facts[0]["what"] == "batch"


async def test_template_drift_is_named(stand_of):
    stand = stand_of()
    await stand.begin()
    groups = await stand.play()
    stand.renderer.between = (4,)
    with pytest.raises(BatchRefused, match="template drift: .*'1 1.*' was recorded, '4 1.*' is written now"):
        for _ in range(4):  # a turn is drawn for each row of each step; the opening is always looked at
            await stand.look(groups)
            groups = await stand.play()
    stand.renderer.between, stand.renderer.prefix = (1,), (2, 7)
    with pytest.raises(BatchRefused, match="template drift"):
        await stand.look(groups)


@pytest.mark.parametrize(
    ("by", "words"), [(1, r"shifted by \+1: it marks the tokens after"), (-1, "shifted by -1: .* before")]
)
async def test_a_shifted_mask_is_named(by, words, stand_of):
    stand = stand_of()
    await stand.begin()
    groups = await stand.play()
    batch = pack(groups)
    weights = {k: np.roll(v, by) for k, v in batch.weights.items()}
    with pytest.raises(BatchRefused, match=f"the mask is {words} the sampled ones"):
        await stand.look(groups, replace(batch, mask=np.roll(batch.mask, by), weights=weights))


async def test_rows_that_are_trained_twice_or_not_at_all_are_named(stand_of):
    stand = stand_of()
    await stand.begin()
    groups = await stand.play()
    batch = pack(groups)
    everything = np.ones(len(batch), bool)
    weights = {**batch.weights, "rl": np.ones(len(batch), np.float32)}
    with pytest.raises(BatchRefused, match="duplicated rows or a wrong mask: trajectory .* trained tokens for 9"):
        await stand.look(groups, replace(batch, mask=everything, weights=weights))
    half = batch.mask & (batch.position % 2 == 0)
    with pytest.raises(BatchRefused, match="mask: trajectory .* trained tokens of 9 that it sampled"):
        await stand.look(groups, replace(batch, mask=half))
    with pytest.raises(BatchRefused, match="the batch holds other logprobs"):
        await stand.look(groups, replace(batch, logprobs=batch.logprobs * 1.01))


async def test_logprobs_of_the_next_token_are_named(stand_of):
    stand = stand_of()
    await stand.begin()

    def shift(t: Trajectory) -> Trajectory:
        path = [x for n in t.nodes for x in n.tokens]
        readings = told[tuple(path)]
        out, at = [], 0
        for n in t.nodes:
            n_ = len(n.tokens)
            moved = tuple(float(x) for x in readings[at + 1 : at + 1 + n_])
            out.append(replace(n, logprobs=moved) if n.kind is Kind.sampled else n)
            at += n_
        return replace(t, nodes=tuple(out))

    groups = await stand.play()
    paths = [tuple(x for n in t.nodes for x in n.tokens) for g in groups for t in g.trajectories]
    told = {p: r.heated for p, r in zip(paths, await stand.proof.bench.read(paths, Sampling()), strict=True)}
    groups = tuple(replace(g, trajectories=tuple(shift(t) for t in g.trajectories)) for g in groups)
    with pytest.raises(BatchRefused, match=r"recorded logprobs are shifted by \+1 token"):
        await stand.look(groups)


@pytest.mark.parametrize(
    ("sampling", "told", "phrase"),
    [
        (WARM, Sampling(), "not at the sampling temperature 0.7: they are at temperature 1"),
        (Sampling(top_p=0.8), Sampling(), r"over the whole vocabulary although the sampling cuts it \(top_p=0.8\)"),
        (Sampling(), Sampling(top_p=0.8), "renormalised over a cut"),
    ],
)
async def test_recorded_logprobs_of_another_distribution_are_named(sampling, told, phrase, stand_of):
    """Sampled as `told` cuts, so that every token can be drawn, and reported under it where the run says `sampling`."""
    stand = stand_of(sampling=sampling)
    await stand.begin()
    groups = await stand.play()
    if told.top_p < 1:
        stand.sampling = replace(told, max_tokens=3)
        groups = sampled(await stand.play(), lambda n: replace(n, sampling=stand.cast.sampling))
    else:
        paths = [tuple(x for n in t.nodes for x in n.tokens) for g in groups for t in g.trajectories]
        found = iter(await stand.proof.bench.read(paths, told))
        groups = tuple(
            replace(g, trajectories=tuple(rewrite(t, next(found).heated) for t in g.trajectories)) for g in groups
        )
    with pytest.raises(BatchRefused, match=phrase):
        await stand.look(groups)


def rewrite(t: Trajectory, logprobs: np.ndarray) -> Trajectory:
    out, at = [], 0
    for n in t.nodes:
        own = tuple(float(x) for x in logprobs[at : at + len(n.tokens)])
        out.append(replace(n, logprobs=own) if n.kind is Kind.sampled else n)
        at += len(n.tokens)
    return replace(t, nodes=tuple(out))


async def test_tokens_of_another_policy_under_a_right_number_are_named(stand_of):
    stand = stand_of()
    await stand.begin()
    groups = await stand.play()
    await stand.step()
    stamped = sampled(groups, lambda n: replace(n, spans=(Span(start=0, stop=len(n.tokens), version=3),)))
    stamped = tuple(replace(g, version=3) for g in stamped)
    with pytest.raises(BatchRefused, match="not sampled from these tokens by the version that they are stamped with"):
        await stand.look(stamped)


async def aged(stand, steps=2):
    """Groups that were played some steps ago."""
    await stand.begin()
    groups = await stand.play()
    for _ in range(steps):
        await stand.step()
    return groups


@pytest.mark.parametrize("sampling", [Sampling(), WARM, Sampling(top_p=0.8), Sampling(temperature=0.0)], ids=str)
async def test_older_tokens_may_be_as_far_off_as_the_policy_has_moved(sampling, stand_of):
    stand = stand_of(sampling=sampling, lag=2)
    groups = await aged(stand)
    await stand.look(groups)
    row = stand.proof.row()
    assert row["audit_gap_max"] == 0.0 and "audit_gap_mean" not in row
    assert row["audit_stale_mean"] > 1e-3 if sampling.temperature else "audit_stale_mean" not in row
    assert sorted(stand.proof.audit.moved) == [1, 2, 3] and all(0 < x < 1 for x in stand.proof.audit.moved.values())


def moved_little(stand):
    """As after steps of a usual size; those of these tests are large."""
    stand.proof.audit.moved = dict.fromkeys(stand.proof.audit.moved, 1e-3)


AGED = {
    "another policy": (
        lambda t, plain: replace(
            t, nodes=tuple(replace(n, logprobs=tuple(x - 1 for x in n.logprobs)) for n in t.nodes)
        ),
        Sampling(),
        "tokens of older versions were not sampled by the versions that they are stamped with .* by what the canaries moved",
    ),
    "another temperature": (
        lambda t, plain: rewrite(t, plain),
        Sampling(temperature=0.5),
        "not at the sampling temperature 0.5: they are at temperature 1 .* tokens of older versions differ by",
    ),
}


@pytest.mark.parametrize("name", AGED)
async def test_older_tokens_that_are_further_off_are_refused(name, stand_of):
    fault, sampling, phrase = AGED[name]
    stand = stand_of(sampling=sampling, lag=2)
    groups = await aged(stand)
    paths = [tuple(x for n in t.nodes for x in n.tokens) for g in groups for t in g.trajectories]
    found = iter(await stand.proof.bench.read(paths, Sampling()))
    wrong = tuple(replace(g, trajectories=tuple(fault(t, next(found).plain) for t in g.trajectories)) for g in groups)
    moved_little(stand)
    with pytest.raises(BatchRefused, match=phrase):
        await stand.look(wrong)


async def test_older_tokens_are_not_judged_where_nobody_saw_the_policy_move(stand_of):
    stand = stand_of(lag=2)
    groups = await aged(stand)
    moved_little(stand)
    del stand.proof.audit.moved[2]  # the run was taken up again there
    wrong = sampled(groups, lambda n: replace(n, logprobs=tuple(x - 1 for x in n.logprobs)))
    await stand.look(wrong)
    assert not stand.facts


async def test_rows_that_nobody_looked_at_are_held_to_the_limit_after_the_update(stand_of):
    stand = stand_of(count=1)
    await stand.begin()
    groups = await stand.play(groups=6)
    lucky = stand.proof.plan.seed, stand.proof.audit.version
    chosen = np.random.default_rng(list(lucky)).permutation(6)[0]
    wrong = sampled(groups, lambda n: replace(n, logprobs=tuple(x - 0.5 for x in n.logprobs)))
    groups = tuple(g if i == chosen else w for i, (g, w) in enumerate(zip(groups, wrong, strict=True)))
    batch = await stand.look(groups)
    metrics = await stand.learner.update(batch, stand.objective)
    with pytest.raises(
        BatchRefused, match="some of its rows differ from the learner's by 0.5 over a sequence and 0.5 over a token"
    ):
        await stand.proof.audit.trained(metrics)


async def test_one_token_that_rounding_moves_far_is_no_fault_of_an_engine(stand_of):
    stand = stand_of(count=1)
    await stand.begin()
    groups = await stand.play(groups=6)
    batch = await stand.look(groups)
    touchy = int(np.flatnonzero(batch.mask)[-1])
    said = batch.logprobs.copy()
    said[touchy] -= 0.0012  # seen of a healthy engine: more than ten times what rounding explains on the audited row
    metrics = await stand.learner.update(replace(batch, logprobs=said), stand.objective)
    assert metrics["mismatch_max"] == pytest.approx(0.0012, rel=0.05)
    await stand.proof.audit.trained(metrics)
    assert not stand.facts
    with pytest.raises(BatchRefused, match="over a sequence and 0.05 over a token, and rounding explains"):
        await stand.proof.audit.trained({**metrics, "mismatch_max": 0.05})  # but no rounding moves one as far


async def test_nothing_is_looked_at_when_canaries_are_off(stand_of):
    stand = stand_of(count=0)
    await stand.begin()
    groups = one_turn(await stand.play())
    await stand.look(groups)
    assert stand.facts == [] and stand.proof.sync is None


async def test_a_limit_of_ones_own_is_taken_as_it_is(stand_of):
    stand = stand_of()
    stand.proof.bench.fixed = 1e-12
    with pytest.raises((SyncRefused, BatchRefused), match="rounding explains 1e-12"):
        await stand.begin(steps=3)
