"""The local engine as its callers see it: sessions, versions, aborts, forks, order, errors."""

from __future__ import annotations

import asyncio
import threading

import pytest
import torch

import quintain.engines.torch_jobs as torch_jobs
from quintain.engines.torch import EngineError, TorchEngine
from quintain.engines.torch_weights import WeightsError
from quintain.models import build_model, forward_hidden, head_logits
from quintain.ports import Engine
from quintain.registry import build, provenance
from quintain.types import Request, Sampling, Span, Weights

VOCAB = 60


def make_model(seed=0):
    model = build_model("qwen3", seed=seed, vocab=VOCAB, hidden=32, layers=2, heads=4, kv_heads=2, ffn=48, context=256)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(4)
    return model


@pytest.fixture(scope="module")
def model(device):
    return make_model().to(device)


@pytest.fixture(params=[True, False], ids=["inline", "thread"])
def engine(model, request):
    return TorchEngine(model, slots=8, inline=request.param)


def ask(session, prompt, max_tokens=6, key=(0,), **more):
    return Request(session=session, prompt=tuple(prompt), sampling=Sampling(max_tokens=max_tokens, **more), key=key)


def prompt_of(i, length=None):
    return tuple((7 * i + 3 * j * j) % VOCAB for j in range(length or 5 + i % 7))


def logprobs_of(model, path):
    """Logprobs of a path by the model's own eager attention."""
    model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            logp = torch.log_softmax(
                model(input_ids=torch.tensor([path], device=model.device), use_cache=False).logits[0].double(), -1
            )
    finally:
        model.set_attn_implementation("slot")
    return logp[torch.arange(len(path) - 1), torch.tensor(path[1:])].tolist()


def assert_recorded(model, prompt, completion):
    path = (*prompt, *completion.tokens)
    truth = logprobs_of(model, path)[len(prompt) - 1 :]
    assert completion.tokens and max(abs(a - b) for a, b in zip(truth, completion.logprobs, strict=True)) < 5e-5


async def turns(engine, session, count, *, key=(0,), seed=0, max_tokens=2):
    """Play an episode: each turn adds what was sampled and an observation of 1 to 3 tokens."""
    path, answers = prompt_of(seed), []
    for turn in range(count):
        answers.append((path, await engine.generate(ask(session, path, max_tokens, (*key, turn)))))
        path = (*path, *answers[-1][1].tokens, *prompt_of(turn + seed, 1 + turn % 3))
    return answers


def test_it_is_an_engine(engine):
    assert isinstance(engine, Engine)


async def test_a_session_computes_new_tokens_only(engine, model):
    answers = await turns(engine, "a", 5)
    fed = len(answers[-1][0]) + 1  # the token drawn last has no keys and values yet
    held = len(answers[-2][0]) + 1
    assert answers[-1][1].usage == {"reused": held, "computed": fed - held, "generated": 2}
    assert engine.stats.prefilled == fed - 5 and engine.stats.generated == 10
    for prompt, completion in answers:
        assert_recorded(model, prompt, completion)


async def test_a_changed_history_keeps_the_common_prefix(engine, model):
    first = prompt_of(0, 20)
    await engine.generate(ask("a", first))
    other = (*first[:11], (first[11] + 1) % VOCAB, *prompt_of(3, 12))
    completion = await engine.generate(ask("a", other))
    assert completion.usage["reused"] == 11
    assert_recorded(model, other, completion)
    again = await engine.generate(ask("a", other[:7]))  # shorter than what is held
    assert again.usage["reused"] == 6
    assert_recorded(model, other[:7], again)


async def test_no_session_keeps_nothing(engine):
    for _ in range(2):
        completion = await engine.generate(ask("", prompt_of(1)))
        assert completion.usage["reused"] == 0
    assert engine.stats.sessions == 0


