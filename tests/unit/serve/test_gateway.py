"""The endpoint answers in the form of the API, and refuses by name what it cannot do."""

import asyncio
import base64
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image as Pillow

from quintain import config as configs
from quintain.cli import show, train
from quintain.cli.doctor import main as doctor
from quintain.cli.list import runs
from quintain.cli.paths import absolute
from quintain.cli.serve import _book
from quintain.evals.players import of_run
from quintain.evals.report import write_report
from quintain.ledger import DiskFull, RunDir, audit
from quintain.render import CHATML, BranchWarning, ChatRenderer, WordRenderer, write_tokenizer
from quintain.serve.call import Call, Limits
from quintain.serve.desk import Book, IsARecord, NotARecord
from quintain.types import Event, Kind, Message, Stop


def tool(name="find"):
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}


async def test_a_chat_completion_has_the_form_of_the_api(client):
    ask = client()
    reply = await ask.chat("a", logprobs=True, seed=4, n=2, max_tokens=2, return_token_ids=True)
    data = json.loads(json.dumps(reply.data))
    assert reply.status == 200 and data["object"] == "chat.completion" and data["model"] == "m"
    assert [c["index"] for c in data["choices"]] == [0, 1]
    first = data["choices"][0]
    assert first["message"] == {"role": "assistant", "content": "b c"} and first["finish_reason"] == "length"
    assert [row["token"] for row in first["logprobs"]["content"]] == ["b", "c"] and first["token_ids"] == [4, 5]
    assert data["usage"] == {"prompt_tokens": 1, "completion_tokens": 4, "total_tokens": 5}
    assert data["prompt_token_ids"] == [3] and data["id"].startswith("chatcmpl-") and data["created"] > 1e9
    assert [r.key for r in ask.engine.asked] == [(4, 0), (4, 1)], "a seed decides the noise"
    assert reply.headers["X-Quintain-Episode"].startswith("ep-")


async def test_a_stream_says_the_same(client):
    ask = client("b c d")
    whole = (await ask.chat("a")).data
    reply = await ask.chat("a", stream=True, stream_options={"include_usage": True})
    *chunks, last = reply.events
    assert all(c["object"] == "chat.completion.chunk" and c["id"] == chunks[0]["id"] for c in chunks)
    deltas = [c["choices"][0]["delta"] for c in chunks]
    assert deltas[0]["role"] == "assistant"
    assert "".join(d.get("content", "") for d in deltas) == whole["choices"][0]["message"]["content"]
    assert [c["choices"][0]["finish_reason"] for c in chunks][-2:] == [None, "stop"]
    assert last["choices"] == [] and last["usage"] == whole["usage"] and chunks[0]["usage"] is None
    assert "usage" not in (await ask.chat("a", stream=True)).events[0]


async def test_completions_take_text_or_token_ids(client):
    ask = client()
    for prompt in ("a b", [3, 4], ["a b"], [[3, 4]]):
        reply = await ask("/v1/completions", {"model": "m", "prompt": prompt, "logprobs": 1, "return_token_ids": True})
        choice = reply.data["choices"][0]
        assert (choice["text"], choice["token_ids"], choice["finish_reason"]) == ("b c", [4, 5, 2], "stop")
        assert choice["logprobs"]["tokens"] == ["b", "c", "<end>"] and ask.engine.asked[-1].prompt == (3, 4)
    body = {"model": "m", "prompt": [3], "stop_token_ids": [5], "return_tokens_as_token_ids": True, "logprobs": 0}
    reply = await ask("/v1/completions", {**body, "max_tokens": 2, "prompt_logprobs": 0})
    choice = reply.data["choices"][0]
    assert choice["logprobs"]["tokens"] == ["token_id:4", "token_id:5"] and choice["finish_reason"] == "stop"
    assert choice["prompt_logprobs"] == [None] and 5 in ask.engine.asked[-1].sampling.stop
    wrong = await ask("/v1/completions", {"model": "m", "prompt": 5})
    assert "prompt is 5; it must be a string or a list of token ids" in wrong.data["error"]["message"]
    streamed = await ask("/v1/completions", {"model": "m", "prompt": [3], "stream": True})
    assert streamed.events[0]["choices"][0]["text"] == "b c"


