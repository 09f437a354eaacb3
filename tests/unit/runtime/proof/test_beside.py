"""Engines that answer while the next step is prepared: the verdict comes before the weights change."""

from __future__ import annotations

import asyncio
import copy
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from quintain.engines.torch import TorchEngine
from quintain.learn.pack import pack
from quintain.models.fingerprint import fingerprint
from quintain.runtime.audit import BatchRefused
from quintain.runtime.proof import Proof, SyncRefused
from quintain.runtime.testimony import KEY, answers_of
from quintain.types import Weights
from quintain.window import Drained

FAULTS = runpy.run_path(str(Path(__file__).with_name("test_sync.py")))
HOLDS, MUTE, Mute, broken, another = (FAULTS[n] for n in ("HOLDS", "MUTE", "Mute", "broken", "another"))


async def refused(stand: Any, phrase: str, kind: type[Exception] = SyncRefused) -> None:
    """The next step ends with the name of the fault and changes no weight."""
    held = fingerprint(stand.learner.model)
    with pytest.raises(kind, match=phrase):
        await stand.step()
    assert fingerprint(stand.learner.model) == held and stand.learner.updates == 2
    assert len(stand.facts) == (kind is not Drained)


@pytest.mark.parametrize("name", HOLDS)
async def test_a_fault_in_what_the_engine_holds_is_named_before_the_next_optimizer_step(name, stand_of):
    begin, phrase = HOLDS[name]
    stand = stand_of(beside=True)
    await stand.begin(steps=1)
    broken(stand, begin)
    await stand.step()
    await refused(stand, phrase)


@pytest.mark.parametrize("name", MUTE)
async def test_a_fault_that_only_scores_and_samples_show_is_named_before_the_next_optimizer_step(name, stand_of):
    begin, options, phrase = MUTE[name]
    stand = stand_of(beside=True, **options)
    await stand.begin(steps=1)
    broken(stand, begin)
    stand.proof.cast = replace(stand.cast, engines={"policy": Mute(stand.engine)})
    await stand.step()
    await refused(stand, phrase)


async def test_keys_and_values_of_before_the_sync_are_named_by_words_read_before_the_weights_change(stand_of):
    stand = stand_of(beside=True)
    await stand.begin(steps=1)
    await stand.proof.settled()
    old, generate = TorchEngine(copy.deepcopy(stand.engine.model)), stand.engine.generate
    await old.load(Weights(version=3, kind="pointer", source=old.model))
    stand.engine.generate = lambda request: old.generate(request) if request.key[1] == KEY else generate(request)
    await stand.step()
    await refused(stand, "scores are right and .* keys and values of before the sync")


async def test_the_run_goes_on_while_an_engine_answers_and_the_update_waits_for_it(stand_of):
    stand = stand_of(beside=True)
    await stand.begin(steps=1)
    await stand.proof.settled()
    holds, may = stand.engine.holds, asyncio.Event()

    async def slow(detail: bool = False) -> Any:
        await may.wait()
        return await holds(detail)

    stand.engine.holds = slow
    before = fingerprint(stand.learner.model)
    await stand.sync()
    reached = asyncio.Event()

    async def before_step() -> None:
        reached.set()
        await stand.proof.before_step()

    stand.learner.before_step = before_step
    step = asyncio.create_task(stand.step())
    await asyncio.wait_for(reached.wait(), 30)
    assert any(p.grad is not None for p in stand.learner.model.parameters())
    assert fingerprint(stand.learner.model) == before and not step.done()
    may.set()
    await step
    assert fingerprint(stand.learner.model) != before


async def test_a_newcomer_is_judged_before_the_verdict_on_the_others(stand_of):
    stand = stand_of(beside=True)
    await stand.begin(steps=1)
    sync = stand.proof.sync
    assert sync.now is None, "nobody was judged yet"
    late = TorchEngine(copy.deepcopy(stand.engine.model))
    await late.load(replace(sync.weights, source=stand.engine.model))

    async def ask(asked: Any) -> Any:
        return {"of actor 1": await answers_of(late, asked)}

    await stand.proof.newcomer(sync.weights, ask)
    another(late)
    with pytest.raises(SyncRefused, match="of actor 1: .*another seed"):
        await stand.proof.newcomer(sync.weights, ask)
    await stand.proof.settled()
    assert len(stand.facts) == 1, "the others are well"


async def test_a_run_that_drains_before_the_verdict_trains_nothing_more(stand_of):
    stand = stand_of(beside=True)
    await stand.begin(steps=1)

    class Leaving:
        load = stand.engine.load

        async def testimonies(self, asked: Any) -> Any:
            raise Drained("asked to")

    stand.proof.cast = replace(stand.cast, engines={"policy": Leaving()})
    await stand.step()
    await refused(stand, "asked to", Drained)


async def test_recorded_logprobs_that_are_wrong_are_named_before_the_weights_change(stand_of):
    stand = stand_of(beside=True)
    await stand.begin(steps=2)
    play = stand.play

    async def hot() -> Any:
        groups = await play()
        return tuple(replace(g, trajectories=tuple(_hotter(t) for t in g.trajectories)) for g in groups)

    stand.play = hot
    await refused(stand, "recorded logprobs differ", BatchRefused)


async def test_a_learner_that_does_not_ask_has_all_judged_before(stand_of):
    stand = stand_of(beside=True)

    class Elsewhere:
        examine = stand.learner.examine

    proof = Proof(Elsewhere(), stand.cast, stand.proof.plan, stand.facts.append)  # pyrefly: ignore
    weights = await stand.learner.publish()
    await stand.engine.load(weights)
    await proof.synced(weights)
    assert proof.row()["canary_gap_max"] < 1e-4, "at once"
    groups = tuple(replace(g, trajectories=tuple(_hotter(t) for t in g.trajectories)) for g in await stand.play())
    stand.version = 1
    proof.audit.training([replace(g, version=1) for g in groups])
    with pytest.raises(BatchRefused, match="recorded logprobs differ"):
        await proof.look(pack(groups))


def _hotter(t: Any) -> Any:
    nodes = tuple(replace(n, logprobs=tuple(1.1 * x - 0.1 for x in n.logprobs)) if n.logprobs else n for n in t.nodes)
    return replace(t, nodes=nodes)


async def test_a_run_that_ends_waits_for_its_last_verdict(stand_of):
    stand = stand_of(beside=True)
    await stand.begin(steps=1)
    with torch.no_grad():
        next(stand.engine.model.parameters()).mul_(2)
    with pytest.raises(SyncRefused, match="is scaled 2 times"):
        await stand.proof.settled()


async def test_a_step_without_an_update_waits_for_the_verdict_before_engines_get_the_next_version(stand_of):
    stand = stand_of(beside=True)
    await stand.begin(steps=1)
    empty = pack(())
    for _ in range(3):
        await stand.proof.look(empty)
        metrics = await stand.learner.update(empty, stand.objective)
        assert not metrics["updates"]
        await stand.proof.trained(metrics)
        assert stand.proof._asking is None, "an engine that answers while it loads stamps two versions"
        await stand.sync()
    await stand.proof.settled()
    assert not stand.facts