async def test_more_requests_than_slots(engine, model):
    asked = [ask(f"s{i}", prompt_of(i), 1 + 3 * i % 14, (0, i)) for i in range(30)]
    completions = await asyncio.gather(*map(engine.generate, asked))
    assert [len(c.tokens) for c in completions] == [r.sampling.max_tokens for r in asked]
    for request, completion in zip(asked, completions, strict=True):
        assert_recorded(model, request.prompt, completion)
    stats = engine.stats
    assert stats.evicted == 22 and stats.sessions == 8 and stats.running == stats.waiting == 0


async def test_an_evicted_session_is_computed_again(engine, model):
    await turns(engine, "old", 1)
    for i in range(8):
        await turns(engine, f"new{i}", 1)
    (prompt, completion), *_ = await turns(engine, "old", 1)
    assert completion.usage["reused"] == 0
    assert_recorded(model, prompt, completion)


async def test_a_token_does_not_depend_on_the_company_it_is_sampled_in(model):
    asked = [ask(f"s{i}", prompt_of(i), 9, (0, i)) for i in range(12)]
    together = await asyncio.gather(*map(TorchEngine(model, slots=5).generate, asked))
    for request, one in zip(asked, together, strict=True):
        alone = await TorchEngine(model, slots=1).generate(request)
        assert alone.tokens == one.tokens
        assert max(abs(a - b) for a, b in zip(alone.logprobs, one.logprobs, strict=True)) < 2e-5


async def episodes(engine, order):
    played = {i: asyncio.create_task(turns(engine, f"s{i}", 4, key=(0, i), seed=i)) for i in order}
    for i, task in played.items():
        await task
        await engine.abort(f"s{i}")
    return {i: played[i].result() for i in sorted(played)}


def test_a_run_repeats_bit_for_bit(engine, model):
    """In any order of arrival, in a new engine, in one that has grown, in the next event loop."""
    first = asyncio.run(episodes(engine, range(8)))
    asyncio.run(turns(engine, "long", 60, max_tokens=1))
    asyncio.run(engine.abort("long"))
    assert asyncio.run(episodes(engine, reversed(range(8)))) == first
    assert asyncio.run(episodes(TorchEngine(model, slots=8, inline=True), range(8))) == first


async def test_requests_end_where_they_should(engine):
    completion = await engine.generate(ask("a", prompt_of(2), 40))
    assert completion.finish == "length" and len(completion.tokens) == 40
    stop = completion.tokens[3:5]
    at = min(completion.tokens.index(t) for t in stop)
    stopped = await engine.generate(ask("b", prompt_of(2), 40, stop=stop))
    assert stopped.finish == "stop" and stopped.tokens == completion.tokens[: at + 1]
    full = await engine.generate(ask("c", prompt_of(2, 250), 40))
    assert full.finish == "length" and len(full.tokens) == 6
    for length in (256, 300):
        none = await engine.generate(ask("d", prompt_of(2, length), 40))
        assert (none.finish, none.tokens, none.spans) == ("length", (), ())


async def test_a_smaller_context_is_kept(model):
    completion = await TorchEngine(model, slots=1, context=12).generate(ask("a", prompt_of(0, 5), 40))
    assert len(completion.tokens) == 7


async def test_greedy_is_the_most_likely_path(engine, model):
    prompt = prompt_of(4)
    completion = await engine.generate(ask("a", prompt, 8, temperature=0))
    assert completion.logprobs == (0.0,) * 8
    model.set_attn_implementation("eager")
    ids = torch.tensor([prompt], device=model.device)
    with torch.no_grad():
        for token in completion.tokens:
            assert int(model(input_ids=ids, use_cache=False).logits[0, -1].argmax()) == token
            ids = torch.cat([ids, ids.new_tensor([[token]])], 1)
    model.set_attn_implementation("slot")


