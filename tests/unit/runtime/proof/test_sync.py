"""Silent faults of a weight sync, one by one: each is named at the sync in which it happens."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from quintain.engines import torch_run
from quintain.engines.torch import TorchEngine
from quintain.learn.canary import WAYS, base_tensors, shaken
from quintain.models import build_model, causal_lm
from quintain.runtime.draws import Draws
from quintain.runtime.proof import SyncRefused
from quintain.runtime.testimony import answers_of
from quintain.types import Sampling, Weights

O_PROJ = "model.layers.1.self_attn.o_proj.weight"
UP = "model.layers.0.mlp.up_proj.weight"
WARM = Sampling(temperature=0.7)
CUT = Sampling(top_p=0.8)
Fault = Callable[[Any], None]
Begin = Callable[[Any], Fault]  # given the engine before the load; what it returns breaks the engine after it


class Mute:
    """An engine behind the port that can score and generate and says nothing else, as a server far away."""

    def __init__(self, engine: TorchEngine) -> None:
        self.inner = engine
        self.generate, self.score, self.abort, self.load = engine.generate, engine.score, engine.abort, engine.load


def tensors(engine: Any) -> dict[str, torch.Tensor]:
    return dict(causal_lm(engine.model).named_parameters())


def change(name: str, how: Callable[[torch.Tensor], torch.Tensor]) -> Begin:
    def fault(engine: Any) -> None:
        with torch.no_grad():
            held = tensors(engine)[name]
            held.copy_(how(held.clone()))

    return lambda engine: fault


def keep(chosen: Callable[[int, str], bool], says: int = 0) -> Begin:
    """The chosen tensors stay as they were before the load."""

    def begin(engine: Any) -> Fault:
        old = {n: p.detach().clone() for n, p in tensors(engine).items()}
        before = engine.version

        def fault(engine: Any) -> None:
            with torch.no_grad():
                for i, (name, p) in enumerate(tensors(engine).items()):
                    if chosen(i, name):
                        p.copy_(old[name])
            if says:
                engine._runner.version = before

        return fault

    return begin


def after(fault: Fault) -> Begin:
    return lambda engine: fault


def rounded(engine: Any) -> None:
    with torch.no_grad():
        for p in engine.model.parameters():
            p.copy_(p.bfloat16().float())


def another(engine: Any) -> None:
    other = build_model("qwen3", seed=9, **SIZES)
    with torch.no_grad():
        for p, q in zip(engine.model.parameters(), other.parameters(), strict=True):
            p.copy_(q * 1.01)


SIZES = {"vocab": 32, "hidden": 16, "layers": 2, "heads": 2, "ffn": 32, "context": 128, "tie": False}
HOLDS: dict[str, tuple[Begin, str]] = {
    "nothing loaded": (keep(lambda i, n: True, says=1), r"the sync changed nothing: the engine still holds version 2$"),
    "new number, old weights": (keep(lambda i, n: True), r"still holds version 2 and calls it version 3$"),
    "old number, new weights": (
        after(lambda e: setattr(e._runner, "version", 2)),
        "holds the weights of version 3 but calls them version 2",
    ),
    "one stale layer": (keep(lambda i, n: "layers.1." in n), r"model\.layers\.1\.\* is stale .*still of version 2"),
    "embedding not updated": (keep(lambda i, n: "embed" in n), r"model\.embed_tokens\.\* is stale"),
    "untied head not updated": (keep(lambda i, n: "lm_head" in n), r"lm_head\.\* is stale"),
    "half a file": (
        keep(lambda i, n: "layers.0" not in n and "embed" not in n),
        r"are stale \(.*was the load cut short\?",
    ),
    "one stale tensor": (keep(lambda i, n: n == UP), "up_proj.weight holds other values"),
    "permuted rows": (change(UP, lambda w: w.flip(0)), "up_proj.weight is permuted: the same rows"),
    "permuted columns": (change(UP, lambda w: w.flip(1)), "up_proj.weight is permuted: the same columns"),
    "transposed square": (change(O_PROJ, lambda w: w.T.clone()), "o_proj.weight is transposed"),
    "zeroed": (change(UP, torch.zeros_like), "up_proj.weight is zero"),
    "scaled": (change(UP, lambda w: 2 * w), "up_proj.weight is scaled 2 times"),
    "bf16-rounded copy": (after(rounded), "are rounded to bfloat16"),
    "wrong dtype": (
        after(lambda e: e.model.model.norm.bfloat16()),
        "model.norm.weight has dtype bfloat16, and the learner's is float32",
    ),
    "another seed": (after(another), "those of another model: another seed, run or checkpoint"),
}


def broken(stand: Any, begin: Begin) -> None:
    """From the next load on the engine is at fault."""
    engine = stand.engine
    load = engine.load

    async def bad(weights: Weights) -> None:
        fault = begin(engine)
        await load(weights)
        fault(engine)

    engine.load = bad


@pytest.mark.parametrize("name", HOLDS)
async def test_a_fault_in_what_the_engine_holds_is_named(name, stand_of):
    begin, phrase = HOLDS[name]
    stand = stand_of()
    await stand.begin(steps=1)
    broken(stand, begin)
    with pytest.raises(SyncRefused, match=phrase) as refused:
        await stand.step()
    assert str(refused.value).startswith("version 3 is refused: engine policy: ")
    assert stand.facts == [{"what": "version", "version": 3, "cause": str(refused.value)}]


MUTE: dict[str, tuple[Begin, dict[str, Any], str]] = {
    "nothing loaded": (
        keep(lambda i, n: True),
        {},
        "the sync changed nothing: its scores are still those of version 2",
    ),
    "bf16-rounded copy": (after(rounded), {}, "the engine's weights are rounded to bfloat16"),
    "another seed": (after(another), {}, "a way that no known fault explains|predictions from one token"),
    "wrong number": (
        after(lambda e: setattr(e._runner, "version", 2)),
        {},
        "of version 3 but stamps what it samples with version 2",
    ),
}


@pytest.mark.parametrize("name", MUTE)
async def test_a_fault_in_an_engine_that_only_scores_and_samples_is_named(name, stand_of):
    begin, options, phrase = MUTE[name]
    stand = stand_of(**options)
    await stand.begin(steps=1)
    broken(stand, begin)
    mute = Mute(stand.engine)
    stand.proof.cast = stand.cast = replace(stand.cast, engines={"policy": mute})
    with pytest.raises(SyncRefused, match=phrase):
        await stand.step()


LORA = {
    "missing": (0.0, "LoRA factors are not in the engine"),
    "twice": (2.0, "LoRA factors (are )?scaled (2 times|twice)"),
}


@pytest.mark.parametrize("mute", [False, True])
@pytest.mark.parametrize("name", LORA)
async def test_lora_that_is_missing_or_scaled_twice_is_named(name, mute, stand_of, tmp_path):
    times, phrase = LORA[name]
    stand = stand_of(lora=True, folder=tmp_path)
    await stand.begin(steps=1)

    def wrong(engine: Any) -> None:
        with torch.no_grad():
            base = dict(base_tensors(causal_lm(stand.model).named_parameters()))
            for n, p in tensors(engine).items():
                p.copy_(base[n] + times * (p - base[n]))

    broken(stand, after(wrong))
    if mute:
        stand.proof.cast = replace(stand.cast, engines={"policy": Mute(stand.engine)})
    with pytest.raises(SyncRefused, match=phrase):
        await stand.step()


@pytest.mark.parametrize(
    ("field", "phrase"),
    [
        ({"rms_norm_eps": 0.05}, "rms_norm_eps is 0.05 in the engine"),
        ({"rope_theta": 20.0}, "rope_theta is 20.0 in the engine"),
    ],
)
async def test_a_configuration_that_differs_is_named(field, phrase, stand_of):
    other = build_model("qwen3", seed=1, **SIZES)
    if "rope_theta" in field:
        parameters = {**other.config.rope_parameters, **field}
        other = build_model("qwen3", seed=1, **SIZES, rope_parameters=parameters)
    else:
        other = build_model("qwen3", seed=1, **SIZES, **field)
    stand = stand_of(engine=TorchEngine(other))
    with pytest.raises(SyncRefused, match=f"the weights agree, the configuration does not: .*{phrase}"):
        await stand.begin()


def reported(stand: Any, how: Callable[[Any, Any], Any]) -> None:
    """The engine's completions say something else than it did."""
    generate = stand.engine.generate

    async def say(request: Any) -> Any:
        return await how(generate, request)

    stand.engine.generate = say


