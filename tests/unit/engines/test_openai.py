import asyncio
import email.utils
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from quintain.cli import main
from quintain.engines.errors import EngineError
from quintain.engines.openai import ChatApi, TokenApi, openai
from quintain.engines.wire import _seconds
from quintain.parts import Cast
from quintain.ports import SOLO, Engine
from quintain.render import WordRenderer
from quintain.rollouts.episodes import episodes
from quintain.runtime.failures import failed
from quintain.types import (
    Feedback,
    Image,
    Kind,
    Message,
    Request,
    Role,
    Sampling,
    Stop,
    Task,
    Tool,
    Weights,
)

M = Message.of
QUICK = {"wait_s": 0.001, "retries": 2, "timeout_s": 5.0}


class Server:
    """A stub of the API: answers come from `reply(path, body)`: a dict, or (status, headers, bytes)."""

    def __init__(self, port, reply):
        self.reply, self.asked, self.headers, self.busy = reply, [], [], threading.Semaphore(0)
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append((self.path, body))
                outer.headers.append(dict(self.headers))
                said = outer.reply(self.path, body)
                status, headers, data = said if isinstance(said, tuple) else (200, {}, json.dumps(said).encode())
                self.send_response(status)
                for name, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.http.handle_error = lambda *broken: None  # clients that gave up leave broken pipes
        self.url = f"http://127.0.0.1:{port}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join(5)


@pytest.fixture
def serve(free_port):
    servers = []

    def start(reply):
        servers.append(Server(free_port, reply))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def chat(content, **rest):
    return {"choices": [{"message": {"role": "assistant", "content": content, **rest}, "finish_reason": "stop"}]}


def ask(session="s", key=(0, 0, 0, 0, 0), **sampling):
    return Request(session=session, prompt=(1, 2), sampling=Sampling(**sampling), key=key)


def engine_of(server, manners=None, **options):
    return openai(server.url, "m", key_env="", manners={**QUICK, **(manners or {})}, **options)


async def test_a_conversation_goes_out_and_text_and_tool_calls_come_back(serve):
    call = {"id": "c9", "function": {"name": "add", "arguments": '{"a": 1}'}}
    answer = chat("Let me see.", tool_calls=[call]) | {"usage": {"prompt_tokens": 7, "completion_tokens": 3}}
    server = serve(lambda path, body: answer)
    engine = engine_of(server, body={"max_completion_tokens": 9})
    assert isinstance(engine, ChatApi) and isinstance(engine, Engine)
    tool = Tool(name="add", description="Adds.", parameters={"type": "object", "properties": {}})
    said = await engine.converse(
        [M("system", "rules"), M("user", "1?")], [tool], ask(temperature=0.5, top_p=0.9), "secret"
    )
    path, body = server.asked[0]
    assert path == "/v1/chat/completions" and body["model"] == "m" and body["temperature"] == 0.5
    assert body["messages"] == [{"role": "system", "content": "rules"}, {"role": "user", "content": "1?"}]
    assert body["tools"][0]["function"]["name"] == "add" and body["max_completion_tokens"] == 9
    assert "top_k" not in body and "min_p" not in body and "secret" not in json.dumps(body)
    assert "Authorization" not in server.headers[0]
    assert said.text == 'Let me see.\n<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
    assert (said.finish, said.usage["prompt_tokens"], said.tokens) == ("stop", 7.0, ())
    seeds = [body["seed"]]
    for key in ((0, 0, 0, 0, 0), (0, 0, 0, 1, 0)):
        await engine.converse([M("user", "1?")], (), ask(key=key), None)
        seeds.append(server.asked[-1][1]["seed"])
    assert seeds[0] == seeds[1] != seeds[2] and "tools" not in server.asked[-1][1]