async def test_top_logprobs_come_when_asked(engine):
    with_top, without = await asyncio.gather(
        engine.generate(ask("a", prompt_of(1), 4, top_logprobs=3)), engine.generate(ask("b", prompt_of(1), 4))
    )
    assert with_top.tokens == without.tokens and without.top_ids == ()
    assert [len(row) for row in with_top.top_ids] == [3] * 4
    for i, token in enumerate(with_top.tokens):
        best = dict(zip(with_top.top_ids[i], with_top.top_logprobs[i], strict=True))
        assert list(best.values()) == sorted(best.values(), reverse=True)
        assert best.get(token, with_top.logprobs[i]) == with_top.logprobs[i]


async def test_scores_equal_plain_logprobs(engine, model, monkeypatch):
    monkeypatch.setattr("quintain.engines.torch_run.STEP_TOKENS", 40)
    monkeypatch.setattr("quintain.engines.torch_run.SCORE_CELLS", VOCAB * 7)
    paths = [prompt_of(i, n) for i, n in enumerate((5, 1, 0, 33, 12, 60, 2))]
    scores = await engine.score(paths)
    assert [len(s) for s in scores] == [len(p) for p in paths]
    for path, score in zip(paths, scores, strict=True):
        assert not path or score[0] == 0
        wanted = logprobs_of(model, path) if len(path) > 1 else []
        assert all(abs(a - b) < 5e-5 for a, b in zip(wanted, score[1:], strict=True))
    assert await engine.score([]) == [] and await engine.score([()]) == [()]
    for bad, reason in (((0,) * 257, "257 tokens"), ((0, VOCAB), "token id 60")):
        with pytest.raises(EngineError, match=reason):
            await engine.score([bad])


async def test_a_fork_shares_a_prefix_and_nothing_else(engine, model):
    prompt = prompt_of(0, 30)
    await engine.generate(ask("a", prompt))
    await engine.fork("a", 20, "b")
    branch = (*prompt[:20], *prompt_of(5, 9))
    forked = await engine.generate(ask("b", branch))
    assert forked.usage["reused"] == 20
    assert_recorded(model, branch, forked)
    on = await engine.generate(ask("a", (*prompt, 1, 2)))
    assert on.usage["reused"] == 30
    assert_recorded(model, (*prompt, 1, 2), on)
    await engine.fork("nobody", 5, "c")  # evicted, perhaps: the next request computes it
    assert (await engine.generate(ask("c", prompt))).usage["reused"] == 0
    for bad in (("a", 3, "a"), ("a", -1, "d")):
        with pytest.raises(EngineError, match="cannot fork 'a'"):
            await engine.fork(*bad)


async def until(engine, condition):
    while not condition(engine.stats):  # noqa: ASYNC110
        await asyncio.sleep(0)


async def test_a_fork_of_a_request_in_flight(engine, model):
    task = asyncio.create_task(engine.generate(ask("a", prompt_of(0, 30), 200)))
    await until(engine, lambda stats: stats.generated > 10)
    await engine.fork("a", 34, "b")
    branch = (*prompt_of(0, 30), 1, 2, 3)
    forked = await engine.generate(ask("b", branch))
    assert forked.usage["reused"] in (30, 31, 32) and not task.done()
    assert_recorded(model, branch, forked)
    assert_recorded(model, prompt_of(0, 30), await task)


async def test_an_abort_returns_what_there_is(model, engine):
    whole = await engine.generate(ask("x", prompt_of(3), 100))
    task = asyncio.create_task(engine.generate(ask("a", prompt_of(3), 100)))
    behind = asyncio.create_task(engine.generate(ask("a", prompt_of(4), 100)))
    await until(engine, lambda stats: stats.generated > 105)
    await engine.abort("a")
    part = await task
    assert part.finish == "abort" and 5 <= len(part.tokens) < 100
    assert part.tokens == whole.tokens[: len(part.tokens)] and part.spans[-1].stop == len(part.tokens)
    assert (await behind).tokens == () and (await behind).finish == "abort"
    assert engine.stats.sessions == 1
    await engine.abort("x")
    await engine.abort("nobody")
    assert engine.stats.sessions == 0