async def at_one(generate: Any, request: Any) -> Any:
    """Samples as asked, reports logprobs of the untouched softmax."""
    done = await generate(request)
    logprobs, path = [], request.prompt
    for token in done.tokens:
        plain = replace(request.sampling, temperature=1.0, top_p=1.0, top_logprobs=32, max_tokens=1)
        found = await generate(replace(request, session="", prompt=path, sampling=plain))
        logprobs.append(dict(zip(found.top_ids[0], found.top_logprobs[0], strict=True))[token])
        path += (token,)
    return replace(done, logprobs=tuple(logprobs))


async def renormalised(generate: Any, request: Any) -> Any:
    done = await generate(replace(request, sampling=replace(request.sampling, top_p=0.8)))
    return done


REPORTS = {
    "temperature": (WARM, at_one, "logprobs are not at the sampling temperature 0.7: they are at temperature 1"),
    "not renormalised": (CUT, at_one, r"over the whole vocabulary although the sampling cuts it \(top_p=0.8\)"),
    "renormalised": (Sampling(), renormalised, "renormalised over a cut .* that the run does not ask for"),
}


@pytest.mark.parametrize("name", REPORTS)
async def test_logprobs_that_are_reported_otherwise_than_sampled_are_named(name, stand_of):
    sampling, how, phrase = REPORTS[name]
    stand = stand_of(sampling=sampling)
    await stand.begin(steps=1)
    reported(stand, how)
    with pytest.raises(SyncRefused, match=phrase):
        await stand.sync()