async def test_models_and_health(client):
    ask = client()
    assert [m["id"] for m in (await ask("/v1/models")).data["data"]] == ["m"]
    assert (await ask("/v1/models/m")).data["object"] == "model"
    assert (await ask("/v1/models/other")).status == 404
    assert (await ask("/health")).data["status"] == "ok"


@pytest.mark.parametrize(
    ("body", "param", "told"),
    [
        ({"messages": []}, "messages", "is empty; it must be a list of at least one message"),
        ({"messages": None}, "messages", "is null; it must be a list of at least one message"),
        ({"messages": "hi"}, "messages", "must be a list"),
        ({"messages": [{"role": "god", "content": "x"}]}, "messages[0].role", "roles are system"),
        ({"messages": [{"role": "user"}]}, "messages[0].content", "is missing"),
        ({"messages": [{"role": "user", "content": "\ud800"}]}, "messages[0].content", "surrogate"),
        ({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}, "messages", "ends with"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].tool_call_id", "must be a string"),
        ({"temperature": 3}, "temperature", "must lie in [0, 2]"),
        ({"temperature": True}, "temperature", "must be a number"),
        ({"top_p": 0}, "top_p", "must lie in (0, 1]"),
        ({"n": 0}, "n", "must lie in [1, 16]"),
        ({"n": 17}, "n", "must lie in [1, 16]"),
        ({"max_tokens": 0}, "max_tokens", "must lie in"),
        ({"max_completion_tokens": 1.5}, "max_completion_tokens", "whole number"),
        ({"seed": 1 << 70}, "seed", "must lie in"),
        ({"stop": [""]}, "stop", "empty string"),
        ({"stop": [3]}, "stop", "must be a string"),
        ({"stop": 5}, "stop", "is 5; it must be a string or a list of them"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content", "a string or a list of parts"),
        ({"top_logprobs": 2}, "top_logprobs", "needs logprobs=true"),
        ({"tools": [{"type": "retrieval"}]}, "tools[0].type", "must be 'function'"),
        ({"tools": [tool("no good")]}, "tools[0].function.name", "letters, digits"),
        ({"tool_choice": "required"}, "tool_choice", "auto or none"),
        ({"response_format": {"type": "json_object"}}, "response_format", "must be of type text"),
        ({"frequency_penalty": 1}, "frequency_penalty", "not supported"),
        ({"logit_bias": {"3": 1}}, "logit_bias", "not supported"),
        ({"functions": []}, "functions", "use tools"),
        ({"tools": [tool()]}, "messages", "cannot describe the 1 tools"),
        ({"messages": [{"role": "user", "content": "unheard"}]}, "messages", "unheard"),
    ],
)  # fmt: skip
async def test_what_cannot_be_done_is_refused_by_name(client, body, param, told):
    ask = client()
    reply = await ask("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "a"}], **body})
    assert reply.status == 400 and reply.data["error"]["param"] == param, reply.data
    assert told in reply.data["error"]["message"] and reply.data["error"]["type"] == "invalid_request_error"
    assert ask.engine.asked == []


async def test_pictures_are_refused_where_the_policy_takes_none(client):
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    reply = await client()("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": [part]}]})
    assert reply.status == 400 and "takes text only" in reply.data["error"]["message"]
    assert reply.data["error"]["param"] == "messages[0].content[0].type"


async def test_pictures_reach_a_policy_that_takes_them(client):
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    data = io.BytesIO()
    Pillow.fromarray(pixels).save(data, "PNG")
    url = "data:image/png;base64," + base64.b64encode(data.getvalue()).decode()

    class Sees(WordRenderer):  # as a renderer of pictures would: a word for each
        pictures = True

        def _message(self, message):
            return tuple(3 for _ in message.images) + self.ids(message.text)

    ask = client("b", renderer=Sees(["a", "b"], turn_tokens=0))

    def body(url, **more):
        parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": url, **more}}]
        return {"model": "m", "messages": [{"role": "user", "content": parts}]}

    assert (await ask("/v1/chat/completions", body(url, detail="low"))).status == 200
    (seen,) = ask.engine.asked[0].images
    assert np.array_equal(seen.pixels, pixels) and ask.engine.asked[0].prompt == (3, 3)
    for wrong in (
        "https://example.com/x.png",
        "data:text/html;base64,AAAA",
        "data:image/png;base64,AAAA",
        url[:-9],
        "data:image/png,x",
    ):
        reply = await ask("/v1/chat/completions", body(wrong))
        assert reply.status == 400 and reply.data["error"]["param"] == "messages[0].content[1].image_url.url", wrong
    assert len(ask.engine.asked) == 1