async def test_an_abort_in_the_middle_of_a_step_keeps_its_token(model, monkeypatch):
    engine = TorchEngine(model, slots=2, inline=False)
    entered, leave = threading.Event(), threading.Event()
    real = engine._runner.step

    def slow(work):
        entered.set()
        leave.wait(20)
        return real(work)

    monkeypatch.setattr(engine._runner, "step", slow)
    task = asyncio.create_task(engine.generate(ask("a", prompt_of(1), 1)))
    while not entered.is_set():  # noqa: ASYNC110
        await asyncio.sleep(0)
    await engine.abort("a")
    early = task.done()
    leave.set()
    assert not early and len((await task).tokens) == 1 and engine.stats.sessions == 0
    assert (await engine.generate(ask("b", prompt_of(1), 1))).tokens == (await task).tokens


async def test_an_abort_reaches_requests_that_wait(model):
    engine = TorchEngine(model, slots=1)
    first = asyncio.create_task(engine.generate(ask("a", prompt_of(1), 100)))
    await until(engine, lambda stats: stats.running == 1)
    second = asyncio.create_task(engine.generate(ask("b", prompt_of(1), 100)))
    await until(engine, lambda stats: stats.waiting == 1)
    await engine.abort("b")
    assert (await second).finish == "abort" and not first.done()
    assert (await first).finish == "length"