async def test_fields_that_a_server_refuses_are_left_out_and_what_it_used_is_summed(serve):
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "le"}, {"type": "text", "text": "ft"}]
    server = serve(lambda path, body: chat(parts) | {"usage": {"prompt_tokens": 7, "details": {"cached": 1}}})
    engine = engine_of(server, body={"max_completion_tokens": 9}, omit=["max_tokens", "seed"])
    for _ in range(2):
        assert (await engine.converse([M("user", "1?")], (), ask(), None)).text == "left"
    body = server.asked[0][1]
    assert not {"max_tokens", "seed"} & set(body) and body["max_completion_tokens"] == 9 and body["top_p"] == 1.0
    assert engine.used == {"requests": 2, "prompt_tokens": 14}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"omit": "seed"}, "omit is a list of fields among max_tokens, .*, not 'seed'"),
        ({"omit": ["sed"]}, "not 'sed'"),
        ({"manners": 3}, r"manners is a table, such as manners\.retries=8, not 3"),
        ({"body": "x"}, "body is a table, .*, not 'x'"),
        ({"manners": {"tries": 3}}, r"unknown manners \['tries'\]"),
        ({"manners": {"retries": -1}}, r"manners\.retries is -1; it is a whole number, at least 0"),
        ({"manners": {"pictures": -1}}, r"manners\.pictures is -1; it is a whole number, at least 0"),
        ({"manners": {"concurrency": 0}}, r"manners\.concurrency is 0; it is a whole number, at least 1"),
        ({"manners": {"timeout_s": "9"}}, r"manners\.timeout_s is '9'; it is a number, at least 0\.001"),
        ({"manners": {"wait_s": float("nan")}}, r"manners\.wait_s is nan"),
    ],
)
def test_options_out_of_range_are_named(options, told):
    with pytest.raises(EngineError, match=told):
        openai("http://127.0.0.1:1", "m", key_env="", **options)


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://v1.host:8000", "http://v1.host:8000/v1"),
        ("https://host/api/v1/", "https://host/api/v1"),
        ("https://host/v1beta/openai/", "https://host/v1beta/openai"),
        ("http://host/proxy", "http://host/proxy/v1"),
    ],
)
def test_a_base_without_a_version_gets_one(base, url):
    assert openai(base, "m", key_env="")._remote.wire.url == url


async def test_an_api_model_plays_an_episode_as_external_text(serve):
    server = serve(lambda path, body: chat(f"move {len(body['messages'])}"))

    class Env:
        def __init__(self, task):
            self.steps = 0

        async def reset(self, task):
            return {SOLO: Feedback(messages=(M("user", "start"),))}

        async def step(self, moves):
            self.steps += 1
            stop = Stop.done if self.steps == 2 else None
            return {SOLO: Feedback(messages=(M("user", "next"),), action=moves[SOLO].text, stop=stop)}

        async def close(self):
            pass

    cast = Cast(env=Env, engines={"policy": engine_of(server)}, renderers={})
    group = await episodes(group_size=3)(Task(key="k", env="e"), cast, 0)
    for t in group.trajectories:
        assert t.actions == ("move 1", "move 3") and t.stop is Stop.done
        assert [n.kind for n in t.nodes if n.role is Role.assistant] == [Kind.external] * 2


async def test_failures_that_may_pass_are_tried_again(serve):
    bad = [(503, {}, b"busy"), (429, {"Retry-After": "0.001"}, b"slow"), (200, {}, b"<html>")]
    server = serve(lambda path, body: bad.pop(0) if bad else chat("ok"))
    engine = openai(server.url, "m", key_env="", manners={**QUICK, "retries": 3})
    assert (await engine.converse([M("user", "x")], (), ask(), None)).text == "ok"
    assert len(server.asked) == 4


async def test_an_error_under_a_status_of_success_is_tried_again_where_it_may_pass(serve):
    bad = [{"error": {"code": 502, "message": "Provider returned error"}}]
    server = serve(lambda path, body: bad.pop(0) if bad else chat("ok"))
    engine = engine_of(server)
    assert (await engine.converse([M("user", "x")], (), ask(), None)).text == "ok"
    assert len(server.asked) == 2
    server.reply = lambda path, body: {"error": {"code": 402, "message": "no credits"}}
    with pytest.raises(EngineError, match=r"an error: .*no credits.* \(try 1\)"):
        await engine.converse([M("user", "x")], (), ask(), None)