async def test_who_may_ask(client):
    ask = client()
    body = {"model": "m", "messages": [{"role": "user", "content": "a"}]}
    paths = {"/v1/chat/completions": body, "/v1/completions": {"prompt": "a"}, "/v1/models": None, "/v1/models/m": None}
    for path, data in {**paths, "/health": None, "/v1/feedback": {}, "/v1/episodes": {}, "/nowhere": None}.items():
        for token in (None, "", "wrong", "sesame2", "sesam"):
            reply = await ask(path, data, token=token)
            assert reply.status == 401 and reply.data["error"]["type"] == "authentication_error", (path, token)
        assert (await ask(path, data, authorization="Basic sesame")).status == 401
        assert (await ask(path, data, host="evil.example")).status == 403
        assert (await ask(path, data, method="PATCH")).status == (404 if path == "/nowhere" else 405)
    assert (await ask("/v1/models", host="LOCALHOST:8700")).status == 200
    assert (await ask("/v1/models", host="[::1]:8700")).status == 200
    reply = await ask("/v1/chat/completions", {**body, "model": "gpt-4o"})
    assert (reply.status, reply.data["error"]["code"]) == (404, "model_not_found")
    assert (await ask("/v1/chat/completions", None)).status == 405
    assert (await ask("/v1/chat/completions", None)).headers["Allow"] == "POST"


async def test_conversations_without_a_name_are_found_by_what_they_continue(client, tmp_path):
    with RunDir.create(tmp_path / "run", "") as store:
        ask = client(book=Book(store))
        first = (await ask.chat("a")).headers["X-Quintain-Episode"]
        other = (await ask.chat("e")).headers["X-Quintain-Episode"]
        again = (await ask.chat("a", "b c", "d")).headers["X-Quintain-Episode"]
        named = (await ask.chat("a", x_quintain_episode="mine")).headers["X-Quintain-Episode"]
        assert first == again != other and named == "mine"
        assert (await ask("/v1/feedback", {"episode": first, "reward": {"won": 1}})).data["rewards"] == {"won": 1.0}
        told = (await ask("/v1/feedback", {"episode": first, "reward": 0.5, "done": True})).data
        assert told["trajectory"] == "0.0" and told["rewards"] == {"won": 1.0, "feedback": 0.5}
        assert (await ask("/v1/feedback", {"episode": first, "reward": 1})).status == 404
        await ask.desk.close()
        kept = {g.task.key: g.trajectories[0] for g in store.groups()}
        assert audit(store).ok and audit(store).played == 3
    assert kept[first].reward == 1.5 and kept[first].turns == 2 and kept[first].stop == "done"
    assert [n.tokens for n in kept[first].nodes] == [(3,), (4, 5, 2), (6,), (4, 5, 2)]
    assert kept["mine"].stop == "cancelled" and all(n.kind is not Kind.external for n in kept["mine"].nodes)