async def test_a_caller_that_is_cancelled_frees_its_slot(engine):
    task = asyncio.create_task(engine.generate(ask("a", prompt_of(1), 240)))
    await until(engine, lambda stats: stats.generated > 3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(engine, lambda stats: stats.running == 0)
    assert engine.stats.generated < 100
    assert (await engine.generate(ask("a", prompt_of(1)))).usage["reused"] == len(prompt_of(1)) - 1


async def test_new_weights_start_a_new_span(engine):
    new = make_model(seed=1).state_dict()
    old = {name: value.clone() for name, value in engine.model.state_dict().items()}
    try:
        task = asyncio.create_task(engine.generate(ask("a", prompt_of(1), 60)))
        await until(engine, lambda stats: stats.generated > 20)
        await engine.load(Weights(version=4, kind="pointer", source=new))
        completion = await task
        first, second = completion.spans
        assert (first.start, first.version, second.stop, second.version) == (0, 0, 60, 4) and 20 < first.stop < 60
        after = await engine.generate(ask("b", prompt_of(1), 60))
        assert after.spans == (Span(start=0, stop=60, version=4),) and engine.version == 4
        assert_recorded(engine.model, prompt_of(1), after)
        assert after.tokens != completion.tokens
        with pytest.raises(WeightsError):
            await engine.load(Weights(version=5, kind="pointer", source={}))
        assert engine.version == 4
    finally:
        engine.model.load_state_dict(old)


@pytest.mark.parametrize("refresh", [True, False])
async def test_what_sessions_hold_may_be_computed_by_new_weights(model, refresh):
    engine = TorchEngine(model, slots=4, refresh=refresh)
    task = asyncio.create_task(engine.generate(ask("b", prompt_of(2), 50)))
    (prompt, completion), *_ = await turns(engine, "a", 1)
    await engine.load(Weights(version=1, kind="pointer", source=model))
    path = (*prompt, *completion.tokens, 1)
    assert (await engine.generate(ask("a", path))).usage["reused"] == (0 if refresh else len(path) - 2)
    mixed = await task
    path = (*prompt_of(2), *mixed.tokens, 1)
    assert len(mixed.spans) == 2
    assert (await engine.generate(ask("b", path))).usage["reused"] == (0 if refresh else len(path) - 2)


async def test_nothing_is_sampled_while_paused(engine):
    task = asyncio.create_task(engine.generate(ask("a", prompt_of(1), 50)))
    await until(engine, lambda stats: stats.generated > 3)
    await engine.pause()
    before = engine.stats.generated
    late = asyncio.create_task(engine.generate(ask("b", prompt_of(1), 50)))
    gone = asyncio.create_task(engine.generate(ask("c", prompt_of(1), 50)))
    for _ in range(50):
        await asyncio.sleep(0)
    assert engine.stats.generated == before and not task.done() and not late.done()
    await engine.abort("c")
    assert (await gone).finish == "abort"
    await engine.resume()
    assert (await task).tokens == (await late).tokens
    await engine.resume()


async def test_long_prompts_are_fed_in_parts(engine, model, monkeypatch):
    monkeypatch.setattr(torch_jobs, "STEP_TOKENS", 20)
    running = asyncio.create_task(engine.generate(ask("r", prompt_of(0, 6), 100)))
    await until(engine, lambda stats: stats.generated > 2)
    asked = [ask(f"s{i}", prompt_of(i, 50), 5, (0, i)) for i in range(3)]
    completions = await asyncio.gather(*map(engine.generate, asked))
    assert not running.done()
    for request, completion in zip(asked, completions, strict=True):
        assert_recorded(model, request.prompt, completion)
    assert_recorded(model, prompt_of(0, 6), await running)


async def test_a_bad_request_hurts_nobody_else(engine):
    good = asyncio.create_task(engine.generate(ask("a", prompt_of(1))))
    for prompt, reason in (((1, VOCAB), "token id 60"), ((1, -1), "token id -1"), ((), "an empty prompt")):
        with pytest.raises(EngineError, match=reason):
            await engine.generate(ask("b", prompt))
    assert (await good).finish == "length"
    assert engine.stats.sessions == 1


async def test_an_error_in_a_step_reaches_the_callers_and_the_engine_goes_on(engine, monkeypatch):
    import quintain.engines.torch_run as torch_run

    def broken(*_):
        raise RuntimeError("the device is on fire")

    with monkeypatch.context() as patch:
        patch.setattr(torch_run, "run_pack", broken)
        tasks = [asyncio.create_task(engine.generate(ask(f"s{i}", prompt_of(i)))) for i in range(10)]
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(result, RuntimeError) and "on fire" in str(result)
    assert engine.stats.sessions == 0
    assert (await engine.generate(ask("a", prompt_of(1)))).finish == "length"


def test_an_event_loop_that_ends_early_leaves_a_working_engine(engine):
    async def leave():
        task = asyncio.create_task(engine.generate(ask("a", prompt_of(1), 240)))
        await until(engine, lambda stats: stats.generated > 2)
        assert not task.done()

    asyncio.run(leave())
    assert engine.stats.running == 0
    assert asyncio.run(engine.generate(ask("a", prompt_of(1)))).finish == "length"


def test_a_model_is_shared_with_a_learner_and_other_engines(model):
    ids = torch.tensor(prompt_of(3, 90), device=model.device)

    def learn():
        loss = torch.logsumexp(head_logits(model, forward_hidden(model, ids, [40, 50])), -1).sum()
        return torch.autograd.grad(loss, list(model.parameters()))

    def play():
        return asyncio.run(episodes(TorchEngine(model, slots=8), range(8)))

    alone = play(), learn()
    results = {}

    def work(name, action):
        results[name] = [action() for _ in range(6)]

    jobs = {"a": play, "b": play, "c": learn}
    threads = [threading.Thread(target=work, args=item) for item in jobs.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results["a"] == results["b"] == [alone[0]] * 6
    assert all(torch.equal(x, y) for grads in results["c"] for x, y in zip(grads, alone[1], strict=True))


def test_it_is_built_by_name(model, tmp_path):
    from quintain.models import save_model

    save_model(model, tmp_path)
    engine = build("engine", {"name": "torch", "model": str(tmp_path), "slots": 3})
    assert provenance(engine) == {"kind": "engine", "name": "torch", "model": str(tmp_path), "slots": 3}
    assert asyncio.run(engine.generate(ask("a", prompt_of(1)))).finish == "length"
    for wrong in ({"slots": 0}, {"context": 257}):
        with pytest.raises(EngineError, match=r"slots must be >= 1, context between 0 and 256"):
            TorchEngine(model, **wrong)