@pytest.mark.parametrize(("stamps", "told"), [((1, 9), "versions 1, 3, 9$"), ((9, 9, 9), "versions 3, 9$")])
async def test_every_version_that_is_stamped_on_canaries_is_told(stamps, told, stand_of):
    stand = stand_of()
    await stand.begin(steps=1)
    left = list(stamps)

    async def stamp(generate: Any, request: Any) -> Any:
        done = await generate(request)
        return replace(done, spans=tuple(replace(s, version=left.pop()) for s in done.spans)) if left else done

    reported(stand, stamp)
    with pytest.raises(SyncRefused, match=f"holds the weights of version 3 but stamps what it samples with {told}"):
        await stand.sync()


def drawing(other: Sampling) -> Callable[[Any, Any], Any]:
    """Draws otherwise than it is asked to."""
    only = {name: getattr(other, name) for name in ("temperature", "top_p", "top_k", "min_p")}

    async def how(generate: Any, request: Any) -> Any:
        return await generate(replace(request, sampling=replace(request.sampling, **only)))

    return how


def honest(stand: Any, how: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Reports of its tokens what the run's sampling says of them."""

    async def say(generate: Any, request: Any) -> Any:
        done = await how(generate, request)
        path, first = (*request.prompt, *done.tokens), len(request.prompt)
        reading = (await stand.proof.bench.read([path], request.sampling))[0]
        return replace(done, logprobs=tuple(reading.low[first:].tolist()))

    return say


COLD, SHORT = Sampling(temperature=0.7), Sampling(top_p=0.8)
DRAWN = {
    "colder": (
        Sampling(),
        COLD,
        "it draws are not of .* drawn near temperature 0.7, and the run samples at temperature 1 ",
    ),
    "hotter": (Sampling(), Sampling(temperature=1.5), "it draws are not of .* near temperature (1.5|2),"),
    "at one": (
        COLD,
        Sampling(),
        "it draws are not of .* near temperature (1|0.84), and the run samples at temperature 0.7",
    ),
    "cut": (Sampling(), SHORT, "it draws are not of .* with a cut near top-p 0.8"),
    "the likeliest": (Sampling(), Sampling(temperature=0.0), "it draws are not of .* drawn greedily"),
    "uncut": (SHORT, Sampling(), r"it draws tokens that the sampling cuts off \(top_p=0.8\)"),
    "too many": (Sampling(top_k=4), Sampling(), r"it draws tokens that the sampling cuts off \(top_k=4\)"),
    "too rare": (Sampling(min_p=0.5), Sampling(), r"it draws tokens that the sampling cuts off \(min_p=0.5\)"),
}


@pytest.mark.parametrize("name", DRAWN)
async def test_tokens_that_are_drawn_otherwise_than_reported_are_named_at_the_first_sync(name, stand_of):
    sampling, other, phrase = DRAWN[name]
    stand = stand_of(sampling=sampling)
    await stand.begin(steps=1)
    stand.proof.draws, stand.proof.sync = Draws(), None  # the engine has not been heard yet
    reported(stand, honest(stand, drawing(other)))
    with pytest.raises(SyncRefused, match=phrase):
        await stand.sync()


async def test_an_engine_that_begins_to_draw_otherwise_is_named_within_a_few_syncs(stand_of):
    stand = stand_of()
    await stand.begin(steps=1)
    reported(stand, honest(stand, drawing(COLD)))
    with pytest.raises(SyncRefused, match="drawn near temperature 0.7"):
        for _ in range(40):
            await stand.sync()


async def test_scores_at_another_temperature_or_position_are_named(stand_of):
    for how, phrase in (
        (lambda row: (0.0, *row[2:], -1.0), r"shifted by \+1 token"),
        (lambda row: (*row[:-1], float("nan")), "its scores are not finite"),
        (lambda row: row[:-1], "scores another number of tokens"),
    ):
        stand = stand_of()
        await stand.begin()
        score = stand.engine.score

        async def bad(paths: Any, score: Any = score, how: Any = how) -> Any:
            return [how(row) for row in await score(paths)]

        stand.engine.score = bad
        with pytest.raises(SyncRefused, match=phrase):
            await stand.sync()


async def test_scores_at_the_sampling_temperature_are_named(stand_of):
    stand = stand_of(sampling=WARM)
    await stand.begin()

    async def bad(paths: Any) -> Any:
        return [tuple(r.heated.tolist()) for r in await stand.proof.bench.read([tuple(p) for p in paths], WARM)]

    stand.engine.score = bad
    with pytest.raises(SyncRefused, match="scores are at temperature 0.7 and the port asks for temperature 1"):
        await stand.sync()


async def test_keys_and_values_of_before_the_sync_are_named(stand_of):
    stand = stand_of()
    await stand.begin()
    old = TorchEngine(copy.deepcopy(stand.engine.model))
    await old.load(Weights(version=3, kind="pointer", source=old.model))
    await stand.sync()
    stand.engine.generate = old.generate
    with pytest.raises(SyncRefused, match="scores are right and .* keys and values of before the sync"):
        await stand.step()


async def test_positions_of_sampled_tokens_that_are_off_by_one_are_named(stand_of, monkeypatch):
    stand = stand_of()
    await stand.begin()
    run_pack = torch_run.run_pack

    def late(model: Any, ids: Any, positions: Any, pack: Any) -> Any:
        return run_pack(model, ids, positions + bool(positions.min() > 0), pack)  # what is not a prompt

    monkeypatch.setattr(torch_run, "run_pack", late)
    with pytest.raises(SyncRefused, match="position ids of sampled tokens are off by one"):
        await stand.sync()


class Promising(TorchEngine):
    """Says that it computes kept sessions again, and does not."""

    refresh = True  # pyrefly: ignore


async def test_a_session_that_outlives_a_sync_is_computed_again_or_named(stand_of):
    honest = stand_of(refresh=True)
    await honest.begin(steps=3)
    stand = stand_of(kind=Promising)
    await stand.begin(steps=0)
    with pytest.raises(SyncRefused, match="still uses keys and values of version 1, although the engine promises"):
        await stand.step()


async def test_one_actor_with_the_weights_of_another_seed_is_named(stand_of):
    stand = stand_of()
    good, bad = stand.engine, TorchEngine(copy.deepcopy(stand.engine.model))

    class Two:
        """Two actors behind one engine."""

        async def load(self, weights: Weights) -> None:
            for engine in (good, bad):
                await engine.load(weights)
            if weights.version == 2:
                another(bad)

        async def testimonies(self, asked: Any) -> Any:
            return {f"of actor {i}": await answers_of(e, asked) for i, e in enumerate((good, bad))}

    two = Two()
    stand.proof.cast = replace(stand.cast, engines={"policy": two})
    await two.load(await stand.learner.publish())
    weights = await stand.learner.publish()
    await two.load(weights)
    with pytest.raises(SyncRefused, match="version 2 is refused: engine of actor 1: .*another seed"):
        await stand.proof.synced(weights)


async def test_an_engine_that_joins_late_is_judged_by_the_newest_sync(stand_of):
    stand = stand_of()
    await stand.begin(steps=1)
    sync = stand.proof.sync

    async def ask(asked: Any) -> Any:
        return {"of actor 1": await answers_of(late, asked)}

    late = TorchEngine(copy.deepcopy(stand.engine.model))
    await late.load(replace(sync.weights, source=stand.engine.model))
    await stand.proof.newcomer(sync.weights, ask)
    another(late)
    with pytest.raises(SyncRefused, match="of actor 1: .*another seed"):
        await stand.proof.newcomer(sync.weights, ask)
    await stand.proof.newcomer(replace(sync.weights, version=9), ask)  # a sync is under way: it will ask


async def test_a_sync_that_begins_while_a_newcomer_answers_waits_for_it(stand_of):
    stand = stand_of()
    await stand.begin(steps=1)
    before = stand.proof.sync
    late = TorchEngine(copy.deepcopy(stand.engine.model))
    await late.load(replace(before.weights, source=stand.engine.model))
    syncs = []

    async def ask(asked: Any) -> Any:
        weights = await stand.learner.publish()
        await stand.engine.load(weights)
        syncs.append(asyncio.create_task(stand.proof.synced(weights)))
        for _ in range(50):
            await asyncio.sleep(0)
        return {"of actor 1": await answers_of(late, asked)}

    await stand.proof.newcomer(before.weights, ask)  # it holds what it was given
    await syncs[0]
    assert stand.proof.sync.weights.version == before.weights.version + 1


async def test_a_newcomer_is_not_held_to_weights_that_the_learner_has_left(stand_of):
    stand = stand_of()
    await stand.begin(steps=1)
    sync = stand.proof.sync
    late = TorchEngine(copy.deepcopy(stand.engine.model))
    await late.load(replace(sync.weights, source=stand.engine.model))

    async def ask(asked: Any) -> Any:
        with torch.no_grad():
            for p in stand.learner.model.parameters():
                p.add_(0.5)  # the next step
        stand.proof.bench.forget()
        return {"of actor 1": await answers_of(late, asked)}

    await stand.proof.newcomer(sync.weights, ask)


async def test_an_engine_of_the_learner_s_own_module_is_asked_at_first_and_every_sixteen_versions(stand_of):
    stand = stand_of()
    weights = await stand.learner.publish()
    stand.proof.cast = replace(stand.cast, engines={"policy": TorchEngine(weights.source)})
    stand.engine = stand.proof.cast.engines["policy"]
    asked, prepare = [], stand.proof._prepare

    async def noted(weights: Weights) -> None:
        asked.append(weights.version)
        await prepare(weights)

    stand.proof._prepare = noted
    await stand.sync(weights)
    for _ in range(32):
        await stand.sync()
    assert asked == [1, 16, 32]


@pytest.mark.parametrize(("times", "fits"), [(0.9, True), (1.1, False)])
async def test_rounding_of_the_model_itself_is_measured_and_allowed_eight_times(times, fits, stand_of):
    stand = stand_of()
    await stand.begin(steps=1)
    paths = stand.proof.sync.asked.paths
    still = await stand.proof.bench.read(paths, Sampling())
    moved = [replace(r, plain=r.plain + 1e-3) for r in still]  # as a model whose numbers are this coarse
    ask = stand.proof.bench._ask

    async def coarse(verb: str, kind: int = 1, **given: Any) -> Any:
        return moved if verb == "shaken" else await ask(verb, kind, **given)

    stand.proof.bench._ask = coarse
    limit = await stand.proof.bench.limit(times * 8e-3, paths, Sampling())
    assert (times * 8e-3 <= limit.value) is fits and limit.noise == pytest.approx(1e-3, rel=1e-3)


@pytest.mark.parametrize(
    ("gap", "fits", "ways"), [(7e-3, True, [0]), (15e-3, True, [0, 1, 2]), (17e-3, False, [0, 1, 2, 3])]
)
async def test_before_a_refusal_rounding_is_measured_in_other_ways(gap, fits, ways, stand_of):
    stand = stand_of()
    await stand.begin(steps=1)
    paths = stand.proof.sync.asked.paths
    still = await stand.proof.bench.read(paths, Sampling())
    ask, asked = stand.proof.bench._ask, []

    async def coarse(verb: str, kind: int = 1, **given: Any) -> Any:
        if verb != "shaken":
            return await ask(verb, kind, **given)
        asked.append(given["way"])
        return [replace(r, plain=r.plain + (2e-3 if given["way"] == 2 else 1e-3)) for r in still]

    stand.proof.bench._ask = coarse
    limit = await stand.proof.bench.limit(gap, paths, Sampling())
    assert (gap <= limit.value) is fits and asked == ways
    assert limit.noise == pytest.approx(1e-3 * (1 + (2 in ways)), rel=1e-3)


def test_every_way_moves_other_numbers(stand_of):
    learner, told = stand_of().learner, []
    for way in range(WAYS):
        with shaken(learner.reader, 2**-7, way) as reader, torch.no_grad():
            told.append(reader.model.get_input_embeddings()(torch.arange(8)))
    assert all(not torch.equal(a, b) for i, a in enumerate(told) for b in told[:i])