async def test_an_episode_has_a_token_of_its_own_that_ends_with_it(client):
    ask = client()
    opened = (await ask("/v1/episodes", {"name": "one"})).data
    assert opened["base_url"] == "http://127.0.0.1:80/e/one/v1"
    assert (await ask("/v1/episodes", {"name": "one"})).status == 409
    body = {"model": "m", "messages": [{"role": "user", "content": "a"}]}
    key = opened["api_key"]
    assert (await ask("/e/one/v1/chat/completions", body, token=key)).headers["X-Quintain-Episode"] == "one"
    assert (await ask("/v1/chat/completions", body, token=key)).headers["X-Quintain-Episode"] == "one"
    await ask("/v1/episodes", {"name": "two"})
    for path, more in (("/e/two/v1/chat/completions", {}), ("/v1/chat/completions", {"x_quintain_episode": "two"})):
        refused = await ask(path, body, token=key, **more)
        assert refused.status == 403 and "'two'" in refused.data["error"]["message"], "and not served as another"
    assert (await ask("/v1/episodes", {}, token=key)).status == 403
    assert (await ask("/e/one/v1/feedback", {"reward": 1, "done": True}, token=key)).data["done"]
    for path in ("/e/one/v1/chat/completions", "/v1/chat/completions"):
        reply = await ask(path, body, token=key)
        assert reply.status == 401 and "ended" in reply.data["error"]["message"]


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        ({"episode": "two", "reward": 1}, 403, "episode"),
        ({}, 400, "reward"),
        ({"done": False}, 400, "reward"),
        ({"reward": {}}, 400, "reward"),
        ({"reward": {}, "done": True}, 400, "reward"),
        ({"rewards": {"won": 1}}, 400, "rewards"),
        ({"reward": 1, "score": 2}, 400, "score"),
        ({"reward": {"won": None}}, 400, "reward.won"),
    ],
)
@pytest.mark.parametrize("own", [True, False])
async def test_feedback_that_says_nothing_or_is_of_another_episode_is_refused(body, status, param, own, client):
    ask = client()
    for name in ("one", "two"):
        key = (await ask("/v1/episodes", {"name": name})).data["api_key"]
        key = key if own else "sesame"
        if name == "one":
            first = key
    if own or status == 400:
        reply = await ask("/v1/feedback", body if own else {"episode": "one", **body}, token=first)
        assert (reply.status, reply.data["error"]["param"]) == (status, param)
        assert not any(recorder.rewards for recorder in ask.desk._open.values()) and len(ask.desk._open) == 2
    for total in (1.0, 2.0):
        told = await ask("/v1/feedback", {"episode": "one", "reward": 1}, token=first)
        assert told.data["rewards"] == {"feedback": total}


@pytest.mark.parametrize("name", ["a b", "..", "a" * 129, "a" * 300])
async def test_a_bad_name_is_told_with_where_it_came_from(name, client):
    ask = client()
    for path, body, headers, param in (
        ("/v1/episodes", {"name": name}, {}, "name"),
        ("/v1/feedback", {"episode": name, "reward": 1}, {}, "episode"),
        ("/v1/chat/completions", {}, {"x_quintain_episode": name}, "x-quintain-episode"),
        (f"/e/{name}/v1/chat/completions", {}, {}, None),
    ):
        reply = await ask(path, body, **headers)
        error = reply.data["error"]
        assert (reply.status, error["param"], error["code"]) == (400, param, "invalid_value")
        assert repr(name[:40]) in error["message"] and "at most 128 letters" in error["message"]
    assert (await ask("/v1/episodes", {"name": "a" * 128})).status == 200


async def test_the_holder_of_the_common_token_may_end_an_episode(client):
    ask = client()
    key = (await ask("/v1/episodes", {"name": "one"})).data["api_key"]
    body = {"model": "m", "messages": [{"role": "user", "content": "a"}]}
    assert (await ask("/e/one/v1/chat/completions", body, token=key)).status == 200
    assert (await ask("/v1/feedback", {"episode": "one", "reward": 1, "done": True})).status == 200
    assert (await ask("/e/one/v1/chat/completions", body, token=key)).status == 401
    assert (await ask("/e/one/v1/models", token=key)).status == 401


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions", "/v1/feedback"])
async def test_an_episode_that_ends_while_a_body_comes_refuses_it_and_stays_ended(path, again, client):
    """Also where another one has its name by then."""
    ask = client()
    key = (await ask("/v1/episodes", {"name": "one"})).data["api_key"]

    async def body():
        assert (await ask("/v1/feedback", {"episode": "one", "reward": 0, "done": True})).status == 200
        if again:
            await ask("/v1/episodes", {"name": "one"})
        own = {"messages": [{"role": "user", "content": "a"}], "prompt": "a", "reward": 1, "done": True}
        return json.dumps({"model": "m", **own}).encode()

    headers = {"host": "localhost", "authorization": f"Bearer {key}"}
    reply = await ask.gateway(Call(method="POST", path=path, headers=headers, body=body))
    assert (reply.status, reply.data["error"]["code"]) == (401, "episode_over")
    assert reply.data["error"]["type"] == "authentication_error"
    assert list(ask.desk._open) == (["one"] if again else []) and ask.engine.asked == []
    assert not again or not ask.desk._open["one"].rewards