@pytest.mark.parametrize(
    ("after", "least"),
    [
        ("2", 2.0),
        ("0.5", 0.5),
        (email.utils.formatdate(time.time() + 3600, usegmt=True), 3000.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("soon", 0.0),
        ("", 0.0),
    ],
    ids=["seconds", "part of one", "date", "past", "words", "none"],  # the same in every process
)
def test_a_server_says_when_to_come_back_in_seconds_or_by_date(after, least):
    assert least <= _seconds(after) <= (3600.0 if least > 60 else least)


async def test_a_key_that_a_server_repeats_is_not_told(serve, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sesame-9")
    server = serve(lambda path, body: (401, {}, b"wrong key: Bearer sesame-9"))
    engine = openai(server.url, "m", key_env="MY_KEY", manners=QUICK)
    with pytest.raises(EngineError, match=r"HTTP 401: wrong key: Bearer \(the key\)"):
        await engine.converse([M("user", "x")], (), ask(), None)


async def test_an_account_that_is_used_up_is_not_waited_for(serve):
    server = serve(lambda path, body: (429, {}, b'{"error": {"code": "insufficient_quota"}}'))
    with pytest.raises(EngineError, match=r"insufficient_quota.* \(try 1\)"):
        await engine_of(server).converse([M("user", "x")], (), ask(), None)


async def test_failures_that_last_are_one_error_with_the_servers_words(serve):
    server = serve(lambda path, body: (503, {}, b"no room"))
    with pytest.raises(EngineError, match=r"/chat/completions: HTTP 503: no room \(try 3\)"):
        await engine_of(server).converse([M("user", "x")], (), ask(), None)
    assert len(server.asked) == 3
    server.reply = lambda path, body: (401, {}, b"who are you")
    with pytest.raises(EngineError, match=r"HTTP 401: who are you \(try 1\)"):
        await engine_of(server).converse([M("user", "x")], (), ask(), None)
    assert len(server.asked) == 4
    for answer, said in (({}, "holds no choice"), ({"choices": []}, "holds no choice"), ([1], "a list, not an object")):
        server.reply = lambda path, body, a=answer: a
        with pytest.raises(EngineError, match=said):
            await engine_of(server).converse([M("user", "x")], (), ask(), None)


FULL = b'{"error": {"message": "maximum context length is 9 tokens", "code": "context_length_exceeded"}}'


@pytest.mark.parametrize(
    ("refusal", "first", "stop", "event"),
    [
        ((400, {}, FULL), 2, Stop.truncated_tokens, "full: http.*context length is 9"),
        ((413, {}, b"too large"), 2, Stop.truncated_tokens, "full: .*HTTP 413"),
        ((400, {}, b'{"error": {"code": "content_filter"}}'), 0, Stop.crashed, "crashed: .*content_filter"),
        ((400, {}, b"roles must alternate"), 2, Stop.crashed, "crashed: .*roles must alternate"),
    ],
)
@pytest.mark.parametrize("tokens", [False, True])
async def test_a_conversation_that_is_refused_ends_its_own_episode(serve, refusal, first, stop, event, tokens):
    class Env:
        def __init__(self, task):
            self.left = 3

        async def reset(self, task):
            return {SOLO: Feedback(messages=(M("user", "go"),))}

        async def step(self, actions):
            self.left -= 1
            return {SOLO: Feedback(messages=(M("user", "on"),), stop=None if self.left else Stop.done)}

        async def close(self):
            pass

    said = completion() if tokens else chat("x")
    server = serve(lambda path, body: said if len(server.asked) != first + 1 else refusal)
    renderers = {"policy": WordRenderer(["go", "on"], turn_tokens=0)} if tokens else {}
    cast = Cast(env=Env, engines={"policy": engine_of(server, tokens=tokens)}, renderers=renderers)
    rows = [await episodes(group_size=1)(Task(key="k", env="e"), cast, at) for at in (0, 1)]
    (one,), (two,) = (group.trajectories for group in rows)
    assert (one.stop, len(one.turn_rewards)) == (stop, first) and re.search(event, one.events[-1])
    assert (two.stop, len(two.turn_rewards)) == (Stop.done, 3)
    assert failed(one) == (stop is Stop.crashed) and not failed(two)


async def test_settings_that_a_server_refuses_from_the_first_request_on_are_an_error(serve):
    server = serve(lambda path, body: (422, {}, b"extra field: seed"))
    with pytest.raises(EngineError, match="HTTP 422") as caught:
        await engine_of(server).converse([M("user", "x")], (), ask(), None)
    assert type(caught.value) is EngineError


async def test_no_server_is_an_error(free_port):
    engine = openai(f"http://127.0.0.1:{free_port}", "m", key_env="", manners=QUICK)
    with pytest.raises(EngineError, match=r"(refused|Refused).*try 3"):
        await engine.converse([M("user", "x")], (), ask(), None)


async def test_who_never_answered_is_not_waited_for_as_long_as_who_did(serve, free_port):
    patient = {"wait_s": 0.001, "retries": 7}
    engine = openai(f"http://127.0.0.1:{free_port}", "m", key_env="", manners=patient)
    with pytest.raises(EngineError, match=r"try 5\)"):
        await engine.converse([M("user", "x")], (), ask(), None)
    server = serve(lambda path, body: chat("left"))
    assert (await engine.converse([M("user", "x")], (), ask(), None)).text == "left"
    server.close()
    with pytest.raises(EngineError, match=r"try 8\)"):
        await engine.converse([M("user", "x")], (), ask(), None)


async def test_a_server_that_hangs_is_given_up(serve):
    gate = threading.Event()
    server = serve(lambda path, body: gate.wait(10) and chat("late"))
    engine = openai(server.url, "m", key_env="", manners={**QUICK, "timeout_s": 0.05, "retries": 1})
    with pytest.raises(EngineError, match=r"(?i)time.*try 2"):
        await engine.converse([M("user", "x")], (), ask(), None)
    gate.set()


async def test_aborting_a_session_returns_its_requests_and_leaves_the_others(serve):
    gate, arrived = threading.Event(), threading.Semaphore(0)

    def reply(path, body):
        arrived.release()
        gate.wait(10)
        return chat(body["messages"][0]["content"])

    engine = engine_of(serve(reply))
    jobs = [asyncio.ensure_future(engine.converse([M("user", s)], (), ask(s), None)) for s in ("one", "two")]
    for _ in jobs:
        assert await asyncio.to_thread(arrived.acquire, timeout=10)
    await engine.abort("one")
    assert (await jobs[0]).finish == "abort"
    gate.set()
    assert (await jobs[1]).text == "two"
    assert engine._remote.flying == {}


async def test_cancelled_requests_do_not_hold_the_loop(serve):
    gate, arrived = threading.Event(), threading.Semaphore(0)

    def reply(path, body):
        arrived.release()
        gate.wait(10)
        return chat("late")

    engine = engine_of(serve(reply))
    job = asyncio.ensure_future(engine.converse([M("user", "x")], (), ask(), None))
    assert await asyncio.to_thread(arrived.acquire, timeout=10)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    gate.set()


@pytest.mark.parametrize("tokens", [False, True])
async def test_pausing_holds_new_requests_back(serve, tokens):
    engine = engine_of(serve(lambda path, body: completion() if tokens else chat("ok")), tokens=tokens)
    await engine.pause()
    asked = engine.generate(ask()) if tokens else engine.converse([M("user", "x")], (), ask(), None)
    job = asyncio.ensure_future(asked)
    done, _ = await asyncio.wait([job], timeout=0.05)
    assert not done
    await engine.resume()
    assert (await job).finish == "stop"


def completion(**rest):
    named = {"tokens": ["token_id:5", "token_id:2"], "token_logprobs": [-0.5, -0.25]}
    tops = [{"token_id:5": -0.5, "token_id:6": -1.0}, {"token_id:2": -0.25, "token_id:9": -2.0}]
    return {"choices": [{"text": "hi", "finish_reason": "stop", "logprobs": {**named, "top_logprobs": tops}, **rest}]}


async def test_token_mode_is_token_in_token_out(serve):
    server = serve(lambda path, body: completion())
    engine = engine_of(server, tokens=True)
    assert isinstance(engine, TokenApi) and isinstance(engine, Engine)
    said = await engine.generate(ask(stop=(2,), top_k=4, min_p=0.1, max_tokens=8, top_logprobs=2))
    path, body = server.asked[0]
    assert path == "/v1/completions" and body["prompt"] == [1, 2] and body["stop_token_ids"] == [2]
    assert (body["top_k"], body["min_p"], body["max_tokens"], body["logprobs"]) == (4, 0.1, 8, 2)
    assert said.tokens == (5, 2) and said.logprobs == (-0.5, -0.25) and said.finish == "stop"
    assert said.top_ids == ((5, 6), (2, 9)) and said.top_logprobs[1] == (-0.25, -2.0)
    assert said.spans[0].version == 0
    server.reply = lambda path, body: completion(token_ids=[7, 2])  # the field of newer servers wins
    assert (await engine.generate(ask())).tokens == (7, 2)
    server.reply = lambda path, body: completion(token_ids=[7])
    with pytest.raises(EngineError, match="1 token ids with 2 logprobs"):
        await engine.generate(ask())
    server.reply = lambda path, body: {"choices": [{"text": "words", "finish_reason": "length", "logprobs": None}]}
    plain = await engine.generate(ask())
    assert (plain.tokens, plain.text, plain.finish) == ((), "words", "length")


async def test_scoring_reads_prompt_logprobs(serve):
    def reply(path, body):
        rows = [None, *({str(t): {"logprob": -t / 10}} for t in body["prompt"][1:])]
        return {"choices": [{"text": "", "prompt_logprobs": rows}]}

    server = serve(reply)
    engine = engine_of(server, tokens=True)
    assert await engine.score([(4, 1, 3), (5,)]) == [(0.0, -0.1, -0.3), (0.0,)]
    server.reply = lambda path, body: {"choices": [{"text": ""}]}
    with pytest.raises(EngineError, match="no prompt_logprobs"):
        await engine.score([(1, 2)])


async def test_what_servers_cannot_do_is_refused(serve):
    server = serve(lambda path, body: chat(""))
    talker, tokens = engine_of(server), engine_of(server, tokens=True)
    weights = Weights(version=1, kind="file")
    pictured = Request(session="s", prompt=(1,), sampling=Sampling(), images=(Image(hash="x"),))
    for refused in (
        talker.generate(ask()),
        talker.score([(1,)]),
        talker.load(weights),
        tokens.load(weights),
        tokens.generate(pictured),
    ):
        with pytest.raises(EngineError):
            await refused
    assert server.asked == []


def test_keys_come_from_the_environment_and_urls_are_checked(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sesame")
    engine = openai("http://127.0.0.1:1/v1/", "m", key_env="MY_KEY")
    assert engine._remote.wire.url == "http://127.0.0.1:1/v1"
    assert engine._remote.wire._headers["Authorization"] == "Bearer sesame"
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(EngineError, match="variable MY_KEY is not set"):
        openai("http://127.0.0.1:1", "m", key_env="MY_KEY")
    with pytest.raises(EngineError, match="not an http or https URL"):
        openai("file:///etc/passwd", "m", key_env="")
    with pytest.raises(EngineError, match="before @; leave it out") as caught:
        openai("http://me:sesame@127.0.0.1:1/v1", "m", key_env="")
    assert "sesame" not in str(caught.value)


async def test_what_servers_with_strict_templates_refuse_is_not_sent(serve):
    server = serve(lambda path, body: chat("ok"))
    picture = Image(pixels=np.zeros((2, 2, 3), np.uint8))
    told = [
        M("system", "s"),
        M("user", "rules"),
        M("user", "board"),
        M("assistant", " "),
        M("user", "a"),
        M("user", "b", picture),
    ]
    await engine_of(server).converse(told, (), ask(), None)
    sent = server.asked[0][1]["messages"]
    assert [turn["role"] for turn in sent] == ["system", "user", "assistant", "user"]
    assert sent[1]["content"] == "rules\nboard" and sent[2]["content"] == "(no answer)"
    assert [part.get("text") for part in sent[3]["content"]] == ["a", "\n", "b", None]


async def test_only_the_newest_pictures_are_sent_where_so_told(serve):
    server = serve(lambda path, body: chat("left"))
    seen = [M("user", f"look {n}", Image(pixels=np.full((2, 2, 3), n, np.uint8))) for n in range(3)]
    talk = [part for one in seen for part in (one, M("assistant", "left"))][:-1]
    for pictures, sent in ((0, [True, True, True]), (1, [False, False, True]), (2, [False, True, True])):
        await engine_of(server, manners={"pictures": pictures}).converse(talk, (), ask(), None)
        told = [m["content"] for m in server.asked[-1][1]["messages"] if m["role"] == "user"]
        assert [isinstance(content, list) for content in told] == sent
        assert all("was here" in content for content in told if isinstance(content, str))


def test_an_evaluation_asks_as_it_is_told_and_says_what_it_used(serve, capsys):
    server = serve(lambda path, body: chat("left") | {"usage": {"completion_tokens": 1000}})
    said = ["eval", server.url, "KeyDoor", "-n", "2", "--model", "m", "--key-env", ""]
    assert main(said) == 0
    assert server.asked[0][1]["max_tokens"] == 1024 and "seed" in server.asked[0][1]
    turns, told = len(server.asked), capsys.readouterr().out
    assert f"; {turns} requests, {turns},000 completion tokens" in told and "tokens 0.0" not in told
    options = ["engine.name=openai", "engine.options.omit=['seed']", "engine.options.body.effort=low"]
    assert main([*said, *options, "rollout.max_tokens=77", "--json"]) == 0
    asked, found = server.asked[-1][1], json.loads(capsys.readouterr().out)
    assert (asked["max_tokens"], asked["effort"], "seed" in asked) == (77, "low", False)
    assert found["used"] == {
        "requests": len(server.asked) - turns,
        "completion_tokens": 1000 * (len(server.asked) - turns),
    }
    assert main(["eval", server.url, "--suite", "quick", *said[5:], *options]) == 0
    assert " requests, " in capsys.readouterr().out


def test_an_evaluation_says_what_was_cut_refused_and_paid(serve, capsys):
    def reply(path, body):
        said = chat(None, refusal="I cannot.") if len(server.asked) % 2 else chat("")
        said["choices"][0]["finish_reason"] = "stop" if len(server.asked) % 2 else "length"
        return said | {"usage": {"cost": 0.00125, "odd": float("nan"), "prompt_tokens": 7}}

    server = serve(reply)
    assert main(["eval", server.url, "KeyDoor", "-n", "1", "--model", "m", "--key-env", "", "--json"]) == 0
    told = capsys.readouterr()
    turns = len(server.asked)
    assert json.loads(told.out)["used"] == {
        "requests": turns,
        "cost": round(0.00125 * turns, 6),
        "prompt_tokens": 7 * turns,
        "cut_answers": turns // 2,
        "refused_answers": turns - turns // 2,
    }
    assert f"{turns // 2} of {turns} answers were cut at 1,024 tokens" in told.err and "rollout.max_tokens" in told.err
    assert server.asked[1][1]["messages"][1] == {"role": "assistant", "content": "I cannot."}


def test_the_use_of_an_opponent_behind_a_url_is_told(serve, capsys):
    server = serve(lambda path, body: chat("<action>1</action>"))
    words = ["eval", "random", "NimDuel", "-n", "2", "--against", server.url, "--model", "m", "--key-env", ""]
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["used_against"] == {"requests": len(server.asked)}
    before = len(server.asked)
    assert before and main(words) == 0
    assert f"; by the other side {len(server.asked) - before} requests" in capsys.readouterr().out


def test_two_models_behind_one_url_are_compared(serve, capsys):
    server = serve(lambda path, body: chat("<action>2</action>" if body["model"] == "other" else "nothing"))
    words = ["NimGame", "-n", "3", "--key-env", "", "--json"]
    assert main(["eval", f"{server.url}#one", *words, "--over", f"{server.url}#other"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {body["model"] for _, body in server.asked} == {"one", "other"}
    assert (found["player"], found["compared"]["over"]) == (f"{server.url}#one", f"{server.url}#other")
    asked = len(server.asked)
    assert main(["eval", server.url, *words, "--over", f"{server.url}#other", "--model", "third"]) == 0
    assert {body["model"] for _, body in server.asked[asked:]} == {"third", "other"}
    assert main(["eval", f"{server.url}#one", *words, "--model", "third"]) == 1
    assert "--model third names a model behind a URL, and each URL here names its own" in capsys.readouterr().err
    assert main(["eval", f"{server.url}#", *words]) == 1
    assert f"none is named for {server.url}; pass --model NAME, or write {server.url}#NAME" in capsys.readouterr().err


def test_an_odd_answer_is_no_traceback(serve, capsys):
    server = serve(lambda path, body: {"choices": [{"message": "left"}], "usage": "none"})
    assert main(["eval", server.url, "KeyDoor", "-n", "1", "--model", "m", "--key-env", ""]) == 0
    assert "malformed turns 100.0 %" in capsys.readouterr().out


async def test_a_field_that_a_server_does_not_take_is_named_with_the_way_to_leave_it_out(serve):
    server = serve(lambda path, body: (400, {}, b"Unsupported parameter: 'max_tokens'"))
    with pytest.raises(EngineError, match=r"engine\.options\.omit=\['max_tokens'\]\" engine.options.body.max_comp"):
        await engine_of(server).converse([M("user", "x")], (), ask(), None)
    with pytest.raises(EngineError) as caught:
        await engine_of(server, omit=["max_tokens"]).converse([M("user", "x")], (), ask(), None)
    assert "to leave it out" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["engine.options.body.effort=low"],
            "engine.options.body.effort=low is of the engine 'torch', and http.* plays here",
        ),
        (["engine.name=openai", "engine.options.url=x"], "engine.options.url cannot be set here"),
        (
            ["engine.name=openai", "engine.options.tokens=true"],
            "engine.options.tokens cannot be set here: .* in messages",
        ),
        (["engine.name=openai", "engine.options.manners=3"], "manners is a table"),
    ],
)
def test_settings_of_an_evaluation_that_would_do_nothing_are_refused(words, told, capsys):
    assert main(["eval", "http://127.0.0.1:1", "KeyDoor", "--model", "m", "--key-env", "", *words]) == 1
    assert re.search(told, capsys.readouterr().err)


@pytest.mark.parametrize("code", [400, 500])
async def test_a_model_that_reads_text_only_and_gets_pictures_is_told_how_to_leave_them_out(serve, code):
    server = serve(lambda path, body: (code, {}, b"this is not a multimodal model"))
    engine, seen = engine_of(server, {"retries": 0}), Image(pixels=np.zeros((2, 2, 3), np.uint8))
    with pytest.raises(EngineError, match="reads text only, leave out env.scaffold.image .* or env.params.image"):
        await engine.converse([M("user", "look", seen)], (), ask(), None)
    with pytest.raises(EngineError, match="multimodal model") as caught:
        await engine.converse([M("user", "look")], (), ask(), None)
    assert "env.scaffold" not in str(caught.value)