async def test_a_request_by_the_token_of_an_episode_is_use_of_it(client):
    now = [0.0]
    ask = client(clock=lambda: now[0])
    key = (await ask("/v1/episodes", {"name": "one"})).data["api_key"]
    now[0] = 50
    assert (await ask.chat("a", token=key)).status == 200
    now[0] = 70
    await ask.desk.sweep(60)
    assert (await ask.chat("a", token=key)).status == 200


async def test_an_episode_whose_requests_failed_ends_and_makes_way(client):
    def reply(request):
        raise RuntimeError("no")

    now = [0.0]
    ask = client(reply, most=2, clock=lambda: now[0])
    for words in ("a", "b", "c"):
        assert (await ask.chat(words)).status == 500, "the third takes the place of the first"
    now[0] = 100
    await ask.desk.sweep(60)
    assert not ask.desk._open


async def test_episodes_are_not_written_into_a_run_of_training(tmp_path):
    with RunDir.create(tmp_path / "run", "") as store:
        store.append(Event(time=0.0, step=0, actor="run", kind="issued", payload={"ticket": 0}))
        store.commit()
        with pytest.raises(NotARecord, match="holds a run of 'run'.* choose another --record"):
            Book(store)


async def test_a_record_is_gone_on_with(client, tmp_path):
    for begun in (False, True):
        with RunDir.open(tmp_path / "run", "a") if begun else RunDir.create(tmp_path / "run", "") as store:
            ask = client(book=Book(store))
            await ask.chat("a", x_quintain_episode="one")
            told = (await ask("/v1/feedback", {"episode": "one", "reward": 1, "done": True})).data
            assert told["trajectory"] == f"{int(begun)}.0" and audit(store).ok


@pytest.mark.parametrize("said", [0, 1])
async def test_nothing_goes_on_from_a_record_nor_plays_from_it(said, client, tmp_path, capsys):
    folder = tmp_path / "a record"
    config = configs.make("tiny", overrides=[f"run.folder={tmp_path}"])
    with _book(folder, config).store as store:
        ask = client(book=Book(store))
        for _ in range(said):
            await ask.chat("a")
        await ask.desk.close()
        assert doctor([str(folder)]) == 0
        assert f"it is being served: `quintain serve --record` has written {said} ended" in capsys.readouterr().out
    told = f"{folder} is a recording of `quintain serve`, with {said} served episode.*`quintain report '{folder}'"
    for refused in (lambda: train.resume(folder, ["run.steps=9"], None), lambda: of_run(folder, [])):
        with pytest.raises(IsARecord, match=told):
            refused()
    with pytest.raises(IsARecord, match="and --fresh would delete it"):
        train.Replaced(folder)
    with RunDir.open(folder, "a") as store:
        assert store.config == absolute(config).toml(full=True) and len(list(store.groups())) == said
        Book(store)
    (row,) = runs(tmp_path)
    assert (row["world"], row["algorithm"], row["steps"]) == ("-", "recording", f"{said} served")


async def test_what_a_full_disk_had_no_room_for_is_written_when_there_is_room(client, tmp_path, monkeypatch):
    with RunDir.create(tmp_path / "run", "") as store:
        now = [0.0]
        ask = client(book=Book(store), clock=lambda: now[0])
        for name in ("one", "two"):
            await ask.chat("a", x_quintain_episode=name)
        now[0] = 100

        commits = iter([store.commit])  # the first finds nothing to write

        def full():
            for commit in commits:
                return commit()
            raise DiskFull("no space")

        with monkeypatch.context() as patch:
            patch.setattr(store, "commit", full)
            for _ in range(3):
                with pytest.raises(DiskFull):
                    await ask.desk.sweep(60)
        assert not list(store.groups())
        await ask.desk.sweep(60)
        assert {g.task.key for g in store.groups()} == {"one", "two"} and audit(store).ok


async def test_an_episode_is_not_idle_while_it_is_answered(client):
    gate, now = asyncio.Event(), [0.0]

    async def reply(request):
        await gate.wait()
        return "b"

    ask = client(reply, clock=lambda: now[0])
    job = asyncio.ensure_future(ask.chat("a", x_quintain_episode="one"))
    await ask.engine.arrived.wait()
    now[0] = 100
    await ask.desk.sweep(60)
    gate.set()
    assert (await job).status == 200
    await ask.desk.sweep(60)
    assert (await ask("/v1/feedback", {"episode": "one", "reward": 1})).status == 404


async def test_idle_episodes_end_and_too_many_are_refused(client):
    now = [0.0]
    ask = client(most=2, clock=lambda: now[0])
    await ask.chat("a", x_quintain_episode="one")
    now[0] = 50
    await ask.chat("a", x_quintain_episode="two")
    full = await ask.chat("a", x_quintain_episode="three")
    assert full.status == 503 and full.headers["Retry-After"] == "10"
    now[0] = 70
    await ask.desk.sweep(60)
    assert (await ask("/v1/feedback", {"episode": "one", "reward": 1})).status == 404
    assert (await ask("/v1/feedback", {"episode": "two", "reward": 1})).status == 200
    assert (await ask.chat("a", x_quintain_episode="three")).status == 200


async def test_an_episode_without_a_name_makes_way_where_all_places_are_taken(client):
    ask = client(most=3)
    await ask.chat("a", x_quintain_episode="one")
    for words in ("a", "b", "c", "d", "a b", "a c"):
        assert (await ask.chat(words)).status == 200
    assert len(ask.desk._open) == 3 and "one" in ask.desk._open
    await ask.chat("a", x_quintain_episode="two")
    await ask.chat("a", x_quintain_episode="three")
    assert (await ask.chat("b d")).status == 503, "named episodes are ended by who named them"


async def test_a_full_server_and_a_slow_policy(client):
    gate = asyncio.Event()

    async def reply(request):
        await gate.wait()
        return "b"

    ask = client(reply, limits=Limits(at_once=1, answer_s=0.05))
    first = asyncio.ensure_future(ask.chat("a"))
    await ask.engine.arrived.wait()
    busy = await ask.chat("a")
    assert busy.status == 429 and busy.headers["Retry-After"] == "1"
    assert (await first).status == 504
    gate.set()
    assert (await ask.chat("a")).status == 200 and ask.gateway.load.now == 0


async def test_a_failure_of_ours_is_a_500_without_details(client):
    def reply(request):
        raise RuntimeError("secret")

    ask, told = client(reply), []
    ask.gateway.failed = told.append
    reply = await ask.chat("a")
    assert [str(error) for error in told] == ["secret"]
    assert reply.status == 500 and "secret" not in json.dumps(reply.data)


async def test_a_conversation_that_fills_the_context_is_refused(client):
    reply = await client().chat(" ".join(["a"] * 70))
    assert reply.status == 400 and reply.data["error"]["code"] == "context_length_exceeded"


async def test_logprobs_that_no_json_can_write_are_written_as_the_api_does(client):
    ask = client("b")
    generate = ask.engine.generate

    async def cut(request):
        said = await generate(request)
        n = len(said.tokens)
        return replace(said, top_ids=((4, 5),) * n, top_logprobs=((0.0, float("-inf")),) * n)

    ask.engine.generate = cut
    chat = await ask.chat("a", logprobs=True, top_logprobs=2)
    text = await ask("/v1/completions", {"model": "m", "prompt": "a", "logprobs": 2})
    for reply in (chat, text):
        assert "-9999.0" in json.dumps(reply.data, allow_nan=False)
    assert (await ask("/e/é/v1/chat/completions", {})).status == 400, "a name that no header can hold"


CALL = 'I look.\n<tool_call>\n{"name": "find", "arguments": {"q": "<|im_end|>"}}\n</tool_call>'


async def test_an_echoed_tool_call_goes_on_from_the_tokens_that_were_sampled(client, tmp_path):
    render = ChatRenderer(write_tokenizer(tmp_path, ["I look. find arguments"], 300))
    replies = [CALL, "Done."]
    ask = client(lambda request: replies[len(ask.engine.asked) - 1], renderer=render)
    messages = [{"role": "user", "content": "Find it."}]
    first = (await ask("/v1/chat/completions", {"model": "m", "messages": messages, "tools": [tool()]})).data
    said = first["choices"][0]["message"]
    assert said["content"] == "I look." and first["choices"][0]["finish_reason"] == "tool_calls"
    assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == {"q": "<|im_end|>"}
    messages += [said, {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "found"}]
    reply = await ask("/v1/chat/completions", {"model": "m", "messages": messages, "tools": [tool()]})
    assert reply.data["choices"][0]["message"]["content"] == "Done."
    one, two = ask.engine.asked
    spoken = render.say(Message.of("assistant", CALL))
    assert two.prompt[: len(one.prompt) + len(spoken)] == one.prompt + spoken and two.session == one.session
    rest = render.text(two.prompt[len(one.prompt) + len(spoken) :])
    assert "found" in rest and "I look" not in rest
    assert (await ask.desk.find(reply.headers["X-Quintain-Episode"], None)).events == []


async def test_a_template_that_drops_thoughts_opens_branches(client, tmp_path):
    strip = CHATML.replace("+ message.content }}", "+ message.content.split('</think>')[-1] }}")
    assert strip != CHATML
    render = ChatRenderer(write_tokenizer(tmp_path, ["think hard"], 300, strip))
    ask = client("<think>hard</think>yes", renderer=render)
    history = ["One?"]
    with pytest.warns(BranchWarning):
        for _ in range(3):
            reply = await ask.chat(*history, x_quintain_episode="one")
            history += [reply.data["choices"][0]["message"]["content"], "And?"]
    recorder = await ask.desk.find("one", None)
    t = recorder.trajectory(Stop.done, rewards={})
    assert t.events == ("branch", "branch") and t.turns == 3
    paths = list(t.paths())
    assert len(paths) == 3, "each answer ends a path"
    for (path, _), request in zip(paths, ask.engine.asked, strict=True):
        tokens = sum((t.nodes[i].tokens for i in path[:-1]), ())
        assert tokens == request.prompt and t.nodes[path[-1]].kind is Kind.sampled


async def test_the_tree_of_an_agent_is_told_as_one_by_show_and_report(client, tmp_path, capsys):
    with _book(tmp_path / "r", configs.make("tiny", overrides=[f"run.folder={tmp_path}"])).store as store:
        ask = client(book=Book(store))
        for more in ({}, {"n": 2}):
            await ask.chat("a", x_quintain_episode="one", **more)
        await ask.chat("e", x_quintain_episode="one")
        await ask.chat("a", "b c", "d", x_quintain_episode="one")
        await ask.chat("a", "c", "d", x_quintain_episode="one")
        await ask.chat("a", "b c", "d", "b c", "a", x_quintain_episode="two")
        await ask.desk.close()
    show.main([str(tmp_path / "r"), "0.0"])
    lines = [line.partition("    (p ")[0] for line in capsys.readouterr().out.splitlines()[1:]]
    answers = [["-- another answer to what turn 1 answers", f"turn {k}: b c"] for k in (2, 3)]
    assert lines[: lines.index("")] == [
        *("    user: a", "turn 1: b c", *answers[0], *answers[1]),
        *("-- a new conversation, number 2", "    user: e", "turn 4: b c"),
        *("-- goes on from turn 3", "    user: d", "turn 5: b c"),
        *("-- has the same opening as turn 1", "    assistant: c", "    user: d", "turn 6: b c"),
        *("event: conversation", "event: branch"),
    ]
    assert any(line.startswith("--: what follows does not go on") for line in lines)
    show.main([str(tmp_path / "r"), "1.0"])
    assert "--" not in capsys.readouterr().out
    page = write_report(tmp_path / "r").read_text()
    assert "<small>goes on from turn 3</small>" in page and "<pre>assistant: c</pre>" in page
